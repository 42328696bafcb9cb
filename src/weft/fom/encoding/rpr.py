"""The encodings that the RPR FOM adds (SISO-STD-001.1).

- RPRlengthlessArray: elements only; the array ends where the enclosing value ends.  In two records another
  array element follows, and the FOM says in prose which field holds the count: `COUNTED`.
- RPRnullTerminatedArray: elements up to one that is zero.
- RPRpaddingTo32Array, RPRpaddingTo64Array: zeros up to the boundary, no value at all.
- RPRextendedVariantRecord: see `weft.fom.encoding.variants`.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.fom.encoding.arrays import Bounds
from weft.fom.encoding.codec import PADS, Codec
from weft.fom.encoding.elements import Elements, elements_of
from weft.fom.encoding.misfit import Misfit
from weft.fom.encoding.records import CountedBy
from weft.model.errors import EncodingError

PADDING_ARRAYS = {"RPRpaddingTo32Array": 4, "RPRpaddingTo64Array": 8}

COUNTED: dict[tuple[str, str], tuple[str, Callable[[int], int]]] = {
    ("SilentEntityStruct", "EntityAppearance"): ("NumberOfAppearanceRecords", lambda count: count),
    # A spherical harmonic expansion of order N has N^2 + 2N + 1 coefficients.
    ("SphericalHarmonicAntennaStruct", "Coefficients"): ("Order", lambda order: (order + 1) ** 2),
}


def padding_codec(name: str, boundary: int) -> Codec:
    def write(out: bytearray, value: object) -> None:
        out += PADS[-len(out) & (boundary - 1)]

    def read(data: bytes, position: int) -> tuple[bytes, int]:
        return b"", position + (boundary - 1) & -boundary

    return Codec(name, write, read, boundary=1, python_type="bytes", padding=boundary)


def null_terminated_codec(name: str, element: Codec, bounds: Bounds) -> Codec:
    elements = elements_of(element)
    if elements.python_type not in ("str", "bytes") or elements.least != 1:
        raise EncodingError(
            f"{name}: RPRnullTerminatedArray is for characters and octets, not {element.name}"
        )

    def write(out: bytearray, value: object) -> None:
        count, data = elements.ready(value)
        bounds.check(count)
        if 0 in data:
            raise Misfit("a null-terminated array cannot hold a zero element")
        out += data
        out += b"\0"

    def read(data: bytes, position: int) -> tuple[object, int]:
        end = data.find(b"\0", position)
        if end < 0:
            raise Misfit("the terminating zero is missing")
        bounds.check(end - position)
        value, _ = elements.read(data, position, end - position)
        return value, end + 1

    return Codec(name, write, read, boundary=1, python_type=elements.python_type, min_size=1)


def lengthless_codec(name: str, element: Codec, bounds: Bounds) -> Codec:
    elements = elements_of(element)

    def write(out: bytearray, value: object) -> None:
        count, items = elements.ready(value)
        bounds.check(count)
        elements.write(out, items)

    def read(data: bytes, position: int) -> tuple[object, int]:
        return _read_all(elements, element, bounds, data, position)

    return Codec(name, write, read, boundary=elements.boundary, python_type=elements.python_type)


def _read_all(
    elements: Elements, element: Codec, bounds: Bounds, data: bytes, position: int
) -> tuple[object, int]:
    """Read elements to the end of the data."""
    size, left = element.static_size, len(data) - position
    if size is not None and size > 0 and size % elements.boundary == 0:
        bounds.check(left // size)
        return elements.read(data, position, left // size)
    items: list[object] = []
    while position < len(data):
        if items:
            position += -position % elements.boundary
        begin = position
        found, position = _one(elements, data, position, len(items))
        if position == begin:
            raise Misfit("elements without octets cannot be told apart", len(items))
        items.extend(found)
    bounds.check(len(items))
    return items, position


def _one(elements: Elements, data: bytes, position: int, index: int) -> tuple[list[object], int]:
    try:
        return elements.read(data, position, 1)
    except Misfit as misfit:
        if misfit.outward:
            misfit.outward[-1] = index
        raise


def counted_by(field: str, count: Callable[[int], int], element: Codec) -> CountedBy:
    """A lengthless array whose length another field of its record gives."""
    elements = elements_of(element)

    def write(out: bytearray, value: object, wanted: int) -> None:
        got, items = elements.ready(value)
        if got != wanted:
            raise Misfit(f"{field} calls for {wanted} elements, got {got}")
        elements.write(out, items)

    def read(data: bytes, position: int, wanted: int) -> tuple[object, int]:
        elements.check_room(wanted, len(data) - position)
        return elements.read(data, position, wanted)

    return CountedBy(field, count, write, read)
