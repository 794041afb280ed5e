/* The floor: a server that makes the system calls of a broker, and does nothing else.

   floor PORT DIRECTORY os|fsync

   It reads frames of Produce version 7, appends their batches to a file a partition with one writev for all
   that one read brought, syncs if it is told to, and answers. It answers Fetch version 11 with sendfile. It
   stamps offsets, so that a reader can go on, and remembers where batches begin. It checks nothing. As a node does,
   it stays awake for a moment after a reply, and paces nobody. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 8192, PARTITIONS = 16384, IN_ROOM = 2 << 20, PARTS = 1024, EVENTS = 256 };

static const double AWAKE_SECONDS = 100e-6; /* a node's busy.poll.us */

struct partition {
    int fd, dirty, queued, parked; /* *parked*: a connection that waits for a message; 0: none */
    int64_t next_offset, size;
    int64_t *offsets, *positions; /* of every batch */
    size_t batches, room;
    struct iovec parts[PARTS];
};

struct connection {
    uint8_t *in, *out;
    size_t received, queued, room;
    int pending, waiting; /* *waiting*: of the partition it is parked at */
    int64_t offset;
    int32_t correlation_id, fetch_bytes;
};

static struct partition *partitions[PARTITIONS];
static struct connection connections[CONNECTIONS];
static int changed[PARTITIONS], changes; /* partitions with parts to write */
static int answering[CONNECTIONS], answers;
static const char *directory;
static int syncs, epoll_fd;

static int32_t get32(const uint8_t *from) {
    uint32_t x;
    memcpy(&x, from, 4);
    return (int32_t)be32toh(x);
}

static int64_t get64(const uint8_t *from) {
    uint64_t x;
    memcpy(&x, from, 8);
    return (int64_t)be64toh(x);
}

static int get16(const uint8_t *from) { return (int16_t)(from[0] << 8 | from[1]); }

static uint8_t *put16(uint8_t *to, int value) {
    *to++ = (uint8_t)(value >> 8);
    *to++ = (uint8_t)value;
    return to;
}

static uint8_t *put32(uint8_t *to, int32_t value) {
    uint32_t x = htobe32((uint32_t)value);
    memcpy(to, &x, 4);
    return to + 4;
}

static uint8_t *put64(uint8_t *to, int64_t value) {
    uint64_t x = htobe64((uint64_t)value);
    memcpy(to, &x, 8);
    return to + 8;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static struct partition *partition_of(int index) {
    if (index < 0 || index >= PARTITIONS) die("partition");
    struct partition *p = partitions[index];
    if (!p) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.log", directory, index);
        p = partitions[index] = calloc(1, sizeof *p);
        p->fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_APPEND, 0644);
        if (p->fd < 0) die(path);
    }
    return p;
}

static void write_parts(struct partition *p) {
    struct iovec *part = p->parts;
    for (int left = p->queued; left;) {
        ssize_t done = writev(p->fd, part, left);
        if (done < 0) die("writev");
        for (; left && (size_t)done >= part->iov_len; part++, left--) done -= (ssize_t)part->iov_len;
        if (left) part->iov_base = (char *)part->iov_base + done, part->iov_len -= (size_t)done;
    }
    p->queued = 0;
}

static void append(int index, uint8_t *batch, size_t size) {
    struct partition *p = partition_of(index);
    put64(batch, p->next_offset);
    if (p->batches == p->room) {
        p->room = p->room ? 2 * p->room : 1024;
        p->offsets = realloc(p->offsets, p->room * 8);
        p->positions = realloc(p->positions, p->room * 8);
    }
    p->offsets[p->batches] = p->next_offset;
    p->positions[p->batches++] = p->size;
    p->next_offset += get32(batch + 23) + 1;
    p->size += (int64_t)size;
    if (!p->dirty) p->dirty = 1, changed[changes++] = index;
    if (p->queued == PARTS) write_parts(p);
    p->parts[p->queued++] = (struct iovec){batch, size};
}

static uint8_t *room_for(struct connection *c, size_t size) {
    if (c->queued + size > c->room) {
        c->room = 2 * (c->queued + size);
        c->out = realloc(c->out, c->room);
    }
    return c->out + c->queued;
}

static void produce(struct connection *c, uint8_t *request) {
    uint8_t *at = request + 8;
    at += 2 + get16(at);               /* client id */
    at += 2 + 2 + 4 + 4;               /* no transactional id, acks, timeout, one topic */
    uint8_t *topic = at;
    int name = 2 + get16(at);
    at += name + 4;                    /* one partition */
    int index = get32(at), size = get32(at + 4);
    int64_t offset = partition_of(index)->next_offset;
    append(index, at + 8, (size_t)size);
    uint8_t *out = room_for(c, (size_t)name + 64), *to = out + 4;
    to = put32(to, get32(request + 4));
    to = put32(to, 1);
    memcpy(to, topic, (size_t)name);
    to = put32(to + name, 1);
    to = put32(to, index);
    to = put16(to, 0);
    to = put64(to, offset);
    to = put64(to, -1);
    to = put64(to, 0);
    to = put32(to, 0);
    put32(out, (int32_t)(to - out) - 4);
    c->queued += (size_t)(to - out);
}

