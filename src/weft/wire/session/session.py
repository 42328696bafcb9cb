"""The session layer of the Federate Protocol, without I/O: what both sides of a session have in common.

Bytes go in with `feed`, HLA frames come out with `next`; frames to be sent gather until `take_outgoing` is called, once per turn
of the host's loop.  Clocks belong to the host: it passes `now` in, asks `next_deadline` how long it may sleep, and calls `tick`
then, or whenever it likes.

    session.feed(data, now)
    while session.next():
        frame = session.frame                      # type, sequence, answers, payload
    connection.writelines(session.take_outgoing(now))

Rules (states in `session.state`):

1. Every frame takes the next number of its sender, control frames too; only RESUME_REQUEST stands outside.
2. Only HLA frames are acknowledged, kept and sent again, with their numbers and bytes unchanged.  So after a resume numbers
   have gaps, and whatever is not later than the last HLA frame received has been received before: it is dropped without a word.
3. A frame counts as received when `next` has given it to the host.  What was fed and not taken when the connection broke
   will be sent again by the peer.
4. An acknowledgement the peer cannot mean (never sent, older than an earlier one) is ignored.  Clients stamp it when they
   queue a frame, so older ones are nothing strange.
5. A ProtocolError ends the session: the peer cannot be trusted to resume it.  The host sends what is outgoing, then closes.

Frames that are sent between two calls of `take_outgoing` make a bundle: they go out together and are kept together.  A bundle
is also closed when it has grown to an eighth of what the history holds, so that the history can let go of it piece by piece.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Final, NoReturn

from weft.wire.errors import ProtocolError
from weft.wire.session.frames import (
    CALLBACK_RESPONSE,
    FIRST_HLA_TYPE,
    HALF,
    HEADER_SIZE,
    LAST_NUMBER,
    NONE,
    FrameReader,
    FrameWriter,
    is_later,
    pack_header,
    signed,
    type_name,
    unsigned,
)
from weft.wire.session.history import Bundle, FrameHistory
from weft.wire.session.state import SessionMisuse, SessionSettings, SessionStep, State

if TYPE_CHECKING:
    from mypy_extensions import i64
# Looked up once: the attribute of an Enum costs more than the rest of what these are used in.
_NEW: Final = State.NEW
_RUNNING: Final = State.RUNNING
_DROPPED: Final = State.DROPPED
_RESUMING: Final = State.RESUMING
_TERMINATING: Final = State.TERMINATING
_TERMINATED: Final = State.TERMINATED


_BUNDLE: Final = 256 << 10  # bytes


class FrameSession(metaclass=ABCMeta):
    """One side of a session; see ServerSession and ClientSession."""

    def __init__(
        self,
        steps: dict[State, dict[SessionStep, State]],
        is_server: bool,
        settings: SessionSettings,
        now: float,
        first_sequence: int,
    ) -> None:
        self.state = _NEW
        self.settings = settings
        self.frame = FrameReader(is_server, settings.max_frame, settings.skips_large)
        self.last_received = NONE
        """The number of the last HLA frame received: calls and callback responses, or the other two."""
        self.ending = ""
        """Why the session is over, once it is."""
        self._signed_id: i64 = 0
        self._steps = steps
        self._peer = "client" if is_server else "server"
        self._history = FrameHistory(first_sequence, settings.history_frames, settings.history_bytes)
        self._writer = FrameWriter()  # HLA frames, until they are taken
        self._bundle_frames = max(1, settings.history_frames // 8)
        self._bundle_bytes = min(_BUNDLE, settings.history_bytes // 8)
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0  # of HLA frames
        self._number = first_sequence
        self._last_control = NONE
        self._acknowledgement = NONE
        self.heard_at = now
        self.dropped_at = now
        """Since when there is no connection, if there is none."""
        self._open = False
        self._connected = False

    @property
    def session_id(self) -> int:
        return unsigned(self._signed_id)

    @property
    def unacknowledged_bytes(self) -> int:
        """How much is kept to be sent again."""
        return self._history.size + self._writer.size

    # The host's side of the connection

    def feed(self, data: bytes, now: float) -> None:
        """Take what the connection brought.  Call `next` until it says False before feeding more.

        Without a connection there is nothing to take: what is fed then is left over from the last one, and ignored.
        """
        if self.state is not _DROPPED and self.state is not _TERMINATED:
            self.heard_at = now
            self.frame.feed(data)

    def next(self) -> bool:
        """Is there another HLA frame?  Then `frame` holds it.  Control frames are dealt with on the way."""
        frame = self.frame
        if self.state is _TERMINATED:
            frame.reset()
            return False
        try:
            while frame.next():
                kind = frame.type
                number = frame.sequence
                if kind < FIRST_HLA_TYPE:
                    self._control_frame(kind)
                    if not self._connected:
                        return False
                    continue
                if frame.signed_id != self._signed_id or number < 0 or not self._connected:
                    self._refuse_frame()
                if frame.last_received != self._acknowledgement:
                    self._acknowledge()
                if kind == CALLBACK_RESPONSE and frame.answers == NONE:
                    return True  # it has the number of the callback, and none in the sender's own sequence
                last = self.last_received
                if last != NONE and not 0 < (number - last) & LAST_NUMBER < HALF:
                    continue
                self.last_received = number
                return True
        except ProtocolError as error:
            self._fault(str(error))
            raise
        return False

    def take_outgoing(self, now: float) -> list[bytes]:
        """All frames to be sent now, in parts that follow one another."""
        self._close_bundle()
        outgoing = self._outgoing
        self._outgoing = []
        self._outgoing_bytes = 0
        return outgoing

    def connection_lost(self, now: float, gone: float = 0.0) -> None:
        """The connection broke, or (client) could not be opened.

        Only the present one: say nothing of a connection closed because of Action.CLOSE or replaced by a resume.
        `gone`: for how long the peer had shown no sign of life by then; that counts as time of the loss.
        """
        running = self.state is _RUNNING
        self._lose(SessionStep.LOSE, f"the connection to the {self._peer} was lost", now)
        if running:
            self.dropped_at = min(self.dropped_at, now - gone)

    def discard(self, why: str) -> None:
        """End the session on this side; nothing is sent."""
        self._writer.take()
        self._outgoing = []
        self._outgoing_bytes = 0
        self._step(SessionStep.DISCARD, why)

    # Receiving

    @abstractmethod
    def _control_frame(self, kind: int) -> None:
        """Take one that is no call, callback or answer."""

    def _check_control(self) -> None:
        """A control frame of a running session: whose is it, and what does it acknowledge?"""
        frame = self.frame
        if frame.signed_id != self._signed_id or frame.sequence < 0 or not self._connected:
            self._refuse_frame()
        self._acknowledge()
        if self._last_control == NONE or is_later(frame.sequence, self._last_control):
            self._last_control = frame.sequence

    def _acknowledge(self) -> None:
        self._acknowledgement = self.frame.last_received
        self._history.acknowledge(self._acknowledgement)

    def _refuse_frame(self) -> NoReturn:
        frame = self.frame
        name = type_name(frame.type)
        if not self._connected:
            raise ProtocolError(f"the {self._peer} sent {name} while the session was {self.state.value}")
        if frame.signed_id != self._signed_id:
            raise ProtocolError(
                f"the {self._peer} sent {name} with another session's id"  # ids are secrets: not in a message
            )
        raise ProtocolError(
            f"the {self._peer} sent {name} with number {frame.sequence}; expected 0 to {LAST_NUMBER}"
        )

    def _fault(self, why: str) -> None:
        self._step(SessionStep.FAULT, why)

    # Sending

    def _send(self, kind: int, payload: bytes) -> int:
        if not self._open:
            return self._let_fall(kind)
        number = self._number = (self._number + 1) & LAST_NUMBER
        writer = self._writer
        writer.head(HEADER_SIZE + len(payload), number, self._signed_id, self.last_received, kind)
        writer.write(payload)
        if writer.size > self._bundle_bytes or writer.frames >= self._bundle_frames:
            self._close_bundle()
        return number

    def _send_answer(self, kind: int, answers: int, payload: bytes) -> int:
        if not self._open:
            return self._let_fall(kind)
        number = self._number = (self._number + 1) & LAST_NUMBER
        writer = self._writer
        writer.head(HEADER_SIZE + 4 + len(payload), number, self._signed_id, self.last_received, kind)
        writer.answers(answers)
        writer.write(payload)
        if writer.size > self._bundle_bytes or writer.frames >= self._bundle_frames:
            self._close_bundle()
        return number

    def _close_bundle(self) -> None:
        """What was written is sent with the next `take_outgoing`, if there is a connection, and kept in any case."""
        writer = self._writer
        frames = writer.frames
        if frames:
            size = writer.size
            parts = writer.take()
            if self._connected:
                self._outgoing += parts
                self._outgoing_bytes += size
            self._history.append(Bundle(parts, self._number, frames, size))

    def _let_fall(self, kind: int) -> int:
        if self.state is _NEW:
            raise SessionMisuse(f"{type_name(kind)} was to be sent before the session was accepted")
        return NONE

    def _send_control(self, kind: int, payload: bytes) -> int:
        self._close_bundle()
        number = self._number = (self._number + 1) & LAST_NUMBER
        self._put(kind, number, self.last_received, payload)
        return number

    def _put(self, kind: int, number: int, last_received: int, payload: bytes) -> None:
        head = pack_header(HEADER_SIZE + len(payload), number, self._signed_id, last_received, kind)
        self._outgoing.append(head + payload)

    # States

    def _step(self, step: SessionStep, why: str) -> None:
        state = self._steps[self.state].get(step)
        if state is None:
            raise SessionMisuse(f"{step.value}: this cannot happen to a session that is {self.state.value}")
        self._close_bundle()
        if state is _TERMINATED and self.state is not _TERMINATED:
            self.ending = why
            self._history.clear()
        self.state = state
        self._connected = state is _RUNNING or state is _TERMINATING
        self._open = state in (_RUNNING, _DROPPED, _RESUMING)

    def _lose(self, step: SessionStep, why: str, now: float) -> None:
        """Nothing of the old connection is left: neither half a frame, nor what was about to be sent on it."""
        if self.state is _RUNNING:
            self.dropped_at = now
        self._step(step, why)
        self.frame.reset()
        self._outgoing = []
        self._outgoing_bytes = 0

    def _adopt(self, session_id: int) -> None:
        if not 0 < session_id < 1 << 64:
            raise SessionMisuse(f"session id {session_id}; expected 1 to 2^64-1")
        self._signed_id = signed(session_id)
