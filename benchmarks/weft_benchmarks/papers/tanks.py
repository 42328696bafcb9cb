"""Tanks that drive about a square and look about themselves, on the real kernel over simulated nodes: figures 3 to 5 of paper
004, at scale (S4-13, S4-19, S4-23).

What a tank does follows from its number and the times it is granted, and from nothing else.  At time t it says where it will be,
and what it will see, as of t plus lookahead, and sends its position with that time stamp.  Tanks take steps of different
length, so they are apart in logical time, and their messages and changes cross.

    LOGICAL   regions change as of that time
    WALL      they change when the news arrives (a plain HLA call), said as early as it can be: before the lookahead
    WALL_NOW  … said when it holds, at t: what a federate does that knows nothing of lookahead

Who should have heard what follows from where everybody said to be at which time, whatever the network did: nothing of the RTI is
asked.  What it cost is what the nodes count themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from weft import (
    CallbackModel,
    FederateAmbassador,
    HLAinteger64Interval,
    HLAinteger64Time,
    OrderType,
    RTIambassador,
    Source,
)
from weft.fabric import Topology, plan
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.kernel.state.topics import EVERYWHERE
from weft.model.handles import ObjectInstanceHandle, RegionHandle
from weft.model.records import RangeBounds

NAME: Final = "tanks"
SIDE: Final = 100
SIGHT: Final = 12
STEP: Final = (
    0.01  # seconds of virtual time that a tank takes between a grant and what it does next, on average
)
_DEPTH: Final = 12  # tanks that act while the call of another waits
LOGICAL: Final = "logical time"
WALL: Final = "wall clock"
WALL_NOW: Final = "wall, said late"

Box = tuple[tuple[int, int], tuple[int, int]]
Place = tuple[int, int]


@dataclass(frozen=True)
class Drive:
    """What is run."""

    mode: str = LOGICAL
    tanks: int = 8
    end: int = 24
    lookahead: int = 2
    side: int = SIDE
    nodes: int = 4
    delay: float = 1.0  # of a link, and up to twice as much more by chance; in steps, which take a tank so long by itself
    cells: str = ""  # the CellOptions of the RID file
    crowded: bool = False  # most tanks stay in a corner, a quarter of the side wide
    rests: int = 1  # a tank moves, and with it its regions, in one of so many steps; it sends in each

    def network(self, seed: int) -> FabricNetwork:
        delay = self.delay * STEP
        profile = FabricProfile(delay=delay, jitter=2 * delay, commit=0.3 * delay)
        topology: Topology = plan(self.nodes, "flat" if self.nodes <= 8 else "bus")
        text = f"(RTI (DataDistribution (StrategyToUse Exact) {self.cells}))"
        return FabricNetwork(
            topology, seed, profile, lost_seconds=1e9, rid=Source("tanks.rid", text.encode())
        )


def model(side: int = SIDE) -> Source:
    dimensions = "".join(f"<dimension>{d}</dimension>" for d in "XY")
    axes = "".join(
        f"<dimension><name>{d}</name><dataType>HLAinteger32BE</dataType><upperBound>{side}</upperBound>"
        "<normalization>none</normalization><value>Excluded</value></dimension>"
        for d in "XY"
    )
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>Tanks</name><type>FOM</type></modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Tank</name><sharing>PublishSubscribe</sharing>
<attribute><name>Position</name><dataType>HLAASCIIstring</dataType><updateType>Conditional</updateType>
<updateCondition>on change</updateCondition><ownership>DivestAcquire</ownership><sharing>PublishSubscribe</sharing>
<dimensions>{dimensions}</dimensions><transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name></interactionClass></interactions>
<dimensions>{axes}</dimensions></objectModel>"""
    return Source("tanks", text.encode())


def around(place: Place, reach: int, side: int = SIDE) -> Box:
    x, y = [(max(0, at - reach), min(side, at + reach + 1)) for at in place]
    return x, y


def meet(one: Box, other: Box) -> bool:
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(one, other, strict=True))


class _Ears(FederateAmbassador):
    def __init__(self, tank: Tank) -> None:
        self.tank = tank

    def reflect_attribute_values(self, *arguments: object, **_: object) -> None:
        self.tank.reflected(*arguments)

    def time_advance_grant(self, time: object) -> None:
        assert isinstance(time, HLAinteger64Time)
        self.tank.granted(time.value)


