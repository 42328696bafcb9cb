"""Hearing: what `on_…` handlers are given, class promotion, and the mirror of remote objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import weft
from support.small_fom import extra_module, fom
from weft import EmbeddedNode, Federate, Interaction, RemoteObject
from weft.cli.data import object_model
from weft.host import NodeHost
from weft.host.simulated.simulated import LinkProfile, SimulatedConnection, SimulatedNetwork
from weft.model.errors import NotConnected, ObjectInstanceNotKnown

RANGE = object_model("range.xml")
BOAT = extra_module(
    "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Boat</name><sharing>PublishSubscribe</sharing>"
    "<attribute><name>Draught</name><dataType>HLAASCIIstring</dataType><sharing>PublishSubscribe</sharing>"
    "<transportation>HLAreliable</transportation><order>Receive</order></attribute>"
    "</objectClass></objectClass></objects>"
)


@contextmanager
def pair(model: weft.Source = RANGE, *hosts: NodeHost) -> Iterator[tuple[Federate, Federate]]:
    """Who sends and who hears."""
    first, second = hosts or [EmbeddedNode()] * 2
    with (
        weft.join("Range", "sender", fom=model, host=first) as sender,
        weft.join("Range", "hearer", fom=model, host=second) as hearer,
    ):
        yield sender, hearer


def far_apart() -> list[NodeHost]:
    network = SimulatedNetwork(
        ["S1", "S2", "S3"], seed=2, profile=LinkProfile(delay=0.02, jitter=0.05, loss=0.1)
    )
    return [network.at("S2"), network.at("S3")]


def arrive(federate: Federate) -> None:
    """Let the federate handle all that was sent to it."""
    if isinstance(federate.rti.connection, SimulatedConnection):
        federate.run(1.0)
    while federate.poll():
        pass


@pytest.fixture(params=["one node", "two nodes"])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Federate, Federate]]:
    hosts = far_apart() if request.param == "two nodes" else []
    with pair(RANGE, *hosts) as made:
        yield made


def test_an_interaction_arrives_with_its_values(both: tuple[Federate, Federate]) -> None:
    """`on_interaction` subscribes; `send` publishes; values are Python values on both sides."""
    sender, hearer = both
    heard: list[Interaction] = []
    assert hearer.on_interaction("Hit")(heard.append) == heard.append
    arrive(hearer)
    sender.send("Hit", tag=b"tag", Target="Rhino", Round=3, Result="Damaged")
    arrive(hearer)
    assert heard == [
        Interaction("Hit", "sender", {"Target": "Rhino", "Round": 3, "Result": "Damaged"}, b"tag", None)
    ]
    assert heard[0]["Round"] == heard[0].get("Round") == 3
    assert heard[0].get("Nothing", 5) == 5
    with pytest.raises(KeyError):
        heard[0]["Nothing"]


def test_an_object_is_mirrored(both: tuple[Federate, Federate]) -> None:
    """Discovery, updates and removal are told, and `objects` holds what is known."""
    sender, hearer = both
    told: list[tuple[Any, ...]] = []

    @hearer.on_discovery("Aircraft")
    def found(plane: RemoteObject) -> None:
        told.append(("found", plane.name, plane.kind, plane.owner))

    @hearer.on_update("Aircraft")
    def moved(plane: RemoteObject, changes: dict[str, Any]) -> None:
        told.append(("moved", plane.name, changes))

    @hearer.on_removal("Aircraft")
    def gone(plane: RemoteObject) -> None:
        told.append(("gone", plane.name))

    arrive(hearer)
    falcon = sender.register("Aircraft", "Falcon")
    assert falcon.name == "Falcon"
    assert "Falcon" in repr(falcon)
    falcon.update(Heading=90.0)
    falcon.update(Position={"X": 1.0, "Y": 2.0, "Z": 3.0}, State="Damaged")
    arrive(hearer)
    (mirror,) = hearer.objects.values()
    assert mirror.handle == falcon.handle
    assert mirror.values == {"Heading": 90.0, "Position": {"X": 1.0, "Y": 2.0, "Z": 3.0}, "State": "Damaged"}
    assert mirror["Heading"] == mirror.get("Heading") == 90.0
    assert mirror.get("Nothing") is None
    falcon.delete()
    arrive(hearer)
    assert not hearer.objects
    assert told == [
        ("found", "Falcon", "Aircraft", "sender"),
        ("moved", "Falcon", {"Heading": 90.0}),
        ("moved", "Falcon", {"Position": {"X": 1.0, "Y": 2.0, "Z": 3.0}, "State": "Damaged"}),
        ("gone", "Falcon"),
    ]
    with pytest.raises(ObjectInstanceNotKnown):
        falcon.update(Heading=1.0)


def test_who_wants_vehicles_hears_of_tanks(both: tuple[Federate, Federate]) -> None:
    """Class promotion, clause 5.1: a Tank is discovered as the Vehicle that was subscribed to, with its attributes only."""
    sender, hearer = both
    seen: list[tuple[str, dict[str, Any]]] = []
    hearer.on_update("Vehicle")(lambda vehicle, changes: seen.append((vehicle.kind, changes)))
    arrive(hearer)
    sender.register("Tank").update(State="Intact")
    sender.register("Aircraft").update(State="Damaged", Heading=1.0)
    arrive(hearer)
    assert seen == [("Vehicle", {"State": "Intact"}), ("Vehicle", {"State": "Damaged"})]


def test_handlers_of_a_class_hear_of_those_below_it() -> None:
    """Who has handlers for both is told of a Tank by both, the nearest class first; of the interaction likewise."""
    with pair(fom()) as (sender, hearer):
        seen: list[tuple[str, str]] = []
        hearer.on_update("Vehicle")(lambda thing, changes: seen.append(("Vehicle", thing.kind)))
        hearer.on_update("Tank")(lambda thing, changes: seen.append(("Tank", thing.kind)))
        hearer.on_interaction("Event")(lambda event: seen.append(("Event", event.name)))
        hearer.on_interaction("BigFire")(lambda event: seen.append(("BigFire", event.name)))
        sender.register("Tank").update(Name="a")
        sender.send("BigFire", When="now", Calibre="12")
        sender.send("Hit", When="now", Where="there")
        hearer.poll()
        assert seen == [
            ("Tank", "Tank"),
            ("Vehicle", "Tank"),
            ("BigFire", "BigFire"),
            ("Event", "BigFire"),
            ("Event", "Event"),
        ]


def test_several_handlers_hear_in_the_order_of_their_making() -> None:
    """Each is called; a decorator leaves its function as it is."""
    with pair() as (sender, hearer):
        seen: list[int] = []
        for number in (1, 2, 3):
            hearer.on_interaction("Fire")(lambda shot, number=number: seen.append(number))
        sender.send("Fire", Target="x", Round=1)
        hearer.poll()
        assert seen == [1, 2, 3]


def test_only_the_named_attributes_are_subscribed() -> None:
    """`on_update(name, attribute, …)` hears of these only; `on_discovery` after it asks for no more."""
    with pair() as (sender, hearer):
        seen: list[dict[str, Any]] = []
        hearer.on_update("Vehicle", "State")(lambda vehicle, changes: seen.append(changes))
        hearer.on_discovery("Vehicle")(lambda vehicle: None)
        sender.register("Tank").update(State="Intact", Position={"X": 0.0, "Y": 0.0, "Z": 0.0})
        hearer.poll()
        assert seen == [{"State": "Intact"}]


def test_objects_from_before_are_discovered_on_subscription() -> None:
    """A handler made late is told of what is there."""
    with pair() as (sender, hearer):
        sender.register("Tank", "Rhino")
        seen: list[str] = []
        hearer.on_discovery("Tank")(lambda tank: seen.append(tank.name))
        hearer.poll()
        assert seen == ["Rhino"]


def test_a_sender_that_has_left_is_named_as_such() -> None:
    """The name of a federate that resigned before its message was handled cannot be found; the message still is."""
    node = EmbeddedNode()
    with weft.join("Range", "hearer", fom=RANGE, host=node) as hearer:
        senders: list[str] = []
        hearer.on_interaction("Fire")(lambda shot: senders.append(shot.sender))
        with weft.join("Range", "sender", fom=RANGE, host=node) as sender:
            sender.send("Fire", Target="x", Round=1)
        hearer.poll()
        assert len(senders) == 1
        assert "has left" in senders[0]


def test_an_error_in_a_handler_comes_out_where_callbacks_run() -> None:
    """EVOKED: the exception is raised by `poll`; the next call goes on with the next callback."""
    with pair() as (sender, hearer):
        seen: list[int] = []

        @hearer.on_interaction("Fire")
        def fired(shot: Interaction) -> None:
            seen.append(shot["Round"])
            if shot["Round"] == 1:
                raise ValueError("round 1")

        for number in (1, 2):
            sender.send("Fire", Target="x", Round=number)
        with pytest.raises(ValueError, match="round 1"):
            hearer.poll()
        hearer.poll()
        assert seen == [1, 2]


def test_a_handler_may_call_the_rti() -> None:
    """A callback may send, register and update."""
    with pair() as (sender, hearer):
        answers: list[str] = []
        sender.on_interaction("Hit")(lambda hit: answers.append(hit["Result"]))

        @hearer.on_interaction("Fire")
        def fired(shot: Interaction) -> None:
            hearer.send("Hit", Target=shot["Target"], Round=shot["Round"], Result="Destroyed")
            hearer.register("Tank").update(State="Destroyed")

        sender.send("Fire", Target="x", Round=1)
        hearer.poll()
        sender.poll()
        assert answers == ["Destroyed"]


def test_what_only_others_can_decode_comes_as_bytes() -> None:
    """A class that another federate's module brought has no types here; who subscribes to it by the services gets bytes."""
    node = EmbeddedNode()
    with (
        weft.join("Range", "plain", fom=RANGE, host=node) as plain,
        weft.join("Range", "rich", fom=[RANGE, BOAT], host=node) as rich,
    ):
        cls = plain.rti.get_object_class_handle("Boat")
        plain.rti.subscribe_object_class_attributes(cls, {plain.rti.get_attribute_handle(cls, "Draught")})
        rich.register("Boat").update(Draught="deep")
        plain.poll()
        (boat,) = plain.objects.values()
        assert boat.kind == "Boat"
        assert isinstance(boat["Draught"], bytes)


