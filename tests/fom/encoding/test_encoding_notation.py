"""The notations of an object model that decide an encoding, and the package's public surface."""

from __future__ import annotations

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
    ReferenceType,
    VariantRecordType,
)
from weft.fom import encoding as e
from weft.fom.encoding import Codec, Codecs
from weft.fom.encoding.standard import STANDARD
from weft.model.errors import EncodingError

LEVELS = ("Trainee", "Apprentice", "Journeyman", "Senior", "Master")
LEVEL = EnumeratedType(
    "Level", "HLAinteger32BE", tuple(Enumerator(name, (number,)) for number, name in enumerate(LEVELS))
)


def model(*types: DataType) -> Codecs:
    return Codecs({kind.name: kind for kind in types})


def test_every_standard_type_is_exported() -> None:
    assert set(STANDARD) <= set(e.__all__)
    assert all(hasattr(e, name) for name in e.__all__)
    assert all(isinstance(getattr(e, name), Codec) for name in STANDARD)
    assert all(codec.name == name for name, codec in STANDARD.items())


@pytest.mark.parametrize(
    "basic, value, text",
    [
        (BasicType("UnsignedShort", 16, "", "Integer in the range [0, 2^16 - 1]"), 65535, "ffff"),
        (BasicType("Mine", 16, "Big", "Integer in the range [0, 2^16 - 1]"), 65535, "ffff"),
        (BasicType("RPRunsignedInteger8BE", 8, "Big", "8-bit unsigned integer."), 200, "c8"),
        (BasicType("Mine", 32, "Little", "32-bit two's complement signed integer."), -2, "feffffff"),
        (
            BasicType("Mine", 64, "Little", "64-bit IEEE normalized. See IEEE Std 754-1985"),
            1.0,
            "000000000000f03f",
        ),
        (BasicType("Half", 16, "Big", "16-bit floating point"), 1.0, "3c00"),
        (BasicType("Mine", 24, "Big", "24-bit unsigned integer"), 0x010203, "010203"),
        (BasicType("Mine", 128, "Little", "128-bit integer"), -1, "ff" * 16),
    ],
)
def test_a_representation_is_read_from_its_description(basic: BasicType, value: float, text: str) -> None:
    codec = model(basic).codec(basic.name)
    assert codec.encode(value) == bytes.fromhex(text)
    assert codec.decode(bytes.fromhex(text)) == value


def test_odd_sizes_align_as_the_next_power_of_two() -> None:
    triple = BasicType("Triple", 24, "big", "unsigned integer")
    pair = FixedRecordType("Pair", "HLAfixedRecord", (Field("a", "HLAoctet"), Field("b", "Triple")))
    many = ArrayType("Many", "Triple", "2", "HLAfixedArray")
    assert model(triple, pair).encode("Pair", {"a": 1, "b": 2}) == bytes.fromhex("01 000000 000002")
    assert model(triple, many).encode("Many", [1, 2]) == bytes.fromhex("000001 00 000002")


@pytest.mark.parametrize(
    "cardinality, good, bad",
    [
        ("3", [1, 2, 3], [1]),
        ("Dynamic", [], None),
        ("2..3", [1, 2], [1]),
        ("[1..2147483647]", [1], []),
        ("[ 1 .. 2 ]", [1, 2], [1, 2, 3]),
        ("1..Dynamic", [1, 2, 3, 4], []),
        ("2, Dynamic", [[1], []], [[1]]),
        ("Dynamic,2", [[1, 2]], [[1]]),
    ],
)
def test_cardinalities(cardinality: str, good: object, bad: object) -> None:
    codec = model(ArrayType("A", "HLAinteger16BE", cardinality, "HLAvariableArray")).codec("A")
    assert codec.decode(codec.encode(good)) == good
    if bad is not None:
        with pytest.raises(EncodingError, match="expected"):
            codec.encode(bad)


def test_a_matrix_is_laid_out_row_by_row() -> None:
    codecs = model(ArrayType("M", "HLAinteger16BE", "2, 3", "HLAfixedArray"))
    assert codecs.encode("M", [[1, 2, 3], [4, 5, 6]]) == bytes.fromhex("000100020003000400050006")


@pytest.mark.parametrize("chosen", ["Apprentice", "Journeyman", "Senior", "Master"])
def test_ranges_run_over_the_enumerators(chosen: str) -> None:
    alternatives = (
        Alternative("Trainee", "Passed", "HLAboolean"),
        Alternative("[Apprentice .. Senior], Master", "Rating", "HLAinteger16BE"),
        Alternative("HLAother", "NA"),
    )
    codecs = model(LEVEL, VariantRecordType("V", "Level", "Level", alternatives, "HLAvariantRecord"))
    value = {"Level": chosen, "Rating": 7}
    assert codecs.decode("V", codecs.encode("V", value)) == value
    assert codecs.decode("V", codecs.encode("V", {"Level": 99})) == {"Level": 99}


def test_an_enumerator_of_several_values() -> None:
    codecs = model(EnumeratedType("E", "HLAoctet", (Enumerator("Low", (1, 2)), Enumerator("High", (3,)))))
    assert codecs.decode("E", b"\2") == codecs.decode("E", b"\1") == "Low"
    assert codecs.encode("E", "Low") == b"\1"


def test_references_and_included_records() -> None:
    codecs = model(
        ArrayType("Handle", "HLAbyte", "Dynamic", "HLAvariableArray"),
        ReferenceType("Ship", "Handle", "HLAobjectRoot.Ship"),
        FixedRecordType("Base", "HLAfixedRecord", (Field("a", "HLAoctet"),)),
        FixedRecordType("More", "HLAfixedRecord", (Field("b", "Ship"),), include="Base"),
    )
    assert codecs.encode("More", {"a": 1, "b": b"\7"}) == bytes.fromhex("01 000000 00000001 07")
    assert codecs.codec("More") is codecs.codec("More")
