"""Our MIM file says what the standard's says."""

from __future__ import annotations

from dataclasses import replace

import weft.fom
from support.mim_facts import standard_mim_file
from support.small_fom import extra_module
from weft.fom import BasicType, DataType, merge, parse_module, standard_mim
from weft.fom.objectmodel import ObjectClass


def test_the_mim_is_complete_and_without_warnings() -> None:
    assert standard_mim().warnings == ()
    assert merge([]) == merge([standard_mim()])
    assert merge([]).warnings == ()


def test_the_mim_holds_no_prose() -> None:
    """Texts of the standard are not ours to copy; names, types and structure are facts."""
    assert b"<semantics" not in standard_mim().source.data


def _bare_class(item: ObjectClass) -> ObjectClass:
    return replace(item, attributes=tuple(replace(own, update_condition="") for own in item.attributes))


def _bare_type(item: DataType) -> DataType:
    return replace(item, encoding="") if isinstance(item, BasicType) else item


def test_the_mim_is_that_of_the_standard() -> None:
    """Clause 11 and annex G of 1516.1, as facts in `tests/data/mim/2025`."""
    ours, theirs = standard_mim(), parse_module(standard_mim_file("2025"))
    assert theirs.warnings == ()
    assert (len(theirs.object_classes), len(theirs.interaction_classes)) == (4, 93)
    assert list(ours.object_classes) == list(theirs.object_classes)
    for name, item in theirs.object_classes.items():
        assert _bare_class(ours.object_classes[name]) == _bare_class(item)
    assert list(ours.interaction_classes.items()) == list(theirs.interaction_classes.items())
    assert {name: _bare_type(item) for name, item in ours.data_types.items()} == {
        name: _bare_type(item) for name, item in theirs.data_types.items()
    }
    assert ours.transportations == theirs.transportations
    assert ours.switches == theirs.switches
    for name, dimension in theirs.dimensions.items():
        assert replace(ours.dimensions[name], normalization="") == replace(dimension, normalization="")


def test_the_mim_of_2010_in_a_module_does_not_contradict() -> None:
    """1516.2, merging rules: federates of 2010 bring their MIM along as a module; where they differ ours counts, and says so."""
    module = parse_module(standard_mim_file("2010"))
    assert module.warnings == ()
    assert (len(module.object_classes), len(module.interaction_classes)) == (4, 85)
    model = merge([module])
    federate = model.object_classes["HLAobjectRoot.HLAmanager.HLAfederate"]
    (handle,) = [item for item in federate.attributes if item.name == "HLAfederateHandle"]
    assert handle.data_type == "HLAfederateHandle"
    assert model.warnings
    assert set(module.interaction_classes) | set(standard_mim().interaction_classes) == set(
        model.interaction_classes
    )


def test_the_public_surface() -> None:
    assert weft.fom.__all__ == sorted(weft.fom.__all__, key=lambda name: (not name.isupper(), name))
    assert all(hasattr(weft.fom, name) for name in weft.fom.__all__)


def test_an_upper_bound_fits_the_federate_protocol() -> None:
    """A dimension without one has the most there can be; one beyond that is lowered, with a warning that says where."""
    rows = "<name>Wide</name><upperBound>99999999999</upperBound>", "<name>Open</name>"
    text = "".join(f"<dimension>{row}</dimension>" for row in rows)
    module = parse_module(extra_module(f"<dimensions>{text}</dimensions>"))
    assert any("99999999999" in str(warning) for warning in module.warnings)
    found = merge([module]).dimensions
    assert {found[name].upper_bound for name in ("Wide", "Open")} == {(1 << 32) - 1}
