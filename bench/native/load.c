/* A load generator: one thread, epoll, requests made once and sent again and again.

   load MODE PROTOCOL [-p port] [-c connections] [-k in flight] [-m messages a request] [-s bytes a message] ...

   produce   write as fast as it goes, or at a rate; requests and messages a second, latency of a request
   consume   read from the first message to the last, again and again
   deliver   one message at a time, from being sent to being seen by a reader that waits for it
   rebalance as many members of a group as there are connections, until each has what it is to read

   With one request in flight, and when delivering, it waits awake: to be woken takes longer than a small request
   does, and it is the server's time that is asked for. The time it looked in vain does not count as its own.

   With the protocol "disk", one message at a time is written to a file in the current directory and synced by
   fdatasync: what no server that syncs can do without.

   Prints one line of JSON, with the processor time that it and the server took. */
#define _GNU_SOURCE
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, COPIES_BYTES = 128 << 10, REPLY_ROOM = 256 << 10, DRAIN_SECONDS = 60, MOST_TIMES = 4 << 20 };

/* Small things */

void die(const char *what) {
    fprintf(stderr, "load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

uint8_t *put16(uint8_t *to, int value) {
    uint16_t x = htobe16((uint16_t)value);
    memcpy(to, &x, 2);
    return to + 2;
}

uint8_t *put32(uint8_t *to, int64_t value) {
    uint32_t x = htobe32((uint32_t)value);
    memcpy(to, &x, 4);
    return to + 4;
}

uint8_t *put64(uint8_t *to, int64_t value) {
    uint64_t x = htobe64((uint64_t)value);
    memcpy(to, &x, 8);
    return to + 8;
}

uint8_t *put_text(uint8_t *to, const char *text) {
    size_t n = strlen(text);
    to = put16(to, (int)n);
    memcpy(to, text, n);
    return to + n;
}

int get16(const uint8_t *from) { return (int16_t)(from[0] << 8 | from[1]); }

int32_t get32(const uint8_t *from) {
    uint32_t x;
    memcpy(&x, from, 4);
    return (int32_t)be32toh(x);
}

int64_t get64(const uint8_t *from) {
    uint64_t x;
    memcpy(&x, from, 8);
    return (int64_t)be64toh(x);
}

void fill(uint8_t *to, int size, int seed) {
    uint32_t x = (uint32_t)seed * 2654435761u + 1;
    for (int i = 0; i < size; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        to[i] = (uint8_t)(' ' + x % 95);
    }
}

/* Where the system paces what is sent (BBR), that would be measured: between two programs on one machine there is no path
 * to spare, and it takes longer than what is sent. */
static const char UNPACED[] = "reno";

int dial(int port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, UNPACED, strlen(UNPACED))) die("socket");
    if (connect(fd, (void *)&to, sizeof to)) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void send_all(int fd, const void *data, size_t n) {
    for (const uint8_t *from = data; n;) {
        ssize_t done = send(fd, from, n, MSG_NOSIGNAL);
        if (done < 0) die("send");
        from += done, n -= (size_t)done;
    }
}

void receive_exactly(int fd, void *data, size_t n) {
    for (uint8_t *to = data; n;) {
        ssize_t done = read(fd, to, n);
        if (done <= 0) die("the server closed the connection");
        to += done, n -= (size_t)done;
    }
}

/* Processor time */

static double in_vain; /* processor time spent looking for what had not come yet */

static double thread_cpu(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static double own_cpu(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6 - in_vain;
}

/* As epoll_wait; *awake*, it never sleeps. */
static int await(int epoll, struct epoll_event *events, int milliseconds, int awake) {
    if (!awake) return epoll_wait(epoll, events, EVENTS, milliseconds);
    double began = thread_cpu();
    int count = epoll_wait(epoll, events, EVENTS, 0);
    if (!count) in_vain += thread_cpu() - began;
    return count;
}

/* Its clock counts nanoseconds, where /proc counts hundredths of a second. */
static double cpu_of(int pid) {
    clockid_t clock;
    struct timespec used;
    if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used)) return 0;
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Latencies */

static float *times_us;
static size_t times_kept, times_seen;

/* Beyond what there is room for every second one is kept, then every fourth, and so on. */
static void note(double seconds) {
    static size_t stride = 1;
    if (times_seen++ % stride) return;
    if (times_kept == MOST_TIMES) {
        for (size_t i = 0; i < MOST_TIMES / 2; i++) times_us[i] = times_us[2 * i];
        times_kept = MOST_TIMES / 2;
        stride *= 2;
    }
    times_us[times_kept++] = (float)(seconds * 1e6);
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static double percentile(double share) {
    return times_kept ? times_us[(size_t)(share * (double)(times_kept - 1))] : 0;
}

static void report(double seconds, double requests, double messages, double bytes, double refused, double client,
                   double server) {
    qsort(times_us, times_kept, sizeof *times_us, by_size);
    printf("{\"seconds\": %.4f, \"requests\": %.0f, \"messages\": %.0f, \"bytes\": %.0f, \"refused\": %.0f, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"client_cpu\": %.4f, \"server_cpu\": %.4f}\n",
           seconds, requests, messages, bytes, refused, percentile(.5), percentile(.99), percentile(.999), client, server);
}

/* Writing */

struct writer {
    int fd;
    uint8_t *requests; /* the same request several times over, or one for each of its partitions */
    size_t length, copies, partly; /* *partly*: bytes of the next request that are sent already */
    int partitions;    /* that take turns */
    double *sent_at;   /* of those under way, in a ring */
    uint64_t sent, acked;
    uint8_t *replies;
    size_t received;
};

static void open_writer(struct writer *w, const struct job *job, const struct protocol *p, int connection) {
    w->fd = dial(job->port);
    p->open_writer(w->fd, job, connection);
    uint8_t *one = malloc(p->request_size(job));
    int first = connection % job->partitions;
    w->partitions = (job->partitions - first + job->connections - 1) / job->connections;
    w->length = p->request(one, job, connection, first);
    w->copies = COPIES_BYTES / w->length;
    if (w->copies > (size_t)job->in_flight) w->copies = (size_t)job->in_flight;
    if (w->copies < 1) w->copies = 1;
    if (w->partitions > 1) w->copies = (size_t)w->partitions;
    w->requests = malloc(w->copies * w->length);
    for (size_t i = 0; i < w->copies; i++) {
        if (w->partitions > 1 && p->request(one, job, connection, first + (int)i * job->connections) != w->length)
            die("requests of one connection differ in length");
        memcpy(w->requests + i * w->length, one, w->length);
    }
    free(one);
    w->sent_at = malloc(sizeof(double) * (size_t)job->in_flight);
    w->replies = malloc(REPLY_ROOM);
    fcntl(w->fd, F_SETFL, O_NONBLOCK);
}

/* Send what the window has room for, *allowed* requests at the most; what is begun is ended. */
static uint64_t send_more(struct writer *w, const struct job *job, uint64_t allowed) {
    uint64_t before = w->sent;
    for (;;) {
        uint64_t room = (uint64_t)job->in_flight - (w->sent - w->acked);
        uint64_t done_now = w->sent - before, may = done_now < allowed ? allowed - done_now : 0;
        if (may > room) may = room;
        if (!may && w->partly && room) may = 1;
        if (!may) break;
        size_t next = w->partitions > 1 ? (size_t)(w->sent % w->copies) : 0, whole = w->copies - next;
        size_t bytes = (may < whole ? (size_t)may : whole) * w->length - w->partly;
        double now = seconds_now();
        ssize_t done = send(w->fd, w->requests + next * w->length + w->partly, bytes, MSG_NOSIGNAL);
        if (done < 0) {
            if (errno == EAGAIN) break;
            die("send");
        }
        if (!w->partly) w->sent_at[w->sent % (uint64_t)job->in_flight] = now;
        w->partly += (size_t)done;
        for (; w->partly >= w->length; w->partly -= w->length) {
            w->sent++;
            if (w->partly > w->length || w->sent - w->acked < (uint64_t)job->in_flight)
                w->sent_at[w->sent % (uint64_t)job->in_flight] = now;
        }
    }
    return w->sent - before;
}

static uint64_t hear(struct writer *w, const struct job *job, const struct protocol *p, uint64_t *refused) {
    uint64_t acked = 0;
    for (;;) {
        ssize_t n = read(w->fd, w->replies + w->received, REPLY_ROOM - w->received);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) die("the server closed the connection");
        w->received += (size_t)n;
        uint64_t more = 0;
        size_t used = p->acks(w->replies, w->received, &more, refused);
        double now = seconds_now();
        for (uint64_t i = 0; i < more; i++) note(now - w->sent_at[(w->acked + i) % (uint64_t)job->in_flight]);
        w->acked += more;
        acked += more;
        memmove(w->replies, w->replies + used, w->received - used);
        w->received -= used;
    }
    return acked;
}

static void produce(const struct job *job, const struct protocol *p) {
    struct writer *writers = calloc((size_t)job->connections, sizeof *writers);
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(0);
    for (int i = 0; i < job->connections; i++) {
        open_writer(&writers[i], job, p, i);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = (uint32_t)i};
        epoll_ctl(epoll, EPOLL_CTL_ADD, writers[i].fd, &event);
    }
    uint64_t sent = 0, acked = 0, refused = 0, unlimited = UINT64_MAX / 2;
    uint64_t most = (uint64_t)(job->max_bytes / (double)writers[0].length);
    double server = cpu_of(job->server_pid), own = own_cpu(), began = seconds_now(), ends = began + job->seconds;
    double heard = began;
    for (int stopping = 0;;) {
        double now = seconds_now();
        if (now >= ends || sent >= most) stopping = 1;
        if (stopping && acked >= sent) {
            int whole = 1;
            for (int i = 0; i < job->connections; i++) whole &= !writers[i].partly;
            if (whole) break;
        }
        if (now > ends + DRAIN_SECONDS) die("acknowledgements are missing");
        int wait = 100;
        if (job->rate && !stopping) { /* a pace for all connections together: whose turn it is sends */
            uint64_t due = (uint64_t)((now - began) * job->rate);
            while (sent < due) {
                uint64_t some = send_more(&writers[sent % (uint64_t)job->connections], job, 1);
                if (!some) break;
                sent += some;
            }
            wait = 1;
        }
        int count = await(epoll, events, wait, job->awake);
        for (int i = 0; i < count; i++) {
            struct writer *w = &writers[events[i].data.u32];
            if (events[i].events & EPOLLIN) {
                acked += hear(w, job, p, &refused);
                heard = seconds_now();
            }
            if (!job->rate || w->partly) sent += send_more(w, job, stopping || job->rate ? 0 : unlimited);
        }
    }
    double seconds = heard - began;
    double requests = (double)acked;
    report(seconds, requests, requests * p->unit(job), requests * (double)writers[0].length, (double)refused,
           own_cpu() - own, cpu_of(job->server_pid) - server);
    errno = 0; /* it was the server's no, not the system's */
    if (refused) die("requests were refused");
}

