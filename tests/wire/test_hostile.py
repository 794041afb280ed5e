"""Whatever arrives, the codec gives a message or `Refused`, and takes no memory that was not sent."""

import os
import tracemalloc
from random import Random
from typing import Final

import pytest
from tests.wire.strategies import CASES, declared, encode, filled

from millstream.errors import ErrorCode, Refused
from millstream.wire.apis import APIS, Api
from millstream.wire.message import Message, read_message
from millstream.wire.messages.delete_groups import DeleteGroupsRequest
from millstream.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsRequestTopic
from millstream.wire.messages.fetch import FetchRequest
from millstream.wire.messages.heartbeat import HeartbeatRequest
from millstream.wire.messages.produce import ProduceRequest
from millstream.wire.primitives import MAX_OBJECTS, MAX_TAGS

MUTATIONS: Final = 4 * int(os.environ.get("WIRE_EXAMPLES", "5"))
HUGE_OLDER: Final = [b"\x7f\xff\xff\xff", b"\x7f\xff"]
HUGE_FLEXIBLE: Final = [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07"]
FLEXIBLE_CASES: Final = [
    pytest.param(api, kind, version, id=f"{api.name}-{kind}-v{version}")
    for api in APIS.values()
    for kind in ("request", "response")
    for version in range(max(api.min, api.flexible_from), api.max + 1)
]


@pytest.mark.parametrize(("api", "kind", "version"), CASES)
def test_a_message_cut_anywhere_is_refused(api: Api, kind: str, version: int) -> None:
    message = filled(api, kind, version)
    whole = encode(message, version)
    for cut in range(len(whole)):
        assert refused(type(message), whole[:cut], version), cut


@pytest.mark.parametrize(("api", "kind", "version"), CASES)
def test_what_follows_a_message_is_refused(api: Api, kind: str, version: int) -> None:
    message = filled(api, kind, version)
    assert refused(type(message), encode(message, version) + b"\0", version)


@pytest.mark.parametrize(("api", "kind", "version"), CASES)
def test_spoiled_bytes_are_read_or_refused(api: Api, kind: str, version: int) -> None:
    """And what is read is a message like any other: written again, it reads the same."""
    message = filled(api, kind, version)
    whole = encode(message, version)
    random = Random(f"{api.name} {kind} {version}")
    for _ in range(MUTATIONS if whole else 0):
        spoiled = bytearray(whole)
        for _ in range(random.choice((1, 1, 2, 5))):
            spoiled[random.randrange(len(spoiled))] = random.choice(
                (0, 1, 127, 128, 255, random.randrange(256))
            )
        try:
            found = read_message(type(message), spoiled, version)
        except Refused:
            continue
        again = encode(found, version)
        assert encode(read_message(type(message), again, version), version) == again


@pytest.mark.parametrize(
    ("name", "kind"), [("Produce", "request"), ("Fetch", "request"), ("Metadata", "response")]
)
@pytest.mark.parametrize("newest", [True, False])
def test_a_huge_length_anywhere_takes_no_memory(name: str, kind: str, newest: bool) -> None:
    """One frame of 30 bytes may claim four thousand million elements."""
    api = next(api for api in APIS.values() if api.name == name)
    version = api.max if newest else api.min
    message = filled(api, kind, version)
    whole = encode(message, version)
    refused(type(message), whole[:-1], version)  # what is made once is made
    tracemalloc.start()
    try:
        for huge in HUGE_FLEXIBLE if newest else HUGE_OLDER:
            for place in range(len(whole)):
                spoiled = whole[:place] + huge + whole[place + len(huge) :]
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                refused(type(message), spoiled, version)
                assert tracemalloc.get_traced_memory()[1] - before < 100 * len(whole)
    finally:
        tracemalloc.stop()


def test_more_objects_than_the_limit_are_refused_before_they_are_made() -> None:
    count = MAX_OBJECTS + 1
    data = count.to_bytes(4) + bytes(2 * count)
    tracemalloc.start()
    try:
        assert refused(DeleteGroupsRequest, data, 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_objects_are_counted_over_the_whole_message() -> None:
    inner, outer = 1000, MAX_OBJECTS // 1001
    topics = [DescribeLogDirsRequestTopic("t", [1] * inner)] * outer
    assert not refused(DescribeLogDirsRequest, encode(DescribeLogDirsRequest(topics), 1), 1)
    topics += [DescribeLogDirsRequestTopic("t", [1] * 1001)]
    assert refused(DescribeLogDirsRequest, encode(DescribeLogDirsRequest(topics), 1), 1)


@pytest.mark.parametrize(("api", "kind", "version"), FLEXIBLE_CASES)
def test_tags_we_do_not_know_are_skipped(api: Api, kind: str, version: int) -> None:
    message = untagged(api, kind, version)
    whole = encode(message, version)
    assert whole[-1] == 0

    one = b"\xe8\x07\x03abc"
    assert read_message(type(message), whole[:-1] + b"\x01" + one, version) == message
    assert read_message(type(message), whole[:-1] + b"\x02" + one + b"\xe9\x07\x00", version) == message
    assert refused(type(message), whole[:-1] + b"\x02" + one + one, version)
    assert refused(type(message), whole[:-1] + b"\x01" + one[:-1], version)


def test_tags_we_do_not_know_are_skipped_inside_too() -> None:
    tags = b"\x01\x7f\x02??"
    partition = b"\0\0\0\x05" + b"\x03ab" + tags
    data = b"\0" + b"\xff\xff" + b"\0\0\x75\x30" + b"\x02" + b"\x02t" + b"\x02" + partition + tags + tags
    request = read_message(ProduceRequest, data, 9)
    assert request.topic_data[0].partition_data[0].records == b"ab"


def test_a_tag_we_know_among_others() -> None:
    whole = encode(FetchRequest(), 12)
    found = read_message(FetchRequest, whole[:-1] + b"\x02" + b"\x05\x01?" + b"\x00\x03\x03me", 12)
    assert found.cluster_id == "me"


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        (b"\x02" + b"\x00\x03\x03me" * 2, "twice"),
        (b"\x01\x00\x04\x03me?", "longer than its value"),
        (b"\x01\x00\x02\x03me", "shorter than its value"),
        (b"\x01\x00\xff\xff\xff\xff\x0f", "huge"),
        (b"\xff\xff\xff\xff\x0f", "a huge number of tags"),
        (b"\xff\xff\xff\xff\xff\x01", "a number of tags of six bytes"),
        (bytes([0xE9, 0x07]) + bytes(2 * (MAX_TAGS + 1)), "more tags than the limit"),
    ],
)
def test_a_tag_section_that_is_wrong_is_refused(tags: bytes, why: str) -> None:
    whole = encode(FetchRequest(), 12)
    assert refused(FetchRequest, whole[:-1] + tags, 12), why


