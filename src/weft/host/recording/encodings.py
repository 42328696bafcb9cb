"""What a Parquet file is made of (`recording.parquet`).

Encodings that numpy makes of whole columns: whatever is packed has a width of whole bytes.  And Thrift's compact protocol, as far
as headers and footers need it: a value is its type and its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.wire.protobuf import varint

Indices = NDArray[np.signedinteger]
Flags = NDArray[np.uint8] | NDArray[np.bool_]

_BLOCK = 128  # differences, in four parts: what all writers have, and readers were tried with
_PART = 32
INT32_TYPE, INT64_TYPE, TEXT_TYPE, LIST_TYPE, STRUCT_TYPE = 5, 6, 8, 9, 12


def coded(table: list[int], words: int, index: Indices) -> bytes:
    """Places in a dictionary."""
    if words <= 1:
        return b"\x08" + (varint(len(index) << 1) + b"\0" if len(index) else b"")
    size = next(size for size in (1, 2, 4) if words <= 1 << 8 * size)
    codes: bytes = np.array(table).astype(f"<u{size}").take(index).tobytes()
    groups = -(-len(index) // 8)
    padding = bytes((groups * 8 - len(index)) * size)
    return bytes([8 * size]) + varint(groups << 1 | 1) + codes + padding


def differences(values: NDArray[np.int64]) -> bytes:
    """Of numbers to those before them: blocks of a lowest one and what others are above it, all of one width."""
    steps = np.diff(values)
    if not len(steps):
        return b""
    low, high = int(steps.min()), int(steps.max())
    if low == high:
        return delta_body(len(values), low, 0, None)
    span = high - low
    size = next(size for size in (1, 2, 4, 8) if span < 1 << 8 * size)
    return delta_body(len(values), low, size, (steps - low).astype(f"<u{size}"))


def delta_head(count: int, first: int) -> bytes:
    return varint(_BLOCK) + varint(_BLOCK // _PART) + varint(count) + zigzag(first)


def delta_body(count: int, low: int, size: int, above: NDArray[np.unsignedinteger] | None) -> bytes:
    """`above`: of `size` bytes each; a size of 0: all differences are the lowest."""
    steps = count - 1
    if steps <= 0:
        return b""
    blocks = -(-steps // _BLOCK)
    low_bytes = zigzag(low)
    head = low_bytes + bytes([8 * size]) * (_BLOCK // _PART)
    if not size or above is None:
        return head * blocks
    body = np.zeros((blocks, len(head) + _BLOCK * size), np.uint8)
    body[:, : len(head)] = np.frombuffer(head, np.uint8)
    full = steps // _BLOCK
    packed = np.frombuffer(above.tobytes(), np.uint8)
    body[:full, len(head) :] = packed[: full * _BLOCK * size].reshape(full, _BLOCK * size)
    if full == blocks:
        return body.tobytes()
    rest = packed[full * _BLOCK * size :]
    body[full, len(head) : len(head) + len(rest)] = rest
    parts = -(-(steps - full * _BLOCK) // _PART)  # others are not there, and of no width
    body[full, len(low_bytes) + parts : len(head)] = 0
    return body.tobytes()[: len(body.ravel()) - (_BLOCK - parts * _PART) * size]


def lengths_of(sizes: Indices) -> bytes:
    if not len(sizes):
        return delta_head(0, 0)
    whole = sizes.astype(np.int64)
    return delta_head(len(whole), int(whole[0])) + differences(whole)


def same_levels(value: int, count: int) -> bytes:
    """The same level, so many times."""
    run = varint(count << 1) + bytes([value])
    return len(run).to_bytes(4, "little") + run


def bits(levels: Flags) -> bytes:
    """Levels of one bit."""
    return _packed_levels(np.packbits(levels, bitorder="little").tobytes(), len(levels))


def pairs(levels: NDArray[np.uint8]) -> bytes:
    """Levels of two bits."""
    if len(levels) and (levels == levels[0]).all():
        return same_levels(int(levels[0]), len(levels))
    whole = np.zeros(-(-len(levels) // 8) * 8, np.uint8)
    whole[: len(levels)] = levels
    four = whole.reshape(-1, 4)
    packed = four[:, 0] | four[:, 1] << 2 | four[:, 2] << 4 | four[:, 3] << 6
    return _packed_levels(packed.tobytes(), len(levels))


def _packed_levels(packed: bytes, count: int) -> bytes:
    run = varint(-(-count // 8) << 1 | 1) + packed
    return len(run).to_bytes(4, "little") + run


# --- Thrift ----------------------------------------------------------------------------------------


def zigzag(number: int) -> bytes:
    return varint((number << 1) ^ (number >> 63))


def int32_of(number: int) -> tuple[int, bytes]:
    return INT32_TYPE, zigzag(number)


def int64_of(number: int) -> tuple[int, bytes]:
    return INT64_TYPE, zigzag(number)


def text_of(text: bytes) -> tuple[int, bytes]:
    return TEXT_TYPE, varint(len(text)) + text


def listed(kind: int, parts: Sequence[bytes]) -> tuple[int, bytes]:
    count = len(parts)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)
    return LIST_TYPE, head + b"".join(parts)


def struct_of(*fields: tuple[int, tuple[int, bytes]], after: int = 0) -> bytes:
    """Fields by rising number.  `after`: the number of the last one of an open struct that they are to follow."""
    out = bytearray()
    before = after
    for number, (kind, content) in fields:
        out.append((number - before) << 4 | kind)
        out += content
        before = number
    out.append(0)
    return bytes(out)
