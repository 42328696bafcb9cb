"""Random operations for the bench: how they are chosen, and how each is called at the real RTI.

An operation is chosen at random with an eye on the oracle's state, so that most succeed and all refusals still occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from support.bench import NOBODY, NOTHING, SWITCHES, Bench
from support.fom import (
    BEST_EFFORT,
    INTERACTION_ROOT,
    INTERACTIONS,
    OBJECTS,
    PRIVILEGE,
    RATES,
    RELIABLE,
    ROOT,
    attributes_of,
    parameters_of,
)
from support.oracle_state import Thing, Who

from weft import ResignAction
from weft.model.time import HLAfloat64Time, HLAinteger64Time

SEATS = 4
Args = tuple[Any, ...]

_TANK = "Vehicle.GroundVehicle.Tank"
_CLASSES = [_TANK, "Vehicle", "Vehicle.GroundVehicle", *OBJECTS, ROOT]
_INTERACTIONS = [*INTERACTIONS, *INTERACTIONS, INTERACTION_ROOT]
_ATTRIBUTES = sorted({a for cls in OBJECTS for a in attributes_of(cls)})
_PARAMETERS = sorted({p for cls in INTERACTIONS for p in parameters_of(cls)})
_TIMES = [None, None, None, None, HLAfloat64Time(1.5), HLAinteger64Time(2)]


class Chooser:
    """Chooses an operation's arguments with an eye on the state: mostly what can succeed, now and then what cannot."""

    def __init__(self, bench: Bench, random: Random) -> None:
        self.random = random
        self.bench = bench
        joined = list(bench.oracle.who)
        self.seat = self.random.choice(joined) if joined and not self.rarely() else self.random.randrange(SEATS)
        self.me = bench.oracle.who.get(self.seat)

    def rarely(self) -> bool:
        return self.random.random() < 0.08

    def likely(self, sensible: Iterable[Any], otherwise: Iterable[Any]) -> Any:
        """Mostly one of the sensible, if there are any."""
        good, any_ = sorted(sensible, key=repr), list(otherwise)  # a set's own order is not the same every time
        return self.random.choice(good if good and self.random.random() < 0.8 else any_)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def some(self, own: Iterable[str], foreign: list[str]) -> set[str]:
        """A subset, mostly not empty; rarely with something that does not belong."""
        pool = sorted(own)
        chosen = set(self.random.sample(pool, self.random.randint(0, len(pool)))) or set(pool)
        if self.rarely():
            chosen.clear()
        if self.rarely():
            chosen.add(self.random.choice([*foreign, "?"]))
        return chosen

    def operation(self, *which: str) -> Args:
        """(operation, seat, further arguments); of these operations, or of all."""
        names = which or tuple(WEIGHTS)
        name = self.random.choices(names, [WEIGHTS[name] for name in names])[0]
        args = getattr(self, name)()  # which may settle on another seat
        return name, self.seat, *args

    # --- parts ------------------------------------------------------------------------------------------------

    def cls(self, sensible: Iterable[str] = ()) -> str:
        return "?" if self.rarely() else str(self.likely(sensible, _CLASSES))

    def attributes(self, cls: str) -> set[str]:
        return self.some(() if cls == "?" else attributes_of(cls), _ATTRIBUTES)

    def interaction(self, sensible: Iterable[str] = ()) -> str:
        return "?" if self.rarely() else str(self.likely(sensible, _INTERACTIONS))

    def parameters(self, cls: str) -> set[str]:
        return self.some(() if cls == "?" else parameters_of(cls), _PARAMETERS)

    def thing(self, sensible: Callable[[Thing, Who], bool]) -> tuple[Any, Thing | None]:
        """An instance, by preference one of which that holds; and the oracle's idea of it."""
        things = self.bench.oracle.things
        good = [] if self.me is None else [h for h, thing in things.items() if sensible(thing, self.me)]
        handle = self.likely(good, [*self.bench.instances[-6:], NOTHING])
        return handle, things.get(handle)

    def tag(self) -> bytes:
        return bytes(self.one(b"", b"tag"))

    def way(self) -> str:
        return str(self.one(RELIABLE, BEST_EFFORT, RELIABLE, BEST_EFFORT, RELIABLE, BEST_EFFORT, "?"))

    def owned_thing(self) -> tuple[Any, set[str]]:
        handle, thing = self.thing(lambda thing, me: me in thing.owners.values())
        mine = [] if thing is None else [a for a, owner in thing.owners.items() if owner is self.me]
        return handle, self.some(mine or _ATTRIBUTES[:3], _ATTRIBUTES)

    def known_thing(self) -> tuple[Any, set[str]]:
        handle, thing = self.thing(lambda thing, me: me in thing.known)
        at = _TANK if thing is None else self.likely([thing.known.get(self.me, _TANK)], [thing.cls])  # type: ignore[arg-type]
        return handle, self.attributes(at)

    # --- operations -------------------------------------------------------------------------------------------

    def evoke(self) -> Args:
        return ()

    def join(self) -> Args:
        absent = [seat for seat in range(SEATS) if seat not in self.bench.oracle.who]
        self.seat = self.likely(absent, range(SEATS))
        return ()

    def resign(self) -> Args:
        return (self.one(*ResignAction),)

    def publish(self) -> Args:
        cls = self.cls()
        return cls, self.attributes(cls)

    def unpublish(self) -> Args:
        cls = self.cls(self.me.published if self.me else ())
        return cls, self.one(None, self.attributes(cls), self.attributes(cls))

    def subscribe(self) -> Args:
        cls = self.cls()
        rate = "?" if self.rarely() else self.one("", "", *RATES)
        return cls, self.attributes(cls), rate, self.one(True, True, False)

    def unsubscribe(self) -> Args:
        cls = self.cls(self.me.subscribed if self.me else ())
        return cls, self.one(None, self.attributes(cls), self.attributes(cls))

    def publish_interaction(self) -> Args:
        return self.interaction(), self.one(True, True, True, False)

    def subscribe_interaction(self) -> Args:
        active = self.one(True, True, False, None)
        return self.interaction(self.me.receives if self.me and active is None else ()), active

    def directed(self) -> tuple[str, set[str]]:
        cls = self.one("Vehicle", "Vehicle", "Vehicle.GroundVehicle", _TANK, ROOT)
        return "?" if self.rarely() else cls, self.some(["Command", "Command.Halt", "Event"], [*INTERACTIONS])

    def publish_directed(self) -> Args:
        return *self.directed(), self.one(True, True, True, False)

    def subscribe_directed(self) -> Args:
        return *self.directed(), self.one(True, False, None)

    def send(self) -> Args:
        cls = self.interaction(self.me.sends if self.me else ())
        return cls, self.parameters(cls), self.tag(), self.one(*_TIMES)

    def send_directed(self) -> Args:
        cls = self.interaction(["Command.Halt", "Command"])
        handle, _ = self.thing(lambda thing, me: me in thing.known)
        return cls, handle, self.parameters(cls), self.tag()

    def names(self, odd: bool) -> tuple[str, frozenset[str] | None]:
        pool = ["a", "b", "c", "d"]
        if odd and self.rarely():
            pool = ["", "HLAown"]
        several = frozenset(self.random.sample(pool, self.random.randint(0, 2)))
        return self.one(*pool), self.one(None, None, several)

    def reserve(self) -> Args:
        return self.names(odd=True)

    def release(self) -> Args:
        return self.names(odd=False)

    def register(self) -> Args:
        mine = [name for name, holder in self.bench.oracle.reserved.items() if holder is self.me]
        return self.cls(self.me.published if self.me else ()), self.one(None, None, self.likely(mine, "abcd"))

    def update(self) -> Args:
        return *self.owned_thing(), self.tag(), self.one(*_TIMES)

    def delete(self) -> Args:
        handle, _ = self.thing(lambda thing, me: thing.owners.get(PRIVILEGE) is me)
        return handle, self.tag(), self.one(*_TIMES)

    def local_delete(self) -> Args:
        handle, _ = self.thing(lambda thing, me: me in thing.known and me not in thing.owners.values())
        return (handle,)

    def request_instance(self) -> Args:
        return *self.known_thing(), self.tag()

    def request_class(self) -> Args:
        cls = self.cls(thing.cls for thing in self.bench.oracle.things.values())
        return cls, self.attributes(cls), self.tag()

    def change_way(self) -> Args:
        return *self.owned_thing(), self.way()

    def change_default_way(self) -> Args:
        cls = self.cls(self.me.published if self.me else ())
        return cls, self.attributes(cls), self.way()

    def change_interaction_way(self) -> Args:
        return self.interaction(self.me.sends if self.me else ()), self.way()

    def register_point(self) -> Args:
        handles = {who.handle for who in self.bench.oracle.who.values()}
        chosen = self.random.sample(sorted(handles), self.random.randint(0, len(handles)))
        if self.rarely():
            chosen += self.random.sample([*self.bench.federates, NOBODY], 1)
        return self.one("ready", "go"), self.tag(), self.one(None, frozenset(chosen))

    def achieve(self) -> Args:
        announced = [label for label, point in self.bench.oracle.points.items() if self.me in point.waiting]
        return self.likely(announced, ["ready", "go"]), self.one(None, True, False)

    def set_switch(self) -> Args:
        return self.one(*SWITCHES), self.one(True, False)


