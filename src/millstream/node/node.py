"""One running node: built, started and stopped in order.

Start: the directory's lock, the registry, recovery of the logs, the doors last.
Stop: the doors first, then a last sync, then a note that all was closed cleanly.
"""

import asyncio
import base64
import logging
from typing import Final, final
from uuid import UUID

from millstream.broker.broker import Broker
from millstream.broker.config import BrokerConfig
from millstream.broker.live_config import LiveConfig
from millstream.env.disk import DiskFailed
from millstream.env.environment import Env
from millstream.env.registry import ABSENT
from millstream.gateways.config import GatewayConfig
from millstream.gateways.connection import Door
from millstream.gateways.kafka.connection import KafkaConnection
from millstream.gateways.kafka.dispatch import Dispatch
from millstream.node.config import Address, Listener, NodeConfig, listeners_of
from millstream.storage.store import Store

log = logging.getLogger(__name__)

_CLUSTER_KEY: Final = "meta/cluster"
_BACKLOG: Final = 1024
_FAREWELL_SECONDS: Final = 2.0  # for clients to take their last replies


class CannotListen(OSError):
    """An address is taken or not ours."""


@final
class Node:
    """*broker* and *addresses* are there once it is started."""

    def __init__(self, env: Env, live: LiveConfig) -> None:
        self.broker: Broker
        self.addresses: list[Address] = []
        self._env = env
        self._live = live
        config = live.get(BrokerConfig)
        self._store = Store(
            env.disk, ballast_bytes=config.ballast_bytes, min_free_percent=config.min_free_percent
        )
        self._doors: list[Door] = []
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        self._store.open()
        try:
            await self._env.registry.start()
            data_dir = self._live.get(NodeConfig).data_dir
            self.broker = Broker(self._env, self._live, self._store, await self._cluster_id(), data_dir)
            await self.broker.start()
            dispatch = Dispatch(
                self.broker, self._live.get(GatewayConfig).fetch_session_slots, self._env.random
            )
            for listener in listeners_of(self._live.get(NodeConfig)):
                await self._listen(listener, dispatch)
        except BaseException:
            for server in self._servers:
                server.close()
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
        if self.broker.broken.done():
            self._store.release()
        else:
            await self._close_store()
        await self._env.registry.stop()

    async def _close_store(self) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._store.close)
        except DiskFailed:
            raise
        except OSError as error:
            # All that was acknowledged is safe. What is missing only saves time at the next start.
            log.warning("no room for a goodbye: the next start will take longer error=%s", error.strerror)

    async def _listen(self, listener: Listener, dispatch: Dispatch) -> None:
        door = Door("kafka", lambda: self._live.get(GatewayConfig), self.broker.quotas.connects)
        advertised = listener.advertised and (listener.advertised.host, listener.advertised.port)
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: KafkaConnection(door, dispatch, advertised),
                listener.bind.host,
                listener.bind.port,
                backlog=_BACKLOG,
                reuse_address=True,
            )
        except OSError as error:
            raise CannotListen(
                error.errno,
                f"cannot listen on {listener.bind}: {error.strerror}; see the setting 'listeners'",
            ) from error
        self._doors.append(door)
        self._servers.append(server)
        port = server.sockets[0].getsockname()[1] if server.sockets else listener.bind.port
        self.addresses.append(Address(listener.bind.host, port))

    async def _cluster_id(self) -> str:
        """This cluster's name for itself, chosen when it first started."""
        for item in await self._env.registry.range(_CLUSTER_KEY):
            return item.value.decode()
        id = UUID(int=self._env.random.getrandbits(128), version=4)
        cluster_id = base64.urlsafe_b64encode(id.bytes).rstrip(b"=").decode()
        await self._env.registry.change({_CLUSTER_KEY: cluster_id.encode()}, {_CLUSTER_KEY: ABSENT})
        return cluster_id
