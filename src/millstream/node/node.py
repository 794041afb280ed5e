"""One running node: built, started and stopped in order.

Start: the directory's lock, the registry, recovery of the logs, the doors last.
Stop: the doors first, then a last sync, then a note that all was closed cleanly.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, final
from uuid import UUID

from millstream.broker.broker import Broker
from millstream.broker.config import BrokerConfig
from millstream.broker.live_config import LiveConfig
from millstream.env.busy_poll import poll_us
from millstream.env.disk import DiskFailed
from millstream.env.environment import Env
from millstream.env.listening import listen
from millstream.env.registry import ABSENT
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Connection, Door
from millstream.gateways.http.config import HttpConfig
from millstream.gateways.kafka.connection import Dispatches, KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.gateways.kafka.rounds import Rounds
from millstream.node.config import Address, Listener, NodeConfig, door_listener, listeners_of
from millstream.storage.store import Store

if TYPE_CHECKING:
    from millstream.gateways.kafka.faults import Faults

log = logging.getLogger(__name__)

_CLUSTER_KEY: Final = "meta/cluster"
_FAREWELL_SECONDS: Final = 2.0  # for clients to take their last replies


class CannotListen(OSError):
    """An address is taken or not ours."""


@final
class Node:
    """*broker* and *addresses*, of Kafka's door and of the *others* by name, are there once it is started.

    *by_setting* has the others' addresses too, by the setting that opened them. *faults* are for
    testing its clients; *before_doors* is done when all is ready but the doors.
    """

    def __init__(
        self,
        env: Env,
        live: LiveConfig,
        faults: "Faults | None" = None,
        before_doors: Callable[[Broker], Awaitable[None]] | None = None,
    ) -> None:
        self.broker: Broker
        self.addresses: list[Address] = []
        self.others: dict[str, Address] = {}
        self.by_setting: dict[str, Address] = {}
        self._env = env
        self._live = live
        self._faults = faults
        self._before_doors = before_doors
        config = live.get(BrokerConfig)
        self._store = Store(
            env.disk, ballast_bytes=config.ballast_bytes, min_free_percent=config.min_free_percent
        )
        self._doors: list[Door] = []
        self._servers: list[asyncio.Server] = []
        self._rounds: Rounds | None = None

    async def start(self) -> None:
        self._store.open()
        try:
            await self._env.registry.start()
            data_dir = self._live.get(NodeConfig).data_dir
            self.broker = Broker(self._env, self._live, self._store, await self._cluster_id(), data_dir)
            await self.broker.start()
            if self._before_doors is not None:
                await self._before_doors(self.broker)
            limits = self._live.get(GatewayConfig)
            dispatch = Dispatch(
                self.broker,
                limits.fetch_session_slots,
                self._env.random,
                native=limits.native,
                linger_us=poll_us(limits.busy_poll_us),
            )
            self._rounds = dispatch.rounds
            config = self._live.get(NodeConfig)
            for listener in listeners_of(config):
                await self._serve_kafka(listener, self._with_faults(dispatch))
            await self._serve_lines(config)
            await self._serve_http(config)
        except BaseException:
            for server in self._servers:
                server.close()
            if self._rounds is not None:
                self._rounds.close()
            self._store.release()
            raise

    async def stop(self) -> None:
        """Stop cleanly, so that the next start need not look through the logs."""
        for server in self._servers:
            server.close()
        for door in self._doors:
            door.hold()
        await self.broker.stop()
        for door in self._doors:
            await door.close(_FAREWELL_SECONDS)
        if self._rounds is not None:
            self._rounds.close()
        if self.broker.broken.done():
            self._store.release()
        else:
            await self._close_store()
        await self._env.registry.stop()

    def drop_connections(self, client_id: str | None = None) -> int:
        """Cut off every Kafka client, or those that call themselves *client_id*; how many there were."""
        dropped = 0
        for door in self._doors:
            for connection in list(door.connections):
                if isinstance(connection, KafkaConnection) and client_id in (None, connection.client_id):
                    connection.abort()
                    dropped += 1
        return dropped

    def descriptors(self) -> list[int]:
        """Every socket it has open, for a forked child, which must not keep them open for longer."""
        transports = [connection.transport for door in self._doors for connection in list(door.connections)]
        sockets = [each.get_extra_info("socket") for each in transports if each is not None]
        sockets += [socket for server in self._servers for socket in server.sockets]
        sockets.append(self._rounds)
        return [fd for fd in (each.fileno() for each in sockets if each is not None) if fd >= 0]

    async def _close_store(self) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._store.close)
        except DiskFailed:
            raise
        except OSError as error:
            # All that was acknowledged is safe. What is missing only saves time at the next start.
            log.warning("no room for a goodbye: the next start will take longer error=%s", error.strerror)

    def _with_faults(self, dispatch: Dispatch) -> Dispatches:
        if self._faults is None:
            return dispatch
        from millstream.gateways.kafka.faults import FaultyDispatch  # for tests of clients only

        return FaultyDispatch(dispatch, self._faults)

    async def _serve_kafka(self, listener: Listener, dispatch: Dispatches) -> None:
        advertised = listener.advertised and (listener.advertised.host, listener.advertised.port)
        door = self._door("kafka")
        self.addresses.append(
            await self._listen(
                door, listener.bind, "listeners", lambda: KafkaConnection(door, dispatch, advertised)
            )
        )

    async def _serve(
        self, name: str, listener: str, setting: str, connection: Callable[[Door, Broker], Connection]
    ) -> None:
        """Open the door *name* where its *setting* says, if it does."""
        bind = door_listener(listener, setting)
        if bind is not None:
            door = self._door(name)
            address = await self._listen(door, bind, setting, lambda: connection(door, self.broker))
            self.others[name] = self.by_setting[setting] = address

    async def _serve_lines(self, config: NodeConfig) -> None:
        if config.jsonl_listener:
            from millstream.gateways.jsonl.connection import JsonConnection  # a shut door costs no start

            await self._serve("JSON lines", config.jsonl_listener, "jsonl.listener", JsonConnection)
        if config.text_listener:
            from millstream.gateways.text.connection import TextConnection  # likewise

            await self._serve("text", config.text_listener, "text.listener", TextConnection)

    async def _serve_http(self, config: NodeConfig) -> None:
        if not config.http_queue_listener and not config.admin_listener:
            return
        from millstream.gateways.http.node import admin_connections, queue_connections  # likewise

        queue = queue_connections(self.broker, self._env.clock, lambda: self._live.get(HttpConfig))
        admin = admin_connections(
            self.broker,
            self._env.clock,
            lambda: self._live.get(HttpConfig),
            self._kafka_address,
            lambda: self._doors,
        )
        await self._serve("the HTTP queue", config.http_queue_listener, "http.queue.listener", queue)
        await self._serve("the admin API", config.admin_listener, "admin.listener", admin)

    def _kafka_address(self) -> tuple[str, int]:
        """Where clients of the Kafka protocol reach this node."""
        for listener, bound in zip(listeners_of(self._live.get(NodeConfig)), self.addresses, strict=True):
            address = listener.advertised or bound
            return address.host, address.port
        return "127.0.0.1", 9092

    def _door(self, name: str) -> Door:
        return Door(name, lambda: self._live.get(GatewayConfig), self.broker.quotas.connects)

    async def _listen(
        self, door: Door, bind: Address, setting: str, connection: Callable[[], Connection]
    ) -> Address:
        try:
            servers = await listen(connection, bind.host, bind.port)
        except OSError as error:
            raise CannotListen(
                error.errno,
                f"cannot listen on {bind}: {error.strerror}; see the setting '{setting}'",
            ) from error
        self._doors.append(door)
        self._servers += servers
        sockets = servers[0].sockets
        port = sockets[0].getsockname()[1] if sockets else bind.port
        return Address(bind.host, port)

    async def _cluster_id(self) -> str:
        """This cluster's name for itself, chosen when it first started."""
        for item in await self._env.registry.range(_CLUSTER_KEY):
            return item.value.decode()
        id = UUID(int=self._env.random.getrandbits(128), version=4)
        cluster_id = base64.urlsafe_b64encode(id.bytes).rstrip(b"=").decode()
        await self._env.registry.change({_CLUSTER_KEY: cluster_id.encode()}, {_CLUSTER_KEY: ABSENT})
        return cluster_id
