"""Traffic and latency (issue 21, item 5) against brute force: rows looked at one by one."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.simulation import Simulation
from weft.review.kernels import arrow, flows

Row = dict[str, Any]
KINDS = ("send", "deliver", "hold", "release")

Flows = st.lists(
    st.fixed_dictionaries(
        {
            "source": st.integers(1, 2),
            "message": st.integers(1, 3),
            "kind": st.integers(0, 3),
            "federate": st.integers(1, 3),
            "node": st.sampled_from(["n", "m"]),
            "class": st.sampled_from([None, "A", "B"]),
            "order": st.sampled_from([None, "RO", "TSO"]),
            "channels": st.sampled_from([None, "0", "0,3"]),
            "payload": st.one_of(st.none(), st.integers(0, 9)),
            "control": st.one_of(st.none(), st.integers(0, 9)),
            "epoch_ns": st.integers(0, 5_000_000_000),
            "mono_ns": st.integers(0, 5_000_000_000),
        }
    ),
    max_size=30,
    unique_by=lambda row: row["epoch_ns"],
)


def table(rows: list[Row], schema: str = flows.FLOW) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=arrow.schema_of(schema))


def first(rows: list[Row], kind: int, **wanted: Any) -> Row | None:
    fitting = [
        row
        for row in rows
        if row["kind"] == kind and all(row[name] == value for name, value in wanted.items())
    ]
    return min(fitting, key=lambda row: row["epoch_ns"], default=None)


def key_of(row: Row) -> Row:
    return {"source": row["source"], "message": row["message"]}


def traffic(rows: list[Row]) -> dict[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        if row["kind"] not in (flows.SEND, flows.DELIVER):
            continue
        received = row["kind"] == flows.DELIVER
        of = (first(rows, flows.SEND, **key_of(row)) if received else row) or row
        key = ("received" if received else "sent", of["class"], of["order"], of["source"])
        sums = found.setdefault((*key, row["federate"] if received else None, of["channels"]), [0, 0, 0])
        payload = row["payload"] if row["payload"] is not None else of["payload"]
        for place, more in enumerate((1, payload or 0, of["control"] or 0)):
            sums[place] += more
    return found


def took(since: Row, row: Row) -> tuple[bool, int]:
    across = since["node"] != row["node"]
    clock = "epoch_ns" if across else "mono_ns"
    return across, row[clock] - since[clock]


def times(rows: list[Row]) -> list[tuple[Any, ...]]:
    found = []
    for row in rows:
        sent = first(rows, flows.SEND, **key_of(row))
        if row["kind"] == flows.DELIVER and sent is not None:
            found.append(("deliver", sent["class"], sent["order"], row["federate"], *took(sent, row)))
        if row["kind"] == flows.RELEASE:
            held = first(rows, flows.HOLD, **key_of(row), federate=row["federate"], node=row["node"])
            of = sent or row
            if held is not None:
                found.append(("hold", of["class"], of["order"], row["federate"], *took(held, row)))
    return sorted(found, key=repr)


@given(rows=Flows, chance=st.randoms(use_true_random=False))
def test_traffic(rows: list[Row], chance: random.Random) -> None:
    """Messages once, deliveries once, with class, order and channels of the first send; in whatever order rows come."""
    wanted = traffic(rows)
    chance.shuffle(rows)
    found = flows.traffic(table(rows)).to_pylist()
    told = {tuple(row[name] for name in flows.TRAFFIC_KEY): row for row in found}
    assert len(told) == len(found)
    assert {key: [row[name] for name in flows.TRAFFIC_SUMS] for key, row in told.items()} == wanted


@given(rows=Flows, chance=st.randoms(use_true_random=False))
def test_what_took_how_long(rows: list[Row], chance: random.Random) -> None:
    """From the first send to each delivery, and from hold to release: at one node by its own clock, else by the wall clocks."""
    wanted = times(rows)
    chance.shuffle(rows)
    both = pa.concat_tables([flows.deliveries(table(rows)), flows.waits(table(rows))]).to_pylist()
    names = ("what", "class", "order", "federate", "across", "took_ns")
    assert sorted((tuple(row[name] for name in names) for row in both), key=repr) == wanted


@pytest.mark.parametrize("seed", range(4))
def test_a_run_in_parts_has_the_same_traffic(seed: int) -> None:
    """What tasks have summed up of their messages adds up to the whole: messages are spread by source and number."""
    rows = _simulated(seed)
    parts = [[row for row in rows if row["message"] % 2 == part] for part in (0, 1)]
    both = flows.summed(pa.concat_tables([flows.traffic(table(part)) for part in parts]))
    assert sorted(both.to_pylist(), key=repr) == sorted(flows.traffic(table(rows)).to_pylist(), key=repr)


def _simulated(seed: int) -> list[Row]:
    made = []
    for row in Simulation(seed).rows:
        if row["kind"] in KINDS and row["source"]:
            names = ("source", "message", "federate", "node", "class", "order", "epoch_ns", "mono_ns")
            kept = {name: row[name] for name in names}
            made.append(kept | {"kind": KINDS.index(row["kind"]), "block": 0, "channels": None})
    assert len(made) > 50
    return made


# Requests and grants

SERVICES = {
    "enable_time_regulation": "time_regulation_enabled",
    "enable_time_constrained": "time_constrained_enabled",
    "time_advance_request": "time_advance_grant",
    "flush_queue_request": "flush_queue_grant",
}


@given(
    asked=st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from(list(SERVICES)), st.booleans(), st.integers(0, 9)),
        max_size=30,
    ),
    chance=st.randoms(use_true_random=False),
)
def test_grants(asked: list[tuple[int, str, bool, int]], chance: random.Random) -> None:
    """A grant answers the request just before it of the same federate and for the same thing; what nobody asked for, none."""
    rows, now = [], 0
    wanted: list[tuple[int, str, int]] = []
    pending: dict[tuple[int, str], tuple[str, int]] = {}
    for seq, (federate, service, is_grant, later) in enumerate(asked):
        now += later
        about = service if "enable" in service else "advance"
        name = SERVICES[service] if is_grant else service
        told = {"federate": federate, "node": "n", "seq": seq, "service": name}
        rows.append(told | {"kind": int(is_grant), "epoch_ns": now, "mono_ns": now})
        before = pending.pop((federate, about), None)
        if is_grant and before is not None:
            wanted.append((federate, before[0], now - before[1]))
        elif not is_grant:
            pending[federate, about] = service, now
    chance.shuffle(rows)
    found = flows.grants(table(rows, flows.ASKED)).to_pylist()
    assert sorted((row["federate"], row["service"], row["took_ns"]) for row in found) == sorted(wanted)


# Figures

Took = st.lists(
    st.fixed_dictionaries(
        {
            "what": st.sampled_from(["deliver", "grant"]),
            "class": st.sampled_from([None, "A"]),
            "order": st.sampled_from([None, "RO"]),
            "service": st.sampled_from([None, "s"]),
            "federate": st.integers(1, 2),
            "across": st.booleans(),
            "epoch_ns": st.integers(900, 1100),
            "took_ns": st.integers(-(10**6), 10**13),
        }
    ),
    max_size=40,
)


@given(rows=Took, step=st.integers(1, 100))
def test_latencies(rows: list[Row], step: int) -> None:
    """In the whole run and in each interval: count, least, mean, percentiles, greatest and deviation of what ended in it."""
    found = flows.latencies(table(rows, flows.TOOK), 1000, step).to_pylist()
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        key = tuple(row[name] for name in flows.LATENCY_KEY)
        interval = max(0, row["epoch_ns"] - 1000) // step
        for span in (("run", None), ("interval", interval)):
            groups.setdefault((*key, *span), []).append(row["took_ns"])
    assert len(found) == len(groups)
    for row in found:
        interval = None if row["from_s"] is None else round(row["from_s"] / row["interval_s"])
        key = tuple(row[name] for name in flows.LATENCY_KEY)
        values = sorted(groups[(*key, row["span"], interval)])
        assert row["count"] == len(values)
        mean = sum(values) / len(values)
        figures = {
            "min": values[0],
            "mean": mean,
            "max": values[-1],
            "sd": math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)),
        } | {f"p{share * 100:g}": _percentile(values, share) for share in flows.SHARES}
        for name, value in figures.items():
            assert row[f"{name}_ms"] == pytest.approx(value / 1e6, rel=1e-9, abs=1e-6)


def _percentile(values: list[int], share: float) -> int:
    """The least value that at least so many are not above."""
    return next(one for one in values if sum(other <= one for other in values) >= share * len(values) - 1e-9)
