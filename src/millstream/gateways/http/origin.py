"""Which web pages may make a browser send us something.

A browser says on which page's behalf it asks, in `origin`. Pages of ours may
ask, and those an operator allows; without that check any page in the world
could write to a broker on its reader's own machine.
"""

import ipaddress

from millstream.gateways.http.request import Request


def may_use(request: Request, allowed: tuple[str, ...]) -> bool:
    """Whether the page that *request* comes from may use us.

    One of our own may: its origin is the address the browser came to. That is
    believed of addresses only: a name may be made to mean this machine by anybody.
    """
    origin = (request.origin or b"").decode("latin-1")
    if "*" in allowed or origin in allowed:
        return True
    host = (request.header(b"host") or b"").decode("latin-1")
    return origin.partition("://")[2] == host and _is_address(host)


def extra_headers(request: Request) -> list[bytes]:
    """Header lines that the response to *request* needs, as most do not."""
    lines = [] if request.keep_alive else [b"connection: close"]
    if request.origin is not None:
        lines += [
            b"access-control-allow-origin: " + request.origin,
            b"access-control-allow-methods: GET, HEAD, POST, PUT, PATCH, DELETE",
            b"access-control-allow-headers: content-type, authorization, last-event-id",
            b"vary: origin",
        ]
    return lines


def _is_address(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdecimal():
        name = host
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
