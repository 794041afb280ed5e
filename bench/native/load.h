/* What the load generator's protocols share: a job, a connection's ways of speaking, bytes in network order. */
#ifndef LOAD_H
#define LOAD_H

#include <stddef.h>
#include <stdint.h>

struct job {
    const char *topic;
    int port;
    int connections;
    int in_flight;      /* requests a connection may have under way */
    int awake;          /* never sleep while waiting for answers */
    int messages;       /* in a request, where the protocol has such */
    int size;           /* bytes of a message's value */
    int partitions;     /* of so many, connection i writes to partition i, then to i + connections, and so on */
    int acks;
    int fetch_bytes;    /* most bytes a read asks for */
    int wait_ms;        /* how long a read may wait for more */
    int tail;           /* a reader begins at the end, not at the beginning */
    int once;           /* a reader that has reached the end is done, rather than beginning again */
    int rate;           /* requests a second over all connections; 0: as fast as it goes */
    int server_pid;
    double seconds;
    double max_bytes;   /* stop after so many, whatever the time */
};

/* Where a reader is: a protocol keeps in it what it must know to ask for more. */
struct reader {
    int connection;
    int64_t offset;
    int64_t end;
    char id[64];
    uint64_t messages;
    int at_end;
};

struct protocol {
    const char *name;
    int batches; /* whether a request may hold several messages; else as many more requests are in flight */
    /* How many messages one acknowledgement stands for. */
    int (*unit)(const struct job *job);
    /* Greetings of a connection that will write, or read: the socket still blocks. */
    void (*open_writer)(int fd, const struct job *job, int connection);
    void (*open_reader)(int fd, const struct job *job, struct reader *reader);
    /* One request that writes to *partition*; how long it is. Room for one is what request_size says. */
    size_t (*request)(uint8_t *out, const struct job *job, int connection, int partition);
    size_t (*request_size)(const struct job *job);
    /* Whole acknowledgements at the start of *in*: the bytes they take; how many they are. */
    size_t (*acks)(const uint8_t *in, size_t n, uint64_t *acked, uint64_t *refused);
    /* A request to read on; 0 bytes if the server sends without being asked. */
    size_t (*ask)(uint8_t *out, const struct job *job, struct reader *reader);
    /* Whole answers at the start of *in*: the bytes they take; *answers* counts those that end an ask. */
    size_t (*got)(const uint8_t *in, size_t n, struct reader *reader, uint64_t *answers);
};

extern const struct protocol kafka, redis, nats, rabbitmq, text, jsonl, http;

/* As many members as the job has connections join the group that its topic names; seconds until all are settled. */
double rebalance(const struct job *job, uint64_t *requests);

void die(const char *what);
int dial(int port);
void send_all(int fd, const void *data, size_t n);
void receive_exactly(int fd, void *data, size_t n);
double seconds_now(void);

uint8_t *put16(uint8_t *to, int value);
uint8_t *put32(uint8_t *to, int64_t value);
uint8_t *put64(uint8_t *to, int64_t value);
uint8_t *put_text(uint8_t *to, const char *text); /* with a length of 16 bits before it */
int get16(const uint8_t *from);
int32_t get32(const uint8_t *from);
int64_t get64(const uint8_t *from);
void fill(uint8_t *to, int size, int seed); /* bytes that do not compress to nothing */

#endif
