"""The figures of the house: that they are counted right, and that a figure above its ceiling is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import house

ALPHA = """\
from typing import Any

class Plan:
    class Inner: ...
    def make(self, value: Any) -> "AnyOther": ...

class _Hidden: ...
"""
BETA = (
    """\
class Plan: ...
class Inner: ...
class _Hidden: ...

async def long():
"""
    + "    await it()\n" * 70
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of two packages."""
    source, benchmarks = tmp_path / "src" / "weft", tmp_path / "benchmarks" / "weft_benchmarks"
    for path, text in {
        source / "__init__.py": "",
        source / "one" / "__init__.py": "",
        source / "one" / "alpha.py": ALPHA,
        source / "two" / "beta.py": BETA,
        source / "two" / "gamma.py": "x = 1\n",
        source / "two" / "__pycache__" / "left.py": ALPHA,
        benchmarks / "__init__.py": "",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text(
        "| word | means |\n|---|---|\n| call | this |\n| ear | that |\n"
    )
    return tmp_path


def test_packages_are_counted(tree: Path) -> None:
    """Files, lines and lines with `Any` of each; what lies above them apart."""
    assert house.packages(tree / "src" / "weft") == {
        "(top)": house.Package(1, 0, 0),
        "one": house.Package(2, 7, 2),
        "two": house.Package(2, 76, 0),
    }


def test_figures_are_counted(tree: Path) -> None:
    """Classes inside of others are not doubled; `AnyOther` is not `Any`; what Python keeps is passed over."""
    found = house.figures(tree / "src")
    assert {name: figure.value for name, figure in found.items()} == {
        house.LARGEST: 2,
        house.P90: 71,
        house.LONGEST: 71,
        house.ABOVE: 1,
        house.ANY: 2,
        house.DOUBLED: 1,
        house.DOUBLED_PRIVATE: 1,
    }
    assert found[house.LARGEST].behind == ["weft/two"]
    assert found[house.ABOVE].behind == ["weft/two/beta.py:5 long (71 lines)"]
    assert found[house.ANY].behind == ["weft/one/alpha.py:1", "weft/one/alpha.py:5"]
    assert found[house.DOUBLED].behind == ["Plan: weft/one/alpha.py, weft/two/beta.py"]


def test_an_empty_folder_has_figures_too(tmp_path: Path) -> None:
    """All of them 0."""
    assert {figure.value for figure in house.figures(tmp_path).values()} == {0}


def test_words_of_the_glossary(tree: Path) -> None:
    """Rows of its tables, without their heads."""
    assert house.glossary(tree / "docs" / "glossary.md").behind == ["call", "ear"]


def test_what_is_above_its_ceiling_is_told() -> None:
    """With what stands behind it; what has become less is not, and what has no ceiling is."""
    found = {"src": {house.ABOVE: house.Figure(2, ["a.py:1 f", "b.py:2 g"]), house.ANY: house.Figure(5, [])}}
    assert house.complaints(found, {"src": {house.ABOVE: 2, house.ANY: 6}}) == []
    assert house.complaints(found, {"src": {house.ABOVE: 1}}) == [
        "src: functions above 60 lines: 2, the ceiling is 1\n    a.py:1 f\n    b.py:2 g",
        "src: lines with Any: 5, and no ceiling is set",
    ]


def test_a_complaint_is_not_longer_than_anybody_reads() -> None:
    found = {"src": {house.ANY: house.Figure(30, [f"a.py:{number}" for number in range(30)])}}
    (said,) = house.complaints(found, {"src": {house.ANY: 29}})
    assert said.splitlines()[-1] == "    … and 10 more (--names has all)"


def test_the_program(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """0 within the ceilings, 1 above one; the tables are printed in both cases."""
    parts = {name: dict.fromkeys(house.CEILINGS[name], 71) for name in house.CEILINGS}
    monkeypatch.setattr(house, "CEILINGS", parts)
    assert house.main(tree, names=True) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "together" in said.out
    assert "src: class names of more than one class\n    Plan: " in said.out
    parts["src"][house.LONGEST] = 70
    assert house.main(tree) == 1
    assert "house: src: lines of the longest function: 71, the ceiling is 70" in capsys.readouterr().err


def test_every_figure_has_a_ceiling() -> None:
    """So that `make check` holds all of them."""
    assert (
        set(house.CEILINGS["src"])
        == set(house.CEILINGS["benchmarks"])
        == set(house.figures(house.ROOT / "docs"))
    )
    assert set(house.CEILINGS["docs"]) == {house.GLOSSARY}
