"""The node's settings as they are now: defaults, what it was started with, what was changed since.

Settings of logs are known by two names, as in Kafka: `retention.ms` for a
topic, `log.retention.ms` for the broker's default of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeVar, final

from millstream.settings import InvalidSetting, Setting, parse_settings, settings_of, unknown_setting
from millstream.storage.config import LogConfig

T = TypeVar("T")

_SAME_NAME: Final = frozenset(
    {"compression.type", "min.insync.replicas", "unclean.leader.election.enable", "flush.policy"}
)
_OTHER_NAME: Final = {
    "max.message.bytes": "message.max.bytes",
    "segment.bytes": "log.segment.bytes",
    "segment.ms": "log.roll.ms",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.index.bytes": "log.index.size.max.bytes",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
}
_ALIASES: Final = {"log.dirs": "log.dir", "broker.id": "node.id"}  # what Kafka's own files mostly say
_IN_OTHER_UNITS: Final = {
    "log.retention.hours": ("log.retention.ms", 3_600_000),
    "log.retention.minutes": ("log.retention.ms", 60_000),
    "log.roll.hours": ("log.roll.ms", 3_600_000),
    "log.roll.jitter.hours": ("log.roll.jitter.ms", 3_600_000),
}


class Source(IntEnum):
    """Where a value comes from, in Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


@final
@dataclass(frozen=True)
class Entry:
    """One setting with its present value."""

    name: str
    value: str
    source: Source
    setting: Setting


def broker_name(topic_config: str) -> str:
    """What the broker's default of *topic_config* is called."""
    if topic_config in _SAME_NAME:
        return topic_config
    return _OTHER_NAME.get(topic_config, f"log.{topic_config}")


_LOG_BY_BROKER_NAME: Final = {broker_name(name): name for name in settings_of(LogConfig)}


@final
class LiveConfig:
    """Groups of settings, read by the broker's rooms whenever they need one.

    *static* is what the node was started with, by Kafka's broker-level names.
    Changes made while it runs are laid over it by `change`.
    """

    def __init__(self, groups: Sequence[type], static: Mapping[str, object]) -> None:
        self._groups = [*groups, LogConfig]
        self._known = {name: one for group in groups for name, one in settings_of(group).items()}
        self._known |= {broker_name(name): one for name, one in settings_of(LogConfig).items()}
        self._static = self._checked(static)
        self._dynamic: dict[str, str] = {}
        self._now: dict[type, Any] = {}
        self._build()

    def get(self, group: type[T]) -> T:
        """The present values of one group."""
        now: T = self._now[group]
        return now

    @property
    def dynamic(self) -> Mapping[str, str]:
        return self._dynamic

    def setting(self, name: str) -> Setting:
        """The declaration of the broker-level setting *name*."""
        if name not in self._known:
            raise InvalidSetting(unknown_setting(name, self._known))
        return self._known[name]

    def check(self, dynamic: Mapping[str, str]) -> None:
        """Raise InvalidSetting unless *dynamic* could be changed while running."""
        for name in dynamic:
            if not self.setting(name).changeable:
                raise InvalidSetting(f"{name} can be changed only by a restart")
        self._checked(dynamic)

    def change(self, dynamic: Mapping[str, str]) -> None:
        """Let *dynamic* be all that was changed while running."""
        self.check(dynamic)
        self._dynamic = dict(dynamic)
        self._build()

    def cap(self, name: str, most: int) -> None:
        """Let *name* be *most* at the most, since this machine allows no more."""
        if int(self.entry(name).value) > most:
            self._static[name] = most
            self._build()

    def names(self) -> list[str]:
        """Every name that may be set, Kafka's other names and units included."""
        return sorted([*self._known, *_ALIASES, *_IN_OTHER_UNITS])

    def known(self) -> list[str]:
        """Every broker-level setting by its own name, also those that do nothing here."""
        return sorted(self._known)

    def entries(self) -> list[Entry]:
        """Every broker-level setting that does something, by name."""
        return [self.entry(name) for name, one in sorted(self._known.items()) if one.listed]

    def entry(self, name: str) -> Entry:
        setting = self.setting(name)
        for values, source in ((self._dynamic, Source.DYNAMIC_BROKER), (self._static, Source.STATIC_BROKER)):
            if name in values:
                return Entry(name, setting.show(setting.parse(values[name])), source, setting)
        return Entry(name, setting.show(setting.default), Source.DEFAULT, setting)

    def log_entry(self, topic_config: str) -> Entry:
        """The broker's default of a topic's setting."""
        return self.entry(broker_name(topic_config))

    def _checked(self, values: Mapping[str, object]) -> dict[str, object]:
        checked: dict[str, object] = {}
        for name, value in values.items():
            name = _ALIASES.get(name, name)
            if name in _IN_OTHER_UNITS:
                name, unit = _IN_OTHER_UNITS[name]
                value = self.setting(name).parse(value) * unit
            self.setting(name).parse(value)
            checked[name] = value
        return checked

    def _build(self) -> None:
        values = {**self._static, **self._dynamic}
        for group in self._groups:
            if group is LogConfig:
                mine = {
                    _LOG_BY_BROKER_NAME[name]: v for name, v in values.items() if name in _LOG_BY_BROKER_NAME
                }
            else:
                names = settings_of(group)
                mine = {name: value for name, value in values.items() if name in names}
            self._now[group] = parse_settings(group, mine)
