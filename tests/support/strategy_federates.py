"""Federates of the object model of paper 002, one at each node, with regions by name; and what the network should carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from support.simulated_federates import Seat
from weft import Source
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.model.handles import AttributeHandle, DimensionHandle, ObjectClassHandle, RegionHandle
from weft.model.records import RangeBounds

FED = Source(
    "paper.fed",
    b"""
(FED
  (Federation paper)
  (FEDversion v1.3)
  (spaces
    (space 1D (dimension x))
    (space 2D (dimension x) (dimension y))
    (space 3D (dimension x) (dimension y) (dimension z)))
  (objects
    (class ObjectRoot
      (attribute privilegeToDelete reliable timestamp)
      (class A (attribute x reliable receive 1D))
      (class B (attribute x reliable receive 2D) (attribute y reliable receive 2D))
      (class C (attribute x best_effort receive 3D) (attribute y reliable receive))))
  (interactions
    (class InteractionRoot reliable timestamp
      (class Flare best_effort receive 2D (parameter how))
      (class Shot reliable receive 1D (parameter how)))))
""",
)
SPAN = 1 << 32  # what a grid divides
WHOLE = SPAN - 1  # the upper bound of a dimension, since bounds are of 32 bits
ATTRIBUTES = ("A.x", "B.x", "B.y", "C.x", "C.y")
SPACES = {"A.x": "1D", "B.x": "2D", "B.y": "2D", "C.x": "3D", "C.y": "", "Flare": "2D", "Shot": "1D"}
DIMENSIONS = {"1D": ("1D.x",), "2D": ("2D.x", "2D.y"), "3D": ("3D.x", "3D.y", "3D.z"), "": ()}

Box = Mapping[str, tuple[int, int]]
"""Half-open bounds for each dimension."""


def closed(**bounds: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """As the paper writes them: "x" is the space's own, the upper bound is included."""
    space = f"{len(bounds)}D"
    return {f"{space}.{name}": (lower, min(upper + 1, WHOLE)) for name, (lower, upper) in bounds.items()}


REGIONS: dict[str, list[dict[str, tuple[int, int]]]] = {
    "R1D-1": [closed(x=(0xF, 0xFF))],
    "R1D-2": [closed(x=(0x80001111, 0xFFFFF000))],
    "R1D-3": [closed(x=(0xF, 0x8FFFF000))],
    "R2D-1": [closed(x=(0, 0x10), y=(0, 0x10))],
    "R2D-2": [closed(x=(0x10, 0x8FFF0000), y=(0x8FFF0000, 0xFFFF0000))],
    "R2D-3": [
        closed(x=(0, 0x10), y=(0, 0x10)),
        closed(x=(0x8FFF0000, 0xFFFF0000), y=(0x8FFF0000, 0xFFFF0000)),
    ],
    "R2D-4": [closed(x=(0, 0xFFFFFFFF), y=(0, 0xFFFFFFFF))],
    "R2D-5": [closed(x=(0, 9), y=(0x8FFFF000, 0xFFFF0000))],
}
"""Of the paper, with the hexadecimal numbers repaired to eight digits (S2-12).  Each has one extent or two."""


def rid(strategy: str, partitions: int = 2, **options: object) -> Source:
    extra = " ".join(f"({name} {value})" for name, value in options.items())
    text = f"(RTI (DataDistribution (StrategyToUse {strategy}) (NumPartitionsPerDimension {partitions}) {extra}))"
    return Source("test.rid", text.encode())


class Place(Seat):
    """A federate at a node of its own."""

    def __init__(self, network: SimulatedNetwork, node: str) -> None:
        super().__init__(network.at(node), f"federate at {node}")
        self.node = node
        self.network = network
        self.objects: dict[str, Any] = {}

    def begin_all(self) -> None:
        self.join("paper")
        self.names = {
            f"{cls}.{name}": (self.object_class(cls), self.attribute(cls, name))
            for cls, name in (one.split(".") for one in ATTRIBUTES)
        }
        for cls in "ABC":
            attributes = [attribute for one, (_, attribute) in self.names.items() if one[0] == cls]
            self.call("publish_object_class_attributes", self.object_class(cls), frozenset(attributes))
        for name in ("Flare", "Shot"):
            self.call("publish_interaction_class", self.interaction(name))

    def object_class(self, name: str) -> ObjectClassHandle:
        found: ObjectClassHandle = self.call("get_object_class_handle", name)
        return found

    def attribute(self, cls: str, name: str) -> AttributeHandle:
        found: AttributeHandle = self.call("get_attribute_handle", self.object_class(cls), name)
        return found

    def interaction(self, name: str) -> Any:
        return self.call("get_interaction_class_handle", name)

    def dimension(self, name: str) -> DimensionHandle:
        found: DimensionHandle = self.call("get_dimension_handle", name)
        return found

    # --- regions ------------------------------------------------------------------------------------------------

    def regions(self, boxes: Iterable[Box]) -> list[RegionHandle]:
        """One for each extent, committed."""
        made = []
        for box in boxes:
            region = self.call("create_region", frozenset(self.dimension(name) for name in box))
            self.move(region, box, commit=False)
            made.append(region)
        self.call("commit_region_modifications", frozenset(made))
        return made

    def move(self, region: RegionHandle, box: Box, commit: bool = True) -> None:
        for name, bounds in box.items():
            self.call("set_range_bounds", region, self.dimension(name), RangeBounds(*bounds))
        if commit:
            self.call("commit_region_modifications", frozenset((region,)))

    # --- what it does -------------------------------------------------------------------------------------------

    def subscribe_at(self, name: str, regions: Iterable[RegionHandle]) -> None:
        object_class, attribute = self.names[name]
        pairs = [(frozenset((attribute,)), frozenset(regions))]
        self.call("subscribe_object_class_attributes_with_regions", object_class, pairs)

    def subscribe_all(self, name: str) -> None:
        object_class, attribute = self.names[name]
        self.call("subscribe_object_class_attributes", object_class, frozenset((attribute,)))

    def register_at(self, label: str, name: str, regions: Iterable[RegionHandle]) -> None:
        object_class, attribute = self.names[name]
        pairs = [(frozenset((attribute,)), frozenset(regions))]
        self.objects[label] = self.call("register_object_instance_with_regions", object_class, pairs)

    def tell(self, label: str, *names: str, tag: bytes = b"") -> None:
        values = {self.names[name][1]: b"v" for name in names}
        self.call("update_attribute_values", self.objects[label], values, tag)

    def reflected(self) -> list[bytes]:
        return [arguments[2] for method, arguments in self.heard() if method == "reflect_attribute_values"]

    def traffic(self) -> dict[int, dict[str, int]]:
        federation = self.network.node(self.node).federations["paper"]
        federation.count_up()
        member = next(one for one in federation.members.values() if one.name == self.name)
        return {channel: counts.data() for channel, counts in member.traffic.channels.items()}

    def total(self, what: str) -> int:
        return sum(counts[what] for counts in self.traffic().values())


def places(
    strategy: Source | None, nodes: int = 3, seed: int = 1, profile: LinkProfile | None = None
) -> tuple[SimulatedNetwork, list[Place]]:
    network = SimulatedNetwork([f"S{n}" for n in range(1, nodes + 1)], seed, profile, strategy)
    return network, seated(network, nodes)


def seated(network: SimulatedNetwork, nodes: int) -> list[Place]:
    made = [Place(network, f"S{n}") for n in range(1, nodes + 1)]
    made[0].create("paper", FED)
    for place in made:
        place.begin_all()
    network.settle()
    return made
