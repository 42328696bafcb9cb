"""`weft fom check` and Create Federation Execution accept and refuse the same files (issue 18, 1)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fom.test_fom_bad_input import BOMB, module_text, objects
from support.small_fom import fom
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, RTIambassador, Source
from weft.cli import main
from weft.cli.data import object_model
from weft.fom import merge, parse_module
from weft.model.errors import RTIexception

DUPLICATE = """
<dataTypes><enumeratedDataTypes><enumeratedData><name>Kind</name><representation>HLAoctet</representation>
<enumerator><name>Other</name><value>0</value></enumerator>
<enumerator><name>Tug</name><value>1</value></enumerator>
<enumerator><name>Other</name><value>9</value></enumerator>
</enumeratedData></enumeratedDataTypes></dataTypes>"""

FILES = {
    "empty": b"",
    "no model": b"hello",
    "cut off": b"<objectModel>\n<objects>",
    "bomb": module_text("", BOMB),
    "nothing in it": module_text(""),
    "class without a parent": module_text("<objects><objectClass><name>Tank</name></objectClass></objects>"),
    "class": module_text(objects("<objectClass><name>Tank</name></objectClass>")),
    "class twice": module_text(objects("<objectClass><name>Tank</name></objectClass>" * 2)),
    "attribute without a type": module_text(
        objects("<objectClass><name>T</name><attribute><name>A</name></attribute></objectClass>")
    ),
    "unknown type": module_text(
        objects(
            "<objectClass><name>T</name><attribute><name>A</name><dataType>Nowhere</dataType></attribute></objectClass>"
        )
    ),
    "unknown dimension": module_text(
        objects(
            "<objectClass><name>T</name><attribute><name>A</name><dimensions><dimension>No</dimension></dimensions>"
            "</attribute></objectClass>"
        )
    ),
    "unknown transportation": module_text(
        objects(
            "<objectClass><name>T</name><attribute><name>A</name><transportation>pigeon</transportation></attribute></objectClass>"
        )
    ),
    "only used": module_text(
        objects(
            "<objectClass><name>Other</name><objectClass><name>T</name><sharing>Publish</sharing></objectClass></objectClass>"
        )
    ),
    "enumerator twice": module_text(DUPLICATE),
    "range": object_model("range.xml").data,
    "tests": fom().data,
    "fed": b"(FED (Federation F) (FEDversion v1.3) (spaces) (objects) (interactions))",
    "bad fed": b"(FED (Federation F)",
}


def checked(file: Path) -> bool:
    return main(["fom", "check", str(file)]) == 0


def created(file: Path) -> bool:
    rti = RTIambassador(EmbeddedNode())
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
    try:
        rti.create_federation_execution("F", str(file))
    except RTIexception:
        return False
    finally:
        rti.disconnect()
    return True


@pytest.mark.parametrize("name", FILES)
def test_the_same_files_are_accepted(name: str, tmp_path: Path) -> None:
    """Each way in which a file can be good or bad."""
    file = tmp_path / "model.xml"
    file.write_bytes(FILES[name])
    assert checked(file) == created(file)


BASES = [ET.fromstring(FILES["range"]), ET.fromstring(FILES["tests"])]
Change = st.tuples(
    st.sampled_from(["remove", "double", "text", "swap"]), st.integers(0, 10_000), st.integers(0, 10_000)
)


def changed(base: ET.Element, changes: list[tuple[str, int, int]]) -> bytes:
    root = ET.fromstring(ET.tostring(base))
    for what, first, second in changes:
        places = [(parent, child) for parent in root.iter() for child in parent]
        if not places:
            break
        parent, child = places[first % len(places)]
        other = places[second % len(places)][1]
        if what == "remove":
            parent.remove(child)
        elif what == "double":
            parent.append(child)
        elif what == "text":
            child.text = other.text
        else:
            child.tag = other.tag
    return ET.tostring(root)


@settings(max_examples=60)
@given(st.sampled_from(range(len(BASES))), st.lists(Change, min_size=1, max_size=3))
def test_changed_models_are_judged_alike(
    tmp_path_factory: pytest.TempPathFactory, base: int, changes: list[tuple[str, int, int]]
) -> None:
    """Real models with something taken away, twice, or in another place."""
    file = tmp_path_factory.getbasetemp() / "changed.xml"
    file.write_bytes(changed(BASES[base], changes))
    assert checked(file) == created(file)


def test_an_enumerator_twice_is_a_warning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As RPR FOM 2.0 draft 18 has it: both values are read as it, and the first is sent."""
    file = tmp_path / "double.xml"
    file.write_bytes(FILES["enumerator twice"])
    assert main(["fom", "check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "enumerator 'Other' of 'Kind' is given twice: 9 is read as it, too, and 0 is written" in said
    model = merge([parse_module(Source("double.xml", FILES["enumerator twice"]))])
    assert model.encode("Kind", "Other") == b"\0"
    assert model.decode("Kind", b"\x09") == model.decode("Kind", b"\0")


def test_a_part_of_a_model_is_checked_as_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A module that builds on others is refused by itself, and no error with --part."""
    file = tmp_path / "part.xml"
    file.write_bytes(FILES["only used"])
    assert main(["fom", "check", str(file)]) == 1
    assert "--part" in capsys.readouterr().err
    assert main(["fom", "check", "--part", str(file)]) == 0
