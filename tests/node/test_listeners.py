"""A port that is taken is told with the setting that names it."""

import asyncio
import socket
from pathlib import Path
from random import Random

import pytest

from millstream.env.clock import SystemClock
from millstream.env.disk import RealDisk
from millstream.env.environment import Env
from millstream.env.local import LocalRegistry
from millstream.node.config import OTHER_LISTENERS, load
from millstream.node.node import CannotListen, Node


@pytest.mark.parametrize("setting", ["listeners", *OTHER_LISTENERS])
def test_a_taken_port_is_told_with_its_setting(setting: str, tmp_path: Path) -> None:
    async def start(address: str) -> None:
        disk = RealDisk(str(tmp_path))
        given = {**dict.fromkeys(OTHER_LISTENERS, ""), "listeners": "127.0.0.1:0", setting: address}
        live = load(None, {}, {"log.dir": disk.root, "log.dir.ballast.bytes": 0, **given})
        await Node(Env(SystemClock(), disk, LocalRegistry(disk), Random(1)), live).start()

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(CannotListen) as failed:
            asyncio.run(start(address))
    assert f"cannot listen on {address}" in str(failed.value.strerror)
    assert f"see the setting '{setting}'" in str(failed.value.strerror)
