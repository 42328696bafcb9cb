"""Tanks that drive about a square and look about themselves, over simulated nodes: figures 3 to 5 of paper 004, at scale.

What a tank does follows from its number and the times it is granted, and from nothing else.  At time t it says where it will be,
and what it will see, as of t plus lookahead, and sends its position with that time stamp.  Tanks take steps of different
length, so they are apart in logical time, and their messages and changes cross.
"""

from __future__ import annotations

import hashlib
from random import Random
from typing import Any

from support.recording_ambassador import Recorder
from support.small_fom import INTERACTION_ROOT, ROOT
from weft import CallbackModel, HLAinteger64Interval, HLAinteger64Time, OrderType, RTIambassador, Source
from weft.host.simulated.fabric import FabricNetwork
from weft.model.records import RangeBounds

NAME = "tanks"
SIDE = 100
SIGHT = 12
LOOKAHEAD = 2

Box = tuple[tuple[int, int], tuple[int, int]]


def model() -> Source:
    dimensions = "".join(f"<dimension>{d}</dimension>" for d in "XY")
    axes = "".join(
        f"<dimension><name>{d}</name><dataType>HLAinteger32BE</dataType><upperBound>{SIDE}</upperBound>"
        "<normalization>none</normalization><value>Excluded</value></dimension>"
        for d in "XY"
    )
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>Tanks</name><type>FOM</type></modelIdentification>
<objects><objectClass><name>{ROOT}</name><objectClass><name>Tank</name><sharing>PublishSubscribe</sharing>
<attribute><name>Position</name><dataType>HLAASCIIstring</dataType><updateType>Conditional</updateType>
<updateCondition>on change</updateCondition><ownership>DivestAcquire</ownership><sharing>PublishSubscribe</sharing>
<dimensions>{dimensions}</dimensions><transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>{INTERACTION_ROOT}</name></interactionClass></interactions>
<dimensions>{axes}</dimensions></objectModel>"""
    return Source("tanks", text.encode())


def around(place: tuple[int, int], reach: int) -> Box:
    x, y = [(max(0, at - reach), min(SIDE, at + reach + 1)) for at in place]
    return x, y


def meet(one: Box, other: Box) -> bool:
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(one, other, strict=True))


class Tank:
    def __init__(self, field: Field, number: int, site: Any) -> None:
        self.field = field
        self.number = number
        self.name = f"tank {number}"
        self.log = Recorder()
        self.rti = RTIambassador(site)
        self.rti.connect(self.log, CallbackModel.EVOKED)
        draw = Random(number)
        self.way = [draw.randrange(SIDE), draw.randrange(SIDE)]
        self.pace = [draw.choice((-7, -3, 3, 7)), draw.choice((-5, -2, 2, 5))]
        self.stride = 1 + number % 3
        self.time = 0
        self.waiting = False
        self.known: dict[Any, str] = {}
        self.heard: list[tuple[int, str]] = []
        self.grants: list[int] = []
        self.past: list[Any] = []
        # What it said: from when on it is where, and sees what.
        self.places = [(-1, tuple(self.way))]
        self.sent: list[int] = []

    def where(self, time: int) -> tuple[int, int]:
        x, y = [place for since, place in self.places if since <= time][-1]
        return x, y

    def join(self) -> None:
        rti = self.rti
        rti.join_federation_execution(self.name, "tank", NAME)
        self.tank = rti.get_object_class_handle("Tank")
        self.position = rti.get_attribute_handle(self.tank, "Position")
        self.axes = [rti.get_dimension_handle(name) for name in "XY"]
        self.body, self.sight = rti.create_region(set(self.axes)), rti.create_region(set(self.axes))
        self._place(self.where(0), None)
        rti.publish_object_class_attributes(self.tank, {self.position})
        rti.subscribe_object_class_attributes_with_regions(self.tank, [({self.position}, {self.sight})])
        self.instance = rti.register_object_instance_with_regions(self.tank, [({self.position}, {self.body})])

    def _place(self, place: tuple[int, int], time: int | None) -> None:
        for region, reach in ((self.body, 0), (self.sight, SIGHT)):
            for axis, bounds in zip(self.axes, around(place, reach), strict=True):
                self.rti.set_range_bounds(region, axis, RangeBounds(*bounds))
        as_of = {} if time is None else {"time": HLAinteger64Time(time)}
        self.rti.commit_region_modifications({self.body, self.sight}, **as_of)

    def enable(self) -> None:
        self.rti.enable_time_regulation(HLAinteger64Interval(LOOKAHEAD))
        self.rti.enable_time_constrained()

    def go_on(self) -> None:
        """Drive, tell, and ask for time."""
        time = self.time + LOOKAHEAD
        for axis in (0, 1):
            self.way[axis] = (self.way[axis] + self.pace[axis]) % SIDE
        place = (self.way[0], self.way[1])
        self.places.append((time, place))
        self._place(place, time if self.field.synchronized else None)
        self.sent.append(time)
        value = f"{self.name} at {time}".encode()
        self.rti.update_attribute_values(self.instance, {self.position: value}, b"", HLAinteger64Time(time))
        self.waiting = True
        self.rti.time_advance_request(HLAinteger64Time(min(self.field.end, self.time + self.stride)))

    def evoke(self) -> None:
        while self.rti.evoke_callback(0.0):
            pass
        for method, arguments in self.log.take():
            if method == "reflect_attribute_values":
                stamp = arguments[6].value
                self.heard.append((stamp, arguments[1][self.position].decode()))
                if stamp <= self.time or arguments[8] is not OrderType.TIMESTAMP:
                    self.past.append(self.heard[-1])
            elif method == "time_advance_grant":
                self.time = arguments[0].value
                self.grants.append(self.time)
                self.waiting = False


class Field:
    def __init__(self, seed: int, network: FabricNetwork, tanks: int, end: int, synchronized: bool) -> None:
        self.random = Random(seed)
        self.network = network
        self.end = end
        self.synchronized = synchronized
        nodes = network.topology.servers
        self.tanks = [Tank(self, n, network.at(nodes[n % len(nodes)])) for n in range(tanks)]
        self.tanks[0].rti.create_federation_execution(NAME, [model()], "HLAinteger64Time")
        for tank in self.tanks:
            tank.join()
        for tank in self.tanks:
            tank.enable()
        network.settle()
        for tank in self.tanks:
            tank.evoke()

    def run(self) -> None:
        for _ in range(100_000):
            moving = [tank for tank in self.tanks if tank.time < self.end or tank.waiting]
            if not moving:
                return
            tank = self.random.choice(moving)
            tank.evoke()
            if not tank.waiting and tank.time < self.end:
                tank.go_on()
            self.network.run_until(
                lambda: False, self.network.clock.now + self.random.choice((0.0, 0.001, 0.01))
            )
        raise AssertionError("the tanks do not arrive")

    def wanted(self, tank: Tank) -> set[tuple[int, str]]:
        """By definition: where the others are as of the time of their messages, and what this one sees as of that time."""
        found = set()
        for other in self.tanks:
            for time in other.sent if other is not tank else ():
                sight = around(tank.where(time), SIGHT)
                if time <= self.end and meet(around(other.where(time), 0), sight):
                    found.add((time, f"{other.name} at {time}"))
        return found

    def digest(self) -> str:
        """Of everything in time stamp order that anybody heard."""
        text = repr([(tank.name, tank.heard, tank.grants) for tank in self.tanks])
        return hashlib.sha256(text.encode()).hexdigest()
