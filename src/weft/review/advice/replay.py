"""Recorded traffic once more, under other settings, with real kernels on a simulated network.

The same federates join at the same nodes, subscribe to the same, move the same regions and send messages of the same
classes from the same places, in the order of the rows.  What is counted is what the nodes themselves count
(`weft.kernel.state.traffic`), or what crossed the links.  Not replayed: values (nobody's traffic depends on them), logical
time and orders; every message goes in receive order, since channels are for those.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork
from weft.host.simulated.simulated import SimulatedConnection, SimulatedNetwork
from weft.interest.spaces import Spaces
from weft.model.enums import ResignAction
from weft.model.handles import AttributeHandle, FederateHandle, Handle, ObjectInstanceHandle, RegionHandle
from weft.model.records import RangeBounds, Source
from weft.review.advice.batches import Model, model_cells, model_spaces
from weft.review.advice.cells import layout_of
from weft.review.advice.grid import TrafficCounts
from weft.review.kernels.records import Bounds, bounds_of
from weft.review.kernels.records import RecordedRow as Row

COLUMNS = ("epoch_ns", "node", "seq", "kind", "service", "federate", "source", "class", "object", "items", "region",
           "dimensions", "lower", "upper", "boxes")  # fmt: skip
"""Of the rows that a replay takes."""
KINDS = ("join", "resign", "lost", "declare", "region", "send")
FEDERATION = "replay"
LEAVE = ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST
PROGRESS = 1000  # messages

Key = tuple[str, int | None]
"""An object instance by its class and recorded number, or an interaction class."""


class _Place(NamedTuple):
    """Where an object instance or an interaction of a class is in the replay."""

    boxes: tuple[Bounds, ...] = ()
    regions: tuple[RegionHandle, ...] = ()
    where: Mapping[str, tuple[int, ...]] = {}
    """The numbers of the boxes of each attribute that has some."""


class _Seat:
    """A recorded federate, and what it has in the replay."""

    def __init__(self, connection: SimulatedConnection, node: str, handle: FederateHandle) -> None:
        self.connection = connection
        self.node = node
        self.handle = handle
        self.published: set[str] = set()
        self.regions: dict[int, RegionHandle] = {}  # subscribed, by the number that was recorded
        self.objects: dict[Key, ObjectInstanceHandle] = {}
        self.places: dict[Key, _Place] = {}

    def call(self, service: str, *arguments: object) -> Any:
        return self.connection.call(service, arguments)


class Replay:
    """`counts` and `crossings` say what came of it."""

    def __init__(self, model: Model, network: SimulatedNetwork, home: str) -> None:
        self.model = model
        self.spaces: Spaces = model_spaces(model)
        self.network = network
        self.home = home
        self.counts = TrafficCounts()
        self.messages = 0
        self._seats: dict[int, _Seat] = {}
        self._bounds: dict[int, Bounds] = {}
        self._founder = network.at(home).connect()
        self._founder.call("create_federation_execution", (FEDERATION, model, None, ""))

    def run(self, rows: Iterable[Row], say: Callable[[str], None] = lambda text: None) -> TrafficCounts:
        for row in rows:
            getattr(self, f"_{row['kind']}")(row)
            if row["kind"] == "send" and self.messages % PROGRESS == 0:
                say(f"{self.messages:,} messages replayed")
        self.network.settle()
        for federate in list(self._seats):
            self._leave(federate)
        return self.counts

    # --- rows -----------------------------------------------------------------------------------------------------

    def _join(self, row: Row) -> None:
        connection = self.network.at(row["node"]).connect()
        joining = (FEDERATION, "replay", str(row["federate"]), ())
        answer = connection.call("join_federation_execution", joining)
        assert isinstance(answer, tuple)
        self._seats[row["federate"]] = _Seat(connection, row["node"], answer[0])
        self.network.settle()

    def _resign(self, row: Row) -> None:
        if row["federate"] in self._seats:
            self._leave(row["federate"])

    _lost = _resign

    def _declare(self, row: Row) -> None:
        seat = self._seats.get(row["federate"])
        service = row["service"] or ""
        if seat is None or "subscribe" not in service or "directed" in service:
            return
        self.network.settle()
        kind = "interaction_class" if "interaction_class" in service else "object_class"
        what: tuple[object, ...] = (self._handle(seat, kind, row["class"]),)
        if service.endswith("with_regions"):
            regions = frozenset([self._subscribed_region(seat, row)])
            if kind == "interaction_class":
                what = (*what, regions)
            else:
                what = (*what, [(self._attributes(seat, row["class"], row["items"] or ()), regions)])
        elif row["items"] is not None and "attributes" in service:
            what = (*what, self._attributes(seat, row["class"], row["items"]))
        seat.call(service, *what)
        self.network.settle()

    def _region(self, row: Row) -> None:
        bounds = bounds_of(row)
        if not bounds:  # just created, or deleted
            return
        number = row["region"] or 0
        self._bounds[number] = bounds
        seat = self._seats.get(row["federate"])
        if seat is not None and number in seat.regions:
            self.network.settle()
            self._move(seat, [seat.regions[number]], [bounds])
            self.network.settle()

    def _send(self, row: Row) -> None:
        seat = self._seats.get(row["source"] or 0)
        if seat is None:
            return  # its joining was not recorded
        self.messages += 1
        if row["class"] in self.spaces.model.interaction_classes:
            self._send_interaction(seat, row)
        else:
            self._update(seat, row)

    # --- messages -------------------------------------------------------------------------------------------------

    def _send_interaction(self, seat: _Seat, row: Row) -> None:
        handle = self._handle(seat, "interaction_class", row["class"])
        if row["class"] not in seat.published:
            seat.published.add(row["class"])
            seat.call("publish_interaction_class", handle)
        bounds = bounds_of(row)
        if not bounds:
            seat.call("send_interaction", handle, {}, b"")
            return
        key = (row["class"], None)
        self._put(seat, key, self._boxes(bounds), {})
        seat.call("send_interaction_with_regions", handle, {}, frozenset(seat.places[key].regions), b"")

    def _update(self, seat: _Seat, row: Row) -> None:
        cls = row["class"]
        key = (cls, row["object"])
        if cls not in seat.published:
            seat.published.add(cls)
            every = _all_attributes(self.spaces, cls)
            seat.call("publish_object_class_attributes", self._handle(seat, "object_class", cls),
                      self._attributes(seat, cls, every))  # fmt: skip
        boxes, where = self._where(row)
        before = seat.places.get(key, _Place())
        if key not in seat.objects or tuple(boxes) != before.boxes or where != before.where:
            self.network.settle()
            self._place_object(seat, key, boxes, where)
            self.network.settle()
        masks = row["boxes"] or itertools.repeat(0)
        sent = [item for item, mask in zip(row["items"] or (), masks, strict=False) if mask >= 0]
        values = dict.fromkeys(self._attributes(seat, cls, sent), b"")
        seat.call("update_attribute_values", seat.objects[key], values, b"")

    def _place_object(
        self, seat: _Seat, key: Key, boxes: Sequence[Bounds], where: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Registered where it is, or brought there; regions are kept as long as they are of the same dimensions."""
        before = seat.places.get(key, _Place())
        self._put(seat, key, boxes, where)
        pairs = self._pairs(seat, key, seat.places[key])
        if key not in seat.objects:
            handle = self._handle(seat, "object_class", key[0])
            service = "register_object_instance_with_regions" if pairs else "register_object_instance"
            seat.objects[key] = seat.call(service, handle, *([pairs] if pairs else []))
        elif seat.places[key].regions != before.regions:
            if pairs:
                seat.call("associate_regions_for_updates", seat.objects[key], pairs)
            if before.where:
                old = self._pairs(seat, key, before)
                seat.call("unassociate_regions_for_updates", seat.objects[key], old)

    def _pairs(
        self, seat: _Seat, key: Key, place: _Place
    ) -> list[tuple[frozenset[AttributeHandle], frozenset[RegionHandle]]]:
        """Each attribute with its regions."""
        return [
            (self._attributes(seat, key[0], [item]), frozenset(place.regions[number] for number in numbers))
            for item, numbers in place.where.items()
        ]

    def _where(self, row: Row) -> tuple[list[Bounds], dict[str, tuple[int, ...]]]:
        """The boxes of an update, and the numbers of those of each attribute that has some.

        Where a row does not tell whose they are, all attributes have those of their spaces, also those it does not send.
        """
        bounds = bounds_of(row)
        names, cells = _names(bounds), model_cells(self.model)
        found: dict[str, tuple[int, ...]] = {}
        if row["boxes"]:
            unique: dict[Bounds, int] = {}
            for item, mask in zip(row["items"] or (), row["boxes"], strict=True):
                layout = layout_of(cells, self.spaces, row["class"], [item], names, [mask])
                own = [tuple(bounds[at] for at in places if at >= 0) for _, places in layout.boxes]
                if any(own):
                    found[item] = tuple(unique.setdefault(box, len(unique)) for box in own)
            return list(unique), found
        starts = [start for start, _ in cells.pieces(names)]
        for item in _all_attributes(self.spaces, row["class"]) if bounds else ():
            layout = layout_of(cells, self.spaces, row["class"], [item], names)
            first = {
                min(at for at in places if at >= 0)
                for _, places in layout.boxes
                if max(places, default=-1) >= 0
            }
            if first:
                found[item] = tuple(number for number, start in enumerate(starts) if start in first)
        return self._boxes(bounds), found

    # --- regions --------------------------------------------------------------------------------------------------

    def _put(
        self, seat: _Seat, key: Key, boxes: Sequence[Bounds], where: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Regions for these boxes: those there are, moved, or new ones."""
        before = seat.places.get(key, _Place())
        regions = before.regions
        like = where == before.where and list(map(_names, boxes)) == list(map(_names, before.boxes))
        if not like:
            regions = tuple(self._new_region(seat, box) for box in boxes)
            before = _Place()
        if before.boxes != tuple(boxes):
            self._move(seat, regions, boxes)
        seat.places[key] = _Place(tuple(boxes), regions, where)

    def _boxes(self, bounds: Bounds) -> list[Bounds]:
        pieces = model_cells(self.model).pieces(_names(bounds))
        return [bounds[start:end] for start, end in pieces]

    def _new_region(self, seat: _Seat, box: Bounds) -> RegionHandle:
        names = frozenset(self._handle(seat, "dimension", name) for name, _, _ in box)
        made: RegionHandle = seat.call("create_region", names)
        return made

    def _move(self, seat: _Seat, regions: Sequence[RegionHandle], boxes: Sequence[Bounds]) -> None:
        if not regions:
            return
        for region, box in zip(regions, boxes, strict=True):
            for name, lower, upper in box:
                limit = self.spaces.model.dimensions[name].upper_bound
                within = RangeBounds(lower, min(upper, limit))
                seat.call("set_range_bounds", region, self._handle(seat, "dimension", name), within)
        seat.call("commit_region_modifications", frozenset(regions))

    def _subscribed_region(self, seat: _Seat, row: Row) -> RegionHandle:
        number = row["region"] or 0
        if number not in seat.regions:
            bounds = bounds_of(row) or self._bounds.get(number, ())
            seat.regions[number] = self._new_region(seat, bounds)
            self._move(seat, [seat.regions[number]], [bounds])
        return seat.regions[number]

    # --- names ----------------------------------------------------------------------------------------------------

    def _handle(self, seat: _Seat, kind: str, name: str) -> Handle:
        found: Handle = seat.call(f"get_{kind}_handle", name)
        return found

    def _attributes(self, seat: _Seat, cls: str, names: Iterable[str]) -> frozenset[AttributeHandle]:
        owner = self._handle(seat, "object_class", cls)
        return frozenset(seat.call("get_attribute_handle", owner, name) for name in names)

    # --- counting -------------------------------------------------------------------------------------------------

    def _leave(self, federate: int) -> None:
        self.network.settle()
        seat = self._seats.pop(federate)
        federation = self.network.node(seat.node).federations[FEDERATION]
        federation.count_up()
        for counts in federation.members[seat.handle].traffic.channels.values():
            for name in ("sent", "copies", "received", "wanted"):
                mine = getattr(self.counts, name)
                mine[federate] = mine.get(federate, 0) + getattr(counts, name)
        seat.call("resign_federation_execution", LEAVE)
        self.network.settle()


def _names(bounds: Bounds) -> list[str]:
    return [name for name, _, _ in bounds]


def _all_attributes(spaces: Spaces, cls: str) -> list[str]:
    return [
        attribute.name for owner in spaces.model.object_lineage(cls) for attribute in owner.attributes
        if attribute.name not in ("HLAprivilegeToDeleteObject", "HLAprivilegeToDelete")
    ]  # fmt: skip


# --- under other settings ---------------------------------------------------------------------------------------------


def replay_strategy(
    rows: Iterable[Row],
    model: Model,
    nodes: Sequence[str],
    home: str,
    rid: Source | None,
    say: Callable[[str], None],
) -> TrafficCounts:
    """What the nodes count under a RID file."""
    home_first = list(dict.fromkeys([home, *nodes]))
    network = SimulatedNetwork(home_first, 1, None, rid)
    return Replay(model, network, home).run(rows, say)


def replay_domains(
    rows: Iterable[Row], model: Model, topology: Topology, home: str, say: Callable[[str], None]
) -> int:
    """Σ s² over all hops of messages, as they crossed the links of these domains."""
    network = _Watched(topology)
    Replay(model, network, home).run(rows, say)
    return network.cost


class _Watched(FabricNetwork):
    """Adds up what messages, not commands, cost on their way."""

    def __init__(self, topology: Topology) -> None:
        self.cost = 0
        self._sizes = {
            frozenset((one, other)): len(members) ** 2
            for members in topology.domains.values()
            for one in members
            for other in members
            if one != other
        }
        super().__init__(topology, 1)

    def forward(self, at: str, origin: str, to: str, port: Any, kind: Any, payload: bytes) -> bool:
        route = self._routes.get((at, to))
        if route:
            self.cost += self._sizes[frozenset((at, route[0]))]
        return super().forward(at, origin, to, port, kind, payload)
