"""Whose log a directory holds: a new topic of an old name must not take the old one's files for its own."""

from typing import Final
from uuid import UUID

METADATA: Final = "partition.metadata"


def metadata_path(directory: str) -> str:
    return f"{directory}/{METADATA}"


def metadata_lines(topic_id: UUID) -> list[str]:
    """What the file holds."""
    return [f"topic {topic_id.hex}"]
