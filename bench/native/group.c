/* A group whose members all come at once, in Kafka's classic protocol: how long until all of one generation have
   what the leader assigned them. Each member is a connection that does what a consumer does: joins, joins again
   with the id it was given, syncs, beats, and joins again when it is told that there is a rebalance. */
#define _GNU_SOURCE
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { HEARTBEAT = 12, LEAVE, SYNC, JOIN = 11, STABLE = 0 }; /* API keys; STABLE: it waits for no answer */
enum { COORDINATOR_LOADING = 14, COORDINATOR_UNAVAILABLE, NOT_COORDINATOR, ILLEGAL_GENERATION = 22,
       UNKNOWN_MEMBER = 25, REBALANCING = 27, MEMBER_ID_REQUIRED = 79 };
enum { ROOM = 1 << 20, EVENTS = 256, SESSION_MS = 30000, REBALANCE_MS = 60000 };
static const double BEAT_SECONDS = .1;

struct member {
    int fd, waits, generation, synced; /* *waits*: for the answer to which API; *synced*: in that generation */
    char id[128];
    double beat_at;
    uint8_t *in;
    size_t received;
};

static struct member *members;
static int leader = -1, leader_generation; /* of the generation that had all members in it */
static uint64_t answered;
static uint8_t out[ROOM];

static uint8_t *begun(int key, int version, const struct job *job) {
    uint8_t *to = put16(out + 4, key);
    to = put16(to, version);
    to = put32(to, 7); /* correlation id */
    return put_text(put_text(to, "load"), job->topic);
}

static void ask(struct member *m, int key, uint8_t *end) {
    put32(out, (int64_t)(end - out) - 4);
    send_all(m->fd, out, (size_t)(end - out));
    m->waits = key;
}

static uint8_t *put_subscription(uint8_t *to, const char *topic) {
    uint8_t *size = to;
    to = put16(to + 4, 0);
    to = put_text(put32(to, 1), topic);
    to = put32(to, -1); /* no user data */
    put32(size, (int64_t)(to - size) - 4);
    return to;
}

static uint8_t *put_assignment(uint8_t *to, const char *topic, int partition) {
    uint8_t *size = to;
    to = put16(to + 4, 0);
    to = put_text(put32(to, 1), topic);
    to = put32(put32(to, 1), partition);
    to = put32(to, -1);
    put32(size, (int64_t)(to - size) - 4);
    return to;
}

static void join(struct member *m, const struct job *job) {
    uint8_t *to = put32(begun(JOIN, 5, job), SESSION_MS);
    m->synced = 0;
    to = put_text(put32(to, REBALANCE_MS), m->id);
    to = put_text(put16(to, -1), "consumer");
    to = put_text(put32(to, 1), "range");
    ask(m, JOIN, put_subscription(to, job->topic));
}

/* The leader's tells who gets what; *listed* are the members as the answer to its join told them. */
static void sync_up(struct member *m, const struct job *job, const uint8_t *listed, int count) {
    uint8_t *to = put_text(put32(begun(SYNC, 3, job), m->generation), m->id);
    to = put32(put16(to, -1), count);
    for (int i = 0; i < count; i++) {
        size_t id = 2 + (size_t)get16(listed);
        memcpy(to, listed, id);
        to = put_assignment(to + id, job->topic, i);
        listed += id;
        listed += 2 + (get16(listed) > 0 ? get16(listed) : 0); /* instance id */
        listed += 4 + get32(listed);                           /* its subscription */
    }
    ask(m, SYNC, to);
}

static void beat(struct member *m, const struct job *job) {
    uint8_t *to = put_text(put32(begun(HEARTBEAT, 3, job), m->generation), m->id);
    m->beat_at = seconds_now() + BEAT_SECONDS;
    ask(m, HEARTBEAT, put16(to, -1));
}

