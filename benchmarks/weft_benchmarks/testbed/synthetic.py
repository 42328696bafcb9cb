"""Runs made up from a seed, of any size, in which nothing is wrong: for tests and benchmarks.

Time goes in steps.  In each every federate sends some messages of four classes (in receive order, in causal order with vectors,
in time stamp order, and updates with regions), all are delivered in the order in which they were sent, and everybody is granted
the next step.  So every order is kept, and every figure follows from the plan.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from weft.host.recording.files import NodeFiles, arrow_type
from weft.recorder import COLUMNS, VERSION
from weft.review.kernels.pieces import Array

NOTE, ORDER, TICK, TANK = range(4)
CLASSES = (
    "HLAinteractionRoot.Note",
    "HLAinteractionRoot.Order",
    "HLAinteractionRoot.Tick",
    "HLAobjectRoot.Tank",
)
WORDS = {
    "kind": ("start", "stop", "join", "resign", "declare", "region", "send", "deliver", "request", "grant", "dispatch", "done"),
    "service": (
        *("subscribe_interaction_class", "subscribe_object_class_attributes_with_regions", "create_region"),
        *("commit_region_modifications", "send_interaction", "update_attribute_values", "time_advance_request"),
        *("time_advance_grant", "time_constrained_enabled", "time_regulation_enabled"),
    ),
    "class": CLASSES,
    "order": ("RO", "CO", "TSO"),
    "transport": ("reliable", "best-effort"),
    "operation": ("handle",),
}  # fmt: skip
MODEL = """<?xml version="1.0" encoding="utf-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Tank</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Position</name><dataType>HLAASCIIstring</dataType><updateType>Static</updateType><ownership>NoTransfer</ownership>
        <sharing>PublishSubscribe</sharing><dimensions><dimension>x</dimension><dimension>y</dimension></dimensions>
        <transportation>HLAreliable</transportation><order>Receive</order></attribute>
    </objectClass></objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name>{interactions}</interactionClass></interactions>
  <dimensions>{dimensions}</dimensions>
</objectModel>
"""
INTERACTION = """
    <interactionClass><name>{name}</name><sharing>PublishSubscribe</sharing><dimensions/>
      <transportation>HLAreliable</transportation><order>Receive</order></interactionClass>"""
DIMENSION = """
    <dimension><name>{name}</name><dataType>HLAinteger64BE</dataType><upperBound>1010</upperBound>
      <normalization>linear</normalization><value>Excluded</value></dimension>"""
CONTROL = ("join", "resign", "declare", "region")
START = 1_700_000_000_000_000_000
STEP = 10_000_000  # ns
SPACE = 1000
BLOCK = 1 << 18  # rows that are written together


@dataclass(frozen=True)
class SyntheticPlan:
    """What the run is like."""

    rows: int = 100_000
    federates: int = 16
    nodes: int = 2
    each: int = 20
    """Messages of a federate in a step."""
    mix: tuple[float, float, float, float] = (0.3, 0.2, 0.2, 0.3)
    """Shares of the classes."""
    subscribers: tuple[int, int, int, int] = (4, 4, 4, 8)
    side: int = 500
    """Of the boxes that are subscribed to; the space is 1,000 wide."""
    one_over_all: bool = False
    """The first subscriber's box covers everything."""
    stamped: bool = True
    """Are vectors recorded?"""
    overtaken: float = 0.0
    """So many of the deliveries in receive order come a step later, behind others that were sent after them."""
    seed: int = 0


HOT = SyntheticPlan(mix=(0.4, 0.3, 0.1, 0.2), subscribers=(1, 1, 2, 1), side=SPACE)
"""Nine in ten deliveries are at one federate."""
ONE_CLASS = SyntheticPlan(mix=(0.0, 0.0, 0.0, 1.0))
ONE_BOX = SyntheticPlan(one_over_all=True, side=50)


@dataclass
class _State:
    plan: SyntheticPlan
    random: np.random.Generator
    subscribers: list[Array]
    boxes: Array  # of subscribers to TANK: lower x, lower y, upper x, upper y
    vectors: Array
    numbers: Array  # messages sent so far, by federate
    parts: list[dict[str, Array]] = field(default_factory=list)
    vector_rows: list[Array] = field(default_factory=list)
    pending: int = 0
    stamps: int = 0
    commands: int = 0
    held: list[tuple[Array, Array, dict[str, Array], Array]] = field(default_factory=list)