static void send_all(int fd, const uint8_t *data, size_t n, int more) {
    while (n) {
        ssize_t done = send(fd, data, n, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        if (done < 0) return;
        data += done, n -= (size_t)done;
    }
}

static void answer_fetch(int fd, int index) {
    struct connection *c = &connections[fd];
    struct partition *p = partition_of(index);
    size_t low = 0, high = p->batches;
    while (low < high) { /* the last batch that begins at the offset or before */
        size_t middle = (low + high) / 2;
        if (p->offsets[middle] <= c->offset) low = middle + 1;
        else high = middle;
    }
    size_t first = low ? low - 1 : 0, last = p->batches;
    off_t from = p->batches && c->offset < p->next_offset ? p->positions[first] : p->size;
    for (low = first + 1; low < last;) { /* the last that ends within the bytes asked for */
        size_t middle = (low + last) / 2;
        if (p->positions[middle] - from <= c->fetch_bytes) low = middle + 1;
        else last = middle;
    }
    int64_t end = last < p->batches ? p->positions[last - 1 > first ? last - 1 : last] : p->size;
    size_t size = (size_t)(end - from);
    uint8_t head[256], *to = head + 4;
    to = put32(to, c->correlation_id);
    to = put32(to, 0); /* throttle */
    to = put16(to, 0);
    to = put32(to, 0); /* session */
    to = put32(to, 1);
    to = put16(to, 5);
    memcpy(to, "bench", 5);
    to = put32(to + 5, 1);
    to = put32(to, index);
    to = put16(to, 0);
    to = put64(to, p->next_offset);
    to = put64(to, p->next_offset);
    to = put64(to, 0);
    to = put32(to, -1); /* aborted */
    to = put32(to, -1); /* preferred replica */
    to = put32(to, (int32_t)size);
    put32(head, (int32_t)((size_t)(to - head) - 4 + size));
    send_all(fd, head, (size_t)(to - head), size > 0);
    while (size) {
        ssize_t done = sendfile(fd, p->fd, &from, size);
        if (done <= 0) return;
        size -= (size_t)done;
    }
}

static void fetch(int fd, uint8_t *request) {
    struct connection *c = &connections[fd];
    uint8_t *at = request + 8;
    c->correlation_id = get32(request + 4);
    at += 2 + get16(at) + 4;      /* client id, replica */
    int wait_ms = get32(at);
    at += 4 + 4 + 4 + 1 + 4 + 4 + 4; /* wait, least and most bytes, isolation, session, epoch, topics */
    at += 2 + get16(at) + 4;
    int index = get32(at);
    c->offset = get64(at + 8);
    c->fetch_bytes = get32(at + 24);
    struct partition *p = partition_of(index);
    if (c->offset < p->next_offset || !wait_ms) answer_fetch(fd, index);
    else p->parked = fd, c->waiting = index;
}

static void hear(int fd) {
    struct connection *c = &connections[fd];
    ssize_t n = read(fd, c->in + c->received, IN_ROOM - c->received);
    if (n <= 0) {
        close(fd);
        return;
    }
    c->received += (size_t)n;
    size_t used = 0;
    while (c->received - used >= 4) {
        size_t size = (size_t)get32(c->in + used);
        if (c->received - used - 4 < size) break;
        uint8_t *request = c->in + used + 4;
        if (get16(request)) fetch(fd, request);
        else produce(c, request);
        used += 4 + size;
    }
    if (c->queued && !c->pending) c->pending = 1, answering[answers++] = fd;
    for (int i = 0; i < changes; i++) write_parts(partitions[changed[i]]); /* before what they point to moves */
    memmove(c->in, c->in + used, c->received - used);
    c->received -= used;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void end_turn(void) {
    for (int i = 0; i < changes; i++) {
        struct partition *p = partitions[changed[i]];
        if (syncs && fdatasync(p->fd)) die("fdatasync");
        p->dirty = 0;
        if (p->parked) {
            int fd = p->parked;
            p->parked = 0;
            answer_fetch(fd, changed[i]);
        }
    }
    changes = 0;
    for (int i = 0; i < answers; i++) {
        struct connection *c = &connections[answering[i]];
        send_all(answering[i], c->out, c->queued, 0);
        c->queued = 0;
        c->pending = 0;
    }
    answers = 0;
}

static void welcome(int listening) {
    int fd = accept(listening, NULL, NULL), on = 1;
    if (fd < 0 || fd >= CONNECTIONS) die("accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = &connections[fd];
    c->received = c->queued = 0;
    c->pending = 0;
    if (!c->in) c->in = malloc(IN_ROOM);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    directory = argv[2];
    syncs = !strcmp(argv[3], "fsync");
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons((uint16_t)atoi(argv[1]))};
    int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listening, (void *)&here, sizeof here) || listen(listening, 1024)) die("listen");
    setsockopt(listening, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listening}, events[EVENTS];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listening, &event);
    for (double until = 0, gap = 1, replied = 0;;) {
        int count = epoll_wait(epoll_fd, events, EVENTS, seconds_now() < until ? 0 : -1);
        if (count) gap = seconds_now() - replied;
        for (int i = 0; i < count; i++)
            if (events[i].data.fd == listening) welcome(listening);
            else hear(events[i].data.fd);
        end_turn();
        if (count) {
            replied = seconds_now();
            until = gap < AWAKE_SECONDS ? replied + AWAKE_SECONDS : 0;
        }
    }
}
