"""The node inside a Python process: federates call it directly, without a socket.

The kernel is not made for threads, so a lock admits one call at a time.  It is held only while the kernel decides: callbacks are
queued in the inboxes of their sessions and run later, in the thread that evokes them, so a callback may
call the RTI again and a slow federate delays nobody.

A producer wakes a waiting consumer only when it really sleeps (`_asleep`), which keeps the cost of a queued callback at
one `deque.append`.
"""

from __future__ import annotations

import logging
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.channel import Plan
from weft.host.connection import drop_federation
from weft.host.files.saves import DEFAULT_DIRECTORY, SaveDirectory, fetch, store
from weft.host.files.schedules import class_schedule, read_schedule
from weft.host.observing.service_reports import ReportFiles
from weft.host.observing.survey import EmbeddedSurroundings
from weft.host.recording.recording import NodeRecordings
from weft.kernel import (
    PAUSES,
    Alarm,
    Callback,
    Effect,
    Fetch,
    LastMile,
    Node,
    Notice,
    Record,
    Refuse,
    Reply,
    Store,
    UrgentCallback,
)
from weft.model.errors import NotConnected, RTIinternalError, SettingsError

_NAP = 1.0


class EmbeddedNode:
    """One node; everything that connects to the same object can meet in a federation.

    Saves go to `save_directory`, which is made when the first one is asked for.  `schedule`: how urgent classes are for federates
    that join here, a plan or its file (docs/explanation/urgency.md).
    """

    def __init__(
        self,
        name: str = "embedded",
        save_directory: str | Path = DEFAULT_DIRECTORY,
        run_directory: str = "runs",
        schedule: str | Path | Plan = "",
    ) -> None:
        run = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"  # made only if something is written there
        self._node = Node(name, reports=str(Path(run_directory).absolute() / "embedded" / run))
        self._node.schedule = (
            class_schedule(schedule) if isinstance(schedule, Plan) else read_schedule(schedule)
        )
        self._reports = ReportFiles(lambda text: print(f"weft: {text}", file=sys.stderr))
        self.saves = Path(save_directory)
        self._saves = SaveDirectory(self.saves)
        self._lock = threading.Lock()
        self.connections: dict[int, EmbeddedConnection] = {}
        self.now = 0.0  # when something was last to be done
        self._node.surroundings = EmbeddedSurroundings(self)
        self.alarmed = False  # something is to be done when its time has come
        self.recordings: NodeRecordings | None = None

    def connect(self) -> EmbeddedConnection:
        with self._lock:
            session = self._node.open_session()
            made = EmbeddedConnection(self, session)
            self.connections[session] = made
            return made

    def call(self, session: int, service: str, arguments: tuple[Any, ...]) -> Any:
        lock = self._lock
        lock.acquire()
        try:
            self.now = time.monotonic()
            effects = self._node.call(session, 0, service, arguments, self.now)
            first = effects[0]
            if len(effects) > 1:
                self._perform(effects)
        finally:
            lock.release()
        if isinstance(first, Reply):
            return first.value
        if isinstance(first, Refuse):
            raise first.error
        raise RTIinternalError(f"{service} was not answered by its node")  # a lone node answers at once

    def _perform(self, effects: list[Effect]) -> None:
        connections = self.connections
        for effect in effects:
            if isinstance(effect, Callback):
                receiver = connections.get(effect.session)
                if receiver is not None:
                    receiver.put(effect)
            elif isinstance(effect, Alarm):
                self.alarmed = True
                sleeper = connections.get(effect.session)
                if sleeper is not None:
                    sleeper.wake()
            elif isinstance(effect, Record):
                self._reports.write(effect.file, effect.line)
            elif isinstance(effect, (Store, Fetch, Notice)):
                self._keep(effect)

    def _keep(self, effect: Store | Fetch | Notice) -> None:
        report = logging.getLogger("weft").warning
        now = time.monotonic()
        if isinstance(effect, Store):
            well = store(self._saves, effect, report)
            done = self._node.stored(effect.federation, effect.execution, effect.label, well, now)
            self._perform(done)
        elif isinstance(effect, Fetch):
            data = fetch(self._saves, effect, report)
            done = self._node.fetched(effect.federation, effect.execution, effect.label, data, now)
            self._perform(done)
        elif effect.warning:
            report(effect.text)
        else:
            logging.getLogger("weft").info(effect.text)

    def record(self, directory: str | Path = "runs", *, payloads: bool = True) -> NodeRecordings:
        """Record all federations of this node from now on, in a folder for each run below `directory`.

        `stop_recording` ends it, and so does the end of the process.
        """
        with self._lock:
            if self.recordings is not None:
                raise SettingsError(f"this node is being recorded already, in {self.recordings.directory}")
            made = NodeRecordings(directory, _warn, self._guarded, payloads=payloads)
            self.recordings = made
            self._node.record(made, time.monotonic())
            return made

    def stop_recording(self) -> None:
        """What there is is written, and that the run is over."""
        with self._lock:
            recordings, self.recordings = self.recordings, None
            if recordings is not None:
                recordings.collect()
            self._node.stop_recording()
        if recordings is not None:
            recordings.close()

    def _guarded(self, work: Callable[[], None]) -> None:
        with self._lock:
            work()

    def handles(self, session: int, callback: Callback) -> None:
        self._node.handles(session, callback)

    def took(self, session: int, method: str) -> None:
        with self._lock:
            self._node.took(session, method)

    def done(self, session: int, ticket: int) -> None:
        with self._lock:
            self.now = time.monotonic()
            self._perform(self._node.done(session, ticket, self.now))

    def began(self, session: int, ticket: int) -> None:
        with self._lock:
            self._node.began(session, ticket, time.monotonic())

    @property
    def records(self) -> bool:
        return self._node.watched

    @property
    def holding(self) -> bool:
        return self._node.holding

    def forget_federation(self, inbox: deque[Callback]) -> None:
        with self._lock:
            drop_federation(inbox)

    def tick(self) -> None:
        """Let the kernel do what is due by now: periodic reports, values that waited for their update rate."""
        with self._lock:
            now = self.now = time.monotonic()
            due = self._node.next_tick()
            if due is not None and now >= due:
                self._perform(self._node.tick(now))
                due = self._node.next_tick()
            self.alarmed = due is not None

    def until_tick(self) -> float | None:
        """In how many seconds something is due; None if nothing is."""
        if not self.alarmed:
            return None
        with self._lock:
            due = self._node.next_tick()
        return None if due is None else max(0.0, due - time.monotonic())

    def close(self, session: int) -> None:
        with self._lock:
            self._node.close_session(session)
            self.connections.pop(session, None)
            self._rest()

    def lose(self, session: int) -> None:
        with self._lock:
            self.connections.pop(session, None)
            self.now = time.monotonic()
            self._perform(self._node.session_lost(session, self.now))
            self._rest()

    def _rest(self) -> None:
        if not self.connections:
            self._reports.close()


