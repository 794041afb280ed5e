"""What is checked in is what the generator writes."""

from pathlib import Path

import pytest
from tools.generate_messages import generate


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    return generate()


def test_generated_files_are_up_to_date(generated: dict[Path, str]) -> None:
    stale = [path.name for path, text in generated.items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run `make generate`"


def test_nothing_else_lies_among_them(generated: dict[Path, str]) -> None:
    folder = next(iter(generated)).parent
    assert set(folder.glob("*.py")) == set(generated)
