"""Why a block could not be packed or unpacked.

Only called after the fast code failed, so it may take its time: it goes through the leaves one by one and
returns the first that is at fault, with its path.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from weft.fom.encoding.codec import as_fields, left_over, wrong_fields
from weft.fom.encoding.misfit import Misfit, inside, short_of, shown, wanted
from weft.fom.encoding.shape import Block, Leaf, ListShape, RecordShape, Shape, parts


def why_not_packed(shape: Shape, value: object) -> Misfit | None:
    if isinstance(shape, Leaf):
        return _leaf_misfit(shape, value)
    try:
        held = _container(shape, value)
    except Misfit as misfit:
        return misfit
    for step, part in parts(shape):
        found = why_not_packed(part, held[step])
        if found:
            inside(found, step)
            return found
    return None


def why_not_unpacked(block: Block, data: bytes, position: int, *, exact: bool) -> Misfit | None:
    """`exact`: nothing may follow the block."""
    for spot in block.spots:
        begin = position + spot.offset
        if begin + spot.leaf.size > len(data):
            found = short_of(spot.leaf.size, len(data) - begin)
        else:
            piece = data[begin : begin + spot.leaf.size]
            complaint = _leaf_complaint(spot.leaf, piece)
            if complaint is None:
                continue
            found = complaint
        found.outward.extend(reversed(spot.path))
        return found
    end = position + block.struct.size
    if end > len(data) or (exact and end != len(data)):
        return left_over(end, len(data))
    return None


def _container(shape: RecordShape | ListShape, value: object) -> dict[object, object]:
    """What is in a record by its names, or in a list by its places."""
    if isinstance(shape, ListShape):
        return dict(enumerate(_items(value, shape.count)))
    names = tuple(name for name, _ in shape.fields)
    fields = as_fields(value, names)
    ignored = tuple([name for name in fields if isinstance(name, str)])
    wrong = wrong_fields(fields, names, ignored if shape.partial else ())
    if wrong:
        raise wrong
    return fields


def _items(value: object, count: int) -> list[object]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise wanted("a list", value)
    items = list(value)
    if len(items) != count:
        raise Misfit(f"expected {count} elements, got {len(items)}")
    return items


def _leaf_misfit(leaf: Leaf, value: object) -> Misfit | None:
    try:
        packed = leaf.pack(value) if leaf.pack else value
    except Misfit as misfit:
        return misfit
    except Exception:
        return wanted(leaf.expects, value)
    try:
        struct.pack((leaf.order or ">") + leaf.code, packed)
    except Exception:
        return _out_of_range(leaf, value, packed) or wanted(leaf.expects, value)
    return None


def _out_of_range(leaf: Leaf, value: object, packed: object) -> Misfit | None:
    if leaf.low is not None and isinstance(packed, int):
        return Misfit(f"{shown(value)} is out of range {leaf.low}..{leaf.high}")
    if leaf.low is None and isinstance(packed, int | float):
        return Misfit(f"{shown(value)} is out of range for {leaf.expects} of {leaf.size * 8} bits")
    return None


def _leaf_complaint(leaf: Leaf, piece: bytes) -> Misfit | None:
    if leaf.unpack is None:
        return None
    try:
        leaf.unpack(*struct.unpack((leaf.order or ">") + leaf.code, piece))
    except Misfit as misfit:
        return misfit
    except Exception as error:
        return Misfit(f"{shown(piece)} is not {leaf.expects}: {error}")
    return None
