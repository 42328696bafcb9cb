"""Regions over the Federate Protocol: through a server as in the process, and what conveyed regions are as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, serving
from support.small_fom import DIMENSION, fom
from weft import CallbackModel, EmbeddedNode, RTIambassador, RtiConfiguration
from weft.model.errors import InvalidRegion, RegionNotCreatedByThisFederate
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    ObjectInstanceHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.records import RangeBounds
from weft.wire import ServiceCodec

TANK = "Vehicle.GroundVehicle.Tank"
SENT = ("reflect_attribute_values", "receive_interaction")


def play(connect: Callable[[Recorder], RTIambassador]) -> list[Any]:
    """A sender that moves and a receiver that wants what is near: what the receiver hears, with the regions it is told of."""
    ears = Recorder()
    sender, receiver = connect(Recorder()), connect(ears)
    sender.create_federation_execution("F", [fom("attributeScopeAdvisory")])
    for rti in (sender, receiver):
        rti.join_federation_execution("test", "F")
    lane = sender.get_dimension_handle(DIMENSION)
    tank, event = sender.get_object_class_handle(TANK), sender.get_interaction_class_handle("Event")
    name = sender.get_attribute_handle(tank, "Name")
    sender.publish_object_class_attributes(tank, {name})
    sender.publish_interaction_class(event)
    receiver.set_convey_region_designator_sets_switch(True)
    update, wanted = sender.create_region({lane}), receiver.create_region({lane})
    receiver.set_range_bounds(wanted, lane, RangeBounds(4, 8))
    receiver.commit_region_modifications({wanted})
    sender.commit_region_modifications({update})
    receiver.subscribe_object_class_attributes_with_regions(tank, [({name}, {wanted})], "High")
    receiver.subscribe_interaction_class_passively_with_regions(event, {wanted})
    thing = sender.register_object_instance_with_regions(tank, [({name}, {update})])
    for lower in (0, 3, 5, 8, 7):
        sender.set_range_bounds(update, lane, RangeBounds(lower, lower + 2))
        sender.commit_region_modifications({update})
        sender.update_attribute_values(thing, {name: b"%d" % lower}, b"")
        sender.send_interaction_with_regions(event, {}, {update}, b"%d" % lower)
    sender.send_interaction(event, {}, b"last")
    _until(receiver, lambda: any(a[2] == b"last" for a in ears.of("receive_interaction")))
    heard: list[Any] = []
    for method, arguments in ears.take():
        if method in SENT:
            regions = arguments[5]
            told = None if regions is None else [_told(receiver, one, lane) for one in regions]
            heard.append((method, arguments[1], arguments[2], told))
        else:
            heard.append((method, arguments[0]))
    for rti in (receiver, sender):
        rti.leave()
    return heard


def _until(rti: RTIambassador, condition: Callable[[], bool]) -> None:
    for _ in range(int(WAIT / 0.1)):
        if condition():
            return
        rti.evoke_callback(0.1)
    raise AssertionError("it has not come")


def _told(rti: RTIambassador, region: RegionHandle, lane: DimensionHandle) -> tuple[int, int]:
    """What may be asked of a conveyed region; it is not one's own."""
    assert rti.get_dimension_handle_set(region) == {lane}
    for service, arguments in (
        (rti.set_range_bounds, (region, lane, RangeBounds(0, 1))),
        (rti.commit_region_modifications, ({region},)),
        (rti.delete_region, (region,)),
    ):
        try:
            service(*arguments)
        except (RegionNotCreatedByThisFederate, InvalidRegion):
            continue
        raise AssertionError(f"{service} took a conveyed region")
    lower, upper = rti.get_range_bounds(region, lane)
    return lower, upper


def test_a_server_distributes_like_the_embedded_node() -> None:
    """Same callbacks, same values, same conveyed regions."""
    node = EmbeddedNode()

    def near(ambassador: Recorder) -> RTIambassador:
        rti = RTIambassador(node)
        rti.connect(ambassador, CallbackModel.EVOKED)
        return rti

    expected = play(near)
    told = [one[3] for one in expected if one[0] == "reflect_attribute_values"]
    assert told == [[(3, 5)], [(5, 7)], [(7, 9)]]
    with serving() as server:

        def far(ambassador: Recorder) -> RTIambassador:
            rti = RTIambassador()
            address = RtiConfiguration(rti_address=server.address("tcp"))
            rti.connect(ambassador, CallbackModel.EVOKED, address)
            return rti

        assert play(far) == expected


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def test_conveyed_regions_as_bytes() -> None:
    """A ConveyedRegionSet in field 6, of regions that are dimension handles with their bounds; absent where none are told."""
    dimension = DimensionHandle.of(3)
    region = frozenset([(dimension, RangeBounds(5, 300))])
    arguments = (
        ObjectInstanceHandle.of(1),
        {AttributeHandle.of(2): b"v"},
        b"tag",
        TransportationTypeHandle.of(1),
        FederateHandle.of(4),
    )
    codec = ServiceCodec()
    plain = codec.encode_callback("reflect_attribute_values", (*arguments, None))
    told = codec.encode_callback("reflect_attribute_values", (*arguments, frozenset([region])))
    bounds = b"\x08\x05\x10\xac\x02"  # lower 5, upper 300
    pair = _field(1, _field(1, dimension)) + _field(2, bounds)
    conveyed = _field(6, _field(1, _field(1, pair)))
    assert told.endswith(conveyed)
    assert len(told) == len(plain) + len(conveyed)
    assert codec.decode_callback(told) == ("reflect_attribute_values", (*arguments, frozenset([region])))
    empty = codec.encode_callback("reflect_attribute_values", (*arguments, frozenset()))
    assert empty.endswith(_field(6, b""))
