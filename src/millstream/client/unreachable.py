"""When nobody answers."""


class Unreachable(ConnectionError):
    """No answer came: not connected, cut off, or too late.

    What was asked may or may not have been done.
    """
