"""Issue 21, item 3: advice from parts, read by Arrow: however a run is cut it is the same, and what a plain loop says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from review.simulation import write
from support.random_recorded_rows import EMPTY, FED, OMT, Row, Story, write_run
from weft.model.records import Source
from weft.review.advice import jobs, traffic
from weft.review.advice.advice import advise, inputs_of
from weft.review.advice.rows import AdviceRows
from weft.review.spark.reading import open_for_review

CUTS = (4, 25, 10_000)


def cut(run: Path, rows_per_part: int) -> AdviceRows:
    """Without Spark."""
    return AdviceRows.of(None, open_for_review(run), rows_per_part)


@pytest.mark.parametrize("model", [FED, OMT], ids=["fed", "omt"])
def test_advice_is_the_same_however_a_run_is_cut(
    tmp_path: Path, model: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where regions move so often that they are asked for afterwards."""
    story = Story(7, model, steps=60, orders=("RO", "RO", "CO", "TSO"))
    steps = operation_rows(Random(1), "S1", 60) + operation_rows(Random(2), "S3", 30)
    run = write_run(tmp_path / "run", story.rows + steps, model)
    given = inputs_of(open_for_review(run).run)
    whole = advise(cut(run, 10**9), given).data()
    assert set(whole) == {"grid", "domains", "schedule", "orders"}
    for most, rows_per_part in ((traffic.MOST_MOVES, 30), (0, 12), (2, 50)):
        monkeypatch.setattr(traffic, "MOST_MOVES", most)
        assert advise(cut(run, rows_per_part), given).data() == whole


def operation_rows(random: Random, node: str, count: int) -> list[Row]:
    """Steps of operations in any order, with a clock that now and then goes back a little, as those of several threads do."""
    made: list[Row] = []
    now = random.randrange(1000)
    for number in range(count):
        now += random.randrange(20)
        made.append(
            {
                **EMPTY,
                "node": node,
                "seq": 1_000_000 + number,
                "epoch_ns": 10**9 + number,
                "mono_ns": now - random.choice((0, 0, 0, 15, 40)),
                "kind": random.choice(("dispatch", "dispatch", "done", "done", "miss")),
                "name": random.choice(("one", "other", None)),
                "operation": random.choice(("work", "rest", "", None)),
                "priority": random.choice((None, 1, 2)),
                "sub_priority": random.choice((None, 0, 3)),
                "deadline_ns": random.choice((None, 0, now + 10)),
                "source": 1,
                "message": random.randrange(1, 9),
                "cause_source": random.choice((None, 1)),
                "cause": random.choice((None, random.randrange(1, 9))),
            }
        )
    return made


def plainly_measured(rows: Sequence[Row]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """(runs, typical, worst, first, last, priority, sub-priority, misses) of each node's operations."""
    taken: dict[tuple[str, str], list[tuple[int, Row, bool]]] = {}
    said: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[Any, ...], Row] = {}
    for row in sorted(rows, key=lambda row: (row["node"], row["mono_ns"], row["seq"])):
        place = (row["node"], row["operation"])
        if row["kind"] == "miss":
            said[place] += 1
            continue
        before = last.get((*place, row["name"]))
        if before is not None and before["kind"] == "dispatch" and row["kind"] == "done":
            late = 0 < (before["deadline_ns"] or 0) < row["mono_ns"]
            taken.setdefault(place, []).append((row["mono_ns"] - before["mono_ns"], before, late))
        last[*place, row["name"]] = row
    return {
        place: (
            len(runs),
            sorted(time for time, _, _ in runs)[(len(runs) - 1) // 2],
            max(time for time, _, _ in runs),
            min(row["mono_ns"] for _, row, _ in runs),
            max(row["mono_ns"] for _, row, _ in runs),
            min((row["priority"] for _, row, _ in runs if row["priority"] is not None), default=None),
            min((row["sub_priority"] for _, row, _ in runs if row["sub_priority"] is not None), default=0),
            max(sum(late for _, _, late in runs), said[place]),
        )
        for place, runs in taken.items()
    }


def ever_interrupted(rows: Sequence[Row]) -> bool:
    running: Counter[str] = Counter()
    for row in sorted(rows, key=lambda row: (row["node"], row["mono_ns"], row["seq"])):
        if row["kind"] != "miss":
            running[row["node"]] += 1 if row["kind"] == "dispatch" else -1
            if running[row["node"]] > 1:
                return True
    return False


@pytest.mark.parametrize("seed", range(6))
def test_operations_are_what_a_plain_loop_measures(tmp_path: Path, seed: int) -> None:
    """Over cuts, with clocks that go back, and where a process begins its clock anew."""
    random = Random(seed)
    rows = [row for node in ("A", "B") for row in operation_rows(random, node, random.randrange(1, 70))]
    run = write(tmp_path / "run", [dict(row) for row in rows], rows_per_file=random.randrange(1, 20))
    steps = [row for row in rows if row["operation"]]
    expected = plainly_measured(steps)
    causes = plain_causes(steps)
    for rows_per_part in CUTS:
        advised = cut(run, rows_per_part)
        found = {
            (node, one.operation): (
                one.runs, one.typical_ns, one.worst_ns, one.first_ns, one.last_ns, one.priority, one.sub_priority, one.misses,
            )
            for node, those in jobs.measured_operations(advised).items()
            for one in those
        }  # fmt: skip
        assert found == expected
        assert jobs.interrupts(advised) == ever_interrupted(steps)
        assert jobs.operation_causes(advised) == causes


def plain_causes(steps: Sequence[Row]) -> Mapping[tuple[str, str], int]:
    """Each run that has a cause with each run at its node for that message."""
    runs = [row for row in steps if row["kind"] == "dispatch"]
    return Counter(
        (one["operation"], other["operation"])
        for one in runs
        for other in runs
        if (one["node"], one["source"], one["message"])
        == (other["node"], other["cause_source"], other["cause"])
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_waited_is_what_a_plain_loop_says(tmp_path: Path, seed: int) -> None:
    """From where a message was held first at a receiver to where it was released last, in whatever part that is."""
    random = Random(seed)
    rows = [
        {
            **EMPTY, "node": random.choice("AB"), "kind": random.choice(("send", "hold", "release")),
            "federate": random.randrange(1, 4), "source": random.randrange(1, 3), "message": random.randrange(1, 6),
            "class": random.choice(("Fire", "Hit")), "mono_ns": random.randrange(1000), "epoch_ns": 10**9 + number,
        }
        for number in range(80)
    ]  # fmt: skip
    for node in "AB":
        for number, row in enumerate((one for one in rows if one["node"] == node), 1):
            row["seq"] = number
    run = write(tmp_path / "run", [dict(row) for row in rows], rows_per_file=9)
    waits: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["kind"] != "send":
            waits.setdefault(
                tuple(row[name] for name in ("node", "federate", "source", "message")), []
            ).append(row)
    expected: dict[str, tuple[int, int]] = {}
    for those in waits.values():
        held = [row["mono_ns"] for row in those if row["kind"] == "hold"]
        released = [row["mono_ns"] for row in those if row["kind"] == "release"]
        if held:
            name = max(row["class"] for row in those)
            count, total = expected.get(name, (0, 0))
            expected[name] = count + 1, total + (max(released) - min(held) if released else 0)
    for rows_per_part in CUTS:
        found = jobs.class_traffic(cut(run, rows_per_part))
        assert {name: (one.held, one.held_ns) for name, one in found.items()} == expected
