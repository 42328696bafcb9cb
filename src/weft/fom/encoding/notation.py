"""The small notations inside an object model: cardinalities, enumerator ranges, what a representation means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from weft.fom.datatypes import BasicType, EnumeratedType
from weft.fom.encoding import basic
from weft.fom.encoding.arrays import LONGEST, Bounds
from weft.fom.encoding.shape import Leaf
from weft.model.errors import EncodingError

OTHER = "HLAother"
"""The alternative of every discriminant value no other alternative names."""

# A range over a plain integer is listed number by number; a discriminant has few values.
_MOST_NUMBERS = 0x10000

_RANGE = re.compile(r"\[?\s*(\S+?)\s*\.\.\s*(\S+?)\s*\]?")
_WORDS = re.compile(r"\[[^\]]*\]|[^,]+")


def dimensions(name: str, cardinality: str) -> list[Bounds]:
    """The bounds of each dimension of an array, outermost first."""
    return [_bounds(name, part.strip()) for part in _WORDS.findall(cardinality)] or [_bounds(name, "")]


def _bounds(name: str, text: str) -> Bounds:
    text = text.strip("[] ")
    if text.lower() == "dynamic":
        return Bounds()
    low, dots, high = (part.strip() for part in text.partition(".."))
    try:
        least = int(low)
        most = least if not dots else LONGEST if high.lower() == "dynamic" else int(high)
    except ValueError:
        raise EncodingError(f"{name}: cannot read the cardinality {text!r}") from None
    if not 0 <= least <= most <= LONGEST:
        raise EncodingError(f"{name}: the cardinality {text!r} is out of range")
    return Bounds(least, most)


def enumerator_values(enumerated: EnumeratedType) -> Mapping[str, tuple[int, ...]]:
    return {enumerator.name: enumerator.values for enumerator in enumerated.enumerators}


def selected(record: str, text: str, values: Mapping[str, tuple[int, ...]]) -> Iterator[int]:
    """The discriminant values an alternative's enumerators stand for; `HLAother` is not for here.

    A range runs over the enumerators in the order of their declaration.  A discriminant without enumerators is
    a plain integer, and its values are written as numbers.
    """
    for word in _WORDS.findall(text):
        match = _RANGE.fullmatch(word.strip())
        first, last = match.groups() if match else (word.strip(),) * 2
        if values:
            yield from _named(record, first, last, values)
        else:
            yield from _numbered(record, first, last)


def _named(record: str, first: str, last: str, values: Mapping[str, tuple[int, ...]]) -> Iterator[int]:
    names = list(values)
    for name in (first, last):
        if name not in values:
            raise EncodingError(f"{record}: {name} is no enumerator of the discriminant's type")
    for name in names[names.index(first) : names.index(last) + 1]:
        yield from values[name]


def _numbered(record: str, first: str, last: str) -> Iterator[int]:
    try:
        low, high = int(first), int(last)
    except ValueError:
        raise EncodingError(f"{record}: {first} is neither an enumerator nor a number") from None
    if high - low >= _MOST_NUMBERS:
        raise EncodingError(f"{record}: the range {low}..{high} is too long")
    yield from range(low, high + 1)


def representation(basic_type: BasicType) -> Leaf:
    """What a basic representation is, from its name where the name is well known, else from its description."""
    name, bits = basic_type.name, basic_type.size
    if bits <= 0 or bits % 8 or bits > 1024:
        raise EncodingError(f"{name}: a representation of {bits} bits cannot be encoded")
    size, little = bits // 8, basic_type.endian.lower() == "little"
    if name == "HLAoctet":
        return basic.OCTET
    description = f"{name} {basic_type.encoding}".lower()
    if "float" in description or "754" in description:
        if size not in basic.FLOAT_CODES:
            raise EncodingError(f"{name}: no floating-point representation of {bits} bits is known")
        return basic.float_leaf(size, little=little)
    if "unsigned" in description or "range [0" in description or "octet" in name.lower():
        return basic.integer_leaf(size, signed=False, little=little)
    if "integer" in description or "complement" in description or "signed" in description:
        return basic.integer_leaf(size, signed=True, little=little)
    raise EncodingError(f"{name}: unknown encoding {basic.shortened(basic_type.encoding)!r}")