class Tank:
    def __init__(self, field: Field, number: int, node: str) -> None:
        self.field = field
        self.number = number
        self.node = node
        self.name = f"tank {number}"
        self.rti = RTIambassador(field.network.at(node))
        self.rti.connect(_Ears(self), CallbackModel.EVOKED)
        side = field.drive.side
        # Where it stays: all of the square, or a corner of it.
        self.room = side // 4 if field.drive.crowded and number % 4 else side
        draw = Random(number)
        self.way = [draw.randrange(self.room), draw.randrange(self.room)]
        self.pace = [draw.choice((-7, -3, 3, 7)), draw.choice((-5, -2, 2, 5))]
        self.stride = 1 + number % 3
        self.time = 0
        self.waiting = False
        self.busy = False
        self.heard: list[tuple[int, str]] = []
        self.grants: list[int] = []
        self.past: list[tuple[int, str]] = []
        # What it said: from when on it is where, and sees what.
        self.places: list[tuple[int, Place]] = [(-1, (self.way[0], self.way[1]))]
        self.sent: list[int] = []

    def where(self, time: int) -> Place:
        return [place for since, place in self.places if since <= time][-1]

    # --- what it does -----------------------------------------------------------------------------------------

    def join(self) -> None:
        rti = self.rti
        rti.join_federation_execution(self.name, "tank", NAME)
        self.tank = rti.get_object_class_handle("Tank")
        self.position = rti.get_attribute_handle(self.tank, "Position")
        self.axes = [rti.get_dimension_handle(name) for name in "XY"]
        self.body, self.sight = rti.create_region(set(self.axes)), rti.create_region(set(self.axes))
        self._place(self.body, 0, 0)
        self._place(self.sight, 0, SIGHT)
        rti.commit_region_modifications({self.body, self.sight})
        rti.publish_object_class_attributes(self.tank, {self.position})
        rti.subscribe_object_class_attributes_with_regions(self.tank, [({self.position}, {self.sight})])
        self.instance: ObjectInstanceHandle = rti.register_object_instance_with_regions(
            self.tank, [({self.position}, {self.body})]
        )

    def _place(self, region: RegionHandle, time: int, reach: int) -> None:
        bounds = around(self.where(time), reach, self.field.drive.side)
        for axis, (low, high) in zip(self.axes, bounds, strict=True):
            self.rti.set_range_bounds(region, axis, RangeBounds(low, high))

    def enable(self) -> None:
        self.rti.enable_time_regulation(HLAinteger64Interval(self.field.drive.lookahead))
        self.rti.enable_time_constrained()

    def act(self) -> None:
        """From time to time, also while calls of others wait for their answers; then it is asked again a little later."""
        field = self.field
        if not self.busy and field.acting < _DEPTH:
            self.busy = True
            field.acting += 1
            self.evoke()
            if not self.waiting and self.time < field.drive.end:
                self.go_on()
            field.acting -= 1
            self.busy = False
        if self.time < field.drive.end or self.waiting:
            self.rest()

    def rest(self) -> None:
        network = self.field.network
        network.clock.at(network.clock.now + self.field.random.expovariate(1 / STEP), self.act)

    def go_on(self) -> None:
        """Drive, tell, and ask for time."""
        drive = self.field.drive
        time = self.time + drive.lookahead
        if len(self.sent) % drive.rests == 0:
            for axis in (0, 1):
                self.way[axis] = (self.way[axis] + self.pace[axis]) % self.room
            self.places.append((time, (self.way[0], self.way[1])))
            self._place(self.body, time, 0)
            self._place(self.sight, self.time if drive.mode == WALL_NOW else time, SIGHT)
            regions = {self.body, self.sight}
            if drive.mode == LOGICAL:
                self.rti.commit_region_modifications(regions, time=HLAinteger64Time(time))
            else:
                self.rti.commit_region_modifications(regions)
        self.sent.append(time)
        value = f"{self.name} at {time}".encode()
        self.rti.update_attribute_values(self.instance, {self.position: value}, b"", HLAinteger64Time(time))
        self.field.look_at_groups(self, time)
        self.waiting = True
        self.rti.time_advance_request(HLAinteger64Time(min(drive.end, self.time + self.stride)))

    def evoke(self) -> None:
        while self.rti.evoke_callback(0.0):
            pass

    # --- what it hears ----------------------------------------------------------------------------------------

    def reflected(self, *arguments: object) -> None:
        values, stamp, received = arguments[1], arguments[6], arguments[8]
        assert isinstance(values, dict)
        assert isinstance(stamp, HLAinteger64Time)
        message = (stamp.value, values[self.position].decode())
        self.heard.append(message)
        if stamp.value <= self.time or received is not OrderType.TIMESTAMP:
            self.past.append(message)

    def granted(self, time: int) -> None:
        self.time = time
        self.grants.append(time)
        self.waiting = False


class Found(NamedTuple):
    """Of one run.  Of federates: messages.  Of nodes: what they count (`kernel.survey.federates.regions_in_time`), of all."""

    sent: int  # updates
    wanted: int  # by definition
    lost: int
    wrong: int  # heard, and not wanted
    past: int  # heard too late
    at_once: int  # federates an update was sent to when it was made
    asked: int  # federates on the lists of its cells: what cells alone would send
    late: int
    retracted: int  # messages that waited and came not to be wanted
    log: int  # the most entries that one node had at once
    changes: int
    lists: int  # of cells, that changes touched
    messages: int  # of any kind, between nodes
    bytes_: int  # of any kind, between nodes
    seconds: float  # of virtual time
    digest: str
    casts: int  # datagrams, had each cell a multicast group
    group_copies: int  # … and nodes that would have got one
    node_copies: int  # other nodes that an update was for when it was made


