"""`weft fom`, in process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli import main
from weft.fom import merge, parse_module, standard_mim
from weft.model.records import Source

BASE = """<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
<modelIdentification><name>base</name></modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>Vehicle</name><sharing>PublishSubscribe</sharing>
<attribute><name>speed</name><dataType>HLAfloat64BE</dataType><transportation>HLAbestEffort</transportation>
<order>TimeStamp</order></attribute>
<objectClass><name>Tank</name><sharing>Publish</sharing>
<attribute><name>turret</name><dataType>Angle</dataType><order>Receive</order></attribute></objectClass>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>Shot</name><sharing>Publish</sharing><parameter><name>who</name><dataType>Side</dataType>
</parameter></interactionClass></interactionClass></interactions>
<dataTypes><simpleDataTypes><simpleData><name>Angle</name><representation>{angle}</representation></simpleData>
</simpleDataTypes><enumeratedDataTypes><enumeratedData><name>Side</name><representation>HLAoctet</representation>
<enumerator><name>Red</name><value>1</value></enumerator><enumerator><name>Blue</name><value>2</value></enumerator>
</enumeratedData></enumeratedDataTypes></dataTypes></objectModel>"""


def weft(*arguments: str) -> int:
    return main(["fom", *arguments])


@pytest.fixture
def base(tmp_path: Path) -> str:
    path = tmp_path / "base.xml"
    path.write_text(BASE.format(angle="HLAfloat32BE"))
    return str(path)


@pytest.fixture
def other(tmp_path: Path) -> str:
    path = tmp_path / "other.xml"
    path.write_text(BASE.format(angle="HLAfloat64BE"))
    return str(path)


def test_check_counts(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert weft("check", base, base, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {
        "objectClasses": 3,
        "attributes": 2,
        "interactionClasses": 2,
        "parameters": 1,
        "dimensions": 0,
        "dataTypes": 2,
        "enumerators": 2,
        "modules": 1,
        "notes": 0,
        "warnings": 0,
        "errors": 0,
        "noteTexts": [],
        "warningTexts": [],
        "errorTexts": [],
    }


def test_check_counts_the_mim_only_when_asked(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert weft("check", base, "--mim", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["objectClasses"] == len(standard_mim().object_classes) + 2
    assert report["modules"] == 2


def test_check_prints_a_table_and_the_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.xml"
    path.write_text(BASE.format(angle="Nothing").replace("</modelI", "\n<colour/></modelI"))
    assert weft("check", str(path)) == 0
    out = capsys.readouterr().out
    assert "object classes      3\n" in out
    assert f"{path}:3: warning: unknown element <colour>" in out
    assert "unknown data type 'Nothing'" in out


def test_check_fails_on_a_conflict(base: str, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert weft("check", base, other) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"weft: {other}:13: data type 'Angle' contradicts {base}:13: ")
    assert weft("check", base, other, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["errors"] == 1
    assert "Angle" in report["errorTexts"][0]


@pytest.mark.parametrize("json_wanted", [True, False])
@pytest.mark.parametrize("text", ["", "no model", "<objectModel>\n<", "(FED\n("])
def test_check_of_a_bad_file_is_one_line(
    tmp_path: Path, text: str, json_wanted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    assert weft("check", str(path), *(["--json"] if json_wanted else [])) == 1
    captured = capsys.readouterr()
    if json_wanted:
        report = json.loads(captured.out)
        assert report["errors"] == 1
        assert report["objectClasses"] == 0
        message = report["errorTexts"][0]
    else:
        assert captured.out == ""
        message = captured.err.removeprefix("weft: ").rstrip("\n")
    assert message.startswith(f"{path}:")
    assert "\n" not in message


@pytest.mark.parametrize("action", [["check"], ["check", "--json"], ["merge"], ["show", "Tank"], ["gen"]])
def test_a_file_that_is_not_there(
    action: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As docs/reference/commands.md has it: 2, it could not be done, and one line says why, as of any command."""
    missing = str(tmp_path / "missing.xml")
    assert weft(*action, missing) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"weft: {missing}: cannot be read: No such file or directory\n"


@pytest.mark.parametrize("action", [["merge"], ["show", "Tank"], ["gen"]])
def test_what_needs_a_sound_model_cannot_be_done_with_a_faulty_one(
    action: list[str], base: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only `check` is done when it has found something wrong (1); the others are not (2)."""
    assert weft(*action, base, other) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"weft: {other}:13: ")


def test_merge_writes_one_file(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "merged.xml"
    assert weft("merge", base, "--mim", "-o", str(output)) == 0
    merged = merge([parse_module(Source("merged", output.read_bytes()))], complete=False)
    assert merged == merge([parse_module(Source("base", Path(base).read_bytes()))])
    assert weft("merge", base) == 0
    assert capsys.readouterr().out.startswith("<?xml")


def test_merge_writes_nothing_on_a_conflict(base: str, other: str, tmp_path: Path) -> None:
    output = tmp_path / "merged.xml"
    assert weft("merge", base, other, "-o", str(output)) == 2
    assert not output.exists()


def test_merge_says_when_it_cannot_write(
    base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weft("merge", base, "-o", str(tmp_path)) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_show(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert weft("show", "Tank", base) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("object class HLAobjectRoot.Vehicle.Tank")
    assert [line.split() for line in lines[1:]] == [
        ["attribute", "type", "order", "transportation", "dimensions", "from"],
        ["HLAprivilegeToDeleteObject", "HLAtoken", "TimeStamp", "HLAreliable", "-", "HLAobjectRoot"],
        ["speed", "HLAfloat64BE", "TimeStamp", "HLAbestEffort", "-", "Vehicle"],
        ["turret", "Angle", "Receive", "HLAreliable", "-", "Tank"],
    ]
    assert weft("show", "Shot", base) == 0
    assert "who" in capsys.readouterr().out


def test_show_suggests_names(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert weft("show", "Tenk", base) == 2
    assert "did you mean HLAobjectRoot.Vehicle.Tank?" in capsys.readouterr().err
    assert weft("show", "HLAmanager", base) == 2
    assert "may be one of" in capsys.readouterr().err


def test_gen_writes_a_module_that_compiles(base: str, tmp_path: Path) -> None:
    output = tmp_path / "vehicles.py"
    assert weft("gen", base, "-o", str(output)) == 0
    text = output.read_text()
    assert "Tank" in text
    compile(text, str(output), "exec")