WEIGHTS = {
    "evoke": 3,
    "join": 2,
    "resign": 2,
    "publish": 3,
    "unpublish": 3,
    "subscribe": 6,
    "unsubscribe": 4,
    "publish_interaction": 2,
    "subscribe_interaction": 3,
    "publish_directed": 2,
    "subscribe_directed": 2,
    "send": 6,
    "send_directed": 3,
    "reserve": 3,
    "release": 1,
    "register": 8,
    "update": 9,
    "delete": 2,
    "local_delete": 3,
    "request_instance": 2,
    "request_class": 2,
    "change_way": 1,
    "change_default_way": 1,
    "change_interaction_way": 1,
    "register_point": 2,
    "achieve": 4,
    "set_switch": 2,
}


def perform(bench: Bench, operation: str, seat: int, *args: Any) -> None:
    """Do it at the bench: operations that only need their names turned to handles are in `_CALLS`."""
    if operation in _CALLS:
        real, predicted = _CALLS[operation](bench, bench.real.rti[seat], *args)
        bench.simple(seat, operation, real, *predicted)
    else:
        bench.do(operation, seat, *args)


def _publish(b: Bench, rti: Any, cls: str, names: set[str]) -> Any:
    return lambda: rti.publish_object_class_attributes(b.classes[cls], b.set_of(names)), (cls, names)


