"""Options as people write them: what each one says, and what they may have meant by one we do not know."""

import contextlib
import difflib
import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from millstream.client.topics import TopicPartition

_INTEGER: Final = re.compile(r"-?\d{1,19}")
_TRUTHS: Final = {"true": True, "false": False}

T = TypeVar("T", bound=str)


class InvalidOption(ValueError):
    """An option that says nothing we understand; the message names it and what it may be."""


def unknown(name: str, known: Collection[str]) -> InvalidOption:
    """That there is no option *name*, and which of *known* comes nearest."""
    by_small = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_small, n=1, cutoff=0.6)
    hint = f"; did you mean {by_small[near[0]]!r}?" if near else ""
    return InvalidOption(f"no option {name!r}{hint}")


def truth(name: str, text: str) -> bool:
    if text.strip().lower() not in _TRUTHS:
        raise InvalidOption(f"{name} is {text!r}; it may be true or false")
    return _TRUTHS[text.strip().lower()]


def number(name: str, text: str, least: int) -> int:
    if not _INTEGER.fullmatch(text.strip()) or int(text) < least:
        raise InvalidOption(f"{name} is {text!r}; it is a whole number of at least {least}")
    return int(text)


def one_of(name: str, text: str, choices: Collection[T]) -> T:
    for choice in choices:
        if text.strip().lower() == choice.lower():
            return choice
    raise InvalidOption(f"{name} is {text!r}; it may be {' or '.join(choices)}")


def time_ms(name: str, text: str) -> int:
    """A time: milliseconds since 1970, or ISO 8601 with a time zone."""
    if _INTEGER.fullmatch(text.strip()):
        return number(name, text, 0)
    time = None
    with contextlib.suppress(ValueError):
        time = datetime.fromisoformat(text.strip())
    if time is None or time.tzinfo is None:
        raise InvalidOption(
            f"{name} is {text!r}; it is a time in milliseconds since 1970, or such as 2026-11-01T00:00:00Z"
        )
    return int(time.timestamp() * 1000)


def names(name: str, text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not found:
        raise InvalidOption(f"{name} names no topic; write one or more with commas between")
    return found


def partition_lists(name: str, text: str) -> tuple[TopicPartition, ...]:
    """Partitions by topic: `{"orders": [0, 1]}`."""
    found = [
        TopicPartition(topic, _partition(name, each))
        for topic, some in _object(name, text, '{"orders": [0, 1]}').items()
        for each in (some if isinstance(some, list) else [some])
    ]
    if not found:
        raise InvalidOption(f"{name} names no partition")
    return tuple(sorted(set(found)))


def partition_numbers(name: str, text: str) -> dict[TopicPartition, int]:
    """A number for each partition: `{"orders": {"0": 23, "1": -2}}`."""
    form = '{"orders": {"0": 23, "1": -2}}'
    found: dict[TopicPartition, int] = {}
    for topic, numbers in _object(name, text, form).items():
        if not isinstance(numbers, dict):
            raise InvalidOption(f"{name} says {numbers!r} of {topic!r}; write {form}")
        for partition, value in numbers.items():
            if type(value) is not int:
                raise InvalidOption(f"{name} says {value!r} of {topic}-{partition}, which is no whole number")
            found[TopicPartition(topic, _partition(name, partition))] = value
    return found


def to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Offsets as Spark keeps and shows them, in the form of its Kafka connector."""
    found: dict[str, dict[str, int]] = {}
    for partition in sorted(offsets):
        found.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return found


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, numbers in offsets.items()
        for partition, offset in numbers.items()
    }


def _object(name: str, text: str, form: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidOption(f"{name} is {text!r}; write JSON such as {form}")
    return found


def _partition(name: str, value: object) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) >= 1 << 31:
        raise InvalidOption(f"{name} names a partition {value!r}; partitions are numbers from 0")
    return int(text)
