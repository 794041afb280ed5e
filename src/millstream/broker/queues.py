"""Topics read as queues: messages are handed to subscribers, who acknowledge each.

The rules are in `queues/`; here records are read, handed over, and what was
decided is written. A subscriber is given no more than its window, and nothing
while it cannot take it, so a slow one costs no memory.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, final

from millstream.broker.dead_letters import DeadLetters
from millstream.broker.queue_states import Kept, QueueStates
from millstream.broker.quotas import BrokerQuotas
from millstream.broker.session import Session
from millstream.broker.shelf import Shelf
from millstream.broker.subscription import Message, Receiver, Subscription, Wish, now_ms
from millstream.broker.topics import Topics
from millstream.broker.waiting import Parked
from millstream.cluster.image import Topic
from millstream.env.clock import Clock
from millstream.errors import ErrorCode, Refused
from millstream.queues.changes import QueueKey
from millstream.queues.config import QueueConfig
from millstream.queues.ledger import NEVER_MS, Delivery
from millstream.queues.queue import Queue, Saved
from millstream.records.expiry import is_expired
from millstream.records.read import Record

log = logging.getLogger(__name__)

HELPING: Final = 500  # messages handed to one subscriber before others have their turn
GROUP_MAX: Final = 255
_LOOK_SECONDS: Final = 10.0  # how often, where nothing comes, partitions that are new are looked for
_RETRY_SECONDS: Final = 1.0


@final
class Queues:
    """Every topic that is read as a queue, by the group that reads it; None is everybody without a group."""

    def __init__(
        self,
        states: QueueStates,
        shelf: Shelf,
        topics: Topics,
        quotas: BrokerQuotas,
        clock: Clock,
        config: Callable[[], QueueConfig],
        dead_letters: DeadLetters,
    ) -> None:
        self.states = states
        self.shelf = shelf
        self.topics = topics
        self.quotas = quotas
        self.clock = clock
        self.config = config
        self.dead_letters = dead_letters
        self.delivered = 0
        self.acknowledged = 0
        self.buried = 0
        self._readings: dict[tuple[str, str | None], _Reading] = {}
        self._last_number = 0
        self.is_stopped = False

    def start(self) -> None:
        self.states.start(topic.id.bytes for topic in self.topics.by_name().values())

    def stop(self) -> None:
        for reading in self._readings.values():
            reading.stop()
        self.is_stopped = True
        self.states.stop()

    async def subscribe(self, session: Session, wish: Wish, receiver: Receiver) -> Subscription:
        """Hand *receiver* the messages of a topic, which is there; it gets nothing before this returns."""
        config = self.config()
        if wish.group is not None and not 0 < len(wish.group) <= GROUP_MAX:
            raise Refused(ErrorCode.INVALID_GROUP_ID, f"a group's name has 1 to {GROUP_MAX} characters")
        await self.states.ready()
        if self.is_stopped:
            raise Refused(ErrorCode.NOT_COORDINATOR, "the broker is shutting down")
        topic = self.topics.topic(wish.topic)
        reading = self._readings.get((topic.name, wish.group))
        if reading is None:
            known = self.states.knows(QueueKey(topic.id.bytes, 0, wish.group))
            reading = _Reading(self, topic, wish.group, wish.from_latest and not known)
        window = config.window if wish.window is None else wish.window
        timeout_ms = wish.timeout_ms
        if timeout_ms is None:
            timeout_ms = config.ack_timeout_ms if wish.group is not None else 0
        self._last_number += 1
        subscription = Subscription(
            self._last_number, session, receiver, min(max(window, 1), config.max_held), timeout_ms
        )
        begun = reading.join(subscription)
        self._readings[topic.name, wish.group] = reading
        try:
            for kept in begun:
                safe = self.states.safe(kept)
                if safe is not None:
                    await safe
        except BaseException:
            subscription.close()
            raise
        return subscription

    def topic_deleted(self, name: str) -> None:
        gone = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} was deleted")
        for key in [key for key in self._readings if key[0] == name]:
            self._readings.pop(key).end(gone)
        self.states.forget_strangers(topic.id.bytes for topic in self.topics.by_name().values())


@final
class _Reading:
    """One topic as one group reads it, or as everybody does who has none.

    A group has one pump, which hands messages out in turn; without a group every
    subscriber has a pump of its own.
    """

    def __init__(self, queues: Queues, topic: Topic, group: str | None, from_latest: bool) -> None:
        self.queues = queues
        self.topic = topic
        self.group = group
        self.kept: dict[int, Kept] = {}
        self.subscriptions: dict[int, Subscription] = {}
        self._from_latest = from_latest
        self._pumps: dict[int | None, _Pump] = {}
        self.trouble: str | None = None  # why nothing can be read, told once
        self._burying: set[Kept] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def join(self, subscription: Subscription) -> list[Kept]:
        """Let a subscriber in; the queues that begin only now, which must be written before it is told."""
        self.look_for_partitions()
        begun = list(self.kept.values()) if self._from_latest else []
        for kept in begun:
            kept.queue.begun()
        self._from_latest = False  # of partitions that are added nothing may be missed
        subscription.reading = self
        self.subscriptions[subscription.number] = subscription
        for kept in self.kept.values():
            kept.queue.joined(subscription.number, subscription.timeout_ms)
        who = self._who(subscription)
        if who not in self._pumps:
            self._pumps[who] = _Pump(self)
        self._pumps[who].add(subscription)
        return begun

    def leave(self, subscription: Subscription) -> None:
        subscription.is_open = False
        del self.subscriptions[subscription.number]
        who = self._who(subscription)
        if self._pumps[who].remove(subscription):
            del self._pumps[who]
        time_ms = now_ms()
        for kept in self.kept.values():
            kept.queue.gone(subscription.number, time_ms)
            self._changed(kept)
        self._wake_all()

    def end(self, refusal: Refused) -> None:
        """The topic is gone: so is everything."""
        subscriptions = list(self.subscriptions.values())
        self.stop()
        for subscription in subscriptions:
            subscription.is_open = False
            subscription.receiver.ended(refusal)

    def complain(self, error: Exception) -> None:
        """Nothing can be read: log it, unless that was said already."""
        trouble = repr(error)
        if trouble != self.trouble:
            self.trouble = trouble
            bug = None if isinstance(error, Refused | OSError) else error
            log.error("queue not read topic=%s reason=%s", self.topic.name, error, exc_info=bug)

    def stop(self) -> None:
        for pump in self._pumps.values():
            pump.stop()
        for task in self._tasks:
            task.cancel()

    def wake(self, subscription: Subscription) -> None:
        self._pumps[self._who(subscription)].wake()

    def safe(self, partition: int) -> "asyncio.Future[None] | None":
        return self.queues.states.safe(self.kept[partition])

    def settled(self, subscription: Subscription, kept: Kept) -> None:
        """A message was acknowledged."""
        self.queues.acknowledged += 1
        self.queues.states.changed(kept)
        if kept.queue.room_left <= 1:
            self._wake_all()  # there was none
        else:
            self.wake(subscription)

    def given_back(self, kept: Kept, due_ms: int) -> None:
        """A message is to be delivered again."""
        self.arm(kept, due_ms)
        self._changed(kept)
        self._wake_all()

    def arm(self, kept: Kept, at_ms: int) -> None:
        """Look at *kept* no later than *at_ms*."""
        if at_ms >= NEVER_MS or (kept.timer is not None and kept.timer_ms <= at_ms):
            return
        if kept.timer is not None:
            kept.timer.cancel()
        kept.timer_ms = at_ms
        kept.timer = asyncio.get_running_loop().call_at(at_ms / 1000, self._tick, kept)

    def look_for_partitions(self) -> None:
        """Have a queue for each partition of the topic, and everybody in it."""
        topic = self.queues.topics.topic(self.topic.name)
        for index in range(len(self.kept), topic.partitions):
            kept = self._find(index)
            self.kept[index] = kept
            for subscription in self.subscriptions.values():
                kept.queue.joined(subscription.number, subscription.timeout_ms)

    def _find(self, index: int) -> Kept:
        states = self.queues.states
        key = QueueKey(self.topic.id.bytes, index, self.group)
        kept = states.find(key)
        if kept is not None:
            return kept
        config = self.queues.config()
        partition = self.queues.topics.hosted(self.topic.name, index).partition
        saved = states.saved(key)
        if saved is None:
            # A topic that has grown must not lose its readers for that.
            if len(states) >= config.max_queues and not self.subscriptions:
                raise Refused(ErrorCode.POLICY_VIOLATION, f"queue.max.count is {config.max_queues}")
            saved = Saved(partition.high_watermark if self._from_latest else partition.log.start_offset)
        buries = self.group is not None and self.queues.dead_letters.has_its_own(self.topic.name)
        queue = Queue(
            saved.cut(partition.log.end_offset),
            shared=self.group is not None,
            limit=config.delivery_limit if buries else 0,
            max_held=config.max_held,
        )
        return states.keep(key, queue)

    def _who(self, subscription: Subscription) -> int | None:
        return None if self.group is not None else subscription.number

    def _wake_all(self) -> None:
        for pump in self._pumps.values():
            pump.wake()

    def _changed(self, kept: Kept) -> None:
        if self.queues.is_stopped:
            return  # what clients leave behind when they are sent away needs no more than a restart
        self.queues.states.changed(kept)
        if kept.queue.has_dead and kept not in self._burying:
            self._burying.add(kept)
            task = asyncio.create_task(self._bury(kept))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _tick(self, kept: Kept) -> None:
        kept.timer = None
        held_before = {s.number: kept.queue.in_flight(s.number) for s in self.subscriptions.values()}
        if kept.queue.tick(now_ms()):
            for number, before in held_before.items():
                self.subscriptions[number].held -= before - kept.queue.in_flight(number)
            self._changed(kept)
            self._wake_all()
        self.arm(kept, kept.queue.next_ms())

    async def _bury(self, kept: Kept) -> None:
        try:
            for offset in kept.queue.dead:
                try:
                    await self._bury_one(kept, offset)
                except Refused as refusal:
                    log.warning("dead letter stays topic=%s reason=%s", self.topic.name, refusal)
                    kept.queue.spared(offset, now_ms())
                    self.arm(kept, kept.queue.next_ms())
        finally:
            self._burying.discard(kept)
        self._changed(kept)

    async def _bury_one(self, kept: Kept, offset: int) -> None:
        partition = kept.key.partition
        record = None
        log_start = self.queues.topics.hosted(self.topic.name, partition).partition.log.start_offset
        if offset >= log_start:
            records, _ = await self.queues.shelf.read(self.topic, partition, offset, 1)
            if records and records[0].offset == offset:
                record = records[0]
        if record is not None:
            assert self.group is not None, "only groups have limits"
            deliveries = kept.queue.deliveries(offset)
            await self.queues.dead_letters.bury(self.topic, self.group, partition, record, deliveries)
            self.queues.buried += 1
        kept.queue.buried(offset)
        self.queues.states.changed(kept)


@final
class _Pump:
    """Reads for some subscribers of one reading, whenever there is something and one of them can take it."""

    def __init__(self, reading: _Reading) -> None:
        self._reading = reading
        self._subscriptions: list[Subscription] = []
        self._parked: Parked | None = None
        self._task = asyncio.create_task(self._run())

    def add(self, subscription: Subscription) -> None:
        self._subscriptions.append(subscription)
        self.wake()

    def remove(self, subscription: Subscription) -> bool:
        """Whether nobody is left."""
        self._subscriptions.remove(subscription)
        if not self._subscriptions:
            self.stop()
        return not self._subscriptions

    def wake(self) -> None:
        if self._parked is not None:
            self._parked.wake()

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        topics, name = self._reading.queues.topics, self._reading.topic.name
        while True:
            try:
                self._reading.look_for_partitions()
                hosted = [(topics.hosted(name, index), True) for index in self._reading.kept]
                self._parked = Parked(hosted, _LOOK_SECONDS)  # before looking: what comes later wakes us
                try:
                    if not await self._hand_out():
                        await self._parked.woken
                    else:
                        await asyncio.sleep(0)
                finally:
                    self._parked.leave()
                    self._parked = None
                self._reading.trouble = None
            except Exception as error:  # none may end the pump while it has subscribers
                self._reading.complain(error)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _hand_out(self) -> bool:
        """Give every subscriber something, if there is anything for it; whether there was."""
        some = False
        for subscription in list(self._subscriptions):
            served = False
            for index, kept in list(self._reading.kept.items()):
                if subscription.is_open and subscription.room > 0:
                    served |= await self._again(subscription, index, kept)
                if subscription.is_open and subscription.room > 0:
                    served |= await self._new(subscription, index, kept)
            if served and subscription.is_open:  # whoever got something is last from now on
                self._subscriptions.remove(subscription)
                self._subscriptions.append(subscription)
            some |= served
        return some

    async def _again(self, subscription: Subscription, index: int, kept: Kept) -> bool:
        """Deliver messages of one partition again."""
        queue, number = kept.queue, subscription.number
        if not queue.ready(number):
            return False
        taken = queue.take(number, min(subscription.room, HELPING), now_ms())
        subscription.held += len(taken)
        self._arm(subscription, kept)
        found = await self._find(index, taken)
        if not subscription.is_open:
            return True
        messages = []
        for offset, deliveries in taken:
            record = found.get(offset)
            if record is not None:
                messages.append(Message(index, record, deliveries))
            elif queue.missing(number, offset):
                subscription.held -= 1
        self._reading.queues.states.changed(kept)
        self._deliver(subscription, messages)
        return bool(taken)

    async def _find(self, index: int, taken: Iterable[Delivery]) -> dict[int, Record]:
        """The records at the offsets *taken*, which rise, as far as they are there."""
        queues = self._reading.queues
        start_offset = queues.topics.hosted(self._reading.topic.name, index).partition.log.start_offset
        wall_ms = queues.clock.now_ms()
        wanted = {offset for offset, _ in taken}
        found: dict[int, Record] = {}
        looked_to = start_offset
        for offset, _ in taken:
            if offset < looked_to:
                continue
            records, looked_to = await queues.shelf.read(self._reading.topic, index, offset, HELPING)
            looked_to = max(looked_to, offset + 1)
            for record in records:
                if record.offset in wanted and not is_expired(record, wall_ms):
                    found[record.offset] = record
        return found

    async def _new(self, subscription: Subscription, index: int, kept: Kept) -> bool:
        """Deliver messages of one partition that are new to the subscriber."""
        queues, queue, number = self._reading.queues, kept.queue, subscription.number
        partition = queues.topics.hosted(self._reading.topic.name, index).partition
        position = queue.position(number)
        if position < partition.log.start_offset:
            queue.given(number, (), partition.log.start_offset, now_ms())
            position = partition.log.start_offset
        there = partition.last_stable_offset - position
        fair = -(-there // len(self._subscriptions))
        most = min(subscription.room, queue.room(number), fair, HELPING)
        if most <= 0:
            return False
        records, next_offset = await queues.shelf.read(self._reading.topic, index, position, most)
        if not subscription.is_open or next_offset <= position:
            return False
        wall_ms = queues.clock.now_ms()
        live = [record for record in records if not is_expired(record, wall_ms)]
        queue.given(number, [record.offset for record in live], next_offset, now_ms())
        subscription.held += len(live)
        self._arm(subscription, kept)
        self._deliver(subscription, [Message(index, record, 1) for record in live])
        return True

    def _arm(self, subscription: Subscription, kept: Kept) -> None:
        if subscription.timeout_ms:
            self._reading.arm(kept, now_ms() + subscription.timeout_ms)

    def _deliver(self, subscription: Subscription, messages: list[Message]) -> None:
        if not messages:
            return
        queues = self._reading.queues
        queues.delivered += len(messages)
        subscription.receiver.receive(messages)
        queues.quotas.consumed(
            subscription.session, sum(len(message.record.value or b"") for message in messages)
        )
        owed_ms = queues.quotas.owed_ms(subscription.session)
        if owed_ms:
            subscription.rests = True
            asyncio.get_running_loop().call_later(owed_ms / 1000, self._rested, subscription)

    def _rested(self, subscription: Subscription) -> None:
        subscription.rests = False
        subscription.wake()
