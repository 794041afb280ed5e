/* Kafka: Produce version 7 and Fetch version 11, the last without compact fields; every broker here serves them. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADER = 61, CHECKED_FROM = 21, PRODUCE_ROOM = 512 };

static uint32_t crc_table[8][256];

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? (c >> 1) ^ 0x82F63B78u : c >> 1;
        crc_table[0][i] = c;
    }
    for (int i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            crc_table[k][i] = (crc_table[k - 1][i] >> 8) ^ crc_table[0][crc_table[k - 1][i] & 255];
}

/* Once a connection, so a table will do. */
static uint32_t crc32c(const uint8_t *data, size_t n) {
    if (!crc_table[0][1]) make_crc_table();
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) c = crc_table[0][(c ^ data[i]) & 255] ^ (c >> 8);
    return ~c;
}

static uint8_t *put_varint(uint8_t *to, int64_t value) {
    uint64_t zigzag = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    for (; zigzag >= 0x80; zigzag >>= 7) *to++ = (uint8_t)(zigzag | 0x80);
    *to++ = (uint8_t)zigzag;
    return to;
}

static int varint_size(int64_t value) {
    uint8_t bytes[10];
    return (int)(put_varint(bytes, value) - bytes);
}

/* A batch of format 2: *messages* records without key, of *size* bytes each. */
static size_t put_batch(uint8_t *batch, int messages, int size) {
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    uint8_t *to = batch + HEADER;
    for (int i = 0; i < messages; i++) {
        to = put_varint(to, 1 + 1 + varint_size(i) + 1 + varint_size(size) + size + 1);
        *to++ = 0;                 /* attributes */
        *to++ = 0;                 /* timestamp delta */
        to = put_varint(to, i);    /* offset delta */
        to = put_varint(to, -1);   /* no key */
        to = put_varint(to, size);
        fill(to, size, i);
        to += size;
        *to++ = 0;                 /* no headers */
    }
    size_t length = (size_t)(to - batch);
    to = put64(batch, 0);
    to = put32(to, (int64_t)length - 12);
    to = put32(to, -1);            /* leader epoch */
    *to++ = 2;                     /* magic */
    to = put32(to, 0);             /* crc, below */
    to = put16(to, 0);             /* attributes */
    to = put32(to, messages - 1);
    to = put64(to, now_ms);
    to = put64(to, now_ms);
    to = put64(to, -1);            /* no producer id */
    to = put16(to, -1);
    to = put32(to, -1);
    put32(to, messages);
    put32(batch + 17, crc32c(batch + CHECKED_FROM, length - CHECKED_FROM));
    return length;
}

static uint8_t *put_header(uint8_t *to, int key, int version) {
    to = put16(to + 4, key);
    to = put16(to, version);
    to = put32(to, 7); /* correlation id */
    return put_text(to, "load");
}

static size_t finish(uint8_t *frame, const uint8_t *end) {
    size_t length = (size_t)(end - frame);
    put32(frame, (int64_t)length - 4);
    return length;
}

static int unit(const struct job *job) { return job->messages; }

static void greet_writer(int fd, const struct job *job, int connection) {
    (void)fd, (void)job, (void)connection;
}

static size_t request_size(const struct job *job) {
    return PRODUCE_ROOM + (size_t)job->messages * ((size_t)job->size + 32);
}

static size_t request(uint8_t *out, const struct job *job, int connection, int partition) {
    static uint8_t *batch; /* the same for all partitions: thousands of them would take their time */
    static size_t length;
    (void)connection;
    if (!batch) {
        batch = malloc(request_size(job));
        length = put_batch(batch, job->messages, job->size);
    }
    uint8_t *to = put_header(out, 0, 7);
    to = put16(to, -1); /* no transactional id */
    to = put16(to, job->acks);
    to = put32(to, 30000);
    to = put32(to, 1);
    to = put_text(to, job->topic);
    to = put32(to, 1);
    to = put32(to, partition);
    to = put32(to, (int64_t)length);
    memcpy(to, batch, length);
    return finish(out, to + length);
}

static size_t acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    size_t used = 0;
    while (n - used >= 4) {
        size_t length = 4 + (size_t)get32(in + used);
        if (n - used < length) break;
        const uint8_t *body = in + used + 4 + 4 + 4; /* behind size, correlation id, count of topics */
        int name = get16(body);
        if (get16(body + 2 + name + 4 + 4)) ++*refused;
        ++*acked;
        used += length;
    }
    return used;
}

static size_t ask(uint8_t *out, const struct job *job, struct reader *reader) {
    uint8_t *to = put_header(out, 1, 11);
    to = put32(to, -1); /* replica */
    to = put32(to, job->wait_ms);
    to = put32(to, 1);  /* least bytes */
    to = put32(to, job->fetch_bytes);
    *to++ = 0;          /* isolation level */
    to = put32(to, 0);  /* no session */
    to = put32(to, -1);
    to = put32(to, 1);
    to = put_text(to, job->topic);
    to = put32(to, 1);
    to = put32(to, reader->connection % job->partitions);
    to = put32(to, -1); /* leader epoch */
    to = put64(to, reader->offset);
    to = put64(to, -1);
    to = put32(to, job->fetch_bytes);
    to = put32(to, 0);  /* nothing forgotten */
    to = put16(to, 0);  /* no rack */
    return finish(out, to);
}

static size_t got(const uint8_t *in, size_t n, struct reader *reader, uint64_t *answers) {
    if (n < 4) return 0;
    size_t length = 4 + (size_t)get32(in);
    if (n < length) return 0;
    const uint8_t *at = in + 4 + 4 + 4 + 2 + 4 + 4; /* size, correlation id, throttle, error, session, topics */
    at += 2 + get16(at) + 4 + 4;                    /* topic, count of partitions, partition */
    if (get16(at)) die("a fetch was refused");
    int64_t high_watermark = get64(at + 2);
    at += 2 + 8 + 8 + 8; /* to the aborted transactions */
    int32_t aborted = get32(at);
    at += 4 + (aborted > 0 ? 16 * aborted : 0) + 4; /* preferred replica */
    int32_t size = get32(at);
    at += 4;
    const uint8_t *end = at + (size > 0 ? size : 0);
    while (end - at >= HEADER) {
        int64_t batch = 12 + (int64_t)get32(at + 8);
        if (end - at < batch) break;
        reader->offset = get64(at) + get32(at + 23) + 1;
        reader->messages += (uint64_t)get32(at + 57);
        at += batch;
    }
    reader->at_end = reader->offset >= high_watermark;
    reader->end = high_watermark;
    ++*answers;
    return length;
}

/* At the end is where a fetch says that it is. */
static void open_reader(int fd, const struct job *job, struct reader *reader) {
    uint8_t bytes[4096];
    struct job now = *job;
    uint64_t answers = 0;
    reader->offset = 0;
    if (!job->tail) return;
    now.wait_ms = 0;
    now.fetch_bytes = 1;
    send_all(fd, bytes, ask(bytes, &now, reader));
    receive_exactly(fd, bytes, 4);
    size_t length = (size_t)get32(bytes);
    uint8_t *answer = malloc(4 + length);
    memcpy(answer, bytes, 4);
    receive_exactly(fd, answer + 4, length);
    got(answer, 4 + length, reader, &answers);
    free(answer);
    reader->offset = reader->end;
    reader->messages = 0;
}

const struct protocol kafka = {"kafka", 1, unit, greet_writer, open_reader, request, request_size, acks, ask, got};