def _unpublish(b: Bench, rti: Any, cls: str, names: set[str] | None) -> Any:
    if names is None:
        return lambda: rti.unpublish_object_class(b.classes[cls]), (cls, None)
    return lambda: rti.unpublish_object_class_attributes(b.classes[cls], b.set_of(names)), (cls, names)


def _subscribe(b: Bench, rti: Any, cls: str, names: set[str], rate: str, active: bool) -> Any:
    service = "subscribe_object_class_attributes" + ("" if active else "_passively")
    call = getattr(rti, service)
    return lambda: call(b.classes[cls], b.set_of(names), rate or None), (cls, names, rate, active)


def _unsubscribe(b: Bench, rti: Any, cls: str, names: set[str] | None) -> Any:
    if names is None:
        return lambda: rti.unsubscribe_object_class(b.classes[cls]), (cls, None)
    return lambda: rti.unsubscribe_object_class_attributes(b.classes[cls], b.set_of(names)), (cls, names)


def _publish_interaction(b: Bench, rti: Any, cls: str, on: bool) -> Any:
    call = rti.publish_interaction_class if on else rti.unpublish_interaction_class
    return lambda: call(b.interactions[cls]), (cls, on)


def _subscribe_interaction(b: Bench, rti: Any, cls: str, active: bool | None) -> Any:
    call = {
        True: rti.subscribe_interaction_class,
        False: rti.subscribe_interaction_class_passively,
        None: rti.unsubscribe_interaction_class,
    }[active]
    return lambda: call(b.interactions[cls]), (cls, active)


def _publish_directed(b: Bench, rti: Any, cls: str, names: set[str], on: bool) -> Any:
    call = (
        rti.publish_object_class_directed_interactions if on else rti.unpublish_object_class_directed_interactions
    )
    return lambda: call(b.classes[cls], {b.interactions[n] for n in names}), (cls, names, on)


