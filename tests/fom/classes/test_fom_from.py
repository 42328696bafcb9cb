"""Object models from dataclasses: the same values have the same bytes by the class, its object model and the generated class."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from enum import Enum, IntFlag
from itertools import count
from types import GenericAlias, ModuleType
from typing import Annotated, Any, ClassVar, Literal, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import HLAinteractionRoot, HLAobjectRoot, Source, fom_from, hla, load_fom
from weft.fom import ObjectModel, examine, parse_module, standard_mim
from weft.fom.classes import HLAclass
from weft.fom.codegen import generate
from weft.model.errors import ConflictingObjectModels, EncodingError, InvalidObjectModel, ObjectModelError

# --- the law ----------------------------------------------------------------------------------------------------

Typed = tuple[object, st.SearchStrategy[Any]]
"""An annotation, and its values."""

_numbers = count()
_FLOAT32 = st.floats(width=32, allow_nan=False)


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


PLAIN: list[Typed] = [
    (float, st.floats(allow_nan=False)),
    (int, whole(64)),
    (bool, st.booleans()),
    (str, st.text(st.characters(codec="utf-16"), max_size=4)),
    (bytes, st.binary(max_size=4)),
    (Annotated[int, hla("HLAinteger16BE")], whole(16)),
    (Annotated[int, hla("HLAoctet")], st.integers(0, 255)),
    (Annotated[float, hla("HLAfloat32LE")], _FLOAT32),
    (Annotated[float, hla("Metres", representation="HLAfloat32BE", units="m")], _FLOAT32),
    (Annotated[str, hla("HLAASCIIstring")], st.text(st.characters(codec="ascii"), max_size=4)),
]


def record_of(parts: list[Typed]) -> Typed:
    fields = [(f"F{index}", annotation) for index, (annotation, _) in enumerate(parts)]
    made = make_dataclass(f"Record{next(_numbers)}", fields)
    return made, st.builds(made, *(values for _, values in parts))


def enumeration_of(values: list[int]) -> Typed:
    name = f"Enum{next(_numbers)}"
    made = Enum(name, [(f"E{index}", value) for index, value in enumerate(values)])  # type: ignore[misc]
    return made, st.sampled_from(list(made))


def arrays_of(part: Typed) -> st.SearchStrategy[Typed]:
    """No array of octets, which is bytes."""
    kind, values = part
    if kind == PLAIN[6][0]:
        return st.just(part)
    listed = GenericAlias(list, (kind,)), st.lists(values, max_size=3)
    fixed = GenericAlias(tuple, (kind, kind)), st.tuples(values, values)
    variable = GenericAlias(tuple, (kind, ...)), st.lists(values, max_size=3).map(tuple)
    return st.sampled_from([listed, fixed, variable])


ANNOTATIONS: st.SearchStrategy[Typed] = st.recursive(
    st.one_of(
        st.sampled_from(PLAIN),
        st.lists(st.integers(-9, 99), min_size=1, max_size=3, unique=True).map(enumeration_of),
    ),
    lambda inner: st.one_of(inner.flatmap(arrays_of), st.lists(inner, min_size=1, max_size=3).map(record_of)),
    max_leaves=6,
)


def class_of(root: type, parts: list[Typed]) -> tuple[type[HLAclass], dict[str, st.SearchStrategy[Any]]]:
    fields = [(f"A{index}", annotation) for index, (annotation, _) in enumerate(parts)]
    made = make_dataclass(f"Class{next(_numbers)}", fields, bases=(root,))
    return cast("type[HLAclass]", made), {f"A{index}": values for index, (_, values) in enumerate(parts)}


def generated(model: ObjectModel) -> Any:
    name = f"generated_from_dataclasses_{next(_numbers)}"
    module = sys.modules[name] = ModuleType(name)
    exec(compile(generate(model, name), name, "exec"), module.__dict__)
    del sys.modules[name]
    return module


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    root=st.sampled_from([HLAobjectRoot, HLAinteractionRoot]),
    parts=st.lists(ANNOTATIONS, min_size=1, max_size=4),
    data=st.data(),
)
def test_a_class_its_object_model_and_the_generated_class_have_the_same_bytes(
    root: type, parts: list[Typed], data: st.DataObject
) -> None:
    """Dataclass → object model → XML → object model → generated class: each encodes alike, and decodes what was encoded."""
    kind, strategies = class_of(root, parts)
    source = fom_from(kind)
    findings = examine([standard_mim(), parse_module(source)], complete=True)
    assert not findings.errors
    assert not findings.model.warnings
    made = kind(**{name: data.draw(values) for name, values in strategies.items()})
    encoded = made.encode()
    assert kind.decode(encoded) == made
    again = getattr(generated(findings.model), kind.__name__)
    assert again.HLA_NAME == kind.HLA_NAME
    assert again.decode(encoded).encode() == encoded
    for slot in kind.SLOTS:
        plain = findings.model.decode(slot.data_type, encoded[slot.name])
        assert findings.model.encode(slot.data_type, plain) == encoded[slot.name]


# --- examples ---------------------------------------------------------------------------------------------------


@dataclass
class Point:
    X: float
    Y: float


class Colour(Enum):
    RED = 1
    GREEN = 2


class Lights(IntFlag):
    PORT = 1
    STARBOARD = 2


Fathoms = Annotated[float, hla("Fathoms", representation="HLAfloat64BE")]


@dataclass
class Buoy:
    at: Point
    tied: list[Buoy]


@dataclass(slots=True, kw_only=True)
class Hail(HLAinteractionRoot, order="TimeStamp", transportation="HLAbestEffort", dimensions={"East": 100}):
    Text: str = ""


@dataclass(slots=True, kw_only=True)
class Vessel(HLAobjectRoot, dimensions={"East": 100, "North": 50}, directed=[Hail]):
    MOST: ClassVar[int] = 3
    Position: Annotated[Point, hla(order="TimeStamp", transportation="HLAbestEffort")]
    Colour: Colour = Colour.RED
    Depth: Annotated[Fathoms, hla(order="TimeStamp")] | None = None
    Log: list[str] = field(default_factory=list)
    Lights: Annotated[Lights, hla("Lights8", representation="HLAoctet")] = Lights.PORT
    Moored: Buoy | None = None
    seen: int = field(default_factory=int, init=False)


@dataclass(kw_only=True)
class Ferry(Vessel):
    Cars: int = 0


class Launch(Ferry):
    """Without annotations of its own, and without @dataclass."""


def test_what_a_class_says_is_in_the_object_model() -> None:
    model = load_fom(fom_from(Launch))
    vessel = model.object_classes["HLAobjectRoot.Vessel"]
    assert [one.name for one in vessel.attributes] == [
        "Position", "Colour", "Depth", "Log", "Lights", "Moored",
    ]  # fmt: skip
    assert (vessel.attributes[0].order, vessel.attributes[0].transportation) == (
        "TimeStamp",
        "HLAbestEffort",
    )
    assert (vessel.attributes[2].order, vessel.attributes[2].data_type) == ("TimeStamp", "Fathoms")
    assert vessel.dimensions == ("East", "North")
    assert vessel.directed_interactions == ("HLAinteractionRoot.Hail",)
    assert model.dimensions["North"].upper_bound == 50
    assert [one.name for one in model.object_classes["HLAobjectRoot.Vessel.Ferry"].attributes] == ["Cars"]
    assert "HLAobjectRoot.Vessel.Ferry.Launch" in model.object_classes
    hail = model.interaction_classes["HLAinteractionRoot.Hail"]
    assert (hail.order, hail.transportation, hail.dimensions) == ("TimeStamp", "HLAbestEffort", ("East",))
    assert not model.warnings


def test_values_come_back_as_they_were() -> None:
    buoy = Buoy(Point(1, 2), [Buoy(Point(3, 4), [])])
    launch = Launch(Position=Point(0, 1), Log=["a"], Lights=Lights.PORT | Lights.STARBOARD, Moored=buoy)
    values = launch.encode()
    assert sorted(values) == ["Cars", "Colour", "Lights", "Log", "Moored", "Position"]
    assert Launch.decode(values) == launch


def test_beside_a_file_of_the_same_model(tmp_path: Any) -> None:
    """What `weft fom write` writes of the same classes is the same object model."""
    path = tmp_path / "sea.xml"
    path.write_bytes(fom_from(Ferry).data)
    assert load_fom(path, fom_from(Ferry)) == load_fom(fom_from(Ferry))


# --- refusals ---------------------------------------------------------------------------------------------------


def one_field(annotation: object) -> Callable[[], Source]:
    return lambda: fom_from(make_dataclass("Odd", [("A", annotation)], bases=(HLAobjectRoot,)))


class Forgotten(HLAobjectRoot):
    A: int


class Word(Enum):
    HELLO = "hello"


@dataclass
class Maybe:
    x: int | None


@dataclass
class Ordered:
    x: Annotated[int, hla(order="Receive")]


@dataclass
class Later(HLAobjectRoot):
    A: int | None


@dataclass
class Reserved(HLAobjectRoot):
    encode: int = 0  # type: ignore[assignment]


@dataclass
class Other(Vessel):
    Colour: int = 0  # type: ignore[assignment]


@dataclass
class Params(HLAinteractionRoot):
    A: Annotated[int, hla(order="Receive")] = 0


def local() -> Source:
    @dataclass
    class Inner:
        x: int

    @dataclass
    class Outer(HLAobjectRoot):
        A: Inner

    return fom_from(Outer)


def two_points() -> Source:
    other = make_dataclass("Point", [("X", int)])
    return fom_from(Vessel, make_dataclass("Rock", [("At", other)], bases=(HLAobjectRoot,)))


def two_classes() -> Source:
    return fom_from(Vessel, make_dataclass("Vessel", [("At", int)], bases=(HLAobjectRoot,)))


def two_bounds() -> Source:
    @dataclass
    class Far(HLAobjectRoot, dimensions={"East": 7}):
        pass

    return fom_from(Vessel, Far)


def generated_class() -> Source:
    return fom_from(generated(load_fom(fom_from(Ferry))).Ferry)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (one_field(object), r"Odd\.A: object is no data type; there are float, int"),
        (one_field(dict[str, int]), r"dict\[str, int\] is no data type"),
        (one_field(Literal["a"]), "is no data type"),
        (one_field(Colour.RED), "the field has the name of its type: write `from __future__ import annotations`"),
        (one_field(list), r"say of what, as in list\[float\]"),
        (one_field(int | str), "is no data type"),
        (one_field(tuple[int, str]), "has elements of several types; a dataclass has names for them"),
        (one_field(list[Annotated[int, hla("HLAoctet")]]), "an array of HLAoctet is written bytes"),
        (one_field(Annotated[int, hla("HLAfloat32BE")]), "HLAfloat32BE holds float, and the annotation says int"),
        (one_field(Annotated[int, hla("Metres")]), "no data type 'Metres' is known of the standard; with representation="),
        (one_field(Annotated[str, hla("Text", representation="HLAunicodeString")]), "is no basic representation"),
        (one_field(Annotated[int, hla(order="Sideways")]), r"Odd\.A: there is no order 'Sideways'"),
        (one_field(Annotated[int, hla(transportation="Pigeon")]), "'Pigeon' is none of the standard's: HLAreliable"),
        (one_field(Annotated[Point, hla("HLAunicodeString")]), "HLAunicodeString is a data type of the standard"),
        (one_field(Annotated[Colour, hla(representation="HLAfloat32BE")]), "is no representation of an enumeration"),
        (one_field(Word), r"Word\.HELLO is 'hello'; an enumerator is a whole number"),
        (one_field(Maybe), r"Odd\.A\.x: only an attribute or parameter as a whole may be left out"),
        (one_field(list[int | None]), r"Odd\.A\[\]: only an attribute or parameter as a whole"),
        (one_field(Ordered), "order and transportation are of a whole attribute"),
        (one_field(Vessel), "Vessel is a class of the object model, and no data type"),
        (lambda: fom_from(Forgotten), "Forgotten has annotations and is no dataclass; write @dataclass above it"),
        (lambda: fom_from(Later), r"Later\.A may be None, so give it a default"),
        (lambda: fom_from(Reserved), "a field cannot be called encode"),
        (lambda: fom_from(Other), r"Other\.Colour is Colour in Vessel, and cannot be HLAinteger64BE here"),
        (lambda: fom_from(Params), r"of the whole interaction: class Params\(…, order=…\)"),
        (lambda: fom_from(cast("Any", Point)), "Point is neither an object class nor an interaction class"),
        (lambda: fom_from(), "no classes to make an object model of"),
        (local, "define the classes at the top of a module, not in a function"),
        (two_points, "another class has another data type Point"),
        (two_classes, r"two classes are HLAobjectRoot\.Vessel"),
        (two_bounds, "dimension East has another upper bound in another class"),
        (generated_class, "Ferry was generated from an object model; give its file"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_what_would_do(attempt: Callable[[], Source], words: str) -> None:
    with pytest.raises(ObjectModelError, match=words) as caught:
        attempt()
    assert isinstance(caught.value, InvalidObjectModel | ConflictingObjectModels)


def test_values_that_do_not_fit_are_named() -> None:
    with pytest.raises(EncodingError, match=r"^HLAobjectRoot\.Vessel\.Position: expected a Point; got 3$"):
        Vessel(Position=cast("Any", 3)).encode()
    with pytest.raises(EncodingError, match=r"^HLAobjectRoot\.Vessel\.Position: Point\.X: expected a number"):
        Vessel(Position=Point(cast("Any", "a"), 1)).encode()
    red = Vessel(Position=Point(0, 0)).encode()["Colour"]
    with pytest.raises(EncodingError, match="Colour has no enumerator 7"):
        Vessel.decode({"Position": bytes(16), "Colour": red[:3] + b"\x07"})
