"""Frames: the unit of bytes of the Federate Protocol (IEEE 1516.1-2025), read and packed.

A frame is a 24-byte header and a payload; all integers are big-endian.

    offset  size  field
    0       4     size of the whole frame, header included
    4       4     number of this frame in its sender's sequence
    8       8     session id; 0 until the server has chosen one
    16      4     number of the last HLA frame received from the peer: the acknowledgement
    20      4     type

Types below 20 are control frames, which belong to the session alone.  The others are HLA frames: they carry services, whose
bytes nobody looks into here.  A call response and a callback response begin with the number of what they answer; a callback
response too short for one has none, and its number in its sender's sequence is that of the callback.

Numbers run from 0 to 2^31-1 and start again at 0, so "later" is a matter of distance: b is later than a if fewer than 2^30 steps
lead from a to b.  `NONE` stands where there is no number yet.

Every frame passes through `FrameReader.next` and `FrameWriter.head`, so they have two bodies: compiled by mypyc they use the
primitives of librt.strings, several times faster than struct; in pure Python struct is the faster one.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from weft.wire.errors import ProtocolError

try:  # noqa: SIM105
    from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i32_be, write_i64_be
except ImportError:
    pass  # pure Python does without

if TYPE_CHECKING:
    from mypy_extensions import i64

HEADER_SIZE: Final = 24
NONE: Final = -0x80000000
LAST_NUMBER: Final = 0x7FFFFFFF
HALF: Final = 0x40000000
BEGINNING: Final = 8  # bytes of the payload of a call that is too large
COPIED: Final = 4096  # bytes: a longer payload is shared rather than copied

NEW_SESSION: Final = 1
NEW_SESSION_STATUS: Final = 2
HEARTBEAT: Final = 3
HEARTBEAT_RESPONSE: Final = 4
TERMINATE_SESSION: Final = 5
SESSION_TERMINATED: Final = 6
RESUME_REQUEST: Final = 10
RESUME_STATUS: Final = 11
CALL_REQUEST: Final = 20
CALL_RESPONSE: Final = 21
CALLBACK_REQUEST: Final = 22
CALLBACK_RESPONSE: Final = 23
FIRST_HLA_TYPE: Final = 20
TYPES_END: Final = 24

# type: name, sent by the client, least payload.  Control frames have exactly that payload, but for NEW_SESSION: a later version
# of the protocol may say more in it, and has to be answered "unsupported version" all the same.
TYPES: Final[dict[int, tuple[str, bool, int]]] = {
    NEW_SESSION: ("CTRL_NEW_SESSION", True, 4),
    NEW_SESSION_STATUS: ("CTRL_NEW_SESSION_STATUS", False, 4),
    HEARTBEAT: ("CTRL_HEARTBEAT", True, 0),
    HEARTBEAT_RESPONSE: ("CTRL_HEARTBEAT_RESPONSE", False, 4),
    TERMINATE_SESSION: ("CTRL_TERMINATE_SESSION", True, 0),
    SESSION_TERMINATED: ("CTRL_SESSION_TERMINATED", False, 0),
    RESUME_REQUEST: ("CTRL_RESUME_REQUEST", True, 8),
    RESUME_STATUS: ("CTRL_RESUME_STATUS", False, 8),
    CALL_REQUEST: ("HLA_CALL_REQUEST", True, 0),
    CALL_RESPONSE: ("HLA_CALL_RESPONSE", False, 4),
    CALLBACK_REQUEST: ("HLA_CALLBACK_REQUEST", False, 0),
    CALLBACK_RESPONSE: ("HLA_CALLBACK_RESPONSE", True, 0),  # 4, but one client leaves its number out
}

_HEADER: Final = struct.Struct(">Iiqii")
_ONE: Final = struct.Struct(">i")
_TWO: Final = struct.Struct(">ii")


def following(number: int) -> int:
    return (number + 1) & LAST_NUMBER


def is_later(number: int, other: int) -> bool:
    """Does `number` come after `other`?  Neither may be NONE."""
    return 0 < (number - other) & LAST_NUMBER < HALF


def type_name(kind: int) -> str:
    known = TYPES.get(kind)
    return known[0] if known is not None else f"type {kind}"


def signed(session_id: int) -> int:
    """The 64 bits of a session id as a signed integer, the form in which headers are packed and compared."""
    return session_id - (1 << 64) if session_id >> 63 else session_id


def unsigned(signed_id: int) -> int:
    return signed_id + (1 << 64) if signed_id < 0 else signed_id


def pack_header(size: int, number: int, signed_id: i64, last_received: int, kind: int) -> bytes:
    """The header of a frame of `size` bytes in all."""
    if not NATIVE:
        return _HEADER.pack(size, number, signed_id, last_received, kind)
    writer = BytesWriter()
    write_i32_be(writer, size)
    write_i32_be(writer, number)
    write_i64_be(writer, signed_id)
    write_i32_be(writer, last_received)
    write_i32_be(writer, kind)
    return writer.getvalue()


# mypyc's functions are built-in ones, which have no code object.
NATIVE: Final[bool] = not hasattr(pack_header, "__code__")


def pack_one(number: int) -> bytes:
    return _ONE.pack(number)


def pack_two(first: int, second: int) -> bytes:
    return _TWO.pack(first, second)


def unpack_one(payload: bytes) -> int:
    """The first int32 of a payload that has at least one."""
    return int.from_bytes(payload[0:4], "big", signed=True)


def unpack_second(payload: bytes) -> int:
    return int.from_bytes(payload[4:8], "big", signed=True)


def split(data: bytes) -> list[bytes]:
    """Whole frames, one behind the other, as one bytes object for each; a WebSocket sends them so."""
    found = []
    at = 0
    while at < len(data):
        end = at + int.from_bytes(data[at : at + 4], "big")
        found.append(data[at:end])
        at = end
    return found


def number_of(frame: bytes) -> int:
    """The number of a frame in its sender's sequence."""
    return int.from_bytes(frame[4:8], "big", signed=True)


