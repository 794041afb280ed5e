"""TinyMQ's log files are read as they were written."""

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.imports.writing import tinymq

from millstream.imports.source import Damaged, Source
from millstream.imports.tinymq import open_folder

TIME = "2026-01-02T03:04:05.678901Z"
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
times = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001  # the zone is added below


def read(source: Source) -> dict[str, list[list[tuple[bytes | None, bytes | None, int | None]]]]:
    return {
        topic.name: [
            [(found.record.key, found.record.value, found.record.timestamp_ms) for found in each.records()]
            for each in topic.partitions
        ]
        for topic in source.topics
    }


@given(st.lists(st.tuples(st.none() | any_text, any_text, times), max_size=8))
def test_every_record_comes_with_key_value_and_time(
    records: list[tuple[str | None, str, datetime]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        stamped = [(key, value, time.isoformat() + "Z") for key, value, time in records]
        tinymq(Path(directory), "events", 0, stamped)
        ((found,),) = read(open_folder(Path(directory))).values()

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert found == [
        (
            None if key is None else key.encode(),
            value.encode(),
            (time.replace(tzinfo=UTC) - epoch) // timedelta(milliseconds=1),
        )
        for key, value, time in records
    ]


def test_partitions_are_those_with_files_and_those_one_knows_of(tmp_path: Path) -> None:
    tinymq(tmp_path, "events", 2, [(None, "a", TIME)])
    tinymq(tmp_path, "orders", 0, [(None, "b", TIME)])

    assert [len(topic.partitions) for topic in open_folder(tmp_path).topics] == [3, 1]
    wanted = {"orders": 4, "events": 1}
    assert [len(topic.partitions) for topic in open_folder(tmp_path, wanted).topics] == [3, 4]


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t" / "partition-0.log"
    path.parent.mkdir()
    line = {"offset": 0, "timestamp": TIME, "value": "a\ud83db", "key": "\U0001f389"}
    path.write_text(json.dumps(line) + "\n")

    assert read(open_folder(tmp_path))["t"][0][0][:2] == ("\U0001f389".encode(), "a\ufffdb".encode())


def test_a_line_that_was_cut_off_is_left_out_and_told(tmp_path: Path) -> None:
    path = tinymq(tmp_path, "t", 0, [(None, "a", TIME), (None, "b", TIME)])
    path.write_bytes(path.read_bytes()[:-5])
    source = open_folder(tmp_path)

    assert len(read(source)["t"][0]) == 1
    assert "cut off" in source.notes[0]


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("{}", "no record of TinyMQ's"),
        ("[]", "no record of TinyMQ's"),
        ("nonsense", "no record of TinyMQ's"),
        ('{"offset": 1, "timestamp": "yesterday", "value": "a"}', "no record of TinyMQ's"),
        ('{"offset": 1, "timestamp": "2026-01-02T03:04:05Z", "value": 5}', "value is text"),
        ('{"offset": 5, "timestamp": "2026-01-02T03:04:05Z", "value": "a"}', "offset 5 where 1 should be"),
    ],
)
def test_what_is_not_tinymqs_is_told_with_its_place(tmp_path: Path, line: str, match: str) -> None:
    path = tinymq(tmp_path, "t", 0, [(None, "a", TIME)])
    with path.open("a") as file:
        file.write(f"\n{line}\n")

    with pytest.raises(Damaged, match=f"line 3: .*{match}"):
        read(open_folder(tmp_path))
