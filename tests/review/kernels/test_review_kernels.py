"""Issue 8: each kernel of the review against brute force, on random runs with planted faults, without Spark."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review import oracle
from review.simulation import FAULTS, Row, Simulation, number, plant
from weft.host.recording.runs import open_run
from weft.review.audits import causal as causal_job
from weft.review.audits import grants, pick
from weft.review.audits import interest as interest_job
from weft.review.kernels import arrow, causal, pieces, steps, timing
from weft.review.kernels.log_scan import LogScan
from weft.review.kernels.overtaking import Overtaking
from weft.review.spark.tasks import in_order, parts_of
from weft_benchmarks.testbed.synthetic import SyntheticPlan, make_run

SEEDS = st.integers(0, 2**32)
ORDERS = ("RO", "CO", "CT")


@st.composite
def runs(draw: st.DrawFn) -> list[Row]:
    """A run with some faults, or none."""
    seed = draw(SEEDS)
    rows = Simulation(seed, steps=draw(st.integers(5, 80)), nodes=draw(st.integers(1, 3))).rows
    chance = random.Random(seed)
    for fault in draw(st.lists(st.sampled_from(FAULTS), max_size=4)):
        plant(rows, fault, chance)
    return number(sorted(rows, key=lambda row: row["epoch_ns"]))


def table(rows: list[Row], **types: Any) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=pa.schema(list(types.items())))


# The simulation itself


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_wrong_before_a_fault_is_planted(seed: int) -> None:
    """The oracle finds nothing in what is right."""
    rows = number(Simulation(seed).rows)
    assert not oracle.late(rows)
    assert not oracle.out_of_order(rows)
    assert not oracle.early_grants(rows)
    assert not oracle.undelivered(rows)
    assert not oracle.misdirected(rows)
    assert not oracle.missed_deadlines(rows)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_shows(fault: str) -> None:
    """The oracle sees every kind of fault, in some run."""
    questions: dict[str, Callable[[list[Row]], set[Any]]] = {
        "late": oracle.late,
        **dict.fromkeys(("loss", "duplicate", "unsent"), oracle.undelivered),
        **dict.fromkeys(("past", "decreasing"), oracle.out_of_order),
        "early grant": oracle.early_grants,
        **dict.fromkeys(("extra", "missed"), oracle.misdirected),
        "deadline": oracle.missed_deadlines,
    }
    seen = 0
    for seed in range(12):
        rows = Simulation(seed).rows
        planted = plant(rows, fault, random.Random(seed))
        seen += planted is not None and bool(questions[fault](number(rows)))
    assert seen >= 3


# Causal order


@settings(max_examples=60, deadline=None)
@given(runs(), st.integers(0, 2**32), st.sampled_from([0, 10**10]))
def test_the_scan_of_the_log_finds_exactly_what_is_late(rows: list[Row], cut: int, patience: int) -> None:
    log = oracle.in_log_order(oracle.of_kind(rows, "send", "deliver"))
    log = [row for row in log if row["kind"] == "send" or row["order"] in ORDERS]
    nodes = {row["node"] for row in rows}
    scan = LogScan(patience if len(nodes) > 1 else 0)
    found = []
    middle = cut % (len(log) + 1)
    for part in (log[:middle], log[middle:]):
        found += scan.feed(*scan_columns(part))
    found += scan.end()
    assert {late[:3] for late in found} == oracle.late(rows)
    past = oracle.pasts(rows, ORDERS)
    for late in found:
        assert (late.source, late.message) in past[late.after_source, late.after]


def scan_columns(rows: list[Row]) -> list[Any]:
    is_send = np.array([row["kind"] == "send" for row in rows], bool)
    fan_out = [
        (len(row["destinations"]) if row["order"] in ORDERS else 0) if row["kind"] == "send" else 0
        for row in rows
    ]
    names = ("federate", "source", "message")
    columns = [np.array([row[name] for row in rows], np.int64) for name in names]
    return [
        is_send,
        *columns,
        np.array(fan_out, np.int64),
        np.array([row["epoch_ns"] for row in rows], np.int64),
    ]


@settings(max_examples=60, deadline=None)
@given(runs(), st.integers(1, 200))
def test_what_is_late_lies_where_something_was_overtaken(rows: list[Row], size: int) -> None:
    """The scan finds the same, with the same witnesses, in these stretches of the log alone."""
    log = oracle.in_log_order(oracle.of_kind(rows, "send", "deliver"))
    log = [row for row in log if row["kind"] == "send" or row["order"] in ORDERS]
    look = Overtaking()
    for begin in range(0, len(log), size):
        look.feed(*scan_columns(log[begin : begin + size])[:4])
    if not look.knows:
        return
    chosen = [row for begin, end in look.stretches for row in log[begin : end + 1]]
    assert len(chosen) == len({(row["node"], row["seq"]) for row in chosen})
    scans = [LogScan(), LogScan()]
    everywhere, there = (
        scan.feed(*scan_columns(part)) for scan, part in zip(scans, (log, chosen), strict=True)
    )
    assert there == everywhere
    assert {late[:3] for late in there} == oracle.late(rows)


def test_nothing_is_said_of_a_log_that_is_not_in_the_order_of_causes() -> None:
    for number_sent, known in ((1, False), (2, False), (3, True)):
        look = Overtaking()
        for row in ((True, 1, 1, 2), (False, 2, 1, 1), (True, 1, 1, number_sent)):
            look.feed(*(np.array([value]) for value in row))
        assert look.knows == known


def test_runs_in_order_need_no_scan(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", SyntheticPlan(rows=20_000)))
    look = Overtaking()
    for part in in_order(parts_of(run), pick.LOGGED, partial(pick.logged, ORDERS)):
        look.feed(*(arrow.numbers(part, name) for name in causal_job.LOOK))
    assert (look.knows, look.stretches) == (True, [])
    assert look.rows > 5000


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 40))
def test_clocks_that_differ_do_not_change_what_is_late(seed: int, steps: int) -> None:
    """Each node's rows are moved by up to two seconds, so that deliveries stand before their sends."""
    rows = number(Simulation(seed, steps=steps, nodes=3).rows)
    chance = random.Random(seed)
    plant(rows, "late", chance)
    rows = number(sorted(rows, key=lambda row: row["epoch_ns"]))
    expected = oracle.late(rows)
    moved = {f"node {n}": chance.randrange(-(10**9), 10**9) for n in range(3)}
    for row in rows:
        row["epoch_ns"] += moved[row["node"]]
    log = oracle.in_log_order(oracle.of_kind(rows, "send", "deliver"))
    log = [row for row in log if row["kind"] == "send" or row["order"] in ORDERS]
    scan = LogScan(5 * 10**9)
    found = scan.feed(*scan_columns(log)) + scan.end()
    assert {late[:3] for late in found} == expected


