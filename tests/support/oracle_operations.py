"""Random operations for the bench, as (operation, seat, further arguments); `support.oracle_calls` makes them.

An operation is chosen at random with an eye on the oracle's state, so that most succeed and all refusals still occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from support.oracle_bench import NOBODY, NOTHING, SWITCHES, Bench
from support.oracle_state import Thing, Who
from support.small_fom import (
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
from weft import ResignAction
from weft.model.time import HLAfloat64Time, HLAinteger64Time

SEATS = 4
Args = tuple[Any, ...]

_TANK = "Vehicle.GroundVehicle.Tank"
_CLASSES = [_TANK, "Vehicle", "Vehicle.GroundVehicle", *OBJECTS, ROOT]
_INTERACTIONS = [*INTERACTIONS, *INTERACTIONS, INTERACTION_ROOT]
_ATTRIBUTES = sorted({a for cls in OBJECTS for a in attributes_of(cls)})
_PARAMETERS = sorted({p for cls in INTERACTIONS for p in parameters_of(cls)})
_ANSWERS = ("confirm", "cancel_divestiture", "deny", "divest_if_wanted")
_TIMES = [None, None, None, None, HLAfloat64Time(1.5), HLAinteger64Time(2)]


class Chooser:
    """Chooses an operation's arguments with an eye on the state: mostly what can succeed, now and then what cannot."""

    def __init__(self, bench: Bench, random: Random) -> None:
        self.random = random
        self.bench = bench
        joined = list(bench.oracle.who)
        self.seat = (
            self.random.choice(joined) if joined and not self.rarely() else self.random.randrange(SEATS)
        )
        self.me = bench.oracle.who.get(self.seat)

    def rarely(self) -> bool:
        return self.random.random() < 0.05

    def likely(self, sensible: Iterable[Any], otherwise: Iterable[Any]) -> Any:
        """Mostly one of the sensible, if there are any."""
        good, any_ = (
            sorted(sensible, key=repr),
            list(otherwise),
        )  # a set's own order is not the same every time
        return self.random.choice(good if good and self.random.random() < 0.9 else any_)

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
        able = [seat for seat, who in self.bench.oracle.who.items() if self.able(name, who)]
        self.seat = self.likely(able, [self.seat])
        self.me = self.bench.oracle.who.get(self.seat)
        args = getattr(self, name)()  # joining settles on another seat
        return name, self.seat, *args

    def able(self, name: str, who: Who) -> bool:
        """Could this federate do it with success?"""
        things = self.bench.oracle.things.values()
        if name in ("update", "delete", "change_way"):
            return any(who in thing.owners.values() for thing in things)
        if name == "local_delete":
            return any(who in thing.known and who not in thing.owners.values() for thing in things)
        if name in ("request_instance", "send_directed"):
            return any(who in thing.known for thing in things) and (
                name != "send_directed" or bool(who.directs)
            )
        if name in ("divest", "negotiate"):
            return any(who in thing.owners.values() for thing in things)
        if name in _ANSWERS:
            return any(self.answerable(name, thing, who) for thing in things)
        if name == "acquire":
            return any(self.acquirable(thing, who) for thing in things)
        if name == "cancel_acquisition":
            return any(bid.who is who for thing in things for bid in thing.bids)
        if name == "achieve":
            return any(who in point.waiting for point in self.bench.oracle.points.values())
        return {"register": bool(who.published), "send": bool(who.sends)}.get(name, False)

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

    def first_thing(self, *sensible: Callable[[Thing, Who], bool]) -> tuple[Any, Thing | None]:
        """As `thing`, by the first of these that holds of any."""
        things = self.bench.oracle.things.values()
        for asked in sensible:
            if self.me is not None and any(asked(thing, self.me) for thing in things):
                return self.thing(asked)
        return self.thing(sensible[-1])

    def tag(self) -> bytes:
        return bytes(self.one(b"", b"tag"))

    def way(self) -> str:
        return str(self.one(RELIABLE, BEST_EFFORT, RELIABLE, BEST_EFFORT, RELIABLE, BEST_EFFORT, "?"))

    def owned_thing(self) -> tuple[Any, set[str]]:
        handle, thing = self.thing(lambda thing, me: me in thing.owners.values())
        mine = [] if thing is None else [a for a, owner in thing.owners.items() if owner is self.me]
        if mine and self.one(True, False):
            return handle, set(mine)
        return handle, self.some(mine or _ATTRIBUTES[:3], _ATTRIBUTES)

    def known_thing(self) -> tuple[Any, set[str]]:
        handle, thing = self.thing(lambda thing, me: me in thing.known)
        at = _TANK if thing is None else self.likely([thing.known.get(self.me, _TANK)], [thing.cls])  # type: ignore[arg-type]
        return handle, self.attributes(at)

    def answerable(self, name: str, thing: Thing, who: Who) -> list[str]:
        """The attributes that somebody waits to hear of from this owner."""
        wanted = [bid.name for bid in thing.bids]
        offered = list(thing.offers)
        heard = {
            "confirm": [a for a in wanted if a in offered],
            "cancel_divestiture": offered,
            "deny": wanted,
            "divest_if_wanted": wanted,
        }
        return [a for a in heard[name] if thing.owners.get(a) is who]

    def acquirable(self, thing: Thing, who: Who) -> list[str]:
        published = who.published.get(thing.known.get(who, "?"), ())
        return [a for a in published if thing.owners.get(a) is not who]

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
        cls = self.cls(self.me.published if self.me and self.one(True, False) else ())
        return cls, self.attributes(cls)

    def unpublish(self) -> Args:
        cls = self.cls(self.me.published if self.me else ())
        return cls, self.one(None, self.attributes(cls), self.attributes(cls))

    def subscribe(self) -> Args:
        cls = self.cls(self.me.subscribed if self.me and self.one(True, False, False) else ())
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

    # --- ownership --------------------------------------------------------------------------------------------

    def divest(self) -> Args:
        return *self.owned_thing(), self.tag()

    def negotiate(self) -> Args:
        return *self.owned_thing(), self.tag()

    def answer(self, name: str) -> tuple[Any, set[str]]:
        handle, thing = self.first_thing(
            lambda thing, me: bool(self.answerable(name, thing, me)),
            lambda thing, me: me in thing.owners.values(),
        )
        due = [] if thing is None or self.me is None else self.answerable(name, thing, self.me)
        mine = [] if thing is None else [a for a, owner in thing.owners.items() if owner is self.me]
        chosen = self.likely([due], [mine])
        return handle, self.some(chosen or mine or _ATTRIBUTES[:3], _ATTRIBUTES)

    def confirm(self) -> Args:
        return *self.answer("confirm"), self.tag()

    def cancel_divestiture(self) -> Args:
        return self.answer("cancel_divestiture")

    def deny(self) -> Args:
        return *self.answer("deny"), self.tag()

    def divest_if_wanted(self) -> Args:
        return *self.answer("divest_if_wanted"), self.tag()

    def acquire(self) -> Args:
        handle, thing = self.first_thing(
            lambda thing, me: bool(self.acquirable(thing, me)), lambda thing, me: me in thing.known
        )
        able = [] if thing is None or self.me is None else self.acquirable(thing, self.me)
        if thing is not None and self.rarely():
            able = list(attributes_of(thing.cls))
        names = self.some(able or _ATTRIBUTES[:3], _ATTRIBUTES)
        return handle, names, self.tag(), self.one(True, True, False)

    def cancel_acquisition(self) -> Args:
        handle, thing = self.first_thing(
            lambda thing, me: me in [bid.who for bid in thing.bids], lambda thing, me: me in thing.known
        )
        bids = [] if thing is None else [bid.name for bid in thing.bids if bid.who is self.me]
        return handle, self.some(bids or _ATTRIBUTES[:3], _ATTRIBUTES)

    def query_ownership(self) -> Args:
        return self.known_thing()

    def is_owned(self) -> Args:
        handle, names = self.known_thing()
        return handle, self.one(*sorted(names or {PRIVILEGE}))

    def set_switch(self) -> Args:
        return self.one(*SWITCHES), self.one(True, False)


WEIGHTS = {
    "evoke": 3,
    "join": 2,
    "resign": 1,
    "publish": 3,
    "unpublish": 2,
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
    "divest": 1,
    "negotiate": 2,
    "confirm": 2,
    "cancel_divestiture": 1,
    "deny": 1,
    "divest_if_wanted": 2,
    "acquire": 4,
    "cancel_acquisition": 1,
    "query_ownership": 1,
    "is_owned": 1,
}
