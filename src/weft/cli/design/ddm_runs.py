"""Runs a workload (`ddm_workload`) under a strategy, and counts what it cost: on a simulated network, or by processes.

Simulated nodes are real kernels without links between them, in this process: what is counted is exact, and news of regions is
told apart from messages.  Processes are nodes of a fabric on this machine, joined by TCP, and by datagrams for best effort:
what they say is also how long messages took, and what the links carried with all that belongs to it.
"""

from __future__ import annotations

import statistics
import struct
import time
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

import weft
from weft.cli.design.ddm_workload import AttributeAt, ExtentBounds, Workload, WorkloadPart
from weft.fabric import Topology
from weft.host.connection import NodeHost
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
)
from weft.model.records import Source

NAME: Final = "ddm-compare"
_SENT_AT: Final = struct.Struct(">d")
COUNTS: Final = ("sent", "copies", "received", "wanted", "filtered_receiver", "filtered_sender")


class Setting(NamedTuple):
    """What is compared: a strategy with its grid, or a RID file of somebody's own."""

    label: str
    rid: Source
    # That the strategy has, besides channel 0.
    channels: int = 0
    # 0: as the file says.
    grid: int = 0


class RunCost(NamedTuple):
    """What one run has cost, all nodes together."""

    label: str
    channels: int
    used: int  # channels that something was sent on
    updates: int
    sent: int  # puts on channels
    messages: int  # copies that left a node
    received: int
    wanted: int
    filtered_sender: int
    filtered_receiver: int
    bytes: int  # on all links and to all groups, with news of regions
    news_bytes: int | None  # of these, news of regions; None: not told apart
    datagrams: int  # to multicast groups
    cpu_us: float  # of all nodes, for each update
    latency_us: float | None  # the median of all callbacks
    latency_95_us: float | None
    seconds: float
    heard: dict[str, tuple[int, int]]  # by federate: received, and wanted


def setting(
    strategy: str, grid: int, channels: int = 0, best_effort: str = "", max_channels: int = 65535
) -> Setting:
    """A strategy with the same number of partitions in each dimension."""
    extra = f" (BestEffortChannelType {best_effort})" if best_effort else ""
    text = (
        f"(RTI (DataDistribution (StrategyToUse {strategy}) (NumPartitionsPerDimension {grid}) "
        f"(MaxNumberOfDataChannelsToUse {max_channels}){extra}))"
    )
    label = strategy if grid <= 1 else f"{strategy} {grid}"
    return Setting(label, Source("compare.rid", text.encode()), channels, grid)


class _Ears(weft.FederateAmbassador):
    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.announced: set[str] = set()
        self.synchronized: set[str] = set()

    def reflect_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: dict[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        *rest: object,
    ) -> None:
        self.latencies.append(time.perf_counter() - _SENT_AT.unpack(user_supplied_tag)[0])

    def announce_synchronization_point(
        self, synchronization_point_label: str, user_supplied_tag: bytes
    ) -> None:
        self.announced.add(synchronization_point_label)

    def federation_synchronized(
        self, synchronization_point_label: str, failed_to_sync_set: Set[FederateHandle]
    ) -> None:
        self.synchronized.add(synchronization_point_label)


