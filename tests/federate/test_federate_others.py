"""`weft.join` among federates of others: badly encoded values, any names, waiting for others, and hints."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

import weft
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, ResignAction, RTIambassador, Source
from weft.federate import Undecoded
from weft.model.errors import NameNotFound, NotConnected, NotInTime

BOUND = 20.0
MODEL = Source(
    "balls.xml",
    b"""<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>balls</name><type>FOM</type></modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name>
  <objectClass><name>Ball</name><sharing>PublishSubscribe</sharing>
    <attribute><name>Speed</name><dataType>HLAfloat64BE</dataType><sharing>PublishSubscribe</sharing></attribute>
    <attribute><name>tag</name><dataType>HLAunicodeString</dataType><sharing>PublishSubscribe</sharing></attribute>
    <attribute><name>values</name><dataType>HLAinteger32BE</dataType><sharing>PublishSubscribe</sharing></attribute>
  </objectClass>
  <objectClass><name>Bare</name><sharing>PublishSubscribe</sharing></objectClass>
</objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
  <interactionClass><name>Note</name><sharing>PublishSubscribe</sharing>
    <parameter><name>tag</name><dataType>HLAunicodeString</dataType></parameter>
    <parameter><name>where</name><dataType>HLAunicodeString</dataType></parameter>
    <parameter><name>time</name><dataType>HLAfloat64BE</dataType></parameter>
    <parameter><name>values</name><dataType>HLAinteger32BE</dataType></parameter>
    <parameter><name>name</name><dataType>HLAunicodeString</dataType></parameter>
    <parameter><name>self</name><dataType>HLAunicodeString</dataType></parameter>
  </interactionClass>
</interactionClass></interactions>
</objectModel>""",
)


class Stranger:
    """Somebody else's federate, which encodes as it likes."""

    def __init__(self, node: EmbeddedNode) -> None:
        self.rti = rti = RTIambassador(node)
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
        rti.join_federation_execution("stranger", "kind", "F", [MODEL])
        self.ball = rti.get_object_class_handle("Ball")
        self.note = rti.get_interaction_class_handle("Note")
        self.speed, self.label = (rti.get_attribute_handle(self.ball, one) for one in ("Speed", "tag"))
        self.privilege = rti.get_attribute_handle(self.ball, "HLAprivilegeToDeleteObject")
        rti.publish_object_class_attributes(self.ball, {self.speed, self.label})
        rti.publish_interaction_class(self.note)
        self.instance = rti.register_object_instance(self.ball)

    def leave(self) -> None:
        self.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        self.rti.disconnect()


def test_a_bad_value_costs_that_value_alone(caplog: pytest.LogCaptureFixture) -> None:
    """What decodes is handed over, the rest is told with class, attribute, instance and sender; and it goes on."""
    node = EmbeddedNode()
    with weft.join("F", "me", fom=MODEL, host=node) as me:
        changes: list[dict[str, Any]] = []
        notes: list[dict[str, Any]] = []
        me.on_update("Ball")(lambda ball, changed: changes.append(changed))
        me.on_interaction("Note")(lambda note: notes.append(note.values))
        other = Stranger(node)
        good = b"\0\0\0\1\0x"
        with caplog.at_level(logging.WARNING, "weft"):
            for _ in range(2):
                other.rti.update_attribute_values(
                    other.instance, {other.speed: b"bad", other.label: good}, b""
                )
            time, text = (other.rti.get_parameter_handle(other.note, one) for one in ("time", "tag"))
            other.rti.send_interaction(other.note, {time: b"worse", text: good}, b"")
            assert me.run_until(lambda: notes, BOUND)
        assert changes == [{"tag": "x"}] * 2
        assert notes == [{"tag": "x"}]
        name = other.rti.get_object_instance_name(other.instance)
        first, _, last = me.undecoded
        assert (first.kind, first.name, first.instance, first.sender, first.data) == (
            "Ball",
            "Speed",
            name,
            "stranger",
            b"bad",
        )
        assert (last.kind, last.name, last.instance, last.data) == ("Note", "time", "", b"worse")
        told = [record.getMessage() for record in caplog.records]
        assert len(told) == 2, told  # not once more for each update
        assert all(word in told[0] for word in ("Ball.Speed", name, "stranger"))
        heard: list[Undecoded] = []
        me.on_undecoded(heard.append)
        other.rti.update_attribute_values(other.instance, {other.speed: b"!"}, b"")
        assert me.run_until(lambda: heard, BOUND)
        assert heard[0].data == b"!"
        assert changes[-1] == {}
        other.leave()


def test_all_attributes_are_not_the_privilege_to_delete() -> None:
    """Clause 6.1: it is owned, and has no value to be told of; a class that has nothing else is subscribed to by it."""
    node = EmbeddedNode()
    with weft.join("F", "me", fom=MODEL, host=node) as me:
        me.on_update("Ball")(lambda ball, changed: None)
        found: list[Any] = []
        me.on_discovery("Bare")(found.append)
        facts = me.rti.query_survey(["classes"])["federations"]["F"]["classes"]
        assert "HLAprivilegeToDeleteObject" not in str([one for one in facts.items() if "Ball" in one[0]])
        with weft.join("F", "you", fom=MODEL, host=node) as you:
            you.register("Bare")
            assert me.run_until(lambda: found, BOUND)


