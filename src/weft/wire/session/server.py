"""The server's side of a session.  It never speaks of its own accord but in HLA frames: clients take a heartbeat from a server
for a broken protocol.

A resume: the client says which of our frames it received last (LRR) and from where on it still has its own (OAF).  We go on
if we still have what it misses, and it what we miss.  It has received at least what it acknowledged, whatever LRR says: an
answer to a callback can overtake the client's own bookkeeping.
"""

from __future__ import annotations

from typing import Final

from weft.wire.errors import ProtocolError
from weft.wire.session.frames import (
    CALL_REQUEST,
    CALL_RESPONSE,
    CALLBACK_REQUEST,
    HALF,
    HEADER_SIZE,
    HEARTBEAT,
    HEARTBEAT_RESPONSE,
    LAST_NUMBER,
    NEW_SESSION_STATUS,
    NONE,
    RESUME_STATUS,
    SESSION_TERMINATED,
    TERMINATE_SESSION,
    following,
    is_later,
    pack_one,
    pack_two,
    type_name,
)
from weft.wire.session.greeting import Greeting, refuse_resume
from weft.wire.session.session import FrameSession
from weft.wire.session.state import (
    ACCEPTED,
    FOREVER,
    INVALID_SESSION,
    NEW_SESSION_REASONS,
    NOT_ENOUGH_BUFFERED,
    OTHER,
    PROTOCOL_VERSION,
    RESUME_STATUSES,
    RESUMED,
    SERVER_STEPS,
    UNSUPPORTED_VERSION,
    Action,
    SessionMisuse,
    SessionSettings,
    SessionStep,
    State,
)

# Looked up once: the attribute of an Enum costs more than the rest of what these are used in.
_NEW: Final = State.NEW
_DROPPED: Final = State.DROPPED
_TERMINATED: Final = State.TERMINATED

DEFAULTS: Final = SessionSettings()


