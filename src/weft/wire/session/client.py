"""The client's side of a session.

It keeps the connection alive with heartbeats, and when the connection is lost all the same it asks for a new one, at once and
then every few seconds.  A heartbeat also carries an acknowledgement, and its response brings one; so one is sent early when
the server has sent much that nothing acknowledges, or when much of our own is unacknowledged.
"""

from __future__ import annotations

from typing import Final

from weft.wire.errors import ProtocolError
from weft.wire.session.frames import (
    CALL_REQUEST,
    CALLBACK_RESPONSE,
    HALF,
    HEARTBEAT,
    HEARTBEAT_RESPONSE,
    LAST_NUMBER,
    NEW_SESSION,
    NEW_SESSION_STATUS,
    NONE,
    RESUME_REQUEST,
    RESUME_STATUS,
    SESSION_TERMINATED,
    TERMINATE_SESSION,
    pack_one,
    pack_two,
    type_name,
    unpack_one,
    unpack_second,
    unsigned,
)
from weft.wire.session.session import FrameSession
from weft.wire.session.state import (
    ACCEPTED,
    CLIENT_STEPS,
    FOREVER,
    INVALID_SESSION,
    NEW_SESSION_REASONS,
    PROTOCOL_VERSION,
    RESUME_STATUSES,
    RESUMED,
    Action,
    SessionSettings,
    SessionStep,
    State,
)

# Looked up once: the attribute of an Enum costs more than the rest of what these are used in.
_NEW: Final = State.NEW
_RUNNING: Final = State.RUNNING
_DROPPED: Final = State.DROPPED
_RESUMING: Final = State.RESUMING
_TERMINATING: Final = State.TERMINATING
_TERMINATED: Final = State.TERMINATED

DEFAULTS: Final = SessionSettings()
_FORGOTTEN: Final = (
    ": the server does not have it (any more).  It was started anew, it waited for this client for too long, or its machine is "
    "so busy that nobody connected in the session within its limits.greeting_seconds (10 s unless it says otherwise): connect "
    "again, and on a slow machine with a larger limit"
)


