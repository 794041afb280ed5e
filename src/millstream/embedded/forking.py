"""What becomes of a broker in a forked child: nothing, as its thread stays with the parent.

But the child inherits the sockets. As long as it held them, a client of a
broker that has stopped would wait instead of being told.
"""

import os
import weakref
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from millstream.embedded.broker import Broker

_running: Final["weakref.WeakSet[Broker]"] = weakref.WeakSet()


def started(broker: "Broker") -> None:
    _running.add(broker)


def stopped(broker: "Broker") -> None:
    _running.discard(broker)


def _in_child() -> None:
    # Not closed: whoever still holds the number would one day close what has it by then.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for broker in list(_running):
        for fd in broker.descriptors():
            os.dup2(nowhere, fd, inheritable=False)
    os.close(nowhere)
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
