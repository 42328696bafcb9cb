"""The oracle's state, membership, declarations and synchronization points.  The rules are in `support.oracle`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from support import oracle_advisories, oracle_transfers
from support.small_fom import PRIVILEGE, ROOT, attributes_of, lineage
from weft import ResignAction
from weft.model.enums import SynchronizationPointFailureReason as Failure

DELETING = {"DELETE_OBJECTS", "DELETE_OBJECTS_THEN_DIVEST", "CANCEL_THEN_DELETE_THEN_DIVEST"}
DIVESTING = {
    "UNCONDITIONALLY_DIVEST_ATTRIBUTES",
    "DELETE_OBJECTS_THEN_DIVEST",
    "CANCEL_THEN_DELETE_THEN_DIVEST",
}
CANCELLING = {"CANCEL_PENDING_OWNERSHIP_ACQUISITIONS", "CANCEL_THEN_DELETE_THEN_DIVEST"}


class Refused(Exception):
    def __init__(self, *names: str) -> None:
        self.names = set(names)


def refuse_if(**faults: bool) -> None:
    found = [name for name, holds in faults.items() if holds]
    if found:
        raise Refused(*found)


@dataclass(eq=False)
class Who:
    """A joined federate."""

    seat: int  # which ambassador it is
    handle: Any
    switches: dict[str, bool]
    published: dict[str, set[str]] = field(default_factory=dict)
    subscribed: dict[str, dict[str, tuple[bool, str]]] = field(default_factory=dict)  # active, rate
    sends: set[str] = field(default_factory=set)
    receives: dict[str, bool] = field(default_factory=dict)  # active
    directs: dict[str, set[str]] = field(default_factory=dict)
    directed: dict[str, dict[str, bool]] = field(default_factory=dict)  # universally
    transportations: dict[str, str] = field(default_factory=dict)  # of interaction classes
    defaults: dict[str, dict[str, str]] = field(default_factory=dict)  # of attributes, by class
    told: dict[str, dict[Any, Any]] = field(default_factory=dict)  # by advisory


@dataclass(eq=False)
class Thing:
    """An object instance."""

    handle: Any
    name: str
    cls: str
    producer: Any
    owners: dict[str, Who]
    transportations: dict[str, str]
    known: dict[Who, str] = field(default_factory=dict)  # at which class
    offers: dict[str, bytes] = field(default_factory=dict)
    bids: list[oracle_transfers.Bid] = field(default_factory=list)


@dataclass(eq=False)
class Point:
    tag: bytes
    waiting: list[Who]
    everyone: bool
    achieved: dict[Who, bool] = field(default_factory=dict)


Out = list[tuple[int, str, tuple[Any, ...]]]


class Declaring:
    """Each service returns the callbacks (seat, method, arguments) it leads to, or raises `Refused`."""

    def __init__(
        self, auto_provide: bool = False, switches: tuple[str, ...] = (), use_known_class: bool = False
    ) -> None:
        self.auto_provide = auto_provide
        self.use_known_class = use_known_class
        self.initial = {name: name in switches for name in oracle_advisories.SWITCHES}
        self.who: dict[int, Who] = {}
        self.former: list[Any] = []  # handles of those who resigned
        self.things: dict[Any, Thing] = {}
        self.reserved: dict[str, Who] = {}
        self.points: dict[str, Point] = {}
        self.asked: set[oracle_transfers.Question] = set()

    # --- helpers ----------------------------------------------------------------------------------------------

    def me(self, seat: int) -> Who:
        refuse_if(FederateNotExecutionMember=seat not in self.who)
        return self.who[seat]

    def known(self, me: Who, handle: Any) -> tuple[Thing, str]:
        thing = self.things.get(handle)
        if thing is None or me not in thing.known:
            raise Refused("ObjectInstanceNotKnown")
        return thing, thing.known[me]

    def check_class(self, cls: str, names: set[str] | None = None) -> None:
        refuse_if(ObjectClassNotDefined=cls == "?")
        refuse_if(AttributeNotDefined=bool((names or set()) - set(attributes_of(cls))))

    def advised(self, out: Out, *silent: Who) -> Out:
        return out + oracle_transfers.news(self, list(silent)) + oracle_advisories.news(self)

    def given_up(self, thing: Thing, names: set[str], tag: bytes) -> None:
        thing.owners = {a: owner for a, owner in thing.owners.items() if a not in names}
        thing.offers.update(dict.fromkeys(names, tag))

    def removed(self, thing: Thing, by: Who, tag: bytes, stamp: tuple[Any, ...]) -> Out:
        del self.things[thing.handle]
        arguments = (thing.handle, tag, by.handle, *stamp)
        return [(who.seat, "remove_object_instance", arguments) for who in thing.known if who is not by]

    # --- membership -------------------------------------------------------------------------------------------

    def join(self, seat: int, handle: Any) -> Out:
        refuse_if(FederateAlreadyExecutionMember=seat in self.who)
        new = Who(seat, handle, dict(self.initial))
        self.who[seat] = new
        out: Out = []
        for label, point in self.points.items():
            if point.everyone:
                point.waiting.append(new)
                out.append((seat, "announce_synchronization_point", (label, point.tag)))
        return self.advised(out)

    def resign(self, seat: int, action: ResignAction) -> Out:
        me = self.me(seat)
        owned = [t for t in self.things.values() if me in t.owners.values()]
        deleted = [t for t in owned if action.name in DELETING and t.owners.get(PRIVILEGE) is me]
        bids = [bid for thing in self.things.values() for bid in thing.bids if bid.who is me]
        refuse_if(
            FederateOwnsAttributes=action.name not in DIVESTING and owned != deleted,
            OwnershipAcquisitionPending=action.name not in CANCELLING and bool(bids),
        )
        out: Out = []
        for thing in deleted:
            out += self.removed(thing, me, b"", ())
        for thing in self.things.values():
            thing.known.pop(me, None)
            thing.bids = [bid for bid in thing.bids if bid.who is not me]
            self.given_up(thing, {a for a, owner in thing.owners.items() if owner is me}, b"")
        self.reserved = {name: holder for name, holder in self.reserved.items() if holder is not me}
        del self.who[seat]
        self.former.append(me.handle)
        out += oracle_transfers.settled(self)
        for label, point in list(self.points.items()):
            point.waiting = [w for w in point.waiting if w is not me]
            point.achieved.pop(me, None)
            out += self.concluded(label)
        return self.advised(out)

    # --- declarations -----------------------------------------------------------------------------------------

    def publish(self, seat: int, cls: str, names: set[str]) -> Out:
        me = self.me(seat)
        self.check_class(cls, names)
        if names:
            me.published.setdefault(cls, set()).update(names | {PRIVILEGE})
        return self.advised([])

    def unpublish(self, seat: int, cls: str, names: set[str] | None) -> Out:
        me = self.me(seat)
        refuse_if(ObjectClassNotDefined=cls == "?")
        before = me.published.get(cls, set())
        after = set() if names is None else before - names
        if after == {PRIVILEGE} and before != after:
            after = set()
        known = [thing for thing in self.things.values() if thing.known.get(me) == cls]
        bids = [bid for thing in known for bid in thing.bids if bid.who is me and bid.name in before - after]
        refuse_if(
            AttributeNotDefined=bool((names or set()) - set(attributes_of(cls))),
            OwnershipAcquisitionPending=bool(bids),
        )
        me.published.pop(cls, None)
        if after:
            me.published[cls] = after
        for thing in known:
            self.given_up(thing, {a for a in before - after if thing.owners.get(a) is me}, b"")
        return self.advised(oracle_transfers.settled(self))

    def subscribe(self, seat: int, cls: str, names: set[str], rate: str, active: bool) -> Out:
        me = self.me(seat)
        refuse_if(ObjectClassNotDefined=cls == "?")
        refuse_if(
            AttributeNotDefined=bool(names - set(attributes_of(cls))), InvalidUpdateRateDesignator=rate == "?"
        )
        if not names:
            return []
        me.subscribed.setdefault(cls, {}).update(dict.fromkeys(names, (active, rate)))
        return self.advised(self.discoveries(me, cls))

    def unsubscribe(self, seat: int, cls: str, names: set[str] | None) -> Out:
        me = self.me(seat)
        self.check_class(cls, names)
        before = me.subscribed.pop(cls, {})
        after = {a: wish for a, wish in before.items() if names is not None and a not in names}
        if after:
            me.subscribed[cls] = after
        return self.advised(self.discoveries(me, cls))

    def discoveries(self, me: Who, at: str) -> Out:
        return [
            call
            for thing in self.things.values()
            if at in lineage(thing.cls, ROOT) and me not in thing.known
            for call in self.discovery(me, thing)
        ]

    def discovery(self, me: Who, thing: Thing) -> Out:
        candidate = next((c for c in lineage(thing.cls, ROOT) if me.subscribed.get(c)), None)
        if candidate is None:
            return []
        wanted = [a for a in me.subscribed[candidate] if thing.owners.get(a, me) is not me]
        if not wanted:
            return []
        thing.known[me] = candidate
        arguments = (thing.handle, candidate, thing.name, thing.producer)
        out: Out = [(me.seat, "discover_object_instance", arguments)]
        return out + (self.provision(me, thing, set(wanted), b"") if self.auto_provide else [])

    def provision(self, asker: Who, thing: Thing, names: set[str], tag: bytes) -> Out:
        out: Out = []
        for owner in self.who.values():
            owned = frozenset(a for a in names if thing.owners.get(a) is owner)
            if owned and owner is not asker:
                out.append((owner.seat, "provide_attribute_value_update", (thing.handle, owned, tag)))
        return out

    def publish_interaction(self, seat: int, cls: str, on: bool) -> Out:
        me = self.me(seat)
        refuse_if(InteractionClassNotDefined=cls == "?")
        me.sends = me.sends | {cls} if on else me.sends - {cls}
        return self.advised([])

    def subscribe_interaction(self, seat: int, cls: str, active: bool | None) -> Out:
        """None: unsubscribe."""
        me = self.me(seat)
        refuse_if(InteractionClassNotDefined=cls == "?")
        me.receives.pop(cls, None)
        if active is not None:
            me.receives[cls] = active
        return self.advised([])

    def publish_directed(self, seat: int, cls: str, interactions: set[str], on: bool) -> Out:
        me = self.me(seat)
        refuse_if(ObjectClassNotDefined=cls == "?", InteractionClassNotDefined="?" in interactions)
        held = me.directs.setdefault(cls, set())
        me.directs[cls] = held | interactions if on else held - interactions
        return []

    def subscribe_directed(
        self, seat: int, cls: str, interactions: set[str], universally: bool | None
    ) -> Out:
        me = self.me(seat)
        refuse_if(ObjectClassNotDefined=cls == "?", InteractionClassNotDefined="?" in interactions)
        held = me.directed.setdefault(cls, {})
        for name in interactions:
            held.pop(name, None)
            if universally is not None:
                held[name] = universally
        return []

    # --- synchronization points, switches ---------------------------------------------------------------------

    def register_point(self, seat: int, label: str, tag: bytes, chosen: list[Any] | None) -> Out:
        me = self.me(seat)
        joined = {who.handle: who for who in self.who.values()}
        refuse_if(InvalidFederateHandle=any(h not in joined and h not in self.former for h in chosen or ()))
        reason = None
        if label in self.points:
            reason = Failure.SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE
        if any(h not in joined for h in chosen or ()):
            reason = Failure.SYNCHRONIZATION_SET_MEMBER_NOT_JOINED
        if reason is not None:
            return [(seat, "synchronization_point_registration_failed", (label, reason))]
        waiting = [joined[h] for h in chosen] if chosen else list(self.who.values())
        self.points[label] = Point(tag, waiting, not chosen)
        out: Out = [(me.seat, "synchronization_point_registration_succeeded", (label,))]
        return out + [(who.seat, "announce_synchronization_point", (label, tag)) for who in waiting]

    def achieve(self, seat: int, label: str, successfully: bool) -> Out:
        me = self.me(seat)
        point = self.points.get(label)
        if point is None or me not in point.waiting:
            raise Refused("SynchronizationPointLabelNotAnnounced")
        point.waiting.remove(me)
        point.achieved[me] = successfully
        return self.concluded(label)

    def concluded(self, label: str) -> Out:
        point = self.points[label]
        if point.waiting:
            return []
        del self.points[label]
        failed = frozenset(who.handle for who, well in point.achieved.items() if not well)
        return [(who.seat, "federation_synchronized", (label, failed)) for who in point.achieved]

    def set_switch(self, seat: int, name: str, value: bool) -> Out:
        me = self.me(seat)
        me.switches[name] = value
        return self.advised([])
