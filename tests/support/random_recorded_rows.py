"""Rows of runs at random, as a recorder would have written them, and counts of their traffic by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from weft.fom import merge, parse_module
from weft.interest.ddm_settings import DdmSettings
from weft.interest.regions import DEFAULT_REGION, Extent, Region
from weft.interest.spaces import Space, Spaces
from weft.interest.strategies import make_strategy
from weft.model.records import Source
from weft.recorder import COLUMNS
from weft.review.advice.batches import (
    COUNTED,
    GROUPED,
    SEND_COLUMNS,
    counted,
    described,
    model_cells,
    model_spaces,
    read_counts,
)
from weft.review.advice.grid import TrafficCounts
from weft.review.advice.listening import read_listening

FED = Source(
    "tuned.fed",
    b"""
(FED
  (Federation tuned)
  (FEDversion v1.3)
  (spaces
    (space Line (dimension x))
    (space Plane (dimension x) (dimension y))
    (space Block (dimension x) (dimension y) (dimension z)))
  (objects
    (class ObjectRoot
      (attribute privilegeToDelete reliable timestamp)
      (class A (attribute x reliable receive Line))
      (class B (attribute x best_effort receive Plane) (attribute y best_effort receive Plane))
      (class C (attribute x reliable receive Block) (attribute y reliable receive)
               (attribute z reliable receive Line))))
  (interactions
    (class InteractionRoot reliable timestamp
      (class Flare best_effort receive Plane (parameter how)
        (class Bright best_effort receive Plane (parameter more)))
      (class Shot reliable receive Line (parameter how)))))
""",
)
OMT = Source(
    "tuned.xml",
    b"""<?xml version="1.0" encoding="utf-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
  <modelIdentification><name>tuned</name><type>FOM</type><version>1</version><modificationDate>2025-01-01</modificationDate>
    <securityClassification>unclassified</securityClassification><description>rows</description>
    <poc><pocType>Primary author</pocType></poc></modelIdentification>
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Ship</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Place</name><dataType>HLAASCIIstring</dataType><updateType>Static</updateType><ownership>NoTransfer</ownership>
        <sharing>PublishSubscribe</sharing><dimensions><dimension>East</dimension><dimension>North</dimension></dimensions>
        <transportation>HLAbestEffort</transportation><order>Receive</order></attribute>
    </objectClass></objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name></interactionClass></interactions>
  <dimensions>
    <dimension><name>East</name><dataType>HLAinteger64BE</dataType><upperBound>1000</upperBound>
      <normalization>linear</normalization><value>Excluded</value></dimension>
    <dimension><name>North</name><dataType>HLAinteger64BE</dataType><upperBound>77</upperBound>
      <normalization>linear</normalization><value>Excluded</value></dimension>
  </dimensions>
