"""Every data type of object models as they are met compiles, and a value of it survives the round trip."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.object_models import MODELS, object_model
from weft.fom import (
    ArrayType,
    DataType,
    EnumeratedType,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.encoding import Codecs
from weft.model.errors import EncodingError

UNKNOWN_ENCODING = {"OrderBook"}


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_type_compiles_and_round_trips(model: str) -> None:
    types = object_model(model).data_types
    codecs = Codecs(types)
    for name in set(types) - UNKNOWN_ENCODING:
        codec = codecs.codec(name)
        value = sample(types, name)
        encoded = codec.encode(value)
        assert codec.decode(encoded) == value, name
        assert codec.static_size in (None, len(encoded)), name


def test_an_encoding_nobody_knows_fails_only_when_used() -> None:
    codecs = Codecs(object_model("bakery").data_types)
    codecs.codec("SkillValue")
    with pytest.raises(EncodingError, match="OrderBook: unknown encoding 'A count in HLAinteger32BE, and"):
        codecs.codec("OrderBook")


@lru_cache
def range_codecs() -> Codecs:
    return Codecs(object_model("range").data_types)


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200))
def test_random_bytes_raise_only_encoding_errors(junk: bytes) -> None:
    codecs = range_codecs()
    composite = FixedRecordType | VariantRecordType | ArrayType
    types = object_model("range").data_types
    for name in (name for name, kind in types.items() if isinstance(kind, composite)):
        try:
            codecs.decode(name, junk)
        except EncodingError:
            continue


def test_a_pose() -> None:
    """A variant record of records in which padding depends on what comes before (1516.2, 4.13.9)."""
    pose = {
        "Motion": "Steady_FPW",
        "Steady": {
            "At": {"X": 1.0, "Y": 2.0, "Z": -3.0},
            "Frozen": True,
            "Facing": {"Yaw": 1.0, "Pitch": 0.5, "Roll": 0.25},
            "Velocity": {"XPace": 1.0, "YPace": 2.0, "ZPace": 4.0},
        },
    }
    encoded = range_codecs().encode("PoseVariant", pose)
    assert encoded == bytes.fromhex(
        "02 00000000000000 3ff0000000000000 4000000000000000 c008000000000000"
        "01 000000 3f800000 3f000000 3e800000 3f800000 40000000 40800000"
    )
    assert range_codecs().decode("PoseVariant", encoded) == pose


def test_a_record_in_the_middle_of_which_lies_a_null_terminated_array_as_other_encoders_pad_it() -> None:
    """The arm that no enumerator names has no value, and the record goes on after its discriminant."""
    value = range_codecs().decode(
        "PartOfRecord", bytes.fromhex("0001 0002 0003 6162 00 00 0001 0002 0000 0004 0000 0000")
    )
    assert value["HostMark"] == "ab"
    assert value["Hook"]["HookNumber"] == 4
    assert list(value["Hook"]["HookName"]) == ["HookName"]


def sample(types: Mapping[str, DataType], name: str) -> Any:
    """Some value of a type, as it would be decoded."""
    if name in ("HLAASCIIchar", "HLAunicodeChar"):
        return "a"
    kind = types[name]
    match kind:
        case SimpleType() | ReferenceType():
            return sample(types, kind.representation)
        case EnumeratedType():
            first = kind.enumerators[0]
            return bool(first.values[0]) if first.name.lower() in ("false", "hlafalse") else first.name
        case ArrayType():
            return sample_array(types, kind)
        case FixedRecordType():
            return sample_record(types, kind)
        case VariantRecordType():
            return sample_variant(types, kind)
        case _:
            return 1.0 if "float" in name.lower() else 1


def sample_array(types: Mapping[str, DataType], kind: ArrayType) -> Any:
    if kind.encoding.startswith("RPRpadding"):
        return b""
    count = int(kind.cardinality) if kind.cardinality.isdigit() else 9 if "[8" in kind.cardinality else 2
    element = sample(types, kind.element)
    if isinstance(element, str) and element == "a":
        return "a" * count
    base = kind.element
    while isinstance(found := types.get(base), SimpleType):
        base = found.representation
    return bytes([1] * count) if base == "HLAoctet" else [element] * count


def sample_record(types: Mapping[str, DataType], kind: FixedRecordType) -> dict[str, Any]:
    fields = {part.name: sample(types, part.type) for part in kind.fields if "Padding" not in part.type}
    if kind.name == "SilentEntityStruct":
        fields["NumberOfAppearanceRecords"] = len(fields["EntityAppearance"])
    if kind.name == "SphericalHarmonicAntennaStruct":
        fields["Coefficients"] = [1.0] * 4  # order 1
    return fields


def sample_variant(types: Mapping[str, DataType], kind: VariantRecordType) -> dict[str, Any]:
    chosen = kind.alternatives[-1]
    enumerated = types[kind.discriminant_type]
    assert isinstance(enumerated, EnumeratedType)
    which = 99 if chosen.enumerators == "HLAother" else chosen.enumerators
    return {kind.discriminant: which} | ({chosen.name: sample(types, chosen.type)} if chosen.type else {})
