"""The end of a transaction, told to every partition that it wrote to."""

import asyncio
import logging
from collections.abc import Set
from typing import Final, final

from millstream.broker.change_log import done
from millstream.broker.groups import Groups
from millstream.broker.produce import Produce
from millstream.broker.topics import Topics
from millstream.cluster.image import OFFSETS_TOPIC
from millstream.errors import ErrorCode, Refused
from millstream.records.control import Marker
from millstream.transactions.transaction import Place, Transaction

log = logging.getLogger(__name__)

_COORDINATOR_EPOCH: Final = 0  # this node coordinates every transaction, and always did
_MARKERS_A_SLICE: Final = 500  # written in one go before others get the loop


@final
class Markers:
    """Writes markers, and lets groups know of those that concern their offsets."""

    def __init__(self, topics: Topics, produce: Produce, groups: Groups) -> None:
        self._topics = topics
        self._produce = produce
        self._groups = groups

    async def write(self, ending: Transaction, places: Set[Place]) -> frozenset[Place]:
        """Write a marker in each of *places*; where none could be written yet, once the others are safe."""
        marker = Marker.COMMIT if ending.commits else Marker.ABORT
        left: set[Place] = set()
        waiting: list[asyncio.Future[None]] = []
        for count, place in enumerate(sorted(places), 1):
            try:
                waiting.append(self.append(place, marker, ending.producer_id, ending.epoch))
            except Refused as refusal:
                if not _is_in_vain(refusal):
                    log.warning("marker not written to=%s-%d reason=%s", *place, refusal)
                    left.add(place)
            if count % _MARKERS_A_SLICE == 0:
                await asyncio.sleep(0)
        for safe in waiting:
            try:
                await safe
            except Refused as refusal:
                if not _is_in_vain(refusal):
                    raise
        return frozenset(left)

    def append(
        self,
        place: Place,
        marker: Marker,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int = _COORDINATOR_EPOCH,
    ) -> "asyncio.Future[None]":
        """Write one marker in this call; done when it is committed."""
        hosted = self._topics.hosted(place.topic, place.partition)
        appended = self._produce.append_marker(hosted, marker, producer_id, epoch, coordinator_epoch)
        safe = hosted.acked(appended.end_offset) or done()
        if place.topic == OFFSETS_TOPIC:
            self._groups.transaction_ended(place.partition, producer_id, marker is Marker.COMMIT, safe)
        return safe


def _is_in_vain(refusal: Refused) -> bool:
    """Whether there is nothing to end any more: the topic is gone, or a later producer has ended it."""
    return refusal.code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_PRODUCER_EPOCH)
