"""A cluster to talk to: finds its brokers, knows who leads what, and tries again when that changes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from ssl import SSLContext
from typing import Final, Self, TypeVar, final

from millstream.client.addresses import parse_addresses
from millstream.client.connection import Connection
from millstream.client.lane import Lane
from millstream.client.metadata import read_metadata
from millstream.client.refusals import check
from millstream.client.topics import Metadata, Node, Topic, TopicPartition
from millstream.client.unreachable import Unreachable
from millstream.errors import ErrorCode, Refused
from millstream.wire.message import Message
from millstream.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from millstream.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

_GROUP, _TRANSACTION = 0, 1  # FindCoordinator's key types
_BACKOFF_FIRST: Final = 0.1
_BACKOFF_MAX: Final = 1.0

# A client that asks for what does not exist is better told than kept waiting.
_NOT_WORTH_WAITING: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

R = TypeVar("R", bound=Message)
T = TypeVar("T")


@final
class Client:
    """One program's view of a cluster. Use as `async with Client("host:9092") as client`.

    *timeout* bounds one request, *patience* all the tries for one call. Chance
    comes from *random*, time from the running loop.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "millstream",
        ssl: SSLContext | None = None,
        timeout: float = 30.0,
        patience: float = 30.0,
        random: Random | None = None,
    ) -> None:
        self.known = Metadata()
        self.timeout = timeout
        self.patience = patience
        self.client_id = client_id
        self.random = random or Random()
        self._ssl = ssl
        self._lanes: list[Lane] = []
        self._main = self.lane()
        self._coordinators: dict[tuple[int, str], int] = {}
        self._learning = asyncio.Lock()
        # Until it tells its id, a bootstrap address goes by a negative one.
        self._nodes = {
            -1 - place: Node(-1 - place, host, port)
            for place, (host, port) in enumerate(parse_addresses(bootstrap))
        }

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Reach the cluster; Unreachable at once if no bootstrap address answers."""
        await self.metadata([])

    async def close(self) -> None:
        """Close every connection, those of lanes as well."""
        for lane in self._lanes:
            await lane.close()

    def lane(self) -> Lane:
        """Connections of the caller's own, for requests that may be parked."""
        lane = Lane(self._open)
        self._lanes.append(lane)
        return lane

    async def retire(self, lane: Lane) -> None:
        """Close *lane*, which its owner needs no more."""
        self._lanes.remove(lane)
        await lane.close()

    # Knowing the cluster

    async def metadata(self, topics: Iterable[str] | None, *, create: bool = False) -> Metadata:
        """Ask about *topics*, or about all if None; the cluster may *create* those that do not exist."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        found = read_metadata(await self.ask(request, MetadataResponse))
        self._nodes.update(found.nodes)
        self.known = found if topics is None else self.known.merged(found)
        return found

    async def topic(self, name: str, *, create: bool = False) -> Topic:
        """*name* as the cluster describes it now; Refused if it does not exist."""
        found = await self.metadata([name], create=create)
        if name not in found.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name!r}")
        return found.topics[name].check()

    async def leader(self, partition: TopicPartition) -> int:
        """The broker that leads *partition*, as far as we know; Refused if nobody does."""
        leader = self.known.leader(partition)
        if leader is None:
            async with self._learning:  # many partitions may be wondering at once: one asks for all
                leader = self.known.leader(partition)
                if leader is None:
                    await self._learn(partition)
                    leader = self.known.leader(partition)
        if leader is None:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return leader

    async def controller(self) -> int:
        """The broker to ask for changes of the cluster; any will do where brokers pass them on."""
        if self.known.controller is None:
            await self.metadata([])
        return self._ways_in()[0] if self.known.controller is None else self.known.controller

    async def coordinator(self, group: str) -> int:
        """The broker that looks after *group*."""
        return await self._coordinator(_GROUP, group)

    async def transaction_coordinator(self, transactional_id: str) -> int:
        """The broker that looks after the transactions of *transactional_id*."""
        return await self._coordinator(_TRANSACTION, transactional_id)

    async def _coordinator(self, kind: int, key: str) -> int:
        if (kind, key) not in self._coordinators:
            request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
            said = await self.ask(request, FindCoordinatorResponse)
            found = said.coordinators[0] if said.coordinators else said
            check(found.error_code, f"coordinator of {key!r}", found.error_message)
            self._nodes[found.node_id] = Node(found.node_id, found.host, found.port)
            self._coordinators[kind, key] = found.node_id
        return self._coordinators[kind, key]

    def node(self, node: int) -> Node:
        """Broker *node*'s address; we have heard of it."""
        return self._nodes[node]

    def forget(self, group: str | None = None) -> None:
        """What we knew turned out wrong: ask again before it is used again."""
        self.known = Metadata(self.known.cluster_id, None, self.known.nodes, {})
        if group is None:
            self._coordinators.clear()
        else:
            for kind in (_GROUP, _TRANSACTION):
                self._coordinators.pop((kind, group), None)

    # Asking

    async def to(self, node: int) -> Connection:
        """A connection to broker *node*, shared with others: not for requests that are parked."""
        return await self._main.to(node)

    async def ask(self, request: Message, response: type[R], *, at_most: int | None = None) -> R:
        """Ask any broker; the next one if the first cannot be reached."""
        problems: list[str] = []
        for node in self._ways_in():
            try:
                connection = await self._main.to(node)
                return await connection.request(request, response, at_most=at_most, timeout=self.timeout)
            except Unreachable as problem:
                problems.append(str(problem))
        raise Unreachable("; ".join(dict.fromkeys(problems)))

    async def retry(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        group: str | None = None,
        patience: float | None = None,
        passing: frozenset[ErrorCode] = frozenset(),
    ) -> T:
        """Do *attempt* until it succeeds, as long as failing looks temporary and *patience* lasts.

        *passing* are refusals that this caller knows to be temporary. What we
        knew of the cluster, and of the coordinator of *group* (or of that
        transactional id), is asked anew.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.patience if patience is None else patience)
        tries = 0
        while True:
            try:
                return await attempt()
            except (Refused, Unreachable) as problem:
                passes = isinstance(problem, Refused) and problem.code in passing
                if not (passes or worth_retrying(problem)) or loop.time() >= deadline:
                    raise
                self.forget(group)
            await asyncio.sleep(min(self.backoff(tries), max(0.0, deadline - loop.time())))
            tries += 1

    def backoff(self, tries: int) -> float:
        """Seconds to wait after try number *tries*: longer each time, and never quite the same."""
        return min(_BACKOFF_MAX, _BACKOFF_FIRST * 2.0 ** min(tries, 10)) * self.random.uniform(0.8, 1.2)

    async def _learn(self, partition: TopicPartition) -> None:
        topic = await self.topic(partition.topic)
        if not 0 <= partition.partition < len(topic.partitions):
            last = len(topic.partitions) - 1
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no partition {partition}: the last is {last}"
            )

    def _ways_in(self) -> list[int]:
        """Brokers to try: those we are connected to, those we know, those we were told of."""
        open_now = self._main.nodes()
        return open_now + [node for node in sorted(self._nodes, reverse=True) if node not in open_now]

    async def _open(self, node: int) -> Connection:
        if node not in self._nodes:
            await self.metadata([])
        if node not in self._nodes:
            raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node} is not in the cluster")
        where = self._nodes[node]
        return await Connection.open(
            where.host, where.port, client_id=self.client_id, ssl=self._ssl, timeout=self.timeout
        )


def worth_retrying(problem: Exception) -> bool:
    """Whether *problem* may pass."""
    if isinstance(problem, Refused):
        return problem.code.retriable and problem.code not in _NOT_WORTH_WAITING
    return isinstance(problem, Unreachable)