class ClientSession(FrameSession):
    def __init__(self, now: float, settings: SessionSettings = DEFAULTS, first_sequence: int = 0) -> None:
        """CTRL_NEW_SESSION is outgoing from the start."""
        super().__init__(CLIENT_STEPS, False, settings, now, first_sequence)
        self.refusal = 0
        """The reason or status by which the server refused to start or to resume, if it did."""
        self._sent = now
        self._asked_at = now
        self._asking = True  # something was sent since the server was last heard
        self._attempted_at = now
        self._attempt_at = FOREVER
        self._resumed_at = -FOREVER
        self._resumed_with = NONE  # the number last received when the session was resumed last
        self._owed = 0
        self._asked = False
        self._ask_frames = max(1, settings.history_frames // 4)
        self._ask_bytes = max(1, settings.history_bytes // 4)
        self._put(NEW_SESSION, first_sequence, NONE, pack_one(PROTOCOL_VERSION))

    # The connection

    def feed(self, data: bytes, now: float) -> None:
        self._owed += len(data)
        self._asking = False
        super().feed(data, now)

    def take_outgoing(self, now: float) -> list[bytes]:
        if self._open and self._connected:
            if not self._asked and self._wants_acknowledgement():
                self._asked = True
                self._send_control(HEARTBEAT, b"")
        self._close_bundle()
        outgoing = self._outgoing
        if outgoing:
            self._outgoing = []
            self._outgoing_bytes = 0
            self._owed = 0
            self._sent = now
            if not self._asking:
                self._asking = True
                self._asked_at = now
        return outgoing

    def _wants_acknowledgement(self) -> bool:
        history = self._history
        if history.size > self._ask_bytes or len(history) > self._ask_frames:
            return True
        return (
            self._owed >= self.settings.acknowledge_bytes and not self._outgoing and not self._writer.frames
        )

    def resume(self, now: float) -> None:
        """There is a new connection: CTRL_RESUME_REQUEST is outgoing."""
        self._step(SessionStep.RECONNECT, "")
        self.heard_at = now
        last = self.last_received
        self._put(RESUME_REQUEST, NONE, last, pack_two(last, self._history.available_from))

    def terminate(self) -> None:
        """Ask for the end; it has come when the state is TERMINATED.  A dropped session is not resumed for that."""
        running = self.state is _RUNNING
        self._step(SessionStep.TERMINATE, "this client terminated it")
        if running:
            self._send_control(TERMINATE_SESSION, b"")

    # Frames

    def send_call_request(self, payload: bytes) -> int:
        """The number by which the response will refer to this call."""
        return self._send(CALL_REQUEST, payload)

    def send_callback_response(self, callback: int, payload: bytes) -> int:
        return self._send_answer(CALLBACK_RESPONSE, callback, payload)

    def _control_frame(self, kind: int) -> None:
        if kind == NEW_SESSION_STATUS and self.state is _NEW:
            self._started()
        elif kind == RESUME_STATUS and self.state is _RESUMING:
            self._resumed()
        elif kind == HEARTBEAT_RESPONSE:
            self._check_control()
            self._asked = False
        elif kind == SESSION_TERMINATED:
            self._check_control()
            asked = self.state is _TERMINATING
            self._step(
                SessionStep.CONFIRM, "this client terminated it" if asked else "the server terminated it"
            )
        else:
            raise ProtocolError(f"the server sent {type_name(kind)} while the session was {self.state.value}")

    def _started(self) -> None:
        reason = unpack_one(self.frame.payload)
        if reason not in NEW_SESSION_REASONS:
            raise ProtocolError(f"the server sent CTRL_NEW_SESSION_STATUS {reason}; expected 0, 1, 2 or 99")
        if reason != ACCEPTED:
            self.refusal = reason
            self._step(SessionStep.REFUSE, f"the server refused the session: {NEW_SESSION_REASONS[reason]}")
            return
        if self.frame.signed_id == 0 or self.frame.sequence < 0:
            raise ProtocolError(
                f"the server accepted with session id {unsigned(self.frame.signed_id):#x} and number "
                f"{self.frame.sequence}; expected an id other than 0 and a number from 0"
            )
        self._signed_id = self.frame.signed_id
        self._step(SessionStep.ACCEPT, "")

    def _resumed(self) -> None:
        """The header of this frame is not looked at: some servers have nothing to put there."""
        status = unpack_one(self.frame.payload)
        received = unpack_second(self.frame.payload)
        if status not in RESUME_STATUSES:
            raise ProtocolError(f"the server sent CTRL_RESUME_STATUS {status}; expected 0, 1, 2 or 99")
        if status != RESUMED:
            self.refusal = status
            why = RESUME_STATUSES[status] + (_FORGOTTEN if status == INVALID_SESSION else "")
            self._step(SessionStep.REFUSE, f"the server refused to resume the session: {why}")
            return
        if received != NONE and (received < 0 or (self._number - received) & LAST_NUMBER >= HALF):
            raise ProtocolError(f"the server says it received {received}; the last sent was {self._number}")
        history = self._history
        if not history.covers(received):
            raise ProtocolError(
                f"the server resumes after {received}; frames up to {history.lost} are not kept any more"
            )
        self._step(SessionStep.RESUME, "")
        self._resumed_at = self.heard_at
        self._resumed_with = self.last_received
        self._asked = False
        self._outgoing += history.replay(received)

    def _fault(self, why: str) -> None:
        told = self.state is _RUNNING or self.state is _RESUMING
        super()._fault(why)
        if told:
            self._send_control(TERMINATE_SESSION, b"")

    # Time

    def _lose(self, step: SessionStep, why: str, now: float) -> None:
        """After the loss of a running session a new connection is tried at once, after an attempt that failed later.

        A session that was resumed, brought nothing and is lost again has not come back: something between here and the server
        ends each connection at the same frame.  Its time runs on, or calls would wait for ever.
        """
        running = self.state is _RUNNING
        since = self.dropped_at
        came_back = running and self._came_back(now)
        self._attempt_at = now if came_back else max(now, self._attempted_at + self.settings.retry)
        super()._lose(step, why, now)
        if running and not came_back:
            self.dropped_at = since

    def _came_back(self, now: float) -> bool:
        lasted = now - self._resumed_at >= self.settings.retry
        return lasted or self.last_received != self._resumed_with

    def next_deadline(self) -> float:
        """When to call `tick`; never, if that is infinity."""
        state = self.state
        if state is _TERMINATED:
            return FOREVER
        silent_at = self._silent_at()
        expires_at = self.dropped_at + self.settings.reconnect
        if state is _RUNNING:
            return min(silent_at, self._sent + self.settings.heartbeat)
        if state is _DROPPED:
            return min(expires_at, self._attempt_at)
        if state is _RESUMING:
            return min(expires_at, silent_at)
        return silent_at

    def _silent_at(self) -> float:
        """When the server has been silent for too long, although it was asked.

        A federate that computes for minutes sends no heartbeats meanwhile: nothing was to be heard then.
        """
        heard = self.heard_at
        if self.state is _RUNNING:
            if not self._asking:
                return FOREVER
            heard = max(heard, self._asked_at - self.settings.heartbeat)
        return heard + self.settings.silence

    def tick(self, now: float) -> list[Action]:
        if now < self.next_deadline():
            return []
        if self.state is _RUNNING and now < self._silent_at():
            self._send_control(HEARTBEAT, b"")
            self._sent = now
            return [Action.FLUSH]
        actions: list[Action] = []
        if self.state is not _DROPPED:
            actions.append(Action.CLOSE)
        if self.state is _DROPPED or self.state is _RESUMING:
            if now >= self.dropped_at + self.settings.reconnect:
                self._step(SessionStep.EXPIRE, f"no connection lasted within {self.settings.reconnect:g} s")
                return [*actions, Action.END]
        if self.state is not _DROPPED:
            self._lose(SessionStep.FALL_SILENT, f"the server was silent for {self.settings.silence:g} s", now)
        if self.state is not _DROPPED:
            return [*actions, Action.END]
        if now >= self._attempt_at:
            self._attempted_at = now
            self._attempt_at = FOREVER
            actions.append(Action.CONNECT)
        return actions
