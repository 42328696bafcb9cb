"""Routing spaces where the network is seen: through a server, and on which channels of data distribution (S2-1, S2-20)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, serving
from support.strategy_federates import FED, REGIONS, rid
from weft import CallbackModel, EmbeddedNode, RoutingRegion, RoutingSpaces, RTIambassador, RtiConfiguration
from weft.host import NodeHost
from weft.host.simulated.simulated import SimulatedNetwork

pytestmark = pytest.mark.over_nodes

MAX = 0xFFFFFFFF
Connect = Callable[[Recorder], RTIambassador]


def at(host: NodeHost) -> Connect:
    def connect(ears: Recorder) -> RTIambassador:
        rti = RTIambassador(host)
        rti.connect(ears, CallbackModel.EVOKED)
        return rti

    return connect


def joined(rti: RTIambassador, name: str, fom: Any = None) -> RoutingSpaces:
    rti.join_federation_execution(name, "test", "paper")
    for flare in ("Flare", "Shot"):
        rti.publish_interaction_class(rti.get_interaction_class_handle(flare))
    return RoutingSpaces(rti, fom)


def box(spaces: RoutingSpaces, space: str, *extents: dict[str, tuple[int, int]]) -> RoutingRegion:
    number = spaces.get_routing_space_handle(space)
    made = spaces.create_region(number, len(extents))
    for extent, ranges in enumerate(extents):
        for name, (lower, upper) in ranges.items():
            dimension = spaces.get_dimension_handle(name, number)
            made.set_range_lower_bound(extent, dimension, lower)
            made.set_range_upper_bound(extent, dimension, upper)
    spaces.notify_about_region_modification(made)
    return made


def play(connect: Connect, fom: Any) -> list[bytes]:
    """The tags of the interactions that a receiver near the upper end hears; the receiver has not read the file."""
    ears = Recorder()
    sender, receiver = connect(Recorder()), connect(ears)
    sender.create_federation_execution("paper", [FED])
    one, two = joined(sender, "sender", FED), joined(receiver, "receiver", fom)
    flare = sender.get_interaction_class_handle("Flare")
    here = box(two, "2D", {"x": (0, 9), "y": (0, 9)}, {"x": (MAX - 9, MAX), "y": (MAX, MAX)})
    two.subscribe_interaction_class_with_region(flare, here)
    for tag, ranges in {
        b"below": {"x": (9, 9), "y": (9, 30)},
        b"beside": {"x": (10, 20), "y": (0, 9)},
        b"corner": {"x": (MAX, MAX), "y": (MAX, MAX)},
        b"under": {"x": (MAX, MAX), "y": (0, MAX - 2)},
        b"all": {"x": (0, MAX), "y": (0, MAX)},
    }.items():
        one.send_interaction_with_region(flare, {}, box(one, "2D", ranges), tag)
    one.send_interaction_with_region(flare, {}, one.default_region(2), b"last")
    for _ in range(int(WAIT / 0.1)):
        if any(arguments[2] == b"last" for _, arguments in ears.calls):
            break
        receiver.evoke_callback(0.1)
    for rti in (receiver, sender):
        rti.leave()
    return [arguments[2] for arguments in ears.of("receive_interaction")]


@pytest.mark.parametrize("fom", [None, FED], ids=["asked", "given"])
def test_a_server_has_the_same_spaces(fom: Any) -> None:
    """S2-20 with bounds of 32 bits on the wire; the spaces are known by the names of dimensions if nobody gives the file."""
    expected = [b"below", b"corner", b"all", b"last"]
    assert play(at(EmbeddedNode()), fom) == expected
    with serving() as server:

        def far(ears: Recorder) -> RTIambassador:
            rti = RTIambassador()
            rti.connect(ears, CallbackModel.EVOKED, RtiConfiguration(rti_address=server.address("tcp")))
            return rti

        assert play(far, fom) == expected


def test_regions_of_a_federate_through_a_server() -> None:
    """`weft.join` with where=, and what is told of the regions of others."""
    with (
        serving() as server,
        weft.join("paper", "one", fom=FED, rti=server.address("tcp")) as one,
        weft.join("paper", "two", fom=FED, rti=server.address("tcp")) as two,
    ):
        heard: list[Any] = []
        two.rti.set_convey_region_designator_sets_switch(True)
        here = two.region("2D", x=(0, 10), y=(0, MAX))
        two.on_interaction("Flare", where=here)(lambda flare: heard.append((flare["how"], flare.regions)))
        area = one.region("2D", x=(9, 11))
        for at in (9, 10, 8):
            area.move(x=(at, at + 2))
            one.send("Flare", how=b"%d" % at, where=area)
        one.send("Flare", how=b"last")
        assert two.run_until(lambda: heard and heard[-1] == (b"last", None), WAIT)
        assert heard == [(b"9", ({"2D.x": (9, 11)},)), (b"8", ({"2D.x": (8, 10)},)), (b"last", None)]


def test_regions_are_sent_on_their_channels() -> None:
    """S2-1, S2-11, S2-12: the paper's regions by the services of HLA 1.3; what has no space goes on channel 0."""
    network = SimulatedNetwork(["S1", "S2"], rid=rid("StaticGridPartitioned", 2))
    sender, receiver = (at(network.at(node))(Recorder()) for node in ("S1", "S2"))
    sender.create_federation_execution("paper", [FED])
    one, two = joined(sender, "sender", FED), joined(receiver, "receiver", FED)
    c, b = (sender.get_object_class_handle(name) for name in "CB")
    everywhere, placed = sender.get_attribute_handle(c, "y"), sender.get_attribute_handle(b, "y")
    sender.publish_object_class_attributes(c, {everywhere})
    sender.publish_object_class_attributes(b, {placed})
    two.subscribe_object_class_attributes_with_region(c, two.default_region(), {everywhere})
    two.subscribe_object_class_attributes_with_region(b, two.default_region(2), {placed})
    plain = one.register_object_instance_with_region(c, {everywhere: one.default_region()})
    thing = sender.register_object_instance(b)
    network.settle()
    assert _channels(network, lambda: sender.update_attribute_values(plain, {everywhere: b""}, b"")) == {0}
    for name, channels in {"R2D-1": {3}, "R2D-2": {5, 6}, "R2D-3": {3, 6}, "R2D-4": {3, 4, 5, 6}}.items():
        extents = [{key[3:]: (low, up - 1) for key, (low, up) in one.items()} for one in REGIONS[name]]
        one.associate_region_for_updates(box(one, "2D", *extents), thing, {placed})
        network.settle()
        sent = _channels(network, lambda: sender.update_attribute_values(thing, {placed: b""}, b""))
        assert sent == channels, name


def _channels(network: SimulatedNetwork, act: Callable[[], object]) -> set[int]:
    """On which of them the first node sends."""
    before = _sent(network)
    act()
    network.settle()
    return {channel for channel, count in _sent(network).items() if count > before.get(channel, 0)}


def _sent(network: SimulatedNetwork) -> dict[int, int]:
    federation = network.node("S1").federations["paper"]
    federation.count_up()
    member = next(each for each in federation.members.values() if each.name == "sender")
    return {channel: counts.data()["sent"] for channel, counts in member.traffic.channels.items()}