/* Reading */

struct listener {
    int fd;
    struct reader reader;
    uint8_t *room;
    size_t capacity, received;
};

static void open_listener(struct listener *l, const struct job *job, const struct protocol *p, int connection) {
    l->fd = dial(job->port);
    l->reader.connection = connection;
    p->open_reader(l->fd, job, &l->reader);
    l->capacity = (size_t)job->fetch_bytes * 2 + (32 << 20); /* a chunk of RabbitMQ is as large as it likes */
    l->room = malloc(l->capacity);
}

static void ask(struct listener *l, const struct job *job, const struct protocol *p) {
    uint8_t request[1024];
    size_t n = p->ask(request, job, &l->reader);
    if (n) send_all(l->fd, request, n);
}

/* Receive once; the answers that were whole by then. */
static uint64_t listen_once(struct listener *l, const struct protocol *p, double *bytes) {
    double began = thread_cpu();
    ssize_t n = read(l->fd, l->room + l->received, l->capacity - l->received);
    if (n < 0 && errno == EAGAIN) {
        in_vain += thread_cpu() - began;
        return 0;
    }
    if (n <= 0) die("the server closed the connection");
    *bytes += (double)n;
    l->received += (size_t)n;
    uint64_t answers = 0;
    size_t used = 0, more;
    while ((more = p->got(l->room + used, l->received - used, &l->reader, &answers))) used += more;
    memmove(l->room, l->room + used, l->received - used);
    l->received -= used;
    return answers;
}