class EmbeddedConnection:
    """A session of an embedded node."""

    def __init__(self, host: EmbeddedNode, session: int) -> None:
        self._host = host
        self._session = session
        self._inbox: deque[Callback] = deque()
        self._urgent: LastMile | None = None  # since there was the first message that says how urgent it is
        self._arrived = threading.Event()
        self._asleep = False
        self._closed = False
        # For surveys (`observing.survey`).
        self.calls = 0
        self.callbacks = 0
        self.last_method = ""
        self.last_at = 0.0

    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        if self._closed:
            raise NotConnected("the connection is closed; connect again")
        self.calls += 1
        return self._host.call(self._session, service, arguments)

    def put(self, callback: Callback) -> None:
        if isinstance(callback, UrgentCallback) and self._urgent is None:
            self._urgent = LastMile()
        self.callbacks += 1
        self.last_method = callback.method
        self.last_at = self._host.now
        self._inbox.append(callback)
        if self._asleep:
            self._arrived.set()

    def wake(self) -> None:
        """Whoever waits looks again how long it may."""
        self._arrived.set()

    def take(self) -> Callback | None:
        if not self._inbox:
            if self._host.alarmed:
                self._host.tick()  # who only looks and never waits sees to it here
            if not self.pending():
                return None
        urgent = self._urgent
        callback = self._inbox.popleft() if urgent is None else urgent.take(self._inbox)
        if callback is None:
            return None
        if self._host.recordings is not None:
            self._host._node.handles(self._session, callback)
        if self._host.holding and callback.method in PAUSES:
            self._host.took(self._session, callback.method)
        if urgent is not None and self._host.records and isinstance(callback, UrgentCallback):
            self._host.began(self._session, callback.ticket)
        return callback

    def finished(self, callback: UrgentCallback) -> None:
        if not self._closed:
            self._host.done(self._session, callback.ticket)

    def pending(self) -> bool:
        return bool(self._inbox) or (self._urgent is not None and self._urgent.waiting > 0)

    def waiting(self) -> int:
        """Callbacks that the federate has not taken."""
        return len(self._inbox) + (0 if self._urgent is None else self._urgent.waiting)

    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float | None) -> bool:
        """Whoever waits also sees to what the node has to do meanwhile: there is no thread of its own for that."""
        deadline = None if seconds is None else time.monotonic() + seconds
        # Who waits without end looks up now and then.
        left = _NAP if seconds is None else seconds
        while not self._closed:
            if self._host.alarmed:
                self._host.tick()
            self._arrived.clear()  # before the question how long: an alarm from now on ends the nap
            due = self._host.until_tick()
            if self._wait(left if due is None else min(left, due)) or deadline is None:
                break
            left = deadline - time.monotonic()
            if left <= 0.0:
                break
        return self.pending()

    def _wait(self, seconds: float | None) -> bool:
        if self.pending():
            return True
        self._asleep = True
        try:
            # Looked at again after `_asleep` is up: a callback put in between would not have woken us.
            if not self._inbox and not self._closed:
                self._arrived.wait(seconds)
        finally:
            self._asleep = False
        return self.pending()

    def forget_federation(self) -> None:
        self._host.forget_federation(self._inbox)
        if self._urgent is not None:
            self._urgent.clear()

    def close(self) -> None:
        self._host.close(self._session)
        self._end()

    def leave(self) -> None:
        self.lose()

    def lose(self) -> None:
        self._host.lose(self._session)
        self._end()

    def _end(self) -> None:
        self._closed = True
        self._arrived.set()


def _warn(text: str) -> None:
    logging.getLogger("weft").warning(text)


_shared: EmbeddedNode | None = None
_shared_lock = threading.Lock()


def shared_node() -> EmbeddedNode:
    """The node of this process: where every ambassador that names no address meets the others."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = EmbeddedNode()
        return _shared


def record(directory: str | Path = "runs", *, payloads: bool = True) -> None:
    """Record all federations of this process's own node from now on, below that folder (docs/how-to/recording.md)."""
    shared_node().record(directory, payloads=payloads)


def stop_recording() -> None:
    """Write what there is, and end; the end of the process does that, too."""
    shared_node().stop_recording()
