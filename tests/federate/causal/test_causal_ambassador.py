"""`CausalRTIambassador` in use (S0-7 … S0-14, S0-20, S0-23): above every kind of RTI, and beside all else a federate does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import weft
from support.federation import NAME, new_directory
from support.recording_ambassador import Recorder
from support.server_in_thread import eventually, serving
from support.small_fom import fom
from weft import (
    CAUSAL_MODULE,
    CallbackModel,
    CausalRTIambassador,
    EmbeddedNode,
    HLAfloat64Time,
    ResignAction,
    RTIambassador,
    Source,
)
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.model.errors import FederateOwnsAttributes, InconsistentFOM
from weft.ordering.group import GroupStamp
from weft.ordering.group_tags import split_tag, write_stamp

LEAVE = ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST
FEDERATE = "HLAmanager.HLAfederate"
FED = b"""(FED (Federation "old") (FEDversion v1.3)
  (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
    (class Tank (attribute lat reliable receive))))
  (interactions (class InteractionRoot best_effort receive
    (class Event reliable receive (parameter who)))))"""
MODEL_2010 = b"""<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
<modelIdentification><name>y</name><type>FOM</type><version>1</version><modificationDate>2020-01-01</modificationDate>
<securityClassification>unclassified</securityClassification><description>d</description>
<poc><pocType>Sponsor</pocType><pocName>n</pocName></poc></modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Event</name>
<sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>Receive</order>
</interactionClass></interactionClass></interactions></objectModel>"""


VARIANTS: dict[str, dict[str, Any]] = {
    "all": {},
    "all, text": {"text": True},
    "tables": {"destinations": "tables"},
    "tables, text": {"destinations": "tables", "text": True},
    "all, envelope": {"carrier": "envelope"},
    "tables, envelope": {"destinations": "tables", "carrier": "envelope"},
}
Made = Callable[..., CausalRTIambassador]


@pytest.fixture(params=VARIANTS)
def causal(request: pytest.FixtureRequest) -> Made:
    """One contract for all variants: makes ambassadors of one."""
    return partial(CausalRTIambassador, **VARIANTS[request.param])


class Trio:
    """Aircraft, tank and observer, on three nodes; the way from the aircraft to the observer is slow."""

    def __init__(self, make: Any) -> None:
        self.network = SimulatedNetwork(("S1", "S2", "S3"), 1, LinkProfile(delay=0.001))
        self.network.set_link("S1", "S3", LinkProfile(delay=1.0))
        self.rti = [make(self.network.at(node)) for node in ("S1", "S2", "S3")]
        self.log = [Recorder() for _ in self.rti]
        for number, (rti, log) in enumerate(zip(self.rti, self.log, strict=True)):
            rti.connect(log, CallbackModel.EVOKED)
            if number == 0:
                rti.create_federation_execution(NAME, [fom()])
            rti.join_federation_execution(f"federate {number}", "test", NAME)
            self.event = rti.get_interaction_class_handle("Event")
            rti.publish_interaction_class(self.event)
            rti.subscribe_interaction_class(self.event)
        self.rest()

    def rest(self) -> None:
        for _ in range(6):
            self.network.settle()
            for number in range(3):
                self.evoke(number)

    def evoke(self, number: int) -> None:
        while self.rti[number].evoke_callback(0.0):
            pass

    def seen(self) -> list[bytes]:
        """What the observer sees of a fire and the hit that it causes."""
        self.log[1].on["receive_interaction"] = lambda *_: self.rti[1].send_interaction(
            self.event, {}, b"hit"
        )
        self.rti[0].send_interaction(self.event, {}, b"fire")
        self.rti[1].evoke_callback(0.1)
        for _ in range(30):
            self.rti[2].evoke_callback(0.1)
        self.log[1].on.clear()
        return [arguments[2] for arguments in self.log[2].of("receive_interaction")]


def test_fire_comes_before_hit(causal: Made) -> None:
    """S0-20, S0-23: receive order shows the observer the hit first; the middleware never does."""
    assert Trio(RTIambassador).seen() == [b"hit", b"fire"]
    assert Trio(causal).seen() == [b"fire", b"hit"]


def test_what_it_costs_is_counted(causal: Made) -> None:
    trio = Trio(causal)
    trio.seen()
    fired, hit, watched = (rti.counts for rti in trio.rti)
    assert (fired.messages, hit.messages, watched.messages) == (1, 1, 0)
    assert fired.stamp_bytes <= hit.stamp_bytes < 50
    assert (watched.delivered, watched.waited, watched.held, watched.held_most) == (2, 1, 0, 1)
    assert watched.longest_wait > 0.5


def test_notes_are_kept_while_all_are_sure_to_get_the_messages(causal: Made) -> None:
    """A notice for every message would double the traffic; here one is enough for many."""
    trio = Trio(causal)
    trio.rti[0].send_interaction(trio.event, {}, b"first")
    trio.rest()
    before = trio.rti[0].counts.notices
    for _ in range(100):
        trio.rti[0].send_interaction(trio.event, {}, b"")
    assert trio.rti[0].counts.notices - before == 1
    trio.rti[2].unsubscribe_interaction_class(trio.event)
    trio.rest()
    assert trio.rti[0].counts.notices - before <= 4


def test_only_the_chosen_classes(causal: Made) -> None:
    trio = Trio(lambda host: causal(host, classes=["Event.Hit"]))
    assert trio.seen() == [b"hit", b"fire"]
    assert trio.rti[0].counts.messages == 0
    hit = trio.rti[0].get_interaction_class_handle("Event.Hit")
    trio.rti[0].publish_interaction_class(hit)
    trio.rti[0].send_interaction(hit, {}, b"")
    assert trio.rti[0].counts.messages == 1


def pair(causal: Made, model: Source | None = None) -> tuple[list[CausalRTIambassador], list[Recorder]]:
    node = EmbeddedNode(save_directory=new_directory())
    logs = [Recorder(), Recorder()]
    rtis = [causal(node) for _ in logs]
    for number, (rti, log) in enumerate(zip(rtis, logs, strict=True)):
        rti.connect(log, CallbackModel.EVOKED)
        if number == 0:
            rti.create_federation_execution(NAME, [model or fom()])
        rti.join_federation_execution(f"federate {number}", "test", NAME)
    return rtis, logs


def drain(*rtis: RTIambassador) -> None:
    for _ in range(3):
        for rti in rtis:
            while rti.evoke_callback(0.0):
                pass


@pytest.mark.parametrize("model", [Source("old.fed", FED), Source("y.xml", MODEL_2010), fom()])
def test_above_object_models_of_every_age(causal: Made, model: Source) -> None:
    """The middleware's module merges with models of HLA 1.3, 2010 and 2025."""
    rtis, logs = pair(causal, model)
    event = rtis[0].get_interaction_class_handle("Event")
    rtis[0].publish_interaction_class(event)
    rtis[1].subscribe_interaction_class(event)
    rtis[0].send_interaction(event, {}, b"x")
    drain(*rtis)
    assert [arguments[2] for arguments in logs[1].of("receive_interaction")] == [b"x"]