@settings(max_examples=60, deadline=None)
@given(runs(), st.integers(1, 50))
def test_recorded_vectors_tell_what_is_late(rows: list[Row], size: int) -> None:
    """Piece by piece, with what is carried between pieces, as the job does it."""
    delivered = [row for row in rows if row["kind"] == "deliver" and row["order"] == "CO" and row["vector"]]
    found: set[Any] = set()
    for federate in {row["federate"] for row in delivered}:
        mine = sorted((row for row in delivered if row["federate"] == federate), key=lambda row: row["seq"])
        found |= {(federate, *key) for key in late_in_pieces(mine, size)}
    assert found == oracle.late(rows, ("CO",))


def late_in_pieces(rows: list[Row], size: int) -> set[Any]:
    processes = np.arange(1, 10)
    carried = np.zeros(len(processes), np.int64)
    seen: set[Any] = set()
    found = set()
    for begin in range(0, len(rows), size):
        part = rows[begin : begin + size]
        vectors = causal.dense(
            np.concatenate([row["vector_of"] for row in part]),
            np.concatenate([row["vector"] for row in part]),
            np.array([len(row["vector"]) for row in part]),
            processes,
        )
        source = np.array([row["source"] - 1 for row in part])
        own = vectors[np.arange(len(part)), source]
        late, carry = causal.late_deliveries(source, own, vectors)
        for place, after in zip(late.places, late.after, strict=True):
            assert after < place
        keys = [(row["source"], row["message"]) for row in part]
        found |= {keys[place] for place in late.places if keys[place] not in seen}
        assert bool((carry.least <= carried).any()) == bool((own <= carried[source]).any())
        found |= {
            key for key, at, n in zip(keys, source, own, strict=True) if n <= carried[at] and key not in seen
        }
        carried = np.maximum(carried, carry.most)
        seen |= set(keys)
    return found


