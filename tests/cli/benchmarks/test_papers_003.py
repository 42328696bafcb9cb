"""`weft papers 003`: what is concluded follows from what was measured (S3-14 … S3-18, S3-22)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from weft.channel import EARLIEST_DEADLINE_FIRST, plan
from weft.drawing import Graphic, svg
from weft.host.simulated.rates import PAPER, simulate
from weft.recorder.timeline import Row
from weft_benchmarks.papers import command, paper_003
from weft_benchmarks.papers.events import calls, central, latency, load, rates, spacing
from weft_benchmarks.papers.events.child import found_by
from weft_benchmarks.papers.figures import Claim, Effort, Figure, Table
from weft_benchmarks.papers.paper_003 import ChannelFindings

NUMBERS = [
    "8 and 9", "12", "13", "14", "15", "section 5.1.3", "16", "Table 1", "Table 2", "17", "Table 3",
]  # fmt: skip
RATES = {pair.number: f"{pair.hertz:g} Hz" for pair in PAPER}
LEVELS = (0.6, 0.8, 0.97, 0.99)


# --- findings that are made up: as the paper says, and the reverse --------------------------------------------------


def _line(preemptive: bool) -> rates.TimeLine:
    """On a processor that is simulated."""
    rows = simulate(PAPER, 1.0, preemptive)
    return rates.TimeLine([row._replace(name=_name(row)) for row in rows], True, 1)


def _name(row: Row) -> str:
    return f"{row.name[:8]} {RATES[int(row.name[8:])]}"


def _levels(names: tuple[str, ...], most: float, slope: float = -50.0) -> list[load.LaxityLevel]:
    """All deadlines are met up to `most`."""
    return [
        load.LaxityLevel(
            level,
            {name: [round((60 + slope * level) * 1e6), 10**6 if level <= most else -1] for name in names},
            True,
            1,
        )
        for level in LEVELS
    ]


def _boards(layout: str, share: float, crossed: int, own: float) -> central.BoardsOutcome:
    latencies = {"A to A": [5.0], "A to B": [100.0], "B to A": [100.0], "B to B": [own]}
    return central.BoardsOutcome(layout, share, 200, {"A": crossed // 2, "B": crossed // 2}, latencies)


def _cells(growth: float, crowd: float, other: float) -> list[latency.LatencyCell]:
    """`growth`: with each consumer; `crowd`: with each supplier; `other`: so many times as long elsewhere."""
    found = []
    for suppliers in (1, 2, 10):
        for consumers in (1, 5, 10, 20):
            mean = 500 + growth * consumers + crowd * suppliers
            one = latency.LeastMostMean(mean - 1, mean + 1, mean)
            found.append(
                latency.LatencyCell(
                    suppliers, consumers, one, latency.LeastMostMean(*(other * value for value in one))
                )
            )
    return found


def _as_the_paper_says() -> ChannelFindings:
    return ChannelFindings(
        latencies=latency.Latencies(
            {name: _cells(37, 40, 1) for name in latency.DISPATCHERS}, _cells(37, 0, 6), _cells(37, 0, 1)
        ),
        calls=calls.CallCosts(
            {calls.GLOBAL: [0.1, 0.1], calls.KEPT: [0.1, 0.2], calls.VIRTUAL: [0.3, 0.3]},
            {depth: [0.3, 0.31] for depth in calls.DEPTHS},
        ),
        preemptive_line=_line(preemptive=True),
        single_line=_line(preemptive=False),
        lookups={10: 40.0, 10_000: 42.0},
        preemptive=_levels(("high", "low"), 0.99),
        preemptive_brief=_levels(("high", "low"), 0.99),
        preemptive_rates=_levels(tuple(RATES.values()), 0.99),
        single_rates=_levels(tuple(RATES.values()), 0.6),
        federated=_levels(("high", "low"), 0.97),
        federated_brief=_levels(("high", "low"), 0.99),
        trial_seconds=2.0,
        spacing={name: {1000: 1.0, 100: 0.99, 10: 0.3} for name in latency.DISPATCHERS},
        spaced=500,
        boards=[_boards(central.CENTRAL, 0.9, 200, 200.0), _boards(central.FEDERATED, 0.9, 20, 6.0)],
    )


def _the_reverse() -> ChannelFindings:
    return ChannelFindings(
        latencies=latency.Latencies(
            {name: _cells(-10, -10, 1) for name in latency.DISPATCHERS}, _cells(37, 0, 1.1), _cells(1, 0, 1)
        ),
        calls=calls.CallCosts(
            {calls.GLOBAL: [0.1, 0.1], calls.KEPT: [0.1, 0.2], calls.VIRTUAL: [0.9, 0.9]},
            {depth: [0.3 * depth] for depth in calls.DEPTHS},
        ),
        preemptive_line=_line(preemptive=False),
        single_line=_line(preemptive=True),
        lookups={10: 40.0, 10_000: 400.0},
        preemptive=_levels(("high", "low"), 0.8, slope=50.0),
        preemptive_brief=_levels(("high", "low"), 0.8, slope=50.0),
        preemptive_rates=_levels(tuple(RATES.values()), 0.6),
        single_rates=_levels(tuple(RATES.values()), 0.8),
        federated=_levels(("high", "low"), 0.6),
        federated_brief=_levels(("high", "low"), 0.6),
        trial_seconds=2.0,
        spacing={name: {100_000: 1.0, 20_000: 0.5} for name in latency.DISPATCHERS},
        spaced=500,
        boards=[_boards(central.CENTRAL, 0.9, 10, 5.0), _boards(central.FEDERATED, 0.9, 200, 6.0)],
    )


def _claims(found: ChannelFindings) -> dict[str, list[Claim]]:
    return {figure.number: list(figure.claims) for figure in paper_003.figures(found)}


def test_all_claims_come_out_where_the_numbers_are_those_of_the_paper() -> None:
    """S3-14 to S3-18, S3-22: with numbers like the paper's, every claim holds."""
    found = _claims(_as_the_paper_says())
    assert list(found) == NUMBERS
    assert {claim.holds for claims in found.values() for claim in claims} == {True}


