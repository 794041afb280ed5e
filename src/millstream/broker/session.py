"""Who is asking."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Session:
    """One client as its connection knows it; *advertised* is where that client can reach us."""

    client_id: str
    client_host: str
    principal: str = "User:ANONYMOUS"
    advertised: tuple[str, int] = ("127.0.0.1", 9092)
