"""Fixtures for tests of Kafka code: a real broker in the test's own process.

Loaded by pytest wherever Millstream is installed, so it imports nothing until
a fixture is asked for. See docs/testing.md.
"""

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from millstream.embedded import Broker, Faults

_SETTINGS: Final = "kafka_broker_settings"
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9._-]+")
_NAME_MAX: Final = 200  # of 249: the number comes after it
_numbers: Final = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        _SETTINGS, "Settings of the broker of the kafka_broker fixture, NAME=VALUE a line.", type="linelist"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "kafka_topic(partitions, configs): how the topic of the kafka_topic fixture is made"
    )


@pytest.fixture(scope="session")
def kafka_broker_settings(pytestconfig: pytest.Config) -> dict[str, object]:
    """Settings of `kafka_broker`, by Kafka's names; from pytest's own settings unless overridden."""
    settings: dict[str, object] = {}
    for line in pytestconfig.getini(_SETTINGS):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"{_SETTINGS}: {line!r} is not of the form NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings


@pytest.fixture(scope="session")
def kafka_broker(kafka_broker_settings: dict[str, object]) -> "Iterator[Broker]":
    """One broker in memory for all tests; under xdist one for each worker."""
    with _broker_class()(settings=kafka_broker_settings) as broker:
        yield broker


@pytest.fixture
def kafka_topic(kafka_broker: "Broker", request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a topic of the test's own, gone after it."""
    marker = request.node.get_closest_marker("kafka_topic")
    given: dict[str, Any] = {} if marker is None else marker.kwargs
    name = _NOT_IN_NAMES.sub("-", request.node.name)[:_NAME_MAX].strip("-.")
    topic = kafka_broker.create_topic(f"{name}-{next(_numbers)}", **given)
    yield topic
    # The next topic is made after this one has gone: until then the tests go on.
    kafka_broker.delete_topic(topic, wait=False)


@pytest.fixture
def kafka_faults(kafka_broker: "Broker") -> "Iterator[Faults]":
    """Faults of `kafka_broker`; whatever is planned ends with the test."""
    yield kafka_broker.faults
    kafka_broker.faults.clear()


@pytest.fixture
def kafka_broker_factory() -> "Iterator[Callable[..., Broker]]":
    """Starts brokers of the test's own: called as `millstream.Broker` is; all are stopped after the test."""
    with ExitStack() as stack:

        def start(*args: Any, **kwargs: Any) -> "Broker":
            return stack.enter_context(_broker_class()(*args, **kwargs))

        yield start


def _broker_class() -> "type[Broker]":
    """The broker, imported as it is: pytest rewrites the asserts of whoever brings it a plugin.

    That would go through all of the broker's modules, and a third of its start is spent on it.
    """
    finders = sys.meta_path[:]
    sys.meta_path[:] = [each for each in finders if type(each).__name__ != "AssertionRewritingHook"]
    try:
        from millstream.embedded import Broker
    finally:
        sys.meta_path[:] = finders
    return Broker
