/* librdkafka as fast as it goes: one producer, or one consumer, in a process of its own.

   rdkafka produce|consume ADDRESS TOPIC MESSAGES BYTES

   Prints one line of JSON with the time from the first message to the last, and the processor time it took: all
   its threads together, and the one that took most, which is what limits it. */
#include <dirent.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long failed, delivered;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double used(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

/* Seconds of processor time that each thread has had by now: those we know, in the order they were met. */
enum { THREADS = 64 };
static struct {
    char id[32];
    double before, seconds;
} threads[THREADS];
static int known;

static void look(void) {
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        char path[300];
        unsigned long long nanoseconds = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%llu", &nanoseconds) != 1) nanoseconds = 0;
        fclose(file);
        int at = 0;
        while (at < known && strcmp(threads[at].id, entry->d_name)) at++;
        if (at == THREADS) continue;
        if (at == known) snprintf(threads[known++].id, sizeof threads[at].id, "%s", entry->d_name);
        threads[at].seconds = (double)nanoseconds * 1e-9;
    }
    if (tasks) closedir(tasks);
}

/* What was used until now does not count. */
static void forget(void) {
    look();
    for (int i = 0; i < known; i++) threads[i].before = threads[i].seconds;
}

/* What the busiest thread has used since. */
static double busiest(void) {
    double most = 0;
    look();
    for (int i = 0; i < known; i++)
        if (threads[i].seconds - threads[i].before > most) most = threads[i].seconds - threads[i].before;
    return most;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char why[256];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

static void told(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client, (void)opaque;
    if (message->err) failed++;
    else delivered++;
}

static rd_kafka_t *made(rd_kafka_type_t kind, rd_kafka_conf_t *conf) {
    char why[256];
    rd_kafka_t *client = rd_kafka_new(kind, conf, why, sizeof why);
    if (!client) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return client;
}

static double produce(rd_kafka_conf_t *conf, const char *name, long count, size_t size) {
    set(conf, "acks", "all");
    set(conf, "linger.ms", "5");
    set(conf, "batch.num.messages", "10000");
    set(conf, "queue.buffering.max.messages", "1000000");
    rd_kafka_conf_set_dr_msg_cb(conf, told);
    rd_kafka_t *client = made(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    char *value = malloc(size);
    for (size_t i = 0; i < size; i++) value[i] = (char)(' ' + i * 31 % 95);
    forget();
    double began = now();
    for (long sent = 0; sent < count;) {
        if (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, size, NULL, 0, NULL) == 0) sent++;
        else rd_kafka_poll(client, 1); /* its queue is full */
        if (sent % 1000 == 0) rd_kafka_poll(client, 0);
    }
    rd_kafka_flush(client, 60000);
    return now() - began;
}

static double consume(rd_kafka_conf_t *conf, const char *name, long count) {
    set(conf, "fetch.message.max.bytes", "1048576");
    set(conf, "queued.min.messages", "1000000");
    rd_kafka_t *client = made(RD_KAFKA_CONSUMER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    rd_kafka_message_t **some = malloc(sizeof *some * 10000);
    rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_BEGINNING);
    double began = 0;
    while (delivered < count) {
        ssize_t got = rd_kafka_consume_batch(topic, 0, 1000, some, 10000);
        if (got > 0 && began == 0) forget(), began = now();
        for (ssize_t i = 0; i < got; i++) {
            if (!some[i]->err) delivered++;
            rd_kafka_message_destroy(some[i]);
        }
    }
    return now() - began;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[2]);
    long count = atol(argv[4]);
    double began = used();
    double seconds = strcmp(argv[1], "produce") ? consume(conf, argv[3], count)
                                                : produce(conf, argv[3], count, (size_t)atol(argv[5]));
    printf("{\"seconds\": %.4f, \"messages\": %ld, \"refused\": %ld, \"client_cpu\": %.4f, "
           "\"busiest_thread\": %.4f}\n",
           seconds, delivered, failed, used() - began, busiest());
    fflush(stdout);
    _Exit(failed != 0); /* what is left of the client need not be put away */
}
