"""Weft's own orders through the ambassador: chosen by the object model, by services and by a single call
(docs/explanation/ordering.md)."""

from __future__ import annotations

from typing import Any

import pytest

from support.federation import Federation, federation, refused
from support.mom_federation import Mom
from support.placement import Placement
from support.refusals import TANK, tank
from support.small_fom import PRIVILEGE, extra_module
from weft import OrderType
from weft.kernel.state.overrides import attribute_order, interaction_order
from weft.model.errors import InvalidOrderType
from weft.model.time import HLAfloat64Time

OWN = {"HLAcausal": OrderType.CAUSAL, "HLAtotal": OrderType.TOTAL, "HLApriority": OrderType.PRIORITY}
HEAR, REFLECT, REMOVE = "receive_interaction", "reflect_attribute_values", "remove_object_instance"


def by_order(order: str) -> Any:
    """A module with an interaction class and an object class in that order."""
    return extra_module(
        f"""<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Thing</name>
        <sharing>PublishSubscribe</sharing><attribute><name>State</name><dataType>HLAopaqueData</dataType>
        <updateType>Conditional</updateType><ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing>
        <transportation>HLAreliable</transportation><order>{order}</order></attribute></objectClass></objectClass></objects>
        <interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Word</name>
        <sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>{order}</order>
        </interactionClass></interactionClass></interactions>"""
    )


def words(f: Federation, *federates: int) -> Any:
    """All of them send and hear the class Event."""
    event = f.interaction("Event")
    for i in federates:
        f.rti[i].publish_interaction_class(event)
        f.rti[i].subscribe_interaction_class(event)
    f.quiet()
    return event


def test_orders_have_names(placement: Placement) -> None:
    """S0-1: five orders, by name and back."""
    with federation(1, placement=placement) as f:
        for name, order in OWN.items():
            assert f.rti[0].get_order_type(name) is order
            assert f.rti[0].get_order_name(order) == name


@pytest.mark.parametrize("order", OWN.values())
def test_a_call_may_name_its_order(order: OrderType, placement: Placement) -> None:
    """S0-1: for this message alone; it arrives as any other, and with a time it says RECEIVE, as clients know two orders."""
    with federation(3, placement=placement) as f:
        event = words(f, 0, 1, 2)
        instance = tank(f)
        f.quiet()
        position = {f.attribute(TANK, "Position"): b"here"}
        time = HLAfloat64Time(2.0)
        assert f.rti[0].send_interaction(event, {}, b"1", order=order) is None
        assert f.rti[0].update_attribute_values(instance, position, b"2", order=order) is None
        assert f.rti[0].send_interaction(event, {}, b"3", time, order=order) is not None
        f.rti[0].delete_object_instance(instance, b"4", order=order)
        heard = f.take(1)
        # Priority order sorts messages; what is in another order keeps its own.
        assert [method for method, _ in heard] == [HEAR, REFLECT, HEAR, REMOVE]
        assert heard[2][1][-4:] == (time, OrderType.RECEIVE, OrderType.RECEIVE, None)
        assert heard[1][1][1] == position
        assert f.heard(2) == [HEAR, HEAR]
        assert f.heard(0) == []


def test_a_call_with_no_order_is_refused(placement: Placement) -> None:
    with federation(2, placement=placement) as f:
        event = words(f, 0, 1)
        with refused(InvalidOrderType):
            f.rti[0].send_interaction(event, {}, b"", order="soon")  # type: ignore[arg-type]
        assert f.heard(1) == []


@pytest.mark.parametrize("order", ["Causal", "HLAtotal", "priority(3)"])
def test_the_object_model_names_orders(order: str, placement: Placement) -> None:
    """S0-1: for each class and attribute; the catalog knows how urgent priority is."""
    with federation(2, joined=1, placement=placement) as f:
        f.rti[1].join_federation_execution("late", "test", "range", [by_order(order)])
        f.present.add(1)
        catalog = f.state().catalog
        entry = catalog.interaction_class_names["HLAinteractionRoot.Word"]
        thing = catalog.object_class_names["HLAobjectRoot.Thing"]
        state = thing.attributes[thing.names["State"]]
        meant = OWN["HLA" + order.lower().removeprefix("hla").removesuffix("(3)")]
        assert (entry.order, state.order) == (meant, meant)
        assert (entry.priority, state.priority) == ((3, 3) if meant is OrderType.PRIORITY else (0, 0))
        assert f.state().ordered


