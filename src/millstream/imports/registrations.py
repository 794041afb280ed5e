"""Registrations of the HTTP queue's consumers, put in place through the admin API."""

import asyncio
import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


class NotRegistered(Exception):
    """The admin API did not do it; the message says why."""


@final
class Registrar:
    """Speaks to the admin API at *url*."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout

    async def register(self, topic: str, consumers: Mapping[int, str]) -> bool:
        """Let each partition be its consumer's; False if the topic has registrations already."""
        path = f"{self._url}/api/v1/queues/{quote(topic, safe='')}/consumers"
        if (await asyncio.to_thread(self._ask, path, None)).get("consumers"):
            return False
        body = {"consumers": [{"partition": index, "consumer_id": name} for index, name in consumers.items()]}
        await asyncio.to_thread(self._ask, path, body)
        return True

    def _ask(self, url: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        request = Request(url, headers={"Accept": "application/json"})
        if body is not None:
            request.method = "PUT"
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urlopen(request, timeout=self._timeout) as reply:
                answer = json.load(reply)
        except HTTPError as error:
            raise NotRegistered(_reason(error)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotRegistered(f"{url}: {getattr(error, 'reason', None) or error}") from None
        if not isinstance(answer, dict):
            raise NotRegistered(f"{url}: that is no admin API of Millstream's")
        return answer


def _reason(error: HTTPError) -> str:
    try:
        said = json.load(error)["error"]
        return f"{said['message']} ({said['code']})"
    except (ValueError, KeyError, TypeError):
        return f"{error.url}: HTTP {error.code} {error.reason}"
