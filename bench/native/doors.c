/* Millstream's doors besides Kafka's, to write to: text, JSON lines and HTTP. One message a request. */
#define _GNU_SOURCE
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unit(const struct job *job) { return job->messages; }

static void open_writer(int fd, const struct job *job, int connection) {
    (void)fd, (void)job, (void)connection;
}

static size_t request_size(const struct job *job) { return 512 + (size_t)job->size; }

/* A text that needs no escapes anywhere. */
static const char *text_of(int size) {
    static char *made;
    if (!made) made = memset(calloc(1, (size_t)size + 1), 'x', (size_t)size);
    return made;
}

static size_t text_request(uint8_t *out, const struct job *job, int connection, int partition) {
    (void)connection, (void)partition;
    return (size_t)sprintf((char *)out, "PUB %s %s\n", job->topic, text_of(job->size));
}

static size_t jsonl_request(uint8_t *out, const struct job *job, int connection, int partition) {
    (void)connection, (void)partition;
    return (size_t)sprintf((char *)out, "{\"type\":\"produce\",\"topic\":\"%s\",\"value\":\"%s\"}\n", job->topic,
                           text_of(job->size));
}

static size_t http_request(uint8_t *out, const struct job *job, int connection, int partition) {
    static const char body[] = "{\"brokerId\":\"broker_1\",\"message\":{\"messageId\":\"m-1\",\"content\":\"%s\"}}";
    (void)connection, (void)partition;
    return (size_t)sprintf((char *)out,
                           "POST /ingress/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           job->topic, sizeof body - 1 - 2 + (size_t)job->size) +
           (size_t)sprintf((char *)out + strlen((char *)out), body, text_of(job->size));
}

/* A line an answer; one that holds *bad* is a refusal. */
static size_t lines(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused, const char *bad) {
    const uint8_t *at = in, *end = in + n, *stop;
    while ((stop = memchr(at, '\n', (size_t)(end - at)))) {
        ++*acked;
        if (memmem(at, (size_t)(stop - at), bad, strlen(bad))) ++*refused;
        at = stop + 1;
    }
    return (size_t)(at - in);
}

static size_t text_acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    return lines(in, n, acked, refused, "ERR");
}

static size_t jsonl_acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    return lines(in, n, acked, refused, "\"ok\":false");
}

static size_t http_acks(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused) {
    static const char length[] = "content-length:";
    size_t used = 0;
    for (;;) {
        const uint8_t *at = in + used, *body = memmem(at, n - used, "\r\n\r\n", 4);
        if (!body) return used;
        char head[2048];
        snprintf(head, sizeof head, "%.*s", (int)(body - at), at);
        const char *said = strcasestr(head, length);
        if (!said) die("an answer without its length");
        size_t whole = (size_t)(body + 4 - at) + (size_t)atol(said + sizeof length - 1);
        if (n - used < whole) return used;
        ++*acked;
        if (!strstr(head, "HTTP/1.1 2")) ++*refused;
        used += whole;
    }
}

const struct protocol text = {"text", 0, unit, open_writer, NULL, text_request, request_size, text_acks, NULL, NULL};
const struct protocol jsonl = {"jsonl", 0, unit, open_writer, NULL, jsonl_request, request_size, jsonl_acks, NULL, NULL};
const struct protocol http = {"http", 0, unit, open_writer, NULL, http_request, request_size, http_acks, NULL, NULL};
