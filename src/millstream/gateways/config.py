"""Limits of the doors: what one client, and all of them together, may take up."""

from dataclasses import dataclass
from typing import final

from millstream.settings import setting


@final
@dataclass(frozen=True, kw_only=True)
class GatewayConfig:
    request_max_bytes: int = setting(
        104_857_600,
        "The largest request; a connection that announces more is closed.",
        kafka="socket.request.max.bytes",
        min=1024,
        changeable=False,
    )
    queued_max_bytes: int = setting(
        268_435_456,
        "Memory for requests still arriving, over all connections; beyond it they are read later.",
        kafka="queued.max.request.bytes",
        min=1 << 20,
        changeable=False,
    )
    max_in_flight: int = setting(
        1_000,
        "Requests of one connection that may wait for their replies; beyond it no more are read.",
        kafka="max.in.flight.requests",
        min=1,
        changeable=False,
    )
    max_connections: int = setting(
        20_000, "Connections in all; beyond it new ones are closed at once.", kafka="max.connections", min=1
    )
    max_connections_per_ip: int = setting(
        1_000, "Connections from one address.", kafka="max.connections.per.ip", min=1
    )
    idle_ms: int = setting(
        600_000,
        "Close a connection on which nothing happened for so long.",
        kafka="connections.max.idle.ms",
        min=1000,
    )
    frame_timeout_ms: int = setting(
        30_000,
        "Close a connection whose request has not arrived whole so long after its first byte.",
        kafka="connections.frame.timeout.ms",
        min=100,
    )
    write_timeout_ms: int = setting(
        60_000,
        "Close a connection whose client has not taken any of its replies for so long.",
        kafka="connections.write.timeout.ms",
        min=100,
    )
    line_max_bytes: int = setting(
        2_097_152,
        "The longest line of the JSON lines and text doors; a longer one is answered with an error.",
        kafka="line.max.bytes",
        min=1024,
        max=1 << 30,
        changeable=False,
    )
    busy_poll_us: int = setting(
        100,
        "Microseconds after a reply to look for the next request before sleeping, while they come that fast.",
        kafka="busy.poll.us",
        min=0,
        max=100_000,
        changeable=False,
    )
    native: bool = setting(
        True,
        "Take small requests, join and answer them by compiled code, where that was built; else by Python.",
        kafka="native.enable",
        changeable=False,
    )
    fetch_session_slots: int = setting(
        1_000,
        "Incremental fetch sessions kept; the longest unused makes room.",
        kafka="max.incremental.fetch.session.cache.slots",
        min=0,
        changeable=False,
    )