def test_handlers_need_a_joined_federate() -> None:
    """Saying what one wants to hear is a call; before joining there is nobody to tell."""
    federate = weft.join("Range", "early", fom=RANGE, host=EmbeddedNode())
    with pytest.raises(NotConnected):
        federate.on_interaction("Fire")(print)
    with federate:
        federate.on_interaction("Fire")(print)


def test_a_rate_holds_updates_back_but_never_the_newest() -> None:
    """`on_update` with an update rate of the object model: two values of a hundred within an interval, first and last."""
    rates = extra_module(
        "<updateRates><updateRate><name>Often</name><rate>2</rate></updateRate></updateRates>"
    )
    network = SimulatedNetwork(["S1"])
    with (
        weft.join("Range", "sender", fom=[RANGE, rates], host=network.at("S1")) as sender,
        weft.join("Range", "hearer", fom=[RANGE, rates], host=network.at("S1")) as hearer,
    ):
        heard: list[Any] = []

        @hearer.on_update("Tank", "Position", rate="Often")
        def updated(tank: RemoteObject, values: dict[str, Any]) -> None:
            heard.append(values["Position"]["X"])

        tank = sender.register("Tank")
        for number in range(100):
            tank.update(Position={"X": float(number), "Y": 0.0, "Z": 0.0})
        hearer.run(0.4)
        assert heard == [0]
        hearer.run(0.2)
        assert heard == [0, 99]