class Strict(RTIambassador):
    """Takes no modules from those who join."""

    def join_federation_execution(self, *positional: Any, **named: Any) -> Any:
        if len(positional) > 3 and positional[3]:
            raise InconsistentFOM("no additional modules here")
        return super().join_federation_execution(*positional, **named)


def test_above_an_rti_that_refuses_the_module(causal: Made) -> None:
    """Then it has to be there from the beginning, and the error says so; the federate is not left half joined."""
    node = EmbeddedNode()
    rti = causal(above=Strict(node))
    rti.connect(Recorder(), CallbackModel.EVOKED)
    rti.create_federation_execution("without", [fom()])
    rti.create_federation_execution("with", [fom(), CAUSAL_MODULE])
    with pytest.raises(InconsistentFOM, match=r"weft\.CAUSAL_MODULE"):
        rti.join_federation_execution("me", "test", "without")
    rti.join_federation_execution("me", "test", "with")
    rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.disconnect()


def test_time_stamped_messages_are_left_alone(causal: Made) -> None:
    """They have an order of their own; only a tag that looks like a stamp is wrapped, and comes back as it was."""
    rtis, logs = pair(causal)
    event = rtis[0].get_interaction_class_handle("Event")
    rtis[0].publish_interaction_class(event)
    rtis[1].subscribe_interaction_class(event)
    drain(*rtis)
    for tag in (b"plain", write_stamp(GroupStamp(b"abcdef", 3, ())), b"3&&*&616263646566&", b""):
        rtis[0].send_interaction(event, {}, tag, HLAfloat64Time(1.0))
        drain(*rtis)
        assert [arguments[2] for arguments in logs[1].of("receive_interaction")] == [tag]
        logs[1].take()
    assert rtis[0].counts.messages == 0


