"""Producer and Consumer for asyncio; the same calls, awaited."""

import asyncio
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Self, final

from millstream.sdk import call, values
from millstream.sdk.call import Attempts, Call
from millstream.sdk.errors import Rejected
from millstream.sdk.http import NOT_SENT, httpx
from millstream.sdk.retry import Retry
from millstream.sdk.values import Batch, Committed, Produced


class _Client:
    """What both have in common: a pool of connections, and patience."""

    def __init__(
        self, url: str, username: str | None, password: str | None, timeout: float, retry: Retry | None
    ) -> None:
        auth = None if username is None else httpx.BasicAuth(username, password or "")
        base = call.checked(url)
        # Certificates take a while to load: not for those who do without.
        secure = base.startswith("https:")
        self._http = httpx.AsyncClient(base_url=base, auth=auth, timeout=timeout, verify=secure)
        self._timeout = timeout
        self._retry = retry or Retry()
        self._random = Random()

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, asked: Call) -> Mapping[str, Any]:
        attempts = Attempts(asked, self._retry, self._random)
        while True:
            delay = await self._try(asked, attempts)
            if delay is None:
                return attempts.data
            await asyncio.sleep(delay)

    async def _try(self, asked: Call, attempts: Attempts) -> float | None:
        try:
            reply = await self._http.request(
                asked.method,
                asked.path,
                content=asked.content,
                headers={} if asked.body is None else {"Content-Type": "application/json"},
                timeout=self._timeout + asked.wait,
            )
        except httpx.HTTPError as error:
            return attempts.failed(error, sent=not isinstance(error, NOT_SENT))
        return attempts.answered(reply.status_code, reply.content, reply.headers.get("Retry-After"))


@final
class AsyncProducer(_Client):
    """Sends messages to one topic of an HTTP queue at *url*. Use as `async with AsyncProducer(...)`."""

    def __init__(
        self,
        broker_id: str,
        url: str,
        topic: str,
        username: str | None = None,
        password: str | None = None,
        *,
        timeout: float = 10.0,
        retry: Retry | None = None,
    ) -> None:
        super().__init__(url, username, password, timeout, retry)
        self._broker_id = broker_id
        self._topic = topic

    async def produce(self, message: Mapping[str, Any]) -> Produced:
        """Send `{"messageId": ..., "content": ...}`; return once it is safe.

        Content is any JSON value but null. A message without an id gets one.
        """
        asked = call.ingress(self._broker_id, self._topic, values.new_message(message))
        return values.produced(await self._ask(asked))

    async def produce_many(self, messages: Iterable[Mapping[str, Any]]) -> list[Produced | Rejected]:
        """Send many messages at once; for each, in order, that it is safe or why it was rejected."""
        ready = [values.new_message(message) for message in messages]
        results: list[Produced | Rejected] = []
        for first in range(0, len(ready), call.MOST_PRODUCED):
            some = ready[first : first + call.MOST_PRODUCED]
            asked = call.ingress_many(self._broker_id, self._topic, some)
            results += values.produced_many(await self._ask(asked))
        return results


@final
class AsyncConsumer(_Client):
    """Reads one partition of a topic: its own from before, or the lowest that was free.

    Use as `async with AsyncConsumer(...)`, which registers it; otherwise its
    first call does. What it consumes comes again until it is committed:
    *consume*, deal with it, then *commit_offset*.
    """

    def __init__(
        self,
        url: str,
        broker_id: str,
        consumer_id: str,
        topic: str,
        username: str | None = None,
        password: str | None = None,
        *,
        timeout: float = 10.0,
        retry: Retry | None = None,
    ) -> None:
        super().__init__(url, username, password, timeout, retry)
        self._broker_id = broker_id
        self._consumer_id = consumer_id
        self._topic = topic
        self._partition: int | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.register()
        except BaseException:
            await self.close()
            raise
        return self

    async def register(self) -> int:
        """The partition that is this consumer's."""
        if self._partition is None:
            asked = call.register(self._broker_id, self._topic, self._consumer_id)
            self._partition = (await self._ask(asked))["partitionId"]
        partition: int = self._partition
        return partition

    async def consume(self, wait: float = 0.0) -> Batch:
        """The next message, or none: `batch.message` is None then. It is waited for up to *wait* seconds."""
        return await self._consume(None, wait)

    async def batch_consume(self, most: int = call.MOST, wait: float = 0.0) -> Batch:
        """Up to *most* messages in order, perhaps none; the first is waited for up to *wait* seconds."""
        return await self._consume(most, wait)

    async def commit_offset(self, end_offset: int) -> Committed:
        """Say that all before *end_offset*, as a batch tells it, is dealt with and need not come again."""
        partition = await self.register()
        asked = call.commit(self._broker_id, self._topic, partition, self._consumer_id, end_offset)
        return values.committed(await self._ask(asked))

    async def _consume(self, most: int | None, wait: float) -> Batch:
        partition = await self.register()
        asked = call.consume(self._broker_id, self._topic, partition, most=most, wait=wait)
        return values.batch(await self._ask(asked))
