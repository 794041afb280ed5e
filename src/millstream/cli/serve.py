"""`millstream serve`: run a node until it is told to stop."""

import asyncio
import gc
import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom
from typing import Final

import click

from millstream.broker.live_config import LiveConfig
from millstream.cli import pandaq
from millstream.cli.exits import Exit, Failure
from millstream.env.clock import SystemClock
from millstream.env.descriptors import have_descriptors
from millstream.env.disk import DirectoryInUse, DiskFailed, RealDisk
from millstream.env.environment import Env
from millstream.env.local import LocalRegistry, RegistryDamaged
from millstream.node import logs
from millstream.node.config import NodeConfig, load
from millstream.node.node import CannotListen, Node
from millstream.settings import InvalidSetting

log = logging.getLogger(__name__)

_SYNC_THREADS: Final = 8  # logs synced side by side; the file system commits them together
_SPARE_DESCRIPTORS: Final = 64  # for the loop, the lock, directories being synced


@click.command()
@click.option(
    "--config", "file", type=click.Path(path_type=Path), envvar="MILLSTREAM_CONFIG", help="TOML file."
)
@click.option("--data", help="Directory to keep everything in (log.dir).")
@click.option(
    "--listen", multiple=True, metavar="HOST:PORT", help="Address to serve on (listeners); may be repeated."
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Any setting by Kafka's name; may be repeated."
)
@click.option(
    "--pandaq-config",
    "pandaq_file",
    type=click.Path(path_type=Path),
    help="A pandaq-config.json; taken from the working directory if there is one.",
)
def command(
    file: Path | None,
    data: str | None,
    listen: tuple[str, ...],
    sets: tuple[str, ...],
    pandaq_file: Path | None,
) -> int:
    """Run a node until it is told to stop.

    Settings come from a TOML file, then MILLSTREAM_* variables, then flags.
    """
    try:
        panda = pandaq.find(pandaq_file, Path.cwd(), os.environ)
        first = (str(panda.path), panda.settings) if panda is not None else ("", {})
        live = load(file, os.environ, _flags(data, listen, sets), first)
        config = live.get(NodeConfig)
        logs.set_up(config.log_level, config.log_format)
        if panda is not None:
            _prepare(panda, config.data_dir)
    except InvalidSetting as error:
        raise click.UsageError(str(error)) from None
    except DirectoryInUse as error:
        raise Failure(str(error), Exit.CANNOT_START) from None
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(live, panda))


def _prepare(panda: pandaq.PandaqConfig, data_dir: str) -> None:
    log.info("Panda-Q's configuration is used file=%s topics=%d", panda.path, len(panda.topics))
    for note in panda.notes:
        log.warning("%s", note)
    pandaq.check_directory(data_dir)
    if panda.reboot:
        pandaq.wipe(data_dir, panda.path)


def _flags(data: str | None, listen: tuple[str, ...], sets: tuple[str, ...]) -> dict[str, object]:
    flags: dict[str, object] = {}
    for each in sets:
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidSetting(f"--set {each}: write it as NAME=VALUE")
        flags[name.strip()] = value.strip()
    if data is not None:
        flags["log.dir"] = data
    if listen:
        flags["listeners"] = listen
    return flags


async def _serve(live: LiveConfig, panda: pandaq.PandaqConfig | None = None) -> int:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(_SYNC_THREADS, thread_name_prefix="sync"))
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    config = live.get(NodeConfig)
    # Half of the descriptors for files, half for clients: neither may take the other's.
    half = max((have_descriptors() - _SPARE_DESCRIPTORS) // 2, 16)
    live.cap("max.connections", half)
    try:
        disk = RealDisk(config.data_dir, max_open=half)
        env = Env(SystemClock(), disk, LocalRegistry(disk), SystemRandom())
        node = Node(env, live, before_doors=panda.create_topics if panda is not None else None)
        await node.start()
    except InvalidSetting as error:
        raise click.UsageError(str(error)) from None
    except (CannotListen, DirectoryInUse, RegistryDamaged) as error:
        raise Failure(
            str(error.strerror if isinstance(error, CannotListen) else error), Exit.CANNOT_START
        ) from None
    except DiskFailed as error:
        raise _failure_of(error) from error
    except OSError as error:
        raise Failure(f"cannot use {config.data_dir}: {error.strerror}", Exit.CANNOT_START) from error
    for name, address in node.others.items():
        click.echo(f"millstream: serving {name} on {address}", err=True)
    for address in node.addresses:
        click.echo(f"millstream: serving Kafka on {address}, data in {disk.root}", err=True)
    gc.freeze()  # what is there by now stays: the collector need not look through it again and again
    broken = node.broker.broken
    broken.add_done_callback(lambda _: told.set())
    await told.wait()
    try:
        await node.stop()
    except DiskFailed as error:
        raise _failure_of(error) from error
    if broken.done():
        raise _failure_of(disk.failure or broken.result())
    return Exit.OK


def _failure_of(error: OSError) -> Failure:
    return Failure(f"the disk failed: {error.strerror}; see to it before the next start", Exit.DISK_FAILED)


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # no wheel for this system: asyncio's own loop serves as well, more slowly
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return factory
