import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Goes through the scenarios that the command line names: see scenarios.py. */
public final class Scenarios {
    private static final Map<String, Object> PLAIN = Map.of();
    private static final Map<String, Object> COMMITTED = Map.of("isolation.level", "read_committed");

    interface Scenario {
        void run(Client turn) throws Exception;
    }

    private static final Map<String, Scenario> ALL = new HashMap<>();

    static {
        for (String acks : List.of("0", "1", "all")) {
            ALL.put("acks-" + acks, turn -> acks(turn, acks));
        }
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            ALL.put("codec-" + codec, turn -> codec(turn, codec));
        }
        ALL.put("keys", Scenarios::keys);
        ALL.put("headers", Scenarios::headers);
        ALL.put("nulls", Scenarios::nulls);
        ALL.put("megabyte", Scenarios::megabyte);
        ALL.put("assign", Scenarios::assign);
        ALL.put("group", turn -> group(turn, "classic"));
        ALL.put("cooperative", Scenarios::cooperative);
        ALL.put("static-member", Scenarios::staticMember);
        ALL.put("modern-group", turn -> group(turn, "consumer"));
        ALL.put("large-group", Scenarios::largeGroup);
        ALL.put("seek-offset", Scenarios::seekOffset);
        ALL.put("seek-time", Scenarios::seekTime);
        ALL.put("pause", Scenarios::pause);
        ALL.put("commit", Scenarios::commit);
        ALL.put("lag", Scenarios::lag);
        ALL.put("idempotent", Scenarios::idempotent);
        ALL.put("transaction-commit", Scenarios::transactionCommit);
        ALL.put("transaction-abort", Scenarios::transactionAbort);
        ALL.put("transaction-offsets", Scenarios::transactionOffsets);
        ALL.put("transaction-fencing", Scenarios::transactionFencing);
        ALL.put("admin-create", AdminScenarios::create);
        ALL.put("admin-delete", AdminScenarios::delete);
        ALL.put("admin-grow", AdminScenarios::grow);
        ALL.put("admin-configs", AdminScenarios::changeConfigs);
        ALL.put("admin-offsets", AdminScenarios::offsets);
        ALL.put("admin-groups", AdminScenarios::groups);
        ALL.put("admin-records", AdminScenarios::records);
        ALL.put("admin-log-dirs", AdminScenarios::logDirs);
        ALL.put("reconnect", Scenarios::reconnect);
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        Properties about = new Properties();
        about.load(Admin.class.getResourceAsStream("/kafka/kafka-version.properties"));
        String version = about.getProperty("version");
        Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        for (String name : Arrays.asList(args).subList(2, args.length)) {
            Client turn = new Client(bootstrap, admin, args[1] + "-" + name);
            String result = "passed";
            String detail = "";
            long began = System.nanoTime();
            try {
                Client.check(ALL.containsKey(name), "no such scenario");
                ALL.get(name).run(turn);
            } catch (Exception | AssertionError error) {
                result = "failed";
                detail = error instanceof Client.Failure ? error.getMessage() : error.toString();
            } finally {
                turn.close();
            }
            say("scenario", name, "result", result, "detail", detail, "version", version,
                "seconds", String.valueOf((System.nanoTime() - began) / 1_000_000_000.0));
        }
        System.exit(0);
    }

    private static void say(String... pairs) {
        StringBuilder line = new StringBuilder("{");
        for (int i = 0; i < pairs.length; i += 2) {
            String value = pairs[i + 1].replace("\\", "\\\\").replace("\"", "'").replaceAll("\\s+", " ");
            line.append(i > 0 ? ", " : "").append('"').append(pairs[i]).append("\": \"").append(value).append('"');
        }
        System.out.println(line.append("}"));
    }

    private static void restart() throws Exception {
        say("ask", "restart");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
    }

    private static void same(List<ConsumerRecord<byte[], byte[]>> got, List<ProducerRecord<byte[], byte[]>> sent) {
        Client.check(got.size() == sent.size(), got.size() + " records came, not " + sent.size());
        for (int i = 0; i < sent.size(); i++) {
            var one = got.get(i);
            var other = sent.get(i);
            boolean alike = Arrays.equals(one.key(), other.key()) && Arrays.equals(one.value(), other.value());
            Client.check(alike, "record " + i + " came back changed");
            Client.check(one.headers().equals(other.headers()), "record " + i + " came back with " + one.headers());
        }
    }

    private static void acks(Client turn, String acks) throws Exception {
        String topic = turn.topic(1);
        var sent = Client.numbered(topic, 0, 10);
        var told = turn.write(Map.of("acks", acks), sent);
        for (int i = 0; i < 10 && !acks.equals("0"); i++) {
            Client.check(told.get(i).offset() == i, "record " + i + " was told offset " + told.get(i).offset());
        }
        same(turn.read(topic, 10, PLAIN), sent);
    }

    private static void codec(Client turn, String codec) throws Exception {
        String topic = turn.topic(1);
        List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            byte[] key = ("key " + i).getBytes();
            sent.add(new ProducerRecord<>(topic, 0, key, ("value " + i + " ").repeat(20).getBytes()));
        }
        turn.write(Map.of("compression.type", codec, "linger.ms", 20), sent);
        same(turn.read(topic, 50, PLAIN), sent);
    }

    private static void keys(Client turn) throws Exception {
        String topic = turn.topic(3);
        List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            sent.add(new ProducerRecord<>(topic, ("key " + i % 10).getBytes(), new byte[] {(byte) i}));
        }
        turn.write(PLAIN, sent);
        Map<String, Integer> places = new HashMap<>();
        for (var record : turn.read(topic, 60, PLAIN)) {
            String key = new String(record.key());
            int known = places.getOrDefault(key, record.partition());
            Client.check(known == record.partition(), key + " is in two partitions");
            places.put(key, record.partition());
        }
        int used = new HashSet<>(places.values()).size();
        Client.check(places.size() == 10 && used > 1, places.size() + " keys in " + used + " partitions");
    }

    private static void headers(Client turn) throws Exception {
        String topic = turn.topic(1);
        var sent = List.of(Client.record(topic, 0, "some"), Client.record(topic, 0, "none"));
        sent.get(0).headers().add("a", "1".getBytes()).add("b", new byte[] {0, -1}).add("a", "2".getBytes())
            .add("c", new byte[0]).add("d", null);
        turn.write(PLAIN, sent);
        same(turn.read(topic, 2, PLAIN), sent);
    }

    private static void nulls(Client turn) throws Exception {
        String topic = turn.topic(1);
        var sent = List.of(
            Client.record(topic, 0, "no key"),
            new ProducerRecord<byte[], byte[]>(topic, 0, "no value".getBytes(), null),
            new ProducerRecord<>(topic, 0, new byte[0], new byte[0]));
        turn.write(PLAIN, sent);
        same(turn.read(topic, 3, PLAIN), sent);
    }

    private static void megabyte(Client turn) throws Exception {
        String topic = turn.topic(1);
        byte[] value = new byte[1_000_000];
        new Random(1).nextBytes(value);
        var sent = List.of(new ProducerRecord<byte[], byte[]>(topic, 0, null, value));
        turn.write(PLAIN, sent);
        same(turn.read(topic, 1, PLAIN), sent);
    }

    private static void assign(Client turn) throws Exception {
        String topic = turn.topic(3);
        Map<Integer, Integer> counts = new HashMap<>();
        for (int partition = 0; partition < 3; partition++) {
            turn.write(PLAIN, Client.numbered(topic, partition, 5));
        }
        for (var record : turn.read(topic, 15, PLAIN)) {
            int expected = counts.merge(record.partition(), 1, Integer::sum) - 1;
            Client.check(record.offset() == expected, "offset " + record.offset() + " came, not " + expected);
        }
        Client.check(counts.equals(Map.of(0, 5, 1, 5, 2, 5)), "by partition came " + counts);
    }

    private static void group(Client turn, String protocol) throws Exception {
        String topic = turn.topic(4);
        Map<String, Object> how = Map.of("group.protocol", protocol);
        List<Client.Member> members = List.of(turn.member(topic, how), turn.member(topic, how));
        turn.settle(2, members);
        if (protocol.equals("consumer")) {
            var told = turn.admin.describeConsumerGroups(List.of(turn.name)).all().get().get(turn.name);
            Client.check(told.toString().contains("type=Consumer"), "the group is not of the modern kind: " + told);
        }
        for (int partition = 0; partition < 4; partition++) {
            turn.write(PLAIN, Client.numbered(topic, partition, 10));
        }
        Set<String> seen = new HashSet<>();
        int count = 0;
        while (count < 40) {
            turn.inTime(count + " of 40 records came");
            for (Client.Member member : members) {
                for (var record : member.poll(20)) {
                    seen.add(record.partition() + " " + record.offset());
                    count++;
                }
            }
        }
        Client.check(seen.size() == 40, "some records came twice, others not at all");
        members.forEach(member -> member.consumer.commitSync());
    }

    private static void cooperative(Client turn) throws Exception {
        String topic = turn.topic(4);
        Map<String, Object> how = Map.of(
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        Client.Member one = turn.member(topic, how);
        turn.settle(4, List.of(one));
        turn.settle(2, List.of(one, turn.member(topic, how)));
        Client.check(one.revoked.size() == 2, "the first member lost " + one.revoked);
    }

    private static void staticMember(Client turn) throws Exception {
        String topic = turn.topic(4);
        Client.Member one = turn.member(topic, Map.of("group.instance.id", "one"));
        Client.Member two = turn.member(topic, Map.of("group.instance.id", "two"));
        turn.settle(2, List.of(one, two));
        Set<Integer> before = new TreeSet<>(one.owned);
        int lost = two.revoked.size();
        one.close();
        one = turn.member(topic, Map.of("group.instance.id", "one"));
        turn.settle(2, List.of(one, two));
        Client.check(one.owned.equals(before), "it owned " + before + ", and then " + one.owned);
        Client.check(two.revoked.size() == lost, "the other member was rebalanced");
    }

    private static void largeGroup(Client turn) throws Exception {
        String topic = turn.topic(40);
        List<Client.Member> members = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            members.add(turn.member(topic, PLAIN));
        }
        turn.settle(2, members);
    }

    private static void seekOffset(Client turn) throws Exception {
        String topic = turn.topic(1);
        turn.write(PLAIN, Client.numbered(topic, 0, 10));
        Client.Member reader = turn.reader(topic, PLAIN);
        reader.next(10);
        for (int offset : List.of(3, 8)) {
            reader.consumer.seek(new TopicPartition(topic, 0), offset);
            long first = reader.next(10 - offset).get(0).offset();
            Client.check(first == offset, "offset " + first + " came after a seek to " + offset);
        }
    }

    private static void seekTime(Client turn) throws Exception {
        String topic = turn.topic(1);
        long base = AdminScenarios.timed(turn, topic);
        TopicPartition place = new TopicPartition(topic, 0);
        Client.Member reader = turn.reader(topic, PLAIN);
        reader.next(10);
        reader.consumer.seek(place, reader.consumer.offsetsForTimes(Map.of(place, base + 4500)).get(place).offset());
        var first = reader.next(5).get(0);
        Client.check(first.offset() == 5 && first.timestamp() == base + 5000, "offset " + first.offset() + " came");
    }

    private static void pause(Client turn) throws Exception {
        String topic = turn.topic(2);
        List<TopicPartition> paused = List.of(new TopicPartition(topic, 0));
        Client.Member reader = turn.reader(topic, PLAIN);
        turn.write(PLAIN, Client.numbered(topic, 0, 1));
        reader.next(1);
        reader.consumer.pause(paused);
        turn.write(PLAIN, Client.numbered(topic, 0, 5));
        turn.write(PLAIN, Client.numbered(topic, 1, 5));
        boolean other = reader.next(5).stream().allMatch(record -> record.partition() == 1);
        Client.check(other, "a record came from the paused partition");
        reader.quiet("partition 0 is paused");
        reader.consumer.resume(paused);
        long first = reader.next(5).get(0).offset();
        Client.check(first == 1, "offset " + first + " came first after resuming");
    }

    private static void commit(Client turn) throws Exception {
        String topic = turn.topic(1);
        turn.write(PLAIN, Client.numbered(topic, 0, 10));
        Client.Member one = turn.member(topic, PLAIN);
        one.next(10);
        one.consumer.commitSync();
        one.close();
        turn.write(PLAIN, Client.numbered(topic, 0, 5));
        long first = turn.member(topic, PLAIN).next(5).get(0).offset();
        Client.check(first == 10, "the next member went on at offset " + first);
    }

    private static void lag(Client turn) throws Exception {
        String topic = turn.topic(1);
        turn.write(PLAIN, Client.numbered(topic, 0, 10));
        Client.Member member = turn.member(topic, PLAIN);
        member.next(10);
        member.consumer.commitSync();
        turn.write(PLAIN, Client.numbered(topic, 0, 3));
        long lag = AdminScenarios.offset(turn, OffsetSpec.latest()) - AdminScenarios.committed(turn);
        Client.check(lag == 3, "the lag is " + lag);
    }

    private static void idempotent(Client turn) throws Exception {
        String topic = turn.topic(1);
        var sent = Client.numbered(topic, 0, 200);
        turn.write(Map.of("enable.idempotence", true, "batch.size", 200), sent);
        same(turn.read(topic, 200, PLAIN), sent);
    }

    private static KafkaProducer<byte[], byte[]> transactional(Client turn) {
        var made = turn.producer(Map.of("transactional.id", turn.name, "enable.idempotence", true));
        made.initTransactions();
        return made;
    }

    private static void transactionCommit(Client turn) throws Exception {
        String topic = turn.topic(2);
        var producer = transactional(turn);
        Client.Member reader = turn.reader(topic, COMMITTED);
        producer.beginTransaction();
        Client.send(producer, Client.numbered(topic, 0, 5));
        Client.send(producer, Client.numbered(topic, 1, 5));
        reader.quiet("the transaction is open");
        producer.commitTransaction();
        reader.next(10);
    }

    private static void transactionAbort(Client turn) throws Exception {
        String topic = turn.topic(1);
        var producer = transactional(turn);
        producer.beginTransaction();
        Client.send(producer, Client.numbered(topic, 0, 3));
        producer.abortTransaction();
        producer.beginTransaction();
        var kept = List.of(Client.record(topic, 0, "kept 1"), Client.record(topic, 0, "kept 2"));
        Client.send(producer, kept);
        producer.commitTransaction();
        same(turn.read(topic, 2, COMMITTED), kept);
        turn.read(topic, 5, PLAIN);
    }

    private static void transactionOffsets(Client turn) throws Exception {
        String from = turn.topic(1);
        String to = from + "-to";
        turn.admin.createTopics(List.of(new NewTopic(to, 1, (short) 1))).all().get();
        var sent = Client.numbered(from, 0, 10);
        turn.write(PLAIN, sent);
        for (boolean decision : List.of(false, true)) {
            var producer = transactional(turn);
            Client.Member reader = turn.member(from, COMMITTED);
            var got = reader.next(10);
            producer.beginTransaction();
            for (var record : got) {
                producer.send(new ProducerRecord<>(to, record.key(), record.value()));
            }
            var offsets = Map.of(new TopicPartition(from, 0), new OffsetAndMetadata(10));
            producer.sendOffsetsToTransaction(offsets, reader.consumer.groupMetadata());
            if (decision) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
            reader.close();
            long expected = decision ? 10 : -1;
            long told = AdminScenarios.committed(turn);
            Client.check(told == expected, "the group's offset is " + told + ", not " + expected);
        }
        same(turn.read(to, 10, COMMITTED), sent);
    }

    private static void transactionFencing(Client turn) throws Exception {
        String topic = turn.topic(1);
        var one = transactional(turn);
        one.beginTransaction();
        Client.send(one, Client.numbered(topic, 0, 1));
        var two = transactional(turn);
        two.beginTransaction();
        var kept = List.of(Client.record(topic, 0, "of the second"));
        Client.send(two, kept);
        two.commitTransaction();
        Client.refused(() -> {
            Client.send(one, Client.numbered(topic, 0, 1));
            one.commitTransaction();
        }, "the first producer could commit");
        same(turn.read(topic, 1, COMMITTED), kept);
    }

    private static void reconnect(Client turn) throws Exception {
        String topic = turn.topic(1);
        var producer = turn.producer(PLAIN);
        Client.Member member = turn.member(topic, PLAIN);
        var sent = Client.numbered(topic, 0, 6);
        Client.send(producer, sent.subList(0, 3));
        var got = new ArrayList<>(member.next(3));
        member.consumer.commitSync();
        restart();
        Client.send(producer, sent.subList(3, 6));
        got.addAll(member.next(3));
        same(got, sent);
        member.consumer.commitSync();
        same(turn.read(topic, 6, PLAIN), sent);
    }
}