class FrameWriter:
    """Packs frames one behind the other, to be sent and kept together.

        writer.head(size, number, signed_id, last_received, kind)
        writer.write(payload)
        parts = writer.take()

    Small payloads are copied behind their heads; a large one becomes a part of its own, shared by all who send it.
    """

    def __init__(self) -> None:
        self.size = 0
        """How many bytes have been written since the last `take`."""
        self.frames = 0
        self._parts: list[bytes] = []
        if NATIVE:
            self._native = BytesWriter()
        else:
            self._plain = bytearray()

    def head(self, size: int, number: int, signed_id: i64, last_received: int, kind: int) -> None:
        """The header of a frame of `size` bytes in all."""
        self.frames += 1
        self.size += HEADER_SIZE
        if NATIVE:
            writer = self._native
            write_i32_be(writer, size)
            write_i32_be(writer, number)
            write_i64_be(writer, signed_id)
            write_i32_be(writer, last_received)
            write_i32_be(writer, kind)
        else:
            self._plain += _HEADER.pack(size, number, signed_id, last_received, kind)

    def answers(self, number: int) -> None:
        """What a response refers to, behind its header."""
        self.size += 4
        if NATIVE:
            write_i32_be(self._native, number)
        else:
            self._plain += _ONE.pack(number)

    def write(self, payload: bytes) -> None:
        size = len(payload)
        self.size += size
        if size <= COPIED:
            if NATIVE:
                self._native.write(payload)
            else:
                self._plain += payload
        else:
            self._close_part()
            self._parts.append(payload)

    def take(self) -> list[bytes]:
        """All that was written; the writer is empty afterwards."""
        self._close_part()
        parts = self._parts
        self._parts = []
        self.size = 0
        self.frames = 0
        return parts

    def _close_part(self) -> None:
        if NATIVE:
            writer = self._native
            size: i64 = len(writer)
            if size:
                self._parts.append(writer.getvalue())
                if size > COPIED:  # a burst: its memory is given back
                    self._native = BytesWriter()
                else:
                    writer.truncate(0)
        elif self._plain:
            self._parts.append(bytes(self._plain))
            self._plain.clear()


