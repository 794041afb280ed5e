"""Error codes in responses, turned into `Refused`."""

from millstream.errors import ErrorCode, Refused


def error_code(code: int) -> ErrorCode:
    """*code* by name; one that is newer than we are counts as unknown."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def check(code: int, what: str, message: str | None = None) -> None:
    """Raise Refused if *code* is an error: in the broker's own words, if it gave a *message*."""
    if code != ErrorCode.NONE:
        raise Refused(error_code(code), message.rstrip(".") if message else what)
