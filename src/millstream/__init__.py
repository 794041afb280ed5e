"""Millstream: event streaming that installs with pip and speaks the Kafka protocol."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.embedded import Broker as Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> object:
    # Imported when first asked for: a command or a client of ours needs no broker.
    if name == "Broker":
        from millstream.embedded import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