static void consume(const struct job *job, const struct protocol *p) {
    struct listener *listeners = calloc((size_t)job->connections, sizeof *listeners);
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(0);
    for (int i = 0; i < job->connections; i++) {
        open_listener(&listeners[i], job, p, i);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        epoll_ctl(epoll, EPOLL_CTL_ADD, listeners[i].fd, &event);
    }
    double bytes = 0, answered = 0, messages = 0;
    double server = cpu_of(job->server_pid), own = own_cpu(), began = seconds_now(), now = began;
    for (int i = 0; i < job->connections; i++) ask(&listeners[i], job, p);
    for (int reading = job->connections; reading && now < began + job->seconds;) {
        int count = epoll_wait(epoll, events, EVENTS, 100);
        for (int i = 0; i < count; i++) {
            struct listener *l = &listeners[events[i].data.u32];
            uint64_t answers = listen_once(l, p, &bytes);
            answered += (double)answers;
            if (l->reader.at_end && job->once) {
                epoll_ctl(epoll, EPOLL_CTL_DEL, l->fd, NULL);
                reading--;
                continue;
            }
            if (l->reader.at_end) { /* from the beginning again */
                messages += (double)l->reader.messages;
                l->reader.messages = 0;
                l->reader.at_end = 0;
                p->open_reader(l->fd, job, &l->reader);
            }
            if (answers) ask(l, job, p);
        }
        now = seconds_now();
    }
    for (int i = 0; i < job->connections; i++) messages += (double)listeners[i].reader.messages;
    report(now - began, answered, messages, bytes, 0, own_cpu() - own, cpu_of(job->server_pid) - server);
}

