"""What goes to the queue and comes from it."""

import base64
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, final

from millstream.sdk.errors import Rejected, rejection

_FIELDS: Final = ("messageId", "content", "headers", "ttlMs")


@final
@dataclass(frozen=True)
class Message:
    """One message; *content* is any JSON value, or bytes where a record holds no JSON.

    Records of other doors may have no key, and so no *message_id*, or one that is no text.
    """

    topic: str
    message_id: str | bytes | None
    content: Any


@final
@dataclass(frozen=True)
class Produced:
    """A message that is safe with the broker since *timestamp*."""

    topic: str
    message_id: str
    timestamp: datetime


@final
@dataclass(frozen=True)
class Batch:
    """Messages in their order; committing *end_offset* says that all of them are dealt with."""

    messages: tuple[Message, ...]
    start_offset: int
    end_offset: int

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def message(self) -> Message | None:
        """The first message; None if there was none."""
        return self.messages[0] if self.messages else None


@final
@dataclass(frozen=True)
class Committed:
    """How far the partition is dealt with, and how far it is written."""

    read_offset: int
    log_end_offset: int
    timestamp: datetime


def new_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """*message* as it is sent; one without a messageId gets one, so that trying again repeats it."""
    unknown = message.keys() - set(_FIELDS)
    if unknown:
        raise ValueError(f"a message has {', '.join(_FIELDS)}, not {', '.join(sorted(unknown))}")
    if message.get("content") is None:
        raise ValueError("a message needs content, which may be any JSON value but null")
    id = message.get("messageId")
    return {**message, "messageId": uuid.uuid4().hex if id is None else str(id)}


def produced(data: Mapping[str, Any]) -> Produced:
    return Produced(data["topicId"], str(data["messageId"]), _time(data["timestamp"]))


def produced_many(data: Mapping[str, Any]) -> list[Produced | Rejected]:
    """What became of each message, in their order."""
    return [
        rejection(207, each)
        if "error" in each
        else Produced(data["topicId"], str(each["messageId"]), _time(each["timestamp"]))
        for each in data["messages"]
    ]


def batch(data: Mapping[str, Any]) -> Batch:
    found = data["messages"]
    some = found if isinstance(found, list) else [] if found is None else [found]
    return Batch(tuple(_message(each) for each in some), data["startOffset"], data["endOffset"])


def committed(data: Mapping[str, Any]) -> Committed:
    return Committed(data["newReadOffset"], data["logEndOffset"], _time(data["timestamp"]))


def _message(said: Mapping[str, Any]) -> Message:
    id, content = said["messageId"], said["content"]
    if said.get("encoding") == "base64":
        content = base64.b64decode(content)
    if said.get("messageIdEncoding") == "base64":
        id = base64.b64decode(id)
    return Message(said["topicId"], id, content)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