static void joined(struct member *m, const struct job *job, const uint8_t *at) {
    char chosen[128];
    m->generation = get32(at);
    at += 4;
    at += 2 + (get16(at) > 0 ? get16(at) : 0); /* protocol */
    snprintf(chosen, sizeof chosen, "%.*s", get16(at), at + 2);
    at += 2 + get16(at);
    snprintf(m->id, sizeof m->id, "%.*s", get16(at), at + 2);
    at += 2 + get16(at);
    int count = get32(at), leads = !strcmp(chosen, m->id);
    if (leads && count == job->connections) leader = (int)(m - members), leader_generation = m->generation;
    sync_up(m, job, at + 4, leads ? count : 0);
}

static void hear(struct member *m, const struct job *job, const uint8_t *answer) {
    const uint8_t *at = answer + 4 + 4 + 4; /* size, correlation id, throttle */
    int error = get16(at), was = m->waits;
    at += 2;
    m->waits = STABLE;
    answered++;
    switch (error) {
    case 0:
        if (was == JOIN) joined(m, job, at);
        else m->synced = 1;
        if (was == SYNC) m->beat_at = seconds_now() + BEAT_SECONDS;
        return;
    case MEMBER_ID_REQUIRED:
        at += 4;
        at += 2 + (get16(at) > 0 ? get16(at) : 0);
        at += 2 + get16(at);
        snprintf(m->id, sizeof m->id, "%.*s", get16(at), at + 2);
        break;
    case UNKNOWN_MEMBER:
        m->id[0] = 0;
        break;
    case COORDINATOR_LOADING:
    case COORDINATOR_UNAVAILABLE:
    case NOT_COORDINATOR:
    case ILLEGAL_GENERATION:
    case REBALANCING:
        break;
    default: {
        char why[64];
        snprintf(why, sizeof why, "a member was refused: %d", error);
        die(why);
    }
    }
    join(m, job);
}

static void listen_once(struct member *m, const struct job *job) {
    ssize_t n = read(m->fd, m->in + m->received, ROOM - m->received);
    if (n <= 0) die("the server closed the connection");
    m->received += (size_t)n;
    if (m->received < 4) return;
    size_t length = 4 + (size_t)get32(m->in);
    if (length > ROOM) die("an answer is too long");
    if (m->received < length) return;
    m->received = 0; /* one question at a time, so nothing is behind its answer */
    hear(m, job, m->in);
}

static int settled(const struct job *job) {
    if (leader < 0) return 0;
    for (int i = 0; i < job->connections; i++)
        if (!members[i].synced || members[i].generation != leader_generation) return 0;
    return 1;
}

/* So that nobody has to find out that they are gone. */
static void leave(const struct job *job) {
    uint8_t *to = put32(begun(LEAVE, 3, job), job->connections), size[4];
    struct member *m = &members[0];
    while (m->waits) listen_once(m, job);
    for (int i = 0; i < job->connections; i++) to = put16(put_text(to, members[i].id), -1);
    ask(m, LEAVE, to);
    receive_exactly(m->fd, size, 4);
    receive_exactly(m->fd, out, (size_t)get32(size));
}

double rebalance(const struct job *job, uint64_t *requests) {
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(0);
    members = calloc((size_t)job->connections, sizeof *members);
    for (int i = 0; i < job->connections; i++) {
        members[i].fd = dial(job->port);
        members[i].in = malloc(ROOM);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        epoll_ctl(epoll, EPOLL_CTL_ADD, members[i].fd, &event);
    }
    double began = seconds_now(), now = began;
    for (int i = 0; i < job->connections; i++) join(&members[i], job);
    while (!settled(job)) {
        int count = epoll_wait(epoll, events, EVENTS, 10);
        for (int i = 0; i < count; i++) listen_once(&members[events[i].data.u32], job);
        now = seconds_now();
        if (now > began + job->seconds) die("the group does not settle");
        for (int i = 0; i < job->connections; i++)
            if (members[i].waits == STABLE && now >= members[i].beat_at) beat(&members[i], job);
    }
    *requests = answered;
    leave(job);
    return now - began;
}
