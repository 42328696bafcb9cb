"""Issue 21: the causal audit of a recorded run without vectors, in pieces side by side, against one task that scans all of it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from review import oracle
from review.simulation import Row, Simulation, number, plant, write
from weft.review.audits import causal_log
from weft.review.audits.context import Context
from weft.review.spark.by_clock import LogPiece
from weft.review.spark.reading import open_for_review

ORDERS = ("RO", "CO", "CT")


@pytest.fixture(autouse=True, params=[True, False], ids=["effects are told", "one task for each span"])
def apart(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """However little is to be scanned, or not."""
    if request.param:
        monkeypatch.setattr(causal_log, "AT_ONCE", 0)
    return bool(request.param)


def unstamped(seed: int, steps: int = 150, nodes: int = 3, late: int = 3) -> list[Row]:
    rows = Simulation(seed, steps=steps, nodes=nodes, stamped=False).rows
    chance = random.Random(seed)
    for fault in ["late"] * late + ["duplicate", "unsent", "loss"]:
        plant(rows, fault, chance)
    return number(sorted(rows, key=lambda row: row["epoch_ns"]))


def context_of(folder: Path, rows: list[Row], size: int, per_file: int = 15) -> Context:
    return Context(
        None, open_for_review(write(folder, rows, rows_per_file=per_file)), None, rows_per_part=size
    )


def late_of(context: Context) -> set[tuple[int, ...]]:
    found = causal_log.late_by_log(context)
    return set() if found is None else {tuple(row.values()) for row in found.toArrow().to_pylist()}


def by_one(context: Context) -> set[tuple[int, ...]]:
    batches = list(causal_log.scan_log(ORDERS, context.parts))
    return {tuple(row.values()) for batch in batches for row in batch.to_pylist()}


@pytest.mark.parametrize("size", [30, 60, 10**6])
def test_pieces_find_what_one_task_finds(tmp_path: Path, size: int) -> None:
    """With the same messages named before; and what brute force finds."""
    many = 0
    for seed in range(5):
        rows = unstamped(seed)
        context = context_of(tmp_path / str(seed), rows, size)
        pieces = causal_log.log_of(context).pieces
        assert (len(pieces) > 1) == (size < 10**6)
        found = late_of(context)
        assert found == by_one(context)
        assert {one[:3] for one in found} == oracle.late(rows)
        many += len(found)
    assert many


def test_clocks_that_differ_are_put_right_before_the_log_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every node's by up to two seconds: one task, in which rows wait for sends, finds the same and is not asked."""
    contexts = []
    for seed in range(4):
        rows = unstamped(seed)
        chance = random.Random(seed)
        moved = {f"node {n}": chance.randrange(-(10**9), 10**9) for n in range(3)}
        expected = oracle.late(rows)
        for row in rows:
            row["epoch_ns"] += moved[row["node"]]
        context = context_of(tmp_path / str(seed), rows, 60)
        one = by_one(context)
        assert {late[:3] for late in one} == expected
        contexts.append((context, one))
    monkeypatch.setattr(causal_log, "late_by_one", _refused)
    for context, one in contexts:
        assert late_of(context) == one


def test_clocks_that_cannot_be_put_right_are_for_one_task(tmp_path: Path) -> None:
    """A clock that jumps forth and back: the task lets rows wait, and finds all the same."""
    rows = unstamped(3)
    for row in rows[len(rows) // 3 : 2 * len(rows) // 3]:
        if row["node"] == "node 1":
            row["epoch_ns"] += 2 * 10**9
    context = context_of(tmp_path / "run", rows, 60)
    assert late_of(context) == by_one(context)


def test_a_clock_that_was_set_back_does_no_harm(tmp_path: Path) -> None:
    """Every row is in one piece, and no other: what a node wrote later happened later."""
    rows = unstamped(4, nodes=2)
    for row in rows[len(rows) // 2 :]:
        row["epoch_ns"] -= 10**9
    context = context_of(tmp_path / "run", rows, 40)
    places = [place for piece in causal_log.log_of(context).pieces for place in _places(piece)]
    mine = [
        row
        for row in oracle.of_kind(rows, "send", "deliver")
        if row["kind"] == "send" or row["order"] in ORDERS
    ]
    for node in ("node 0", "node 1"):
        expected = [row["seq"] for row in mine if row["node"] == node]
        assert [seq for name, seq in places if name == node] == expected
    assert late_of(context) == by_one(context)


def test_what_has_to_be_told_is_bounded(tmp_path: Path, apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too much of it, and one task does it."""
    context = context_of(tmp_path / "run", unstamped(2), 40)
    expected = late_of(context)
    monkeypatch.setattr("weft.review.kernels.crossing.MOST_CELLS", 1)
    way, asked = causal_log.late_by_one, []

    def by_one_task(context: Context) -> Any:
        asked.append(context)
        return way(context)

    monkeypatch.setattr(causal_log, "late_by_one", by_one_task)
    assert late_of(context) == expected
    assert expected
    assert bool(asked) == apart


def test_pieces_read_few_files_twice(tmp_path: Path) -> None:
    """And all rows once."""
    rows = unstamped(1, nodes=2)
    context = context_of(tmp_path / "run", rows, 60)
    pieces = causal_log.log_of(context).pieces
    read = [file.path for piece in pieces for node in piece.nodes for file in node.part.files]
    assert len(set(read)) == len(context.opened.run.files)
    assert len(read) <= len(set(read)) + 2 * len(pieces)
    places = [place for piece in pieces for place in _places(piece)]
    expected = oracle.in_log_order(oracle.of_kind(rows, "send", "deliver"))
    assert places == [(r["node"], r["seq"]) for r in expected if r["kind"] == "send" or r["order"] in ORDERS]


def _places(piece: LogPiece) -> list[tuple[str, int]]:
    return [
        (row["node"], row["seq"])
        for table in causal_log._rows(ORDERS, piece)
        for row in table.select(["node", "seq"]).to_pylist()
    ]


def _refused(*arguments: Any) -> Any:
    raise AssertionError(arguments)