class ServerSession(FrameSession):
    def __init__(
        self, session_id: int, now: float, settings: SessionSettings = DEFAULTS, first_sequence: int = 0
    ) -> None:
        """`session_id` is unpredictable and not 0: who knows it can take the session over."""
        super().__init__(SERVER_STEPS, True, settings, now, first_sequence)
        self._adopt(session_id)
        self._counted = first_sequence
        # Calls that are not answered: most are before the next comes, so that the set of earlier ones stays empty.
        self._latest_call = NONE
        self._unanswered: set[int] = set()
        self._calls_are_answered = settings.calls_are_answered
        self.callbacks = 0
        """That were sent."""
        self.last_callback = b""
        """The payload of the last one, or how it begins; whoever looks at it may empty it."""

    # Starting and resuming

    def accept(self, greeting: Greeting, now: float) -> int:
        """Answer CTRL_NEW_SESSION; returns the reason given.  After any but 0, send what is outgoing and close."""
        if greeting.is_resume or self.state is not _NEW:
            raise SessionMisuse(f"a session that is {self.state.value} cannot accept this greeting")
        self.heard_at = now
        self._last_control = greeting.sequence
        reason = ACCEPTED if greeting.version == PROTOCOL_VERSION else UNSUPPORTED_VERSION
        if reason == ACCEPTED:
            self._step(SessionStep.ACCEPT, "")
        else:
            said = f"protocol version {greeting.version} instead of {PROTOCOL_VERSION}"
            self._step(SessionStep.REFUSE, f"{NEW_SESSION_REASONS[reason]}: the client speaks {said}")
        self._put(NEW_SESSION_STATUS, self._number, NONE, pack_one(reason))
        return reason

    def resume(self, greeting: Greeting, now: float) -> int:
        """Answer CTRL_RESUME_REQUEST; returns the status given.

        Whatever it is, close the old connection, if it still looked open, and feed nothing more from it.  After 0, outgoing
        frames go to the new one; after any other, send them there, close it, and forget the session: the client gives up.
        """
        self._close_bundle()
        self._outgoing = []
        self._outgoing_bytes = 0
        if self.state is _TERMINATED:
            self._outgoing = [refuse_resume(greeting.session_id, INVALID_SESSION)]
            return INVALID_SESSION
        if greeting.session_id != self.session_id:
            raise SessionMisuse("a greeting came to a session with another id")
        self.frame.reset()
        status = self._judge(greeting)
        if status != RESUMED:
            self._send_control(RESUME_STATUS, pack_two(status, self.last_received))
            self._step(SessionStep.REFUSE, f"the session could not be resumed: {RESUME_STATUSES[status]}")
            return status
        self._step(SessionStep.RESUME, "")
        self.heard_at = now
        self._send_control(RESUME_STATUS, pack_two(RESUMED, self.last_received))
        self._outgoing += self._history.replay(greeting.last_received)
        return RESUMED

    def judge(self, greeting: Greeting) -> int:
        """The status `resume` would give; nothing changes."""
        return INVALID_SESSION if self.state is _TERMINATED else self._judge(greeting)

    def _judge(self, greeting: Greeting) -> int:
        received = greeting.last_received
        available = greeting.oldest_available
        if received != NONE and (received < 0 or (self._number - received) & LAST_NUMBER >= HALF):
            return OTHER
        if available != NONE and available < 0:
            return OTHER
        if not self._history.covers(received):
            return NOT_ENOUGH_BUFFERED
        seen = self._last_control
        if self.last_received != NONE and is_later(self.last_received, seen):
            seen = self.last_received
        if available != NONE and is_later(available, following(seen)):
            return NOT_ENOUGH_BUFFERED
        return RESUMED

    # Frames

    def next(self) -> bool:
        if not super().next():
            return False
        frame = self.frame
        if frame.type == CALL_REQUEST:
            if self._calls_are_answered:
                if self._latest_call != NONE:
                    self._unanswered.add(self._latest_call)
                self._latest_call = frame.sequence
        else:
            self._history.acknowledge(frame.answers)
        return True

    def send_call_response(self, call: int, payload: bytes) -> int:
        """Answer a call, once: a client that gets a second answer stops reading."""
        if self._calls_are_answered and self._open:
            if call == self._latest_call:
                self._latest_call = NONE
            elif call in self._unanswered:
                self._unanswered.remove(call)
            else:
                raise SessionMisuse(f"call {call} has been answered, or was never made")
        return self._send_answer(CALL_RESPONSE, call, payload)

    def is_unanswered(self, call: int) -> bool:
        return call == self._latest_call or call in self._unanswered

    @property
    def unacknowledged(self) -> int:
        """How many HLA frames the client has not said to have received, of those that are kept."""
        return len(self._history) + self._writer.frames

    def send_callback(self, payload: bytes) -> int:
        self.callbacks += 1
        self.last_callback = payload
        return self._send(CALLBACK_REQUEST, payload)

    def send_callback_spliced(self, head: bytes, shared: bytes, tail: bytes) -> int:
        """A callback whose payload is these three, one behind the other."""
        if not self._open:
            return self._let_fall(CALLBACK_REQUEST)
        self.callbacks += 1
        self.last_callback = head
        number = self._number = (self._number + 1) & LAST_NUMBER
        writer = self._writer
        size = HEADER_SIZE + len(head) + len(shared) + len(tail)
        writer.head(size, number, self._signed_id, self.last_received, CALLBACK_REQUEST)
        writer.write(head)
        writer.write(shared)
        writer.write(tail)
        if writer.size > self._bundle_bytes or writer.frames >= self._bundle_frames:
            self._close_bundle()
        return number

    def take_count(self) -> int:
        """How many frames have got a number since this was last asked."""
        count = (self._number - self._counted) & LAST_NUMBER
        self._counted = self._number
        return count

    @property
    def waiting_bytes(self) -> int:
        """How much has been written since `take_outgoing`, or since so much was that it is a bundle."""
        return self._writer.size

    @property
    def untaken_bytes(self) -> int:
        """How much waits for `take_outgoing`."""
        return self._writer.size + self._outgoing_bytes

    def _control_frame(self, kind: int) -> None:
        self._check_control()
        if kind == HEARTBEAT:
            self._send_control(HEARTBEAT_RESPONSE, pack_one(self.frame.sequence))
        elif kind == TERMINATE_SESSION:
            self._send_control(SESSION_TERMINATED, b"")
            self._step(SessionStep.TERMINATE, "the client terminated it")
        else:
            raise ProtocolError(
                f"the client sent {type_name(kind)} in a running session; it begins a connection"
            )

    # Time

    def next_deadline(self) -> float:
        """When to call `tick`; never, if that is infinity."""
        if self.state is _DROPPED:
            return self.dropped_at + self.settings.reconnect
        if self.state is _TERMINATED:
            return FOREVER
        return self.heard_at + self.settings.silence

    def tick(self, now: float) -> list[Action]:
        if now < self.next_deadline():
            return []
        if self.state is _DROPPED:
            self._step(
                SessionStep.EXPIRE, f"the client did not resume it within {self.settings.reconnect:g} s"
            )
            return [Action.END]
        if self.state is _NEW:
            self.discard("the client never began it")
            return [Action.CLOSE, Action.END]
        self._lose(SessionStep.FALL_SILENT, "", now)
        return [Action.CLOSE]
