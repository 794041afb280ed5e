"""One K-Queue client: commands in, replies and messages out.

Replies come in the order of the commands. What is published without waiting
is written together, and so are acknowledgements.
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any, Final, final

from millstream.broker.broker import Broker
from millstream.broker.subscription import Message, Receiver, Subscription, Wish
from millstream.errors import ErrorCode, Refused
from millstream.gateways.connection import Door, Reply
from millstream.gateways.iso import iso
from millstream.gateways.lines import LineConnection, said
from millstream.gateways.text import codec
from millstream.gateways.text.codec import Ack, Auth, Command, Nack, Ping, Pub, Sub, read_command
from millstream.records.build import NewRecord

CLIENT_ID: Final = "text"
SUBSCRIPTIONS_MAX: Final = 100  # of one connection
_RUN: Final = 1_000  # messages written, or acknowledged, by one call
_PUSHED_MAX: Final = 16  # helpings of messages that wait behind a reply which is not known yet


@final
class TextConnection(LineConnection):
    def __init__(self, door: Door, broker: Broker) -> None:
        super().__init__(door, broker, CLIENT_ID)
        self._next: Command | Refused | None = None  # read, but not handled
        self._subscribed: dict[tuple[str, str | None], str] = {}
        self._last_feed = 0
        self._feeds: dict[str, _Feed] = {}  # by what their messages' ids begin with
        self._starved = False

    @property
    def has_work(self) -> bool:
        return self._next is not None or super().has_work

    @property
    def can_receive(self) -> bool:
        """Whether messages may be sent; if not, whoever asked is woken when they may."""
        if self._writable and len(self._replies) < _PUSHED_MAX and not self.door.closing:
            return True
        self._starved = True
        return False

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        for feed in self._feeds.values():
            feed.subscription.close()
        self._feeds.clear()
        self._subscribed.clear()

    def flush(self) -> None:
        super().flush()
        if self._starved and self.can_receive:
            self._starved = False
            for feed in self._feeds.values():
                feed.subscription.wake()

    def push(self, data: bytes) -> None:
        """Send *data* after the replies that are owed by now."""
        self.expect().pieces = (data,)
        self.flush()

    def drop(self, wish: Wish, refusal: Refused) -> None:
        """A subscription has ended, though nobody here asked for it."""
        del self._feeds[self._subscribed.pop((wish.topic, wish.group))]
        self.push(codec.error(said(refusal)))

    def look(self, now: float) -> None:
        if self._feeds:
            self._active_at = now  # who waits for messages is not idle
        super().look(now)

    def advance(self) -> None:
        while not self.blocked:
            if self.busy:
                self.flush()  # replies that are ready no longer count
                if self.busy:
                    return
            command = self._read()
            match command:
                case None:
                    return
                case Pub():
                    if not self._publish(command):
                        return
                case Ack():
                    self._acknowledge(command)
                case Nack():
                    self.expect().pieces = (self._nack(command),)
                case Ping():
                    self.expect().pieces = (codec.PONG,)
                case Sub():
                    self._begin(self._subscribe(command))
                case Auth():
                    self._say_no("authentication is not enabled: no AUTH is needed")
                case Refused():
                    self._say_no(said(command))

    def _say_no(self, why: str) -> None:
        self.expect().pieces = (codec.error(why),)

    def _read(self) -> Command | Refused | None:
        """The next command, or what is wrong with it; None if there is none."""
        command, self._next = self._next, None
        if command is not None:
            return command
        while self.waiting:
            line = self.waiting.popleft()
            if line is None:
                limit = self.door.config().line_max_bytes
                return Refused(ErrorCode.INVALID_REQUEST, f"line too long: line.max.bytes is {limit}")
            if line not in (b"", b"\r"):
                try:
                    return read_command(line)
                except Refused as refusal:
                    return refusal
        return None

    # Publishing

    def _publish(self, first: Pub) -> bool:
        """Write *first*, and whatever follows it that goes to the same topic; False if that must wait."""
        if self.broker.writes.is_full:
            self._next = first
            self.wait_for_room()
            return False
        if first.topic not in self.broker.topics:
            self._begin(self._create(first))
            return True
        run = [first]
        while len(run) < _RUN:
            command = self._read()
            if not isinstance(command, Pub) or command.topic != first.topic:
                self._next = command
                break
            run.append(command)
        self._write(run)
        self.throttle()
        return True

    async def _create(self, first: Pub) -> bytes:
        await self.broker.auto_create_topic(self.session, first.topic, 1)
        await self.broker.write(self.session, first.topic, [NewRecord(None, first.text)])
        return codec.OK

    def _write(self, run: list[Pub]) -> None:
        records = [NewRecord(None, each.text) for each in run]
        try:
            done = self.broker.write(self.session, run[0].topic, records)
        except Refused as refusal:
            if len(run) > 1:  # one that will not do must not take the others with it
                for each in run:
                    self._write([each])
            else:
                self._say_no(said(refusal))
            return
        self.unsafe += len(run)
        self._promise(asyncio.ensure_future(done), codec.OK * len(run), len(run), len(run))

    def _promise(self, done: "asyncio.Future[Any]", told: bytes, count: int, written: int = 0) -> None:
        """Reply with *told* once *done* is, or with *count* errors; so many records are *written* by then."""
        self.after(done).add_done_callback(partial(self._done, self.expect(), told, count, written))

    def _done(self, reply: Reply, told: bytes, count: int, written: int, done: "asyncio.Future[Any]") -> None:
        if done.cancelled():
            return  # the client has gone
        self.unsafe -= written
        error = done.exception()
        if error is not None and not isinstance(error, Refused):
            self.failed(error)
            return
        self.answer(reply, told if error is None else codec.error(said(error)) * count)

    # Subscribing

    async def _subscribe(self, command: Sub) -> bytes:
        wish = command.wish
        if (wish.topic, wish.group) not in self._subscribed:
            if len(self._feeds) >= SUBSCRIPTIONS_MAX:
                raise Refused(
                    ErrorCode.POLICY_VIOLATION, f"a connection has at most {SUBSCRIPTIONS_MAX} subscriptions"
                )
            topic = await self.broker.auto_create_topic(self.session, wish.topic, 1)
            self._last_feed += 1
            prefix = f"{self._last_feed}/" if self._last_feed > 1 else ""
            feed = _Feed(self, wish, prefix, topic.partitions == 1, command.tells)
            feed.subscription = await self.broker.subscribe(self.session, wish, feed)
            self._feeds[prefix] = feed
            self._subscribed[wish.topic, wish.group] = prefix
        return codec.subscribed(wish.topic)

    def _acknowledge(self, first: Ack) -> None:
        """Acknowledge *first*, and whatever is acknowledged behind it."""
        told: list[bytes] = []
        touched: dict[tuple[Subscription, int], None] = {}
        command: Command | Refused | None = first
        while isinstance(command, Ack):
            found = self._find(command.id)
            if found is not None and found[0].ack(found[1], found[2]):
                touched[found[0], found[1]] = None
                told.append(b"ACKED %b\n" % command.id.encode())
            else:
                told.append(codec.UNKNOWN_ID)
            command = self._read() if len(told) < _RUN else None
        self._next = command
        waiting = [safe for it, partition in touched if (safe := it.safe(partition)) is not None]
        if not waiting:
            self.expect().pieces = (b"".join(told),)
        elif len(waiting) == 1:
            self._promise(waiting[0], b"".join(told), len(told))
        else:
            self._promise(asyncio.gather(*waiting), b"".join(told), len(told))

    def _nack(self, command: Nack) -> bytes:
        found = self._find(command.id)
        if found is None or not found[0].nack(found[1], found[2], command.delay_ms):
            return codec.UNKNOWN_ID
        return f"NACKED {command.id}\n".encode()

    def _find(self, id: str) -> tuple[Subscription, int, int] | None:
        """Whose message an id is: the subscription, the partition, the offset."""
        prefix, slash, rest = id.rpartition("/")
        feed = self._feeds.get(prefix + slash)
        if feed is None:
            return None
        index, colon, offset = rest.rpartition(":")
        partition = 0 if not colon and feed.is_single else _number(index)
        number = _number(offset)
        if partition is None or number is None or feed.id(partition, number) != id:
            return None
        return feed.subscription, partition, number

    # What takes its time

    def _begin(self, work: Awaitable[bytes]) -> None:
        """Handle nothing more until *work* has given the reply."""
        self.blocked = True
        self.later(self._answer(self.expect(), work), work)

    async def _answer(self, reply: Reply, work: Awaitable[bytes]) -> None:
        try:
            told = await work
        except Refused as refusal:
            told = codec.error(said(refusal))
        self.blocked = False
        self.throttle()
        self.answer(reply, told)


@final
class _Feed(Receiver):
    """One subscription of a connection: says messages as lines."""

    def __init__(
        self, connection: TextConnection, wish: Wish, prefix: str, is_single: bool, tells: bool
    ) -> None:
        """*prefix* begins the ids of its messages; of a topic with one partition they do not name it."""
        self.is_single = is_single
        self.subscription: Subscription
        self._connection = connection
        self._prefix = prefix
        self._tells = tells
        self._wish = wish
        self._head = f"MSG {wish.topic} ".encode()

    @property
    def can_receive(self) -> bool:
        return self._connection.can_receive

    def id(self, partition: int, offset: int) -> str:
        if self.is_single and not partition:
            return f"{self._prefix}{offset}"
        return f"{self._prefix}{partition}:{offset}"

    def receive(self, messages: list[Message]) -> None:
        lines: list[bytes] = []
        for partition, record, deliveries in messages:
            id = self.id(partition, record.offset)
            if self._tells:
                time = iso(record.timestamp_ms)
                lines.append(f"INFO {self._wish.topic} {id} deliveries={deliveries} time={time}\n".encode())
            lines.append(codec.message(self._head, id, record.value))
        self._connection.push(b"".join(lines))

    def ended(self, refusal: Refused) -> None:
        self._connection.drop(self._wish, refusal)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
