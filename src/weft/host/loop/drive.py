"""An event loop without a thread of its own: whoever waits drives it.

A node inside a federate's process has an event loop, for its links.  In a thread of its own each message would cost two switches
between threads, and each of those a wait for the interpreter's lock.  So the thread that waits for something, an answer or a
callback, runs the loop itself until that has come.

All that belongs to the node, the loop too, is touched only by the thread that holds the *mutex*.  One thread at a time is the
*driver*: it runs the loop, and gives up the mutex only while the loop sleeps.  Meanwhile other threads may hold it, make calls
to the node, and use the loop as if it were theirs; if that gives the loop something to do, it is woken.

    a caller waits     nobody drives: it drives.  The attendant drives: it is asked to leave, and leaves at once.
                       Another caller drives: it waits for that one, to bring what it needs or to go.
    the attendant      a thread that drives when no caller has for a few milliseconds, so that links stay alive and
                       others are served while the federate computes.  It looks every few milliseconds, and less often
                       while it finds callers driving: each look takes as long as a tenth of a step

asyncio's own loop is used even where uvloop is installed: only it can give up a mutex while it sleeps, and to enter and leave
it for each message is several times cheaper.  (A round trip between two processes that did nothing else took 31 µs, and 18 to 25
in single passes, as below; on uvloop it took 81.)
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

from weft.host.loop.drive_loop import DrivenLoop

IDLE = 0.003  # seconds without a caller that drives, until the attendant does …
BUSY: Final = 4  # … or so many times as long, where it last saw one drive
_IN: Final = 1  # EPOLLIN: there is something to read, and nothing else to say
FAREWELL = 5.0  # seconds for a neighbour to take what is still on its way when the loop ends


T = TypeVar("T")


class Drive:
    def __init__(self, name: str, is_due: Callable[[], bool], do_due: Callable[[], None]) -> None:
        """`is_due`: is there something to be done before the loop may sleep?  `do_due` does it, and what may wait."""
        self.mutex = threading.RLock()  # held once at most; only this kind can say whether it is
        self.deadline: float | None = None  # of the driver
        self.asleep = False  # the loop is, and the mutex free
        self.is_due = is_due
        self.readers: dict[int, Callable[[], None]] = {}  # connections that are read without a transport
        self.loop = DrivenLoop(self)
        epoll = self.loop.epoll()
        self._ready = self.loop._ready  # asyncio's, and the same as long as the loop lives
        self._poll: Callable[[float | None], list[tuple[int, int]]] | None = (
            None if epoll is None else epoll.poll
        )
        self._do_due = do_due
        self._driver = 0  # the identity of its thread
        self._changed = threading.Condition(self.mutex)
        self._others = 0  # callers that wait for the driver
        self._wanted = 0  # those that want the attendant to leave
        self._left_at = 0.0  # when a caller last drove
        self._ended = False
        self._asked = False  # the attendant is to see to what is due when it next looks
        self._nudge = threading.Lock()  # free: … at once; an Event does the same in several calls of Python
        self._nudge.acquire()
        self._pause = 0.0
        self._attendant = threading.Thread(target=self._attend, name=name, daemon=True)

    def start(self) -> None:
        self._attendant.start()

    @property
    def attendant(self) -> int:
        """The system's number of its thread, for who sets the thread's priority; 0 before it runs."""
        return self._attendant.native_id or 0

    @property
    def is_held(self) -> bool:
        """By this thread.  Then the node is in the middle of something, and may not be called."""
        return bool(self.mutex._is_owned())  # type: ignore[attr-defined]

    # --- for callers, with the mutex held ---------------------------------------------------------------------

    def until(self, done: Callable[[], bool], seconds: float | None) -> None:
        """Until it is done or time is up; with 0 seconds, look once at what has come."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not done() and not self._ended:
            left = None if deadline is None else deadline - time.monotonic()
            if self._driver == 0:
                self._run(done, deadline)
                return
            if self._driver == self._attendant.ident:
                self._wanted += 1
                try:
                    self._wait_for_driver(IDLE if left is not None and left <= 0 else left)
                finally:  # Ctrl-C: else the attendant would never drive again
                    self._wanted -= 1
            elif left is not None and left <= 0:
                return
            else:
                self._wait_for_driver(left)

    def _wait_for_driver(self, seconds: float | None) -> None:
        self._others += 1
        try:
            if self.asleep:
                self.loop.wake()
            self._changed.wait(seconds)
        finally:
            self._others -= 1

    def look_after(self, seconds: float) -> None:
        """Have somebody do what is due then; who says so does not stay to do it itself."""
        if self.asleep:
            self.loop.call_later(seconds, self._do_due)
        elif self._driver == 0:
            self._pause = seconds
            self._set_nudge()

    def is_stepping(self, now: float) -> bool:
        """Nobody drives just now, but a caller has a moment ago: it makes its step, and will again."""
        return self._driver == 0 and now - self._left_at < IDLE

    def look_some_time(self) -> None:
        """What is due can wait until a caller drives again, or the attendant looks whether one does."""
        self._asked = True

    def _set_nudge(self) -> None:
        if self._nudge.locked():
            self._nudge.release()

    def notify(self) -> None:
        """What somebody waits for may have come, without the driver's doing."""
        if self.asleep:
            self.loop.wake()
        if self._others:
            self._changed.notify_all()

    # --- driving ----------------------------------------------------------------------------------------------

    def wait_for_events(self, select: Callable[[float | None], list[T]], timeout: float | None) -> list[T]:
        """Without the mutex, if it takes time, and no longer than the driver may.

        To let others run first (`sched_yield`) would spare wake-ups where there are more federates than processors: a tenth of
        the CPU of a step with messages.  But beside a program that computes it waits for the end of that one's turn, which made
        a round trip of 0.1 ms one of 1.4.
        """
        if self.deadline is not None and timeout != 0:
            left = self.deadline - time.monotonic()
            timeout = left if timeout is None else min(left, timeout)
        if (timeout is not None and timeout <= 0) or self.is_due():
            return select(0)
        self.asleep = True
        try:
            # Inside of `try`: a KeyboardInterrupt comes after a call, so after this one it finds its way through `finally`.
            self.mutex.release()
            return select(timeout)
        finally:
            self._take_mutex()
            self.asleep = False

    def _take_mutex(self) -> None:
        """Whatever happens meanwhile, such as Ctrl-C: who gave up the mutex for a while has it again after."""
        interruption: BaseException | None = None
        while not self.is_held:
            try:
                self.mutex.acquire()
            except BaseException as error:  # before it was acquired, or right after
                interruption = error
        if interruption is not None:
            raise interruption

    def _pass(self) -> None:
        """Sleep if there is nothing to do, then do what there is.

        If all there is to do is to wait for connections, what they bring is handled at once.  That is most passes of a federate
        that steps fast, and asyncio's own way, by a queue and a look at all timers, takes twice as long.
        """
        loop = self.loop
        timers = loop._scheduled
        timeout = timers[0]._when - time.monotonic() if timers else None
        if self._ready or (timeout is not None and timeout <= 0):
            loop.run_once()
            return
        if self._poll is None:
            loop.handle_all()
            return
        for fd, event in self.wait_for_events(self._poll, timeout):
            read = self.readers.get(fd)
            if read is None or event != _IN:
                loop.handle_one(fd, event)
                continue
            try:
                read()
            except Exception as error:
                loop.failed(error)

    def _run(self, done: Callable[[], bool], deadline: float | None) -> None:
        loop = self.loop
        me = threading.get_ident()
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(loop)
        loop._thread_id = self._driver = me
        self.deadline = deadline
        try:
            while True:
                self._pass()
                if self.is_due():
                    self._do_due()
                if self._others:
                    self._changed.notify_all()
                if done() or (deadline is not None and time.monotonic() >= deadline) or self._ended:
                    break
        finally:
            self._driver = 0
            loop._thread_id = None
            asyncio._set_running_loop(outer)
            self._left_at = time.monotonic()
            self._do_due()  # also what was to wait a little: the one who was to see to it leaves
            if self._others:
                self._changed.notify_all()

    def _attend(self) -> None:
        """In the attendant's thread."""
        pause = IDLE
        while True:
            with self.mutex:
                if self._ended:
                    return
                if self._driver != 0:
                    pause = min(2 * pause, BUSY * IDLE)
                else:
                    pause = IDLE
                    self._look()
            if self._nudge.acquire(timeout=pause):
                time.sleep(self._pause)
                with self.mutex:
                    self._do_due()

    def _look(self) -> None:
        """Nobody drives: does somebody have to?"""
        if self._asked:
            self._asked = False
            self._do_due()
        if self._wanted == 0 and time.monotonic() - self._left_at >= IDLE:
            if self._nudge.acquire(blocking=False):  # it would sleep over it
                self._do_due()
            self._run(lambda: self._wanted > 0, None)

    # --- work of the node itself ------------------------------------------------------------------------------

    def complete(self, work: Coroutine[object, None, T], seconds: float | None = None) -> T:
        """Run a coroutine on the loop and wait for it, with the mutex held; TimeoutError if it takes longer."""
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self.loop)
        try:
            task = self.loop.create_task(work)
        finally:
            asyncio._set_running_loop(outer)
        self.until(task.done, seconds)
        if not task.done():
            task.cancel()
            raise TimeoutError
        return task.result()

    def end(self) -> None:
        """Let connections go that were closed, with what is still to be sent on them, then everything; without the mutex."""
        with self.mutex:
            # The loop's own connection, by which it is woken, is always open.
            self.until(lambda: len(self.loop._selector.get_map()) <= 1, FAREWELL)
            self._ended = True
            if self.asleep:
                self.loop.wake()
            self._changed.notify_all()
            self._set_nudge()
        if self._attendant.is_alive():
            self._attendant.join()
        with self.mutex:
            self._close()

    def _close(self) -> None:
        """Cancel and abort until nothing is left: a connection that was just being made is first made, then aborted."""
        loop = self.loop
        for _ in range(20):
            for task in asyncio.all_tasks(loop):
                task.cancel()
            for transport in list(loop._transports.values()):  # type: ignore[attr-defined]
                transport.abort()
            loop.call_soon(int)
            self._run(lambda: True, None)
            if not asyncio.all_tasks(loop) and not loop._ready:
                break
        loop.close()