def test_services_change_orders(placement: Placement) -> None:
    """Clauses 8.24 to 8.26, with Weft's own orders."""
    with federation(2, placement=placement) as f:
        event = words(f, 0, 1)
        f.rti[0].change_interaction_order_type(event, OrderType.CAUSAL)
        f.rti[0].change_default_attribute_order_type(
            f.object_class(TANK), f.attributes(TANK, "Position"), OrderType.TOTAL
        )
        f.subscribe(1, TANK, "Position", "Ammo", "Name")
        instance = tank(f)
        f.rti[0].change_attribute_order_type(
            instance, f.attributes(TANK, "Ammo", PRIVILEGE), OrderType.CAUSAL
        )
        f.quiet()
        state = f.state()
        found = state.instances[instance]
        member = state.members[f.handle(0)]
        assert interaction_order(member, state.catalog.interaction_classes[event]) is OrderType.CAUSAL
        assert attribute_order(found, f.attribute(TANK, "Position")) is OrderType.TOTAL
        assert attribute_order(found, f.attribute(TANK, "Ammo")) is OrderType.CAUSAL
        f.rti[0].send_interaction(event, {}, b"1")
        f.update(0, instance, TANK, "Position", "Ammo", "Name")
        f.rti[0].delete_object_instance(instance, b"")
        heard = f.take(1)
        assert [method for method, _ in heard] == [HEAR, REFLECT, REFLECT, REFLECT, REMOVE]
        sent = {handle for method, args in heard if method == REFLECT for handle in args[1]}
        assert sent == f.attributes(TANK, "Position", "Ammo", "Name")


def test_the_mom_changes_orders(placement: Placement) -> None:
    """The standard's HLAorderType has two enumerators: Weft's own orders go by their numbers."""
    with federation(2, placement=placement) as f:
        mom = Mom(f)
        event = words(f, 0, 1)
        mom.send(
            "HLAservice.HLAchangeInteractionOrderType",
            1,
            HLAinteractionClass=event,
            HLAsendOrder=OrderType.CAUSAL.value,
        )
        member = f.state().members[f.handle(1)]
        assert member.interaction_orders == {event: OrderType.CAUSAL}


@pytest.mark.bare(reason="the middleware puts all messages in causal order")
def test_urgent_messages_come_first(placement: Placement) -> None:
    """S0-1: of what waits for a federate, the most urgent; other callbacks keep their place."""
    with federation(2, joined=1, placement=placement) as f:
        urgent = extra_module(
            "<interactions><interactionClass><name>HLAinteractionRoot</name>"
            + "".join(
                f"<interactionClass><name>P{n}</name><sharing>PublishSubscribe</sharing>"
                f"<transportation>HLAreliable</transportation><order>Priority({n})</order></interactionClass>"
                for n in (1, 5)
            )
            + "</interactionClass></interactions>"
        )
        f.rti[1].join_federation_execution("late", "test", "range", [urgent])
        f.present.add(1)
        names = ("P1", "P5", "Event")
        classes = {name: f.interaction(name) for name in names}
        for handle in classes.values():
            f.rti[0].publish_interaction_class(handle)
            f.rti[1].subscribe_interaction_class(handle)
        f.rti[1].subscribe_object_class_attributes(f.object_class(TANK), f.attributes(TANK, "Name"))
        f.rti[0].publish_object_class_attributes(f.object_class(TANK), f.attributes(TANK, "Name"))
        f.quiet()
        for name, tag in (("Event", b"a"), ("P5", b"b"), ("P1", b"c"), ("P5", b"d"), ("P1", b"e")):
            f.rti[0].send_interaction(classes[name], {}, tag)
        instance = f.register(0, TANK)
        f.rti[0].send_interaction(classes["P1"], {}, b"f")
        f.update(0, instance, TANK, "Name")
        heard = f.take(1)
        tags = [args[2] if method == HEAR else method for method, args in heard]
        assert tags == [b"c", b"e", b"f", b"b", b"d", b"a", "discover_object_instance", REFLECT]
