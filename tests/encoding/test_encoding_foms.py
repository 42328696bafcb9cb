"""Every data type of real object models compiles, and a value of it survives the round trip."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.fom import (
    ArrayType,
    DataType,
    EnumeratedType,
    FixedRecordType,
    ObjectModel,
    ReferenceType,
    SimpleType,
    VariantRecordType,
    merge,
    parse_module,
)
from weft.fom.encoding import Codecs
from weft.model.errors import EncodingError
from weft.model.records import Source

FOMS = Path(__file__).parents[3] / "shared" / "foms"

MODELS = [
    ("rpr2/*.xml",),
    ("spacefom/*.xml",),
    ("hla4/RestaurantFOMmodule-2025.xml", "hla4/RestaurantExtensionFOMmodule-2025.xml"),
    ("hla4/Chat-hla4.xml",),
]


@lru_cache
def load_model(*patterns: str) -> ObjectModel:
    """The merge of the files that match, which are not part of the project."""
    files = sorted(path for pattern in patterns for path in FOMS.glob(pattern))
    if not files:
        pytest.skip(f"no object models {', '.join(patterns)} in ../shared/foms")
    return merge(parse_module(Source(path.name, path.read_bytes())) for path in files)


@pytest.fixture
def rpr() -> ObjectModel:
    return load_model("rpr2/*.xml")


@pytest.mark.parametrize("patterns", MODELS, ids=lambda patterns: patterns[0].split("/")[0])
def test_every_type_compiles_and_round_trips(patterns: tuple[str, ...]) -> None:
    types = load_model(*patterns).data_types
    codecs = Codecs(types)
    for name in types:
        codec = codecs.codec(name)
        value = sample(types, name)
        encoded = codec.encode(value)
        assert codec.decode(encoded) == value, name
        assert codec.static_size in (None, len(encoded)), name


def test_an_encoding_nobody_knows_fails_only_when_used() -> None:
    codecs = Codecs(load_model("restaurant-std-2010/RestaurantFOMmodule.xml").data_types)
    codecs.codec("WaiterValue")
    with pytest.raises(EncodingError, match="AddressBook: unknown encoding 'An HLAinteger32BE followed by"):
        codecs.codec("AddressBook")


@lru_cache
def rpr_codecs() -> Codecs:
    return Codecs(load_model("rpr2/*.xml").data_types)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_random_bytes_raise_only_encoding_errors(rpr: ObjectModel, junk: bytes) -> None:
    codecs = rpr_codecs()
    composite = FixedRecordType | VariantRecordType | ArrayType
    for name in (name for name, kind in rpr.data_types.items() if isinstance(kind, composite)):
        try:
            codecs.decode(name, junk)
        except EncodingError:
            continue


def test_a_spatial_attribute(rpr: ObjectModel) -> None:
    codecs = Codecs(rpr.data_types)
    spatial = {
        "DeadReckoningAlgorithm": "DRM_FPW",
        "SpatialFPW": {
            "WorldLocation": {"X": 1.0, "Y": 2.0, "Z": -3.0},
            "IsFrozen": True,
            "Orientation": {"Psi": 1.0, "Theta": 0.5, "Phi": 0.25},
            "VelocityVector": {"XVelocity": 1.0, "YVelocity": 2.0, "ZVelocity": 4.0},
        },
    }
    encoded = codecs.encode("SpatialVariantStruct", spatial)
    assert encoded == bytes.fromhex(
        "02 00000000000000 3ff0000000000000 4000000000000000 c008000000000000"
        "01 000000 3f800000 3f000000 3e800000 3f800000 40000000 40800000"
    )
    assert codecs.decode("SpatialVariantStruct", encoded) == spatial


def test_an_is_part_of_attribute_as_other_encoders_pad_it(rpr: ObjectModel) -> None:
    codecs = Codecs(rpr.data_types)
    value = codecs.decode(
        "IsPartOfStruct", bytes.fromhex("0001 0002 0003 6162 00 00 0001 0002 0000 0004 0000 0000")
    )
    assert value["HostRTIObjectIdentifier"] == "ab"
    assert value["NamedLocation"]["StationNumber"] == 4
    assert list(value["NamedLocation"]["StationName"]) == ["StationName"]


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
    if chosen.enumerators == "HLAother":
        return {kind.discriminant: 99, chosen.name: sample(types, chosen.type)}
    return {kind.discriminant: chosen.enumerators, chosen.name: sample(types, chosen.type)}