def make_run(folder: Path, plan: SyntheticPlan) -> Path:
    """Write a run into that (new) folder."""
    folder.mkdir(parents=True, exist_ok=True)
    info = {
        "federation": "synthetic", "id": f"{plan.seed:010d}", "start_ns": START, "node": "n0",
        "time": "HLAinteger64Time", "modules": [_write_model(folder)], "schema": VERSION,
    }  # fmt: skip
    names = [f"n{number}" for number in range(plan.nodes)]
    files = [NodeFiles(folder, name, START, info) for name in names]
    counts = np.zeros(plan.nodes, np.int64)
    for block, vectors in _blocks(plan):
        for number, writer in enumerate(files):
            inside = np.flatnonzero(block["node"] == number)
            rows = {name: column[inside] for name, column in block.items()}
            if len(inside):
                rows["seq"] = counts[number] + 1 + np.arange(len(inside))
                counts[number] += len(inside)
                writer.write_rows(_table(rows, vectors, plan, writer.schema))
    for number, writer in enumerate(files):
        others = [name for name in names if name != writer.node]
        writer.write_node(
            {"node": writer.node, "began_ns": START, "ended_ns": START + 1, "rows": int(counts[number]), "dropped": 0,
             "others": others}
        )  # fmt: skip
    return folder


def _write_model(folder: Path) -> dict[str, str]:
    """For advice on regions; says where it is."""
    interactions = "".join(INTERACTION.format(name=name.rpartition(".")[2]) for name in CLASSES[:TANK])
    dimensions = "".join(DIMENSION.format(name=name) for name in "xy")
    place = folder / "model" / "synthetic.xml"
    place.parent.mkdir()
    place.write_text(MODEL.format(interactions=interactions, dimensions=dimensions))
    return {"name": place.name, "file": str(place.relative_to(folder))}


SEEDS = 10  # of a night's runs


def make_night(top: Path, runs: int, plan: SyntheticPlan) -> list[Path]:
    """Many runs below a folder: the first ones each of a seed of its own, the others copies of these under other names."""
    made: list[Path] = []
    for number in range(runs):
        folder = top / "synthetic" / f"20231114T221320Z-{number:010d}"
        if number < SEEDS:
            made.append(make_run(folder, replace(plan, seed=plan.seed + number)))
            continue
        shutil.copytree(made[number % SEEDS], folder, copy_function=os.link)
        info = json.loads((folder / "run.json").read_text()) | {"id": f"{number:010d}"}
        (folder / "run.json").unlink()
        (folder / "run.json").write_text(json.dumps(info))
        made.append(folder)
    return made


def _blocks(plan: SyntheticPlan) -> Iterator[tuple[dict[str, Array], Array]]:
    """Rows, as columns, and the vectors that they name."""
    random = np.random.default_rng(plan.seed)
    # The first ones of one order, so that few subscribers are the same for all classes.
    order = random.permutation(plan.federates)
    chosen = [np.sort(order[:many]) for many in plan.subscribers]
    boxes = _boxes(plan, random, len(chosen[TANK]))
    state = _State(
        plan, random, chosen, boxes,
        np.zeros((plan.federates, plan.federates), np.int64), np.zeros(plan.federates, np.int64),
    )  # fmt: skip
    _begin(state)
    done = step = 0
    while done + state.pending < plan.rows:
        step += 1
        _step(state, step)
        if state.pending >= BLOCK:
            done += state.pending
            yield _flush(state)
    everybody = np.arange(plan.federates)
    _add(state, "resign", START + (step + 1) * STEP + everybody, everybody)
    yield _flush(state)


def _boxes(plan: SyntheticPlan, random: np.random.Generator, many: int) -> Array:
    lower = random.integers(0, SPACE - plan.side + 1, (many, 2))
    made = np.hstack((lower, lower + plan.side))
    if plan.one_over_all and many:
        made[0] = (0, 0, SPACE + 10, SPACE + 10)
    return made


def _flush(state: _State) -> tuple[dict[str, Array], Array]:
    rows = {}
    for name in {name for part in state.parts for name in part}:
        missing = -1 if name in WORDS or name == "stamp" else NONE
        rows[name] = np.concatenate(
            [part.get(name, np.full(len(part["epoch_ns"]), missing)) for part in state.parts]
        )
    order = np.argsort(rows["epoch_ns"], kind="stable")
    rows = {name: column[order] for name, column in rows.items()}
    changes = np.isin(rows["kind"], [WORDS["kind"].index(kind) for kind in CONTROL])
    rows["command"] = state.commands + np.cumsum(changes)
    state.commands = int(rows["command"][-1])
    vectors = np.concatenate([np.zeros((0, state.plan.federates), np.int64), *state.vector_rows])
    state.parts, state.vector_rows, state.pending, state.stamps = [], [], 0, 0
    return rows, vectors


NONE = np.iinfo(np.int64).min


