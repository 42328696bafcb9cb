"""Basic representations, characters, enumerations: everything that is one leaf."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import SupportsIndex

from weft.fom.encoding.blocks import block_codec
from weft.fom.encoding.codec import Codec
from weft.fom.encoding.misfit import Misfit, shown, wanted
from weft.fom.encoding.shape import Leaf
from weft.model.errors import EncodingError

_INTEGER_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
FLOAT_CODES = {2: "e", 4: "f", 8: "d"}


def leaf_codec(name: str, leaf: Leaf) -> Codec:
    return block_codec(name, leaf, leaf.python_type)


def integer_leaf(size: int, *, signed: bool, little: bool = False) -> Leaf:
    """An integer of `size` octets; odd sizes align as the next power of two."""
    half = 1 << (size * 8 - 1)
    low, high = (-half, half - 1) if signed else (0, 2 * half - 1)
    boundary = 1 << (size - 1).bit_length()
    code = _INTEGER_CODES.get(size)
    if code is None:
        pack, unpack = _wide(size, signed, little)
        return Leaf(f"{size}s", size, boundary, "", "an integer", "int", low, high, pack, unpack)
    order = "" if size == 1 else "<" if little else ">"
    return Leaf(code if signed else code.upper(), size, boundary, order, "an integer", "int", low, high)


def float_leaf(size: int, *, little: bool = False) -> Leaf:
    return Leaf(FLOAT_CODES[size], size, size, "<" if little else ">", "a number", "float")


def _wide(
    size: int, signed: bool, little: bool
) -> tuple[Callable[[SupportsIndex], bytes], Callable[[bytes], int]]:
    order = "little" if little else "big"

    def pack(value: SupportsIndex) -> bytes:
        number = operator.index(value)
        try:
            return number.to_bytes(size, "little" if little else "big", signed=signed)
        except OverflowError:
            raise Misfit(f"{shown(value)} is out of range for {size * 8} bits, {order}-endian") from None

    def unpack(data: bytes) -> int:
        return int.from_bytes(data, "little" if little else "big", signed=signed)

    return pack, unpack


# --- characters and octet strings -------------------------------------------------------------------------


def _pack_ascii(value: object) -> bytes:
    if not isinstance(value, str) or len(value) != 1:
        raise wanted("one ASCII character", value)
    return ascii_octets(value)


def ascii_octets(value: object) -> bytes:
    if not isinstance(value, str):
        raise wanted("text", value)
    try:
        return value.encode("ascii")
    except UnicodeEncodeError as error:
        raise Misfit(f"{shown(value[error.start])} at {error.start} is not ASCII") from None


def ascii_text(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise Misfit(f"octet {data[error.start]:#04x} at {error.start} is not ASCII") from None


def utf16_octets(value: object) -> bytes:
    """UTF-16BE; a lone surrogate passes, since peers send single code units."""
    if not isinstance(value, str):
        raise wanted("text", value)
    return value.encode("utf-16-be", "surrogatepass")


def utf16_text(data: bytes) -> str:
    return data.decode("utf-16-be", "surrogatepass")


def _pack_unicode(value: object) -> bytes:
    data = utf16_octets(value)
    if len(data) != 2:
        raise wanted("one UTF-16 character", value)
    return data


OCTET = integer_leaf(1, signed=False)
"""HLAoctet; this very object marks an element whose arrays are bytes (an unsigned integer's are lists)."""

ASCII_CHARACTER = Leaf("c", 1, 1, "", "one ASCII character", "str", pack=_pack_ascii, unpack=ascii_text)
UNICODE_CHARACTER = Leaf("2s", 2, 2, "", "one UTF-16 character", "str", pack=_pack_unicode, unpack=utf16_text)


def octet_string(value: object) -> bytes:
    """Opaque data: bytes, or a list of octets."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            raise wanted("octets", value) from None
    raise wanted("bytes", value)


# --- enumerations -----------------------------------------------------------------------------------------


class _Numbers(dict[object, int]):
    """Enumerator name or number to number; any number is taken, an unknown name is not."""

    def __missing__(self, key: str | SupportsIndex) -> int:
        if isinstance(key, str):
            names = ", ".join(name for name in self if isinstance(name, str))
            raise Misfit(f"{key!r} is none of the enumerators {shortened(names)}")
        try:
            return operator.index(key)
        except TypeError:
            raise wanted("an enumerator's name or number", key) from None


class _Names(dict[int, object]):
    """Number to enumerator name; a number nobody named stays a number, so nothing is lost."""

    def __missing__(self, key: int) -> object:
        return key


def shortened(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def enumerated_leaf(name: str, base: Leaf, enumerators: Mapping[str, tuple[int, ...]]) -> Leaf:
    """A leaf that takes names or numbers and gives names; false/true enumerations give bool."""
    if base.low is None or base.high is None:
        raise EncodingError(f"{name}: an enumeration needs an integer representation")
    for enumerator, values in enumerators.items():
        for value in values:
            if not base.low <= value <= base.high:
                raise EncodingError(f"{name}.{enumerator}: {value} is out of range {base.low}..{base.high}")
    if is_boolean(enumerators):
        return _boolean_leaf(base, enumerators)
    numbers = _Numbers({enumerator: values[0] for enumerator, values in enumerators.items() if values})
    names = _Names()
    for enumerator, values in enumerators.items():
        for value in values:
            names.setdefault(value, enumerator)
    return _translated(
        base, numbers.__getitem__, names.__getitem__, "str | int", "an enumerator's name or number"
    )


def enumeration_codec(name: str, base: Codec, enumerators: Mapping[str, tuple[int, ...]]) -> Codec:
    if not isinstance(base.shape, Leaf):
        raise EncodingError(f"{name}: {base.name} cannot represent an enumeration")
    return leaf_codec(name, enumerated_leaf(name, base.shape, enumerators))


def is_boolean(enumerators: Mapping[str, tuple[int, ...]]) -> bool:
    """HLAboolean, and its like under other names: exactly false (0) and true (1)."""
    plain = {name.lower().removeprefix("hla"): values for name, values in enumerators.items()}
    return plain == {"false": (0,), "true": (1,)}


def _boolean_leaf(base: Leaf, enumerators: Mapping[str, tuple[int, ...]]) -> Leaf:
    numbers: dict[object, int] = {False: 0, True: 1} | {
        name: values[0] for name, values in enumerators.items()
    }

    def pack(value: object) -> int:
        try:
            return numbers[value]
        except (KeyError, TypeError):
            raise wanted("a boolean", value) from None

    def unpack(number: int) -> bool:
        if number not in (0, 1):
            raise Misfit(f"{number} is not a boolean")
        return number == 1

    return _translated(base, pack, unpack, "bool", "a boolean")


def _translated(
    base: Leaf,
    pack: Callable[[object], object],
    unpack: Callable[..., object],
    python_type: str,
    expects: str,
) -> Leaf:
    """`base` with a translation on top; one that already translates (24-bit integers) is composed."""
    inner_pack, inner_unpack = base.pack, base.unpack
    if inner_pack is not None and inner_unpack is not None:
        outer_pack, outer_unpack, narrow, widen = pack, unpack, inner_pack, inner_unpack
        pack = lambda value: narrow(outer_pack(value))  # noqa: E731
        unpack = lambda data: outer_unpack(widen(data))  # noqa: E731
    return Leaf(
        base.code,
        base.size,
        base.boundary,
        base.order,
        expects,
        python_type,
        base.low,
        base.high,
        pack,
        unpack,
    )
