"""`weft papers 004`: what is concluded follows from what was counted (S4-13, S4-17, S4-19, S4-20, S4-22, S4-23)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from weft_benchmarks.papers import command, paper_004
from weft_benchmarks.papers.figures import Effort, Table
from weft_benchmarks.papers.tanks import LOGICAL, Drive, Found

NUMBERS = ["1", "3 to 5", "7", "9", "section 3", "section 7", "section 5", "section 1", "sections 5 and 6.3",
           "section 1, scale"]  # fmt: skip
NOTHING = Found(
    sent=100, wanted=50, lost=0, wrong=0, past=0, at_once=40, asked=60, late=10, retracted=5, log=20, changes=100,
    lists=900, messages=900, bytes_=9000, seconds=1.0, digest="the same", casts=30, group_copies=70, node_copies=50,
)  # fmt: skip


def _as_the_paper_says(how: Drive, seed: int) -> Found:
    found = NOTHING._replace(messages=50 if how.tanks == how.nodes else 900)
    if how.mode == LOGICAL:
        cells = 800 if how.cells.endswith("(NumCells 1))") else 100 if "CellBounds" in how.cells else 200
        return found._replace(asked=cells if "NumCells 256" not in how.cells else 60)
    return found._replace(lost=7, wrong=3, late=0, digest=f"{how.mode} {how.delay} {seed}")


def _the_reverse(how: Drive, seed: int) -> Found:
    found = NOTHING._replace(at_once=500, log=100, messages=9000, group_copies=0)
    if how.mode == LOGICAL:
        cells = 999 if "CellBounds" in how.cells or "NumCells 256" in how.cells else 600
        return found._replace(lost=1, late=0, asked=cells, digest=f"{how} {seed}")
    return found


@pytest.mark.parametrize(("counted", "holds"), [(_as_the_paper_says, True), (_the_reverse, False)])
def test_a_claim_holds_if_and_only_if_the_counts_say_so(
    monkeypatch: pytest.MonkeyPatch, counted: object, holds: bool
) -> None:
    monkeypatch.setattr(paper_004, "drive", counted)
    chapter = paper_004.run(Effort(True, lambda what, share: None))
    assert [figure.number for figure in chapter.figures] == NUMBERS
    for figure in chapter.figures:
        for claim in figure.claims:
            drawn = figure.number[0].isdigit()  # the paper's own scenes, which are run in earnest
            assert claim.holds is (drawn or holds), claim


def test_the_page_has_every_figure_and_progress_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper_004, "drive", _as_the_paper_says)
    assert (
        command.run(argparse.Namespace(papers=["004"], quick=True, namespaces=False, out=str(tmp_path))) == 0
    )
    page = (tmp_path / "papers.html").read_text()
    for number in NUMBERS:
        assert f"<h3>{number}: " in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    data = json.loads((tmp_path / "papers.json").read_text())
    series = data["papers"][0]["figures"][4]["shows"][0]["series"]
    assert [one["name"] for one in series] == ["wall, said late", "wall clock", "logical time"]
    assert [one["points"][0][1] for one in series] == [14.0, 14.0, 0.0]
    shares = [int(line.split("%")[0]) for line in capsys.readouterr().err.splitlines() if "%" in line]
    assert shares == sorted(shares)
    assert shares[-1] > 90


def test_what_100_000_players_would_take_is_computed_from_what_was_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S4-20: 375 Mbit/s is 3.75 kbit/s from each; half a copy of an update is half of that."""
    monkeypatch.setattr(paper_004, "drive", _as_the_paper_says)
    table = paper_004.run(Effort(True, lambda what, share: None)).figures[-1].shows[1]
    assert isinstance(table, Table)
    assert [row[1] for row in table.rows[:2]] == ["375\u00a0Mbit/s", "1.9\u00a0kbit/s"]
