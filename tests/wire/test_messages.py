"""Every message, in every version we serve, against two other implementations."""

import dataclasses
import os
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.wire.oracles import (
    kafka_python_again,
    kafka_python_class,
    kio_class,
    kio_read,
    kio_write,
    our_name,
    same,
)
from tests.wire.strategies import CASES, encode, filled, messages

from millstream.errors import ErrorCode, Refused
from millstream.wire.apis import Api
from millstream.wire.message import Message, Struct, read_message
from millstream.wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from millstream.wire.messages.produce import ProduceRequestPartitionData, ProduceResponse

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # how kafka-python reads its files

EXAMPLES: Final = int(os.environ.get("WIRE_EXAMPLES", "5"))  # of each version of each message
NOTHING: Final[tuple[object, ...]] = (0, "", b"", bytes(16), [], None)


@pytest.mark.parametrize(("api", "kind", "version"), CASES)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_message_reads_the_same_everywhere(
    api: Api, kind: str, version: int, data: st.DataObject
) -> None:
    """What we write, others read as we meant it and write the same; and we read it back."""
    check(data.draw(messages(api, kind, version)), api, kind, version)


@pytest.mark.parametrize(("api", "kind", "version"), CASES)
def test_a_message_with_every_field_set_reads_the_same_everywhere(api: Api, kind: str, version: int) -> None:
    check(filled(api, kind, version), api, kind, version)


@pytest.mark.parametrize(("api", "kind", "version"), CASES)
def test_defaults_are_kafkas(api: Api, kind: str, version: int) -> None:
    ours, theirs = filled(api, kind, version), kio_class(api, kind, version)
    entity = kio_read(theirs, encode(ours, version))
    assert differing_defaults(ours, entity) == []


def test_a_field_that_a_version_lacks_is_at_its_default_when_read() -> None:
    response = MetadataResponse(
        controller_id=7, topics=[MetadataResponseTopic(name="t", topic_id=bytes(range(16)))]
    )
    found = read_message(MetadataResponse, encode(response, 0), 0)
    assert found.controller_id == -1
    assert found.topics[0].topic_id == bytes(16)


def test_null_where_a_version_has_none_is_our_bug() -> None:
    response = MetadataResponse(topics=[MetadataResponseTopic(name=None)])
    assert encode(response, 12)
    with pytest.raises(ValueError, match="name may not be null in version 11"):
        encode(response, 11)


@pytest.mark.parametrize("version", [3, 9])
def test_a_number_that_does_not_fit_is_our_bug(version: int) -> None:
    with pytest.raises(ValueError, match="ProduceResponse"):
        encode(ProduceResponse(throttle_time_ms=1 << 31), version)


def test_a_version_we_do_not_serve_is_refused() -> None:
    with pytest.raises(Refused) as refusal:
        read_message(ProduceResponse, b"", 14)
    assert refusal.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_lists_are_not_shared_between_messages() -> None:
    ProduceResponse().responses.append(ProduceResponse().responses)  # type: ignore[arg-type]
    assert ProduceResponse().responses == []


def test_records_are_shown_by_their_size() -> None:
    assert repr(ProduceRequestPartitionData(1, bytes(99))) == (
        "ProduceRequestPartitionData(index=1, records=<99 bytes>)"
    )


def check(message: Message, api: Api, kind: str, version: int) -> None:
    written = encode(message, version)

    theirs = kio_read(kio_class(api, kind, version), written)
    assert same(message, theirs)
    assert kio_write(theirs) == written
    assert read_message(type(message), written, version) == message
    unheard_of = api.name.startswith("ConsumerGroup")  # by kafka-python, which knows classic groups only
    # It reads any error in an ApiVersions response as version 0.
    if not unheard_of and not (api.name == "ApiVersions" and kind == "response"):
        assert kafka_python_again(kafka_python_class(api, kind), written, version) == written


def differing_defaults(ours: Struct, theirs: Any) -> list[str]:
    """The fields that we give another default than kio; where it gives none, Kafka's is nothing at all."""
    fresh = type(ours)()
    found: list[str] = []
    for f in dataclasses.fields(theirs):
        name = our_name(ours, f.name)
        ours_value, theirs_value = getattr(ours, name), getattr(theirs, f.name)
        default = getattr(fresh, name)
        nothing = f.default is dataclasses.MISSING
        empty = default in NOTHING or (isinstance(default, Struct) and default == type(default)())
        if not empty if nothing else not same(default, f.default):
            found.append(f"{type(ours).__name__}.{name}")
        if isinstance(ours_value, list) and ours_value and isinstance(ours_value[0], Struct):
            found += differing_defaults(ours_value[0], theirs_value[0])
        elif isinstance(ours_value, Struct):
            found += differing_defaults(ours_value, theirs_value)
    return found
