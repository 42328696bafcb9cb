"""Issue 8: what tasks do with the files of a run, without Spark, against brute force; however the run is cut into parts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review import oracle
from review.checks import KNOWN, faulty_run
from review.planted import read
from review.simulation import Row, Simulation, number, plant, write
from support.manifests import list_anew
from weft.host.recording.runs import open_run
from weft.review.audits import causal, deadlines, delivery, near, pick, survey, timing
from weft.review.audits.context import Context
from weft.review.kernels import ranks, sums
from weft.review.kernels.causal import greatest_before
from weft.review.spark.reading import open_for_review
from weft.review.spark.tasks import RunPart, in_order, parts_of, read_part

ORDERS = ("RO", "CO", "CT")


def rows_of(batches: Iterable[Any]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.fixture(scope="module", params=["small files", "a large file of each node"])
def faulty(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Row], Path]:
    """Large files have many row groups, by which they are cut."""
    rows = faulty_run(seed=7, steps=250)
    run = tmp_path_factory.mktemp("faulty") / "run"
    if request.param == "small files":
        return rows, write(run, rows, rows_per_file=20)
    write(run, rows, rows_per_file=len(rows))
    for path in (run / "rows").glob("*/*.parquet"):
        pq.write_table(read(path), path, row_group_size=17)
    return rows, list_anew(run)


def cut(faulty: tuple[list[Row], Path], size: int) -> tuple[list[Row], list[RunPart]]:
    rows, path = faulty
    return rows, parts_of(open_run(path), size)


SIZES = pytest.mark.parametrize("size", [20, 90, 10**6])


@SIZES
def test_parts_hold_all_rows_in_order(faulty: tuple[list[Row], Path], size: int) -> None:
    rows, parts = cut(faulty, size)
    for node in {row["node"] for row in rows}:
        mine = [part for part in parts if part.node == node]
        told = [n for part in mine for table in read_part(part, ["seq"]) for n in table["seq"].to_pylist()]
        assert told == list(range(1, 1 + sum(row["node"] == node for row in rows)))


@SIZES
def test_all_nodes_in_the_order_of_the_clock(faulty: tuple[list[Row], Path], size: int) -> None:
    rows, parts = cut(faulty, size)
    made = rows_of(
        batch
        for table in in_order(parts, pick.LOGGED, lambda table: pick.logged(ORDERS, table))
        for batch in table.to_batches()
    )
    log = oracle.in_log_order(oracle.of_kind(rows, "send", "deliver"))
    wanted = [row for row in log if row["kind"] == "send" or row["order"] in ORDERS]
    assert [(row["node"], row["seq"]) for row in made] == [(row["node"], row["seq"]) for row in wanted]


@pytest.mark.parametrize("size", [1, 60, 10**6])
def test_what_is_late_by_vectors(tmp_path: Path, size: int) -> None:
    """Within parts, and because of what another part has told: a message is moved behind the one after it."""
    rows = Simulation(11, steps=120).rows
    for _ in range(4):
        plant(rows, "late", random.Random(5))
    rows = number(sorted(rows, key=lambda row: row["epoch_ns"]))
    parts = parts_of(open_run(write(tmp_path / "run", rows, rows_per_file=min(size, 20))), size)
    told = [batch for part in parts for batch in causal.judge_part(("CO",), part)]
    folded = rows_of(causal.fold(iter(told)))
    flags: Any = [row for row in folded if row["what"] == causal.FLAGGED]
    late = [row for row in folded if row["what"] == causal.LATE]
    assert bool(late) == (size > 1)
    assert flags or size > 1
    late += rows_of(batch for part in parts for batch in causal.late_by_earlier(("CO",), part, flags))
    found = {(row["federate"], row["source"], row["message"]) for row in late}
    assert found == oracle.late(rows, ("CO",))


@SIZES
def test_what_is_late_by_the_log(faulty: tuple[list[Row], Path], size: int) -> None:
    rows, parts = cut(faulty, size)
    late = rows_of(causal.scan_log(ORDERS, parts))
    assert {(row["federate"], row["source"], row["message"]) for row in late} == oracle.late(rows)


@SIZES
def test_time_stamp_order_and_grants(faulty: tuple[list[Row], Path], size: int) -> None:
    """Each part is judged with what was before it, which parts in front of it tell in a few rows."""
    rows, path = faulty
    context = Context(None, open_for_review(path), None, rows_per_part=size)
    found = rows_of(batch for work in timing._ordered(context) for batch in work())
    worst: dict[Any, str] = {}
    for row in found:
        key = (row["federate"], row["node"], row["seq"])
        if row["what"] in KNOWN:
            worst[key] = max(row["what"], worst.get(key, ""))
    expected = oracle.out_of_order(rows) | oracle.early_grants(rows)
    assert {(what, *key) for key, what in worst.items()} == expected


def as_told(row: Row, federate: int) -> tuple[Any, ...]:
    """A message as it was sent to, or came to, a federate."""
    time = -1 if row["time_int"] is None else row["time_int"]
    return row["source"], row["message"], federate, row["class"], tuple(row["items"] or ()), time


@SIZES
def test_blocks_in_which_something_is_wrong(faulty: tuple[list[Row], Path], size: int) -> None:
    rows, parts = cut(faulty, size)
    told = list(rows_of(b for part in parts for b in delivery.sum_part("time_int", part)))
    totals: dict[Any, int] = {}
    for row in told:
        if row["what"] == delivery.BLOCK:
            key = (row["source"], row["key"])
            totals[key] = (totals.get(key, 0) + row["sum"]) % 2**64
    sent = [as_told(r, to) for r in oracle.of_kind(rows, "send") for to in r["destinations"]]
    got = [as_told(r, r["federate"]) for r in oracle.of_kind(rows, "deliver")]
    wrong = set()
    for source, block in {(key[0], key[1] >> pick.BLOCK_BITS) for key in sent + got}:
        inside = [
            sorted(key for key in side if (key[0], key[1] >> pick.BLOCK_BITS) == (source, block))
            for side in (sent, got)
        ]
        if inside[0] != inside[1]:
            wrong.add((source, block))
    assert {key for key, total in totals.items() if total} == wrong
    assert wrong


def test_rows_of_blocks_and_no_others(faulty: tuple[list[Row], Path]) -> None:
    rows, parts = cut(faulty, 90)
    source = rows[-1]["source"] or 1
    wanted = near.Blocks([(source, 0)])
    found = rows_of(b for part in parts for b in near.choose(part, wanted, "time_int"))
    expected = [
        row for row in oracle.of_kind(rows, *near.KINDS) if row["source"] == source and row["message"] < 256
    ]
    assert len(found) == len(expected)
    assert {(r["kind"], r["federate"], r["message"]) for r in found} == {
        (r["kind"], r["federate"], r["message"]) for r in expected
    }


@SIZES
def test_figures_of_consumers(faulty: tuple[list[Row], Path], size: int) -> None:
    rows, parts = cut(faulty, size)
    told = rows_of(b for part in parts for b in deadlines.measure(part))
    done = list(oracle.of_kind(rows, "done"))
    assert sum(row["events"] for row in told) == len(done)
    assert sum(row["missed"] for row in told) == len(oracle.missed_deadlines(rows))
    for name in {row["name"] for row in done}:
        laxities = [r["deadline_ns"] - r["mono_ns"] for r in done if r["name"] == name and r["deadline_ns"]]
        mine = [row for row in told if row["name"] == name and row["count"]]
        assert min(row["least"] for row in mine) == min(laxities)
        assert sum(int(row["total"]) for row in mine) == sum(laxities)
        samples = [(np.array(row["sample"]), row["count"]) for row in mine]
        assert ranks.percentiles(samples, [0.5]) == [sorted(laxities)[(len(laxities) + 1) // 2 - 1]]


def test_the_survey(faulty: tuple[list[Row], Path]) -> None:
    rows, parts = cut(faulty, 90)
    seen = [
        survey._read(row["seen"])
        for n, p in enumerate(parts)
        for row in rows_of(survey.look(n, p, "time_int"))
    ]
    for kind in {row["kind"] for row in rows}:
        assert sum(one.kinds[kind] for one in seen) == len(oracle.of_kind(rows, kind))
    grants = {row["federate"]: row["time_int"] for row in oracle.of_kind(rows, "grant")}
    assert {who for one in seen for who in one.members} >= set(grants)
    assert {name for one in seen for name in one.classes} == {
        r["class"] for r in oracle.of_kind(rows, "send")
    }


# Laws


@given(st.lists(st.lists(st.integers(0, 2**62), min_size=1, max_size=6), min_size=1, max_size=6))
def test_the_greatest_before(stretches: list[list[int]]) -> None:
    values = np.array([value for stretch in stretches for value in stretch], np.int64)
    begins = np.cumsum([0, *(len(stretch) for stretch in stretches[:-1])])
    expected = [max(stretch[:n], default=-1) for stretch in stretches for n in range(len(stretch))]
    assert greatest_before(values, begins).tolist() == expected


KEYS = st.tuples(st.integers(0, 3), st.integers(0, 600), st.integers(1, 4))


@given(st.lists(KEYS, max_size=20), st.lists(KEYS, max_size=20))
def test_heaps_are_the_same_exactly_if_their_sums_are(one: list[Any], other: list[Any]) -> None:
    def total(heap: list[Any]) -> int:
        columns = np.array(heap, np.int64).reshape(-1, 3).T
        return int(sums.hashed(*columns).sum())

    assert (total(one) == total(other)) == (sorted(one) == sorted(other))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40_000), st.integers(1, 4), st.integers(0, 2**32))
def test_percentiles_are_right_to_one_rank_in_ten_thousand(count: int, parts: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    values = np.array_split(chance.integers(-(10**9), 10**9, count), parts)
    ordered = np.sort(np.concatenate(values))
    shares = (0.01, 0.5, 0.99)
    found = ranks.percentiles([(ranks.sample(one), len(one)) for one in values], shares)
    for share, value in zip(shares, found, strict=True):
        wanted = int(np.ceil(share * count))
        low, high = np.searchsorted(ordered, value) + 1, np.searchsorted(ordered, value, side="right")
        assert low - count / 10_000 - 1 <= wanted <= high + count / 10_000 + 1


def test_a_clock_that_is_set_back_does_not_turn_the_order_of_a_node(tmp_path: Path) -> None:
    rows = number(Simulation(3, steps=40, nodes=1).rows)
    for row in rows[len(rows) // 2 :]:
        row["epoch_ns"] -= 10**9
    parts = parts_of(open_run(write(tmp_path / "run", rows)), 60)
    made = [
        n
        for table in in_order(parts, pick.LOGGED, lambda table: pick.logged(ORDERS, table))
        for n in table["seq"].to_pylist()
    ]
    assert made == sorted(made)
    assert pa.types.is_int64(pa.array(made).type)
