import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.NoReassignmentInProgressException;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The calls that Kafka UI and AKHQ make of an AdminClient, and what they need of the answers. */
public final class Consoles {
    interface Call {
        void make() throws Exception;
    }

    private final String bootstrap;
    private final String name;
    private final Admin admin;
    private final TopicPartition place;

    private Consoles(String bootstrap, String name) {
        this.bootstrap = bootstrap;
        this.name = name;
        this.place = new TopicPartition(name, 0);
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] args) throws Exception {
        var consoles = new Consoles(args[0], args[1]);
        consoles.prepare();
        var calls = new LinkedHashMap<String, Call>();
        calls.put("cluster", consoles::cluster);
        calls.put("broker-configs", consoles::brokerConfigs);
        calls.put("topic-configs", consoles::topicConfigs);
        calls.put("log-dirs", consoles::logDirs);
        calls.put("topics", consoles::topics);
        calls.put("change-topics", consoles::changeTopics);
        calls.put("offsets", consoles::offsets);
        calls.put("groups", consoles::groups);
        calls.put("group-offsets", consoles::groupOffsets);
        calls.put("members", consoles::members);
        calls.put("acls", consoles::acls);
        calls.put("quotas", consoles::quotas);
        calls.put("features", consoles::features);
        calls.put("quorum", consoles::quorum);
        calls.put("scram", consoles::scram);
        calls.put("producers", consoles::producers);
        calls.put("reassignments", consoles::reassignments);
        for (String asked : Arrays.asList(args).subList(2, args.length)) {
            String said = "";
            try {
                calls.get(asked).make();
            } catch (Throwable error) {
                said = error + " at " + Arrays.stream(error.getStackTrace())
                    .filter(frame -> frame.getClassName().equals("Consoles")).findFirst().orElse(null);
            }
            System.out.println(asked + "\t" + said.replaceAll("\\s+", " "));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void check(boolean truth, Object otherwise) {
        if (!truth) {
            throw new AssertionError(otherwise);
        }
    }

    private static void refused(Class<? extends Exception> how, Call call) throws Exception {
        try {
            call.make();
        } catch (ExecutionException error) {
            check(how.isInstance(error.getCause()), error);
            check(!error.getCause().getMessage().isBlank(), "it is not said why");
            return;
        }
        throw new AssertionError("it was not refused");
    }

    private Map<String, Object> with(Map<String, Object> more) {
        var all = new LinkedHashMap<String, Object>(Map.of("bootstrap.servers", bootstrap));
        all.putAll(more);
        return all;
    }

    private void prepare() throws Exception {
        admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all().get();
        var strings = new StringSerializer();
        try (var producer = new KafkaProducer<>(with(Map.of()), strings, strings)) {
            for (int i = 0; i < 10; i++) {
                producer.send(new ProducerRecord<>(name, 0, 1000L * i + 1, "key", "value " + i)).get();
            }
        }
    }

    private void cluster() throws Exception {
        var told = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        check(told.clusterId().get().length() == 22, told.clusterId().get());
        check(told.nodes().get().size() == 1, told.nodes().get());
        check(told.controller().get().equals(told.nodes().get().iterator().next()), told.controller().get());
        check(told.authorizedOperations().get().contains(AclOperation.ALTER), told.authorizedOperations().get());
    }

    private Collection<ConfigEntry> configs(ConfigResource resource) throws Exception {
        var asked = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        var entries = admin.describeConfigs(List.of(resource), asked).all().get().get(resource).entries();
        for (ConfigEntry entry : entries) {
            check(entry.documentation() != null && !entry.documentation().isBlank(), entry);
            check(entry.type() != ConfigEntry.ConfigType.UNKNOWN, entry);
            check(entry.source() != ConfigEntry.ConfigSource.UNKNOWN, entry);
            check(!entry.synonyms().isEmpty() && entry.synonyms().get(0).value() != null, entry);
        }
        return entries;
    }

    private static String value(Collection<ConfigEntry> entries, String name) {
        return entries.stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow().value();
    }

    private void brokerConfigs() throws Exception {
        var broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        var entries = configs(broker);
        check(value(entries, "delete.topic.enable").equals("true"), "whether topics may be deleted is not told");
        check(value(entries, "auto.create.topics.enable").equals("true"), "whether topics are made is not told");
        change(broker, "log.retention.ms", "1234567");
        check(value(configs(broker), "log.retention.ms").equals("1234567"), "it did not change");
        admin.incrementalAlterConfigs(Map.of(broker, List.of(new AlterConfigOp(
            new ConfigEntry("log.retention.ms", null), AlterConfigOp.OpType.DELETE)))).all().get();
        check(value(configs(broker), "log.retention.ms").equals("604800000"), "it did not change back");
    }

    private void change(ConfigResource resource, String config, String value) throws Exception {
        var change = new AlterConfigOp(new ConfigEntry(config, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
    }

    private void topicConfigs() throws Exception {
        var topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        check(value(configs(topic), "cleanup.policy").equals("delete"), "another policy");
        change(topic, "max.message.bytes", "2000000");
        var entry = configs(topic).stream().filter(each -> each.name().equals("max.message.bytes")).findFirst().get();
        check(entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG && !entry.isDefault(), entry);
        check(entry.synonyms().size() == 2, entry.synonyms());
    }

    private void logDirs() throws Exception {
        var dirs = admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        check(dirs.size() == 1, dirs);
        var dir = dirs.values().iterator().next();
        check(dir.error() == null && dir.replicaInfos().get(place).size() > 0, dir);
        check(dir.totalBytes().orElse(0) > 0 && dir.usableBytes().orElse(0) > 0, "how much room there is, is not told");
        check(!dir.replicaInfos().get(place).isFuture() && dir.replicaInfos().get(place).offsetLag() == 0, dir);
    }

    private void topics() throws Exception {
        var listed = admin.listTopics(new ListTopicsOptions().listInternal(true)).namesToListings().get();
        check(listed.containsKey(name) && !listed.get(name).isInternal(), listed);
        var asked = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        var topic = admin.describeTopics(List.of(name), asked).allTopicNames().get().get(name);
        check(topic.authorizedOperations().contains(AclOperation.WRITE), topic.authorizedOperations());
        check(topic.topicId().equals(listed.get(name).topicId()), topic);
        var partition = topic.partitions().get(1);
        check(partition.leader().id() == 1 && partition.isr().size() == 1 && partition.replicas().size() == 1, partition);
        refused(org.apache.kafka.common.errors.UnknownTopicOrPartitionException.class,
            () -> admin.describeTopics(List.of("nowhere")).allTopicNames().get());
    }

    private void changeTopics() throws Exception {
        String other = name + "-other";
        var topic = new NewTopic(other, Optional.empty(), Optional.empty()).configs(Map.of("cleanup.policy", "compact"));
        admin.createTopics(List.of(topic), new CreateTopicsOptions().validateOnly(true)).all().get();
        check(!admin.listTopics().names().get().contains(other), "it was only to be looked at");
        check(admin.createTopics(List.of(topic)).numPartitions(other).get() == 1, "the default is another");
        admin.createPartitions(Map.of(other, NewPartitions.increaseTo(3))).all().get();
        check(admin.describeTopics(List.of(other)).allTopicNames().get().get(other).partitions().size() == 3, "no more");
        admin.deleteTopics(List.of(other)).all().get();
        check(!admin.listTopics().names().get().contains(other), "it is still there");
        admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(2))).all().get();
        check(offset(OffsetSpec.earliest()) == 2, "nothing was deleted");
    }

    private long offset(OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(place, spec)).partitionResult(place).get().offset();
    }

    private void offsets() throws Exception {
        check(offset(OffsetSpec.latest()) == 10, "latest");
        check(offset(OffsetSpec.maxTimestamp()) == 9, "max timestamp");
        check(offset(OffsetSpec.forTimestamp(4500)) == 5, "by time");
        check(offset(OffsetSpec.forTimestamp(System.currentTimeMillis())) == -1, "later than all");
        check(offset(OffsetSpec.earliestLocal()) == offset(OffsetSpec.earliest()), "earliest local");
        check(offset(OffsetSpec.latestTiered()) == -1, "nothing is tiered");
    }

    private KafkaConsumer<String, String> member(String group, String protocol) throws Exception {
        var strings = new StringDeserializer();
        var consumer = new KafkaConsumer<>(
            with(Map.of("group.id", group, "group.protocol", protocol, "auto.offset.reset", "earliest",
                "enable.auto.commit", "false", "client.id", "seen")), strings, strings);
        consumer.subscribe(List.of(name));
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (consumer.poll(Duration.ofMillis(100)).isEmpty()) {
            check(System.nanoTime() < end, "nothing came to " + group);
        }
        consumer.commitSync(Map.of(place, new OffsetAndMetadata(4)));
        return consumer;
    }

    private ConsumerGroupDescription group(String group) throws Exception {
        var asked = new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true);
        return admin.describeConsumerGroups(List.of(group), asked).all().get().get(group);
    }

    private ConsumerGroupDescription settled(String group) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (group(group).groupState() != GroupState.STABLE && System.nanoTime() < end) {
            Thread.sleep(50);
        }
        return group(group);
    }

    private void groups() throws Exception {
        String simple = name + "-simple";
        admin.alterConsumerGroupOffsets(simple, Map.of(place, new OffsetAndMetadata(3))).all().get();
        try (var classic = member(name + "-classic", "classic"); var modern = member(name + "-modern", "consumer")) {
            var types = Map.of(name + "-classic", GroupType.CLASSIC, name + "-modern", GroupType.CONSUMER);
            for (var each : types.entrySet()) {
                var told = settled(each.getKey());
                check(told.type() == each.getValue() && told.groupState() == GroupState.STABLE, told);
                check(told.coordinator().id() == 1 && !told.partitionAssignor().isBlank(), told);
                check(told.authorizedOperations() != null && told.authorizedOperations().contains(AclOperation.READ), told);
                var member = told.members().iterator().next();
                check(member.clientId().equals("seen") && member.host().contains("127.0.0.1"), member);
                check(member.assignment().topicPartitions().contains(place), member);
                var listed = listed(ListGroupsOptions.forConsumerGroups()
                    .inGroupStates(Set.of(GroupState.STABLE)).withTypes(Set.of(each.getValue())));
                check(listed.contains(each.getKey()) && !listed.contains(simple), listed);
            }
        }
        check(group(simple).groupState() == GroupState.EMPTY && group(simple).isSimpleConsumerGroup(), group(simple));
        check(listed(new ListGroupsOptions()).containsAll(Set.of(simple, name + "-classic", name + "-modern")), "a group is gone");
        refused(org.apache.kafka.common.errors.GroupIdNotFoundException.class, () -> group("nobody"));
    }

    private Set<String> listed(ListGroupsOptions asked) throws Exception {
        return admin.listGroups(asked).all().get().stream().map(GroupListing::groupId).collect(Collectors.toSet());
    }

    private void groupOffsets() throws Exception {
        String one = name + "-one", two = name + "-two";
        for (String group : List.of(one, two)) {
            admin.alterConsumerGroupOffsets(group, Map.of(place, new OffsetAndMetadata(7, "note"))).all().get();
        }
        var asked = Map.of(one, new ListConsumerGroupOffsetsSpec(), two,
            new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(place, new TopicPartition(name, 1))));
        var told = admin.listConsumerGroupOffsets(asked);
        check(told.partitionsToOffsetAndMetadata(one).get().get(place).equals(new OffsetAndMetadata(7, "note")), "one");
        var both = told.partitionsToOffsetAndMetadata(two).get();
        check(both.get(place).offset() == 7 && both.get(new TopicPartition(name, 1)) == null, both);
        admin.deleteConsumerGroupOffsets(one, Set.of(place)).all().get();
        check(!admin.listConsumerGroupOffsets(one).partitionsToOffsetAndMetadata().get().containsKey(place), "still there");
        admin.deleteConsumerGroups(List.of(two)).all().get();
        check(!listed(new ListGroupsOptions()).contains(two), "the group is still there");
    }

    private void members() throws Exception {
        String group = name + "-members";
        try (var member = member(group, "classic")) {
            refused(org.apache.kafka.common.errors.GroupNotEmptyException.class,
                () -> admin.deleteConsumerGroups(List.of(group)).all().get());
            admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
            check(group(group).members().isEmpty(), group(group));
        }
    }

    private void acls() throws Exception {
        refused(SecurityDisabledException.class, () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
        var binding = new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL),
            new AccessControlEntry("User:x", "*", AclOperation.READ, AclPermissionType.ALLOW));
        refused(SecurityDisabledException.class, () -> admin.createAcls(List.of(binding)).all().get());
        refused(SecurityDisabledException.class, () -> admin.deleteAcls(List.of(binding.toFilter())).all().get());
    }

    private void quotas() throws Exception {
        var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, name));
        for (Double value : Arrays.asList(1_000_000.0, null)) {
            var change = new ClientQuotaAlteration(entity, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", value)));
            admin.alterClientQuotas(List.of(change)).all().get();
            var told = admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().get(entity);
            check(value == null ? told == null : told.equals(Map.of("producer_byte_rate", value)), told);
        }
    }

    private void features() throws Exception {
        var told = admin.describeFeatures().featureMetadata().get();
        check(told.finalizedFeatures().get("transaction.version").maxVersionLevel() == 2, told);
        check(admin.listConfigResources().all().get().contains(new ConfigResource(ConfigResource.Type.TOPIC, name)), "resources");
    }

    private void quorum() throws Exception {
        refused(UnsupportedVersionException.class, () -> admin.describeMetadataQuorum().quorumInfo().get());
    }

    private void scram() throws Exception {
        check(admin.describeUserScramCredentials().all().get().isEmpty(), "somebody has a password");
    }

    private void producers() throws Exception {
        var producers = admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers();
        check(producers.size() == 1 && producers.get(0).currentTransactionStartOffset().isEmpty(), producers);
        check(producers.get(0).lastSequence() == 9, producers);
        var listed = admin.listTransactions().all().get();
        check(listed.stream().noneMatch(each -> each.transactionalId().startsWith(name)), listed);
    }

    private void reassignments() throws Exception {
        check(admin.listPartitionReassignments().reassignments().get().isEmpty(), "something is being moved");
        var here = Map.of(place, Optional.of(new NewPartitionReassignment(List.of(1))));
        admin.alterPartitionReassignments(here).all().get();
        var there = Map.of(place, Optional.of(new NewPartitionReassignment(List.of(1, 2))));
        refused(org.apache.kafka.common.errors.InvalidReplicaAssignmentException.class,
            () -> admin.alterPartitionReassignments(there).all().get());
        Map<TopicPartition, Optional<NewPartitionReassignment>> nowhere = Map.of(place, Optional.empty());
        refused(NoReassignmentInProgressException.class, () -> admin.alterPartitionReassignments(nowhere).all().get());
    }
}
