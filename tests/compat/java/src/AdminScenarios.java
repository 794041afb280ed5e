import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What an operator asks for. */
final class AdminScenarios {
    static long timed(Client turn, String topic) throws Exception {
        long base = System.currentTimeMillis() - 60_000;
        List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            sent.add(new ProducerRecord<>(topic, 0, base + i * 1000L, null, ("value " + i).getBytes()));
        }
        turn.write(Map.of(), sent);
        return base;
    }

    static long offset(Client turn, OffsetSpec which) throws Exception {
        TopicPartition place = new TopicPartition(turn.name, 0);
        return turn.admin.listOffsets(Map.of(place, which)).partitionResult(place).get().offset();
    }

    static long committed(Client turn) throws Exception {
        var told = turn.admin.listConsumerGroupOffsets(turn.name).partitionsToOffsetAndMetadata().get();
        OffsetAndMetadata one = told.get(new TopicPartition(turn.name, 0));
        return one == null ? -1 : one.offset();
    }

    private static int partitions(Client turn) throws Exception {
        if (!turn.admin.listTopics().names().get().contains(turn.name)) {
            return 0;
        }
        var told = turn.admin.describeTopics(List.of(turn.name)).allTopicNames().get();
        return told.get(turn.name).partitions().size();
    }

    private static Map<String, String> configs(Client turn) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, turn.name);
        Map<String, String> all = new LinkedHashMap<>();
        for (ConfigEntry entry : turn.admin.describeConfigs(List.of(topic)).all().get().get(topic).entries()) {
            all.put(entry.name(), entry.value());
        }
        return all;
    }

    private static void setPolicy(Client turn, String value) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, turn.name);
        var change = new AlterConfigOp(new ConfigEntry("cleanup.policy", value), AlterConfigOp.OpType.SET);
        turn.admin.incrementalAlterConfigs(Map.of(topic, List.of(change))).all().get();
    }

    static void create(Client turn) throws Exception {
        var topic = new NewTopic(turn.name, 3, (short) 1).configs(Map.of("retention.ms", "12345"));
        var told = turn.admin.createTopics(List.of(topic));
        told.all().get();
        Client.check(told.numPartitions(turn.name).get() == 3, "it was told " + told.numPartitions(turn.name).get());
        Client.check(told.config(turn.name).get().get("retention.ms").value().equals("12345"), "other configs came back");
        Client.refused(() -> turn.admin.createTopics(List.of(topic)).all().get(), "it was created twice");
        Client.check(partitions(turn) == 3, "it has " + partitions(turn) + " partitions");
        Client.check(configs(turn).get("retention.ms").equals("12345"), "retention.ms is something else");
    }

    static void delete(Client turn) throws Exception {
        turn.topic(1);
        turn.admin.deleteTopics(List.of(turn.name)).all().get();
        Client.check(partitions(turn) == 0, "it is still there");
        Client.refused(() -> turn.admin.deleteTopics(List.of(turn.name)).all().get(), "it could be deleted twice");
    }

    static void grow(Client turn) throws Exception {
        turn.topic(1);
        turn.admin.createPartitions(Map.of(turn.name, NewPartitions.increaseTo(4))).all().get();
        Client.check(partitions(turn) == 4, "it has " + partitions(turn) + " partitions");
        var fewer = Map.of(turn.name, NewPartitions.increaseTo(2));
        Client.refused(() -> turn.admin.createPartitions(fewer).all().get(), "it could shrink");
    }

    static void changeConfigs(Client turn) throws Exception {
        turn.topic(1);
        var before = configs(turn);
        Client.check(before.get("cleanup.policy").equals("delete") && before.size() >= 20, before.toString());
        setPolicy(turn, "compact");
        Client.check(configs(turn).get("cleanup.policy").equals("compact"), "cleanup.policy did not change");
        Client.refused(() -> setPolicy(turn, "nonsense"), "cleanup.policy=nonsense was taken");
    }

    static void offsets(Client turn) throws Exception {
        long base = timed(turn, turn.topic(1));
        var expected = Map.of(
            OffsetSpec.earliest(), 0L, OffsetSpec.latest(), 10L, OffsetSpec.forTimestamp(base + 2500), 3L,
            OffsetSpec.maxTimestamp(), 9L);
        for (var each : expected.entrySet()) {
            long told = offset(turn, each.getKey());
            Client.check(told == each.getValue(), each.getKey() + " is " + told + ", not " + each.getValue());
        }
    }

    static void groups(Client turn) throws Exception {
        String topic = turn.topic(1);
        turn.write(Map.of(), Client.numbered(topic, 0, 5));
        Client.Member member = turn.member(topic, Map.of());
        member.next(5);
        member.consumer.commitSync();
        Client.check(listed(turn), "the group is not listed");
        var told = turn.admin.describeConsumerGroups(List.of(turn.name)).all().get().get(turn.name);
        Client.check(told.toString().contains("Stable") && told.members().size() == 1, told.toString());
        member.close();
        TopicPartition place = new TopicPartition(topic, 0);
        turn.admin.alterConsumerGroupOffsets(turn.name, Map.of(place, new OffsetAndMetadata(2))).all().get();
        Client.check(committed(turn) == 2, "the group's offset is " + committed(turn));
        turn.admin.deleteConsumerGroupOffsets(turn.name, Set.of(place)).all().get();
        Client.check(committed(turn) == -1, "the group's deleted offset is " + committed(turn));
        turn.admin.alterConsumerGroupOffsets(turn.name, Map.of(place, new OffsetAndMetadata(3))).all().get();
        turn.admin.deleteConsumerGroups(List.of(turn.name)).all().get();
        Client.check(!listed(turn), "the deleted group is still listed");
    }

    private static boolean listed(Client turn) throws Exception {
        return turn.admin.listConsumerGroups().all().get().stream().anyMatch(each -> each.groupId().equals(turn.name));
    }

    static void records(Client turn) throws Exception {
        String topic = turn.topic(1);
        turn.write(Map.of(), Client.numbered(topic, 0, 10));
        TopicPartition place = new TopicPartition(topic, 0);
        turn.admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(4))).all().get();
        Client.check(offset(turn, OffsetSpec.earliest()) == 4, "the first offset is another");
        Client.check(turn.read(topic, 6, Map.of()).get(0).offset() == 4, "an earlier record came");
    }

    static void logDirs(Client turn) throws Exception {
        String topic = turn.topic(2);
        turn.write(Map.of(), List.of(new ProducerRecord<>(topic, 0, null, new byte[10_000])));
        var brokers = turn.admin.describeCluster().nodes().get().stream().map(node -> node.id()).toList();
        long bytes = 0;
        for (var dirs : turn.admin.describeLogDirs(brokers).allDescriptions().get().values()) {
            for (var dir : dirs.values()) {
                for (var replica : dir.replicaInfos().entrySet()) {
                    bytes += replica.getKey().topic().equals(topic) ? replica.getValue().size() : 0;
                }
            }
        }
        Client.check(bytes >= 10_000, "the topic takes up " + bytes + " bytes");
    }
}