class Field:
    """All tanks, on a network with the delays of a seed."""

    def __init__(self, drive: Drive, seed: int, network: FabricNetwork | None = None) -> None:
        self.drive = drive
        self.random = Random(seed)
        self.network = drive.network(seed) if network is None else network
        self.network.watched = network is None
        self.casts = self.group_copies = self.node_copies = 0
        self.acting = 0
        nodes = self.network.topology.servers
        self.tanks = [Tank(self, n, nodes[n % len(nodes)]) for n in range(drive.tanks)]
        self.tanks[0].rti.create_federation_execution(NAME, [model(drive.side)], "HLAinteger64Time")
        for tank in self.tanks:
            tank.join()
        for tank in self.tanks:
            tank.enable()
        self.network.settle()
        for tank in self.tanks:
            tank.evoke()
        self._began = self.network.clock.now
        self._messages = self.network.messages
        self.network.crossed.clear()

    def run(self) -> Field:
        for tank in self.tanks:
            tank.rest()
        tanks, end = self.tanks, self.drive.end
        if not self.network.run_until(lambda: not any(one.time < end or one.waiting for one in tanks)):
            raise RuntimeError(f"{self.drive}: the tanks do not arrive")
        return self

    def wanted(self, tank: Tank) -> set[tuple[int, str]]:
        """By definition: where the others are as of the time of their messages, and what this one sees as of that time."""
        found = set()
        side = self.drive.side
        for other in self.tanks:
            for time in other.sent if other is not tank else ():
                sight = around(tank.where(time), SIGHT, side)
                if time <= self.drive.end and meet(around(other.where(time), 0, side), sight):
                    found.add((time, f"{other.name} at {time}"))
        return found

    def digest(self) -> str:
        """Of everything in time stamp order that anybody heard."""
        text = repr([(tank.name, tank.heard, tank.grants) for tank in self.tanks])
        return hashlib.sha256(text.encode()).hexdigest()

    def look_at_groups(self, tank: Tank, time: int) -> None:
        """S4-17: had each cell a multicast group, of all who are on its list at a time that is not past."""
        federation = self.network.node(tank.node).federations[NAME]
        nodes = {member.handle.number: member.node for member in federation.members.values()}
        for topic in federation.distribution.topics.values():
            place = around(tank.where(time), 0, self.drive.side)
            lists = topic.interest.lists
            cells = topic.interest.grid.cells((place,)) - {EVERYWHERE}
            away = [{nodes[one] for one in lists.group(cell)} - {tank.node} for cell in cells]
            self.casts += sum(1 for group in away if group)
            self.group_copies += sum(len(group) for group in away)
        logged = list(federation.distribution.log.values())[-1]
        self.node_copies += len({nodes[one.number] for one in logged.attributes} - {tank.node})

    def found(self) -> Found:
        wanted = [self.wanted(tank) for tank in self.tanks]
        heard = [tank.heard for tank in self.tanks]
        counted = self._counts()
        return Found(
            sent=sum(len(tank.sent) for tank in self.tanks),
            wanted=sum(map(len, wanted)),
            lost=sum(len(should - set(did)) for should, did in zip(wanted, heard, strict=True)),
            wrong=sum(len(set(did) - should) for should, did in zip(wanted, heard, strict=True)),
            past=sum(len(tank.past) for tank in self.tanks),
            at_once=_sum(counted, "sent"),
            asked=_sum(counted, "asked"),
            late=_sum(counted, "late"),
            retracted=_sum(counted, "dropped"),
            log=max(one["most"] for one in counted),
            changes=max(one["changes"] for one in counted),
            lists=_sum(counted, "lists"),
            messages=self.network.messages - self._messages,
            bytes_=sum(len(data) for _, _, data in self.network.crossed),
            seconds=self.network.clock.now - self._began,
            digest=self.digest(),
            casts=self.casts,
            group_copies=self.group_copies,
            node_copies=self.node_copies,
        )

    def _counts(self) -> list[dict[str, int]]:
        """As each node tells it to a federate that asks."""
        asked = {tank.node: tank for tank in self.tanks}
        found = []
        for tank in asked.values():
            (one,) = [told for told in tank.rti.query_status() if told["federation"] == NAME]
            found.append(one["regions"])
        return found


def _sum(counted: Sequence[dict[str, int]], name: str) -> int:
    return sum(one[name] for one in counted)


def drive(how: Drive, seed: int) -> Found:
    return Field(how, seed).run().found()
