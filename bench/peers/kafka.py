"""Apache Kafka: its own broker on the JVM, one node that is also its controller."""

import shutil
import subprocess
from pathlib import Path
from typing import Final, final

from bench.native import Missing, cache
from bench.peers.peer import free_port
from bench.peers.speaks_kafka import SpeaksKafka

POM: Final = Path(__file__).parent / "kafka.pom.xml"
_CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qg"
_HEAP: Final = "1g"  # what bin/kafka-server-start.sh gives it


def jars() -> Path:
    """The folder of the broker and all it needs."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Missing(f"no {tool} (Debian: default-jdk, maven)")
    folder = cache() / "kafka"
    stamp = folder / "made-from.xml"
    if not stamp.exists() or stamp.read_text() != POM.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        words = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
        done = subprocess.run(
            [*words, f"-DoutputDirectory={folder}"], capture_output=True, text=True, timeout=900
        )
        if done.returncode:
            raise Missing(f"Maven could not fetch Kafka: {(done.stdout + done.stderr)[-500:]}")
        stamp.write_text(POM.read_text())
    return folder


@final
class Kafka(SpeaksKafka):
    name = "Kafka"
    most_partitions = 1_000  # it takes minutes to make ten times as many

    @classmethod
    def install(cls) -> None:
        jars()

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        config = self.data / "server.properties"
        config.write_text(self._properties())
        java = ["java", f"-Xmx{_HEAP}", f"-Xms{_HEAP}", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]
        java += ["-cp", f"{self._quiet_logging()}:{jars()}/*"]
        if not (self.data / "logs" / "meta.properties").exists():
            words = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(config)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise RuntimeError(f"Kafka's storage was not formatted: {done.stderr[-500:]}")
        self.spawn([*java, "kafka.Kafka", str(config)])
        self.wait_until_served()

    def _properties(self) -> str:
        controller = free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data / "logs"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.hours": "168",
            "log.segment.delete.delay.ms": "0",  # so that one workload's files are gone before the next
            "message.max.bytes": "4194304",
            "replica.fetch.max.bytes": "4194304",
        }
        if self.sync:
            settings["log.flush.interval.messages"] = "1"
        return "".join(f"{name}={value}\n" for name, value in settings.items())

    def _quiet_logging(self) -> Path:
        """A folder whose configuration of log4j keeps all but warnings back."""
        folder = cache() / "log4j"
        folder.mkdir(exist_ok=True)
        (folder / "log4j2.properties").write_text(
            "rootLogger.level = WARN\n"
            "rootLogger.appenderRef.out.ref = out\n"
            "appender.out.type = Console\n"
            "appender.out.name = out\n"
        )
        return folder