</objectModel>
""",
)
NODES = ("S1", "S2", "S3")
EMPTY: dict[str, Any] = {column.name: None for column in COLUMNS}

Row = dict[str, Any]
Box = Mapping[str, tuple[int, int]]


def spaces_of(source: Source) -> Spaces:
    return Spaces(merge([parse_module(source)]))


class Story:
    """A run at random.  Everything in it has arrived before the next thing happens."""

    def __init__(
        self,
        seed: int,
        source: Source = FED,
        steps: int = 60,
        federates: int = 4,
        orders: Sequence[str] = ("RO",),
    ) -> None:
        self.random = Random(seed)
        self.orders = orders
        self.heard: dict[int, list[tuple[int, int]]] = {}
        self.spaces = spaces_of(source)
        model = self.spaces.model
        self.dimensions = list(model.dimensions)
        fed = source is FED
        self.attributes = (
            {"HLAobjectRoot.A": ["x"], "HLAobjectRoot.B": ["x", "y"], "HLAobjectRoot.C": ["x", "y", "z"]}
            if fed
            else {"HLAobjectRoot.Ship": ["Place"]}
        )
        flare = "HLAinteractionRoot.Flare"
        self.interactions = [flare, f"{flare}.Bright", "HLAinteractionRoot.Shot"] if fed else []
        self.rows: list[Row] = []
        self.now = 0
        self.seqs: dict[str, int] = {}
        self.federates: dict[int, str] = {}
        self.wishes: dict[int, list[tuple[str, str | None, int | None]]] = {}
        self.regions: dict[int, tuple[int, Box]] = {}
        self.messages: dict[int, int] = {}
        for number in range(1, federates + 1):
            self.join(number, NODES[(number - 1) % len(NODES)])
        for _ in range(steps):
            self.step()

    # --- what happens ---------------------------------------------------------------------------------------------

    def step(self) -> None:
        kinds = (
            self.subscribe,
            self.turn,
            self.update,
            self.update,
            self.update,
            self.send,
            self.unsubscribe,
        )
        who = self.random.choice(sorted(self.federates))
        self.random.choice(kinds)(who)
        if len(self.federates) > 2 and self.random.random() < 0.02:
            self.resign(who)

    def join(self, federate: int, node: str) -> None:
        self.federates[federate] = node
        self.wishes[federate] = []
        self.write("join", federate, name=f"federate {federate}")

    def resign(self, federate: int) -> None:
        self.write("resign", federate)
        del self.federates[federate], self.wishes[federate]

    def subscribe(self, who: int) -> None:
        cls, item, space = self.something()
        names = self.names(space)
        regional = bool(names) and self.random.random() < 0.7
        region = None
        bounds: Row = {}
        if regional:
            region = len(self.regions) + 1
            self.regions[region] = (who, self.box(space))
            bounds = self.bounds([self.regions[region][1]])
            self.write("region", who, service="commit_region_modifications", region=region, **bounds)
        word = "object_class_attributes" if item else "interaction_class"
        service = f"subscribe_{word}{'_with_regions' if regional else ''}"
        items = None if item is None else [item]
        self.wishes[who].append((cls, item, region))
        self.write("declare", who, service=service, **{"class": cls}, items=items, region=region, **bounds)

    def unsubscribe(self, who: int) -> None:
        if not self.wishes[who] or self.random.random() < 0.6:
            return
        cls, item, region = wish = self.random.choice(self.wishes[who])
        self.wishes[who] = [one for one in self.wishes[who] if one != wish]
        word = "object_class_attributes" if item else "interaction_class"
        service = f"unsubscribe_{word}{'' if region is None else '_with_regions'}"
        items = None if item is None else [item]
        self.write("declare", who, service=service, **{"class": cls}, items=items, region=region)

    def turn(self, who: int) -> None:
        """A subscribed region moves."""
        own = [region for _, _, region in self.wishes[who] if region is not None]
        if own:
            region = self.random.choice(own)
            old = self.regions[region][1]
            new = {name: self.range(name) for name in old}
            self.regions[region] = (who, new)
            self.write(
                "region", who, service="commit_region_modifications", region=region, **self.bounds([new])
            )

    def update(self, who: int) -> None:
        cls = self.random.choice(sorted(self.attributes))
        items = sorted(
            self.random.sample(self.attributes[cls], self.random.randint(1, len(self.attributes[cls])))
        )
        spaces = list(dict.fromkeys(self.spaces.of_attribute(cls, item) for item in items))
        boxes = {
            space.number: [self.box(space) for _ in range(self.random.choice((0, 1, 1, 1, 2)))]
            for space in spaces
            if space is not None and space.dimensions
        }
        wanted = []
        for item in items:
            space = self.spaces.of_attribute(cls, item)
            wanted.append((item, boxes.get(space.number, []) if space else []))
        reached = [
            other
            for other in self.federates
            if other != who and any(self.wants(other, cls, item, there) for item, there in wanted)
        ]
        reliable = cls != "HLAobjectRoot.B"
        self.message(
            who, "update_attribute_values", cls, items, boxes, reached, reliable, self.random.randint(1, 2)
        )

    def send(self, who: int) -> None:
        if not self.interactions:
            return
        cls = self.random.choice(self.interactions)
        space = self.spaces.of_interaction(cls)
        assert space is not None
        boxes = [self.box(space) for _ in range(self.random.choice((0, 1, 1)))]
        reached = [one for one in self.federates if one != who and self.wants(one, cls, None, boxes)]
        service = "send_interaction_with_regions" if boxes else "send_interaction"
        self.message(who, service, cls, [], {space.number: boxes}, reached, "Shot" in cls, None)

    def message(
        self, who: int, service: str, cls: str, items: list[str], boxes: Mapping[int, list[Box]],
        reached: list[int], reliable: bool, instance: int | None,
    ) -> None:  # fmt: skip
        self.messages[who] = number = self.messages.get(who, 0) + 1
        every = [box for space in sorted(boxes) for box in boxes[space]]
        order = self.random.choice(self.orders)
        known = self.heard.get(who, [])
        cause_source, cause = self.random.choice(known) if known and self.random.random() < 0.3 else (0, 0)
        for one in reached:
            self.heard.setdefault(one, []).append((who, number))
        self.write(
            "send", who, service=service, **{"class": cls}, items=items, source=who,
            message=number, destinations=reached, order=order, object=instance,
            cause_source=cause_source, cause=cause, transport="reliable" if reliable else "best-effort",
            payload_bytes=10, control_bytes=2 if order == "RO" else 20,
            **(self.bounds(every) if every else {}),
        )  # fmt: skip

    # --- what it is made of ---------------------------------------------------------------------------------------

    def write(self, kind: str, federate: int, **columns: Any) -> None:
        node = self.federates[federate]
        self.now += 1000
        self.seqs[node] = self.seqs.get(node, 0) + 1
        fixed = {"node": node, "seq": self.seqs[node], "epoch_ns": self.now, "mono_ns": self.now}
        self.rows.append({**EMPTY, **fixed, "kind": kind, "federate": federate, **columns})

    def something(self) -> tuple[str, str | None, Space | None]:
        if self.interactions and self.random.random() < 0.3:
            cls = self.random.choice(self.interactions)
            return cls, None, self.spaces.of_interaction(cls)
        cls = self.random.choice(sorted(self.attributes))
        item = self.random.choice(self.attributes[cls])
        return cls, item, self.spaces.of_attribute(cls, item)

    def names(self, space: Space | None) -> list[str]:
        return [] if space is None else [self.dimensions[one.number - 1] for one in space.dimensions]

    def box(self, space: Space | None) -> Box:
        return {name: self.range(name) for name in self.names(space)}

    def range(self, name: str) -> tuple[int, int]:
        whole = self.spaces.model.dimensions[name].upper_bound
        lower = self.random.randrange(whole)
        wide = self.random.choice((1, whole // 64 + 1, whole // 8 + 1, whole))
        return lower, min(lower + self.random.randint(1, wide), whole)

    @staticmethod
    def bounds(boxes: Sequence[Box]) -> Row:
        flat = [(name, *bounds) for box in boxes for name, bounds in box.items()]
        names, lower, upper = zip(*flat, strict=True)
        return {"dimensions": list(names), "lower": list(lower), "upper": list(upper)}

    def wants(self, who: int, cls: str, item: str | None, boxes: Sequence[Box]) -> bool:
        for wish, attribute, region in self.wishes[who]:
            fits = (
                (cls == wish or cls.startswith(wish + "."))
                if item is None
                else (cls, item) == (wish, attribute)
            )
            if fits and (
                region is None or not boxes or any(overlap(self.regions[region][1], box) for box in boxes)
            ):
                return True
        return False


def overlap(one: Box, other: Box) -> bool:
    return all(one[name][0] < other[name][1] and other[name][0] < one[name][1] for name in one)


# --- the same counts, message by message --------------------------------------------------------------------------------


def brute_counts(rows: Iterable[Row], spaces: Spaces, setting: DdmSettings) -> dict[str, dict[int, int]]:
    """What the nodes count, by the strategies themselves: sets of channels, one message after the other."""
    strategy = make_strategy(spaces, setting)
    names = {name: number for number, name in enumerate(spaces.model.dimensions, 1)}
    nodes: dict[int, str] = {}
    wishes: dict[int, list[Row]] = {}
    regions: dict[int, Row] = {}
    found: dict[str, dict[int, int]] = {name: {} for name in ("sent", "copies", "received", "wanted")}

    def add(what: str, who: int, number: int) -> None:
        if number:
            found[what][who] = found[what].get(who, 0) + number

    def region(row: Row, only: Space) -> Region:
        if not row["dimensions"]:
            return DEFAULT_REGION
        own = {one.number for one in only.dimensions}
        boxes: list[dict[int, tuple[int, int]]] = []
        for name, lower, upper in zip(row["dimensions"], row["lower"], row["upper"], strict=True):
            number = names[name]
            if number in own:
                if not boxes or number in boxes[-1]:
                    boxes.append({})
                boxes[-1][number] = (lower, upper)
        return Region(tuple(Extent(box) for box in boxes)) if boxes else DEFAULT_REGION

    def listened(who: int) -> set[int]:
        heard = {0}
        if setting.strategy == "Simple":
            heard.add(1)
        for row in wishes[who]:
            if row["items"] is None:
                travelled = [one for one in spaces.heard(row["class"]) if one is not None]
            else:
                spaced = [spaces.of_attribute(row["class"], item) for item in row["items"]]
                travelled = [one for one in spaced if one is not None]
            for space in travelled:
                place = DEFAULT_REGION if row["region"] is None else region(regions[row["region"]], space)
                heard |= strategy.update_channels(space, place)
        return heard

    for row in rows:
        who = row["federate"]
        if row["kind"] == "join":
            nodes[who], wishes[who] = row["node"], []
        elif row["kind"] == "resign":
            del nodes[who], wishes[who]
        elif row["kind"] == "region":
            regions[row["region"]] = row
        elif row["kind"] == "declare":
            key = (row["class"], row["items"], row["region"])
            if row["service"].startswith("unsubscribe"):
                wishes[who] = [
                    one for one in wishes[who] if (one["class"], one["items"], one["region"]) != key
                ]
            else:
                wishes[who].append(row)
        elif row["kind"] == "send":
            if setting.strategy == "Exact":
                channels = {0}
                reached = [one for one in row["destinations"] if nodes[one] != row["node"]]
            else:
                if row["class"] in spaces.model.interaction_classes:
                    travelled = [spaces.of_interaction(row["class"])]
                else:
                    travelled = [spaces.of_attribute(row["class"], item) for item in row["items"]]
                channels = set()
                for space in travelled:
                    there = DEFAULT_REGION if space is None else region(row, space)
                    channels |= strategy.update_channels(space, there)
                reached = [one for one in nodes if nodes[one] != row["node"] and channels & listened(one)]
            add("sent", who, len(channels))
            add("copies", who, len({nodes[one] for one in reached}))
            for one in reached:
                add("received", one, 1)
                add("wanted", one, one in row["destinations"])
    return found


def as_table(rows: Sequence[Row]) -> Any:
    """As the reader of a run hands them on."""
    from weft.host.recording.files import arrow_schema

    schema = arrow_schema(with_node=True)
    columns = {field.name: [row.get(field.name) for row in rows] for field in schema}
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})


def predicted(
    rows: list[dict[str, Any]], source: Source, tried: list[DdmSettings], more: Any = ()
) -> list[TrafficCounts]:
    """By the kernels, with Arrow's group-by in the place of Spark's."""
    model = (source,)
    changes: Any = [row for row in rows if row["kind"] != "send"]
    listening = read_listening(changes, model_spaces(model), model_cells(model, more))
    sends = as_table([row for row in rows if row["kind"] == "send"]).select(SEND_COLUMNS)
    batches = list(described(model, more, listening, sends.to_batches(max_chunksize=17)))
    if not batches:
        return [TrafficCounts() for _ in tried]
    table = pa.Table.from_batches(batches)
    once = pa.array(np.ones(table.num_rows, np.int64))
    assert [field.split()[0] for field in GROUPED.split(", ")] == table.column_names
    whole = table.append_column("count", once).combine_chunks().to_batches()
    found = list(counted(model, more, listening, tried, whole))
    assert [field.split()[0] for field in COUNTED.split(", ")] == found[0].schema.names
    return read_counts([row for batch in found for row in batch.to_pylist()], len(tried))


def write_run(
    folder: Path, rows: Sequence[Row], source: Source, rid: Source | None = None, home: str = "S1"
) -> Path:
    """A run on the disk, as nodes leave it."""
    from weft.host.recording.files import NodeFiles

    (folder / "fom").mkdir(parents=True)
    (folder / "fom" / "1").write_bytes(source.data)
    if rid is not None:
        (folder / "rid").write_bytes(rid.data)
    info = {
        "federation": "tuned",
        "id": "0",
        "start_ns": 0,
        "node": home,
        "execution": f"{home}/1/2",
        "time": "HLAinteger64Time",
        "modules": [{"name": source.name, "file": "fom/1"}],
        "rid": None if rid is None else "rid",
        "schema": 1,
    }
    for node in sorted({row["node"] for row in rows}):
        files = NodeFiles(folder, node, 1, info)
        own = as_table([row for row in rows if row["node"] == node]).drop_columns(["node"])
        files.write_rows(own.cast(files.schema))
        files.write_node(
            {"node": node, "began_ns": 0, "ended_ns": 1, "rows": len(own), "dropped": 0, "others": []}
        )
    return folder
