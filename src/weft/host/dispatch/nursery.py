"""The nursery: a process that does nothing but fork workers.

Workers inherit the consumers as they were when the channel was started, closures and all.  They are forked from the nursery, not
from the channel's process, because that has threads by then: a lock that one of them holds at the moment of a fork would stay
locked in the worker for ever.  The nursery is forked once, when the channel is started, and has one thread.

It says which process a desk got, and when and how that ended.  When the channel's end of the line closes it ends, after the
workers have ended, which see the same of theirs; those that do not, in the middle of a consumer, are killed.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import NamedTuple

from weft.host.dispatch import worker
from weft.host.dispatch.standing import Standing, channel_standing, take
from weft.host.dispatch.worker import Consumers

FAREWELL = 2.0  # seconds for workers to end by themselves


Seat = tuple[int, int]
"""A preemption priority, and which of its workers."""


class Born(NamedTuple):
    desk: Seat
    pid: int


class Died(NamedTuple):
    desk: Seat
    pid: int
    status: int

    def how(self) -> str:
        code = os.waitstatus_to_exitcode(self.status)
        return f"ended with exit status {code}" if code >= 0 else f"was ended by {_signal(-code)}"


class Nursery:
    """The channel's end."""

    def __init__(self, consumers: Consumers, fifo: bool) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = os.fork()
        if self.pid == 0:  # pragma: no cover - another process
            _be_nursery(ours, theirs, consumers, fifo)
        theirs.close()
        self._line = ours

    def fileno(self) -> int:
        return self._line.fileno()

    def bear(self, desk: Seat, standing: Standing) -> socket.socket:
        """A worker for a desk: our end of the line to it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            socket.send_fds(self._line, [pickle.dumps((desk, standing))], [theirs.fileno()])
        return ours

    def news(self) -> Born | Died | None:
        """The next; None if the nursery is no more."""
        try:
            data = self._line.recv(4096)
        except ConnectionError:
            data = b""
        found: Born | Died | None = pickle.loads(data) if data else None
        return found

    def close(self) -> None:
        """Returns when it has ended, and with it all workers."""
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _be_nursery(
    ours: socket.socket, line: socket.socket, consumers: Consumers, fifo: bool
) -> None:  # pragma: no cover - another process
    code = 1
    try:
        ours.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if fifo:
            take(channel_standing(True))
        code = _Rearing(line, consumers).run()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


class _Rearing:  # pragma: no cover - another process
    def __init__(self, line: socket.socket, consumers: Consumers) -> None:
        self._line = line
        self._consumers = consumers
        self._selector = selectors.DefaultSelector()
        self._selector.register(line, selectors.EVENT_READ, None)
        self._children: dict[int, int] = {}  # pid: its descriptor

    def run(self) -> int:
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._buried(*key.data)
                elif not self._asked():
                    self._farewell()
                    return 0

    def _asked(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._line, 4096, 1)
        except ConnectionError:  # the channel went without hearing the last news
            return False
        if not data:
            return False
        desk, standing = pickle.loads(data)
        with socket.socket(fileno=descriptors[0]) as end:
            pid = os.fork()
            if pid == 0:
                self._be_worker(end)
        with suppress(OSError):
            take(standing, pid)  # from here: an ordinary newborn might wait long for its first turn
        watch = os.pidfd_open(pid)
        self._children[pid] = watch
        self._selector.register(watch, selectors.EVENT_READ, (desk, pid))
        self._tell(Born(desk, pid))
        return True

    def _be_worker(self, end: socket.socket) -> None:
        code = 1
        try:
            self._line.close()
            self._selector.close()
            worker.serve(end, self._consumers)
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _buried(self, desk: Seat, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        watch = self._children.pop(pid)
        self._selector.unregister(watch)
        os.close(watch)
        self._tell(Died(desk, pid, status))

    def _tell(self, news: Born | Died) -> None:
        with suppress(OSError):  # nobody listens any more
            self._line.send(pickle.dumps(news))

    def _farewell(self) -> None:
        self._selector.unregister(self._line)
        while self._children:
            ended = self._selector.select(FAREWELL)
            for key, _ in ended:
                self._buried(*key.data)
            if not ended:
                for pid in self._children:
                    os.kill(pid, signal.SIGKILL)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