class WorkloadFederate:
    """One federate, and what it does."""

    def __init__(self, part: WorkloadPart, host: NodeHost | None = None) -> None:
        self.part = part
        self.ears = _Ears()
        self.rti = weft.RTIambassador(host)
        self._wished: list[list[RegionHandle]] = []
        self._things: list[tuple[ObjectInstanceHandle, AttributeHandle, list[RegionHandle]]] = []
        self._squares: list[RegionHandle] = []

    def join(self, model: list[Source] | None) -> None:
        """`model`: it creates the federation."""
        if model is not None:
            self.rti.create_federation_execution(NAME, model)
        self.rti.join_federation_execution(self.part.federate, "compare", NAME)

    def set_up(self) -> None:
        rti = self.rti
        self._squares = [self._region(one) for one in self.part.squares]
        if self._squares:
            rti.commit_region_modifications(frozenset(self._squares))
        for wish in self.part.wishes:
            object_class, attribute, regions = self._made(wish)
            self._wished.append(regions)
            if regions:
                pairs = [(frozenset((attribute,)), frozenset(regions))]
                rti.subscribe_object_class_attributes_with_regions(object_class, pairs)
            else:
                rti.subscribe_object_class_attributes(object_class, frozenset((attribute,)))
        for thing in self.part.things:
            object_class, attribute, regions = self._made(thing)
            rti.publish_object_class_attributes(object_class, frozenset((attribute,)))
            if regions:
                pairs = [(frozenset((attribute,)), frozenset(regions))]
                instance = rti.register_object_instance_with_regions(object_class, pairs)
            else:
                instance = rti.register_object_instance(object_class)
            self._things.append((instance, attribute, regions))

    def _made(self, wish: AttributeAt) -> tuple[ObjectClassHandle, AttributeHandle, list[RegionHandle]]:
        object_class = self.rti.get_object_class_handle(wish.object_class)
        attribute = self.rti.get_attribute_handle(object_class, wish.attribute)
        regions = [self._region(one) for one in wish.extents]
        if regions:
            self.rti.commit_region_modifications(frozenset(regions))
        return object_class, attribute, regions

    def _region(self, extent: ExtentBounds) -> RegionHandle:
        dimensions = frozenset(self.rti.get_dimension_handle(name) for name in extent)
        region = self.rti.create_region(dimensions)
        self._place(region, extent)
        return region

    def _place(self, region: RegionHandle, extent: ExtentBounds) -> None:
        for name, (low, high) in extent.items():
            self.rti.set_range_bounds(
                region, self.rti.get_dimension_handle(name), weft.RangeBounds(low, high)
            )

    # --- its steps ----------------------------------------------------------------------------------------------

    def move(self, step: int) -> None:
        """All regions of its own at once, as HLA asks for."""
        if step >= len(self.part.turns):
            return
        turn = self.part.turns[step]
        moved: list[RegionHandle] = []
        for wish, extents in turn.looks:
            for region, extent in zip(self._wished[wish], extents, strict=True):
                self._place(region, extent)
                moved.append(region)
        for thing, extents in turn.moves:
            for region, extent in zip(self._things[thing][2], extents, strict=True):
                self._place(region, extent)
                moved.append(region)
        if moved:
            self.rti.commit_region_modifications(frozenset(moved))
        for thing, square in turn.enters:
            instance, attribute, old = self._things[thing]
            new = [self._squares[square]]
            self.rti.associate_regions_for_updates(instance, [(frozenset((attribute,)), frozenset(new))])
            self.rti.unassociate_regions_for_updates(instance, [(frozenset((attribute,)), frozenset(old))])
            self._things[thing] = (instance, attribute, new)

    def update(self, step: int) -> None:
        if step >= len(self.part.turns):
            return
        for thing in self.part.turns[step].updates:
            instance, attribute, _ = self._things[thing]
            tag = _SENT_AT.pack(time.perf_counter())
            self.rti.update_attribute_values(instance, {attribute: b"somewhere"}, tag)

    def meet(self, registers: bool) -> None:
        """Wait for all others: what anybody has declared or moved before is then known here."""
        point = "ready"
        if registers:
            self.rti.register_federation_synchronization_point(point, b"")
        while point not in self.ears.announced:
            self.rti.evoke_callback(1.0)
        self.rti.synchronization_point_achieved(point)
        while point not in self.ears.synchronized:
            self.rti.evoke_callback(1.0)

    def take(self) -> None:
        """All that has come."""
        while self.rti.evoke_callback(0.0):
            pass

    def leave(self) -> None:
        self.rti.resign_federation_execution(weft.ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        self.rti.disconnect()


# --- on a simulated network -----------------------------------------------------------------------------------------------


def play_simulated(workload: Workload, chosen: Setting) -> RunCost:
    """Without any delay, and step by step: when all have moved and everybody knows of it, all update."""
    nodes = tuple(f"S{number}" for number in range(1, len(workload.parts) + 1))
    topology = Topology(nodes, {"D": nodes} if len(nodes) > 1 else {})
    network = FabricNetwork(topology, 1, FabricProfile(), rid=chosen.rid)
    players = [
        WorkloadFederate(part, network.at(node)) for part, node in zip(workload.parts, nodes, strict=True)
    ]
    for number, player in enumerate(players):
        player.rti.connect(player.ears, weft.CallbackModel.EVOKED)
        player.join(workload.model if number == 0 else None)
    for player in players:
        player.set_up()
    network.settle()
    for player in players:
        player.take()
    before = _counted(network, nodes)
    network.watched, network.casts = True, 0
    total = {"news": 0, "data": 0}
    begun, worked = time.perf_counter(), time.process_time()
    for step in range(max((len(part.turns) for part in workload.parts), default=0)):
        for act, what in ((WorkloadFederate.move, "news"), (WorkloadFederate.update, "data")):
            for player in players:
                act(player, step)
            network.settle()
            total[what] += sum(len(data) for _, _, data in network.crossed)
            network.crossed.clear()
        for player in players:
            player.take()
    cpu, seconds = time.process_time() - worked, time.perf_counter() - begun
    counts = {key: value - before.get(key, 0) for key, value in _counted(network, nodes).items()}
    for player in players:
        player.leave()
    return played(
        chosen,
        workload,
        counts,
        total["news"] + total["data"],
        total["news"],
        network.casts,
        cpu,
        [],
        seconds,
    )


def _counted(network: FabricNetwork, nodes: tuple[str, ...]) -> dict[str, int]:
    """In all, and under the name of each federate what it received and wanted."""
    found: dict[str, int] = {}
    for node in nodes:
        federation = network.node(node).federations[NAME]
        federation.count_up()
        for member in federation.members.values():
            if member.node == node:
                add_traffic(found, member.name, member.traffic.data())
    return found


def add_traffic(found: dict[str, int], federate: str, traffic: Mapping[str, Mapping[str, int]]) -> None:
    """Adds up a federate's channels; beside the counts, what was sent on each, and what the federate heard."""
    for channel, counts in traffic.items():
        for name in COUNTS:
            found[name] = found.get(name, 0) + counts[name]
        for key, name in (
            (f"on {channel}", "sent"),
            (f"to {federate}", "received"),
            (f"for {federate}", "wanted"),
        ):
            found[key] = found.get(key, 0) + counts[name]


def played(
    chosen: Setting,
    workload: Workload,
    counts: Mapping[str, int],
    all_bytes: int,
    news: int | None,
    datagrams: int,
    cpu: float,
    latencies: list[float],
    seconds: float,
) -> RunCost:
    late = sorted(latencies)
    return RunCost(
        label=chosen.label,
        channels=chosen.channels,
        used=sum(1 for key, value in counts.items() if key.startswith("on ") and value),
        updates=workload.updates,
        sent=counts.get("sent", 0),
        messages=counts.get("copies", 0),
        received=counts.get("received", 0),
        wanted=counts.get("wanted", 0),
        filtered_sender=counts.get("filtered_sender", 0),
        filtered_receiver=counts.get("filtered_receiver", 0),
        bytes=all_bytes,
        news_bytes=news,
        datagrams=datagrams,
        cpu_us=cpu / max(1, workload.updates) * 1e6,
        latency_us=statistics.median(late) * 1e6 if late else None,
        latency_95_us=late[int(len(late) * 0.95)] * 1e6 if late else None,
        seconds=seconds,
        heard={
            part.federate: (counts.get(f"to {part.federate}", 0), counts.get(f"for {part.federate}", 0))
            for part in workload.parts
        },
    )
