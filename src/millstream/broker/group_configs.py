"""Configs that one group has of its own: the broker's for all groups, but for these."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

from millstream.broker.configs import Change, Described, changed
from millstream.broker.live_config import Entry, LiveConfig, Source
from millstream.env.registry import ABSENT, Registry
from millstream.errors import ErrorCode, Refused
from millstream.groups.admission import check_group_id
from millstream.groups.config import GroupConfig, GroupOverrides
from millstream.settings import InvalidSetting, parse_settings, settings_of

_PREFIX: Final = "group-configs/"
_INHERITED: Final = "group."  # the broker's config of the same meaning has a longer name


@final
@dataclass(frozen=True)
class _Own:
    """What a group was given, as it was written and as GroupConfig's fields."""

    configs: Mapping[str, str]
    fields: Mapping[str, Any]
    revision: int


@final
class GroupConfigs:
    """Every group that was ever given a config, whether it exists or not, as in Kafka."""

    def __init__(self, registry: Registry, live: LiveConfig) -> None:
        self._registry = registry
        self._live = live
        self._own: dict[str, _Own] = {}
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        for item in await self._registry.range(_PREFIX):
            configs = json.loads(item.value)
            self._keep(item.key.removeprefix(_PREFIX), configs, item.revision)

    @property
    def names(self) -> list[str]:
        return sorted(self._own)

    def of(self, group: str) -> GroupConfig:
        """What *group* goes by."""
        config = self._live.get(GroupConfig)
        own = self._own.get(group)
        return config if own is None else replace(config, **own.fields)

    def describe(self, group: str) -> list[Described]:
        check_group_id(group, may_be_empty=False)
        configs = self._own[group].configs if group in self._own else {}
        described = []
        for name, setting in settings_of(GroupOverrides).items():
            inherited = self._live.entry(_INHERITED + name)
            entry = Entry(name, inherited.value, inherited.source, setting)
            synonyms: tuple[Entry, ...] = (inherited,)
            if name in configs:
                entry = Entry(name, setting.show(setting.parse(configs[name])), Source.GROUP, setting)
                synonyms = (entry, inherited)
            described.append(Described(entry, False, synonyms))
        return described

    async def replace(self, group: str, configs: Mapping[str, str | None], validate_only: bool) -> None:
        """Let *configs* be all that *group* has of its own."""
        given = {name: value for name, value in configs.items() if value is not None}
        await self._set(group, lambda _: given, validate_only)

    async def change(self, group: str, changes: list[Change], validate_only: bool) -> None:
        known = settings_of(GroupOverrides)

        def after(configs: Mapping[str, str]) -> Mapping[str, str]:
            return changed(configs, changes, known, lambda name: self._live.entry(_INHERITED + name).value)

        await self._set(group, after, validate_only)

    async def _set(
        self, group: str, change: Callable[[Mapping[str, str]], Mapping[str, str]], validate_only: bool
    ) -> None:
        check_group_id(group, may_be_empty=False)
        async with self._turn:
            own = self._own.get(group)
            after = dict(change({} if own is None else own.configs))
            self._check(group, after)
            if validate_only or (own is None and not after):
                return
            key, revision = _PREFIX + group, ABSENT if own is None else own.revision
            value = json.dumps(after).encode() if after else None
            now = await self._registry.change({key: value}, {key: revision})
            self._own.pop(group, None)
            if after:
                self._keep(group, after, now)

    def _keep(self, group: str, configs: Mapping[str, str], revision: int) -> None:
        known = settings_of(GroupOverrides)
        fields = {known[name].field: known[name].parse(value) for name, value in configs.items()}
        self._own[group] = _Own(configs, fields, revision)

    def _check(self, group: str, configs: Mapping[str, str]) -> None:
        """Refuse what makes no sense, or lies outside the bounds that the broker sets for all groups."""
        config = self._live.get(GroupConfig)
        bounds = {
            "consumer.session.timeout.ms": (
                config.consumer_min_session_timeout_ms,
                config.consumer_max_session_timeout_ms,
            ),
            "consumer.heartbeat.interval.ms": (
                config.consumer_min_heartbeat_interval_ms,
                config.consumer_max_heartbeat_interval_ms,
            ),
        }
        try:
            parse_settings(GroupOverrides, configs)
        except InvalidSetting as error:
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
        for name, value in configs.items():
            least, most = bounds[name]
            if not least <= int(value) <= most:
                raise Refused(
                    ErrorCode.INVALID_CONFIG, f"{name} must be within {least} and {most}, not {value}"
                )
        if configs and group not in self._own and len(self._own) >= config.max_count:
            raise Refused(ErrorCode.POLICY_VIOLATION, f"group.max.count is {config.max_count}")
