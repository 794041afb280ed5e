"""How a node is told what to do: one TOML file, the environment, flags, in that rising order.

Every setting goes by Kafka's name. In the file it may be written as one key or
as tables (`[log]` with `"retention.ms" = …`); in the environment as
`MILLSTREAM_LOG_RETENTION_MS`. An unknown name is an error that says which name
was probably meant.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from millstream.broker.config import BrokerConfig
from millstream.broker.live_config import LiveConfig
from millstream.gateways.config import GatewayConfig
from millstream.gateways.http.config import HttpConfig
from millstream.groups.config import GroupConfig
from millstream.queues.config import QueueConfig
from millstream.settings import InvalidSetting, setting, settings_of
from millstream.transactions.config import TransactionConfig

ENV_PREFIX: Final = "MILLSTREAM_"
_NOT_SETTINGS: Final = frozenset(
    {"MILLSTREAM_CONFIG", "MILLSTREAM_BROKERS", "MILLSTREAM_TINYMQ"}
)  # read by the command line itself


@final
@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    data_dir: str = setting("millstream-data", "Where everything is kept.", kafka="log.dir", changeable=False)
    listeners: tuple[str, ...] = setting(
        ("PLAINTEXT://127.0.0.1:9092",),
        "Addresses to serve the Kafka protocol on; 0.0.0.0 or [::] means all of this machine's.",
        kafka="listeners",
        changeable=False,
    )
    advertised_listeners: tuple[str, ...] = setting(
        (),
        "Addresses told to clients, in the order of listeners; unless set, the one a client came to.",
        kafka="advertised.listeners",
        changeable=False,
    )
    jsonl_listener: str = setting(
        "127.0.0.1:4040",
        "Address to serve JSON lines (TinyMQ's protocol) on; empty for none.",
        kafka="jsonl.listener",
        changeable=False,
    )
    text_listener: str = setting(
        "127.0.0.1:9000",
        "Address to serve lines of text (K-Queue's protocol) on; empty for none.",
        kafka="text.listener",
        changeable=False,
    )
    http_queue_listener: str = setting(
        "127.0.0.1:3000",
        "Address to serve the HTTP queue API (Panda-Q's) on; empty for none.",
        kafka="http.queue.listener",
        changeable=False,
    )
    admin_listener: str = setting(
        "127.0.0.1:8080",
        "Address to serve the admin REST API, health and metrics on; empty for none.",
        kafka="admin.listener",
        changeable=False,
    )
    log_level: str = setting(
        "info",
        "How much to log.",
        kafka="log.level",
        choices=("debug", "info", "warning", "error"),
        changeable=False,
    )
    log_format: str = setting(
        "text",
        "Log lines for people or for machines.",
        kafka="log.format",
        choices=("text", "json"),
        changeable=False,
    )


OTHER_LISTENERS: Final = (
    "jsonl.listener",
    "text.listener",
    "http.queue.listener",
    "admin.listener",
)  # of doors besides Kafka's, each shut if empty
GROUPS: Final = (
    NodeConfig,
    BrokerConfig,
    GatewayConfig,
    HttpConfig,
    GroupConfig,
    TransactionConfig,
    QueueConfig,
)


@final
@dataclass(frozen=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@final
@dataclass(frozen=True)
class Listener:
    """One address to listen on, and the one to tell clients, if it is another."""

    bind: Address
    advertised: Address | None = field(default=None)


def load(
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    first: tuple[str, Mapping[str, object]] = ("", {}),
) -> LiveConfig:
    """The node's settings; InvalidSetting says what is wrong, and where.

    *first* are settings from a place of that name, which all others count more than.
    """
    values: dict[str, object] = {}
    for place, given in (
        first,
        (str(file), {} if file is None else read_file(file)),
        ("the environment", from_environment(environment)),
        ("the command line", flags),
    ):
        try:
            LiveConfig(GROUPS, given)
        except InvalidSetting as error:
            raise InvalidSetting(f"{place}: {error}") from None
        values |= given
    live = LiveConfig(GROUPS, values)
    config = live.get(NodeConfig)
    listeners_of(config)
    door_listener(config.jsonl_listener, "jsonl.listener")
    door_listener(config.http_queue_listener, "http.queue.listener")
    door_listener(config.admin_listener, "admin.listener")
    door_listener(config.text_listener, "text.listener")
    return live


def read_file(path: Path) -> dict[str, object]:
    """The settings in a TOML file, tables flattened to dotted names."""
    import tomllib  # most nodes have no file

    try:
        with path.open("rb") as file:
            return dict(_flattened(tomllib.load(file), ""))
    except OSError as error:
        raise InvalidSetting(f"cannot read {path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"{path} is not TOML: {error}") from None


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """The settings in variables named MILLSTREAM_…; `_` stands for any of `.` and `_`."""
    known = {_variable(name): name for name in LiveConfig(GROUPS, {}).names()}
    values: dict[str, object] = {}
    for variable, value in environment.items():
        if variable.startswith(ENV_PREFIX) and variable not in _NOT_SETTINGS:
            name = known.get(variable, variable.removeprefix(ENV_PREFIX).lower().replace("_", "."))
            values[name] = value
    return values


def listeners_of(config: NodeConfig) -> list[Listener]:
    """Where to listen, with every address checked."""
    bind = [_address(text, "listeners") for text in config.listeners]
    if not bind:
        raise InvalidSetting("listeners must name at least one address, such as PLAINTEXT://127.0.0.1:9092")
    advertised: list[Address | None] = [
        _address(text, "advertised.listeners") for text in config.advertised_listeners
    ]
    if advertised and len(advertised) != len(bind):
        raise InvalidSetting(
            f"advertised.listeners has {len(advertised)} addresses for {len(bind)} listeners: give one each"
        )
    return [Listener(*pair) for pair in zip(bind, advertised or [None] * len(bind), strict=True)]


def door_listener(text: str, name: str) -> Address | None:
    """Where a door other than Kafka's is to listen, by the setting *name*; None if it is to be shut."""
    return _address(text, name, "127.0.0.1:4040") if text else None


def _address(text: str, name: str, example: str = "PLAINTEXT://127.0.0.1:9092") -> Address:
    scheme, separator, rest = text.rpartition("://")
    if separator and scheme.upper() != "PLAINTEXT":
        raise InvalidSetting(f"{name}: {scheme} is not served; PLAINTEXT is")
    host, colon, port = rest.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidSetting(f"{name}: {text!r} is no address; write it as {example}")
    return Address(host.strip("[]") or "0.0.0.0", int(port))


def _flattened(table: Mapping[str, object], prefix: str) -> list[tuple[str, object]]:
    flat: list[tuple[str, object]] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat += _flattened(value, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, value))
    return flat


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper().replace(".", "_")


assert not settings_of(NodeConfig).keys() & settings_of(BrokerConfig).keys()
