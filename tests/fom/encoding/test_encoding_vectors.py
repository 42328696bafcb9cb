"""Byte vectors worked out by hand from the alignment rules of IEEE 1516.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from weft.fom import encoding as e
from weft.fom.encoding import Codec
from weft.model.errors import EncodingError


def octets(text: str) -> bytes:
    return bytes.fromhex(text)


PAIR = e.fixed_record({"A": e.HLAoctet, "B": e.HLAfloat64BE}, "Pair")
MIXED = e.fixed_record({"S": e.HLAASCIIstring, "N": e.HLAinteger16BE, "F": e.HLAfloat64LE}, "Mixed")
COLOUR = e.enumeration(e.HLAoctet, {"Red": 1, "Blue": 2}, "Colour")
VARIANT = e.variant_record(
    "Kind", COLOUR, {"Red": ("Level", e.HLAfloat64BE), "Blue": ("Text", e.HLAunicodeString)}, name="Variant"
)
EXTENDABLE = e.extendable_variant_record("Kind", COLOUR, {"Red": ("Level", e.HLAfloat32BE)}, "Extendable")

VECTORS: list[tuple[Codec, Any, str]] = [
    (e.HLAinteger16BE, -2, "fffe"),
    (e.HLAinteger16LE, -2, "feff"),
    (e.HLAinteger32BE, 1, "00000001"),
    (e.HLAinteger32LE, 1, "01000000"),
    (e.HLAinteger64BE, -1, "ffffffffffffffff"),
    (e.HLAinteger64LE, 2, "0200000000000000"),
    (e.HLAunsignedInteger8, 255, "ff"),
    (e.HLAunsignedInteger16BE, 65534, "fffe"),
    (e.HLAunsignedInteger16LE, 65534, "feff"),
    (e.HLAunsignedInteger32BE, 0xFFFFFFFE, "fffffffe"),
    (e.HLAunsignedInteger32LE, 0xFFFFFFFE, "feffffff"),
    (e.HLAunsignedInteger64BE, 2**64 - 1, "ffffffffffffffff"),
    (e.HLAunsignedInteger64LE, 1, "0100000000000000"),
    (e.HLAfloat32BE, 1.0, "3f800000"),
    (e.HLAfloat32LE, 1.0, "0000803f"),
    (e.HLAfloat64BE, 1.0, "3ff0000000000000"),
    (e.HLAfloat64LE, 1.0, "000000000000f03f"),
    (e.HLAoctet, 7, "07"),
    (e.HLAbyte, 255, "ff"),
    (e.HLAoctetPairBE, 0x0102, "0102"),
    (e.HLAoctetPairLE, 0x0102, "0201"),
    (e.HLAASCIIchar, "A", "41"),
    (e.HLAunicodeChar, "é", "00e9"),
    (e.HLAboolean, True, "00000001"),
    (e.HLAboolean, False, "00000000"),
    (e.HLAASCIIstring, "abc", "00000003 616263"),
    (e.HLAASCIIstring, "", "00000000"),
    (e.HLAunicodeString, "hé", "00000002 0068 00e9"),
    (e.HLAunicodeString, "😀", "00000002 d83d de00"),
    (e.HLAopaqueData, b"\x01\x02", "00000002 0102"),
    (e.HLAtoken, b"", ""),
    (e.HLAinteger64Time, 5, "0000000000000005"),
    (e.HLAfloat64Time, 1.0, "3ff0000000000000"),
    (e.HLAlogicalTime, b"", "00000000"),
    # 1 octet, 7 of padding, 8
    (PAIR, {"A": 1, "B": 1.0}, "01 00000000000000 3ff0000000000000"),
    # 4 + 3, padding to 2, 2, padding to 8 (from 10), 8
    (MIXED, {"S": "abc", "N": 1, "F": 1.0}, "00000003 616263 00 0001 000000000000 000000000000f03f"),
    # no padding after the last element, some between: 3 octets on a boundary of 2
    (
        e.fixed_array(e.fixed_record({"A": e.HLAinteger16BE, "B": e.HLAoctet}), 2),
        [{"A": 1, "B": 2}, {"A": 3, "B": 4}],
        "0001 02 00 0003 04",
    ),
    # 4 of count, 4 of padding, 8 each
    (e.variable_array(e.HLAfloat64BE), [1.0, 1.0], "00000002 00000000 3ff0000000000000 3ff0000000000000"),
    (e.variable_array(e.HLAfloat64BE), [], "00000000"),
    (e.variable_array(e.HLAASCIIstring), ["a", "b"], "00000002 00000001 61 000000 00000001 62"),
    (e.variable_array(PAIR), [{"A": 1, "B": 1.0}], "00000001 00000000 01 00000000000000 3ff0000000000000"),
    # the alternative begins at 8, the largest boundary of all alternatives, even if its own is 4
    (VARIANT, {"Kind": "Red", "Level": 1.0}, "01 00000000000000 3ff0000000000000"),
    (VARIANT, {"Kind": "Blue", "Text": "a"}, "02 00000000000000 00000001 0061"),
    (VARIANT, {"Kind": 9}, "09"),
    # discriminant, padding to 4, length, (padding to 8), alternative
    (EXTENDABLE, {"Kind": "Red", "Level": 1.0}, "01 000000 00000004 3f800000"),
    (EXTENDABLE, {"Kind": "Blue"}, "02 000000 00000000"),
    (EXTENDABLE, {"Kind": 77, e.UNKNOWN: b"\xaa\xbb"}, "4d 000000 00000002 aabb"),
    (COLOUR, "Blue", "02"),
    (COLOUR, 9, "09"),
]


@pytest.mark.parametrize(
    "codec, value, text", VECTORS, ids=lambda part: part.name if isinstance(part, Codec) else ""
)
def test_vector(codec: Codec, value: Any, text: str) -> None:
    assert codec.encode(value) == octets(text)
    assert codec.decode(octets(text)) == value
    assert codec.decode(bytearray(octets(text))) == value
    assert codec.decode(memoryview(octets(text))) == value


def test_an_extendable_discriminant_of_64_bits_pads_the_length_to_8() -> None:
    codec = e.extendable_variant_record("K", e.HLAinteger64BE, {1: ("V", e.HLAoctet)})
    assert codec.encode({"K": 1, "V": 5}) == octets("0000000000000001 00000001 00000000 05")


def test_boundaries_and_sizes() -> None:
    assert (PAIR.octet_boundary, PAIR.static_size) == (8, 16)
    assert (MIXED.octet_boundary, MIXED.static_size) == (8, None)
    assert (VARIANT.octet_boundary, EXTENDABLE.octet_boundary) == (8, 8)
    assert e.HLAASCIIstring.octet_boundary == e.HLAunicodeString.octet_boundary == 4
    assert e.variable_array(e.HLAfloat64BE).octet_boundary == 8
    assert e.fixed_array(PAIR, 100).static_size == 1600
    assert e.fixed_array(e.fixed_record({"A": e.HLAinteger16BE, "B": e.HLAoctet}), 200).static_size == 799


@dataclass
class Point:
    X: float
    Y: float


def test_records_from_objects() -> None:
    codec = e.fixed_record({"X": e.HLAfloat64BE, "Y": e.HLAfloat64BE}, "P")
    path = e.variable_array(codec)
    assert codec.encode(Point(1.0, 2.0)) == codec.encode({"X": 1.0, "Y": 2.0})
    assert path.decode(path.encode([Point(1, 2)])) == [{"X": 1.0, "Y": 2.0}]


@dataclass
class Choice:
    Kind: str
    Level: float = 0.0


def test_variants_from_objects() -> None:
    assert VARIANT.encode(Choice("Red", 1.0)) == VARIANT.encode({"Kind": "Red", "Level": 1.0})
    assert EXTENDABLE.encode(Choice("Red", 1.0)) == EXTENDABLE.encode({"Kind": "Red", "Level": 1.0})


def test_other_alternative() -> None:
    codec = e.variant_record("K", e.HLAoctet, {0: None, 1: ("A", e.HLAoctet)}, other=("B", e.HLAinteger16BE))
    assert codec.encode({"K": 0}) == b"\0"
    assert codec.encode({"K": 200, "B": 3}) == octets("c8 00 0003")
    assert codec.decode(octets("c8 00 0003")) == {"K": 200, "B": 3}


def test_padding_without_an_alternative_is_taken_at_the_end_only() -> None:
    assert VARIANT.decode(octets("09 00000000000000")) == {"Kind": 9}
    outer = e.fixed_record({"N": e.HLAoctet, "V": VARIANT}, "Outer")
    assert outer.decode(octets("05 00000000000000 09 00000000000000")) == {"N": 5, "V": {"Kind": 9}}
    with pytest.raises(EncodingError):
        VARIANT.decode(octets("09 00000000000001"))


def test_values_between_python_and_the_wire() -> None:
    assert e.HLAboolean.encode("HLAtrue") == e.HLAboolean.encode(1) == octets("00000001")
    assert e.HLAfloat64BE.encode(1) == e.HLAfloat64BE.encode(1.0)
    assert e.HLAopaqueData.encode([1, 2]) == e.HLAopaqueData.encode(bytearray(b"\1\2"))
    assert e.variable_array(e.HLAoctet).decode(octets("00000001 05")) == b"\5"
    assert e.variable_array(e.HLAunsignedInteger8).decode(octets("00000001 05")) == [5]
    assert e.fixed_array(e.HLAASCIIchar, 3).decode(b"abc") == "abc"
    assert e.HLAunicodeString.decode(octets("00000001 d83d")) == "\ud83d"


def test_what_codegen_needs_to_know() -> None:
    assert [codec.python_type for codec in (e.HLAfloat64BE, e.HLAoctet, e.HLAboolean, COLOUR, PAIR)] == [
        "float",
        "int",
        "bool",
        "str | int",
        "dict[str, Any]",
    ]
    assert e.variable_array(e.HLAfloat32BE).python_type == "list[float]"
