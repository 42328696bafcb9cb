"""Issue 8: the audits while a run is being written, against brute force, without Spark.

Rows come in files, those of each node in order, those of different nodes in any order.  Whatever the order, in the end
everything that is wrong has been told, once, and at no time anything else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from review import oracle
from review.checks import KNOWN, faulty_run
from review.simulation import NAMES, Row, Simulation, number
from weft.host.recording.files import arrow_schema
from weft.recorder import BY_RESTORE
from weft.review.kernels.records import Violation
from weft.review.live import frontier, handovers
from weft.review.live.following import COLUMNS, Following

ORDERS = ("RO", "CO", "CT")
SCHEMA = pa.schema(
    [
        pa.field(name, pa.string() if pa.types.is_dictionary(kind) else kind)
        for name, kind in ((name, arrow_schema(with_node=True).field(name).type) for name in COLUMNS)
    ]
)


def table(rows: list[Row]) -> Any:
    return pa.Table.from_pylist([{name: row[name] for name in COLUMNS} for row in rows], schema=SCHEMA)


def with_ends(rows: list[Row]) -> list[Row]:
    """Every node ends in order."""
    made = list(rows)
    for node in sorted({row["node"] for row in rows}):
        last = [row for row in rows if row["node"] == node][-1]
        stop: Row = dict.fromkeys(NAMES)
        stop |= {"node": node, "kind": "stop", "seq": last["seq"] + 1, "federate": 0}
        stop |= {name: last[name] + 1 for name in ("epoch_ns", "mono_ns")}
        stop["command"] = last["command"]
        made.append(stop)
    return made


def arrivals(rows: list[Row], chance: random.Random, most: int) -> Iterator[list[Row]]:
    """Files of some rows of one node, nodes in any order."""
    left = {node: [r for r in rows if r["node"] == node] for node in {row["node"] for row in rows}}
    while left:
        node = chance.choice(sorted(left))
        count = chance.randint(1, most)
        yield left[node][:count]
        left[node] = left[node][count:]
        if not left[node]:
            del left[node]


def expected(rows: list[Row]) -> set[tuple[Any, ...]]:
    """All that is wrong, as `told` puts it."""
    orders = {(row["source"], row["message"]): row["order"] for row in oracle.of_kind(rows, "send")}
    undelivered = oracle.undelivered(rows, any_change=True)
    found = {("delivery", *one) for one in undelivered}
    found |= {("time", *one) for one in undelivered if one[0] == "lost" and orders[one[1:3]] == "TSO"}
    found |= {("time", *one) for one in oracle.out_of_order(rows) | oracle.early_grants(rows)}
    found |= {("causal", *one) for one in oracle.late(rows, ORDERS)}
    found |= {("interest", *one) for one in oracle.misdirected(rows)}
    return found | {("deadlines", *one) for one in oracle.missed_deadlines(rows)}


def told(finding: Violation) -> tuple[Any, ...]:
    audit = finding["audit"]
    names: tuple[str, ...] = ("what", "source", "message", "federate")
    if audit == "causal":
        names = ("federate", "source", "message")
    elif audit == "deadlines":
        names = ("node", "name", "seq")
    elif audit == "time" and finding["what"] != "lost":
        names = ("what", "federate", "node", "seq")
    told: Mapping[str, object] = finding
    return (audit, *(told[name] for name in names))


def is_known(finding: Violation) -> bool:
    """Does the oracle know of it?  `test_planted_faults.py` has all."""
    return finding["audit"] != "time" or finding["what"] in (*KNOWN, "lost")


def follow(rows: list[Row], chance: random.Random, most: int) -> tuple[Following, list[tuple[Any, ...]]]:
    following = Following("time_int", ORDERS)
    following.frontier.expect({row["node"] for row in rows})
    found = [finding for file in arrivals(rows, chance, most) for finding in following.feed(table(file))]
    return following, [told(one) for one in found if is_known(one)]


def check_all_that_is_wrong(seed: int, nodes: int, stamped: bool, most: int, commands: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handovers, "KEPT", 10**15)
        rows = faulty_run(seed, steps=150, nodes=nodes, times=1, stamped=stamped, commands=commands)
        _, found = follow(with_ends(rows), random.Random(seed), most)
    assert len(found) == len(set(found))
    assert set(found) == expected(rows)


RUNS = (st.integers(0, 10**6), st.integers(1, 3), st.booleans(), st.integers(10, 60), st.booleans())


@settings(max_examples=5, deadline=None)
@given(*RUNS)
@example(1577, 1, False, 10, False)  # one gave up waiting for what another had sent that waited itself
def test_all_that_is_wrong_is_told_once_and_nothing_else(
    seed: int, nodes: int, stamped: bool, most: int, commands: bool
) -> None:
    check_all_that_is_wrong(seed, nodes, stamped, most, commands)


@pytest.mark.soak
@settings(max_examples=60, deadline=None)
@given(*RUNS)
def test_in_many_runs(seed: int, nodes: int, stamped: bool, most: int, commands: bool) -> None:
    check_all_that_is_wrong(seed, nodes, stamped, most, commands)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
@example(57256, 1)  # the handovers of a send were forgotten before the send
@example(4475, 1)  # a delivery was forgotten before its send was read
def test_what_is_forgotten_is_never_told_wrongly(seed: int, kept: int) -> None:
    """With hardly any memory, and a run that never ends: less is told, nothing wrong."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handovers, "KEPT", kept * 10**9)
        patch.setattr(handovers, "MOST", 50)
        rows = faulty_run(seed, steps=150, times=1)
        following, found = follow(rows, random.Random(seed), 20)
    assert len(found) == len(set(found))
    assert set(found) <= expected(rows)
    assert following.frontier.all_read < frontier.FOREVER