def test_a_federate_without_it_may_repeat_a_tag_it_has_seen(causal: Made) -> None:
    """A stamp that is not of its sender is no stamp, but a tag like any other."""
    rtis, logs = pair(causal)
    bare, heard = RTIambassador(rtis[0]._rti._host), Recorder()
    bare.connect(heard, CallbackModel.EVOKED)
    bare.join_federation_execution("bare", "test", NAME)
    event = bare.get_interaction_class_handle("Event")
    for rti in (*rtis, bare):
        rti.publish_interaction_class(event)
        rti.subscribe_interaction_class(event)
    rtis[0].send_interaction(event, {}, b"x")
    drain(*rtis, bare)
    ((_, _, seen, *_),) = heard.of("receive_interaction")
    assert split_tag(seen)[1] == b"x"
    bare.send_interaction(event, {}, seen)
    drain(*rtis)
    assert [arguments[2] for arguments in logs[1].of("receive_interaction")] == [b"x", seen]


def test_the_mom_is_the_federates_own(causal: Made) -> None:
    """The middleware watches HLAfederate; the federate sees it when it subscribes itself, and only what it subscribes to."""
    rtis, logs = pair(causal)
    drain(*rtis)
    assert logs[0].calls == []
    federate = rtis[0].get_object_class_handle(FEDERATE)
    name = rtis[0].get_attribute_handle(federate, "HLAfederateName")
    rtis[0].subscribe_object_class_attributes(federate, {name})
    rtis[0].request_attribute_value_update(federate, {name}, b"")
    drain(*rtis)
    assert logs[0].count("discover_object_instance") == 2
    assert all(set(arguments[1]) == {name} for arguments in logs[0].of("reflect_attribute_values"))
    logs[0].take()
    rtis[1].resign_federation_execution(LEAVE)
    drain(rtis[0])
    assert [call[0] for call in logs[0].take()] == ["remove_object_instance"]
    rtis[0].unsubscribe_object_class(federate)
    rtis[1].join_federation_execution("federate 1", "test", NAME)
    drain(*rtis)
    assert logs[0].take() == []


def test_a_federate_that_may_not_resign_stays_in_order(causal: Made) -> None:
    """It has said farewell before the RTI refused; it goes on under a new identity."""
    rtis, logs = pair(causal)
    building = rtis[0].get_object_class_handle("Building")
    height = rtis[0].get_attribute_handle(building, "Height")
    rtis[0].publish_object_class_attributes(building, {height})
    rtis[1].subscribe_object_class_attributes(building, {height})
    instance = rtis[0].register_object_instance(building)
    rtis[0].update_attribute_values(instance, {height: b"1"}, b"before")
    drain(*rtis)
    with pytest.raises(FederateOwnsAttributes):
        rtis[0].resign_federation_execution(ResignAction.NO_ACTION)
    rtis[0].update_attribute_values(instance, {height: b"2"}, b"after")
    drain(*rtis)
    assert [arguments[2] for arguments in logs[1].of("reflect_attribute_values")] == [b"before", b"after"]
    assert rtis[1].counts.held == 0


def test_what_is_held_comes_before_the_end(causal: Made) -> None:
    """Connection lost: nothing more will come, so the federate gets what there is."""
    trio = Trio(causal)
    trio.log[1].on["receive_interaction"] = lambda *_: trio.rti[1].send_interaction(trio.event, {}, b"hit")
    trio.rti[0].send_interaction(trio.event, {}, b"fire")
    trio.rti[1].evoke_callback(0.1)
    trio.rti[2].evoke_callback(0.1)
    assert trio.rti[2].counts.held == 1
    trio.log[2].take()
    trio.network.crash("S3")
    trio.rti[2].evoke_callback(0.0)
    trio.rti[2].evoke_callback(0.0)
    assert [method for method, _ in trio.log[2].take()] == ["receive_interaction", "connection_lost"]


