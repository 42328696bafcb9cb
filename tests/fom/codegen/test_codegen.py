"""Generated modules: they compile, they are typed, they encode what the object model says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.object_models import MODELS, object_model
from weft.fom import (
    Alternative,
    ArrayType,
    Attribute,
    DataType,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    InteractionClass,
    ObjectClass,
    ObjectModel,
    Parameter,
    SimpleType,
    VariantRecordType,
)
from weft.fom.codegen import generate
from weft.fom.encoding import Codecs
from weft.model.errors import EncodingError

ROOT = Path(__file__).parents[3]

TYPES: list[DataType] = [
    SimpleType("Metres", "HLAfloat64BE"),
    SimpleType("Octet", "HLAoctet"),
    FixedRecordType("Point", "HLAfixedRecord", (Field("X", "Metres"), Field("class", "HLAinteger16BE"))),
    FixedRecordType("list", "HLAfixedRecord", (Field("int", "Grid"), Field("encode", "Names"))),
    FixedRecordType("Empty", "HLAfixedRecord", ()),
    FixedRecordType("Node", "HLAfixedRecord", (Field("Point", "Point"), Field("below", "Nodes"))),
    FixedRecordType("Strange", "NobodyKnows", (Field("X", "Metres"),)),
    ArrayType("Nodes", "Node", "Dynamic", "HLAvariableArray"),
    ArrayType("Nest", "Nest", "Dynamic", "HLAvariableArray"),
    ArrayType("Path", "Point", "2, Dynamic", "HLAvariableArray"),
    ArrayType("Grid", "Colour", "2, 3", "HLAfixedArray"),
    ArrayType("Names", "HLAASCIIchar", "2, 3", "HLAfixedArray"),
    ArrayType("Raw", "Octet", "4", "HLAfixedArray"),
    EnumeratedType(
        "Colour",
        "HLAoctet",
        (
            Enumerator("None", (0,)),
            Enumerator("real", (1,)),
            Enumerator("red-ish", (2, 7)),
            Enumerator("red ish", (3,)),
        ),
    ),
    EnumeratedType("Flag", "HLAoctet", (Enumerator("False", (0,)), Enumerator("True", (1,)))),
    VariantRecordType(
        "Choice",
        "Colour",
        "Colour",
        (Alternative("[None..real]", "Here", "Point"), Alternative("red-ish", "There", "Path")),
        "HLAextendableVariantRecord",
    ),
]


def attributes(**types: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, data_type) for name, data_type in types.items())


def small_model() -> ObjectModel:
    objects = [
        ObjectClass("Root", None),
        ObjectClass(
            "Root.Ship", "Root", attributes(Position="Point", Colour="Colour", odd="Strange", blank="")
        ),
        ObjectClass(
            "Root.Ship.Tug",
            "Root.Ship",
            attributes(Choice="Choice", Position_="Raw", nest="Nest", Flag="Flag"),
        ),
        ObjectClass("Root.Ship.Point", "Root.Ship"),
    ]
    interactions = [
        InteractionClass("Call", None),
        InteractionClass(
            "Call.Ship", "Call", (Parameter("from", "HLAunicodeString"), Parameter("path", "Path"))
        ),
    ]
    return ObjectModel(
        object_classes={found.name: found for found in objects},
        interaction_classes={found.name: found for found in interactions},
        data_types={kind.name: kind for kind in TYPES},
    )


def load(source: str, name: str) -> Any:
    """The generated module, as if imported (dataclasses look their module up)."""
    module = sys.modules[name] = ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def small() -> Any:
    return load(generate(small_model(), "small"), "generated_small")


def test_the_same_model_gives_the_same_text() -> None:
    assert generate(small_model(), "small") == generate(small_model(), "small")


def test_names_python_cannot_take_are_changed(small: Any) -> None:
    assert small.Point(X=1.0, class_=2).encode() == bytes.fromhex("3ff0000000000000 0002")
    assert small.Colour.None_ == 0
    assert small.Colour.real_ == 1
    assert small.Colour.red_ish_ == 3
    assert [member.value for member in small.Colour] == [0, 1, 2, 7, 3]
    assert small.Ship_Point.HLA_NAME == "Root.Ship.Point"  # Point is a record
    assert small.Call_Ship.HLA_NAME == "Call.Ship"  # Ship is an object class
    assert not hasattr(small, "Strange")


def test_a_record_round_trips(small: Any) -> None:
    leaf = small.Node(Point_=small.Point(2.0, 2), below=[])
    node = small.Node(Point_=small.Point(1.0, 1), below=[leaf, leaf])
    assert small.Node.decode(node.encode()) == node
    codecs = Codecs(small_model().data_types)
    assert codecs.decode("Node", node.encode())["below"][1] == {"Point": {"X": 2.0, "class": 2}, "below": []}
    assert small.Empty.decode(small.Empty().encode()) == small.Empty()


def test_enumerations_and_arrays_of_them(small: Any) -> None:
    grid = [[small.Colour.None_, 99, 2], [0, 0, 0]]
    value = small.list_(int_=grid, encode_=["abc", "def"])
    decoded = small.list_.decode(value.encode())
    assert decoded == value
    assert isinstance(decoded.int_[0][0], small.Colour)
    assert type(decoded.int_[0][1]) is int


def test_variants(small: Any) -> None:
    here = small.Choice(Colour_=small.Colour.None_, Here=small.Point(1.0, 2))
    assert small.Choice.decode(here.encode()) == here
    there = small.Choice(Colour_=7, There=[[small.Point(1.0, 2)], []])
    assert small.Choice.decode(there.encode()) == there
    future = small.Choice(Colour_=55, unknown=b"\1\2\3")
    assert small.Choice.decode(future.encode()) == future
    assert future.encode() == bytes.fromhex("37 000000 00000003 010203")


def test_classes_encode_what_is_set(small: Any) -> None:
    tug = small.Tug(Position=small.Point(1.0, 2), odd=b"raw", Position_=b"1234", Flag=True, nest=[[], [[]]])
    values = tug.encode()
    assert sorted(values) == ["Flag", "Position", "Position_", "nest", "odd"]
    assert values["odd"] == b"raw"
    assert small.Tug.decode(values) == tug
    call = small.Call_Ship(from_="harbour", path=[[], [small.Point(1.0, 2)]])
    assert small.Call_Ship.decode(call.encode()) == call
    assert issubclass(small.Tug, small.Ship)


def test_mistakes_are_encoding_errors(small: Any) -> None:
    with pytest.raises(EncodingError, match=r"Root\.Ship\.Position"):
        small.Ship(Position=5).encode()
    with pytest.raises(EncodingError, match=r"Node: "):
        small.Node(Point_=None, below=[]).encode()
    with pytest.raises(EncodingError, match=r"Point\.X: expected a number"):
        small.Point(X="a", class_=1).encode()
    with pytest.raises(EncodingError, match=r"Root\.Ship\.depth: no such attribute"):
        small.Ship.decode({"depth": b""})


def test_the_generated_text_passes_mypy(tmp_path: Path) -> None:
    path = tmp_path / "generated.py"
    path.write_text(generate(small_model(), "small"))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_model_of_several_files() -> None:
    """Names with hyphens, keywords and digits, variant records, and classes whose attributes come from other modules."""
    model = object_model("range")
    made = load(generate(model, "Range"), "generated_range")
    pose = made.PoseVariant(
        Motion=made.MotionEnum8.Static,
        Standing=made.StandingPose(
            At=made.Place(1.0, 2.0, 3.0), Frozen=False, Facing_=made.Facing(0.0, 0.5, 1.0)
        ),
    )
    kite = made.Kite(Pose=pose, Side=made.SideEnum8.Home)
    values = kite.encode()
    assert sorted(values) == ["Pose", "Side"]
    assert made.Kite.decode(values) == kite
    assert Codecs(model.data_types).decode("PoseVariant", values["Pose"])["Motion"] == "Static"
    assert made.Throw.HLA_NAME == "HLAinteractionRoot.Throw"
    assert made.SideEnum8.None_ == 3
    assert made.KindEnum16.class_ == 4
    assert made.KindEnum16.AA_12_Kite == 1


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_generates_a_module_that_loads(name: str) -> None:
    made = load(generate(object_model(name), name), f"generated_{sorted(MODELS).index(name)}")
    assert any(hasattr(found, "HLA_NAME") for found in vars(made).values())
