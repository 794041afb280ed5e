"""Incremental fetch sessions: what a client fetches, remembered between its fetches.

A client names its partitions once; later it says only what changed, and is
told only what changed. A session costs memory, so there is a bounded number of
them; a client that gets none simply names everything each time.
"""

from collections import OrderedDict
from collections.abc import Iterable
from random import Random
from typing import Final, final

from millstream.broker.fetch import Found
from millstream.errors import ErrorCode, Refused
from millstream.wire.messages.fetch import FetchRequest, FetchRequestPartition

NO_SESSION: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = (1 << 31) - 1
_EVICT_AFTER_SECONDS: Final = 120.0
_PARTITIONS_MAX: Final = 100_000  # in one session; a client with more is served without

Place = tuple[str, bytes, int]
"""Topic name, topic id (one of both is empty) and partition."""


@final
class Remembered:
    """One partition of a session: what was last asked, and what the client was last told."""

    __slots__ = ("high_watermark", "start_offset", "wanted")

    def __init__(self, wanted: FetchRequestPartition) -> None:
        self.wanted = wanted
        self.high_watermark = -1
        self.start_offset = -1

    def told(self, found: Found) -> None:
        # After an error the client must hear from us again as soon as it heals.
        self.high_watermark = -1 if found.error else found.high_watermark
        self.start_offset = found.start_offset

    def is_news(self, found: Found) -> bool:
        """Whether *found* holds anything the client does not know."""
        return (
            found.records is not None
            or found.error != ErrorCode.NONE
            or found.diverging is not None
            or found.high_watermark != self.high_watermark
            or found.start_offset != self.start_offset
        )


@final
class FetchSession:
    __slots__ = ("epoch", "id", "partitions", "used_at", "uses_ids")

    def __init__(self, id: int, uses_ids: bool) -> None:
        self.id = id
        self.epoch = 1
        self.uses_ids = uses_ids
        self.used_at = 0.0
        self.partitions: OrderedDict[Place, Remembered] = OrderedDict()

    def update(self, request: FetchRequest) -> None:
        """Take over what *request* adds, changes and forgets."""
        for place, wanted in places(request):
            known = self.partitions.get(place)
            if known is None:
                self.partitions[place] = Remembered(wanted)
            else:
                known.wanted = wanted
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self.partitions.pop((topic.topic, topic.topic_id, index), None)

    def served(self, fed: Iterable[Place]) -> None:
        """Partitions that just got records go to the back, so that none starves the others."""
        for place in fed:
            if place in self.partitions:
                self.partitions.move_to_end(place)


@final
class FetchSessions:
    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, id: int) -> FetchSession | None:
        return self._sessions.get(id)

    def begin(self, request: FetchRequest, uses_ids: bool, now: float) -> FetchSession | None:
        """The session that *request* wants to begin or go on with; None if it is to be served without."""
        if request.session_epoch == FINAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            return None
        if request.session_epoch == 0:
            self._sessions.pop(request.session_id, None)
            return self._new(request, uses_ids, now)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"no session {request.session_id}")
        if session.uses_ids != uses_ids:
            raise Refused(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, "a session names its topics in one way only"
            )
        if session.epoch != request.session_epoch:
            raise Refused(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
                f"epoch {request.session_epoch}, expected {session.epoch}",
            )
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        session.used_at = now
        self._sessions.move_to_end(session.id)
        session.update(request)
        return session

    def _new(self, request: FetchRequest, uses_ids: bool, now: float) -> FetchSession | None:
        if sum(len(topic.partitions) for topic in request.topics) > _PARTITIONS_MAX or not self._make_room(
            now
        ):
            return None
        id = self._random.randrange(1, _EPOCH_MAX)
        while id in self._sessions:
            id = self._random.randrange(1, _EPOCH_MAX)
        session = FetchSession(id, uses_ids)
        session.used_at = now
        session.update(request)
        self._sessions[id] = session
        return session

    def _make_room(self, now: float) -> bool:
        if len(self._sessions) < self._slots:
            return True
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.used_at < _EVICT_AFTER_SECONDS:
            return False
        del self._sessions[oldest.id]
        return True


def places(request: FetchRequest) -> Iterable[tuple[Place, FetchRequestPartition]]:
    """Every partition *request* names."""
    for topic in request.topics:
        for partition in topic.partitions:
            yield (topic.topic, topic.topic_id, partition.partition), partition
