"""Topics of a server that speaks Kafka."""

import contextlib
import time
from typing import Final

from bench.peers.peer import Peer
from bench.serving import Wire

from millstream.errors import ErrorCode
from millstream.wire.messages.create_topics import (
    CreateTopicsRequest,
    CreateTopicsRequestTopic,
    CreateTopicsResponse,
)
from millstream.wire.messages.delete_topics import DeleteTopicsRequest
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

_PATIENCE_SECONDS: Final = 90.0


class SpeaksKafka(Peer):
    def wait_until_served(self) -> None:
        """Return once it says who leads what."""
        self.wait_for_port()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ConnectionError):
                wire = Wire(self.port)
                try:
                    answer = wire.ask(MetadataRequest(topics=[]), 9)
                    if isinstance(answer, MetadataResponse) and answer.brokers:
                        return
                finally:
                    wire.close()
            time.sleep(0.02)
        raise RuntimeError(f"{self.name} does not answer")

    def create(self, topic: str, partitions: int = 1) -> None:
        wire = Wire(self.port)
        asked = CreateTopicsRequest([CreateTopicsRequestTopic(topic, partitions, 1)], timeout_ms=60_000)
        answer = wire.ask(asked, 4)
        if not isinstance(answer, CreateTopicsResponse) or answer.topics[0].error_code:
            raise RuntimeError(f"{self.name} made no topic: {answer}")
        self._wait_for_leaders(wire, topic, partitions)
        wire.close()

    def delete(self, topic: str) -> None:
        wire = Wire(self.port)
        wire.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=60_000), 4)
        wire.close()

    def wait_for_coordinator(self, group: str) -> None:
        """Return once somebody answers for *group*: the first one ever asks for a topic to be made."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        wire = Wire(self.port)
        try:
            while time.monotonic() < deadline:
                found = wire.ask(FindCoordinatorRequest(key=group), 2)
                assert isinstance(found, FindCoordinatorResponse)
                beat = wire.ask(HeartbeatRequest(group_id=group, generation_id=1, member_id="nobody"), 3)
                assert isinstance(beat, HeartbeatResponse)
                if not found.error_code and beat.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                    return
                time.sleep(0.05)
        finally:
            wire.close()
        raise RuntimeError(f"{self.name} has no coordinator for {group}")

    def _wait_for_leaders(self, wire: Wire, topic: str, partitions: int) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            answer = wire.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 9)
            assert isinstance(answer, MetadataResponse)
            led = [
                each for each in answer.topics[0].partitions if each.leader_id >= 0 and not each.error_code
            ]
            if len(led) == partitions and self._is_served(wire, topic, partitions):
                return
            time.sleep(0.02)
        raise RuntimeError(f"{topic} of {self.name} has no leaders")

    def _is_served(self, wire: Wire, topic: str, partitions: int) -> bool:
        """Whether the leader of each knows that it is one: it may be told later than those who ask."""
        asked = [
            FetchRequestPartition(index, fetch_offset=0, partition_max_bytes=1) for index in range(partitions)
        ]
        answer = wire.ask(FetchRequest(topics=[FetchRequestTopic(topic, partitions=asked)]), 11)
        assert isinstance(answer, FetchResponse)
        return not any(each.error_code for told in answer.responses for each in told.partitions)
