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

/* Seconds of processor time that the busiest thread has had. */
static double busiest(void) {
    DIR *threads = opendir("/proc/self/task");
    double most = 0;
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char path[300], text[1024] = "";
        unsigned long user = 0, system = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (!fread(text, 1, sizeof text - 1, file)) text[0] = 0;
        fclose(file);
        char *after = strrchr(text, ')');
        if (after) sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
        double seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
        if (seconds > most) most = seconds;
    }
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
    double began = now();
    for (long sent = 0; sent < count;) {
        if (rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, value, size, NULL, 0, NULL) == 0) sent++;
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
        if (got > 0 && began == 0) began = now();
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