def test_no_claim_comes_out_where_the_numbers_say_the_reverse() -> None:
    """S3-14 to S3-18, S3-22.  That faster is more urgent is the real schedule's, whatever was measured."""
    found = _claims(_the_reverse())
    held = [claim.says for claims in found.values() for claim in claims if claim.holds is not False]
    assert held == ["a higher rate gets a higher priority: 30 Hz above 15 Hz"]


def test_the_claim_about_priorities_is_found_from_the_schedule() -> None:
    """S3-10: under a policy that ranks by deadlines all share one priority."""
    assert rates.faster_is_more_urgent([plan(rates.operations_of_avionics())]).holds
    flat = plan(rates.operations_of_avionics(), EARLIEST_DEADLINE_FIRST)
    assert rates.faster_is_more_urgent([flat]).holds is False


def test_a_level_that_was_not_tried_is_not_judged() -> None:
    """S3-15: met as far as it was tried says nothing of what is above; missed below does."""
    levels = _levels(("high", "low"), 0.99)
    assert load.utilised(levels[:2], 0.96, "one").holds is None
    assert load.utilised(levels, 0.96, "one").holds is True
    assert load.utilised(_levels(("high", "low"), 0.6)[:2], 0.96, "one").holds is False


def test_up_to_which_level_deadlines_are_met() -> None:
    """S3-15: a miss below spoils all above; who never ran has missed."""
    levels = _levels(("high", "low"), 0.99)
    assert load.highest(levels) == 0.99
    levels[1] = levels[1]._replace(laxities={"high": [-1], "low": [1]})
    assert load.highest(levels) == 0.6
    levels[0] = levels[0]._replace(laxities={"high": [1], "low": []})
    assert load.highest(levels) == 0.0
    assert [len(row) for row in _table(load.figure_15(levels, [], 2.0)).rows] == [10] * 4


@pytest.mark.parametrize(
    ("room", "said"), [("-1", "all of a processor"), ("950000", "95 % of each second"), ("none", "not known")]
)
def test_what_linux_leaves_to_real_time_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room: str, said: str
) -> None:
    """S3-15: where misses may come from."""
    place = tmp_path / "room"
    place.write_text(room)
    monkeypatch.setattr(load, "_ROOM", place)
    assert said in load.kept_from_real_time(2.0)
    if room == "950000":
        assert "stands still" in load.kept_from_real_time(2.0)
        assert "end before" in load.kept_from_real_time(load.BRIEF)