def test_any_name_can_be_sent() -> None:
    """Parameters and attributes that are called like arguments of the call go in `values`."""
    node = EmbeddedNode()
    with (
        weft.join("F", "me", fom=MODEL, host=node) as me,
        weft.join("F", "you", fom=MODEL, host=node) as you,
    ):
        notes: list[Any] = []
        balls: list[Any] = []
        you.on_interaction("Note")(notes.append)
        you.on_update("Ball")(lambda ball, changed: balls.append(changed))
        every = {"tag": "t", "where": "w", "time": 1.5, "values": 7, "name": "n", "self": "s"}
        me.send("Note", b"the tag", values=every)
        me.send("Note", values={"tag": "u", "time": 2.5}, time=3.0)
        me.send("Note", values=8)  # type: ignore[call-overload]  # the parameter of that name
        ball = me.register("Ball")
        ball.update(b"the tag", values={"tag": "t"}, Speed=1.0)
        ball.update(values=9)  # type: ignore[call-overload]
        assert you.run_until(lambda: len(balls) == 2, BOUND)
        assert [note.values for note in notes] == [every, {"tag": "u", "time": 2.5}, {"values": 8}]
        assert [note.time for note in notes] == [None, 3.0, None]
        assert notes[0].tag == b"the tag"
        assert balls == [{"tag": "t", "Speed": 1.0}, {"values": 9}]
        with pytest.raises(TypeError, match="'name' is given twice"):
            me.send("Note", values={"name": "a"}, name="b")
        with pytest.raises(NameNotFound, match="nonsense"):
            me.send("Note", values={"nonsense": 1})


# --- waiting for others -------------------------------------------------------------------------------------------


def test_nobody_passes_before_all_have_come() -> None:
    """`synchronize(label, federates=3)`: the first ones wait for the last, however late it joins."""
    node = EmbeddedNode()
    passed: list[str] = []

    def take_part(name: str, who: Any) -> None:
        with weft.join("F", name, fom=MODEL, host=node) as me:
            me.synchronize("ready", BOUND, federates=who)
            passed.append(name)
            me.synchronize("over", BOUND)

    early = [threading.Thread(target=take_part, args=(name, 3)) for name in ("a", "b")]
    for thread in early:
        thread.start()
    with weft.join("F", "watcher", fom=MODEL, host=node, kind="w") as watcher:
        watcher.wait_for(["a", "b"], BOUND)  # it is the third itself, and leaves again
        watcher.synchronize("ready", BOUND, federates=["a", "b", "watcher"])
        watcher.synchronize("over", BOUND)
    for thread in early:
        thread.join(BOUND)
    assert sorted(passed) == ["a", "b"]


def test_who_is_missing_is_named() -> None:
    """NotInTime is a TimeoutError and a WeftError: by count, by name, and at the point itself."""
    node = EmbeddedNode()
    with (
        weft.join("F", "me", fom=MODEL, host=node) as me,
        weft.join("F", "you", fom=MODEL, host=node) as you,
    ):
        with pytest.raises(NotInTime, match=r"6 of 8 federates are missing; there are me, you"):
            me.synchronize("ready", 0.0, federates=8)
        with pytest.raises(TimeoutError, match=r"Tom has not joined; there are me, you"):
            me.wait_for(["you", "Tom"], 0.0)
        with pytest.raises(NotInTime, match=r"'ready' was not reached within .*: you has not achieved it"):
            me.synchronize("ready", 0.05)
        assert you.run_until(lambda: False, 0.0) is False
        with pytest.raises(NotInTime, match=r"me has not achieved"):
            you.synchronize("other", 0.05)
        me.wait_for(2, 0.0)


# --- hints --------------------------------------------------------------------------------------------------------


def test_a_federate_that_has_not_joined_is_told_how_to() -> None:
    """Item 10: `weft.join(…)` without `with`."""
    for causal in (False, True):
        me = weft.join("F", "me", fom=MODEL, host=EmbeddedNode(), causal=causal)
        with pytest.raises(NotConnected, match=r"with weft.join\(…\) as me"):
            me.send("Note", values={"tag": "x"})
        with pytest.raises(NotConnected, match=r"me.join\(\) first"):
            me.on_update("Ball")(lambda *what: None)
        me.join()
        me.resign()


def test_an_address_given_as_a_host_is_told_where_it_goes() -> None:
    address: Any = "127.0.0.1:15164"
    with pytest.raises(TypeError, match=r"goes in rti=.127\.0\.0\.1:15164."):
        weft.join("F", "me", fom=MODEL, host=address)


def test_the_wrong_kind_of_class_is_told_the_right_call() -> None:
    with weft.join("F", "me", fom=MODEL, host=EmbeddedNode()) as me:
        with pytest.raises(NameNotFound, match=r"Note is an interaction class; use on_interaction\('Note'\)"):
            me.on_update("Note")
        with pytest.raises(NameNotFound, match=r"Ball is an object class; use on_update\('Ball'\)"):
            me.on_interaction("Ball")
        with pytest.raises(NameNotFound, match=r"object class; use register"):
            me.send("Ball")
        with pytest.raises(NameNotFound, match=r"interaction class; use send\('Note', …\)"):
            me.register("Note")
