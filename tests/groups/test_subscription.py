"""What a broker reads in a member's metadata, against an independent writer of it."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.consumer_protocol_subscription import v0, v1, v2, v3
from kio.serial import entity_writer

from millstream.groups.subscription import topics_of

topics = st.lists(st.text(min_size=1, max_size=20), max_size=5)


@pytest.mark.parametrize("module", [v0, v1, v2, v3], ids=lambda module: module.__name__.rpartition(".")[2])
@given(names=topics, user_data=st.none() | st.binary(max_size=20))
def test_topics_are_found_in_every_version(module: object, names: list[str], user_data: bytes | None) -> None:
    kind = module.ConsumerProtocolSubscription  # type: ignore[attr-defined]
    fields = {"owned_partitions": (), "generation_id": 7, "rack_id": "rack"}
    known = {name: value for name, value in fields.items() if name in kind.__dataclass_fields__}
    out = io.BytesIO()
    entity_writer(kind)(out, kind(topics=tuple(names), user_data=user_data, **known))
    said = kind.__version__.to_bytes(2, "big") + out.getvalue()

    assert topics_of([said]) == frozenset(names)
    assert topics_of([said, said + b"what a newer version adds"]) == frozenset(names)


@given(st.binary(max_size=40))
def test_noise_says_nothing_and_breaks_nothing(noise: bytes) -> None:
    found = topics_of([noise])
    assert found is None or all(isinstance(topic, str) for topic in found)


def test_one_who_speaks_unclearly_makes_all_unclear() -> None:
    assert topics_of([b"\0\0\0\0\0\0", b"garbage"]) is None
    assert topics_of([]) == frozenset()
