"""An asyncio loop whose time is simulated and whose network is memory.

Code under test is the real code: it sleeps, serves and connects as always.
Time jumps to the next timer when nothing is left to run, so an hour of
heartbeats takes as long as its callbacks do. Same seed, same run.

Which node is running is a context variable. asyncio hands contexts from task
to task, so a connection knows where it starts without the broker's help, and
a crash is simply this: what belongs to a dead life is never run again. No
`finally` tidies up, no `except CancelledError` says goodbye.
"""

import asyncio
import gc
import heapq
import logging
import warnings
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from random import Random
from typing import Any, Final, NamedTuple, TypeVar, TypeVarTuple, final

from millstream.sim.life import HERE, Life
from millstream.sim.network import Network, SimServer
from millstream.sim.trace import Trace
from millstream.sim.transport import SimTransport

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_STEPS_AT_ONCE: Final = 100_000


class Stuck(Exception):
    """The simulated world has stopped: nothing is left to run, or it runs and time does not pass."""


class Mishap(NamedTuple):
    """An exception that nobody handled, where and when."""

    at: float
    node: str
    message: str
    error: BaseException | None


@final
class _Future(asyncio.Future[Any]):
    """A future that knows whose it is."""

    __slots__ = ("life",)

    life: Life | None


@final
class SimLoop(asyncio.BaseEventLoop):
    """Simulated time, network, threads and node lives.

    Callbacks that are ready together run in an order drawn from the seed;
    with *fifo*, in the order they were registered, as asyncio promises. Code
    that needs the promise is fragile, so most runs do without it.
    """

    def __init__(self, seed: int, *, fifo: bool = False) -> None:
        super().__init__()
        self.random = Random(f"loop {seed}")
        self.trace = Trace()
        self.mishaps: list[Mishap] = []
        self.disk_delay_s = (0.0005, 0.008)
        self.network = Network(self, Random(f"network {seed}"))
        self._fifo = fifo
        self._now = 0.0
        self._patience = _STEPS_AT_ONCE
        self._soon: list[tuple[asyncio.Handle, Life | None]] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Life | None]] = []
        self._timer_count = 0
        self._lives: dict[str, Life] = {}
        self._life_count = 0
        self._running: Life | None = None
        self._graves: list[Life] = []
        self._disk_random = Random(f"disk delay {seed}")

    # Time and order

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._soon.append((handle, HERE.get() if context is None else context.get(HERE)))
        return handle

    call_soon_threadsafe = call_soon

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        life = HERE.get() if context is None else context.get(HERE)
        heapq.heappush(self._timers, (when, self._timer_count, handle, life))
        return handle

    def _run_once(self) -> None:
        """One callback, or one step of time; BaseEventLoop calls this until it is told to stop."""
        soon, timers = self._soon, self._timers
        if not soon:
            if not timers:
                raise Stuck(f"nothing left to run at {self._now:.6f} s")
            if timers[0][0] > self._now:
                self._now = timers[0][0]
                self._patience = _STEPS_AT_ONCE
        while timers and timers[0][0] <= self._now:
            _, _, timer, life = heapq.heappop(timers)
            if not timer.cancelled():
                soon.append((timer, life))
        if not soon:
            return

        choice = 0 if self._fifo or len(soon) == 1 else int(self.random.random() * len(soon))
        handle, life = soon.pop(choice)
        if handle.cancelled():
            return
        number = 0
        if life is not None:
            if not life.alive:
                return
            if life.paused:
                life.parked.append(handle)
                return
            number = life.number
        self._patience -= 1
        if not self._patience:
            raise Stuck(f"busy for ever at {self._now:.6f} s, with {handle!r} of life {number}")
        self.trace.step(self._now, number, choice)
        self._running = life
        handle._run()

    # Nodes

    def boot(self, node: str) -> Life:
        """Begin a new life of *node*, which must be down."""
        assert node not in self._lives, f"{node} is already running"
        self._life_count += 1
        life = self._lives[node] = Life(node, self._life_count)
        self.trace.note(self._now, "boot", node)
        return life

    def spawn(self, node: str, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run *main* as *node*, which is booted if it is down."""
        life = self._lives.get(node) or self.boot(node)
        context = copy_context()
        context.run(HERE.set, life)
        return self.create_task(main, context=context)

    def crash(self, node: str, *, silent: bool = False) -> None:
        """End the life of *node* between two instructions; its peers are reset, much later if *silent*.

        A callback of the node that is running this very moment (a fault that
        was triggered from within) runs on to its next await as a ghost: what
        it sends goes nowhere.
        """
        life = self._lives.pop(node)
        self.trace.note(self._now, "crash", node, "silently" if silent else "")
        life.alive = False
        life.parked.clear()
        life.prune()
        for task in life.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio's own switch for it
        self._graves.append(life)
        self.network.bury(life, silent=silent)

    def pause(self, node: str) -> None:
        """Stop *node* as SIGSTOP does: its sockets still take bytes, its timers run late."""
        self._lives[node].paused = True
        self.trace.note(self._now, "pause", node)

    def resume(self, node: str) -> None:
        life = self._lives[node]
        life.paused = False
        self._soon.extend((handle, life) for handle in life.parked)
        life.parked.clear()
        self.trace.note(self._now, "resume", node)

    def life(self, node: str) -> Life | None:
        """The present life of *node*, or None while it is down."""
        return self._lives.get(node)

    def listen_to_the_done(self) -> None:
        """Let go of tasks that are done, so that a failure in one that nobody waits for is heard of."""
        self._running = None
        for life in [*self._graves, *self._lives.values()]:
            life.prune()
        gc.collect()

    def note(self, *words: object) -> None:
        """Write *words* into the trace, at this instant."""
        self.trace.note(self._now, *words)

    # What a loop does for the code that runs on it

    def create_future(self) -> asyncio.Future[Any]:
        future = _Future(loop=self)
        future.life = HERE.get()
        return future

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        task = super().create_task(coro, name=name, context=context, **options)
        life = HERE.get() if context is None else context.get(HERE)
        if life is not None:
            life.keep(task)
        return task

    async def create_server(  # type: ignore[override]  # TLS and ready-made sockets stay outside
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int = 0,
        **_: Any,
    ) -> SimServer:
        return self.network.listen(protocol_factory, host, port)

    async def create_connection(  # type: ignore[override]  # TLS and ready-made sockets stay outside
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int = 0,
        **_: Any,
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        return await self.network.connect(protocol_factory, host, port)

    def run_in_executor(  # type: ignore[override]  # which pool it would be makes no difference here
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """What would go to a thread runs here, a moment of disk time later.

        It takes effect at one instant between its start and its end: what is
        appended while a sync runs is not sure to be covered by it, and a crash
        may come before it, or between it and its answer.
        """
        future: asyncio.Future[Any] = self.create_future()
        delay = self._disk_random.uniform(*self.disk_delay_s)
        before = delay * self._disk_random.random()
        self.call_later(before, self._work, future, delay - before, func, args)
        return future

    def _work(
        self, future: asyncio.Future[Any], after: float, func: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        # A thread that has started cannot be called back, so a cancelled future changes nothing here.
        try:
            result = func(*args)
        except Exception as error:  # a thread's answer, whatever it is
            self.call_later(after, _settle, future, None, error)
        else:
            self.call_later(after, _settle, future, result, None)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Remember it: a run in which a callback or task failed unheard is a failed run."""
        life = self._running  # not HERE: asyncio calls this outside the callback's context
        if life is not None and not life.alive:
            return
        node = life.node if life is not None else "outside"
        task = context.get("future")
        if isinstance(task, _Future) and task.life is not None and not task.life.alive:
            return  # whoever was about to look at it died first
        what = getattr(task.get_coro(), "__qualname__", "?") if isinstance(task, asyncio.Task) else "no task"
        message = f"{context['message']}, in {what}"
        self.mishaps.append(Mishap(self._now, node, message, context.get("exception")))
        self.note("mishap", node, message, repr(context.get("exception")))

    def close(self) -> None:
        """Let go of everything; `finally` blocks of the dead run now, when nobody looks any more."""
        if self.is_closed():
            return
        super().close()
        self._soon.clear()
        self._timers.clear()
        talking = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of coroutines that never came to run
            for life in [*self._graves, *self._lives.values()]:
                for task in life.tasks:
                    _forget(task)
                life.tasks.clear()
            self._graves.clear()
            self._lives.clear()
        logging.disable(talking)


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def _forget(task: asyncio.Task[Any]) -> None:
    if task.done():
        return
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio's own switch for it
    coroutine = task.get_coro()
    try:
        if coroutine is not None:
            coroutine.close()
    except Exception:  # the world has ended: what its remains say is of no interest
        pass
