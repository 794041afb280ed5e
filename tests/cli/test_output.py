"""Tables, tabs and JSON."""

import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.exits import Exit, Failure
from millstream.cli.output import Cell, Output, Table, number, size
from millstream.cli.session import confirm, key_value


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def shown(format: str | None, *tables: Table, document: object = None, out: StringIO | None = None) -> str:
    out = StringIO() if out is None else out
    Output(out, StringIO(), format).show(document, *tables)
    return out.getvalue()


TABLE = Table(["name", "size>"], [["a", size(2048)], ["b", Cell(None, "none", "red")]])


def test_a_pipe_gets_exact_values_with_tabs_between() -> None:
    assert shown(None, TABLE) == "a\t2048\nb\t-\n"
    assert shown("plain", TABLE, TABLE) == "a\t2048\nb\t-\n\na\t2048\nb\t-\n"


def test_json_gets_the_document() -> None:
    assert json.loads(shown("json", TABLE, document=[{"a": "ü"}])) == [{"a": "ü"}]


def test_a_table_is_for_people() -> None:
    lines = shown("table", TABLE).splitlines()

    assert [line.split() for line in lines if line.strip("─ ")] == [
        ["name", "size"],
        ["a", "2.0", "KiB"],
        ["b", "none"],
    ]
    assert "\x1b" not in shown("table", TABLE), "colour is for terminals"


def test_a_terminal_gets_a_table_unasked() -> None:
    assert "2.0 KiB" in shown(None, TABLE, out=Terminal())


def test_a_table_in_a_file_is_never_cut() -> None:
    name = "x" * 500

    assert name in shown("table", Table(["name"], [[name]]))


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=4))
def test_a_row_is_a_line_whatever_is_in_it(rows: list[list[str]]) -> None:
    printed = shown("plain", Table(["a", "b"], [list(row) for row in rows]))

    assert printed.count("\n") == len(rows)
    assert printed.count("\t") == len(rows)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1 << 30, "1.0 GiB"),
        (1 << 60, "1048576.0 TiB"),
    ],
)
def test_sizes_are_readable(count: int, text: str) -> None:
    assert size(count).shown == text
    assert size(count).plain == str(count)


def test_what_is_not_known_is_a_dash() -> None:
    assert size(None).plain == number(None).plain == "-"
    assert number(1234567).shown == "1,234,567"


def test_nothing_is_destroyed_without_a_yes() -> None:
    asked = Output(Terminal(), Terminal(), ask=Terminal("y\n"))
    denied = Output(Terminal(), Terminal(), ask=Terminal("\n"))
    nobody = Output(StringIO(), StringIO(), ask=StringIO("y\n"))

    confirm(asked, "Sure?", yes=False)
    confirm(nobody, "Sure?", yes=True)
    with pytest.raises(Failure, match="nothing was changed") as no:
        confirm(denied, "Sure?", yes=False)
    assert no.value.code == Exit.NO
    with pytest.raises(Failure, match="--yes") as usage:
        confirm(nobody, "Sure?", yes=False)
    assert usage.value.code == Exit.USAGE


def test_a_setting_is_split_at_its_first_equals_sign() -> None:
    assert key_value("a=b=c", "--set") == ("a", "b=c")
    with pytest.raises(Exception, match="key=value"):
        key_value("a", "--set")