def _add(state: _State, kind: str, epoch: Array, federate: Array, **columns: Array | str | int) -> None:
    """Rows of one kind; texts are given as one word for all."""
    count = len(epoch)
    part: dict[str, Array] = {
        "epoch_ns": epoch,
        "federate": federate + 1,
        "node": federate % state.plan.nodes,
    }
    for name, value in {"kind": kind, **columns}.items():
        if name in WORDS and isinstance(value, str):
            part[name] = np.full(count, WORDS[name].index(value))
        else:
            part[name] = np.broadcast_to(np.asarray(value), (count,))
    state.parts.append(part)
    state.pending += count


def _begin(state: _State) -> None:
    everybody = np.arange(state.plan.federates)
    at = START + everybody
    _add(state, "join", at, everybody)
    for kind in ("time_regulation_enabled", "time_constrained_enabled"):
        at = at + 1000
        _add(state, "grant", at, everybody, service=kind, time_int=0, lookahead_int=1)
    for number in (NOTE, ORDER, TICK):
        at = at + 1000
        who = state.subscribers[number]
        wish = {"class": CLASSES[number], "service": "subscribe_interaction_class"}
        _add(state, "declare", at[who], who, **wish)
    _commit(state, START + 10_000)
    who = state.subscribers[TANK]
    _add(
        state, "declare", START + 20_000 + who, who, service="subscribe_object_class_attributes_with_regions",
        region=who + 1, tank_items=1, **{"class": CLASSES[TANK]},
    )  # fmt: skip


def _commit(state: _State, at: int) -> None:
    who = state.subscribers[TANK]
    _add(
        state, "region", at + who, who, service="commit_region_modifications", region=who + 1,
        lower_x=state.boxes[:, 0], lower_y=state.boxes[:, 1], upper_x=state.boxes[:, 2], upper_y=state.boxes[:, 3],
    )  # fmt: skip


def _step(state: _State, step: int) -> None:
    plan, random = state.plan, state.random
    began = START + step * STEP
    everybody = np.arange(plan.federates)
    if step % 100 == 0:
        state.boxes = _boxes(plan, random, len(state.boxes))
        _commit(state, began)
    count = plan.federates * plan.each
    source = np.tile(everybody, plan.each)
    number = np.repeat(np.arange(1, plan.each + 1), plan.federates) + state.numbers[source]
    state.numbers = state.numbers + plan.each
    kind = random.choice(4, count, p=plan.mix)
    places = random.integers(0, SPACE, (count, 2))
    wants = _wants(state, source, kind, places)
    stamp = _stamp(state, source, number, kind)
    sent_at = began + 2_000_000 + np.arange(count) * 1000
    common = {
        "source": source + 1, "message": number, "class": kind, "order": np.array([0, 1, 2, 0])[kind],
        "transport": np.zeros(count, np.int64), "stamp": stamp, "time_int": np.where(kind == TICK, step + 1, NONE),
    }  # fmt: skip
    is_tank = kind == TANK
    bounds = {
        f"{side}_{axis}": np.where(is_tank, places[:, column] + add, NONE)
        for side, add in (("lower", 0), ("upper", 10))
        for column, axis in enumerate("xy")
    }
    masks = np.packbits(wants, axis=1, bitorder="little")
    _add(
        state, "send", sent_at, source, service=np.where(is_tank, 5, 4), tank_items=np.where(is_tank, 1, NONE),
        object=np.where(is_tank, source + 1, NONE), payload_bytes=100, **bounds, **common,
        **{f"mask{place}": masks[:, place] for place in range(masks.shape[1])},
    )  # fmt: skip
    _add(state, "request", began + 6_000_000 + everybody, everybody, service="time_advance_request",
         time_int=step + 1, lookahead_int=1)  # fmt: skip
    row, who = np.nonzero(wants)
    for held in state.held:
        _deliver(state, began + 9_000_000, *held)
    state.held = []
    if plan.overtaken:
        late = (kind[row] == NOTE) & (random.random(len(row)) < plan.overtaken)
        state.held.append((row[late], who[late], common, is_tank))
        row, who = row[~late], who[~late]
    _deliver(state, began + 6_500_000, row, who, common, is_tank)
    _add(state, "grant", began + 9_900_000 + everybody, everybody, service="time_advance_grant",
         time_int=step + 1, lookahead_int=1)  # fmt: skip


def _wants(state: _State, source: Array, kind: Array, places: Array) -> Array:
    wants = np.zeros((len(source), state.plan.federates), bool)
    for number in (NOTE, ORDER, TICK):
        wants[np.ix_(kind == number, state.subscribers[number])] = True
    tanks = np.flatnonzero(kind == TANK)
    x, y = places[tanks, 0][:, None], places[tanks, 1][:, None]
    low_x, low_y, up_x, up_y = state.boxes.T
    inside = (x < up_x) & (x + 10 > low_x) & (y < up_y) & (y + 10 > low_y)
    wants[np.ix_(tanks, state.subscribers[TANK])] = inside
    wants[np.arange(len(source)), source] = False
    return wants


