"""Three federates that do all kinds of things, from a seed: traffic for laws about what crosses all service groups."""

from __future__ import annotations

import contextlib
import random
from typing import Any

from support.recording_ambassador import Recorder
from support.server_in_thread import eventually
from support.simulated_federates import handles
from support.small_fom import RELIABLE, fom
from weft import CallbackModel, ResignAction, RTIambassador
from weft.host.in_process.embedded import EmbeddedNode
from weft.model.enums import OrderType
from weft.model.errors import FederateNotExecutionMember, RTIexception, RTIinternalError
from weft.model.records import RangeBounds
from weft.model.time import HLAinteger64Interval, HLAinteger64Time

NAME = "F"
TANK = "Vehicle.GroundVehicle.Tank"


class World:
    """Each at one of these addresses, or all at one node of this process."""

    def __init__(self, where: list[str] | EmbeddedNode, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ears = [Recorder() for _ in range(3)]
        node = where if isinstance(where, EmbeddedNode) else None
        self.rtis = [RTIambassador(node) for _ in self.ears]
        self.results: list[Any] = []
        self.objects: list[Any] = []
        self.own: list[list[Any]] = [[], [], []]
        self.retractions: list[Any] = []
        self.regions: list[list[Any]] = [[], [], []]
        self.heard: list[tuple[str, tuple[Any, ...]]] = []
        self.internal: list[str] = []
        self.times = [0, 0, 0]
        for number, (rti, ear) in enumerate(zip(self.rtis, self.ears, strict=True)):
            if isinstance(where, EmbeddedNode):
                rti.connect(ear, CallbackModel.EVOKED)
            else:
                rti.connect(ear, CallbackModel.EVOKED, where[number % len(where)])
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
            except RTIexception as error:  # most calls are sensible, and refusals are part of it
                self.results.append(type(error).__name__)
            else:
                self.results.append(kind)

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
