"""Configs of topics and of the broker: described in full, changed while running, kept in the registry."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, final

from millstream.broker.live_config import Entry, LiveConfig, Source, broker_name
from millstream.broker.topics import Topics
from millstream.env.registry import ABSENT, Registry
from millstream.errors import ErrorCode, Refused
from millstream.settings import InvalidSetting, Setting, settings_of, unknown_setting
from millstream.storage.config import LogConfig

_KEY: Final = "configs/broker"


class Operation(IntEnum):
    """What an incremental change does to one config, in Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@final
@dataclass(frozen=True)
class Change:
    name: str
    operation: Operation
    value: str | None


@final
@dataclass(frozen=True)
class Described:
    """One config as DescribeConfigs shows it; *synonyms* are all its possible sources, nearest first."""

    entry: Entry
    read_only: bool
    synonyms: tuple[Entry, ...]


@final
class Configs:
    def __init__(self, registry: Registry, topics: Topics, live: LiveConfig) -> None:
        self._registry = registry
        self._topics = topics
        self._live = live
        self._revision = ABSENT
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Lay the changes of earlier lives over what the node was started with."""
        for item in await self._registry.range(_KEY):
            self._revision = item.revision
            self._live.change(json.loads(item.value))

    def describe_topic(self, name: str) -> list[Described]:
        return self.describe_configs(self._topics.topic(name).configs)

    def describe_configs(self, configs: Mapping[str, str]) -> list[Described]:
        """What a topic with these *configs* of its own works with."""
        return [
            self._describe_topic_config(setting, configs)
            for setting in settings_of(LogConfig).values()
            if setting.listed
        ]

    def describe_broker(self) -> list[Described]:
        return [
            Described(entry, not entry.setting.changeable, self._broker_synonyms(entry.name))
            for entry in self._live.entries()
        ]

    async def replace_topic(
        self, name: str, configs: Mapping[str, str | None], validate_only: bool = False
    ) -> None:
        """Let *configs* be all that topic *name* has of its own."""
        given = {key: value for key, value in configs.items() if value is not None}
        await self._topics.configure(name, lambda _: given, validate_only)

    async def change_topic(self, name: str, changes: list[Change], validate_only: bool = False) -> None:
        known = settings_of(LogConfig)

        def after(configs: Mapping[str, str]) -> Mapping[str, str]:
            return changed(configs, changes, known, lambda config: self._live.log_entry(config).value)

        await self._topics.configure(name, after, validate_only)

    async def replace_broker(self, configs: Mapping[str, str | None], validate_only: bool = False) -> None:
        """Let *configs* be all that was changed of the broker's settings."""
        given = {key: value for key, value in configs.items() if value is not None}
        await self._set_broker(lambda _: given, validate_only)

    async def change_broker(self, changes: list[Change], validate_only: bool = False) -> None:
        known = {name: self._live.setting(name) for name in self._live.known()}

        def after(configs: Mapping[str, str]) -> Mapping[str, str]:
            return changed(configs, changes, known, lambda config: self._live.entry(config).value)

        await self._set_broker(after, validate_only)

    async def _set_broker(
        self, change: Callable[[Mapping[str, str]], Mapping[str, str]], validate_only: bool
    ) -> None:
        async with self._turn:
            after = dict(change(self._live.dynamic))
            try:
                self._live.check(after)
            except InvalidSetting as error:
                raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
            if validate_only:
                return
            self._revision = await self._registry.change(
                {_KEY: json.dumps(after).encode()}, {_KEY: self._revision}
            )
            self._live.change(after)
            self._topics.apply_defaults()

    def _describe_topic_config(self, setting: Setting, configs: Mapping[str, str]) -> Described:
        default = self._live.log_entry(setting.kafka)
        inherited = self._broker_synonyms(broker_name(setting.kafka))
        if setting.kafka not in configs:
            return Described(Entry(setting.kafka, default.value, default.source, setting), False, inherited)
        own = Entry(setting.kafka, setting.show(setting.parse(configs[setting.kafka])), Source.TOPIC, setting)
        return Described(own, False, (own, *inherited))

    def _broker_synonyms(self, name: str) -> tuple[Entry, ...]:
        entry = self._live.entry(name)
        default = Entry(name, entry.setting.show(entry.setting.default), Source.DEFAULT, entry.setting)
        return (default,) if entry.source is Source.DEFAULT else (entry, default)


def changed(
    configs: Mapping[str, str],
    changes: list[Change],
    known: Mapping[str, Setting],
    inherited: Callable[[str], str],
) -> dict[str, str]:
    """*configs* after *changes*; a list that is appended to starts from what it is or inherits."""
    after = dict(configs)
    for change in changes:
        if change.operation is Operation.DELETE:
            # Kafka's mirrors and tools delete settings of Kafka's that we have never heard of.
            after.pop(change.name, None)
            continue
        setting = known.get(change.name)
        if setting is None:
            raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(change.name, known))
        if change.value is None:
            raise Refused(
                ErrorCode.INVALID_CONFIG, f"{change.name} needs a value to {change.operation.name.lower()}"
            )
        if change.operation is Operation.SET:
            after[change.name] = change.value
        elif not setting.many:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{change.name} is no list: only set and delete apply")
        else:
            items = [item for item in after.get(change.name, inherited(change.name)).split(",") if item]
            given = [item.strip() for item in change.value.split(",") if item.strip()]
            if change.operation is Operation.APPEND:
                items += [item for item in given if item not in items]
            else:
                items = [item for item in items if item not in given]
            after[change.name] = ",".join(items)
    return after