static void wait_until(double due) {
    for (double left = due - seconds_now(); left > 0; left = due - seconds_now())
        if (left > 200e-6) {
            struct timespec nap = {0, (long)((left > .5 ? .5 : left - 100e-6) * 1e9)};
            nanosleep(&nap, NULL);
        }
}

static void deliver(const struct job *given, const struct protocol *p) {
    struct job job = *given;
    struct writer w = {0};
    struct listener l = {0};
    double bytes = 0;
    uint64_t refused = 0, delivered = 0;
    job.in_flight = job.messages = job.tail = 1;
    open_writer(&w, &job, p, 0);
    fcntl(w.fd, F_SETFL, 0);
    open_listener(&l, &job, p, 0);
    fcntl(l.fd, F_SETFL, O_NONBLOCK);
    double server = cpu_of(job.server_pid), own = own_cpu(), began = seconds_now(), now = began;
    for (; now < began + job.seconds; now = seconds_now()) {
        ask(&l, &job, p);
        wait_until(began + (double)(delivered + 1) / job.rate);
        uint64_t had = l.reader.messages;
        double sent_at = seconds_now();
        send_all(w.fd, w.requests, w.length);
        while (l.reader.messages == had)
            if (listen_once(&l, p, &bytes) && l.reader.messages == had) ask(&l, &job, p);
        note(seconds_now() - sent_at);
        delivered++;
        for (uint64_t acked = 0; !acked;) {
            ssize_t n = read(w.fd, w.replies + w.received, REPLY_ROOM - w.received);
            if (n <= 0) die("the server closed the connection");
            w.received += (size_t)n;
            size_t used = p->acks(w.replies, w.received, &acked, &refused);
            memmove(w.replies, w.replies + used, w.received - used);
            w.received -= used;
        }
    }
    report(now - began, (double)delivered, (double)delivered, bytes, (double)refused, own_cpu() - own,
           cpu_of(job.server_pid) - server);
}

