"""Laws: compiled codecs agree with a slow interpreter written from the alignment rules, for random data types."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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

BASIC = {
    "HLAinteger16BE": ">h",
    "HLAinteger32BE": ">i",
    "HLAinteger64BE": ">q",
    "HLAinteger16LE": "<h",
    "HLAinteger32LE": "<i",
    "HLAinteger64LE": "<q",
    "HLAunsignedInteger8": ">B",
    "HLAunsignedInteger16BE": ">H",
    "HLAunsignedInteger32LE": "<I",
    "HLAunsignedInteger64BE": ">Q",
    "HLAfloat32BE": ">f",
    "HLAfloat64BE": ">d",
    "HLAfloat32LE": "<f",
    "HLAfloat64LE": "<d",
    "HLAoctet": ">B",
    "HLAoctetPairBE": ">H",
}
TEXT = {"HLAASCIIchar": "ascii", "HLAunicodeChar": "utf-16-be"}
KINDS = ("HLAvariableArray", "HLAfixedArray")


@dataclass
class World:
    """Data types under construction, with the strategy for the values of each."""

    types: dict[str, DataType] = field(default_factory=dict)
    values: dict[str, st.SearchStrategy[Any]] = field(default_factory=dict)

    def add(self, data_type: DataType, values: st.SearchStrategy[Any]) -> str:
        self.types[data_type.name] = data_type
        self.values[data_type.name] = values
        return data_type.name

    def fresh(self) -> str:
        return f"T{len(self.types)}"


# --- the reference -----------------------------------------------------------------------------------------


def boundary(types: dict[str, DataType], name: str) -> int:
    if name in BASIC:
        return struct.calcsize(BASIC[name])
    if name in TEXT:
        return 1 if name == "HLAASCIIchar" else 2
    match types[name]:
        case SimpleType() | EnumeratedType() as simple:
            return boundary(types, simple.representation)
        case ArrayType() as array:
            element = boundary(types, array.element)
            return max(4, element) if array.encoding == "HLAvariableArray" else element
        case FixedRecordType() as record:
            return max([boundary(types, part.type) for part in record.fields], default=1)
        case VariantRecordType() as variant:
            if variant.encoding == "HLAextendableVariantRecord":
                return 8
            return max(boundary(types, variant.discriminant_type), arms_boundary(types, variant))
        case other:
            raise AssertionError(other)


def arms_boundary(types: dict[str, DataType], variant: VariantRecordType) -> int:
    return max([boundary(types, arm.type) for arm in variant.alternatives if arm.type], default=1)


def pad(out: bytearray, to: int) -> None:
    while len(out) % to:
        out.append(0)


def encode(types: dict[str, DataType], name: str, value: Any, out: bytearray) -> None:
    if name in BASIC:
        pad(out, boundary(types, name))
        out += struct.pack(BASIC[name], value)
        return
    if name in TEXT:
        pad(out, boundary(types, name))
        out += value.encode(TEXT[name])
        return
    data_type = types[name]
    pad(out, boundary(types, name))
    match data_type:
        case SimpleType():
            encode(types, data_type.representation, value, out)
        case EnumeratedType():
            numbers = {enumerator.name: enumerator.values[0] for enumerator in data_type.enumerators}
            encode(types, data_type.representation, numbers.get(value, value), out)
        case ArrayType():
            if data_type.encoding == "HLAvariableArray":
                count = (
                    len(value.encode("utf-16-be")) // 2
                    if data_type.element == "HLAunicodeChar"
                    else len(value)
                )
                out += struct.pack(">i", count)
            for item in value:
                encode(types, data_type.element, item, out)
        case FixedRecordType():
            for part in data_type.fields:
                encode(types, part.type, value[part.name], out)
        case VariantRecordType():
            encode_variant(types, data_type, value, out)
        case _:
            raise AssertionError(data_type)


def encode_variant(
    types: dict[str, DataType], variant: VariantRecordType, value: Any, out: bytearray
) -> None:
    encode(types, variant.discriminant_type, value[variant.discriminant], out)
    arm = next((arm for arm in variant.alternatives if arm.name in value), None)
    if variant.encoding == "HLAvariantRecord":
        if arm:
            pad(out, arms_boundary(types, variant))
            encode(types, arm.type, value[arm.name], out)
        return
    body = bytearray(value.get(UNKNOWN, b""))
    if arm:
        encode(types, arm.type, value[arm.name], body)
    pad(out, 4)
    out += struct.pack(">i", len(body))
    pad(out, 8)
    out += body


# --- random data types and values ---------------------------------------------------------------------------


def basic_values(name: str) -> st.SearchStrategy[Any]:
    code = BASIC[name][1]
    bits = struct.calcsize(BASIC[name]) * 8
    if code in "fd":
        return st.floats(width=32 if code == "f" else 64, allow_nan=False)
    if code.isupper():
        return st.integers(0, 2**bits - 1)
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@st.composite
def a_type(draw: st.DrawFn, world: World, depth: int) -> str:
    kinds = ["basic", "basic", "enumeration", "text", "octets"]
    if depth > 0:
        kinds += ["array", "array", "record", "record", "record", "variant", "variant"]
    match draw(st.sampled_from(kinds)):
        case "basic":
            name = draw(st.sampled_from(sorted(BASIC)))
            world.values[name] = basic_values(name)
            return name
        case "enumeration":
            return enumeration(world, draw(st.sampled_from(["HLAinteger32BE", "HLAoctet", "HLAinteger16LE"])))
        case "text":
            return text(draw, world)
        case "octets":
            return octets(draw, world)
        case "array":
            return array(draw, world, depth)
        case "record":
            return record(draw, world, depth)
        case _:
            return variant(draw, world, depth)


def enumeration(world: World, representation: str) -> str:
    enumerators = tuple(Enumerator(f"E{number}", (number,)) for number in (0, 1, 2, 5))
    values = st.sampled_from(["E0", "E1", "E2", "E5"]) | st.sampled_from([3, 4, 77])
    return world.add(EnumeratedType(world.fresh(), representation, enumerators), values)


def text(draw: st.DrawFn, world: World) -> str:
    character = draw(st.sampled_from(sorted(TEXT)))
    alphabet = st.characters(max_codepoint=127 if character == "HLAASCIIchar" else 0xD7FF)
    kind = draw(st.sampled_from(KINDS))
    count = draw(st.integers(0, 5))
    if kind == "HLAfixedArray":
        values = st.text(alphabet, min_size=count, max_size=count)
        return world.add(ArrayType(world.fresh(), character, str(count), kind), values)
    return world.add(ArrayType(world.fresh(), character, "Dynamic", kind), st.text(alphabet, max_size=6))


def octets(draw: st.DrawFn, world: World) -> str:
    alias = world.add(SimpleType(world.fresh(), "HLAoctet"), st.integers(0, 255))
    count = draw(st.integers(0, 9))
    if draw(st.booleans()):
        fixed = ArrayType(world.fresh(), alias, str(count), "HLAfixedArray")
        return world.add(fixed, st.binary(min_size=count, max_size=count))
    return world.add(ArrayType(world.fresh(), alias, "Dynamic", "HLAvariableArray"), st.binary(max_size=9))


def array(draw: st.DrawFn, world: World, depth: int) -> str:
    element = draw(a_type(world, depth - 1))
    if element == "HLAoctet":
        element = "HLAunsignedInteger8"
        world.values[element] = st.integers(0, 255)
    values = world.values[element]
    if draw(st.booleans()):
        return world.add(
            ArrayType(world.fresh(), element, "[0..4]", "HLAvariableArray"), st.lists(values, max_size=4)
        )
    count = draw(st.sampled_from([0, 1, 2, 3, 70]))
    fixed = ArrayType(world.fresh(), element, str(count), "HLAfixedArray")
    return world.add(fixed, st.lists(values, min_size=count, max_size=count))


def record(draw: st.DrawFn, world: World, depth: int) -> str:
    parts = [draw(a_type(world, depth - 1)) for _ in range(draw(st.integers(0, 5)))]
    fields = tuple(Field(f"f{index}", part) for index, part in enumerate(parts))
    values = st.fixed_dictionaries({f"f{index}": world.values[part] for index, part in enumerate(parts)})
    return world.add(FixedRecordType(world.fresh(), "HLAfixedRecord", fields), values)


def variant(draw: st.DrawFn, world: World, depth: int) -> str:
    by = enumeration(world, draw(st.sampled_from(["HLAoctet", "HLAinteger16LE", "HLAinteger32BE"])))
    one, two = draw(a_type(world, depth - 1)), draw(a_type(world, depth - 1))
    extendable = draw(st.booleans())
    alternatives = (
        Alternative("E0", "none"),
        Alternative("E1", "one", one),
        Alternative("[E2..E5]", "two", two),
    )
    shapes = [
        st.fixed_dictionaries({"by": st.just("E0")}),
        st.fixed_dictionaries({"by": st.just("E1"), "one": world.values[one]}),
        st.fixed_dictionaries({"by": st.sampled_from(["E2", "E5"]), "two": world.values[two]}),
        st.fixed_dictionaries({"by": st.just(99)}),
    ]
    if extendable:
        shapes.append(st.fixed_dictionaries({"by": st.just(99), UNKNOWN: st.binary(min_size=1, max_size=9)}))
    kind = "HLAextendableVariantRecord" if extendable else "HLAvariantRecord"
    return world.add(VariantRecordType(world.fresh(), "by", by, alternatives, kind), st.one_of(shapes))


@st.composite
def types_and_value(draw: st.DrawFn) -> tuple[dict[str, DataType], str, Any]:
    world = World()
    name = draw(a_type(world, 3))
    return world.types, name, draw(world.values[name])


Case = tuple[dict[str, DataType], str, Any]
relaxed = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
many = settings(relaxed, max_examples=5000)


@relaxed
@given(types_and_value())
def test_codecs_agree_with_the_reference(case: Case) -> None:
    agree_with_the_reference(case)


@pytest.mark.soak
@many
@given(types_and_value())
def test_codecs_agree_with_the_reference_many_times(case: Case) -> None:
    agree_with_the_reference(case)


def agree_with_the_reference(case: Case) -> None:
    types, name, value = case
    codec = Codecs(types).codec(name)
    expected = bytearray()
    encode(types, name, value, expected)
    encoded = codec.encode(value)
    assert encoded == bytes(expected)
    assert codec.octet_boundary == boundary(types, name)
    assert codec.static_size in (None, len(encoded))
    assert codec.min_size <= len(encoded)
    assert codec.decode(encoded) == value


@relaxed
@given(types_and_value(), st.data())
def test_cut_or_lengthened_bytes_are_refused(case: Case, data: st.DataObject) -> None:
    cut_or_lengthened_are_refused(case, data)


@pytest.mark.soak
@many
@given(types_and_value(), st.data())
def test_cut_or_lengthened_bytes_are_refused_many_times(case: Case, data: st.DataObject) -> None:
    cut_or_lengthened_are_refused(case, data)


def cut_or_lengthened_are_refused(case: Case, data: st.DataObject) -> None:
    types, name, value = case
    codec = Codecs(types).codec(name)
    encoded = codec.encode(value)
    changed = encoded[: data.draw(st.integers(0, max(len(encoded) - 1, 0)))]
    for wrong in (changed, encoded + b"\1"):
        try:
            decoded = codec.decode(wrong)
        except EncodingError:
            continue
        # Only padding may be cut, or the bytes mean another value.
        assert wrong != encoded + b"\1"
        assert len(codec.encode(decoded)) <= len(encoded)


@relaxed
@given(types_and_value(), st.binary(max_size=120))
def test_random_bytes_raise_only_encoding_errors(
    case: tuple[dict[str, DataType], str, Any], junk: bytes
) -> None:
    types, name, _ = case
    codec = Codecs(types).codec(name)
    try:
        value = codec.decode(junk)
    except EncodingError:
        return
    again = codec.encode(value)
    assert codec.encode(codec.decode(again)) == again


junk_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["f0", "f1", "by", "one", UNKNOWN, "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@relaxed
@given(types_and_value(), junk_values)
def test_random_values_raise_only_encoding_errors(
    case: tuple[dict[str, DataType], str, Any], junk: Any
) -> None:
    types, name, _ = case
    codec = Codecs(types).codec(name)
    try:
        encoded = codec.encode(junk)
    except EncodingError:
        return
    codec.decode(encoded)
