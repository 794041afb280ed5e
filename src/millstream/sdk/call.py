"""One call of the API, and what its outcome means; without any I/O, so that both kinds of client share it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, final
from urllib.parse import quote, urlencode

from millstream.sdk.errors import QueueError, Unreachable, rejection
from millstream.sdk.retry import Retry

MOST: Final = 5_000  # messages that the broker gives at once
MOST_PRODUCED: Final = 10_000  # and takes at once
_DONE: Final = frozenset({200, 207})  # 207: of many messages, some
_NOT_DONE: Final = frozenset({429, 503})  # turned away at the door
_UNKNOWN: Final = frozenset({500, 502, 504})  # somebody between us, or the broker itself, gave up on it
_MOST_WAIT: Final = 60.0  # however long the broker would have us wait


@final
@dataclass(frozen=True)
class Call:
    """*repeatable*: to do it twice is to do it once. The answer may take *wait* seconds by design."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    repeatable: bool = True
    wait: float = 0.0

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()


@final
class Attempts:
    """The attempts at one call: told what came of each, it says what to do next.

    After every attempt either `answered` or `failed` is called: `answered`
    gives the reply's data; both give the seconds to wait before the next
    attempt, or raise what the program is to be told.
    """

    def __init__(self, call: Call, retry: Retry, random: Random) -> None:
        self._call = call
        self._retry = retry
        self._delays: Iterator[float] = retry.delays(random)
        self._may_be_done = False
        self.data: Mapping[str, Any] = {}

    def answered(self, status: int, content: bytes, retry_after: str | None) -> float | None:
        """Seconds to wait before trying again; None if *data* is there."""
        body = _parsed(content)
        if status in _DONE and isinstance(body, Mapping) and isinstance(body.get("data"), Mapping):
            self.data = body["data"]
            return None
        refusal: QueueError = rejection(status, body)
        if status in _DONE:
            refusal = Unreachable("what answered is no HTTP queue: is the address right?", may_be_done=False)
        elif status in _NOT_DONE:
            return max(self._next(refusal), _seconds(retry_after))
        elif status in _UNKNOWN:
            return self._again(refusal)
        raise refusal

    def failed(self, error: Exception, *, sent: bool) -> float:
        """Seconds to wait before trying again; *sent* is whether the broker may have got the request."""
        if sent:
            self._may_be_done = self._may_be_done or not self._call.repeatable
            return self._again(self._unreachable(error))
        return self._next(self._unreachable(error))

    def _again(self, error: QueueError) -> float:
        if not self._call.repeatable and not self._retry.repeats:
            raise error
        return self._next(error)

    def _next(self, error: QueueError) -> float:
        delay = next(self._delays, None)
        if delay is None:
            raise error
        return delay

    def _unreachable(self, error: Exception) -> Unreachable:
        what = str(error) or type(error).__name__
        return Unreachable(f"{self._call.method} {self._call.path}: {what}", may_be_done=self._may_be_done)


def checked(url: str) -> str:
    """*url*, if it can be that of a queue."""
    scheme, separator, host = url.partition("://")
    if not separator or scheme not in ("http", "https") or not host:
        raise ValueError(f"{url!r} is no address of an HTTP queue; write it as http://localhost:3000")
    return url


def path(*parts: str | int) -> str:
    """A path whose *parts* may hold any character."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def ingress(broker_id: str, topic: str, message: Mapping[str, Any]) -> Call:
    return Call("POST", path("ingress", topic), {"brokerId": broker_id, "message": message}, repeatable=False)


def ingress_many(broker_id: str, topic: str, messages: Sequence[Mapping[str, Any]]) -> Call:
    body = {"brokerId": broker_id, "messages": messages}
    return Call("POST", path("ingress", topic, "batch"), body, repeatable=False)


def register(broker_id: str, topic: str, consumer_id: str) -> Call:
    return Call("POST", path("register", topic), {"brokerId": broker_id, "consumerId": consumer_id})


def consume(
    broker_id: str, topic: str, partition: int, *, most: int | None = None, wait: float = 0.0
) -> Call:
    """One message, or up to *most*; if there are none, those that come within *wait* seconds."""
    query: dict[str, str] = {} if most is None else {"b": "t"}
    if most not in (None, MOST):
        query["max"] = str(most)
    if wait > 0:
        query["wait"] = str(round(wait * 1000))
    return Call("GET", path("consume", broker_id, topic, partition) + _query(query), wait=wait)


def commit(broker_id: str, topic: str, partition: int, consumer_id: str, offset: int) -> Call:
    body = {
        "brokerId": broker_id,
        "topicId": topic,
        "partitionId": partition,
        "consumerId": consumer_id,
        "offset": offset,
    }
    return Call("POST", "/commit", body)


def _query(query: Mapping[str, str]) -> str:
    return "?" + urlencode(query) if query else ""


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _seconds(retry_after: str | None) -> float:
    """What a Retry-After header asks for; a date in it is not worth a clock."""
    try:
        return min(max(float(retry_after or 0), 0.0), _MOST_WAIT)
    except ValueError:
        return 0.0
