"""Settings: one declaration each, used by validation, DescribeConfigs and the manual.

A group of settings is a frozen dataclass whose fields are made by `setting()`.
It lives beside what it sets; this module knows only how to declare, read and
print them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Final, TypeVar, final

T = TypeVar("T")

_META: Final = "millstream.setting"


class InvalidSetting(ValueError):
    """A setting that is unknown, unreadable or out of bounds; the message says which, and what would do."""


@final
@dataclass(frozen=True)
class Setting:
    """What is known of one setting besides its present value."""

    field: str
    kafka: str
    meaning: str
    type: type
    default: Any
    min: int | float | None = None
    max: int | float | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    secret: bool = False
    changeable: bool = True
    listed: bool = True

    def parse(self, value: object) -> Any:
        """*value*, from a config file, a flag or the wire, as this setting's own type."""
        parsed = self._convert(value)
        self.check(parsed)
        return parsed

    def check(self, value: Any) -> None:
        """Raise InvalidSetting unless *value* is within bounds."""
        if self.min is not None and value < self.min:
            raise InvalidSetting(f"{self.kafka} must be at least {self.min}, not {value}")
        if self.max is not None and value > self.max:
            raise InvalidSetting(f"{self.kafka} must be at most {self.max}, not {value}")
        for item in value if self.many else (value,):
            if self.choices and item not in self.choices:
                raise InvalidSetting(f"{self.kafka} must be one of {', '.join(self.choices)}, not {item!r}")

    def show(self, value: Any) -> str:
        """*value* as Kafka's tools print it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if self.many:
            return ",".join(value)
        return "" if value is None else str(value)

    def _convert(self, value: object) -> Any:
        if self.many:
            items = value.split(",") if isinstance(value, str) else value
            if not isinstance(items, Iterable):
                raise InvalidSetting(f"{self.kafka} must be a list, not {value!r}")
            return tuple(str(item).strip() for item in items if str(item).strip())
        if self.type is bool:
            return self._boolean(value)
        if self.type in (int, float):
            return self._number(value)
        return str(value)

    def _boolean(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        match str(value).strip().lower():
            case "true":
                return True
            case "false":
                return False
        raise InvalidSetting(f"{self.kafka} must be true or false, not {value!r}")

    def _number(self, value: object) -> int | float:
        kind = "a whole number" if self.type is int else "a number"
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InvalidSetting(f"{self.kafka} must be {kind}, not {value!r}")
        try:
            if self.type is int:
                return int(value.strip() if isinstance(value, str) else value)
            return float(value)
        except ValueError:
            raise InvalidSetting(f"{self.kafka} must be {kind}, not {value!r}") from None


def setting(
    default: T,
    meaning: str,
    *,
    kafka: str,
    min: float | None = None,
    max: float | None = None,
    choices: tuple[str, ...] = (),
    secret: bool = False,
    changeable: bool = True,
    listed: bool = True,
) -> T:
    """A dataclass field that is a setting; *kafka* is its name in files, flags and DescribeConfigs.

    One that is understood, since files and tools written for Kafka name it, but
    can change nothing here is not *listed*.
    """
    extra = {
        "kafka": kafka,
        "meaning": meaning,
        "min": min,
        "max": max,
        "choices": choices,
        "secret": secret,
        "changeable": changeable,
        "listed": listed,
    }
    return field(default=default, metadata={_META: extra})


def settings_of(group: type) -> dict[str, Setting]:
    """Every setting of *group*, a dataclass, by Kafka's name."""
    return {one.kafka: one for one in _declared(group)}


def parse_settings(group: type[T], values: Mapping[str, object], base: T | None = None) -> T:
    """A *group* with *values* (by Kafka's name) laid over *base*, or over the defaults."""
    known = settings_of(group)
    changed = {}
    for name, value in values.items():
        if name not in known:
            raise InvalidSetting(unknown_setting(name, known))
        changed[known[name].field] = known[name].parse(value)
    kept = {} if base is None else {one.field: getattr(base, one.field) for one in known.values()}
    return group(**(kept | changed))


def unknown_setting(name: str, known: Iterable[str]) -> str:
    """The message for an unknown *name*, with the likeliest name that was meant."""
    import difflib  # for who mistyped

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


@cache
def _declared(group: type) -> tuple[Setting, ...]:
    return tuple(_declarations(group))


def _declarations(group: type) -> Iterator[Setting]:
    for each in fields(group):
        extra = each.metadata.get(_META)
        if extra is None:
            continue
        assert each.default is not MISSING, each.name
        many = isinstance(each.default, tuple)
        kind = str if each.default is None or many else type(each.default)
        yield Setting(field=each.name, type=kind, default=each.default, many=many, **extra)
