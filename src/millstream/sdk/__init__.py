"""Python SDK of the HTTP queue API: `Producer` and `Consumer`, and both for asyncio.

It needs httpx: `pip install "millstream[sdk]"`. See docs/sdk.md.
"""

from typing import TYPE_CHECKING

from millstream.sdk.errors import (
    InvalidOffset,
    NoPartitionAvailable,
    NotAllowed,
    QueueError,
    Rejected,
    TopicNotFound,
    Unreachable,
)
from millstream.sdk.retry import Retry
from millstream.sdk.values import Batch, Committed, Message, Produced

if TYPE_CHECKING:
    from millstream.sdk.asynchronous import AsyncConsumer as AsyncConsumer
    from millstream.sdk.asynchronous import AsyncProducer as AsyncProducer
    from millstream.sdk.synchronous import Consumer as Consumer
    from millstream.sdk.synchronous import Producer as Producer

__all__ = [
    "AsyncConsumer",
    "AsyncProducer",
    "Batch",
    "Committed",
    "Consumer",
    "InvalidOffset",
    "Message",
    "NoPartitionAvailable",
    "NotAllowed",
    "Produced",
    "Producer",
    "QueueError",
    "Rejected",
    "Retry",
    "TopicNotFound",
    "Unreachable",
]


def __getattr__(name: str) -> object:
    # Imported when first asked for: whoever only catches an exception needs no HTTP client.
    if name in ("Producer", "Consumer"):
        from millstream.sdk import synchronous

        return getattr(synchronous, name)
    if name in ("AsyncProducer", "AsyncConsumer"):
        from millstream.sdk import asynchronous

        return getattr(asynchronous, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