@pytest.mark.parametrize(
    ("version", "group", "why"),
    [
        (0, b"\x00\x02\xff\xfe", "not UTF-8"),
        (0, b"\xff\xff", "null"),
        (0, b"\x80\x00", "negative"),
        (4, b"\x03\xff\xfe", "not UTF-8"),
        (4, b"\x03\xed\xa0", "half a surrogate"),
        (4, b"\x00", "null"),
        (4, b"\xff\xff\xff\xff\xff\x00", "a length of six bytes"),
        (4, b"\x83\x80\x80\x80\x80\x00ab", "a small length of six bytes"),
        (4, b"\xff\xff\xff\xff\x1f", "a length of 33 bits"),
    ],
)
def test_a_string_that_is_wrong_is_refused(version: int, group: bytes, why: str) -> None:
    rest = b"\0\0\0\x01" + (b"\0\x01m" if version < 4 else b"\x02m\x00\x00")
    good = b"\0\x01g" if version < 4 else b"\x02g"
    assert read_message(HeartbeatRequest, good + rest, version).group_id == "g"
    assert refused(HeartbeatRequest, group + rest, version), why


def test_a_refusal_tells_what_was_wrong() -> None:
    with pytest.raises(Refused, match="topic_data has 2147483647 elements where 0 bytes remain"):
        read_message(ProduceRequest, b"\xff\xff\0\0\0\0\0\0\x7f\xff\xff\xff", 3)


def refused(message: type[Message], data: bytes, version: int) -> bool:
    try:
        read_message(message, data, version)
    except Refused as refusal:
        return refusal.code == ErrorCode.INVALID_REQUEST
    return False


def untagged(api: Api, kind: str, version: int) -> Message:
    """A filled message whose own tagged fields are at their defaults."""
    message = filled(api, kind, version)
    fresh = type(message)()
    struct = declared(api).request if kind == "request" else declared(api).response
    for f in struct.fields:
        if f.tag is not None:
            setattr(message, f.name, getattr(fresh, f.name))
    return message
