"""Real object model files: all load, alone and in their sets, and say what an independent reader finds in them."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from weft.fom import Module, ObjectModel, examine, merge, parse_module, write_omt
from weft.fom.datatypes import EnumeratedType
from weft.model.records import Source

FOMS = Path(__file__).parents[3] / "shared" / "foms"
pytestmark = pytest.mark.skipif(
    not FOMS.is_dir(), reason="the shared object model files are not beside the repository"
)

XML_FILES = sorted(path.relative_to(FOMS).as_posix() for path in FOMS.glob("*/*.xml"))
FED_FILES = sorted(path.relative_to(FOMS).as_posix() for path in FOMS.glob("*/*.fed"))

RPR = [name for name in XML_FILES if name.startswith("rpr2/")]
SPACE = [name for name in XML_FILES if name.startswith("spacefom/")]
RESTAURANT = [name for name in XML_FILES if name.startswith("restaurant-2010/")]
RESTAURANT_4 = ["hla4/RestaurantFOMmodule-2025.xml", "hla4/RestaurantExtensionFOMmodule-2025.xml"]
COMPLETE_SETS = {
    "rpr": RPR,
    "rpr as FED": FED_FILES,
    "rpr as FED and XML": FED_FILES + RPR,
    "rpr and the MIM of 2010": [*RPR, "mim/HLAstandardMIM-2010.xml"],
    "space": SPACE,
    "space and rpr": SPACE + RPR,
    "restaurant 2010": RESTAURANT,
    "restaurant of the standard": ["restaurant-std-2010/RestaurantFOMmodule.xml"],
    "restaurant SOM of the standard": ["restaurant-std-2010/RestaurantSOMmodule.xml"],
    "restaurant HLA 4": RESTAURANT_4,
    "restaurant HLA 4, extension first": RESTAURANT_4[::-1],
    "both MIMs": ["mim/HLAstandardMIM-2010.xml", "mim/HLAstandardMIM-2025.xml"],
}


def load(name: str) -> Module:
    return parse_module(Source(name, (FOMS / name).read_bytes()))


@pytest.mark.parametrize("name", XML_FILES + FED_FILES)
def test_every_file_loads_alone(name: str) -> None:
    """S2-18: nothing in a real file is an error; what is odd is a warning with file and line."""
    findings = examine([load(name)])
    assert findings.errors == ()
    assert all(re.match(rf"{re.escape(name)}(:\d+)?$", problem.place) for problem in findings.model.warnings)


@pytest.mark.parametrize("name", sorted(COMPLETE_SETS))
@pytest.mark.parametrize("complete", [True, False])
def test_sets_merge(name: str, complete: bool) -> None:
    modules = [load(file) for file in COMPLETE_SETS[name]]
    model = merge(modules, complete=complete)
    assert ("HLAobjectRoot.HLAmanager" in model.object_classes) >= complete
    for classes in (model.object_classes, model.interaction_classes):
        seen: set[str] = set()
        for class_name, item in classes.items():
            assert item.parent is None or item.parent in seen
            seen.add(class_name)


@pytest.mark.parametrize("name", sorted(COMPLETE_SETS))
def test_a_written_merge_reads_back_equal(name: str) -> None:
    model = merge([load(file) for file in COMPLETE_SETS[name]], complete=False)
    again = merge([parse_module(Source("merged", write_omt(model)))], complete=False)
    assert again == model


def test_the_rpr_modules_need_each_other_and_are_complete_together() -> None:
    model = merge([load(name) for name in RPR])
    assert model.warnings == ()
    aircraft = "HLAobjectRoot.BaseEntity.PhysicalEntity.Platform.Aircraft"
    inherited = [item.name for item in model.all_attributes(aircraft)]
    assert inherited[0] == "HLAprivilegeToDeleteObject"
    assert "Spatial" in inherited


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
            name = f"{prefix}.{_text(child, 'name')}"
            members = found.setdefault(name, set())
            members.update(_text(row, "name") for row in child if _local(row) == member)
            _walk(child, tag, name, member, found)


def count_by_hand(names: list[str]) -> tuple[int, int, int, int]:
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
    [*([name] for name in XML_FILES), RPR, SPACE, RESTAURANT, RESTAURANT_4],
    ids=lambda names: names[0] if names else "no files",
)
def test_counts_are_those_of_an_independent_reader(names: list[str]) -> None:
    model = merge([load(name) for name in names], complete=False)
    assert count(model) == count_by_hand(names)


def test_enumerators_are_counted_once() -> None:
    model = merge([load("rpr2/RPR-Enumerations_v2.0.xml")] * 2, complete=False)
    text = (FOMS / "rpr2/RPR-Enumerations_v2.0.xml").read_text(encoding="utf-8")
    enumerated = [item for item in model.data_types.values() if isinstance(item, EnumeratedType)]
    assert sum(len(item.enumerators) for item in enumerated) == text.count("<enumerator>") + text.count(
        "<enumerator "
    )


def test_counts_of_the_fed_file() -> None:
    """S2-18."""
    (name,) = FED_FILES
    text = (FOMS / name).read_text()
    objects, interactions = text.split("(interactions")
    model = merge([load(name)], complete=False)
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


def test_schema_faults_are_warnings_with_their_line() -> None:
    texts = [str(problem) for problem in load("hla4/Chat-evolved.xml").warnings]
    assert any(text.startswith("hla4/Chat-evolved.xml:11: <copyright>") for text in texts)
    assert any(text.startswith("hla4/Chat-evolved.xml:71: <dimensions>") for text in texts)


def test_an_hla_4_extension_adds_to_what_exists() -> None:
    model = merge([load(name) for name in RESTAURANT_4])
    drink_type, garnish = model.data_types["DrinkType"], model.data_types["DrinkGarnish"]
    assert isinstance(drink_type, EnumeratedType)
    assert "IrishCoffee" in [item.name for item in drink_type.enumerators]
    assert "ExtraWhippedCream" in [item.name for item in garnish.alternatives]  # type: ignore[union-attr]
    server = model.object_classes["HLAobjectRoot.Employee.Server"]
    assert "HLAinteractionRoot.ServerAction.CleanFloor" in server.directed_interactions
    soda = "HLAobjectRoot.Food.Drink.Soda"
    assert "Organic" in [item.name for item in model.object_classes[soda].attributes]
    assert model.attribute_dimensions(soda, "Organic") == ("BarQuantity", "SodaFlavor")
    wine = "HLAobjectRoot.Food.Drink.Wine"
    assert "WineCountry" in model.attribute_dimensions(wine, "NumberCups")


def test_the_mom_of_2010_in_a_module_does_not_contradict_the_mim() -> None:
    model = merge([load("mim/HLAstandardMIM-2010.xml")])
    federate = model.object_classes["HLAobjectRoot.HLAmanager.HLAfederate"]
    (handle,) = [item for item in federate.attributes if item.name == "HLAfederateHandle"]
    assert handle.data_type == "HLAfederateHandle"
    assert model.warnings
