"""docs/papers.md has a row for every item of the papers that a test names, and what its rows name is there."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import pytest

from support import documents
from weft.cli import COMMANDS

ROOT = documents.ROOT
PAGE = (ROOT / "docs" / "papers.md").read_text()
ITEM = re.compile(r"\bS([0-4])-(\d+)(?:(?: … | to )S\1-(\d+))?")
"""An item, or a range of them: S0-2 … S0-6."""


class Row(NamedTuple):
    item: str
    asks: str
    source: list[str]
    tests: list[str]


def _named(text: str) -> set[str]:
    return {
        f"S{found[1]}-{number}"
        for found in ITEM.finditer(text)
        for number in range(int(found[2]), int(found[3] or found[2]) + 1)
    }


@cache
def _rows() -> list[Row]:
    table = PAGE.partition("## Where each item is")[2]
    found = re.findall(r"^\| (S\d-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.M)
    quoted = re.compile(r"`([^`]+)`")
    return [
        Row(item, asks, quoted.findall(source), quoted.findall(tests)) for item, asks, source, tests in found
    ]


def test_every_item_that_a_test_names_has_a_row() -> None:
    rows = [row.item for row in _rows()]
    assert len(rows) == len(set(rows))
    for file in (ROOT / "tests").rglob("*.py"):
        missing = _named(file.read_text()) - set(rows)
        assert not missing, f"{file.relative_to(ROOT)} names {missing}, for which docs/papers.md has no row"


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row.item)
def test_what_a_row_names_is_there(row: Row) -> None:
    """Source files exist, or are a command; tests exist and name the item."""
    assert row.source
    assert row.tests
    for name in row.source:
        command = name.startswith("weft ") and name.split()[1] in COMMANDS
        assert command or (ROOT / "src" / "weft" / name).is_file(), name
    for name in row.tests:
        assert row.item in _named((ROOT / name).read_text()), f"{name} does not name {row.item}"


def test_items_without_a_row_are_listed() -> None:
    """From the first item of each paper to the last, none is passed over in silence."""
    rows = {row.item for row in _rows()}
    unheld = _named(PAGE.partition("### Named by no test")[2])
    assert not rows & unheld
    for paper in range(5):
        numbers = sorted(int(one.partition("-")[2]) for one in rows | unheld if one.startswith(f"S{paper}-"))
        assert numbers == list(range(1, numbers[-1] + 1))
