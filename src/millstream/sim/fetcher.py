"""Fetching for simulated consumers, with an incremental session or without."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final, NamedTuple, final

from millstream.client.refusals import error_code
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode
from millstream.records.read import Record
from millstream.sim.history import Key
from millstream.sim.link import Link, records_in, settle, value_of
from millstream.wire.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)

_LAST_VERSION_WITH_NAMES: Final = 12
_NO_SESSION: Final = -1
_BROKEN_SESSION: Final = frozenset(
    {ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH}
)


class Fetched(NamedTuple):
    """What one partition answered."""

    key: Key
    code: ErrorCode
    records: list[Record]
    next_offset: int

    @property
    def values(self) -> list[tuple[int, int]]:
        """Offset and value of each record."""
        return [(record.offset, value_of(record)) for record in self.records]


@final
class Fetcher:
    """Asks for records from where each partition was left; as many as there are if *hungry*.

    With *committed*, only of transactions that were committed.
    """

    def __init__(
        self, link: Link, random: Random, *, sessions: bool, hungry: bool = False, committed: bool = False
    ) -> None:
        self.committed = committed
        self._link = link
        self._random = random
        self._hungry = hungry
        self._sessions = sessions
        self._session_id = 0
        self._epoch = 0
        self._told: dict[Key, int] = {}

    async def fetch(self, positions: Mapping[Key, int], *, wait_s: float) -> list[Fetched]:
        """Whatever the broker has for *positions*; nothing if it has nothing within *wait_s*."""
        request = self._request(positions, wait_s)
        try:
            said = await self._link.ask(
                request, FetchResponse, at_most=_LAST_VERSION_WITH_NAMES, patience=wait_s
            )
        except Unreachable:
            self._forget()
            self._link.drop()
            raise
        if error_code(said.error_code) in _BROKEN_SESSION:
            self._forget()
            return []
        settle(said.error_code)
        self._follow(said, positions)
        found: list[Fetched] = []
        for topic in said.responses:
            for partition in topic.partitions:
                key = topic.topic, partition.partition_index
                if key in positions:
                    records, next_offset = records_in(
                        partition.records, positions[key], partition.aborted_transactions
                    )
                    found.append(Fetched(key, error_code(partition.error_code), records, next_offset))
        return found

    def _request(self, positions: Mapping[Key, int], wait_s: float) -> FetchRequest:
        random = self._random
        in_session = self._sessions and self._session_id != 0
        asked = [key for key in positions if not in_session or self._told.get(key) != positions[key]]
        gone = [key for key in self._told if key not in positions] if in_session else []
        partition_bytes = 1 << 20 if self._hungry else random.choice((1, 1000, 20_000, 1 << 20))
        return FetchRequest(
            max_wait_ms=int(wait_s * 1000),
            min_bytes=random.choice((1, 1, 1000)),
            max_bytes=50 << 20 if self._hungry else random.choice((5000, 1 << 20, 50 << 20)),
            isolation_level=int(self.committed),
            session_id=self._session_id if in_session else 0,
            session_epoch=self._epoch if self._sessions else _NO_SESSION,
            topics=[
                FetchRequestTopic(
                    topic,
                    partitions=[
                        FetchRequestPartition(
                            index, fetch_offset=positions[topic, index], partition_max_bytes=partition_bytes
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(asked).items()
            ],
            forgotten_topics_data=[
                FetchRequestForgottenTopic(topic, partitions=indexes)
                for topic, indexes in by_topic(gone).items()
            ],
        )

    def _follow(self, said: FetchResponse, positions: Mapping[Key, int]) -> None:
        if not self._sessions:
            return
        self._session_id = said.session_id
        if said.session_id == 0:  # the broker has no room for one more session
            self._forget()
            return
        self._epoch += 1
        self._told = dict(positions)

    def _forget(self) -> None:
        self._session_id = 0
        self._epoch = 0
        self._told = {}


def by_topic(keys: Iterable[Key]) -> dict[str, list[int]]:
    """*keys* as requests want them."""
    topics: dict[str, list[int]] = {}
    for topic, index in keys:
        topics.setdefault(topic, []).append(index)
    return topics
