"""What the kernel keeps for a handle is a handle, whatever way it came in; so a federation can be written down at any time.

Bytes are equal to the handle that they stand for, so code that keeps the bytes it has read works until somebody asks what they
are: a save (IEEE 1516.1-2025, 4.16 to 4.23), or the snapshot that a node's first member begins with.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from host.mesh import handles
from host.served import Running, eventually, serving
from host.served_mesh import serving_mesh
from support.fom import RELIABLE, fom
from support.recorder import Recorder
from weft import CallbackModel, ResignAction, RTIambassador
from weft.host.parcel_codec import decode_parcel, encode_parcel
from weft.kernel.parcels import Welcome
from weft.kernel.snapshot import restored, snapshot
from weft.kernel.state import Federation
from weft.model.enums import OrderType
from weft.model.errors import FederateNotExecutionMember, RTIexception, RTIinternalError
from weft.model.handles import AttributeHandle, Handle, MessageRetractionHandle, ParameterHandle
from weft.model.packed import PackedValues
from weft.model.records import RangeBounds
from weft.model.time import HLAinteger64Interval, HLAinteger64Time
from weft.wire.known_handles import HandleCache

NAME = "F"
TANK = "Vehicle.GroundVehicle.Tank"
_SKIPPED = (type, str, int, float, bool, type(None))


def misfits(found: object) -> list[str]:
    """Where in these things plain bytes stand for a handle, or a handle has the class of another kind."""
    wrong: list[str] = []
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("", found)]
    while todo:
        where, one = todo.pop()
        if isinstance(one, Handle):
            own = MessageRetractionHandle if len(one) == 12 else type(one)
            if type(one) is not own or (len(one) == 4 and one[0] >> 4 != type(one).kind):
                wrong.append(f"{where}: {one!r} of bytes {bytes(one).hex()}")
            continue
        if isinstance(one, bytes):
            if len(one) in (4, 12):  # values and tags of these tests are shorter or longer
                wrong.append(f"{where}: {one.hex()}")
            continue
        if isinstance(one, _SKIPPED) or callable(one) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            for key, value in one.items():
                todo.append((f"{where} key", key))
                if not (isinstance(key, (ParameterHandle, AttributeHandle)) and isinstance(value, bytes)):
                    todo.append((f"{where}[{key!r}]", value))
        elif isinstance(one, (list, tuple, set, frozenset)):
            todo += [(f"{where}[{number}]", item) for number, item in enumerate(one)]
        elif isinstance(one, PackedValues):
            todo += [(f"{where}.handles", handle) for handle in one.handles]
            todo += [(f"{where}.unpack()", one.unpack())]
        elif type(one).__module__.startswith("weft."):
            names = list(getattr(one, "__dict__", {}))
            for kind in type(one).__mro__:
                names += [n for n in getattr(kind, "__slots__", ()) if not n.startswith("__")]
            todo += [(f"{where}.{name}", getattr(one, name, None)) for name in names]
    return wrong


def held_to_the_law(federation: Federation) -> None:
    """All of its state, but for the object model; and it can be written down, sent and read."""
    model, federation.catalog.model = federation.catalog.model, None  # type: ignore[assignment]
    try:
        wrong = misfits(federation)
    finally:
        federation.catalog.model = model
    assert not wrong, wrong[:10]
    data = snapshot(federation, 0.0)
    parcel = Welcome(federation.name, federation.execution, "S1", federation.sequence, data)
    _, again = decode_parcel(encode_parcel(parcel, 1))
    assert not misfits(restored(again.data).audiences)


class World:
    """Three federates, each at one of these addresses, who do all kinds of things."""

    def __init__(self, addresses: list[str], seed: int) -> None:
        self.chance = random.Random(seed)
        self.ears = [Recorder() for _ in range(3)]
        self.rtis = [RTIambassador() for _ in self.ears]
        self.objects: list[Any] = []
        self.own: list[list[Any]] = [[], [], []]
        self.retractions: list[Any] = []
        self.regions: list[list[Any]] = [[], [], []]
        self.heard: list[tuple[str, tuple[Any, ...]]] = []
        self.internal: list[str] = []
        self.times = [0, 0, 0]
        for number, (rti, ear) in enumerate(zip(self.rtis, self.ears, strict=True)):
            rti.connect(ear, CallbackModel.EVOKED, addresses[number % len(addresses)])
            if not number:
                rti.create_federation_execution(NAME, [fom()], "HLAinteger64Time")

    def join(self, number: int) -> None:
        rti = self.rtis[number]
        rti.join_federation_execution(f"F{number}", "kind", NAME)
        h = handles()
        for kind in h.interactions.values():
            rti.publish_interaction_class(kind)
        rti.publish_object_class_attributes(h.classes[TANK], h.set_of("Name", "Position", "Ammo", "Turret"))
        rti.publish_object_class_attributes(h.classes["Vehicle"], h.set_of("Name", "Position"))
        rti.publish_object_class_directed_interactions(h.classes[TANK], {h.interactions["Command"]})
        if number:
            rti.subscribe_object_class_attributes(h.classes["Vehicle"], h.set_of("Name", "Position"))
            rti.subscribe_interaction_class(h.interactions["Event"])
            rti.subscribe_object_class_directed_interactions(
                h.classes["Vehicle"], {h.interactions["Command"]}
            )

    def until(self, who: int, method: str) -> None:
        """Until that federate has heard this."""

        def heard() -> bool:
            self.rtis[who].evoke_callback(0.05)
            return bool(self.ears[who].of(method))

        assert eventually(heard), method

    def leave(self) -> None:
        for rti in self.rtis:
            with contextlib.suppress(FederateNotExecutionMember):
                rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
            rti.disconnect()

    def take(self) -> None:
        for rti, ear in zip(self.rtis, self.ears, strict=True):
            with contextlib.suppress(RTIexception):
                while rti.evoke_callback(0.0):
                    pass
            for method, arguments in ear.take():
                self.heard.append((method, arguments))
                if method == "time_advance_grant":
                    self.times[self.ears.index(ear)] = arguments[0].value

    def has_reflected(self) -> bool:
        self.take()
        return any(method == "reflect_attribute_values" for method, _ in self.heard)

    def step(self) -> None:
        who = self.chance.randrange(3)
        kind = self.chance.choice(sorted(name for name in dir(self) if name.startswith("do_")))
        for _ in range(self.chance.choice([1, 1, 3])):
            try:
                getattr(self, kind)(who, self.rtis[who])
            except RTIinternalError as error:
                self.internal.append(f"{kind}: {error}")
            except RTIexception:
                pass  # most calls are sensible, and refusals are part of it

    def _value(self) -> bytes:
        return self.chance.choice([b"", b"x", b"nine long", bytes(200)])

    def _values(self, names: list[str]) -> dict[Any, bytes]:
        table = {**handles().attributes, **handles().parameters}
        some = self.chance.sample(names, self.chance.randint(1, len(names)))
        return {table[name]: self._value() for name in some}

    def _thing(self) -> Any:
        return self.chance.choice(self.objects)

    def _own(self, who: int) -> Any:
        return self.chance.choice(self.own[who] or self.objects)

    def _time(self, who: int) -> HLAinteger64Time:
        return HLAinteger64Time(self.times[who] + self.chance.randint(1, 6))

    def do_send(self, who: int, rti: RTIambassador) -> None:
        kind = self.chance.choice(["Event", "Event.Fire", "Event.Hit"])
        rti.send_interaction(handles().interactions[kind], self._values(["When"]), self._value())

    def do_send_in_time(self, who: int, rti: RTIambassador) -> None:
        kind = handles().interactions["Event.Hit"]
        rti.change_interaction_order_type(kind, OrderType.TIMESTAMP)
        sent = rti.send_interaction(kind, self._values(["When", "Where"]), b"", self._time(who))
        if sent is not None and sent.retraction_handle_is_valid:
            self.retractions.append(sent.handle)

    def do_send_ordered(self, who: int, rti: RTIambassador) -> None:
        order = self.chance.choice([OrderType.CAUSAL, OrderType.TOTAL, OrderType.PRIORITY])
        rti.send_interaction(handles().interactions["Event"], self._values(["When"]), b"", order=order)

    def do_send_at(self, who: int, rti: RTIambassador) -> None:
        region = self.chance.choice(self.regions[who] or self.regions[0])
        rti.send_interaction_with_regions(
            handles().interactions["Event.Hit"], self._values(["When"]), {region}, b""
        )

    def do_direct(self, who: int, rti: RTIambassador) -> None:
        rti.send_directed_interaction(
            handles().interactions["Command"], self._thing(), self._values(["Text"]), b""
        )

    def do_update(self, who: int, rti: RTIambassador) -> None:
        rti.update_attribute_values(self._own(who), self._values(["Name", "Position", "Ammo"]), self._value())

    def do_update_in_time(self, who: int, rti: RTIambassador) -> None:
        thing = self._own(who)
        rti.change_attribute_order_type(thing, handles().set_of("Name"), OrderType.TIMESTAMP)
        rti.update_attribute_values(thing, self._values(["Name", "Position"]), b"", self._time(who))

    def do_register(self, who: int, rti: RTIambassador) -> None:
        self.objects.append(rti.register_object_instance(handles().classes[TANK]))
        self.own[who].append(self.objects[-1])

    def do_delete(self, who: int, rti: RTIambassador) -> None:
        if len(self.objects) > 3:
            rti.delete_object_instance(self._thing(), b"")

    def do_delete_in_time(self, who: int, rti: RTIambassador) -> None:
        if len(self.objects) > 3:
            rti.delete_object_instance(self._thing(), b"", self._time(who))

    def do_regions(self, who: int, rti: RTIambassador) -> None:
        region = rti.create_region({handles().lane})
        rti.set_range_bounds(region, handles().lane, RangeBounds(self.chance.randrange(8), 9))
        rti.commit_region_modifications({region})
        self.regions[who].append(region)
        name = handles().set_of("Name")
        rti.subscribe_object_class_attributes_with_regions(handles().classes["Vehicle"], [(name, {region})])
        rti.associate_regions_for_updates(self._thing(), [(name, {region})])

    def do_rates(self, who: int, rti: RTIambassador) -> None:
        rti.subscribe_object_class_attributes(
            handles().classes["Vehicle"], handles().set_of("Name"), update_rate_designator="Low"
        )

    def do_time(self, who: int, rti: RTIambassador) -> None:
        with contextlib.suppress(RTIexception):
            rti.enable_time_regulation(HLAinteger64Interval(1))
        with contextlib.suppress(RTIexception):
            rti.enable_time_constrained()

    def do_advance(self, who: int, rti: RTIambassador) -> None:
        rti.time_advance_request(HLAinteger64Time(self.times[who] + 2))

    def do_retract(self, who: int, rti: RTIambassador) -> None:
        if self.retractions:
            rti.retract(self.chance.choice(self.retractions))

    def do_own(self, who: int, rti: RTIambassador) -> None:
        thing, name = self._thing(), handles().set_of("Name")
        if thing not in self.own[who]:
            rti.attribute_ownership_acquisition(thing, name, b"")
        rti.negotiated_attribute_ownership_divestiture(thing, name, b"")

    def do_transport(self, who: int, rti: RTIambassador) -> None:
        reliable = rti.get_transportation_type_handle(RELIABLE)
        rti.request_attribute_transportation_type_change(
            self._own(who), handles().set_of("Position"), reliable
        )
        rti.request_interaction_transportation_type_change(handles().interactions["Event.Fire"], reliable)

    def do_advise(self, who: int, rti: RTIambassador) -> None:
        rti.set_attribute_relevance_advisory_switch(True)
        rti.set_interaction_relevance_advisory_switch(True)
        rti.set_attribute_scope_advisory_switch(True)
        rti.set_object_class_relevance_advisory_switch(True)

    def do_mom(self, who: int, rti: RTIambassador) -> None:
        manager = "HLAinteractionRoot.HLAmanager.HLAfederate"
        kind = rti.get_interaction_class_handle(f"{manager}.HLArequest.HLArequestObjectInstancesUpdated")
        report = rti.get_interaction_class_handle(f"{manager}.HLAreport.HLAreportObjectInstancesUpdated")
        rti.subscribe_interaction_class(report)
        rti.publish_interaction_class(kind)
        one = rti.get_parameter_handle(kind, "HLAfederate")
        own = rti.get_federate_handle(f"F{who}")
        rti.send_interaction(kind, {one: len(own).to_bytes(4, "big") + own}, b"")
        switches = rti.get_interaction_class_handle(f"{manager}.HLAadjust.HLAsetSwitches")
        rti.publish_interaction_class(switches)


@contextlib.contextmanager
def one_server() -> Iterator[list[Running]]:
    with serving() as server:
        yield [server]


@contextlib.contextmanager
def two_nodes() -> Iterator[list[Running]]:
    with serving_mesh() as nodes:
        yield list(nodes.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", [one_server, two_nodes])
def test_all_that_a_federation_keeps_for_a_handle_is_one(place: Any, seed: int) -> None:
    """4.16 to 4.23, and what handles are (6.1, 10.1): also after messages that no federate's own process has decoded."""
    with place() as servers:
        world = World([server.address() for server in servers], seed)
        world.join(0)
        world.do_send(0, world.rtis[0])  # before anybody else has come, from there or from elsewhere
        world.join(1)
        world.join(2)
        world.do_register(0, world.rtis[0])
        world.do_regions(0, world.rtis[0])

        def judge(server: Any) -> None:
            for federation in server.board.node.federations.values():
                held_to_the_law(federation)

        for number in range(150):
            world.step()
            if number % 10 == 9:
                world.take()
                for server in servers:
                    server.ask(judge)
        assert eventually(world.has_reflected)
        assert not misfits([arguments for _, arguments in world.heard])
        assert not world.internal
        for server in servers:
            assert not [line for line in server.reports if "internal" in line]
        world.leave()


