"""Messages that take a lane through the server arrive as those do that go through the kernel one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import weft
from support.server_in_thread import serving
from weft.host.in_process.embedded import EmbeddedNode

FOM = """<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010"><modelIdentification><name>Lanes</name></modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name>
 <objectClass><name>Vehicle</name><sharing>PublishSubscribe</sharing>
  <attribute><name>A</name><transportation>HLAreliable</transportation><order>Receive</order></attribute>
  <attribute><name>B</name><transportation>HLAreliable</transportation><order>Receive</order></attribute>
  <attribute><name>C</name><transportation>HLAbestEffort</transportation><order>Receive</order></attribute>
  <objectClass><name>Tank</name><sharing>PublishSubscribe</sharing></objectClass>
 </objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
 <interactionClass><name>Fire</name><sharing>PublishSubscribe</sharing>
  <transportation>HLAreliable</transportation><order>Receive</order>
  <parameter><name>P</name></parameter><parameter><name>Q</name></parameter>
  <interactionClass><name>Salvo</name><sharing>PublishSubscribe</sharing>
   <transportation>HLAreliable</transportation><order>Receive</order><parameter><name>R</name></parameter>
  </interactionClass>
 </interactionClass></interactionClass></interactions></objectModel>"""


class Heard(weft.FederateAmbassador):
    """Every callback, as it came."""

    def __init__(self) -> None:
        self.all: list[tuple[str, tuple[Any, ...]]] = []

    def __getattribute__(self, name: str) -> Any:
        if name in ("all", "__class__", "__dict__") or name.startswith("_"):
            return object.__getattribute__(self, name)
        return lambda *arguments: self.all.append((name, arguments))


class World:
    """Three federates of one federation, wherever it runs."""

    def __init__(self, make: Any, where: str | None, fom: Path) -> None:
        self.ears = [Heard() for _ in range(3)]
        self.rtis = [make() for _ in self.ears]
        for rti, ear in zip(self.rtis, self.ears, strict=True):
            rti.connect(ear, weft.CallbackModel.EVOKED, where)
        self.rtis[0].create_federation_execution("lanes", str(fom))
        for index, rti in enumerate(self.rtis):
            rti.join_federation_execution(f"F{index}", "kind", "lanes")
        rti = self.rtis[0]
        self.classes = [rti.get_object_class_handle(f"HLAobjectRoot.Vehicle{end}") for end in ("", ".Tank")]
        self.attributes = [rti.get_attribute_handle(self.classes[0], name) for name in "ABC"]
        names = ("Fire", "Fire.Salvo")
        self.fires = [rti.get_interaction_class_handle(f"HLAinteractionRoot.{name}") for name in names]
        self.parameters = [rti.get_parameter_handle(self.fires[1], name) for name in "PQR"]
        self.objects: list[Any] = []

    def do(self, who: int, what: str, *arguments: Any) -> list[Any]:
        """The call's result or exception, and what each federate heard of it."""
        rti = self.rtis[who]
        try:
            result = getattr(rti, what)(*arguments)
        except weft.errors.RTIexception as error:
            result = type(error).__name__
        if what == "register_object_instance" and isinstance(result, bytes):
            self.objects.append(result)
        found: list[Any] = [result]
        for other, ear in zip(self.rtis, self.ears, strict=True):
            other.get_order_type("HLAreceive")  # whatever was on its way here has come with the answer
            while other.evoke_callback(0.0):
                pass
            found.append(ear.all[:])
            ear.all.clear()
        return found


def steps(world: World, seed: int, count: int) -> Any:
    """A script of calls, mostly messages, with now and then something that changes where they go."""
    chance = random.Random(seed)
    fires, classes = world.fires, world.classes
    for who in (0, 1):
        for fire in fires:
            yield who, "publish_interaction_class", fire
        yield who, "publish_object_class_attributes", classes[1], set(world.attributes)
        yield who, "register_object_instance", classes[1]
    for _ in range(count):
        who = chance.randrange(3)
        fire, kind = chance.choice(fires), chance.choice(classes)
        some = set(chance.sample(world.attributes, chance.randint(1, 3)))
        target = chance.choice(world.objects) if world.objects else None
        if chance.random() < 0.75:
            for _ in range(chance.randint(1, 4)):
                value = bytes([chance.randrange(256)]) * chance.choice([0, 1, 64, 200])
                tag = chance.choice([b"", b"tag"])
                if chance.random() < 0.5 or target is None:
                    chosen = chance.sample(world.parameters, chance.randint(0, 3))
                    yield who, "send_interaction", fire, dict.fromkeys(chosen, value), tag
                else:
                    yield who, "update_attribute_values", target, dict.fromkeys(sorted(some), value), tag
            continue
        change = chance.randrange(13)
        if change < 2:
            yield who, "subscribe_interaction_class", fire
        elif change == 2:
            yield who, "unsubscribe_interaction_class", fire
        elif change == 3:
            yield who, chance.choice(["publish_interaction_class", "unpublish_interaction_class"]), fire
        elif change < 6:
            yield who, "subscribe_object_class_attributes", kind, some
        elif change == 6:
            yield who, "unsubscribe_object_class", kind
        elif change == 7:
            yield who, "register_object_instance", classes[1]
        elif change == 8 and target is not None:
            yield who, "delete_object_instance", target, b""
        elif change == 9 and target is not None:
            yield who, "unconditional_attribute_ownership_divestiture", target, some, b""
        elif change == 10 and target is not None:
            yield who, "attribute_ownership_acquisition_if_available", target, some, b""
        elif change == 11 and target is not None:
            yield who, "local_delete_object_instance", target
        elif target is not None:
            name = chance.choice(["HLAreliable", "HLAbestEffort"])
            way = world.rtis[who].get_transportation_type_handle(name)
            for owner in range(3):
                first = {world.attributes[0]}
                yield owner, "request_attribute_transportation_type_change", target, first, way
        # What had a lane before the change is sent once more.
        for sender in range(3):
            yield sender, "send_interaction", fire, {world.parameters[0]: b"again"}, b""
            for names in (world.attributes[:1], world.attributes[:2]) if target is not None else ():
                yield sender, "update_attribute_values", target, dict.fromkeys(names, b"again"), b""


@pytest.mark.parametrize("seed", range(6))
def test_a_served_federation_is_like_an_embedded_one(seed: int, tmp_path: Path) -> None:
    """Random messages and changes, call by call: same results, same callbacks, same order."""
    fom = tmp_path / "lanes.xml"
    fom.write_text(FOM)
    with serving() as running:
        there = World(weft.RTIambassador, running.address(), fom)
        host = EmbeddedNode()
        here = World(lambda: weft.RTIambassador(host), None, fom)
        messages = 0
        for number, (step, same) in enumerate(
            zip(steps(there, seed, 150), steps(here, seed, 150), strict=True)
        ):
            assert step == same
            found, expected = there.do(*step), here.do(*same)
            assert found == expected, f"seed {seed}, step {number}: {step}"
            messages += sum(len(heard) for heard in found[1:])
        assert messages > 50
        for rti in there.rtis:
            rti.resign_federation_execution(weft.ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
            rti.disconnect()
