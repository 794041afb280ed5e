/* NATS JetStream: PUB with an inbox for the acknowledgement, one message a request; a push consumer without acks. */
#define _GNU_SOURCE
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int unit(const struct job *job) { return job->messages; }

/* Read up to and with the end of a line. */
static void skip_line(int fd) {
    for (char c = 0; c != '\n';) receive_exactly(fd, &c, 1);
}

static void greet(int fd, const char *inbox) {
    char text[256];
    skip_line(fd); /* INFO */
    int n = snprintf(text, sizeof text, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB %s 1\r\nPING\r\n", inbox);
    send_all(fd, text, (size_t)n);
    skip_line(fd); /* PONG */
}

static void open_writer(int fd, const struct job *job, int connection) {
    char inbox[64];
    (void)job;
    snprintf(inbox, sizeof inbox, "_INBOX.w%d.%d", getpid(), connection);
    greet(fd, inbox);
}

static void open_reader(int fd, const struct job *job, struct reader *reader) {
    static int consumers;
    char inbox[128], config[512], text[1024], digits[32];
    snprintf(inbox, sizeof inbox, "_D.r%d.%d", getpid(), reader->connection);
    if (!reader->id[0]) {
        greet(fd, inbox);
        snprintf(reader->id, sizeof reader->id, "%s", inbox);
    }
    snprintf(inbox, sizeof inbox, "%s.%d", reader->id, ++consumers); /* one each: what is late does not mix in */
    int n = snprintf(config, sizeof config,
                     "{\"stream_name\":\"%s\",\"config\":{\"deliver_subject\":\"%s\",\"deliver_policy\":\"%s\","
                     "\"ack_policy\":\"none\",\"max_deliver\":1,\"mem_storage\":true,\"num_replicas\":1}}",
                     job->topic, inbox, job->tail ? "new" : "all");
    n = snprintf(text, sizeof text, "SUB %s 2\r\nSUB %s.made 3\r\nPUB $JS.API.CONSUMER.CREATE.%s %s.made %d\r\n%s\r\n",
                 inbox, inbox, job->topic, inbox, n, config);
    send_all(fd, text, (size_t)n);
    if (!job->tail) return; /* messages may well be here before the answer: `got` passes over that */
    /* MSG inbox.made 3 size, then so many bytes */
    int words = 0;
    size_t used = 0;
    for (char c = 0; c != '\n';) {
        receive_exactly(fd, &c, 1);
        if (c == ' ') words++, used = 0;
        else if (words == 3 && used < sizeof digits - 1) digits[used++] = c;
    }
    digits[used] = 0;
    size_t size = (size_t)atol(digits) + 2;
    char *answer = calloc(1, size + 1);
    receive_exactly(fd, answer, size);
    if (strstr(answer, "\"error\"")) die(answer);
    free(answer);
}

static size_t request_size(const struct job *job) { return 256 + (size_t)job->size; }

static size_t request(uint8_t *out, const struct job *job, int connection, int partition) {
    (void)partition;
    int n = sprintf((char *)out, "PUB %s _INBOX.w%d.%d %d\r\n", job->topic, getpid(), connection, job->size);
    fill(out + n, job->size, 1);
    memcpy(out + n + job->size, "\r\n", 2);
    return (size_t)(n + job->size + 2);
}

/* A message at *at*: where its payload is and how long; NULL if it is not all there. Sets *reply* to its subject. */
static const uint8_t *message(const uint8_t *at, const uint8_t *end, const uint8_t **reply, long *size) {
    const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) return NULL;
    *size = -2; /* PING and the like have nothing behind them */
    *reply = NULL;
    if (*at == 'M') {
        const uint8_t *last = memrchr(at, ' ', (size_t)(stop - at));
        *reply = memrchr(at, ' ', (size_t)(last - at));
        *size = strtol((const char *)last, NULL, 10);
    }
    return end - stop - 1 >= *size + 2 ? stop + 1 : NULL;
}

static size_t acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    const uint8_t *at = in, *end = in + n, *payload, *reply;
    long size;
    while (at < end && (payload = message(at, end, &reply, &size))) {
        if (size >= 0) {
            ++*acked;
            if (memmem(payload, (size_t)size, "\"error\"", 7)) ++*refused;
        }
        at = payload + size + 2;
    }
    return (size_t)(at - in);
}

static size_t ask(uint8_t *out, const struct job *job, struct reader *reader) {
    (void)out, (void)job, (void)reader;
    return 0; /* it is pushed */
}

static size_t got(const uint8_t *in, size_t n, struct reader *reader, uint64_t *answers) {
    const uint8_t *reply, *end = in + n;
    long size;
    const uint8_t *payload = n ? message(in, end, &reply, &size) : NULL;
    if (!payload) return 0;
    if (size >= 0 && !memmem(in, (size_t)(payload - in), ".made ", 6)) {
        reader->messages++;
        ++*answers;
        /* $JS.ACK.stream.consumer.delivered.sequence.sequence.time.pending */
        const uint8_t *stop = memchr(in, '\n', (size_t)(payload - in));
        const uint8_t *last = memrchr(in, ' ', (size_t)(stop - in)), *dot = memrchr(in, '.', (size_t)(last - in));
        reader->at_end = dot && dot[1] == '0' && dot + 2 == last;
    }
    return (size_t)(payload + size + 2 - in);
}

const struct protocol nats = {"nats", 0, unit, open_writer, open_reader, request, request_size, acks, ask, got};