def test_a_job_reads_vectors_of_a_batch() -> None:
    """Two pieces in one batch: the second is judged by itself, and both tell what to carry."""
    rows = [
        {
            "node": "n",
            "seq": 1,
            "federate": 3,
            "source": 1,
            "message": 2,
            "vector_of": [1],
            "vector": [2],
        },
        {
            "node": "n",
            "seq": 2,
            "federate": 3,
            "source": 1,
            "message": 1,
            "vector_of": [1],
            "vector": [1],
        },
        {
            "node": "n",
            "seq": 1,
            "federate": 3,
            "source": 2,
            "message": 1,
            "vector_of": [1, 2],
            "vector": [2, 1],
        },
    ]
    number_type, list_type = pa.int64(), pa.list_(pa.int64())
    columns = dict.fromkeys(("seq", "federate", "process", "source", "message"), number_type)
    rows = [row | {"process": row["source"]} for row in rows]
    batch = table(rows, **columns, node=pa.string(), vector_of=list_type, vector=list_type).to_batches()[0]
    made = [row for part in causal_job.judge_pieces(iter([batch])) for row in part.to_pylist()]
    late = [row for row in made if row["what"] == "late"]
    assert [(row["message"], row["after"]) for row in late] == [(1, 2)]
    assert sorted((row["seq"], row["process"], row["most"]) for row in made if row["what"] == "carry") == [
        (1, 1, 2),
        (1, 1, 2),
        (1, 2, 1),
    ]


# Logical time


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2]), st.integers(0, 9)), max_size=30), st.integers(1, 12)
)
def test_time_stamp_order_in_pieces(events: list[tuple[int, int]], size: int) -> None:
    """Whatever the pieces, the same is found, if the rows that say what was before are put in front."""
    found = set()
    known: list[tuple[int, int]] = []
    for begin in range(0, len(events), size):
        whole = [*known, *events[begin : begin + size]]
        kind, time = (np.array([event[side] for event in whole]) for side in (0, 1))
        late = [one for one in timing.check_order(kind, time) if one.place >= len(known)]
        found |= {(begin + one.place - len(known), one.what) for one in late}
        known = [whole[place] for place in steps.tail(np.zeros(len(whole)), kind, time).tolist()]
    assert found == brute_order(events)


def brute_order(events: list[tuple[int, int]]) -> set[tuple[int, str]]:
    found = set()
    for place, (code, at) in enumerate(events):
        if code != timing.DELIVER:
            continue
        grants = [time for kind, time in events[:place] if kind != timing.DELIVER]
        flushes = [n for n, (kind, _) in enumerate(events[:place]) if kind == timing.FLUSH_GRANT]
        since = flushes[-1] if flushes else 0
        before = [time for kind, time in events[since:place] if kind == timing.DELIVER]
        if grants and at < grants[-1]:
            found.add((place, "past"))
        elif before and at < max(before):
            found.add((place, "decreasing"))
    return found


@settings(max_examples=100, deadline=None)
@given(
    runs(),
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=3),
    st.lists(st.integers(0, 4), min_size=2, max_size=2),
    st.sampled_from((0, 10**9)),
)
def test_grants_above_what_others_promise(
    rows: list[Row], size: int, leaving: list[tuple[int, int]], behind: list[int], slack: int
) -> None:
    """8.1.5; who left is told by the number of a command, wherever the row of that stands on the clock.

    Nodes may be `behind` by some commands, and their clocks may differ.
    """
    nodes = sorted({row["node"] for row in rows})
    for count, row in enumerate(rows):
        row["command"] = max(0, count - behind[nodes.index(row["node"]) % 2])
    resigned = [
        rows[who % len(rows)] | {"kind": "resign", "command": when % len(rows)} for who, when in leaving
    ]
    gone: dict[int, timing.Departed] = {}
    for row in resigned:
        left = timing.Departed(row["command"], row["epoch_ns"] - timing.NEAR)
        gone[row["federate"]] = min(left, gone.get(row["federate"], left))
    log = oracle.in_log_order(oracle.of_kind(rows, "request", "grant"))
    entries = [(row["epoch_ns"], False, row, 0) for row in log]
    for row in log:
        if row["service"] == "time_advance_grant":
            for own in grants.compared(slack):
                at = row["epoch_ns"] + (0 if own == timing.OWN_NODE else slack)
                entries.append((at, True, row, own))
    entries.sort(key=lambda entry: entry[:2])
    promises = timing.Promises(np.int64, gone)
    found = set()
    for begin in range(0, len(entries), size):
        part = entries[begin : begin + size]
        excess = promises.feed(steps_of(part, nodes, slack))
        for place, bound, by in excess:
            row = part[place][2]
            assert bound < row["time_int"]
            assert by != row["federate"]
            found.add(("grant above LBTS", row["federate"], row["node"], row["seq"]))
    assert found == oracle.early_grants([*rows, *resigned], nodes[0], slack)


