"""Panda-Q's own configuration: `pandaq-config.json`, the variables it knows, and `.env`.

    {"brokerId": "broker_1", "reboot": false, "topics": [{"id": "orders", "partitions": 3}]}

The variables count only together with the file: `PORT` and the like mean many
things elsewhere. Whatever is set in Millstream's own ways counts more.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from millstream.broker.broker import Broker
from millstream.broker.session import Session
from millstream.broker.topics import NewTopic
from millstream.env.disk import RealDisk
from millstream.errors import Refused
from millstream.settings import InvalidSetting
from millstream.storage.store import LOCK

log = logging.getLogger(__name__)

FILE: Final = "pandaq-config.json"

_ITS_OWN: Final = ("TPC.log", "ingress.log")  # in a data folder that Panda-Q itself has written
_SESSION: Final = Session("pandaq-config", "local")


@final
@dataclass(frozen=True)
class PandaqConfig:
    """What the file says; *settings* by our own names, *notes* are for the log."""

    path: Path
    reboot: bool
    topics: Mapping[str, int]
    settings: Mapping[str, object]
    notes: tuple[str, ...] = field(default=())

    async def create_topics(self, broker: Broker) -> None:
        """Make those topics that are not there; InvalidSetting if one is there and is another."""
        for name, partitions in self.topics.items():
            if name in broker.topics:
                found = broker.topics.topic(name).partitions
                if found != partitions:
                    raise InvalidSetting(
                        f"{self.path}: topic {name} has {found} partitions, not {partitions}; "
                        "correct the file, or give it more with the admin API"
                    )
                continue
            (made,) = await broker.create_topics(_SESSION, [NewTopic(name, partitions)])
            if isinstance(made, Refused):
                raise InvalidSetting(f"{self.path}: {made.detail}")


def find(given: Path | None, directory: Path, environment: Mapping[str, str]) -> PandaqConfig | None:
    """The configuration in the file *given*, or in *directory* if there is one."""
    path = given or directory / FILE
    if given is None and not path.exists():
        return None
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise InvalidSetting(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidSetting(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise InvalidSetting(f"{path} must be an object with brokerId, reboot and topics")
    variables = {**_dotenv(path.parent / ".env"), **environment}
    return PandaqConfig(
        path,
        content.get("reboot") is True,
        _topics(content.get("topics", []), path),
        _settings(content, variables, path),
        _notes(variables),
    )


def wipe(root: str, why: Path) -> None:
    """Delete all data in the directory *root*, if it is one of ours and nobody's in use."""
    import shutil  # with every kind of compression there is, for a file that says reboot

    directory = Path(root)
    if not directory.exists():
        return
    names = sorted(each.name for each in directory.iterdir())
    if names and LOCK not in names:
        raise InvalidSetting(f"{why} says reboot, but {root} is no data directory of Millstream: not deleted")
    lock = RealDisk(root).lock(LOCK)
    try:
        log.warning(
            "REBOOT: ALL DATA IS DELETED directory=%s because=%s says reboot: true", directory.resolve(), why
        )
        for name in names:
            path = directory / name
            if name == LOCK:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    finally:
        lock.release()


def check_directory(root: str) -> None:
    """Refuse to keep our data among Panda-Q's."""
    for name in _ITS_OWN:
        if (Path(root) / name).exists():
            raise InvalidSetting(
                f"{root} holds data of Panda-Q itself ({name}): give another directory, and see "
                "`millstream import --help` to bring its messages over"
            )


def _topics(given: Any, path: Path) -> dict[str, int]:
    if not isinstance(given, list):
        raise InvalidSetting(f"{path}: topics must be a list")
    topics: dict[str, int] = {}
    for each in given:
        name = each.get("id") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name:
            raise InvalidSetting(f"{path}: every topic needs an id, a string")
        partitions = each.get("partitions")
        if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
            raise InvalidSetting(f"{path}: topic {name} needs partitions, a number of at least 1")
        topics[name] = partitions
    return topics


def _settings(content: Mapping[str, Any], variables: Mapping[str, str], path: Path) -> dict[str, object]:
    settings: dict[str, object] = {}
    broker_id = content.get("brokerId") or variables.get("BROKER_ID")
    if not isinstance(broker_id, str) or not broker_id:
        raise InvalidSetting(f"{path}: brokerId must be a string")
    settings["http.queue.broker.id"] = broker_id
    port = variables.get("PORT")
    if port:
        if not port.isdecimal() or int(port) > 65535:
            raise InvalidSetting(f"PORT must be the number of a port, not {port!r}")
        settings["http.queue.listener"] = f"127.0.0.1:{port}"
    if variables.get("DATA_STORAGE_VOLUME"):
        settings["log.dir"] = variables["DATA_STORAGE_VOLUME"]
    return settings


def _notes(variables: Mapping[str, str]) -> tuple[str, ...]:
    if variables.get("INGRESS_LOG_FILE"):
        return ("INGRESS_LOG_FILE is not used: a message goes straight to its partition",)
    return ()


def _dotenv(path: Path) -> dict[str, str]:
    """The variables in a `.env` file: NAME=value a line, quotes taken off, # for comments."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    variables = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        value = value.strip()
        if not equals or name.startswith("#"):
            continue
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        variables[name.strip()] = value
    return variables