static void settle(const struct job *job) {
    uint64_t requests = 0;
    double server = cpu_of(job->server_pid), own = own_cpu();
    double seconds = rebalance(job, &requests);
    report(seconds, (double)requests, job->connections, 0, 0, own_cpu() - own, cpu_of(job->server_pid) - server);
}

static void disk(const struct job *job) {
    uint8_t *data = malloc((size_t)job->size);
    char name[] = "load-disk-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) die("mkstemp");
    fill(data, job->size, 1);
    double own = own_cpu(), began = seconds_now(), now = began, done = 0;
    while (now < began + job->seconds) {
        if (write(fd, data, (size_t)job->size) != job->size || fdatasync(fd)) die("write");
        double then = now;
        now = seconds_now();
        note(now - then);
        done++;
    }
    unlink(name);
    report(now - began, done, done, done * job->size, 0, own_cpu() - own, 0);
}

static const struct protocol *named(const char *name) {
    const struct protocol *all[] = {&kafka, &redis, &nats, &rabbitmq, &text, &jsonl, &http, NULL};
    for (int i = 0; all[i]; i++)
        if (!strcmp(all[i]->name, name)) return all[i];
    die("no such protocol");
    return NULL;
}

int main(int argc, char **argv) {
    struct job job = {.topic = "bench", .connections = 1, .in_flight = 1, .messages = 1, .size = 100, .partitions = 1,
                      .acks = -1, .fetch_bytes = 1 << 20, .wait_ms = 500, .seconds = 2, .max_bytes = 1e9};
    if (argc < 3) die("load produce|consume|deliver|rebalance PROTOCOL [options]");
    times_us = malloc(sizeof *times_us * MOST_TIMES);
    optind = 3;
    for (int option; (option = getopt(argc, argv, "p:c:k:m:s:P:a:b:w:r:S:t:g:n:o:")) != -1;) switch (option) {
        case 'p': job.port = atoi(optarg); break;
        case 'c': job.connections = atoi(optarg); break;
        case 'k': job.in_flight = atoi(optarg); break;
        case 'm': job.messages = atoi(optarg); break;
        case 's': job.size = atoi(optarg); break;
        case 'P': job.partitions = atoi(optarg); break;
        case 'a': job.acks = atoi(optarg); break;
        case 'b': job.fetch_bytes = atoi(optarg); break;
        case 'w': job.wait_ms = atoi(optarg); break;
        case 'r': job.rate = atoi(optarg); break;
        case 'S': job.server_pid = atoi(optarg); break;
        case 't': job.seconds = atof(optarg); break;
        case 'g': job.max_bytes = atof(optarg); break;
        case 'o': job.once = atoi(optarg); break;
        case 'n': job.topic = optarg; break;
        default: return 2;
        }
    if (!strcmp(argv[2], "disk")) return disk(&job), 0;
    const struct protocol *protocol = named(argv[2]);
    job.awake = job.in_flight == 1 && !job.rate;
    if (!protocol->batches) job.in_flight *= job.messages, job.rate *= job.messages, job.messages = 1;
    if (!strcmp(argv[1], "produce")) produce(&job, protocol);
    else if (!strcmp(argv[1], "consume")) consume(&job, protocol);
    else if (!strcmp(argv[1], "deliver")) deliver(&job, protocol);
    else if (!strcmp(argv[1], "rebalance")) settle(&job);
    else die("no such mode");
    return 0;
}