def test_the_closest_spacing_has_no_gap_above_it() -> None:
    """S3-17."""
    assert spacing.closest({1000: 1.0, 100: 0.96, 10: 0.2}) == 100
    assert spacing.closest({1000: 0.9, 100: 1.0}) == 0


def test_events_for_the_own_board_are_spread_evenly() -> None:
    """S3-22: of any number of events, so many are for the own board as the share says."""
    for share in (0.0, 0.25, 0.5, 0.9, 1.0):
        own = [central.is_own(number, share) for number in range(100)]
        for count in range(1, 101):
            assert abs(sum(own[:count]) - share * count) < 1
        assert sum(own) == round(100 * share)


# --- the page -----------------------------------------------------------------------------------------------------


def _table(figure: Figure) -> Table:
    return next(shown for shown in figure.shows if isinstance(shown, Table))


def test_tables_are_laid_out_as_printed() -> None:
    """S3-16: min, max and avg of first and last consumer, of local and remote events, and the paper's beside them."""
    figures = {figure.number: figure for figure in paper_003.figures(_as_the_paper_says())}
    for number, one, other in (("Table 1", "first", "last"), ("Table 2", "local", "remote")):
        ours, printed = _table(figures[number]), figures[number].printed
        assert printed is not None
        words = [f"{which} {word}" for which in (one, other) for word in ("min", "max", "avg")]
        assert ours.heads == printed.heads == ["sup.", "con.", *words]
        assert [row[:2] for row in ours.rows] == [row[:2] for row in printed.rows]
        assert len(printed.rows) == 12
    assert figures["Table 1"].printed.rows[-1][2:] == ["211", "310", "290", "741", "4,895", "1,137"]  # type: ignore[union-attr]
    assert figures["Table 2"].printed.rows[-1][2:] == ["209", "4,900", "596", "1,266", "65,449", "24,345"]  # type: ignore[union-attr]


def test_time_lines_show_every_miss_and_graphs_every_operation() -> None:
    """S3-14: the single-threaded line has a cross with its laxity for each miss that it shows, the preemptive one none."""
    figures = {figure.number: figure for figure in paper_003.figures(_as_the_paper_says())}
    lines = {number: figures[number].shows[0] for number in ("12", "13")}
    drawn = {number: svg(line) for number, line in lines.items() if isinstance(line, Graphic)}
    assert "t-bad" not in drawn["12"]
    assert "missed by" in drawn["13"]
    for line in drawn.values():
        assert all(f"{role} {rate}" in line for role in ("supplier", "consumer") for rate in RATES.values())
    graph = figures["14"].shows[1]
    assert isinstance(graph, Graphic)
    shown = svg(graph)
    for name in ("radar", "inertial", "fuel", "position", "range", "display"):
        assert f">{name}</text>" in shown


def test_the_page_has_every_figure_and_the_file_beside_it_every_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paper_003, "measure", lambda effort, much: _as_the_paper_says())
    assert (
        command.run(argparse.Namespace(papers=["003"], quick=True, namespaces=False, out=str(tmp_path))) == 0
    )
    page = (tmp_path / "papers.html").read_text()
    for number in NUMBERS:
        assert f"<h3>{number}: " in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    data = json.loads((tmp_path / "papers.json").read_text())["papers"][0]
    assert [figure["number"] for figure in data["figures"]] == NUMBERS
    assert set(data["settings"]) >= {"modules", "scheduling"}