def test_what_is_forgotten_is_never_told_wrongly_where_clocks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The receiver's machine is half a second behind, and its rows are read, and forgotten for want of room, before the sends."""
    monkeypatch.setattr(handovers, "MOST", 2)
    of: Row = {
        "source": 1,
        "order": "RO",
        "transport": "reliable",
        "class": "Hit",
        "service": "send_interaction",
    }
    sender = [_row("A", 0, "start"), _row("A", 0, "join", federate=1)]
    receiver = [_row("B", 0, "start"), _row("B", 0, "join", federate=2)]
    for number_of in range(1, 6):
        at = 2 + number_of / 10
        sender.append(_row("A", at, "send", federate=1, message=number_of, destinations=[2], **of))
        receiver.append(_row("B", at - 0.5, "deliver", federate=2, message=number_of, **of))
    for row in receiver:
        row["mono_ns"] += 10**12  # another machine
    following = Following("time_int", ORDERS)
    following.frontier.expect(["A", "B"])
    assert not following.feed(table(number(receiver)))
    assert not following.feed(table(with_ends(number(sender))))
    assert not following.feed(table(with_ends(number(receiver))[-1:]))


def test_a_node_that_crashed_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are granted more than it had promised when it last wrote; nobody knows what it promised then."""
    rows = number(Simulation(12, steps=200).rows)
    grants = [row for row in rows if row["kind"] == "grant"]
    middle = grants[len(grants) // 2]["epoch_ns"]
    cut = [row for row in rows if row["node"] == "node 1" or row["epoch_ns"] < middle]
    monkeypatch.setattr(frontier, "SILENT", 1)
    for crashes in (False, True):
        following = Following("time_int", ORDERS)
        following.frontier.expect(["node 0", "node 1"])
        found = following.feed(table([row for row in cut if row["node"] == "node 0"]))
        if crashes:
            following.frontier.read["node 1"] = middle + 10**12  # as if it had written this moment
            following.frontier.look(middle + 10**12)
            assert following.frontier.crashed == {"node 0"}
        else:
            following.frontier.ended.add("node 0")
        found += following.feed(table([row for row in cut if row["node"] == "node 1"]))
        early = [finding for finding in found if finding["audit"] == "time"]
        assert bool(early) is not crashes


def test_a_row_of_dropped_ones_does_not_say_how_far_its_node_got() -> None:
    """It is made when it is written; what happened before that may still wait for its file."""
    following = Following("time_int", ORDERS)
    rows = number([_row("A", 0, "start"), _row("A", 1, "join", federate=1), _row("A", 9, "dropped")])
    following.feed(table(rows))
    assert following.frontier.read["A"] == 10**9


def test_messages_of_a_federate_that_left_before_the_recording() -> None:
    """The `start` row says who had joined by then; of others, whom nobody has heard of, one cannot be sure."""
    for source, unsure in ((3, 0), (4, 1)):
        whole: Row = dict.fromkeys(NAMES)
        whole |= {"node": "A", "federate": 0, "command": 1, "epoch_ns": 1, "mono_ns": 1}
        rows = [
            whole | {"kind": "start", "source": 3},
            whole | {"kind": "join", "federate": 1, "source": 1},
            whole | {"kind": "deliver", "federate": 1, "source": source, "message": 7, "order": "RO"},
        ]
        following = Following("time_int", ORDERS)
        assert not following.feed(table(with_ends(number(rows))))
        assert following.unsure == unsure


def _row(node: str, second: float, kind: str, **more: Any) -> Row:
    whole: Row = dict.fromkeys(NAMES)
    at = round(second * 10**9)
    return (
        whole
        | {"node": node, "federate": 0, "command": 1, "epoch_ns": at, "mono_ns": at, "kind": kind}
        | more
    )


@pytest.mark.parametrize("restored", [False, True], ids=["resigns", "is restored"])
def test_what_is_under_way_when_its_receiver_leaves_is_not_lost(restored: bool) -> None:
    """It resigned, or a restore ended the run; and that was read before what the sender did until then."""
    sent: Row = {"source": 1, "message": 1, "destinations": [2], "order": "RO", "transport": "reliable"}
    sender = [
        _row("A", 0, "start"),
        _row("A", 0, "join", federate=1),
        _row("A", 1, "send", federate=1, service="send_interaction", **{"class": "Hit"}, **sent),
        _row("A", 3.5, "call", federate=1),
        _row("A", 9, "stop"),
    ]
    receiver = [_row("B", 0, "start"), _row("B", 0, "join", federate=2)]
    receiver.append(_row("B", 5, "call" if restored else "resign", federate=2))
    receiver.append(_row("B", 5.1, "stop", service=BY_RESTORE if restored else None))
    following = Following("time_int", ORDERS)
    following.frontier.expect(["A", "B"])
    for read in (number(receiver), number(sender)[:4], sender[4:]):
        assert not following.feed(table(read))
    assert not following.unsure


@pytest.mark.parametrize("acquires", [False, True])
def test_who_registered_an_instance_misses_nothing_by_a_class_above(acquires: bool) -> None:
    """6.1.1: it knows it by the class that it registered it at.  Of who acquired attributes, an update may be of that one."""
    of: Row = {"class": "Craft.Tug", "object": 2}
    rows = [
        _row("A", 0, "start"),
        _row("A", 0, "join", federate=1),
        _row("A", 0, "join", federate=2),
        _row("A", 1, "declare", federate=1, service="subscribe_object_class_attributes", items=["Place"], **{"class": "Craft"}),
        _row("A", 2, "call", federate=1, service="register_object_instance", **of),
        _row("A", 3, "call", federate=2, service="attribute_ownership_acquisition", **of, refused=not acquires),
        _row("A", 5, "send", federate=2, source=2, message=1, service="update_attribute_values", destinations=[],
             items=["Place"], order="RO", transport="reliable", **of),
        _row("A", 9, "stop"),
    ]  # fmt: skip
    for row in rows:
        if row.pop("refused", False):
            row["object"] = None
    following = Following("time_int", ORDERS)
    found = [told(one) for one in following.feed(table(number(rows)))]
    assert found == ([] if acquires else [("interest", "missed", 2, 1, 1)])
