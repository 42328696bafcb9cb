"""Advice where attributes of one update are in regions of their own: predictions are what the nodes count (9.1.2)."""

from __future__ import annotations

from typing import Any

import pytest

from support.memory_recordings import MemoryRecordings
from support.random_recorded_rows import EMPTY, FED, NODES, predicted
from weft.host.simulated.simulated import SimulatedNetwork
from weft.interest.ddm_settings import GRID, SPACE, DdmSettings
from weft.model.records import RangeBounds, Source
from weft.review.advice.batches import model_spaces
from weft.review.advice.grid import TrafficCounts
from weft.review.advice.replay import COLUMNS, KINDS, replay_strategy
from weft.review.advice.rid import write_rid

CLASS = "HLAobjectRoot.B"
SETTINGS = [
    DdmSettings(strategy=SPACE),
    DdmSettings(strategy=GRID, partitions=4, max_channels=65_535),
    DdmSettings(strategy=GRID, partitions=8, max_channels=65_535),
]


class Seat:
    """A federate that subscribes or updates attributes of one class with regions."""

    def __init__(self, network: SimulatedNetwork, node: str) -> None:
        self.network, self.node = network, node
        self.connection = network.at(node).connect()
        self.handle = self.call("join_federation_execution", "boxes", "test", node, ())[0]
        self.kind = self.call("get_object_class_handle", CLASS)

    def call(self, service: str, *arguments: Any) -> Any:
        found = self.connection.call(service, arguments)
        self.network.settle()
        return found

    def attributes(self, *names: str) -> frozenset[Any]:
        return frozenset(self.call("get_attribute_handle", self.kind, name) for name in names)

    def region(self, at: int) -> frozenset[Any]:
        dimensions = [self.call("get_dimension_handle", f"Plane.{name}") for name in ("x", "y")]
        region = self.call("create_region", frozenset(dimensions))
        for dimension in dimensions:
            self.call("set_range_bounds", region, dimension, RangeBounds(at, at + 10))
        self.call("commit_region_modifications", frozenset([region]))
        return frozenset([region])

    def subscribe(self, name: str, at: int) -> None:
        pairs = [(self.attributes(name), self.region(at))]
        self.call("subscribe_object_class_attributes_with_regions", self.kind, pairs)

    def counts(self, into: TrafficCounts, number: int) -> None:
        federation = self.network.node(self.node).federations["boxes"]
        federation.count_up()
        for told in federation.members[self.handle].traffic.channels.values():
            for mine, more in (
                (into.sent, told.sent),
                (into.copies, told.copies),
                (into.received, told.received),
                (into.wanted, told.wanted),
            ):
                mine[number] = mine.get(number, 0) + more


def lived(rid: Source, places: dict[str, tuple[int, ...]]) -> tuple[list[dict[str, Any]], TrafficCounts]:
    """Updates of both attributes; `places`: the regions of each, none: it is in the default region."""
    memory = MemoryRecordings(False)
    network = SimulatedNetwork(list(NODES), 1, None, rid)
    for node in NODES:
        network.node(node).record(memory, 0.0)
    network.at(NODES[0]).connect().call("create_federation_execution", ("boxes", (FED,), None, ""))
    sender, *others = seats = [Seat(network, node) for node in NODES]
    for seat, name, at in zip(others, ("x", "y"), (100_000, 2_000_000_000), strict=True):
        seat.subscribe(name, at)
    sender.call("publish_object_class_attributes", sender.kind, sender.attributes("x", "y"))
    pairs = [(sender.attributes(name), sender.region(at)) for name, those in places.items() for at in those]
    instance = sender.call("register_object_instance_with_regions", sender.kind, pairs)
    for _ in range(3):
        sender.call("update_attribute_values", instance, dict.fromkeys(sender.attributes("x", "y"), b""), b"")
    counts = TrafficCounts()
    for number, seat in enumerate(seats, 1):
        seat.counts(counts, number)
    rows = [{**EMPTY, **row} for row in memory.take()]
    rows.sort(key=lambda row: (row["epoch_ns"], row["node"], row["seq"]))
    return rows, counts


PLACES = {
    "one in the default region": {"x": (100_000,), "y": ()},
    "the other in the default region": {"x": (), "y": (100_000,)},
    "in different ones": {"x": (2_000_000_000,), "y": (100_000,)},
    "one of them in two": {"x": (100_000,), "y": (100_000, 2_000_000_000)},
    "in the same": {"x": (100_000,), "y": (100_000,)},
}


@pytest.mark.parametrize("setting", SETTINGS, ids=["space", "grid of 4", "grid of 8"])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_each_attribute_travels_where_it_is(setting: DdmSettings, places: dict[str, tuple[int, ...]]) -> None:
    """By the column `boxes`; the replay does so again."""
    rid = Source("tried.rid", write_rid(setting, model_spaces((FED,))).encode())
    rows, counts = lived(rid, places)
    (found,) = predicted(rows, FED, [setting])
    assert numbers(found) == numbers(counts)
    told: Any = [{name: row[name] for name in COLUMNS} for row in rows if row["kind"] in KINDS]
    replayed = replay_strategy(told, (FED,), NODES, NODES[0], rid, lambda text: None)
    assert numbers(replayed) == numbers(counts)


def numbers(counts: TrafficCounts) -> dict[str, dict[int, int]]:
    """What nodes count."""
    return {
        name: {who: number for who, number in getattr(counts, name).items() if number}
        for name in ("sent", "copies", "received", "wanted")
    }