def test_save_and_restore(causal: Made) -> None:
    """The order is as it was at the save: numbers go on from there, and nothing is taken for a repetition."""
    rtis, logs = pair(causal)
    event = rtis[0].get_interaction_class_handle("Event")
    for rti in rtis:
        rti.publish_interaction_class(event)
        rti.subscribe_interaction_class(event)
    drain(*rtis)
    rtis[0].send_interaction(event, {}, b"1")
    drain(*rtis)
    rtis[0].request_federation_save("s")
    drain(*rtis)
    for rti in rtis:
        rti.federate_save_begun()
    for rti in rtis:
        rti.federate_save_complete()
    drain(*rtis)
    for tag in (b"2", b"3"):
        rtis[0].send_interaction(event, {}, tag)
    drain(*rtis)
    rtis[1].request_federation_restore("s")
    drain(*rtis)
    for rti in rtis:
        rti.federate_restore_complete()
    drain(*rtis)
    assert logs[0].count("federation_restored") == 1
    logs[1].take()
    rtis[0].send_interaction(event, {}, b"4")
    drain(*rtis)
    assert [arguments[2] for arguments in logs[1].of("receive_interaction")] == [b"4"]
    assert rtis[1].counts.held == rtis[1].counts.late == 0


def test_in_threads_over_a_server(causal: Made) -> None:
    """Over loopback, with the IMMEDIATE model: callbacks answer at once, and all get all, in order of each sender."""
    count = 60
    with serving() as running:
        logs = [Recorder() for _ in range(3)]
        rtis = [causal() for _ in logs]
        for number, (rti, log) in enumerate(zip(rtis, logs, strict=True)):
            rti.connect(log, CallbackModel.IMMEDIATE, running.address())
            if number == 0:
                rti.create_federation_execution(NAME, [fom()])
            rti.join_federation_execution(f"federate {number}", "test", NAME)
            event = rti.get_interaction_class_handle("Event")
            rti.publish_interaction_class(event)
            rti.subscribe_interaction_class(event)

        def answer(*arguments: Any) -> None:
            if arguments[2].startswith(b"call"):
                rtis[1].send_interaction(event, {}, b"answer " + arguments[2])

        logs[1].on["receive_interaction"] = answer
        talker = threading.Thread(
            target=lambda: [rtis[0].send_interaction(event, {}, b"call %d" % one) for one in range(count)]
        )
        talker.start()
        talker.join()
        assert eventually(lambda: logs[2].count("receive_interaction") >= 2 * count)
        tags = [arguments[2] for arguments in logs[2].of("receive_interaction")]
        assert [tag for tag in tags if tag.startswith(b"call")] == [b"call %d" % one for one in range(count)]
        for one in range(count):
            assert tags.index(b"call %d" % one) < tags.index(b"answer call %d" % one)
        for rti in rtis:
            rti.resign_federation_execution(LEAVE)
            rti.disconnect()


def test_a_removal_waits_for_held_values(causal: Made) -> None:
    """The RTI removes the instance of a federate that has gone; values of it that are still held come first."""
    trio = Trio(causal)
    rti = trio.rti
    building = rti[0].get_object_class_handle("Building")
    height = rti[0].get_attribute_handle(building, "Height")
    rti[1].publish_object_class_attributes(building, {height})
    rti[2].subscribe_object_class_attributes(building, {height})
    instance = rti[1].register_object_instance(building)
    trio.rest()
    trio.log[2].take()
    trio.log[1].on["receive_interaction"] = lambda *_: rti[1].update_attribute_values(
        instance, {height: b"x"}, b"hit"
    )
    rti[0].send_interaction(trio.event, {}, b"fire")
    rti[1].evoke_callback(0.1)
    rti[1].resign_federation_execution(ResignAction.DELETE_OBJECTS)
    for _ in range(40):
        rti[2].evoke_callback(0.1)
    assert [method for method, _ in trio.log[2].take()] == [
        "receive_interaction",
        "reflect_attribute_values",
        "remove_object_instance",
    ]


def test_host_or_ambassador() -> None:
    with pytest.raises(ValueError, match="not both"):
        CausalRTIambassador(EmbeddedNode(), above=RTIambassador())


def test_the_python_way() -> None:
    """`weft.join(…, causal=True)`."""
    node = EmbeddedNode()
    with (
        weft.join("range", "one", fom=fom(), host=node, causal=True) as one,
        weft.join("range", "two", fom=fom(), host=node, causal=True) as two,
    ):
        heard: list[str] = []
        two.on_interaction("Event.Hit")(lambda hit: heard.append(hit["Where"]))
        one.send("Event.Hit", When="now", Where="here")
        two.run(seconds=0.01)
        assert heard == ["here"]
        assert isinstance(one.rti, CausalRTIambassador)
        assert one.rti.counts.messages == 1
