"""`weft fom write`: the dataclasses of a module as an object model file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import load_fom
from weft.cli import main

MODULE = """
from __future__ import annotations

from dataclasses import dataclass

from weft import HLAinteractionRoot, HLAobjectRoot


@dataclass
class Point:
    X: float
    Y: float


@dataclass
class Ship(HLAobjectRoot):
    Position: Point


@dataclass
class Warning(HLAinteractionRoot):
    Metres: float
"""


@pytest.fixture(autouse=True)
def no_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("ships", None)


@pytest.mark.parametrize("named", ["ships.py", "ships"])
def test_a_module_becomes_a_file_that_is_right(
    named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ships.py").write_text(MODULE)
    assert main(["fom", "write", named, "-o", "ships.xml"]) == 0
    model = load_fom("ships.xml")
    assert "HLAobjectRoot.Ship" in model.object_classes
    assert "HLAinteractionRoot.Warning" in model.interaction_classes
    assert b"<name>ships</name>" in Path("ships.xml").read_bytes()
    assert main(["fom", "check", "ships.xml"]) == 0
    said = capsys.readouterr().out
    assert all(f"{what:<20}0" in said for what in ("notes", "warnings", "errors")), said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "ships.py: there is no such file"),
        ("x = 1", "no classes to make an object model of"),
        ("1 / 0", "ships.py cannot be imported: ZeroDivisionError"),
        (MODULE.replace("@dataclass\nclass Ship", "class Ship"), "Ship has annotations and is no dataclass"),
    ],
)
def test_what_cannot_be_written_is_said(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "ships.py").write_text(text)
    assert main(["fom", "write", "ships.py"]) == 2
    assert words in capsys.readouterr().err