class FrameReader:
    """Takes bytes as they come and gives whole frames, one at a time, in its own attributes.

        reader.feed(data)
        while reader.next():
            reader.type, reader.sequence, reader.last_received, reader.answers, reader.payload

    `answers` is set for responses only, and NONE for a callback response without a number.  Take all frames before feeding
    more.  A frame that is not allowed raises ProtocolError as soon as its header is there, so never more than `max_frame` bytes
    and one read are held; nothing can be read after that.

    With `skips` a call that is too large is none of these: it comes as soon as it begins, with `excess`, its size, and the first
    bytes of its payload; the rest is passed over.  So it can be refused, and what follows be read.
    """

    def __init__(self, from_client: bool, max_frame: int, skips: bool = False) -> None:
        self.type = 0
        self.sequence = NONE
        self.signed_id: i64 = 0
        self.last_received = NONE
        self.answers = NONE
        self.start: i64 = 0
        """Where the payload starts in `data`, and where it ends."""
        self.end: i64 = 0
        self.excess = 0
        """The size of a call that is too large; 0 for all other frames."""
        self._skips = skips
        self._from_client = from_client
        self._max_frame = max_frame
        self._least = [0] * TYPES_END
        for kind, (_, by_client, payload) in TYPES.items():
            if by_client == from_client:
                self._least[kind] = HEADER_SIZE + payload
        self.reset()

    def reset(self) -> None:
        """Forget a half-received frame: the connection it came by is gone."""
        self.data = b""
        """What was fed last; the frame is in it until more is fed."""
        self._at: i64 = 0
        self._pieces: list[bytes] = []
        self._held = 0
        self._need = 0
        self._skip = 0  # bytes to come that are passed over

    @property
    def payload(self) -> bytes:
        return self.data[self.start : self.end]

    @property
    def held(self) -> int:
        """How many bytes wait for the rest of their frame, or to be taken."""
        return self._held + len(self.data) - self._at

    def feed(self, data: bytes) -> None:
        if self._skip:
            size: int = len(data)
            if size <= self._skip:
                self._skip -= size
                return
            data = data[self._skip :]
            self._skip = 0
        if self._held:
            self._pieces.append(data)
            self._held += len(data)
            if self._held >= self._need:
                self.data = b"".join(self._pieces)
                self._pieces = []
                self._held = 0
        elif self._at == len(self.data):
            self.data = data
            self._at = 0
        else:
            self.data = self.data[self._at :] + data
            self._at = 0

    def rest(self) -> bytes:
        """What has been fed and not been taken; the reader is empty afterwards."""
        rest = b"".join([*self._pieces, self.data[self._at :]])
        self.reset()
        return rest

    def next(self) -> bool:
        """Is there another whole frame?  Then the attributes tell of it."""
        data = self.data
        at = self._at
        room: int = len(data) - at
        if room < HEADER_SIZE:
            return self._wait(HEADER_SIZE)
        size: int
        kind: int
        if NATIVE:
            size = read_i32_be(data, at)
            self.sequence = read_i32_be(data, at + 4)
            self.signed_id = read_i64_be(data, at + 8)
            self.last_received = read_i32_be(data, at + 16)
            kind = read_i32_be(data, at + 20)
        else:
            size, self.sequence, self.signed_id, self.last_received, kind = _HEADER.unpack_from(data, at)
        if not 0 < kind < TYPES_END:
            raise self._fault(size, kind)
        least = self._least[kind]
        self.excess = 0
        if least == 0 or not least <= size <= self._max_frame:
            if self._skips and kind == CALL_REQUEST and size > self._max_frame:
                return self._too_large(size)
            raise self._fault(size, kind)
        if kind < FIRST_HLA_TYPE and size != least and kind != NEW_SESSION:
            raise self._fault(size, kind)
        if size > room:
            return self._wait(size)
        self.type = kind
        end: i64 = at + size
        if kind < CALL_RESPONSE or kind == CALLBACK_REQUEST:
            self.start = at + HEADER_SIZE
        elif size < HEADER_SIZE + 4:
            self.answers = NONE
            self.start = at + HEADER_SIZE
        else:
            if NATIVE:
                self.answers = read_i32_be(data, at + HEADER_SIZE)
            else:
                self.answers = _ONE.unpack_from(data, at + HEADER_SIZE)[0]
            self.start = at + HEADER_SIZE + 4
        self.end = end
        self._at = end
        return True

    def _too_large(self, size: int) -> bool:
        room: int = len(self.data) - self._at
        if room < HEADER_SIZE + BEGINNING:
            return self._wait(HEADER_SIZE + BEGINNING)
        taken = min(size, room)
        self.type = CALL_REQUEST
        self.excess = size
        self.start = self._at + HEADER_SIZE
        self.end = self.start + BEGINNING
        self._at += taken
        self._skip = size - taken
        return True

    def _wait(self, need: int) -> bool:
        """Set aside what is there until `need` bytes are; joined then, so a frame in many pieces is copied twice at most."""
        if not self._held:
            remains = self.data[self._at :]
            if remains:
                self._pieces.append(remains)
                self._held = len(remains)
                self._need = need
            self.data = b""
            self._at = 0
        return False

    def _fault(self, size: int, kind: int) -> ProtocolError:
        size &= 0xFFFFFFFF
        sender, other = ("client", "server") if self._from_client else ("server", "client")
        known = TYPES.get(kind)
        if known is None:
            expected = ", ".join(
                f"{number} {name}" for number, (name, by, _) in TYPES.items() if by == self._from_client
            )
            return ProtocolError(
                f"the {sender} sent a frame of unknown type {kind}; expected one of {expected}"
            )
        name, by_client, payload = known
        if by_client != self._from_client:
            return ProtocolError(f"the {sender} sent {name}, which only the {other} sends")
        least = HEADER_SIZE + payload
        if size > self._max_frame:
            return ProtocolError(
                f"the {sender} sent {name} of {size} bytes; the setting max_frame allows {self._max_frame} "
                "(on a server, limits.frame_bytes)"
            )
        exact = "exactly" if NEW_SESSION < kind < FIRST_HLA_TYPE else "at least"
        return ProtocolError(f"the {sender} sent {name} of {size} bytes; expected {exact} {least}")
