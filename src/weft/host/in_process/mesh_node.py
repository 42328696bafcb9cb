"""A node of the fabric inside a federate's process: no server between the federate and the links.

    federate ── call ──> kernel ── parcels ──> mesh ── links ──> other nodes

The kernel, the mesh and its event loop belong to whoever holds the mutex of the `Drive`; a call is one turn of the kernel in the
caller's own thread.  What it sends leaves before the call returns, in the same thread.  Of a burst only the first message does:
those that follow within `GATHER` go together, with the first that comes later, with the next wait, or, if there is neither, by
the attendant at once.

A message in time stamp order is of no use to who is time-constrained until its sender asks to advance.  So where a federate
steps fast the message waits for the request that follows it, and each link is written once in a step; if nothing follows, it
leaves when the attendant next looks (`loop.drive`).
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from weft.fabric import Domains
from weft.host.effects import EffectRunner, Inbox, PendingCall
from weft.host.files.saves import SaveDirectory, carry_out
from weft.host.files.schedules import read_schedule
from weft.host.loop.drive import Drive
from weft.host.mesh.federations import meshed_node
from weft.host.mesh.node import FabricNode
from weft.host.observing.service_reports import ReportFiles
from weft.host.observing.survey import EmbeddedSurroundings
from weft.host.recording.recording import NodeRecordings, recordings_of
from weft.host.settings import Settings, read_rid
from weft.host.sizes import QUEUE_BYTES, Most, size_of
from weft.kernel import (
    Alarm,
    Callback,
    Carried,
    Effect,
    Fetch,
    Node,
    Notice,
    Record,
    Refuse,
    Reply,
    Store,
    UrgentCallback,
)
from weft.model.errors import NotConnected, RTIinternalError

GATHER = 0.0005  # seconds that messages of a burst wait for one another
STAMPED: Final = 1  # messages wait for the request to advance that follows them, …
BURST: Final = 2  # … or for more of a burst, and the attendant for the end of `GATHER`
NEVER = float("inf")
_NAP = 1.0
_HOT = ("send_interaction", "update_attribute_values")
_STOPPED = "the node of this process was stopped"


class OwnNode:
    """Make one with `in_process.mesh_nodes.own_node`; everything that connects to it is at the same node."""

    def __init__(
        self,
        domains: Domains,
        name: str,
        settings: Settings | None = None,
        journal: Path | None = None,
        folder: Path = Path(),
        report: Callable[[str], None] | None = None,
    ) -> None:
        settings = settings or Settings()
        self.name = name
        self.journal = journal
        self.failure = ""  # why it cannot go on
        self._report = report or _log
        self._fabric = FabricNode(
            domains, name, self._report, settings.fabric, journal, folder, ddm=settings.ddm
        )
        self._mesh = mesh = self._fabric.mesh
        mesh.by_hand = True
        self.patience = mesh.settings.lost_seconds  # after which a node that is away counts as lost
        self.channels = self._fabric.channels
        run = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"  # made only if something is written there
        reports = str(Path(settings.serve.run_directory).absolute() / "node" / run)
        self._effects = EffectRunner(self)
        self.inboxes = self._effects.inboxes
        self._meshed = meshed_node(
            mesh, self._effects.perform, domains.topology, domains.releases, reports, read_rid(settings.ddm)
        )
        self._node = self._meshed.node
        self.most = Most(settings.fabric.queue_bytes // 2, QUEUE_BYTES)
        self._node.schedule = read_schedule(settings.channel.schedule, settings.channel.deadlines)
        self._reports = ReportFiles(self._report, settings.limits.report_bytes)
        self._saves = SaveDirectory(settings.serve.saves, settings.limits.saves)
        self._keeping: set[threading.Thread] = set()
        self.drive = Drive(f"weft node {name}", self.is_due, self.flush)
        self._node.surroundings = EmbeddedSurroundings(self, self._fabric)
        self._calls = 0
        self._left_at = 0.0  # when something of a burst last left; 0 if somebody has waited since
        self._gathers = 0  # something of it waits: `STAMPED` or `BURST`
        self._alarm_at = NEVER
        self._started = False
        self.recordings: NodeRecordings | None = None
        if (
            settings.record.on and settings.record.directory
        ):  # only where it is named: the process is a federate's
            self.recordings = recordings_of(settings, self._report, self._guarded)
            self._node.record(self.recordings, time.monotonic())

    def _guarded(self, work: Callable[[], None]) -> None:
        with self.drive.mutex:
            work()

    def pushed(self, now: float) -> None:
        """Something was pushed to an event channel, with the mutex held: what of it goes to others leaves, as messages do."""
        if self._mesh.turn_due:
            self._send(True, now)

    # --- its life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        drive = self.drive
        try:
            with drive.mutex:
                drive.complete(self._begin())
                assert self._mesh.failed is not None
                # The mesh cannot go on: nobody here can.
                self._mesh.failed.add_done_callback(lambda future: self._lose_all(future.result()))
        except BaseException:
            with drive.mutex:
                drive.complete(self._fabric.stop())
            drive.end()
            raise
        self._started = True
        drive.start()

    async def _begin(self) -> None:
        self._meshed.recover(time.monotonic())
        await self._fabric.start()

    def stop(self, patience: float = 5.0) -> None:
        """Whoever is still joined resigns by its directive; neighbours are told; then all connections are closed."""
        if not self._started:
            return
        self._started = False
        drive = self.drive
        for keeper in list(self._keeping):
            keeper.join(patience)
        with drive.mutex:
            self._lose_all(self.failure or _STOPPED)
            try:
                drive.complete(self._fabric.stop(), patience)
            except TimeoutError:
                self._report(f"node {self.name} did not stop within {patience:g} s")
            self._reports.close()
            recordings, self.recordings = self.recordings, None
            if recordings is not None:
                recordings.collect()
                self._node.stop_recording()
        drive.end()
        if recordings is not None:
            recordings.close()

    def _lose_all(self, why: str) -> None:
        now = time.monotonic()
        self.failure = why
        for session, inbox in list(self.inboxes.items()):
            inbox.put(Callback(session, "connection_lost", (why,)))
            self._effects.perform(self._node.session_lost(session, now, why), now)
        self.inboxes.clear()
        for number, call in self._effects.calls.items():
            call.answer = Refuse(0, number, NotConnected(f"not answered: {why}"))
        self.drive.notify()

    # --- calls ------------------------------------------------------------------------------------------------

    def connect(self) -> OwnConnection:
        with self.drive.mutex:
            if self.failure:
                raise NotConnected(f"node {self.name} of this process cannot go on: {self.failure}")
            made = OwnConnection(self, self._node, self.drive, self._node.open_session())
            self.inboxes[made.session] = made
            return made

    def call(self, session: int, service: str, arguments: tuple[object, ...]) -> object:
        drive = self.drive
        if drive.is_held:
            raise RTIinternalError(
                f"{service} was called while the node of this process is at work in the same thread, as from a signal handler; "
                "let the handler only take note"
            )
        drive.mutex.acquire()
        try:
            if self.failure:
                raise NotConnected(f"node {self.name} of this process cannot go on: {self.failure}")
            now = time.monotonic()
            self._meshed.now = now
            self._calls = number = self._calls + 1
            effects = self._node.call(session, number, service, arguments, now)
            first = effects[0] if effects else None
            if isinstance(first, (Reply, Refuse)):
                answer = first
                if len(effects) > 1:
                    self._effects.perform(effects, now)
            else:
                answer = self._wait_for(PendingCall(session, service), number, effects, now)
            if self._mesh.turn_due:
                self._send(service in _HOT, now)
        finally:
            drive.mutex.release()
        if isinstance(answer, Reply):
            return answer.value
        raise answer.error

    def _wait_for(self, call: PendingCall, number: int, effects: list[Effect], now: float) -> Reply | Refuse:
        calls = self._effects.calls
        calls[number] = call
        try:
            self._effects.perform(effects, now)
            self.flush()
            self.drive.until(call.has_come, None)
        finally:
            calls.pop(number, None)
        return call.answer or Refuse(0, number, NotConnected(f"not answered: {_STOPPED}"))

    def _send(self, hot: bool, now: float) -> None:
        stamped = hot and not self._mesh.has_data
        if stamped and self._left_at == 0.0 and self.drive.is_stepping(now):
            self._gathers = STAMPED
            self._left_at = now
            self.drive.look_some_time()
        elif not hot or now - self._left_at >= GATHER or (self._gathers == STAMPED and not stamped):
            self._gathers = 0
            self._mesh.turn()
            self._left_at = now
        elif not self._gathers:
            self._gathers = BURST
            self.drive.look_after(GATHER)

    def is_due(self) -> bool:
        """Is there something that does not wait for more of a burst?"""
        return self._mesh.turn_due and self._gathers == 0

    def flush(self) -> None:
        """What has gathered leaves, before somebody waits; with the mutex held."""
        self._gathers = 0
        self._left_at = 0.0  # what comes next is not of the same burst
        if self._mesh.turn_due:
            self._mesh.turn()

    # --- what the kernel decided (host.effects) ----------------------------------------------------------------

    def carry(self, effect: Carried) -> None:
        self._meshed.carry(effect)

    def alarm(self, effect: Alarm) -> None:
        self._alarm(effect.when)

    def write_report(self, effect: Record) -> None:
        self._reports.write(effect.file, effect.line)

    def tell(self, effect: Notice) -> None:
        self._report(effect.text)

    def keep(self, effect: Store | Fetch) -> None:
        """In a thread of its own: a disk may take its time, and others are not to wait for it."""
        keeper = threading.Thread(target=self._kept, args=(effect,), name="weft saves")
        self._keeping.add(keeper)
        keeper.start()

    def _kept(self, effect: Store | Fetch) -> None:
        outcome = carry_out(self._saves, effect, self._report)
        with self.drive.mutex:
            now = time.monotonic()
            self._effects.perform(outcome(self._node, now), now)
            self.flush()
            self._keeping.discard(threading.current_thread())
            self.drive.notify()

    def _alarm(self, when: float) -> None:
        if when < self._alarm_at:
            self._alarm_at = when
            self.drive.loop.call_at(when, self._tick)

    def _tick(self) -> None:
        now = time.monotonic()
        if now < self._alarm_at:
            return  # an earlier alarm has seen to it, and another is set
        self._alarm_at = NEVER
        due = self._node.next_tick()
        if due is not None and now >= due:
            self._effects.perform(self._node.tick(now), now)
            due = self._node.next_tick()
        if due is not None:
            self._alarm(due)

    # --- sessions ---------------------------------------------------------------------------------------------

    def done(self, session: int, ticket: int) -> None:
        with self.drive.mutex:
            now = time.monotonic()
            self._effects.perform(self._node.done(session, ticket, now), now)

    def close(self, session: int) -> None:
        with self.drive.mutex:
            if self.inboxes.pop(session, None) is not None:
                self._node.close_session(session)
            self.drive.notify()

    def lose(self, session: int) -> None:
        with self.drive.mutex:
            if self.inboxes.pop(session, None) is not None:
                now = time.monotonic()
                self._effects.perform(self._node.session_lost(session, now), now)
                self.flush()
            self.drive.notify()

    def status(self) -> dict[str, str | int]:
        """What `weft serve --status` says of a node."""
        with self.drive.mutex:
            return self._fabric.status()


class OwnConnection(Inbox):
    """A session of the node of this process."""

    def __init__(self, host: OwnNode, node: Node, drive: Drive, session: int) -> None:
        super().__init__(node, session, drive.mutex, time.monotonic, drive.notify)
        self._host = host
        self._drive = drive

    def call(self, service: str, arguments: tuple[object, ...]) -> object:
        if self.closed:
            raise NotConnected("the connection is closed; connect again")
        self.calls += 1
        size = size_of(arguments)
        if size > self._host.most.size:
            raise self._host.most.refusal(service, size, "a link between nodes")
        return self._host.call(self.session, service, arguments)

    def look(self) -> None:
        self._wait(0.0)

    def finished(self, callback: UrgentCallback) -> None:
        if not self.closed:
            self._host.done(self.session, callback.ticket)

    def wait(self, seconds: float | None) -> bool:
        self._wait(_NAP if seconds is None else seconds)
        return self.pending()

    def _wait(self, seconds: float) -> None:
        drive = self._drive
        drive.mutex.acquire()
        try:
            self._host.flush()
            self.asleep = True
            # Something more urgent than what waits may have come to the sockets.
            look = seconds <= 0.0 and self._urgent is not None
            drive.until(_never if look else self._has_news, seconds)
        finally:
            self.asleep = False
            drive.mutex.release()

    def _has_news(self) -> bool:
        return self.pending() or self.closed

    def close(self) -> None:
        self.closed = True
        self._host.close(self.session)

    def leave(self) -> None:
        self.lose()

    def lose(self) -> None:
        self.closed = True
        self._host.lose(self.session)


def _never() -> bool:
    return False


def _log(text: str) -> None:
    level = logging.INFO if text.endswith(": up") else logging.WARNING
    logging.getLogger("weft").log(level, text)