def test_progress_goes_from_beginning_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    known = _as_the_paper_says()
    cells = [(name, cell) for name, of_one in known.latencies.here.items() for cell in of_one]
    periods = paper_003.QUICK.periods
    levels = [known.preemptive[0]._replace(level=level) for level in paper_003.QUICK.levels]
    for module, name, value in (
        (central, "boards", known.boards[0]),
        (rates, "time_line", known.single_line),
        (rates, "lookups", known.lookups),
        (load, "one_channel", levels),
        (load, "two_channels", levels),
        (latency, "in_one_process", cells),
        (latency, "in_two_processes", known.latencies.apart),
        (latency, "without_the_other", known.latencies.alone),
        (spacing, "ratios", [spacing.SpacingRatio(one, p, 1.0) for one in known.spacing for p in periods]),
        (calls, "call_costs", known.calls),
    ):
        monkeypatch.setattr(module, name, lambda *_, value=value: value)
    measured = load.one_channel
    monkeypatch.setattr(load, "one_channel", lambda *how: measured(*how) if how[2] else [])
    apart = load.two_channels
    monkeypatch.setattr(load, "two_channels", lambda *how: apart(*how) if how[1] else [])
    shares: list[float] = []
    found = paper_003.measure(Effort(True, lambda what, share: shares.append(share)), paper_003.QUICK)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] <= 1
    assert found.latencies == known.latencies


# --- the smallest that can be measured, in real processes -----------------------------------------------------------


def test_both_layouts_of_two_real_boards(tmp_path: Path) -> None:
    """S3-22: what crosses the link is known beforehand, and all events come where they should."""
    found = [
        central.boards(str(tmp_path), layout, 0.5, 20) for layout in (central.CENTRAL, central.FEDERATED)
    ]
    assert [one.crossed for one in found] == [{"A": 20, "B": 20}, {"A": 10, "B": 10}]
    for one in found:
        assert set(one.latencies) == {"A to A", "A to B", "B to A", "B to B"}
        assert all(taken and min(taken) > 0 for taken in one.latencies.values())
    assert central.nothing_for_the_own(found).holds
    assert central.saves_traffic(found).holds


def test_a_real_time_line() -> None:
    """S3-14: rows of all suppliers and consumers, with deadlines; whether they are met is the machine's business."""
    line = rates.time_line(rates.ONE_THREAD, 0.5, 1)
    assert {row.kind for row in line.rows} >= {"push", "dispatch", "done"}
    assert all(row.deadline_ns for row in line.rows if row.kind == "done")
    figure = rates.figure_13(line)
    assert isinstance(figure.shows[0], Graphic)


@pytest.mark.parametrize("work", [load.PAIRS, load.THREE_RATES])
def test_real_levels_of_utilisation(work: str) -> None:
    """S3-15: each level has the laxities of all consumers."""
    levels = [0.3, 0.4]
    found = list(load.one_channel(work, rates.ONE_THREAD, levels, 0.5, 1))
    assert [one.level for one in found] == levels
    names = {"high", "low"} if work == load.PAIRS else set(RATES.values())
    assert all(set(one.laxities) == names for one in found)


def test_three_rates_ask_for_what_they_are_to_ask_for() -> None:
    """S3-15: together, at any level."""
    for level in LEVELS:
        asked = load.rates_at(level).values()
        assert sum((one + other) / period for period, one, other in asked) == pytest.approx(level)


def test_real_latencies(tmp_path: Path) -> None:
    """S3-16: all rows of both tables, each with its least, most and mean."""
    here = list(latency.in_one_process(1))
    assert [name for name, _ in here] == [name for name in latency.DISPATCHERS for _ in range(12)]
    apart = latency.in_two_processes(str(tmp_path), 3)
    alone = latency.without_the_other(str(tmp_path), 3)
    for cells in ([cell for _, cell in here], apart, alone):
        assert all(one.least <= one.mean <= one.most for cell in cells for one in (cell.one, cell.other))
    assert (
        [cell[:2] for cell in apart]
        == [cell[:2] for cell in alone]
        == [cell[:2] for cell in latency.PRINTED_2]
    )


def test_real_spacing_and_calls() -> None:
    """S3-17, S3-18."""
    found = list(spacing.ratios([500], 5))
    assert [one.dispatch for one in found] == list(latency.DISPATCHERS)
    assert all(0 < one.ratio <= 1 for one in found)
    costs = calls.call_costs(2, 100)
    assert [len(taken) for taken in (*costs.kinds.values(), *costs.depths.values())] == [2] * 7


def test_a_measurement_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"spacing:measure failed(.|\n)*no such dispatcher"):
        list(found_by(list, f"{spacing.__name__}:measure", ["no such dispatcher"], [10], 1))
