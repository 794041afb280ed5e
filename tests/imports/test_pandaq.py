"""Panda-Q's folder is read as it was written, whatever the messages hold."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.imports.writing import PandaQ

from millstream.imports.pandaq import open_folder, partition_of
from millstream.imports.source import Damaged, Source

ids = st.text(st.characters(exclude_characters="|\n", exclude_categories=["Cs"]), min_size=1, max_size=8)
texts = st.text(st.one_of(st.sampled_from("|\n\r0to"), st.characters(exclude_categories=["Cs"])), max_size=20)


def read(source: Source) -> dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]]:
    return {
        (topic.name, partition.index): [
            (found.record.key, found.record.value) for found in partition.records()
        ]
        for topic in source.topics
        for partition in topic.partitions
    }


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(["t", "u.v"]), ids, texts), max_size=12),
    st.integers(0, 12),
    st.sampled_from(["broker_1", "", "a.b*"]),
)
def test_every_message_comes_once_and_in_order_moved_or_not(
    messages: list[tuple[str, str, str]], moved: int, broker: str
) -> None:
    counts = {"t": 3, "u.v": 1}
    expected: dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]] = {
        (topic, index): [] for topic, count in counts.items() for index in range(count)
    }
    for topic, id, text in messages:
        index = partition_of(id.encode(), counts[topic])
        value = json.dumps(text, ensure_ascii=False).encode()
        expected[topic, index].append((id.encode(), value))
    with tempfile.TemporaryDirectory() as directory:
        broker_ = PandaQ(Path(directory) / "data", counts, broker)
        for message in messages[:moved]:
            broker_.ingress(*message)
        broker_.move()
        for message in messages[moved:]:
            broker_.ingress(*message)

        source = open_folder(broker_.folder)

        assert read(source) == expected
        assert source.notes == []


def test_offsets_and_registrations_come_along(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 2})
    broker.ingress("t", "m", 1)
    broker.move()
    index = partition_of(b"m", 2)
    broker.reads["t", index] = 1
    broker.consumers["t", 1] = "c|1"
    broker.write_metadata()

    (topic,) = open_folder(broker.folder).topics

    assert [each.read_offset for each in topic.partitions] == [1 - index, index]
    assert [each.consumer for each in topic.partitions] == ["", "c|1"]


def test_json_is_taken_as_such_if_wanted(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    contents: list[object] = [{"a": [1]}, 42, "42", "null", "NaN", "text", True, '{"half":']
    for content in contents:
        broker.ingress("t", "m", content)
    broker.move()

    as_text = read(open_folder(broker.folder))["t", 0]
    as_json = read(open_folder(broker.folder, parse_json=True))["t", 0]

    assert [value for _, value in as_text] == [
        b'"{\\"a\\":[1]}"', b'"42"', b'"42"', b'"null"', b'"NaN"', b'"text"', b'"true"', b'"{\\"half\\":"',
    ]  # fmt: skip
    assert [value for _, value in as_json] == [
        b'{"a":[1]}', b"42", b"42", b'"null"', b'"NaN"', b'"text"', b"true", b'"{\\"half\\":"',
    ]  # fmt: skip


def test_partitions_are_counted_as_the_broker_counts_them(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 3})
    assert len(open_folder(broker.folder).topics[0].partitions) == 3
    (broker.folder / "TPC.log").unlink()
    assert len(open_folder(broker.folder).topics[0].partitions) == 3
    (broker.folder / "config.log").unlink()
    assert len(open_folder(broker.folder).topics[0].partitions) == 3


def test_offsets_may_repeat_after_a_crash(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    for id in "abc":
        broker.ingress("t", id, id)
        broker.move()
        broker.ends["t", 0] = 1  # the number was not written down before the crash

    assert [key for key, _ in read(open_folder(broker.folder))["t", 0]] == [b"a", b"b", b"c"]


def test_more_may_have_been_moved_than_was_staged_on_disk(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    broker.ingress("t", "a", "a")
    broker.move()
    (broker.folder / "ingress_metadata.log").write_text("ingress|1|9\n")

    assert len(read(open_folder(broker.folder))["t", 0]) == 1


def test_a_message_that_was_cut_off_is_left_out_and_told(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    broker.ingress("t", "a", "a")
    broker.move()
    with broker.log("t", 0).open("a") as file:
        file.write("t|0|2|b|cut o")
    source = open_folder(broker.folder)

    assert [key for key, _ in read(source)["t", 0]] == [b"a"]
    assert read(source)["t", 0]
    assert len(source.notes) == 1
    assert "cut off" in source.notes[0]


def test_a_last_line_without_its_end_counts_if_the_broker_counted_it(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    broker.ingress("t", "a", "a")
    broker.move()
    path = broker.log("t", 0)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    assert [key for key, _ in read(open_folder(broker.folder))["t", 0]] == [b"a"]


@pytest.mark.parametrize(
    ("file", "text", "match"),
    [
        ("topics/topic_t/partition_0.log", "u|0|1|a|b\n", "line 1: it does not begin as a message does"),
        ("topics/topic_t/partition_0.log", "t|0|1|a|b\nt|0|2|c|\udcff\n", "line 2: no UTF-8"),
        ("TPC.log", "t|x|c\n", "line 1: it is not topic"),
        ("ingress.log", "what is this\n", "line 1: it does not begin"),
    ],
)
def test_what_is_not_panda_qs_is_told_with_its_place(
    tmp_path: Path, file: str, text: str, match: str
) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    (broker.folder / file).write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(Damaged, match=match):
        read(open_folder(broker.folder))


def test_what_was_staged_for_nobody_is_told(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    broker.ingress("elsewhere", "a", "a")

    source = open_folder(broker.folder)

    assert read(source) == {("t", 0): []}
    assert "elsewhere" in source.notes[0]


def test_without_a_word_on_what_was_moved_nothing_comes_twice(tmp_path: Path) -> None:
    broker = PandaQ(tmp_path / "data", {"t": 1})
    broker.ingress("t", "a", "a")
    broker.move()
    (broker.folder / "ingress_metadata.log").write_text("")
    source = open_folder(broker.folder)

    assert len(read(source)["t", 0]) == 1
    assert "left out" in source.notes[0]
