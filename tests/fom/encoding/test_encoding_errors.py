"""Errors name the field; hostile input costs little; nothing but EncodingError comes out."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from weft.fom import (
    Alternative,
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    SimpleType,
    VariantRecordType,
)
from weft.fom import encoding as e
from weft.fom.encoding import Codec, Codecs
from weft.model.errors import EncodingError

LOCATION = e.fixed_record(
    {"X": e.HLAfloat64BE, "Y": e.HLAfloat64BE, "Z": e.HLAfloat64BE}, "WorldLocationStruct"
)
TRACK = e.fixed_record(
    {"Name": e.HLAASCIIstring, "Points": e.variable_array(LOCATION, 1, 3), "Tail": e.HLAinteger16BE}, "Track"
)
COLOUR = e.enumeration(e.HLAoctet, {"Red": 1, "Blue": 2}, "Colour")
VARIANT = e.variant_record("Kind", COLOUR, {"Red": ("Level", e.HLAfloat32BE)}, name="Variant")
EXTENDABLE = e.extendable_variant_record(
    "Kind", COLOUR, {"Red": ("Level", e.HLAfloat32BE)}, name="Extendable"
)

POINT = {"X": 1.0, "Y": 2.0, "Z": 3.0}


def complaint(action: Callable[[], Any]) -> str:
    with pytest.raises(EncodingError) as caught:
        action()
    assert type(caught.value) is EncodingError
    return str(caught.value)


@pytest.mark.parametrize(
    "codec, value, message",
    [
        (LOCATION, {**POINT, "X": "abc"}, "WorldLocationStruct.X: expected a number, got 'abc'"),
        (LOCATION, {"X": 1.0, "Y": 2.0}, "WorldLocationStruct.Z: missing field"),
        (LOCATION, {**POINT, "W": 1}, "WorldLocationStruct.W: unknown field; the fields are X, Y, Z"),
        (LOCATION, 5, "WorldLocationStruct: expected a record, got 5"),
        (LOCATION, None, "WorldLocationStruct: expected a record, got None"),
        (
            TRACK,
            {"Name": "a", "Points": [POINT, {**POINT, "Y": None}], "Tail": 1},
            "Track.Points[1].Y: expected a number",
        ),
        (TRACK, {"Name": "é", "Points": [POINT], "Tail": 1}, "Track.Name: 'é' at 0 is not ASCII"),
        (TRACK, {"Name": b"a", "Points": [POINT], "Tail": 1}, "Track.Name: expected text, got b'a'"),
        (TRACK, {"Name": "a", "Points": [], "Tail": 1}, "Track.Points: expected at least 1 elements, got 0"),
        (
            TRACK,
            {"Name": "a", "Points": [POINT] * 4, "Tail": 1},
            "Track.Points: expected at most 3 elements, got 4",
        ),
        (TRACK, {"Name": "a", "Points": "xyz", "Tail": 1}, "Track.Points: expected a list, got 'xyz'"),
        (
            TRACK,
            {"Name": "a", "Points": [POINT], "Tail": 40000},
            "Track.Tail: 40000 is out of range -32768..32767",
        ),
        (TRACK, {"Name": "a", "Points": [POINT], "Tail": 1.5}, "Track.Tail: expected an integer, got 1.5"),
        (e.HLAoctet, 256, "HLAoctet: 256 is out of range 0..255"),
        (e.HLAunsignedInteger64BE, -1, "HLAunsignedInteger64BE: -1 is out of range 0..18446744073709551615"),
        (e.HLAfloat32BE, 1e300, "HLAfloat32BE: 1e+300 is out of range for a number of 32 bits"),
        (e.HLAboolean, 2, "HLAboolean: expected a boolean, got 2"),
        (COLOUR, "Green", "Colour: 'Green' is none of the enumerators Red, Blue"),
        (COLOUR, 300, "Colour: 300 is out of range 0..255"),
        (e.fixed_array(e.HLAinteger16BE, 2, "Two"), [1], "Two: expected 2 elements, got 1"),
        (e.fixed_array(e.HLAinteger16BE, 2, "Two"), [1, "x"], "Two[1]: expected an integer, got 'x'"),
        (e.fixed_array(e.HLAoctet, 4, "Four"), b"123", "Four: expected 4 elements, got 3"),
        (e.variable_array(e.HLAinteger16BE, name="Many"), [1, 2, 70000], "Many[2]: 70000 is out of range"),
        (VARIANT, {"Kind": "Red"}, "Variant.Level: missing field"),
        (VARIANT, {"Level": 1.0}, "Variant.Kind: missing field"),
        (VARIANT, {"Kind": "Blue", "Level": 1.0}, "Variant.Level: unknown field; the fields are Kind"),
        (VARIANT, {"Kind": "Red", "Level": "x"}, "Variant.Level: expected a number, got 'x'"),
        (VARIANT, {"Kind": "Green"}, "Variant.Kind: 'Green' is none of the enumerators"),
        (EXTENDABLE, {"Kind": "Red"}, "Extendable.Level: missing field"),
        (EXTENDABLE, {"Kind": "Red", "Level": "x"}, "Extendable.Level: expected a number"),
        (EXTENDABLE, {"Kind": 300}, "Extendable.Kind: 300 is out of range"),
        (EXTENDABLE, {"Kind": 9, e.UNKNOWN: "x"}, "Extendable.?: expected bytes, got 'x'"),
    ],
)
def test_value_errors_name_the_field(codec: Codec, value: Any, message: str) -> None:
    assert complaint(lambda: codec.encode(value)).startswith(message)


@pytest.mark.parametrize(
    "codec, text, message",
    [
        (LOCATION, "00" * 20, "WorldLocationStruct.Z: needs 8 bytes, 4 left"),
        (LOCATION, "00" * 25, "WorldLocationStruct: 1 byte left over after the value"),
        (TRACK, "", "Track.Name: needs 4 bytes, 0 left"),
        (TRACK, "00000001ff", "Track.Name: octet 0xff at 0 is not ASCII"),
        (TRACK, "00000000 00000000 00000000", "Track.Points: expected at least 1 elements, got 0"),
        (TRACK, "00000000 00000000 00000001 0000", "Track.Points: 1 elements need 24 bytes or more, 0 left"),
        (TRACK, "00000000 00000000 ffffffff", "Track.Points: the count is -1"),
        (e.HLAopaqueData, "7fffffff00", "HLAopaqueData: needs 2147483647 bytes, 1 left"),
        (e.HLAboolean, "00000002", "HLAboolean: 2 is not a boolean"),
        (
            e.variable_array(e.HLAboolean, name="Flags"),
            "00000002 00000001 00000007",
            "Flags[1]: 7 is not a boolean",
        ),
        (VARIANT, "", "Variant.Kind: needs 1 byte, 0 left"),
        (VARIANT, "01000000 0000", "Variant.Level: needs 4 bytes, 2 left"),
        (EXTENDABLE, "01", "Extendable: needs 4 bytes, 0 left"),
        (EXTENDABLE, "01000000 00000005 3f800000", "Extendable: the alternative's length is 5, 4 bytes left"),
        (EXTENDABLE, "01000000 ffffffff", "Extendable: the alternative's length is -1, 0 bytes left"),
        (EXTENDABLE, "01000000 00000003 3f8000", "Extendable.Level: needs 4 bytes, 3 left"),
        (EXTENDABLE, "01000000 00000005 3f80000000", "Extendable.Level: 1 byte left over"),
    ],
)
def test_byte_errors_name_the_field(codec: Codec, text: str, message: str) -> None:
    assert complaint(lambda: codec.decode(bytes.fromhex(text))).startswith(message)


@pytest.mark.parametrize("codec", [LOCATION, TRACK, VARIANT, EXTENDABLE, e.HLAASCIIstring])
@pytest.mark.parametrize("data", [None, 5, "text", [1]])
def test_only_bytes_can_be_decoded(codec: Codec, data: Any) -> None:
    assert "expected bytes" in complaint(lambda: codec.decode(data))


@pytest.mark.parametrize(
    "element",
    [e.HLAoctet, e.HLAunicodeChar, e.HLAfloat64BE, LOCATION, TRACK, VARIANT, e.HLAtoken, e.HLAASCIIstring],
)
def test_a_hostile_count_allocates_nothing(element: Codec) -> None:
    codec = e.variable_array(element)
    tracemalloc.start()
    try:
        for count in ("ffffffff", "7fffffff", "00ffffff"):
            complaint(lambda count=count: codec.decode(bytes.fromhex(count + "00" * 64)))  # type: ignore[misc]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def model(*types: DataType) -> Codecs:
    return Codecs({data_type.name: data_type for data_type in types})


def record(name: str, **fields: str) -> FixedRecordType:
    return FixedRecordType(name, "HLAfixedRecord", tuple(Field(key, kind) for key, kind in fields.items()))


@pytest.mark.parametrize(
    "types, message",
    [
        ([record("R", a="Nowhere")], "R: the data type Nowhere is not defined"),
        ([ArrayType("A", "HLAoctet", "Dynamic", "MyArray")], "A: unknown encoding 'MyArray'"),
        ([FixedRecordType("R", "MyRecord", ())], "R: unknown encoding 'MyRecord'"),
        ([VariantRecordType("V", "d", "HLAoctet", (), "MyVariant")], "V: unknown encoding 'MyVariant'"),
        ([BasicType("B", 32, "big", "some bits")], "B: unknown encoding 'some bits'"),
        ([BasicType("B", 12, "big", "12-bit integer")], "B: a representation of 12 bits"),
        (
            [ArrayType("A", "HLAoctet", "Dynamic", "HLAfixedArray")],
            "A: HLAfixedArray needs a number of elements",
        ),
        ([ArrayType("A", "HLAoctet", "many", "HLAvariableArray")], "A: cannot read the cardinality 'many'"),
        ([record("R", a="R")], "R: the type contains itself: R → R"),
        ([record("R", a="S"), SimpleType("S", "R")], "R: the type contains itself: R → S → R"),
        ([SimpleType("S", "S")], "S: the type contains itself: S → S"),
        (
            [record("R", a="A"), ArrayType("A", "R", "2", "HLAfixedArray")],
            "R: the type contains itself: R → A → R",
        ),
        (
            [
                VariantRecordType(
                    "V", "d", "HLAoctet", (Alternative("X", "x", "HLAoctet"),), "HLAvariantRecord"
                )
            ],
            "V: X is neither an enumerator nor a number",
        ),
        (
            [VariantRecordType("V", "d", "HLAfloat64BE", (), "HLAvariantRecord")],
            "V: the discriminant d must be an enumeration",
        ),
        ([EnumeratedType("E", "HLAoctet", (Enumerator("A", (256,)),))], "E.A: 256 is out of range 0..255"),
    ],
)
def test_types_that_cannot_be_compiled(types: list[DataType], message: str) -> None:
    codecs = model(*types)
    for _ in range(2):
        assert complaint(lambda: codecs.codec(types[0].name)).startswith(message)


def test_an_unknown_type_name() -> None:
    assert complaint(lambda: model().encode("Nowhere", 1)) == "the data type Nowhere is not defined"


def test_a_type_may_contain_itself_through_a_variable_array() -> None:
    codecs = model(
        record("Tree", weight="HLAfloat64BE", below="Forest"),
        ArrayType("Forest", "Tree", "Dynamic", "HLAvariableArray"),
    )
    tree = {"weight": 1.0, "below": [{"weight": 2.0, "below": []}, {"weight": 3.0, "below": []}]}
    encoded = codecs.encode("Tree", tree)
    assert codecs.decode("Tree", encoded) == tree
    assert codecs.codec("Tree").octet_boundary == codecs.codec("Forest").octet_boundary == 8
    # 8 + 4 of count + 4 of padding, then 8 + 4, 4 of padding between, 8 + 4
    assert len(encoded) == 16 + 12 + 4 + 12


def test_input_nested_too_deeply_is_an_encoding_error() -> None:
    codecs = model(ArrayType("Nest", "Nest", "Dynamic", "HLAvariableArray"))
    assert "nested too deeply" in complaint(lambda: codecs.decode("Nest", b"\0\0\0\1" * 100_000))
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]
    assert "nested too deeply" in complaint(lambda: codecs.encode("Nest", nest))
    while nest:  # or its deletion would recurse
        nest = nest[0]


def test_a_long_chain_of_types_is_an_encoding_error() -> None:
    chain = [record(f"R{index}", a=f"R{index + 1}", b="HLAASCIIstring") for index in range(5000)]
    assert "nested too deeply" in complaint(lambda: model(*chain).codec("R0"))


def test_doubling_records_do_not_double_the_code() -> None:
    doubling = [record(f"R{index}", a=f"R{index + 1}", b=f"R{index + 1}") for index in range(40)]
    codec = model(*doubling, record("R40", x="HLAfloat64BE")).codec("R0")
    assert codec.static_size == 8 * 2**40
    assert "bytes" in complaint(lambda: codec.decode(b"\0" * 64))


class Sly:
    """An object that fails in every way it can."""

    def __len__(self) -> int:
        raise ValueError("no length")

    def __repr__(self) -> str:
        raise ValueError("no repr")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attribute")


@pytest.mark.parametrize(
    "codec", [LOCATION, TRACK, VARIANT, EXTENDABLE, e.HLAASCIIstring, e.variable_array(LOCATION), COLOUR]
)
def test_misbehaving_objects_are_encoding_errors(codec: Codec) -> None:
    complaint(lambda: codec.encode(Sly()))
