/* RabbitMQ streams: the stream protocol, version 1. Several messages go as one sub-entry, which the server keeps
   and hands out as it came: nothing else that it takes is as cheap for it. Chunks are pushed against credit. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DECLARE_PUBLISHER = 1, PUBLISH, CONFIRM, ERROR, SUBSCRIBE = 7, DELIVER, CREDIT, UNSUBSCRIBE = 12,
       PEER_PROPERTIES = 17, SASL_HANDSHAKE, SASL_AUTHENTICATE, TUNE, OPEN, HEADER = 8 };
enum { FIRST = 1, LAST, NEXT };
enum { CHUNKS_AHEAD = 10, SUBSCRIPTIONS = 200 };

static uint8_t *put_header(uint8_t *to, int key) {
    to = put16(to + 4, key);
    return put16(to, 1);
}

static uint8_t *put_command(uint8_t *to, int key) { return put32(put_header(to, key), 1); }

static size_t finish(uint8_t *frame, const uint8_t *end) {
    put32(frame, (int64_t)(end - frame) - 4);
    return (size_t)(end - frame);
}

/* The next frame of kind *key*; what else comes is passed over. To be freed. */
static uint8_t *await(int fd, int key) {
    for (;;) {
        uint8_t size[4];
        receive_exactly(fd, size, 4);
        size_t length = (size_t)get32(size);
        uint8_t *frame = malloc(4 + length);
        memcpy(frame, size, 4);
        receive_exactly(fd, frame + 4, length);
        if ((get16(frame + 4) & 0xFFFF) == key) return frame;
        free(frame);
    }
}

/* Send a command and wait until it is done. */
static void command(int fd, int key, uint8_t *frame, uint8_t *end) {
    send_all(fd, frame, finish(frame, end));
    uint8_t *answer = await(fd, key | 0x8000);
    if (get16(answer + 12) != 1) {
        char why[64];
        snprintf(why, sizeof why, "command %d was refused: %d", key, get16(answer + 12));
        die(why);
    }
    free(answer);
}

static void greet(int fd) {
    static const char secret[] = "\0guest\0guest";
    uint8_t out[256];
    command(fd, PEER_PROPERTIES, out, put32(put_command(out, PEER_PROPERTIES), 0));
    command(fd, SASL_HANDSHAKE, out, put_command(out, SASL_HANDSHAKE));
    uint8_t *to = put_text(put_command(out, SASL_AUTHENTICATE), "PLAIN");
    to = put32(to, sizeof secret - 1);
    memcpy(to, secret, sizeof secret - 1);
    command(fd, SASL_AUTHENTICATE, out, to + sizeof secret - 1);
    uint8_t *limits = await(fd, TUNE);
    to = put32(put_header(out, TUNE), get32(limits + HEADER));
    to = put32(to, 0); /* no heartbeats */
    send_all(fd, out, finish(out, to));
    free(limits);
    command(fd, OPEN, out, put_text(put_command(out, OPEN), "/"));
}

static int unit(const struct job *job) { return job->messages; }

static void open_writer(int fd, const struct job *job, int connection) {
    uint8_t out[256];
    (void)connection;
    greet(fd);
    uint8_t *to = put_command(out, DECLARE_PUBLISHER);
    *to++ = 0;              /* our number for it */
    to = put_text(to, ""); /* without a name nothing is told apart, so publishing ids may be the same */
    command(fd, DECLARE_PUBLISHER, out, put_text(to, job->topic));
}

static size_t request_size(const struct job *job) { return 256 + (size_t)job->messages * ((size_t)job->size + 4); }

static size_t request(uint8_t *out, const struct job *job, int connection, int partition) {
    (void)connection, (void)partition;
    uint8_t *to = put_header(out, PUBLISH);
    *to++ = 0;          /* the publisher */
    to = put32(to, 1);  /* one entry */
    to = put64(to, 0);  /* publishing id */
    if (job->messages > 1) {
        int bytes = job->messages * (4 + job->size);
        *to++ = 0x80;   /* a sub-entry, not compressed */
        to = put16(to, job->messages);
        to = put32(to, bytes);
        to = put32(to, bytes);
    }
    for (int i = 0; i < job->messages; i++) {
        to = put32(to, job->size);
        fill(to, job->size, i);
        to += job->size;
    }
    return finish(out, to);
}

static size_t acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    size_t used = 0;
    while (n - used >= 4) {
        size_t length = 4 + (size_t)get32(in + used);
        if (n - used < length) break;
        int key = get16(in + used + 4);
        if (key == CONFIRM || key == ERROR) {
            uint64_t count = (uint64_t)get32(in + used + HEADER + 1);
            *acked += count;
            if (key == ERROR) *refused += count;
        }
        used += length;
    }
    return used;
}

static size_t put_subscribe(uint8_t *out, const struct job *job, int number, int from, int credit) {
    uint8_t *to = put_command(out, SUBSCRIBE);
    *to++ = (uint8_t)number;
    to = put_text(to, job->topic);
    to = put16(to, from);
    return finish(out, put16(to, credit));
}

static size_t put_unsubscribe(uint8_t *out, int number) {
    uint8_t *to = put_command(out, UNSUBSCRIBE);
    *to++ = (uint8_t)number;
    return finish(out, to);
}

/* Offset of the message behind the chunk that *frame* delivers. */
static int64_t behind(const uint8_t *frame) {
    const uint8_t *chunk = frame + HEADER + 1;
    return get64(chunk + 24) + (uint32_t)get32(chunk + 4);
}

/* Its subscriptions come one after another; an id holds which is the present one, `end` chunks to give credit for. */
static void open_reader(int fd, const struct job *job, struct reader *reader) {
    uint8_t out[512];
    int number = (uint8_t)reader->id[0];
    size_t n = 0;
    if (!number) {
        greet(fd);
        if (!job->tail) { /* where the end is, its last chunk tells */
            send_all(fd, out, put_subscribe(out, job, ++number, LAST, 1));
            uint8_t *last = await(fd, DELIVER);
            reader->offset = behind(last);
            free(last);
        }
    }
    if (number) n = put_unsubscribe(out, number);
    number = number % SUBSCRIPTIONS + 1;
    n += put_subscribe(out + n, job, number, job->tail ? NEXT : FIRST, CHUNKS_AHEAD);
    send_all(fd, out, n);
    reader->id[0] = (char)number;
    reader->end = 0;
    if (job->tail) free(await(fd, SUBSCRIBE | 0x8000)); /* what is sent from now on is read */
}

static size_t ask(uint8_t *out, const struct job *job, struct reader *reader) {
    (void)job;
    if (!reader->end) return 0;
    uint8_t *to = put_header(out, CREDIT);
    *to++ = (uint8_t)reader->id[0];
    to = put16(to, (int)reader->end);
    reader->end = 0;
    return finish(out, to);
}

static size_t got(const uint8_t *in, size_t n, struct reader *reader, uint64_t *answers) {
    if (n < 4) return 0;
    size_t length = 4 + (size_t)get32(in);
    if (n < length) return 0;
    if (get16(in + 4) == DELIVER && in[HEADER] == (uint8_t)reader->id[0]) {
        reader->messages += (uint32_t)get32(in + HEADER + 1 + 4);
        reader->at_end = behind(in) >= reader->offset;
        reader->end++;
        ++*answers;
    }
    return length;
}

const struct protocol rabbitmq = {"rabbitmq", 1, unit, open_writer, open_reader, request, request_size, acks, ask, got};