@pytest.mark.parametrize("place", [one_server, two_nodes])
def test_a_save_after_one_interaction_succeeds(place: Any) -> None:
    """4.16 Request Federation Save to 4.20 Federation Saved, at the home and over nodes, after traffic."""
    with place() as servers:
        world = World([server.address() for server in servers], 0)
        world.join(0)
        world.do_send(0, world.rtis[0])
        world.do_send_in_time(0, world.rtis[0])
        world.join(1)
        for who in (0, 1):
            world.do_send(who, world.rtis[who])
        world.rtis[0].request_federation_save("noon")
        for who in (0, 1):
            world.until(who, "initiate_federate_save")
            world.rtis[who].federate_save_begun()
        for who in (0, 1):
            world.rtis[who].federate_save_complete()
        for who in (0, 1):
            world.until(who, "federation_saved")
        world.leave()


def test_long_handles_are_not_kept() -> None:
    """What a peer makes up may be as long as a frame: such handles are made, and not remembered."""
    cache = HandleCache(ParameterHandle)
    assert cache.get(b"\1\2\3\4") is cache.get(b"\1\2\3\4")
    assert cache.get(b"x" * 1000) == ParameterHandle(b"x" * 1000)
    assert cache.get(b"x" * 1000) is not cache.get(b"x" * 1000)
