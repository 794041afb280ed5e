"""Every conversation in transcripts/ goes as it is written there."""

from pathlib import Path

import pytest
from tests.queues.transcript import run

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    run(path)
