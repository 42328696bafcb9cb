"""What a server sends to its federates: callbacks and answers, as effects of the kernel bring them about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from weft.host.causes import Causes
from weft.host.mesh.federations import MeshedNode
from weft.host.observing.call_watch import CallWatch
from weft.host.observing.service_reports import ReportFiles
from weft.host.server.backlog import Backlog, Encoded
from weft.host.server.session import Served
from weft.kernel import (
    PAUSES,
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
from weft.kernel.node import faults
from weft.kernel.recording.message_rows import message_of
from weft.model.errors import RTIexception, RTIinternalError
from weft.model.packed import PackedValues
from weft.model.time import time_factory
from weft.wire.codec.callbacks import HEAD
from weft.wire.codec.evolved import OTHERWISE
from weft.wire.codec.packed import Splicer
from weft.wire.own.fields import with_urgent
from weft.wire.session.frames import NONE

NEVER = float("inf")
_GATHERED = 16 << 10  # bytes of answers that are sent without waiting longer
_FULL = 64 << 10  # bytes under way, above which what can be sorted waits; where asyncio pauses writing
_HELD = 1 << 20  # bytes that a client leaves unread, above which what is for it gathers in its session
_CROWD = 16  # sessions to be written to, above which what others have sent by now goes with it
_ROOM = 16 << 20  # bytes that may gather for a crowd
WINDOW = 16  # callbacks under way to a federate that takes them as they come


class Outbox:
    """Gathers what is for each session until `flush`."""

    def __init__(
        self,
        node: Node,
        report: Callable[[str], None],
        report_bytes: int,
        keep: Callable[[Store | Fetch], None],
        meshed: MeshedNode | None,
        most_unread: int,
        window: int,
    ) -> None:
        self.node = node
        self._meshed = meshed  # joins the node to others; it hands `perform` what they bring about
        self.reports = ReportFiles(report, report_bytes)
        self._keep = keep  # has the saves; it answers with `stored` and `fetched` of the node
        self._report = report
        self._by_kernel: dict[int, Served] = {}
        self._dirty: list[Served] = []
        self._patient: list[Served] = []
        self._held: list[Served] = []
        self.hurries = False
        self._splicer = Splicer()
        # What was done so far, for `weft serve` to say at its end and `weft bench fedpro` to show.
        self.frames = 0  # sent
        self.writes = 0  # and in how many pieces
        self.bytes_out = 0
        self.bytes_in = 0
        self._gathered = 0  # bytes of callbacks since all was last written
        self.overfull: list[Served] = []  # they leave too much unread, and are to be dropped
        self._most_unread = most_unread
        self._window = window
        self.watch: CallWatch | None = None  # who wants to know how long calls take
        self.alarm = NEVER  # when the node is to be ticked, as far as it has said since somebody last looked

    # --- to federates -----------------------------------------------------------------------------------------

    def perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                served = self._by_kernel.get(effect.session)
                if served is not None:
                    try:
                        self._replied(served, effect.number, effect.value)
                    except Exception as error:  # as with one in the call itself
                        self._failed(served, effect.number, error)
            elif isinstance(effect, Refuse):
                served = self._by_kernel.get(effect.session)
                if served is not None:
                    self._refused(served, effect.number, effect.error)
            elif isinstance(effect, (Store, Fetch)):
                self._keep(effect)
            elif isinstance(effect, Notice):
                self._report(effect.text)
        self._callbacks(effects)

    def _callbacks(self, effects: list[Effect]) -> None:
        if self.watch is not None:
            self.watch.heard(effects)
        last: object = None
        payload = b""
        # By the identity of what is told.
        made: dict[int, bytes] | None = {} if len(effects) > 3 else None
        for effect in effects:
            if isinstance(effect, Callback):
                served = self._by_kernel.get(effect.session)
                if served is not None:
                    told: object = effect.arguments if effect.delivery is None else effect.delivery
                    if served.codec.evolved and effect.method in OTHERWISE:
                        payload = served.codec.encode_otherwise(effect.method, effect.arguments)
                        last = None
                        if not payload:
                            continue
                    elif told is not last or not payload:
                        found = None if made is None else made.get(id(told))
                        if found is None:
                            try:
                                payload = self._encode(served, effect)
                            except Exception as error:  # the others get theirs
                                payload = b""
                                self._report(faults.fault(error, effect.method, peer=served.federate).text)
                                continue
                            if made is not None:
                                made[id(told)] = payload
                        else:
                            payload = found
                        last = told
                    if served.backlog is not None or isinstance(effect, UrgentCallback):
                        self._queue(served, effect, payload)
                        continue
                    self._gathered += len(payload)
                    sent = served.wire.send_callback(payload)
                    if served.causes is not None:
                        self._put_cause(served.causes, sent, effect)
                    if self.node.holding and effect.method in PAUSES:
                        served.pauses[sent] = effect.method
                    self._touch(served)
            elif isinstance(effect, Alarm):
                self.alarm = min(self.alarm, effect.when)
            elif isinstance(effect, Record):
                self.reports.write(effect.file, effect.line)
            elif isinstance(effect, Carried) and self._meshed is not None:
                self._meshed.carry(effect)

    def _put_cause(self, causes: Causes, sent: int, effect: Callback) -> None:
        source, message = message_of(effect)
        causes.put(sent, source, message)

    # --- what can be sorted (server.backlog) ---------------------------------------------------------------

    def _queue(self, served: Served, effect: Callback, payload: bytes) -> None:
        backlog = served.backlog
        if backlog is None:
            backlog = served.backlog = Backlog()
            self.node.attend(served.kernel_session)  # lanes would pass what waits here
        if isinstance(effect, UrgentCallback):
            watched = effect.ticket > 0
            payload = with_urgent(
                payload, (effect.priority, effect.order, effect.dynamic, effect.sub, watched)
            )
        backlog.put(Encoded(effect, payload))
        self.drain(served)
        if backlog.bytes > self._most_unread and served not in self.overfull:
            self.overfull.append(served)

    def drain(self, served: Served) -> None:
        """Send of what waits for it as much as it may have under way, the most urgent first."""
        backlog = served.backlog
        line = served.line
        if backlog is None:
            return
        self._touch(served)
        while backlog.waiting and line is not None:
            if not served.sorts and len(backlog.sent) >= self._window:
                break
            if line.queued() + served.wire.waiting_bytes > _FULL:
                break
            found = backlog.take()
            if found is None:
                break
            sent = served.wire.send_callback(found.payload)
            if served.causes is not None:
                self._put_cause(served.causes, sent, found)
            if found.ticket or not served.sorts:
                backlog.sent[sent] = found.ticket
            if self.node.holding and found.method in PAUSES:
                served.pauses[sent] = found.method
            if found.ticket and self.node.watched:
                self.node.began(served.kernel_session, found.ticket, time.monotonic())

    def _dealt_with(self, served: Served, backlog: Backlog, number: int, now: float) -> None:
        for ticket in backlog.answered(number, not served.sorts):
            self.perform(self.node.done(served.kernel_session, ticket, now))
        if backlog.waiting:
            self.drain(served)

    def _end_backlog(self, served: Served, joined: bool) -> None:
        """It has resigned, or joins anew: what is left goes out, and nothing is sorted until there is something urgent."""
        backlog = served.backlog
        if backlog is None:
            return
        served.backlog = None
        for found in backlog.rest(joined):
            served.wire.send_callback(found.payload)

    def _encode(self, served: Served, effect: Callback) -> bytes:
        delivery = effect.delivery
        if delivery is None:
            return served.codec.encode_callback(effect.method, effect.arguments)
        spliced = self._splicer.splice(delivery)
        if spliced is not None:
            return spliced
        plain = [one.unpack() if isinstance(one, PackedValues) else one for one in delivery.arguments()]
        return served.codec.encode_callback(effect.method, tuple(plain))

    def _replied(self, served: Served, sequence: int, value: Any) -> None:
        number = served.calls.pop(sequence)
        if self.watch is not None:
            self.watch.replied(served.kernel_session, sequence)
        if sequence == served.joining:
            served.joining = NONE
            served.codec.time = time_factory(value[1])
            session = self.node.sessions.get(served.kernel_session)
            if session is not None and session.federation is not None:
                switches = session.federation.catalog.model.switches
                served.codec.conveys_producer = bool(switches.get("conveyProducingFederate"))
            self._end_backlog(served, True)
        elif sequence == served.resigning:
            served.resigning = NONE
            self._end_backlog(served, False)
        served.wire.send_call_response(sequence, served.codec.encode_response(number, value))
        self._touch(served)

    def _refused(self, served: Served, sequence: int, error: Exception) -> None:
        served.calls.pop(sequence, None)
        if self.watch is not None:
            self.watch.refused(served.kernel_session, sequence, error)
        if sequence == served.resigning:
            served.resigning = NONE
        name = type(error).__name__ if isinstance(error, RTIexception) else RTIinternalError.__name__
        served.wire.send_call_response(sequence, served.codec.encode_exception(name, str(error)))
        self._touch(served)

    def _failed(self, served: Served, sequence: int, error: Exception) -> None:
        """A mistake of ours in a call; it is answered."""
        self._report(faults.fault(error, "a call", federation=served.federation).text)
        if served.wire.is_unanswered(sequence):
            self._refused(served, sequence, faults.refusal(error, "this call", self.node.name))

    def _touch(self, served: Served) -> None:
        if not served.dirty:
            served.dirty = True
            self._dirty.append(served)

    def _touch_answered(self, served: Served) -> None:
        """It has an answer, which gathers with others if its client does not wait for it."""
        if served.dirty:
            return
        if not served.patient or served.wire.waiting_bytes > _GATHERED:
            served.dirty = True
            self._dirty.append(served)
        elif not served.answers_wait:
            served.answers_wait = True
            self._patient.append(served)

    # --- what waits to be read --------------------------------------------------------------------------------

    def note_waiting(self, served: Served) -> None:
        if served.kernel_session:
            behind = 0 if served.backlog is None else served.backlog.waiting
            self.node.note_waiting(served.kernel_session, served.wire.unacknowledged + behind)

    def report_waiting(self, served: Served, now: float) -> None:
        """It has become slow, or has caught up: the MOM tells all who want to know, itself too."""
        if served.kernel_session:
            self.note_waiting(served)
            self.perform(self.node.report_waiting(served.kernel_session, now))

    # --- the end of a turn ------------------------------------------------------------------------------------

    def flush(self, now: float) -> list[Served]:
        """Send what has gathered; returns the sessions whose peers leave something unread, or did so."""
        busy: list[Served] = []
        dirty = self._dirty
        self._dirty = []
        self._gathered = 0
        # Who was touched last first: receivers before the sender, which only gets an answer it may not even wait for.
        dirty.reverse()
        for served in dirty:
            served.dirty = False
            served.answers_wait = False
            heard = served.heard
            served.heard = False
            parts = served.wire.take_outgoing(now)
            if served.wire.last_callback:
                served.last_callback = served.wire.last_callback[:HEAD]
                served.wire.last_callback = b""
                served.callback_at = now
            line = served.line
            if line is not None:
                if parts:
                    for part in parts:
                        served.bytes_out += len(part)
                        self.bytes_out += len(part)
                    self.frames += served.wire.take_count()
                    self.writes += 1
                    waiting = line.send(parts)
                    if waiting or served.slow:
                        busy.append(served)
                    if waiting > _HELD:
                        self._hold(served)
                elif heard:
                    line.acknowledge_soon()
                if served.backlog is not None and served.backlog.waiting:
                    if served not in busy:
                        busy.append(served)
                    if parts and not line.queued():
                        self.drain(served)
        for served in self._held:
            if (
                served.wire.untaken_bytes >= served.look_at
            ):  # so much more: it may be slow by now, or too slow
                served.look_at += _HELD
                busy.append(served)
        return busy

    @property
    def gathers(self) -> bool:
        """Is `flush` to wait until all that has come by now was read?

        Each message to a crowd is as many writes.  If many send at once, most of those are spared.  What they answer is read
        meanwhile, and does not count.
        """
        return len(self._dirty) > _CROWD and self._gathered < _ROOM

    # --- who takes nothing ------------------------------------------------------------------------------------

    def _hold(self, served: Served) -> None:
        """A client that takes nothing costs others no writes: it counts as touched, so that no flush looks at it again."""
        if not served.held:
            served.held = True
            served.dirty = True
            served.look_at = _HELD
            self._held.append(served)

    def release(self, served: Served) -> None:
        """It takes something again, or its connection is gone."""
        if served.held:
            served.held = False
            served.dirty = False
            self._held.remove(served)
            self._touch(served)

    def release_idle(self) -> list[Served]:
        """Once a tick: those who have taken all that was sent go on; returns who is held."""
        for served in list(self._held):
            if served.line is None or not served.line.queued():
                self.release(served)
        return list(self._held)

    def hurry(self) -> None:
        """Answers that could wait have waited long enough: they go with the next flush."""
        self.hurries = False
        patient = self._patient
        self._patient = []
        for served in patient:
            if served.answers_wait:
                self._touch(served)

    @property
    def is_restless(self) -> bool:
        """Is there something to do soon: answers that wait, or an alarm?"""
        return self.has_waiting or self.alarm < NEVER or bool(self.overfull)

    @property
    def has_waiting(self) -> bool:
        """Are there answers that wait?  Then `hurry` is to be called in a few milliseconds, and `hurries` to be set till then."""
        return bool(self._patient) and not self.hurries

    @property
    def has_outgoing(self) -> bool:
        return bool(self._dirty)
