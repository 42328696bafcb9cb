"""The encodings the RPR FOM adds."""

from __future__ import annotations

import pytest

from weft.fom import (
    Alternative,
    ArrayType,
    DataType,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.encoding import UNKNOWN, Codecs
from weft.model.errors import EncodingError


def record(name: str, **fields: str) -> FixedRecordType:
    return FixedRecordType(name, "HLAfixedRecord", tuple(Field(key, kind) for key, kind in fields.items()))


def kinds() -> list[DataType]:
    return [
        SimpleType("Octet", "HLAoctet"),
        ArrayType("Id", "HLAASCIIchar", "Dynamic", "RPRnullTerminatedArray"),
        ArrayType("Tag", "HLAASCIIchar", "[8..2147483647]", "RPRnullTerminatedArray"),
        ArrayType("To32", "Octet", "Dynamic", "RPRpaddingTo32Array"),
        ArrayType("To64", "Octet", "Dynamic", "RPRpaddingTo64Array"),
        ArrayType("Bytes", "Octet", "Dynamic", "HLAvariableArray"),
        ArrayType("Numbers", "HLAinteger32BE", "Dynamic", "RPRlengthlessArray"),
        ArrayType("Some", "HLAinteger32BE", "[1..2147483647]", "RPRlengthlessArray"),
        ArrayType("Raw", "Octet", "Dynamic", "RPRlengthlessArray"),
        ArrayType("Events", "Event", "Dynamic", "RPRlengthlessArray"),
        ArrayType("Odds", "Odd", "Dynamic", "RPRlengthlessArray"),
        ArrayType("Silents", "SilentEntityStruct", "Dynamic", "RPRlengthlessArray"),
        ArrayType("Pairs", "Pair", "Dynamic", "HLAvariableArray"),
        ArrayType("Tokens", "HLAtoken", "Dynamic", "RPRlengthlessArray"),
        record("Event", count="HLAinteger16BE", issuer="Id"),
        record("Odd", number="HLAinteger16BE", octet="Octet"),
        record("Pair", handle="HLAinteger32BE", value="Bytes", PaddingTo32="To32"),
        record("Wide", small="Octet", PaddingTo64="To64", next="Octet"),
        record("SilentEntityStruct", NumberOfAppearanceRecords="HLAinteger16BE", EntityAppearance="Numbers"),
        EnumeratedType("Shape", "HLAinteger32BE", (Enumerator("Point", (1,)), Enumerator("Line", (2,)))),
        VariantRecordType(
            "Geometry",
            "Type",
            "Shape",
            (Alternative("Point", "At", "HLAfloat64BE"),),
            "RPRextendedVariantRecord",
        ),
        EnumeratedType("RPRboolean", "HLAoctet", (Enumerator("False", (0,)), Enumerator("True", (1,)))),
    ]


@pytest.fixture
def codecs() -> Codecs:
    return Codecs({kind.name: kind for kind in kinds()})


VECTORS = [
    ("Id", "ab", "616200"),
    ("Id", "", "00"),
    ("Event", {"count": 1, "issuer": "ab"}, "0001 616200"),
    ("Numbers", [1, 2], "00000001 00000002"),
    ("Numbers", [], ""),
    ("Raw", b"\1\2", "0102"),
    ("Odds", [{"number": 1, "octet": 2}, {"number": 3, "octet": 4}], "0001 02 00 0003 04"),
    ("Events", [{"count": 1, "issuer": "ab"}, {"count": 2, "issuer": "c"}], "0001 616200 00 0002 6300"),
    ("Pair", {"handle": 1, "value": b"\7"}, "00000001 00000001 07 000000"),
    ("Pair", {"handle": 1, "value": b""}, "00000001 00000000"),
    ("Pairs", [{"handle": 1, "value": b"\7"}] * 2, "00000002" + "00000001 00000001 07 000000" * 2),
    ("Wide", {"small": 1, "next": 2}, "01 00000000000000 02"),
    ("Silents", [{"NumberOfAppearanceRecords": 1, "EntityAppearance": [5]}] * 2, "0001 0000 00000005" * 2),
    ("Geometry", {"Type": "Point", "At": 1.0}, "00000001 00000008 3ff0000000000000"),
    ("Geometry", {"Type": "Line"}, "00000002 00000000"),
    ("Geometry", {"Type": 77, UNKNOWN: b"\1\2\3"}, "0000004d 00000003 010203"),
    ("RPRboolean", True, "01"),
]


@pytest.mark.parametrize("name, value, text", VECTORS)
def test_vector(codecs: Codecs, name: str, value: object, text: str) -> None:
    assert codecs.encode(name, value) == bytes.fromhex(text)
    assert codecs.decode(name, bytes.fromhex(text)) == value


def test_a_value_for_padding_is_ignored(codecs: Codecs) -> None:
    given = {"handle": 1, "value": b"\7", "PaddingTo32": b"\0\0\0"}
    assert codecs.decode("Pair", codecs.encode("Pair", given)) == {"handle": 1, "value": b"\7"}


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("Id", "a\0b", "Id: a null-terminated array cannot hold a zero element"),
        ("Tag", "short", "Tag: expected at least 8 elements, got 5"),
        ("Some", [], "Some: expected at least 1 elements, got 0"),
        ("Pair", {"handle": 1, "value": b"", "more": 1}, "Pair.more: unknown field"),
        (
            "SilentEntityStruct",
            {"NumberOfAppearanceRecords": 2, "EntityAppearance": [5]},
            "SilentEntityStruct.EntityAppearance: NumberOfAppearanceRecords calls for 2 elements, got 1",
        ),
    ],
)
def test_values_that_do_not_fit(codecs: Codecs, name: str, value: object, message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        codecs.encode(name, value)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("Id", "6162", "Id: the terminating zero is missing"),
        ("Numbers", "0000000100", "Numbers: 1 byte left over"),
        ("Some", "", "Some: expected at least 1 elements"),
        ("Tokens", "00", "Tokens[0]: elements without octets cannot be told apart"),
        ("Events", "0001 616200 00 0002 63", "Events[1].issuer: the terminating zero is missing"),
        ("Pair", "00000001 00000001 07", "Pair: 3 bytes missing at the end"),
        (
            "SilentEntityStruct",
            "7fff 0000 00000001",
            "SilentEntityStruct.EntityAppearance: 32767 elements need",
        ),
    ],
)
def test_bytes_that_do_not_fit(codecs: Codecs, name: str, text: str, message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        codecs.decode(name, bytes.fromhex(text))
    assert str(caught.value).startswith(message)
