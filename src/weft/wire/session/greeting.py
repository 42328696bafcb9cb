"""The first frame of a connection to a server: a new session, or an old one that goes on.

The host feeds what a new connection brings until the greeting is whole.  Then it makes a session and lets it `accept` the
greeting, or looks up the session and lets it `resume`, or sends one of the refusals below and closes.
"""

from __future__ import annotations

from typing import Final

from weft.wire.errors import ProtocolError
from weft.wire.session.frames import (
    HEADER_SIZE,
    NEW_SESSION,
    NEW_SESSION_STATUS,
    NONE,
    RESUME_REQUEST,
    RESUME_STATUS,
    FrameReader,
    pack_header,
    pack_one,
    pack_two,
    signed,
    type_name,
    unpack_one,
    unpack_second,
    unsigned,
)

# A stranger gets no more memory than this.
MAX_GREETING: Final = 256


class Greeting:
    """`is_resume` tells which of the two it is, and so which of the attributes are set."""

    def __init__(self) -> None:
        self.is_resume = False
        self.sequence = NONE
        self.version = 0
        self.acknowledged = NONE
        """What a client says to have received already, though there was nothing; it waits for the number after it."""
        self.session_id = 0
        self.last_received = NONE
        """LRR: the last HLA frame the client has received, or NONE."""
        self.oldest_available = NONE
        """OAF: from here on the client can send again, or NONE."""
        self.rest = b""
        """What came after the greeting; feed it to the session."""
        self._whole = False
        self._reader = FrameReader(True, MAX_GREETING)

    def feed(self, data: bytes) -> bool:
        """Is the greeting whole?"""
        if self._whole:
            self.rest += data
            return True
        reader = self._reader
        reader.feed(data)
        if not reader.next():
            return False
        self.session_id = unsigned(reader.signed_id)
        self.sequence = reader.sequence
        if reader.type == NEW_SESSION:
            self._new_session(reader)
        elif reader.type == RESUME_REQUEST:
            self.is_resume = True
            self.last_received = unpack_one(reader.payload)
            self.oldest_available = unpack_second(reader.payload)
        else:
            name = type_name(reader.type)
            raise ProtocolError(
                f"the client began with {name}; expected CTRL_NEW_SESSION or CTRL_RESUME_REQUEST"
            )
        self._whole = True
        self.rest = reader.rest()
        return True

    def _new_session(self, reader: FrameReader) -> None:
        self.version = unpack_one(reader.payload)
        self.acknowledged = reader.last_received
        if self.session_id != 0:
            raise ProtocolError("the client sent CTRL_NEW_SESSION with a session id; expected 0")
        if self.sequence < 0:
            raise ProtocolError(
                f"the client sent CTRL_NEW_SESSION with number {self.sequence}; expected 0 or more"
            )


def refuse_new_session(reason: int) -> bytes:
    """The frame that answers a greeting for which no session is made."""
    return pack_header(HEADER_SIZE + 4, 0, 0, NONE, NEW_SESSION_STATUS) + pack_one(reason)


def refuse_resume(session_id: int, status: int) -> bytes:
    """The frame that answers a greeting whose session is not there (any more)."""
    return pack_header(HEADER_SIZE + 8, 0, signed(session_id), NONE, RESUME_STATUS) + pack_two(status, NONE)