def steps_of(part: list[tuple[int, bool, Row, int]], nodes: list[str], slack: int) -> timing.GrantSteps:
    """As the job makes them; the first node is the home."""
    rows = [row for _, _, row, _ in part]
    names = ("federate", "time_int", "command", "epoch_ns", "lookahead_int")
    column = {name: np.array([row[name] for row in rows]) for name in names}
    node = np.array([nodes.index(row["node"]) for row in rows])
    return timing.GrantSteps(
        column["federate"],
        column["time_int"] + column["lookahead_int"],
        np.ones(len(part), bool),
        np.array([check for _, check, _, _ in part]),
        column["time_int"],
        column["command"],
        np.where(node == 0, timing.BEFORE_ALL, column["epoch_ns"] + slack),
        node,
        np.array([own for *_, own in part]),
    )


# Interest


@settings(max_examples=60, deadline=None)
@given(runs(), st.booleans())
def test_who_should_have_been_addressed(rows: list[Row], commands: bool) -> None:
    """Through the arrays that the job makes, with all rows in one tile; by numbers of commands, or by the clock."""
    rows = number(rows, commands)
    got = {(row["source"], row["message"], row["federate"]) for row in oracle.of_kind(rows, "deliver")}
    to = {(row["source"], row["message"]): row["destinations"] for row in oracle.of_kind(rows, "send")}
    unaddressed = {key for key in got if key[:2] in to and key[2] not in to[key[:2]]}
    found = {("extra", *key) for key in unaddressed}
    for row in judged(rows):
        key = (row["source"], row["message"], row["federate"])
        if row["what"] != "extra":
            found.discard(("extra", *key))
        if row["what"] != "possible" and (row["what"] == "extra") == (key in got):
            found.add((row["what"], *key))
    assert found == oracle.misdirected(rows)


def judged(rows: list[Row]) -> list[Row]:
    by = "epoch_ns" if rows[0]["command"] is None else "command"
    words, numbers = pa.string(), pa.int64()
    types = {"node": words, "seq": numbers, "kind": words, "service": words, "federate": numbers, "class": words,
             "items": pa.list_(words), "region": numbers, "dimensions": pa.list_(words), "lower": pa.list_(numbers),
             "upper": pa.list_(numbers), "epoch_ns": numbers, "command": numbers, "time": numbers}  # fmt: skip
    control = [row | {"time": row["time_int"]} for row in oracle.of_kind(rows, "declare", "region")]
    federates = sorted({row["federate"] for row in control})
    stretches = [
        stretch
        for federate in federates
        for stretch in interest_job.stretches_of_one(
            by, table([row for row in control if row["federate"] == federate], **types)
        ).to_pylist()
    ]
    sends = oracle.of_kind(rows, "send")
    below = {name for row in sends for name in [row["class"]]}
    spread = [
        stretch | {"class": name}
        for stretch in stretches
        for name in below
        if name == stretch["class"] or name.startswith(stretch["class"] + ".")
    ]
    sent = [
        row
        | {
            "items": interest_job.SEP.join(row["items"]) if row["items"] else None,
            "dimensions": interest_job.SEP.join(row["dimensions"] or []),
            "boxes": None,
            "by_logical": row["order"] == "TSO",
            "time": row["time_int"],
            "at": row[by],
        }
        for row in sends
    ]
    sent_types = types | {"source": numbers, "message": numbers, "items": words, "dimensions": words, "boxes": words,
                          "destinations": pa.list_(numbers), "by_logical": pa.bool_(), "at": numbers}  # fmt: skip
    spread_table = table(
        spread,
        node=words, federate=numbers, **{"class": words}, items=words, region=numbers, mode=pa.int32(), since=numbers,
        until=numbers, from_time=numbers, to_time=numbers, dimensions=words, lower=pa.list_(numbers),
        upper=pa.list_(numbers), sure=pa.bool_(),
    )  # fmt: skip
    made = []
    for node in sorted({row["node"] for row in sent}):  # a tile is of one node
        tile = table([row for row in sent if row["node"] == node], **sent_types)
        made += interest_job.judge_tile(by, tile, spread_table).to_pylist()
    return made


# Pieces


@given(st.lists(st.integers(0, 20), max_size=30))
def test_pieces_are_stretches_in_order(rows: list[int]) -> None:
    seq = np.array(rows, np.int64)
    parts = [list(range(part.start, part.stop)) for part in pieces.split(seq)]
    assert [place for part in parts for place in part] == list(range(len(rows)))
    for part in parts:
        assert all(seq[a] < seq[b] for a, b in itertools.pairwise(part))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_the_first_of_each(rows: list[tuple[int, int]]) -> None:
    columns = [np.array([row[side] for row in rows], np.int64) for side in (0, 1)]
    assert pieces.first_of_each(*columns).tolist() == [row not in rows[:n] for n, row in enumerate(rows)]
