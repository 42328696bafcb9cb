"""Issue 21: grants of a recorded run, in pieces of the clock side by side, against one piece and brute force."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review import oracle
from review.simulation import Row, Simulation, number, plant, write
from weft.review.audits import grants
from weft.review.audits.context import Context
from weft.review.kernels.timing import NOTHING_PROMISED, Promised
from weft.review.spark.reading import open_for_review

Key = tuple[Any, ...]


def run_of(seed: int, commands: bool, resigned: bool) -> list[Row]:
    rows = Simulation(seed, steps=150, nodes=1 + seed % 3).rows
    chance = random.Random(seed)
    for fault in ["early grant"] * 4:
        plant(rows, fault, chance)
    rows = number(sorted(rows, key=lambda row: row["epoch_ns"]), commands)
    if resigned:
        at = chance.choice(rows[len(rows) // 2 :])
        left = {"kind": "resign", "federate": 1, "node": at["node"], "epoch_ns": at["epoch_ns"] + 1}
        rows = sorted([*rows, {**at, **left, "service": None}], key=lambda row: row["epoch_ns"])
        rows = number(rows, commands)
    return rows


def found_in(
    folder: Path, rows: list[Row], size: int, slack: int, monkeypatch: pytest.MonkeyPatch
) -> set[Key]:
    context = Context(None, open_for_review(write(folder, rows, rows_per_file=10)), None, rows_per_part=size)
    monkeypatch.setattr(Context, "grant_slack", slack)
    assert (len(grants.log_of(context).pieces) > 1) == (size < 10**6)
    batches = [batch for work in grants.works_of(context) for batch in work()]
    told = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert len(told) == len(set(told))
    return set(told)


@pytest.mark.parametrize("slack", [0, 10**9])
@pytest.mark.parametrize("size", [20, 45])
def test_pieces_find_what_one_finds(
    tmp_path: Path, size: int, slack: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Item 3: each grant once, with the same bound and the same federate; with clocks that differ, too."""
    many = 0
    for seed in range(6):
        rows = run_of(seed, seed % 2 == 0, seed % 3 == 0)
        one = found_in(tmp_path / f"one {seed}", rows, 10**6, slack, monkeypatch)
        assert found_in(tmp_path / f"many {seed}", rows, size, slack, monkeypatch) == one
        if not slack and seed % 3:
            names = {(what, federate, node, seq) for what, federate, node, seq, *_ in one}
            assert names <= oracle.early_grants(rows)
        many += len(one)
    assert many


def test_rows_of_the_recorder_itself_say_nothing_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older recorders wrote in the `start` row when its file was written, which was after much of what follows it."""
    many = 0
    for seed in range(3):
        rows = run_of(seed, False, False)
        middle = rows[len(rows) // 2]["epoch_ns"]
        started: list[Row] = [
            {**dict.fromkeys(rows[0]), "node": node, "kind": "start", "federate": 0, "epoch_ns": middle}
            for node in sorted({row["node"] for row in rows})
        ]
        rows = number([*started, *rows])
        late = found_in(tmp_path / f"late {seed}", rows, 10**6, 0, monkeypatch)
        for row in started:
            row["epoch_ns"] = rows[len(started)]["epoch_ns"] - 1
        assert found_in(tmp_path / f"early {seed}", rows, 10**6, 0, monkeypatch) == late
        many += len(late)
    assert many


@pytest.mark.parametrize("size", [20, 10**6])
def test_a_clock_that_was_set_back_changes_nothing_at_one_node(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it wrote later happened later: its rows have an order without a clock."""
    many = 0
    for seed in (0, 3, 6):
        rows = run_of(seed, seed % 2 == 0, True)
        steady = found_in(tmp_path / f"steady {seed}", rows, 10**6, 0, monkeypatch)
        for row in rows[len(rows) // 3 :]:
            row["epoch_ns"] -= 10**10
        assert found_in(tmp_path / f"set back {seed}", rows, size, 0, monkeypatch) == steady
        many += len(steady)
    assert many


def test_a_late_row_of_the_recorder_is_no_clock_that_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its `start` once had the time of writing, a second behind the first rows: these keep their own all the same.

    Else they have all one time, and who is time-constrained at the end of that second was so at its beginning.
    """
    many = 0
    for seed in range(6):
        rows = run_of(seed, seed % 2 == 0, False)
        late = [
            {**dict.fromkeys(rows[0]), "kind": "start", "node": node, "federate": 0}
            | {"epoch_ns": rows[-1]["epoch_ns"] + 1, "mono_ns": rows[-1]["mono_ns"] + 1}
            for node in sorted({row["node"] for row in rows})
        ]
        told = number([*late, *({**row} for row in rows)], seed % 2 == 0)
        found = found_in(tmp_path / f"late {seed}", told, 10**6, 0, monkeypatch)
        expected = found_in(tmp_path / f"in time {seed}", rows, 10**6, 0, monkeypatch)
        assert {(*one[:3], one[3] - 1, *one[4:]) for one in found} == expected
        many += len(expected)
    assert many


FEDERATES, COMMANDS = st.integers(1, 4), st.integers(0, 9)


@st.composite
def promised(draw: st.DrawFn) -> Promised:
    """Of some rows."""
    history: dict[int, list[tuple[int, Any]]] = {}
    for who, command, time in draw(st.lists(st.tuples(FEDERATES, COMMANDS, st.integers(0, 99)), max_size=9)):
        mine = history.setdefault(who, [])
        if mine and mine[-1][0] == command:
            mine.pop()
        mine.append((command, time))
    nodes = {who: draw(st.integers(0, 2)) for who in history}
    return Promised(history, nodes, draw(st.dictionaries(FEDERATES, st.booleans(), max_size=4)))


@given(promised(), promised(), promised())
def test_what_pieces_change_composes_associatively(one: Promised, other: Promised, third: Promised) -> None:
    """And a piece without requests and grants changes nothing."""
    assert third.after(other.after(one)) == third.after(other).after(one)
    assert one.after(NOTHING_PROMISED) == one == NOTHING_PROMISED.after(one)
