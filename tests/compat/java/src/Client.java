import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's own client as an application would set it up, and the steps that scenarios are made of. */
final class Client {
    /** One turn's name: of its topics, groups and transactional ids. */
    final String name;
    final Admin admin;
    private final String bootstrap;
    private final List<AutoCloseable> opened = new ArrayList<>();
    private final long end = System.currentTimeMillis() + 25_000;

    Client(String bootstrap, Admin admin, String name) {
        this.bootstrap = bootstrap;
        this.admin = admin;
        this.name = name;
    }

    static final class Failure extends RuntimeException {
        Failure(String reason) {
            super(reason);
        }
    }

    static void check(boolean truth, String otherwise) {
        if (!truth) {
            throw new Failure(otherwise);
        }
    }

    interface Step {
        void run() throws Exception;
    }

    static void refused(Step step, String otherwise) {
        try {
            step.run();
        } catch (Exception expected) {
            return;
        }
        throw new Failure(otherwise);
    }

    void inTime(String otherwise) {
        check(System.currentTimeMillis() < end, otherwise);
    }

    void close() {
        for (int i = opened.size() - 1; i >= 0; i--) {
            try {
                opened.get(i).close();
            } catch (Exception ignored) {
                // the scenario is over, and has said what there was to say
            }
        }
    }

    String topic(int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        return name;
    }

    KafkaProducer<byte[], byte[]> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "reconnect.backoff.max.ms", 200, "enable.idempotence", false));
        all.putAll(settings);
        var made = new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
        opened.add(() -> made.close(Duration.ofSeconds(2)));
        return made;
    }

    static ProducerRecord<byte[], byte[]> record(String topic, int partition, String value) {
        return new ProducerRecord<>(topic, partition, null, value == null ? null : value.getBytes());
    }

    static List<ProducerRecord<byte[], byte[]>> numbered(String topic, int partition, int count) {
        return IntStream.range(0, count).mapToObj(i -> record(topic, partition, "value " + i)).toList();
    }

    static List<RecordMetadata> send(
            KafkaProducer<byte[], byte[]> producer, List<ProducerRecord<byte[], byte[]>> records) throws Exception {
        List<Future<RecordMetadata>> sent = records.stream().map(producer::send).toList();
        List<RecordMetadata> told = new ArrayList<>();
        for (var each : sent) {
            told.add(each.get());
        }
        return told;
    }

    List<RecordMetadata> write(Map<String, Object> settings, List<ProducerRecord<byte[], byte[]>> records)
            throws Exception {
        return send(producer(settings), records);
    }

    /** A consumer that remembers what it owns, what it lost, and up to where it has read. */
    final class Member implements ConsumerRebalanceListener, AutoCloseable {
        final KafkaConsumer<byte[], byte[]> consumer;
        final Set<Integer> owned = new TreeSet<>();
        final List<Integer> revoked = new ArrayList<>();
        private boolean closed;

        Member(KafkaConsumer<byte[], byte[]> consumer) {
            this.consumer = consumer;
            opened.add(this);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            partitions.forEach(each -> owned.add(each.partition()));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(each -> {
                owned.remove(each.partition());
                revoked.add(each.partition());
            });
        }

        List<ConsumerRecord<byte[], byte[]>> poll(int ms) {
            List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
            consumer.poll(Duration.ofMillis(ms)).forEach(got::add);
            return got;
        }

        List<ConsumerRecord<byte[], byte[]>> next(int count) {
            List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
            while (got.size() < count) {
                inTime(got.size() + " of " + count + " records came");
                got.addAll(poll(100));
            }
            check(got.size() == count, got.size() + " records came, not " + count);
            return got;
        }

        void quiet(String why) {
            for (int i = 0; i < 3; i++) {
                check(poll(100).isEmpty(), why + ", yet records came");
            }
        }

        @Override
        public void close() {
            if (!closed) {
                closed = true;
                consumer.close(Duration.ofSeconds(5));
            }
        }
    }

    Member consumer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "enable.auto.commit", false, "auto.offset.reset", "earliest",
            "fetch.max.wait.ms", 50, "reconnect.backoff.max.ms", 200));
        all.putAll(settings);
        return new Member(new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
    }

    /** All partitions of a topic, without a group. */
    Member reader(String topic, Map<String, Object> settings) {
        Member made = consumer(settings);
        made.consumer.assign(made.consumer.partitionsFor(topic).stream()
            .map(each -> new TopicPartition(topic, each.partition())).toList());
        made.consumer.seekToBeginning(made.consumer.assignment());
        return made;
    }

    Member member(String topic, Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("group.id", name));
        if (!"consumer".equals(settings.get("group.protocol"))) {
            all.putAll(Map.of("session.timeout.ms", 10_000, "heartbeat.interval.ms", 100));
        }
        all.putAll(settings);
        Member made = consumer(all);
        made.consumer.subscribe(List.of(topic), made);
        return made;
    }

    List<ConsumerRecord<byte[], byte[]>> read(String topic, int count, Map<String, Object> settings) {
        try (Member reader = reader(topic, settings)) {
            var got = reader.next(count);
            check(reader.poll(200).isEmpty(), "too many records came");
            return got;
        }
    }

    /** Polls members until each owns so many partitions, and all of them different ones. */
    void settle(int each, List<Member> members) {
        for (;;) {
            Set<Integer> all = new TreeSet<>();
            boolean settled = true;
            for (Member member : members) {
                check(member.poll(10).isEmpty(), "a record came before any was written");
                settled &= member.owned.size() == each;
                all.addAll(member.owned);
            }
            if (settled && all.size() == each * members.size()) {
                return;
            }
            inTime("the group did not settle: members own " + members.stream().map(m -> m.owned).toList());
        }
    }
}
