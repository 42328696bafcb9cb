"""Many regions: what the index finds is what comparing with each would find (issue 6: Exact)."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from support.strategy_federates import FED, WHOLE, Place
from weft.host.simulated.simulated import SimulatedNetwork
from weft.interest import Extent
from weft.kernel.state.region_index import MANY, RegionIndex
from weft.model.handles import RegionHandle

UNIT = WHOLE // 40


def some_box(random: Random, names: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    made = {}
    for name in names:
        lower = random.randrange(36)
        made[name] = (lower * UNIT, (lower + random.randint(1, 4)) * UNIT)
    return made


def overlap(one: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]]) -> bool:
    common = one.keys() & other.keys()
    return bool(common) and all(one[n][0] < other[n][1] and other[n][0] < one[n][1] for n in common)


def test_many_subscribed_regions_that_move() -> None:
    """Some have one dimension, most have both; they move, and some are given up again."""
    random = Random(5)
    network = SimulatedNetwork(["S1", "S2"], 1)
    sender, hearer = Place(network, "S1"), Place(network, "S2")
    sender.create("paper", FED)
    for place in (sender, hearer):
        place.begin_all()
    hearer.call("subscribe_interaction_class", hearer.interaction("Shot"))
    both, one = ("2D.x", "2D.y"), ("2D.y",)
    boxes = [some_box(random, both if random.random() < 0.9 else one) for _ in range(10 * MANY)]
    regions = hearer.regions(boxes)
    hearer.subscribe_at("B.x", regions)
    hearer.call("subscribe_interaction_class_with_regions", hearer.interaction("Flare"), frozenset(regions))
    (moving,) = sender.regions([some_box(random, both)])
    sender.register_at("object", "B.x", [moving])
    subscribed = dict(zip(regions, boxes, strict=True))
    heard = 0
    for number in range(150):
        if random.random() < 0.3 and subscribed:
            region = random.choice(list(subscribed))
            subscribed[region] = some_box(random, tuple(subscribed[region]))
            hearer.move(region, subscribed[region])
        if random.random() < 0.1 and subscribed:
            region = random.choice(list(subscribed))
            del subscribed[region]
            object_class, attribute = hearer.names["B.x"]
            pairs = [(frozenset((attribute,)), frozenset((region,)))]
            hearer.call("unsubscribe_object_class_attributes_with_regions", object_class, pairs)
            hearer.call(
                "unsubscribe_interaction_class_with_regions",
                hearer.interaction("Flare"),
                frozenset((region,)),
            )
        box = some_box(random, both)
        sender.move(moving, box)
        network.settle()
        hearer.heard()
        sender.tell("object", "B.x", tag=b"%d" % number)
        sender.call(
            "send_interaction_with_regions",
            sender.interaction("Flare"),
            {},
            frozenset((moving,)),
            b"%d" % number,
        )
        network.settle()
        methods = [method for method, _ in hearer.heard("reflect_attribute_values", "receive_interaction")]
        wanted = any(overlap(box, there) for there in subscribed.values())
        assert sorted(methods) == (["receive_interaction", "reflect_attribute_values"] if wanted else [])
        heard += wanted
    assert 30 < heard < 150


BOUNDS = st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))
EXTENTS = st.dictionaries(st.integers(1, 6), BOUNDS, max_size=3).map(Extent)


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | EXTENTS), max_size=40), EXTENTS)
def test_whatever_overlaps_is_found(changes: list[tuple[int, Extent | None]], sought: Extent) -> None:
    """Regions of any dimensions, placed, moved and removed; others may be found as well, but only such as are there."""
    index = RegionIndex()
    there: dict[RegionHandle, Extent] = {}
    for number, extent in changes:
        handle = RegionHandle.of(number + 1)
        if extent is None:
            index.remove(handle)
            there.pop(handle, None)
        else:
            index.place(handle, extent)
            there[handle] = extent
        found = index.near(sought)
        assert {one for one, extent in there.items() if extent.overlaps(sought)} <= found <= there.keys()


def test_a_subscribed_region_that_moves_over_many_instances() -> None:
    """Instances are discovered, come into scope and leave it, exactly where the regions say so."""
    random = Random(9)
    network = SimulatedNetwork(["S1", "S2"], 1)
    sender, hearer = Place(network, "S1"), Place(network, "S2")
    sender.create("paper", FED)
    for place in (sender, hearer):
        place.begin_all()
    hearer.call("set_switch", "attribute_scope", True)
    both = ("2D.x", "2D.y")
    boxes = [some_box(random, both) for _ in range(6 * MANY)]
    regions = sender.regions(boxes)
    for number, region in enumerate(regions):
        sender.register_at(str(number), "B.x", [region])
    sender.register_at("everywhere", "B.x", [])
    numbers = {instance: label for label, instance in sender.objects.items()}
    seen = some_box(random, both)
    (window,) = hearer.regions([seen])
    hearer.subscribe_at("B.x", [window])
    network.settle()
    known: set[str] = set()
    scope: set[str] = set()
    for turn in range(80):
        if turn:
            seen = some_box(random, random.choice((both, both, ("2D.x",))) if turn % 7 == 0 else both)
            seen = {name: seen.get(name, (0, WHOLE)) for name in both}
            hearer.move(window, seen)
            moved = random.randrange(len(regions))
            boxes[moved] = some_box(random, both)
            sender.move(regions[moved], boxes[moved])
            network.settle()
        there = {str(number) for number, box in enumerate(boxes) if overlap(box, seen)} | {"everywhere"}
        for method, arguments in hearer.heard():
            label = numbers[arguments[0]]
            if method == "discover_object_instance":
                assert label not in known
                known.add(label)
            elif method == "attributes_in_scope":
                scope.add(label)
            elif method == "attributes_out_of_scope":
                scope.remove(label)
        assert scope == there
        assert there <= known
    assert 20 < len(known) < len(boxes) + 1
