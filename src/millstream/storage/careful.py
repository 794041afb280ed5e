"""What becomes of a log whose files turn out not to hold what they should."""

from typing import TYPE_CHECKING, final

from millstream.storage.cursor import Corrupt

if TYPE_CHECKING:
    from millstream.storage.log import Log


@final
class Careful:
    """While a log is looked into: it refuses if it is offline, and goes offline if it is corrupt."""

    __slots__ = ("_log",)

    def __init__(self, log: "Log") -> None:
        self._log = log

    def __enter__(self) -> None:
        if self._log.failure is not None:
            raise self._log.take_offline(self._log.failure)

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, Corrupt):
            raise self._log.take_offline(error) from error
