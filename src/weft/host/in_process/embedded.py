"""The node inside a Python process: federates call it directly, without a socket.

The kernel is not made for threads, so a lock admits one call at a time.  It is held only while the kernel decides: callbacks are
queued in the inboxes of their sessions (`host.effects`) and run later, in the thread that evokes them, so a callback may
call the RTI again and a slow federate delays nobody.
"""

from __future__ import annotations

import logging
import secrets
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from weft.channel import SchedulePlan
from weft.host.effects import EffectRunner, Inbox
from weft.host.files.saves import DEFAULT_DIRECTORY, SaveDirectory, carry_out
from weft.host.files.schedules import class_schedule, read_schedule
from weft.host.observing.service_reports import ReportFiles
from weft.host.observing.survey import EmbeddedSurroundings
from weft.host.recording.recording import NodeRecordings
from weft.host.settings import MeshDdmSettings, read_rid
from weft.kernel import (
    Alarm,
    Carried,
    Fetch,
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
    that join here, a plan or its file (docs/explanation/urgency.md).  `declarations`: "timed" or "regulating", if those of
    classes without dimensions are to go by logical time in federations that are created here (docs/explanation/ddm-sync.md).
    """

    def __init__(
        self,
        name: str = "embedded",
        save_directory: str | Path = DEFAULT_DIRECTORY,
        run_directory: str = "runs",
        schedule: str | Path | SchedulePlan = "",
        declarations: str = "",
    ) -> None:
        run = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"  # made only if something is written there
        reports = str(Path(run_directory).absolute() / "embedded" / run)
        self._node = Node(name, reports=reports, rid=read_rid(MeshDdmSettings(declarations=declarations)))
        self._node.schedule = (
            class_schedule(schedule) if isinstance(schedule, SchedulePlan) else read_schedule(schedule)
        )
        self._reports = ReportFiles(lambda text: print(f"weft: {text}", file=sys.stderr))
        self.saves = Path(save_directory)
        self._saves = SaveDirectory(self.saves)
        self._lock = threading.Lock()
        self.effects = EffectRunner(self)
        self.inboxes = self.effects.inboxes
        self._node.surroundings = EmbeddedSurroundings(self)
        self.alarmed = False  # something is to be done when its time has come
        self.recordings: NodeRecordings | None = None

    def connect(self) -> EmbeddedConnection:
        with self._lock:
            made = EmbeddedConnection(self, self._node, self._node.open_session(), self._lock)
            self.inboxes[made.session] = made
            return made

    # --- what the kernel decided (host.effects) ----------------------------------------------------------------

    def carry(self, effect: Carried) -> None:
        """A lone node has nobody to send to."""

    def alarm(self, effect: Alarm) -> None:
        self.alarmed = True
        sleeper = self.inboxes.get(effect.session)
        if sleeper is not None:
            sleeper.wake()

    def write_report(self, effect: Record) -> None:
        self._reports.write(effect.file, effect.line)

    def keep(self, effect: Store | Fetch) -> None:
        now = time.monotonic()
        self.effects.perform(carry_out(self._saves, effect, _warn)(self._node, now), now)

    def tell(self, effect: Notice) -> None:
        logging.getLogger("weft").log(logging.WARNING if effect.warning else logging.INFO, effect.text)

    # --- recording --------------------------------------------------------------------------------------------

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

    # --- sessions ---------------------------------------------------------------------------------------------

    def done(self, session: int, ticket: int) -> None:
        with self._lock:
            now = time.monotonic()
            self.effects.perform(self._node.done(session, ticket, now), now)

    def tick(self) -> None:
        """Let the kernel do what is due by now: periodic reports, values that waited for their update rate."""
        with self._lock:
            now = time.monotonic()
            due = self._node.next_tick()
            if due is not None and now >= due:
                self.effects.perform(self._node.tick(now), now)
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
            self._forget(session)

    def lose(self, session: int) -> None:
        with self._lock:
            now = time.monotonic()
            self.inboxes.pop(session, None)
            self.effects.perform(self._node.session_lost(session, now), now)
            self._forget(session)

    def _forget(self, session: int) -> None:
        self.inboxes.pop(session, None)
        if not self.inboxes:
            self._reports.close()


class EmbeddedConnection(Inbox):
    """A session of an embedded node."""

    def __init__(self, host: EmbeddedNode, node: Node, session: int, lock: threading.Lock) -> None:
        self._woken = threading.Event()
        super().__init__(node, session, lock, time.monotonic, self._woken.set)
        self._host = host
        self._kernel = node  # an inbox may have none
        self._lock = lock

    def call(self, service: str, arguments: tuple[object, ...]) -> object:
        if self.closed:
            raise NotConnected("the connection is closed; connect again")
        self.calls += 1
        lock = self._lock
        lock.acquire()
        try:
            now = time.monotonic()
            effects = self._kernel.call(self.session, 0, service, arguments, now)
            first = effects[0]
            if len(effects) > 1:
                self._host.effects.perform(effects, now)
        finally:
            lock.release()
        if isinstance(first, Reply):
            return first.value
        if isinstance(first, Refuse):
            raise first.error
        raise RTIinternalError(f"{service} was not answered by its node")  # a lone node answers at once

    def look(self) -> None:
        """Who never waits sees here to what is due."""
        if self._host.alarmed:
            self._host.tick()

    def finished(self, callback: UrgentCallback) -> None:
        if not self.closed:
            self._host.done(self.session, callback.ticket)

    def wait(self, seconds: float | None) -> bool:
        """Whoever waits also sees to what the node has to do meanwhile: there is no thread of its own for that."""
        deadline = None if seconds is None else time.monotonic() + seconds
        # Who waits without end looks up now and then.
        left = _NAP if seconds is None else seconds
        while not self.closed:
            if self._host.alarmed:
                self._host.tick()
            self._woken.clear()  # before the question how long: an alarm from now on ends the nap
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
        self.asleep = True
        try:
            # Looked at again after `asleep` is up: a callback put in between would not have woken us.
            if not self._arrived and not self.closed:
                self._woken.wait(seconds)
        finally:
            self.asleep = False
        return self.pending()

    def close(self) -> None:
        self._host.close(self.session)
        self._end()

    def leave(self) -> None:
        self.lose()

    def lose(self) -> None:
        self._host.lose(self.session)
        self._end()

    def _end(self) -> None:
        self.closed = True
        self._woken.set()


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
