"""The states of a session, and what leads from one to another.

A session outlives its connections: it is made on the first one, and goes on on another when that breaks.

    NEW          the client has asked, the server has not answered
    RUNNING      there is a connection, and HLA frames go both ways
    DROPPED      the connection broke; HLA frames are kept to be sent on the next one
    RESUMING     (client) there is a new connection, and the server has not said yet whether it goes on
    TERMINATING  (client) the end has been asked for and not been confirmed
    TERMINATED   over; whatever happens now changes nothing

The tables are all there is: a step that is not in the row of the present state is a mistake of this program's (the peer's
mistakes are the step FAULT), and raises SessionMisuse.  Sending is allowed in RUNNING, DROPPED and RESUMING, where the frame
is at least kept; in TERMINATING and TERMINATED what is sent is let fall, since nobody is left to read it; in NEW it is a misuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from weft.model.errors import SettingsError, WeftError
from weft.wire.session.frames import HEADER_SIZE, LAST_NUMBER

PROTOCOL_VERSION: Final = 1

# Reasons of NEW_SESSION_STATUS.  Every other value makes a client reject the frame.
ACCEPTED: Final = 0
UNSUPPORTED_VERSION: Final = 1
OUT_OF_RESOURCES: Final = 2
OTHER: Final = 99
NEW_SESSION_REASONS: Final = {
    ACCEPTED: "success",
    UNSUPPORTED_VERSION: "unsupported protocol version",
    OUT_OF_RESOURCES: "out of resources",
    OTHER: "other",
}

# Statuses of RESUME_STATUS; 99 here, too, and no others.
RESUMED: Final = 0
INVALID_SESSION: Final = 1
NOT_ENOUGH_BUFFERED: Final = 2
RESUME_STATUSES: Final = {
    RESUMED: "OK to resume",
    INVALID_SESSION: "invalid session",
    NOT_ENOUGH_BUFFERED: "not enough buffered messages",
    OTHER: "other",
}

FOREVER: Final = float("inf")


class SessionMisuse(WeftError):
    """The program that drives a session did what its state does not allow."""


class State(Enum):
    NEW = "new"
    RUNNING = "running"
    DROPPED = "dropped"
    RESUMING = "resuming"
    TERMINATING = "terminating"
    TERMINATED = "terminated"


class SessionStep(Enum):
    ACCEPT = "the server accepts the new session"
    REFUSE = "the server refuses to start or to resume it"
    LOSE = "the connection is lost"
    FALL_SILENT = "nothing has been heard for too long"
    RECONNECT = "the client has a new connection"
    RESUME = "the session goes on on a new connection"
    EXPIRE = "it has been dropped for too long"
    TERMINATE = "the client asks for the end"
    CONFIRM = "the server confirms the end"
    DISCARD = "this side ends it without a word"
    FAULT = "the peer broke the protocol"


class Action(Enum):
    """What the host has to do after `tick`."""

    FLUSH = "take the outgoing frames and send them"
    CLOSE = "close the connection, if there still is one"
    CONNECT = "open a new connection, then call `resume`; or `connection_lost` if that fails"
    END = "the session is over: forget it, and on a server resign its federate"


_ALWAYS_OVER: Final = dict.fromkeys(SessionStep, State.TERMINATED)
_OVER: Final = {SessionStep.DISCARD: State.TERMINATED, SessionStep.FAULT: State.TERMINATED}

CLIENT_STEPS: Final[dict[State, dict[SessionStep, State]]] = {
    State.NEW: {
        SessionStep.ACCEPT: State.RUNNING,
        SessionStep.REFUSE: State.TERMINATED,
        SessionStep.LOSE: State.TERMINATED,
        SessionStep.FALL_SILENT: State.TERMINATED,
        SessionStep.TERMINATE: State.TERMINATED,
        **_OVER,
    },
    State.RUNNING: {
        SessionStep.LOSE: State.DROPPED,
        SessionStep.FALL_SILENT: State.DROPPED,
        SessionStep.TERMINATE: State.TERMINATING,
        SessionStep.CONFIRM: State.TERMINATED,
        **_OVER,
    },
    State.DROPPED: {
        SessionStep.LOSE: State.DROPPED,
        SessionStep.RECONNECT: State.RESUMING,
        SessionStep.EXPIRE: State.TERMINATED,
        SessionStep.TERMINATE: State.TERMINATED,
        **_OVER,
    },
    State.RESUMING: {
        SessionStep.RESUME: State.RUNNING,
        SessionStep.REFUSE: State.TERMINATED,
        SessionStep.LOSE: State.DROPPED,
        SessionStep.FALL_SILENT: State.DROPPED,
        SessionStep.EXPIRE: State.TERMINATED,
        SessionStep.TERMINATE: State.TERMINATED,
        **_OVER,
    },
    State.TERMINATING: {
        SessionStep.CONFIRM: State.TERMINATED,
        SessionStep.LOSE: State.TERMINATED,
        SessionStep.FALL_SILENT: State.TERMINATED,
        SessionStep.TERMINATE: State.TERMINATING,
        **_OVER,
    },
    State.TERMINATED: _ALWAYS_OVER,
}

SERVER_STEPS: Final[dict[State, dict[SessionStep, State]]] = {
    State.NEW: {
        SessionStep.ACCEPT: State.RUNNING,
        SessionStep.REFUSE: State.TERMINATED,
        SessionStep.LOSE: State.TERMINATED,
        **_OVER,
    },
    State.RUNNING: {
        SessionStep.LOSE: State.DROPPED,
        SessionStep.FALL_SILENT: State.DROPPED,
        SessionStep.RESUME: State.RUNNING,  # the old connection only looked open
        SessionStep.REFUSE: State.TERMINATED,
        SessionStep.TERMINATE: State.TERMINATED,
        **_OVER,
    },
    State.DROPPED: {
        SessionStep.LOSE: State.DROPPED,
        SessionStep.RESUME: State.RUNNING,
        SessionStep.REFUSE: State.TERMINATED,
        SessionStep.EXPIRE: State.TERMINATED,
        **_OVER,
    },
    State.TERMINATED: _ALWAYS_OVER,
}


@dataclass(frozen=True)
class SessionSettings:
    """Limits in frames and bytes, times in seconds."""

    max_frame: int = 64 << 20
    """The largest frame accepted, header included."""
    skips_large: bool = False
    """(server) A larger call does not end the session: the host refuses it (`FrameReader.excess`)."""
    history_frames: int = 1 << 16
    history_bytes: int = 64 << 20
    """What is kept to be sent again; a peer that misses more cannot resume."""
    heartbeat: float = 60.0
    """(client) A heartbeat is sent when nothing else has been for so long.  FED_INT_HEART."""
    silence: float = 180.0
    """A connection on which nothing has been heard for so long counts as lost.  FED_TIMEOUT_HEART."""
    reconnect: float = 600.0
    """How long a dropped session is kept.  FED_TIMEOUT_RECONNECT."""
    retry: float = 5.0
    """(client) How long from one attempt to reconnect to the next."""
    acknowledge_bytes: int = 1 << 18
    """(client) A heartbeat is sent, for its acknowledgement, when so much has been received and nothing sent."""
    calls_are_answered: bool = True
    """(server) Each call is answered once, and a second answer is a misuse.  False on a link, where calls need none."""

    def __post_init__(self) -> None:
        if not HEADER_SIZE + 8 <= self.max_frame <= LAST_NUMBER:
            raise SettingsError(f"max_frame is {self.max_frame}; it must be from 32 to 2147483647 bytes")
        if not 1 <= self.history_frames <= 1 << 24:
            raise SettingsError(f"history_frames is {self.history_frames}; it must be from 1 to 16777216")
        if self.history_bytes < 1 or self.acknowledge_bytes < 1:
            raise SettingsError("history_bytes and acknowledge_bytes must be at least 1")
        if not min(self.heartbeat, self.silence, self.reconnect, self.retry) > 0:
            raise SettingsError("heartbeat, silence, reconnect and retry must be more than 0 seconds")
