"""The table says what each client did, and why where it did not."""

from typing import Any

from tests.compat.scenarios import SCENARIOS
from tools.generate_compatibility import document


def report(client: str, **results: tuple[str, str]) -> dict[str, Any]:
    told = dict.fromkeys(SCENARIOS, ("passed", "")) | {
        name.replace("_", "-"): result for name, result in results.items()
    }
    return {
        "client": client,
        "language": "Go",
        "version": "v1.2",
        "date": "2026-01-02",
        "commit": "abc",
        "results": told,
    }


def test_counts_are_by_result() -> None:
    told = document([report("one", keys=("failed", "why"), nulls=("not applicable", "because"))])
    assert f"| one | 1.2 | Go | {len(SCENARIOS) - 2} | 1 | 1 | 2026-01-02 | abc |" in told


def test_a_failure_has_its_reason_beside_it_whatever_is_in_it() -> None:
    told = document([report("one"), report("two", keys=("failed", "a | b\nc"))])
    assert "| keys | ✓ | ✗ a / b c |" in told
    assert "- two, keys: a / b c" in told


def test_what_cannot_be_asked_has_a_reason_below() -> None:
    told = document([report("one", nulls=("not applicable", "knows no null"))])
    assert "| nulls | – |" in told
    assert "## Not applicable\n\n- one, nulls: knows no null\n" in told


def test_a_scenario_newer_than_the_run_is_not_called_passed() -> None:
    old = report("one")
    del old["results"]["keys"]
    assert "| keys | ? |" in document([old])


def test_platforms_have_lines_of_their_own() -> None:
    told = document([report("one"), {**report("two"), **_WORDS}])
    assert "## Platforms" in told
    assert "## Tools" not in told
    assert "| two | v1.2 | count | ✗ why | words are counted | 2026-01-02 | abc |" in told
    assert "| scenario | one | what is asked |" in told


_WORDS = {
    "kind": "platforms",
    "results": {"count": ("failed", "why")},
    "meanings": {"count": "words are counted"},
}
