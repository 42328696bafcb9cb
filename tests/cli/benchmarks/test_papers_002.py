"""`weft papers 002`: figures 1 to 4, and claims that follow from what was measured (S2-12 … S2-17, S2-22)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.cli.design.ddm_paper import EXAMPLES
from weft.cli.design.ddm_runs import RunCost, Setting, play_simulated
from weft.cli.design.ddm_workload import PlaneWorld, Workload
from weft_benchmarks.papers import command, paper_002, paper_002_costs, paper_002_regions, paper_002_room
from weft_benchmarks.papers.figures import Claim, Effort
from weft_benchmarks.papers.paper_002_room import GRID, SIMPLE, SPACE

NUMBERS = [
    "1", "2", "3", "4", "Comparing Performance", "The No Thinking Approach", "StaticGridPartitioned Uses", "Regions",
    "Fixed Regions", "Fixed Regions, boundaries", "BestEffortChannelType",
]  # fmt: skip


class SimulatedNodes:
    """In place of processes: counts are true, and what is timed is made up."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> SimulatedNodes:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def play(self, workload: Workload, chosen: Setting) -> RunCost:
        assert len(workload.parts) <= self.count
        cost = play_simulated(workload, chosen)
        return cost._replace(latency_us=1000.0, latency_95_us=2000.0, cpu_us=100.0 + cost.bytes / 1000)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_002, "Nodes", SimulatedNodes)

    def tiny(effort: Effort, kind: str = "fixed") -> PlaneWorld:
        return PlaneWorld(kind, 4, 3, 4)

    for module in (paper_002, paper_002_costs, paper_002_regions):
        monkeypatch.setattr(module, "plane_of", tiny)


@pytest.mark.usefixtures("quickly")
def test_the_page_has_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S2-22: each figure with its pictures; of all claims one does not come out, and the page says why."""
    assert (
        command.run(argparse.Namespace(papers=["002"], quick=True, namespaces=False, out=str(tmp_path))) == 0
    )
    page = (tmp_path / "papers.html").read_text()
    for number in NUMBERS:
        assert f"<h3>{number}: " in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    data = json.loads((tmp_path / "papers.json").read_text())["papers"][0]
    assert [figure["number"] for figure in data["figures"]] == NUMBERS
    assert all(figure["claims"] for figure in data["figures"])
    assert all(claim["because"] for figure in data["figures"] for claim in figure["claims"])
    drawn = {figure["number"]: figure for figure in data["figures"]}
    for number in "1234":
        holding = {claim["says"]: claim["holds"] for claim in drawn[number]["claims"]}
        assert all(holds or "callbacks" in says for says, holds in holding.items())
    said = capsys.readouterr()
    shares = [int(line.split("%")[0]) for line in said.err.splitlines() if "%" in line]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] > 90


def test_the_tables_of_figure_2() -> None:
    """S2-13: network traffic as printed, three callbacks as the paper's rules ask for."""
    drawn = paper_002.Drawn(2)
    heard = {key: paper_002._heard(drawn, *key) for key in paper_002.PRINTED_HEARD}
    assert {key: heard[key] for key in heard if heard[key] != paper_002.PRINTED_HEARD[key]} == {
        ("B.x", "R2D-3"): ("YES YES", "YES NO"),
        ("B.y", "R2D-1"): ("YES YES", "NO NO"),
        ("B.y", "R2D-5"): ("YES YES", "YES NO"),
    }
    traffic, callbacks = paper_002._same_tables(heard)
    assert traffic.holds
    assert callbacks.holds is False
    assert (
        callbacks.because
        == "otherwise: B.x with R2D-3 at Fed2, B.y with R2D-1 at Fed1, B.y with R2D-5 at Fed1"
    )


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_examples_are_those_that_are_drawn(number: int) -> None:
    """S2-12, S2-15, S2-16."""
    figure = (paper_002._figure_1, paper_002._figure_2, paper_002._figure_3, paper_002._figure_4)[
        number - 1
    ]()
    assert figure.number == str(number)
    assert figure.title == EXAMPLES[number].title
    assert len(figure.claims) == [2, 4, 1, 2][number - 1]


# --- a claim holds if and only if the numbers say so ----------------------------------------------------------------


def cost(label: str = "", **counts: float) -> RunCost:
    zero = RunCost(label, 1, 1, 100, 0, 0, 0, 0, 0, 0, 0, None, 0, 0.0, None, None, 0.0, {})
    return zero._replace(**counts)  # type: ignore[arg-type]


def _filtered(good: bool) -> list[Claim]:
    simple = cost(
        SIMPLE, bytes=100, cpu_us=10, filtered_receiver=9, wanted=5, filtered_sender=0 if good else 3
    )
    spaces = cost(SPACE, filtered_receiver=7, wanted=5)
    better = cost(f"{GRID} 8", bytes=50, cpu_us=5, filtered_receiver=2, wanted=5, filtered_sender=7)
    worse = better._replace(bytes=200, cpu_us=20, filtered_receiver=8, wanted=4)
    rows = {one.label: one for one in (simple, spaces, better if good else worse)}
    return paper_002_costs._filtered(rows, f"{GRID} 8")


def _no_difference(good: bool) -> list[Claim]:
    first = cost(messages=10, cpu_us=10)
    return paper_002_costs._no_difference(
        [first, first if good else cost(messages=9, cpu_us=20, filtered_sender=1)]
    )


def _too_fine(good: bool) -> list[Claim]:
    few, many = cost(datagrams=10), cost(datagrams=90)
    small, large = ([few, few], [few, many]) if good else ([few, many], [many, few])
    return paper_002_costs._too_fine(small, large, 8)


def _regions(good: bool) -> list[Claim]:
    dear, cheap = cost(bytes=100, cpu_us=10), cost(bytes=10, cpu_us=5)
    moving, fixed = (dear, cheap) if good else (cheap, dear)
    return [
        paper_002_regions._fixed_help([("moving", moving, moving), ("fixed", fixed, fixed)]),
        paper_002_regions._broadcast([2, 8], [100, 700 if good else 100]),
        paper_002_regions._crossed(0, 20 if good else 0, 16),
        paper_002_regions._occupied(2, 9 if good else 1, 16),
        paper_002_costs._multicast_works(100, [99, 100] if good else [0, 100]),
    ]


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("claims", [_filtered, _no_difference, _too_fine, _regions])
def test_a_claim_holds_if_and_only_if_the_numbers_say_so(
    claims: Callable[[bool], list[Claim]], good: bool
) -> None:
    """S2-17, S2-22."""
    assert {claim.holds for claim in claims(good)} == {good}


def test_runs_take_turns_and_their_medians_count(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    class Counting(SimulatedNodes):
        def play(self, workload: Workload, chosen: Setting) -> RunCost:
            played.append(chosen.label)
            return cost(chosen.label, cpu_us=float(len(played)), latency_us=1.0, latency_95_us=1.0)

    effort = Effort(False, lambda what, share: None)
    room = paper_002_room.Room(effort, Counting(2), 0, 1)  # type: ignore[arg-type]
    workload = Workload("", [], [])
    rows = room.play("any", [(workload, Setting(name, EXAMPLES[1].rid)) for name in "AB"])
    assert played == ["A", "B"] * 5
    assert [row.cpu_us for row in rows] == [5.0, 6.0]
