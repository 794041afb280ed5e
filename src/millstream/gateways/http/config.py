"""Settings of the HTTP doors."""

from dataclasses import dataclass
from typing import final

from millstream.settings import setting


@final
@dataclass(frozen=True, kw_only=True)
class HttpConfig:
    request_max_bytes: int = setting(
        8 << 20,
        "The largest body of an HTTP request; more is refused with status 413.",
        kafka="http.request.max.bytes",
        min=1024,
        changeable=False,
    )
    allowed_origins: tuple[str, ...] = setting(
        (),
        "Origins of web pages that may use the HTTP doors besides our own, as https://example.org; * is all.",
        kafka="http.allowed.origins",
    )
    broker_id: str = setting(
        "broker_1",
        "The brokerId that the HTTP queue API calls itself by.",
        kafka="http.queue.broker.id",
        changeable=False,
    )
    release_ms: int = setting(
        0,
        "Release a consumer of the HTTP queue that registered or committed nothing for so long; 0: never.",
        kafka="http.queue.consumer.release.ms",
        min=0,
    )
