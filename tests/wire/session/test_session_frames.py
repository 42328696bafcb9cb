"""Frames: whole ones out of any pieces, and no more memory than allowed."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.wire.errors import ProtocolError
from weft.wire.session import frames
from weft.wire.session.frames import (
    COPIED,
    NONE,
    TYPES,
    FrameReader,
    FrameWriter,
    following,
    is_later,
    number_of,
    signed,
    split,
    unsigned,
)

LIMIT = 4096
NUMBERS = st.integers(0, frames.LAST_NUMBER)
IDS = st.integers(0, 2**64 - 1)


def frame(kind: int, payload: bytes = b"", number: int = 1, session_id: int = 5, last: int = NONE) -> bytes:
    return struct.pack(">IiQii", 24 + len(payload), number, session_id, last, kind) + payload


Read = tuple[int, int, int, int, int | None, bytes]


def read_all(reader: FrameReader, pieces: list[bytes]) -> list[Read]:
    found: list[Read] = []
    for piece in pieces:
        reader.feed(piece)
        while reader.next():
            answers = reader.answers if reader.type in (21, 23) else None
            head = (reader.type, reader.sequence, unsigned(reader.signed_id), reader.last_received)
            found.append((*head, answers, reader.payload))
    return found


@st.composite
def streams(draw: st.DrawFn) -> tuple[bool, list[Read], bytes]:
    from_client = draw(st.booleans())
    kinds = [kind for kind, (_, by_client, _) in TYPES.items() if by_client == from_client]
    reads: list[Read] = []
    data = b""
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(kinds))
        least = TYPES[kind][2]
        body = draw(st.binary(min_size=least, max_size=least if kind < 20 else 300))
        number, session_id, last = draw(NUMBERS), draw(IDS), draw(NUMBERS | st.just(NONE))
        data += frame(kind, body, number, session_id, last)
        is_answer = kind in (21, 23)
        answers = int.from_bytes(body[:4], "big", signed=True) if is_answer else None
        if kind == 23 and len(body) < 4:  # leaves out what it answers
            reads.append((kind, number, session_id, last, NONE, body))
            continue
        reads.append((kind, number, session_id, last, answers, body[4:] if is_answer else body))
    return from_client, reads, data


@given(streams(), st.data())
def test_any_pieces_give_the_same_frames(stream: tuple[bool, list[Read], bytes], data: st.DataObject) -> None:
    from_client, reads, raw = stream
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=30)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    reader = FrameReader(from_client, LIMIT)
    assert read_all(reader, pieces) == reads
    assert reader.held == 0
    single = FrameReader(from_client, LIMIT)
    assert read_all(single, [raw[index : index + 1] for index in range(len(raw))]) == reads


@given(streams(), st.integers(0, 3000))
def test_what_was_not_taken_is_the_rest(stream: tuple[bool, list[Read], bytes], end: int) -> None:
    from_client, _, raw = stream
    reader = FrameReader(from_client, LIMIT)
    reader.feed(raw[:end])
    if reader.next():
        size = int.from_bytes(raw[:4], "big")
        assert reader.rest() == raw[size:end]
    else:
        reader.feed(b"")
        assert reader.rest() == raw[:end]
    assert reader.held == 0


def test_feeding_before_all_is_taken_loses_nothing() -> None:
    reader = FrameReader(True, LIMIT)
    one, two, three = frame(20, b"one"), frame(20, b"two"), frame(20, b"three")
    reader.feed(one + two[:9])
    reader.feed(two[9:] + three[:5])
    assert reader.next()
    reader.feed(three[5:])
    assert [read[-1] for read in read_all(reader, [b""])] == [b"two", b"three"]


def test_a_large_frame_in_small_pieces_is_joined_once() -> None:
    """With a copy for each piece the work would grow with the square of the size."""
    raw = frame(20, bytes(1 << 20))
    reader = FrameReader(True, 2 << 20)
    pieces = [raw[index : index + 4096] for index in range(0, len(raw), 4096)]
    for count, piece in enumerate(pieces[:-1], 1):
        assert read_all(reader, [piece]) == []
        assert len(reader._pieces) == count
    assert len(read_all(reader, [pieces[-1]])) == 1


@pytest.mark.parametrize(
    "from_client, raw, told",
    [
        (
            True,
            struct.pack(">IiQii", 12, 1, 5, NONE, 20),
            "HLA_CALL_REQUEST of 12 bytes; expected at least 24",
        ),
        (True, struct.pack(">IiQii", 0, 1, 5, NONE, 20), "of 0 bytes"),
        (True, struct.pack(">IiQii", LIMIT + 1, 1, 5, NONE, 20), "max_frame allows 4096"),
        (True, struct.pack(">IiQii", 2**32 - 1, 1, 5, NONE, 20), "4294967295 bytes; the setting max_frame"),
        (True, frame(7), "unknown type 7; expected one of 1 CTRL_NEW_SESSION, 3 CTRL_HEARTBEAT"),
        (True, frame(-1), "unknown type -1"),
        (True, frame(0), "unknown type 0"),
        (False, frame(24), "unknown type 24; expected one of 2 CTRL_NEW_SESSION_STATUS"),
        (False, frame(3), "the server sent CTRL_HEARTBEAT, which only the client sends"),
        (True, frame(21, bytes(4)), "the client sent HLA_CALL_RESPONSE, which only the server sends"),
        (True, frame(3, b"x"), "CTRL_HEARTBEAT of 25 bytes; expected exactly 24"),
        (True, frame(10, bytes(7)), "CTRL_RESUME_REQUEST of 31 bytes; expected exactly 32"),
        (True, frame(1, bytes(3)), "CTRL_NEW_SESSION of 27 bytes; expected at least 28"),
        (False, frame(21, bytes(3)), "HLA_CALL_RESPONSE of 27 bytes; expected at least 28"),
    ],
)
def test_a_frame_that_is_not_allowed_is_refused_at_its_header(
    from_client: bool, raw: bytes, told: str
) -> None:
    reader = FrameReader(from_client, LIMIT)
    reader.feed(raw[:24])
    with pytest.raises(ProtocolError, match=told):
        reader.next()


def test_a_later_version_may_say_more_when_it_begins() -> None:
    reader = FrameReader(True, LIMIT)
    assert len(read_all(reader, [frame(1, bytes(40))])) == 1


@given(st.lists(st.binary(max_size=200), max_size=30), st.booleans(), st.data())
def test_nothing_but_protocol_errors_and_no_more_memory(
    noise: list[bytes], from_client: bool, data: st.DataObject
) -> None:
    """Noise between headers that make sense, so that the reader gets deep enough to wait for large frames."""
    reader = FrameReader(from_client, LIMIT)
    kinds = st.sampled_from(list(TYPES)) | st.integers(-2, 30)
    try:
        for piece in noise:
            if data.draw(st.booleans()):
                size = data.draw(st.integers(20, LIMIT + 4))
                reader.feed(struct.pack(">IiQii", size, 1, 5, NONE, data.draw(kinds)))
                while reader.next():
                    pass
            reader.feed(piece)
            while reader.next():
                pass
            assert reader.held < LIMIT
    except ProtocolError:
        assert reader.held <= LIMIT + 200


@given(NUMBERS, st.integers(1, frames.HALF - 1))
def test_later_is_a_matter_of_distance(number: int, distance: int) -> None:
    other = (number + distance) % 2**31
    assert is_later(other, number)
    assert not is_later(number, other)
    assert not is_later(number, number)
    assert is_later(following(number), number)


def test_numbers_start_again_at_zero() -> None:
    assert following(2**31 - 1) == 0


@given(IDS)
def test_session_ids_are_64_bits(session_id: int) -> None:
    assert unsigned(signed(session_id)) == session_id
    assert frames.pack_header(24, 1, signed(session_id), NONE, 3) == frame(3, session_id=session_id)
    writer = FrameWriter()
    writer.head(30, 1, signed(session_id), 8, 21)
    writer.answers(7)
    writer.write(b"ab")
    assert writer.take() == [frame(21, b"\0\0\0\7ab", session_id=session_id, last=8)]


@given(st.lists(st.tuples(NUMBERS, st.sampled_from([0, 1, 100, COPIED, COPIED + 1, 9000])), max_size=8))
def test_frames_are_written_one_behind_the_other_and_split_again(sizes: list[tuple[int, int]]) -> None:
    """A large payload is a part of its own: the very object, shared by all who send it."""
    writer = FrameWriter()
    expected = []
    for _ in range(2):  # a writer is empty after `take`
        expected = [frame(20, bytes(size), number) for number, size in sizes]
        large = []
        for number, size in sizes:
            payload = bytes(size)
            writer.head(24 + size, number, 5, NONE, 20)
            writer.write(payload)
            if size > COPIED:
                large.append(payload)
        assert (writer.frames, writer.size) == (len(sizes), sum(map(len, expected)))
        parts = writer.take()
        assert b"".join(parts) == b"".join(expected)
        assert all(any(part is payload for part in parts) for payload in large)
        assert (writer.frames, writer.size) == (0, 0)
    assert split(b"".join(expected)) == expected
    assert [number_of(each) for each in expected] == [number for number, _ in sizes]