def _stamp(state: _State, source: Array, number: Array, kind: Array) -> Array:
    """Rows of vectors for messages in causal order; then what all have heard by the end of the step."""
    stamp = np.full(len(source), -1)
    if not state.plan.stamped:
        return stamp
    ordered = np.flatnonzero(kind == ORDER)
    made = state.vectors[source[ordered]].copy()
    made[np.arange(len(ordered)), source[ordered]] = number[ordered]
    stamp[ordered] = state.stamps + np.arange(len(ordered))
    state.stamps += len(ordered)
    state.vector_rows.append(made)
    if len(made):
        for who in state.subscribers[ORDER]:
            others = made[source[ordered] != who]
            if len(others):
                state.vectors[who] = np.maximum(state.vectors[who], others.max(axis=0))
    return stamp


def _deliver(
    state: _State, began: int, row: Array, who: Array, common: dict[str, Array], is_tank: Array
) -> None:
    at = began + np.arange(len(row)) * 300
    columns = {name: value[row] for name, value in common.items()}
    _add(state, "deliver", at, who, tank_items=np.where(is_tank[row], 1, NONE), payload_bytes=100, **columns)
    notes = np.flatnonzero(columns["class"] == NOTE)
    consumer = {
        "name": who[notes],
        "priority": who[notes] % 3,
        "deadline_ns": at[notes] - START + 1_000_000,
        "operation": np.zeros(len(notes), np.int64),
        "source": columns["source"][notes],
        "message": columns["message"][notes],
    }
    _add(state, "dispatch", at[notes] + 100, who[notes], **consumer)
    _add(state, "done", at[notes] + 200, who[notes], **consumer)


# Arrow


def _table(rows: dict[str, Array], vectors: Array, plan: SyntheticPlan, schema: pa.Schema) -> pa.Table:
    count = len(rows["epoch_ns"])
    rows["mono_ns"] = rows["epoch_ns"] - START
    made: dict[str, pa.Array] = {}
    for column in COLUMNS:
        name = column.name
        if name in WORDS and name in rows:
            made[name] = _words(rows[name], WORDS[name])
        elif name in rows and column.type in ("int64", "int32"):
            made[name] = pa.array(rows[name], arrow_type(column.type), mask=rows[name] == NONE)
    consumers = rows.get("name", np.full(count, NONE))
    made["name"] = _words(
        np.where(consumers == NONE, -1, consumers), [f"f{n}" for n in range(plan.federates)]
    )
    made |= _lists(rows, vectors, plan)
    arrays = [made.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.table(arrays, schema=schema)


def _words(codes: Array, words: Sequence[str]) -> pa.Array:
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(words), pa.string()))


def _lists(rows: dict[str, Array], vectors: Array, plan: SyntheticPlan) -> dict[str, pa.Array]:
    count = len(rows["epoch_ns"])
    made = {}
    stamp = rows.get("stamp", np.full(count, -1))
    stamped = stamp >= 0
    made["vector"] = _list(stamped, vectors[stamp[stamped]].ravel(), plan.federates, pa.int64())
    everybody = np.tile(np.arange(1, plan.federates + 1), int(stamped.sum()))
    made["vector_of"] = _list(stamped, everybody, plan.federates, pa.int64())
    for side in ("lower", "upper"):
        x, y = rows[f"{side}_x"], rows[f"{side}_y"]
        there = x != NONE
        made[side] = _list(there, np.stack((x[there], y[there]), axis=1).ravel(), 2, pa.int64())
    made["dimensions"] = _list(there, np.array(["x", "y"] * int(there.sum()), object), 2, pa.string())
    tank = rows["tank_items"] == 1
    made["items"] = _list(tank, np.array(["Position"] * int(tank.sum()), object), 1, pa.string())
    made["destinations"] = _destinations(rows, plan)
    return made


def _list(there: Array, values: Array, width: int, kind: pa.DataType) -> pa.Array:
    offsets = np.concatenate(([0], np.cumsum(there * width))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, kind), mask=pa.array(~there))


def _destinations(rows: dict[str, Array], plan: SyntheticPlan) -> pa.Array:
    sends = rows["kind"] == WORDS["kind"].index("send")
    width = (plan.federates + 7) // 8
    masks = np.stack([rows[f"mask{place}"][sends].astype(np.uint8) for place in range(width)], axis=1)
    wants = np.unpackbits(masks, axis=1, count=plan.federates, bitorder="little")
    lengths = np.zeros(len(sends), np.int64)
    lengths[sends] = wants.sum(axis=1)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(np.nonzero(wants)[1] + 1, pa.int64()), mask=pa.array(~sends)
    )
