"""Kafka's command line tools, by the names operators know them by."""

from typing import Final

from tests.compat.platforms.jvm import Jvm

_OURS: Final = "org.apache.kafka.tools"
CLASSES: Final = {
    "kafka-acls": f"{_OURS}.AclCommand",
    "kafka-broker-api-versions": f"{_OURS}.BrokerApiVersionsCommand",
    "kafka-cluster": f"{_OURS}.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": f"{_OURS}.consumer.ConsoleConsumer",
    "kafka-console-producer": f"{_OURS}.ConsoleProducer",
    "kafka-consumer-groups": f"{_OURS}.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": f"{_OURS}.DeleteRecordsCommand",
    "kafka-dump-log": f"{_OURS}.DumpLogSegments",
    "kafka-features": f"{_OURS}.FeatureCommand",
    "kafka-get-offsets": f"{_OURS}.GetOffsetShell",
    "kafka-groups": f"{_OURS}.GroupsCommand",
    "kafka-leader-election": f"{_OURS}.LeaderElectionCommand",
    "kafka-log-dirs": f"{_OURS}.LogDirsCommand",
    "kafka-metadata-quorum": f"{_OURS}.MetadataQuorumCommand",
    "kafka-producer-perf-test": f"{_OURS}.ProducerPerformance",
    "kafka-consumer-perf-test": f"{_OURS}.ConsumerPerformance",
    "kafka-reassign-partitions": f"{_OURS}.reassign.ReassignPartitionsCommand",
    "kafka-streams-application-reset": f"{_OURS}.StreamsResetter",
    "kafka-topics": f"{_OURS}.TopicCommand",
    "kafka-transactions": f"{_OURS}.TransactionsCommand",
    "kafka-verifiable-consumer": f"{_OURS}.VerifiableConsumer",
    "kafka-verifiable-producer": f"{_OURS}.VerifiableProducer",
}


class Tools:
    """A tool is run as from a shell: words in, an exit code and words out."""

    def __init__(self, jvm: Jvm, bootstrap: str) -> None:
        self._jvm = jvm
        self.bootstrap = bootstrap

    def run(self, tool: str, *args: object, input: str = "", code: int = 0) -> str:
        """What *tool* printed, asking the node; it must end with *code*."""
        return self.alone(tool, "--bootstrap-server", self.bootstrap, *args, input=input, code=code)

    def alone(self, tool: str, *args: object, input: str = "", code: int = 0) -> str:
        """The same for what asks nobody, or names the node in its own way."""
        words = [str(word) for word in args]
        told = self._jvm.ask("tool", **{"class": CLASSES[tool]}, args=words, input=input)
        said = f"{told['out']}{told['err']}"
        assert told["exit"] == code, f"{tool} {' '.join(words)}: exit code {told['exit']}\n{said}"
        return said
