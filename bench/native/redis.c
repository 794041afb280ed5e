/* Redis Streams: XADD, one message a request, and XREAD. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_A_READ = 1000 };

static int unit(const struct job *job) { return job->messages; }

static void open_writer(int fd, const struct job *job, int connection) {
    (void)fd, (void)job, (void)connection;
}

static void open_reader(int fd, const struct job *job, struct reader *reader) {
    (void)fd;
    snprintf(reader->id, sizeof reader->id, "%s", job->tail ? "$" : "0-0");
}

static size_t request_size(const struct job *job) { return 256 + (size_t)job->size; }

static size_t request(uint8_t *out, const struct job *job, int connection, int partition) {
    (void)connection, (void)partition;
    int n = sprintf((char *)out, "*5\r\n$4\r\nXADD\r\n$%zu\r\n%s\r\n$1\r\n*\r\n$1\r\nv\r\n$%d\r\n", strlen(job->topic),
                    job->topic, job->size);
    fill(out + n, job->size, 1);
    memcpy(out + n + job->size, "\r\n", 2);
    return (size_t)(n + job->size + 2);
}

/* The number in the line at *at*, and where the line ends; NULL if it is not all there. */
static const uint8_t *line(const uint8_t *at, const uint8_t *end, long *number) {
    const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) return NULL;
    *number = strtol((const char *)at + 1, NULL, 10);
    return stop + 1;
}

static size_t acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    const uint8_t *at = in, *end = in + n;
    while (at < end) {
        long size;
        const uint8_t *behind = line(at, end, &size);
        if (!behind) break;
        if (*at == '-') ++*refused;
        else if (end - behind < size + 2) break;
        else behind += size + 2;
        at = behind;
        ++*acked;
    }
    return (size_t)(at - in);
}

static size_t ask(uint8_t *out, const struct job *job, struct reader *reader) {
    int count = job->fetch_bytes / (job->size + 1);
    char number[16], wait[16];
    int digits = sprintf(number, "%d", count > MOST_A_READ ? MOST_A_READ : count > 0 ? count : 1);
    int pause = sprintf(wait, "%d", job->wait_ms);
    return (size_t)sprintf((char *)out,
                           "*8\r\n$5\r\nXREAD\r\n$5\r\nCOUNT\r\n$%d\r\n%s\r\n$5\r\nBLOCK\r\n$%d\r\n%s\r\n"
                           "$7\r\nSTREAMS\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                           digits, number, pause, wait, strlen(job->topic), job->topic, strlen(reader->id), reader->id);
}

/* Behind the string at *at*; NULL if it is not all there. */
static const uint8_t *behind_string(const uint8_t *at, const uint8_t *end) {
    long size;
    const uint8_t *text = at < end ? line(at, end, &size) : NULL;
    return text && end - text >= size + 2 ? text + size + 2 : NULL;
}

/* One stream with its name: an array of entries, each an id and a list of one field and its value. */
static size_t got(const uint8_t *in, size_t n, struct reader *reader, uint64_t *answers) {
    const uint8_t *end = in + n, *at = in, *id = NULL;
    long streams, pair, entries, size = 0;
    if (n < 4 || !(at = line(at, end, &streams))) return 0;
    if (streams < 0) { /* the wait is over */
        reader->at_end = 1;
        ++*answers;
        return (size_t)(at - in);
    }
    if (at >= end || !(at = line(at, end, &pair)) || !(at = behind_string(at, end))) return 0;
    if (at >= end || !(at = line(at, end, &entries))) return 0;
    for (long i = 0; i < entries; i++) {
        if (at >= end || !(at = line(at, end, &pair)) || at >= end) return 0;
        id = line(at, end, &size);
        if (!id || !(at = behind_string(at, end)) || at >= end || !(at = line(at, end, &pair))) return 0;
        if (!(at = behind_string(at, end)) || !(at = behind_string(at, end))) return 0;
    }
    if (id && (size_t)size < sizeof reader->id) {
        memcpy(reader->id, id, (size_t)size);
        reader->id[size] = 0;
    }
    reader->messages += (uint64_t)entries;
    ++*answers;
    return (size_t)(at - in);
}

const struct protocol redis = {"redis", 0, unit, open_writer, open_reader, request, request_size, acks, ask, got};