def _subscribe_directed(b: Bench, rti: Any, cls: str, names: set[str], universally: bool | None) -> Any:
    call = {
        True: rti.subscribe_object_class_directed_interactions_universally,
        False: rti.subscribe_object_class_directed_interactions,
        None: rti.unsubscribe_object_class_directed_interactions,
    }[universally]
    return lambda: call(b.classes[cls], {b.interactions[n] for n in names}), (cls, names, universally)


def _send(b: Bench, rti: Any, cls: str, names: set[str], tag: bytes, time: Any) -> Any:
    values = {b.parameters[name]: name.encode() for name in sorted(names)}
    return lambda: rti.send_interaction(b.interactions[cls], values, tag, time), (cls, names, tag, time)


def _direct(b: Bench, rti: Any, cls: str, target: Any, names: set[str], tag: bytes) -> Any:
    values = {b.parameters[name]: name.encode() for name in sorted(names)}
    return lambda: rti.send_directed_interaction(b.interactions[cls], target, values, tag), (cls, target, names, tag)


def _reserve(b: Bench, rti: Any, name: str, names: frozenset[str] | None) -> Any:
    if names is None:
        return lambda: rti.reserve_object_instance_name(name), (frozenset([name]), False)
    return lambda: rti.reserve_multiple_object_instance_names(names), (names, True)


def _release(b: Bench, rti: Any, name: str, names: frozenset[str] | None) -> Any:
    if names is None:
        return lambda: rti.release_object_instance_name(name), (frozenset([name]),)
    return lambda: rti.release_multiple_object_instance_names(names), (names,)


def _update(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes, time: Any) -> Any:
    values = {b.attributes[name]: name.encode() for name in sorted(names)}
    return lambda: rti.update_attribute_values(target, values, tag, time), (target, names, tag, time)


def _delete(b: Bench, rti: Any, target: Any, tag: bytes, time: Any) -> Any:
    return lambda: rti.delete_object_instance(target, tag, time), (target, tag, time)


def _local_delete(b: Bench, rti: Any, target: Any) -> Any:
    return lambda: rti.local_delete_object_instance(target), (target,)


def _request_instance(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes) -> Any:
    return lambda: rti.request_attribute_value_update(target, b.set_of(names), tag), (target, names, tag)


def _request_class(b: Bench, rti: Any, cls: str, names: set[str], tag: bytes) -> Any:
    return lambda: rti.request_attribute_value_update(b.classes[cls], b.set_of(names), tag), (cls, names, tag)


def _change_way(b: Bench, rti: Any, target: Any, names: set[str], way: str) -> Any:
    call = rti.request_attribute_transportation_type_change
    return lambda: call(target, b.set_of(names), b.ways[way]), (target, names, way)


def _change_default_way(b: Bench, rti: Any, cls: str, names: set[str], way: str) -> Any:
    call = rti.change_default_attribute_transportation_type
    return lambda: call(b.classes[cls], b.set_of(names), b.ways[way]), (cls, names, way)


def _change_interaction_way(b: Bench, rti: Any, cls: str, way: str) -> Any:
    call = rti.request_interaction_transportation_type_change
    return lambda: call(b.interactions[cls], b.ways[way]), (cls, way)


def _achieve(b: Bench, rti: Any, label: str, well: bool | None) -> Any:
    return lambda: rti.synchronization_point_achieved(label, well), (label, well is not False)


_CALLS: dict[str, Callable[..., Any]] = {
    "publish": _publish,
    "unpublish": _unpublish,
    "subscribe": _subscribe,
    "unsubscribe": _unsubscribe,
    "publish_interaction": _publish_interaction,
    "subscribe_interaction": _subscribe_interaction,
    "publish_directed": _publish_directed,
    "subscribe_directed": _subscribe_directed,
    "send": _send,
    "send_directed": _direct,
    "reserve": _reserve,
    "release": _release,
    "update": _update,
    "delete": _delete,
    "local_delete": _local_delete,
    "request_instance": _request_instance,
    "request_class": _request_class,
    "change_way": _change_way,
    "change_default_way": _change_default_way,
    "change_interaction_way": _change_interaction_way,
    "achieve": _achieve,
}
