"""Object model files as they are met: all load, alone and in their sets, and say what an independent reader finds in them.

The files in `tests/data/foms` are our own and have the traits of those that others publish (its README lists them).  `WEFT_FOMS`
names a folder with more of them, such as the published ones: then these are read, too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.mim_facts import standard_mim_file
from support.object_models import FOMS, MODELS
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, ResignAction, RTIambassador
from weft.fom import Module, ObjectModel, examine, merge, parse_module, write_omt
from weft.fom.datatypes import EnumeratedType, SimpleType, VariantRecordType
from weft.model.records import Source

MORE = [Path(os.environ["WEFT_FOMS"]).resolve()] if os.environ.get("WEFT_FOMS") else []


def _files(suffix: str) -> list[str]:
    own = [path.relative_to(FOMS).as_posix() for path in sorted(FOMS.rglob(f"*.{suffix}"))]
    return own + [str(path) for folder in MORE for path in sorted(folder.rglob(f"*.{suffix}"))]


XML_FILES = _files("xml")
FED_FILES = _files("fed")
FED = "range/range.fed"
SETS = {
    **MODELS,
    "range as FED": (FED,),
    "range as FED and XML": (FED, *MODELS["range"]),
    "harbour and range": (*MODELS["harbour"], *MODELS["range"]),
    "bakery, the parts first": MODELS["bakery"][::-1],
    "orchard, more first": MODELS["orchard"][::-1],
    "orchard and range": (*MODELS["orchard"], *MODELS["range"]),
    "range and the MIM of 2010": (*MODELS["range"], "MIM 2010"),
    "both MIMs": ("MIM 2010", "MIM 2025"),
}


def load(name: str) -> Module:
    if name.startswith("MIM "):
        return parse_module(standard_mim_file(name.removeprefix("MIM ")))
    return parse_module(Source(name, (FOMS / name).read_bytes()))


@pytest.mark.parametrize("name", XML_FILES + FED_FILES)
def test_every_file_loads_alone(name: str) -> None:
    """S2-18: nothing in a real file is an error; what is odd is a warning with file and line."""
    findings = examine([load(name)])
    assert findings.errors == ()
    assert all(re.match(rf"{re.escape(name)}(:\d+)?$", problem.place) for problem in findings.model.warnings)


@pytest.mark.parametrize("name", sorted(SETS))
@pytest.mark.parametrize("complete", [True, False])
def test_sets_merge(name: str, complete: bool) -> None:
    modules = [load(file) for file in SETS[name]]
    model = merge(modules, complete=complete)
    assert ("HLAobjectRoot.HLAmanager" in model.object_classes) >= complete
    for classes in (model.object_classes, model.interaction_classes):
        seen: set[str] = set()
        for class_name, item in classes.items():
            assert item.parent is None or item.parent in seen
            seen.add(class_name)


@pytest.mark.parametrize("name", sorted(SETS))
def test_a_written_merge_reads_back_equal(name: str) -> None:
    model = merge([load(file) for file in SETS[name]], complete=False)
    again = merge([parse_module(Source("merged", write_omt(model)))], complete=False)
    assert again == model


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"harbour"}))
def test_modules_need_each_other_and_are_complete_together(name: str) -> None:
    alone = [examine([load(file)]).model.warnings for file in MODELS[name]]
    assert any(alone) == (len(MODELS[name]) > 1)
    assert merge([load(file) for file in MODELS[name]]).warnings == ()


def test_attributes_are_inherited_from_other_modules() -> None:
    model = merge([load(file) for file in MODELS["range"]])
    inherited = [item.name for item in model.all_attributes("HLAobjectRoot.Thing.Solid.Ball")]
    assert inherited == [
        "HLAprivilegeToDeleteObject",
        *("Pose", "PartOf", "Side"),
        *("Damage", "Parts", "Hidden"),
        "Thrower",
    ]


# An independent count: a tree walk that knows only the names of elements.


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element, tag: str) -> str:
    return next((child.text or "" for child in element if _local(child) == tag), "").strip()


def _walk(
    element: ElementTree.Element, tag: str, prefix: str, member: str, found: dict[str, set[str]]
) -> None:
    for child in element:
        if _local(child) == tag:
            name = f"{prefix}.{' '.join(_text(child, 'name').split())}"
            members = found.setdefault(name, set())
            members.update(_text(row, "name") for row in child if _local(row) == member)
            _walk(child, tag, name, member, found)


def count_by_hand(names: tuple[str, ...]) -> tuple[int, int, int, int]:
    objects: dict[str, set[str]] = {}
    interactions: dict[str, set[str]] = {}
    for name in names:
        for section in ElementTree.parse(FOMS / name).getroot():
            if _local(section) == "objects":
                _walk(section, "objectClass", "", "attribute", objects)
            if _local(section) == "interactions":
                _walk(section, "interactionClass", "", "parameter", interactions)
    attributes = sum(len(members) for members in objects.values())
    return len(objects), attributes, len(interactions), sum(len(members) for members in interactions.values())


def count(model: ObjectModel) -> tuple[int, int, int, int]:
    return (
        len(model.object_classes),
        sum(len(item.attributes) for item in model.object_classes.values()),
        len(model.interaction_classes),
        sum(len(item.parameters) for item in model.interaction_classes.values()),
    )


@pytest.mark.parametrize(
    "names",
    [*((name,) for name in XML_FILES), *MODELS.values()],
    ids=lambda names: "+".join(names),
)
def test_counts_are_those_of_an_independent_reader(names: tuple[str, ...]) -> None:
    model = merge([load(name) for name in names], complete=False)
    assert count(model) == count_by_hand(names)


def test_enumerators_are_counted_once() -> None:
    name = "range/range-2-enumerations.xml"
    model = merge([load(name)] * 2, complete=False)
    text = (FOMS / name).read_text(encoding="utf-8")
    enumerated = [item for item in model.data_types.values() if isinstance(item, EnumeratedType)]
    assert sum(len(item.enumerators) for item in enumerated) == len(re.findall("<enumerator[ >]", text)) > 180


def test_counts_of_the_fed_file() -> None:
    """S2-18."""
    objects, interactions = (FOMS / FED).read_text().split("(interactions")
    model = merge([load(FED)], complete=False)
    expected = tuple(
        len(re.findall(rf"\({word}\s", part))
        for part, word in (
            (objects, "class"),
            (objects, "attribute"),
            (interactions, "class"),
            (interactions, "parameter"),
        )
    )
    assert count(model) == expected
    assert list(model.dimensions) == ["Field.East", "Field.North"]


# What is odd, by line.
ODD = {
    "chat-2010": {9: "<copyright> in <modelIdentification> is not in", 30: "<dimensions> comes too late"},
    "chat-2025": {4: "<applicationDomain> in <modelIdentification> is empty"},
    "comments": {4: "the document type 'objectModel' is ignored", 16: "unknown element <colour>"},
    "other-namespace": {2: "unknown namespace 'http://bakery.example/omt'"},
    "draft-18": {9: "enumerator 'Red' of 'Buoy' is given twice: 7 is read as it, too, and 1 is written"},
    "draft": {
        5: "unknown sharing 'publishsubscribe'",
        6: "order 'timestamp' is read as 'TimeStamp'",
        7: "attribute 'Line' is given twice",
        9: "<valueRequired> in <attribute> is not in the schema of 2010;uses the unknown transportation 'Pigeon'"
        ";uses the unknown dimension 'Sheet'",
        13: "unknown sharing 'Both'",
        15: "parameter 'What' is given twice",
        20: "the upper bound of dimension 'Huge' is 99999999999",
        22: "switch autoProvide",
        23: "update rate 'Odd'",
        26: "basic type 'Sizeless' has no size",
        27: "basic type 'Middle'",
        31: "<units> in <simpleData> is empty;<resolution> in;<accuracy> in",
        40: "enumerator 'Black' of 'Ink' is given twice",
        41: "enumerator 'None' of 'Ink' has no value",
        42: "enumerator 'Some' of 'Ink' has the odd value 'few';has no value",
        48: "<cardinality> in <arrayData> is empty;<encoding> in <arrayData> is empty",
        49: "data type 'Lost' uses the unknown data type 'Gone'",
        53: "data type 'Void' is given twice",
        59: "unknown element <appendix>",
    },
}


@pytest.mark.parametrize("path", sorted((FOMS / "odd").glob("*.xml")), ids=lambda path: path.stem)
def test_what_is_odd_is_told_with_its_line_and_nothing_else_is(path: Path) -> None:
    """S2-18: each oddity is one warning, at its line; the file is read all the same."""
    name = f"odd/{path.name}"
    told: dict[int, list[str]] = {}
    for problem in examine([load(name)]).model.warnings:
        told.setdefault(int(problem.place.removeprefix(f"{name}:")), []).append(problem.message)
    expected = {line: text.split(";") for line, text in ODD.get(path.stem, {}).items()}
    assert sorted(told) == sorted(expected)
    for line, texts in expected.items():
        assert len(told[line]) == len(texts), told[line]
        assert all(any(text in one for one in told[line]) for text in texts), told[line]


@pytest.mark.parametrize(
    "name",
    ["bom", "no-declaration", "utf-16", "latin-1", "no-namespace", "other-namespace", "prefixed"],
)
def test_bytes_and_namespaces_of_every_kind_say_the_same(name: str) -> None:
    model = merge([load(f"odd/{name}.xml")])
    assert [item.name for item in model.all_attributes("HLAobjectRoot.Køb")][1:] == ["Smørrebrød"]
    colour = model.data_types["Farve"]
    assert isinstance(colour, EnumeratedType)
    assert [item.name for item in colour.enumerators] == ["Rød"]


def test_comments_and_white_space_are_not_part_of_names() -> None:
    module = load("odd/comments.xml")
    assert module.name == "Comments and <CDATA> & more"
    ferry = module.object_classes["HLAobjectRoot.Ferry"]
    assert ferry.sharing == "PublishSubscribe"
    assert [(item.name, item.data_type) for item in ferry.attributes] == [("Load", "HLAinteger32BE")]


def test_odd_enumerators_are_read_as_far_as_they_go() -> None:
    ink = load("odd/draft.xml").data_types["Ink"]
    assert isinstance(ink, EnumeratedType)
    assert {item.name: item.values for item in ink.enumerators} == {
        "Black": (0,),
        "Blue": (16,),
        "Red": (7,),
        "Faded": (2, 3),
        "Washed": (4, 5),
        "None": (),
        "Some": (),
    }


def test_an_enumerator_with_two_values_is_read_from_both_and_written_as_the_first() -> None:
    """As in draft 18 of the RPR FOM 2.0: one careless line does not keep a federation from being created."""
    module = load("odd/draft-18.xml")
    codec = merge([module, module]).codecs.codec("Buoy")
    assert [codec.decode(bytes([0, value])) for value in (1, 2, 7)] == ["Red", "Green", "Red"]
    assert codec.encode("Red") == b"\0\1"
    node = EmbeddedNode()
    rti = RTIambassador(node)
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
    rti.create_federation_execution("harbour", [module.source])
    rti.join_federation_execution("buoy", "harbour")
    rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.destroy_federation_execution("harbour")
    rti.disconnect()


def test_what_does_not_apply_is_empty() -> None:
    """NA means nothing: not a type, not a unit, not the name of an arm."""
    ship = merge([load(file) for file in MODELS["harbour"]]).object_classes["HLAobjectRoot.Ship"]
    (nothing,) = (item for item in ship.attributes if item.name == "nothing")
    assert (nothing.data_type, nothing.update_type) == ("", "")
    model = merge([load(file) for file in MODELS["bakery"]])
    wish, skill = model.data_types["Wish"], model.data_types["SkillValue"]
    assert isinstance(wish, SimpleType)
    assert (wish.units, wish.resolution) == ("", "1")
    assert isinstance(skill, VariantRecordType)
    assert [(arm.enumerators, arm.name, arm.type) for arm in skill.alternatives] == [
        ("Novice", "Passed", "HLAboolean"),
        ("[Helper .. Old_Hand], Master", "Points", "Wish"),
        ("HLAother", "", ""),
    ]


def test_an_hla_4_extension_adds_to_what_exists() -> None:
    """1516.2-2025: a module adds enumerators, arms, attributes, dimensions and directed interactions to what another has."""
    model = merge([load(name) for name in MODELS["orchard"]])
    sort, treatment = model.data_types["Sort"], model.data_types["Treatment"]
    assert isinstance(sort, EnumeratedType)
    assert [item.name for item in sort.enumerators] == ["Boskoop", "Gala", "Quince"]
    assert sort.representation == "HLAinteger32BE"
    assert isinstance(treatment, VariantRecordType)
    assert [item.name for item in treatment.alternatives] == ["Sour", "Wrapped", "Cooked"]
    assert treatment.discriminant == "Sort"
    picker = model.object_classes["HLAobjectRoot.Picker"]
    assert set(picker.directed_interactions) == {
        "HLAinteractionRoot.Order.Pick",
        "HLAinteractionRoot.Order.Sweep",
    }
    apple = "HLAobjectRoot.Fruit.Apple"
    assert [item.name for item in model.object_classes[apple].attributes] == ["Treat", "Organic"]
    assert set(model.attribute_dimensions(apple, "Organic")) == {"Row", "Colour", "Country"}
    assert set(model.attribute_dimensions(apple, "Picked")) == {"Row", "Colour", "Country"}
    order = model.interaction_classes["HLAinteractionRoot.Order"]
    assert [item.name for item in order.parameters] == ["Baskets", "Price"]
