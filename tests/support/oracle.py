"""The oracle: what the RTI must do, by brute force.

Nothing here is taken from the kernel.  Classes, attributes and parameters are names from `support.small_fom`; state is plain
dicts and sets; every question is answered by looping over everything, and nothing is remembered that can be worked out.

The rules, as we read IEEE 1516.1-2025 (`who` is a joined federate, a *lineage* is a class, its parent, … the root):

 1. Publishing an attribute of a class publishes HLAprivilegeToDeleteObject of it too.  When the last other attribute is
    unpublished the privilege goes with it.  A class with nothing published is not published.
 2. Registering makes the registrant owner of what it publishes at exactly that class, and it knows the instance at that class.
    Unpublishing an attribute of a class gives up owning it at the instances one knows as of that class.
 3. The candidate class of `who` for an instance is the first class in the lineage at which it subscribes to anything.  `who`
    discovers the instance there if it subscribes there to an attribute that another federate owns.  That is asked when it is
    registered, when `who` subscribes or unsubscribes at the instance's class or one above, and when somebody acquires an
    attribute of it.  The class at which it was discovered is the *known class*, until it is removed or `who` deletes it locally.
 4. An update reaches those who know the instance and subscribe, at their known class, to any of its attributes: these only,
    one reflection for each transportation.  Attributes not available at one's own known class are "not defined" to one.
 5. An interaction is received at the first class of its lineage that is subscribed, with the parameters of that class,
    and with the transportation of the class that was sent.  A directed one goes to those who know the target and subscribe to
    it for a class in the target's lineage: universally, or else only while they own some attribute of the target.
 6. No federate gets its own message back, nor is it asked for values that it owns itself.
 7. A name is reserved by one federate at a time, never while an instance has it; registering uses a reservation up; resigning
    frees them.
 8. Deleting needs the privilege.  Resigning is refused while attributes are owned that the action neither deletes nor divests.
 9. A synchronization point without a set (or with an empty one) is for all, late joiners included; it ends when all to whom it
    was announced have achieved it or have resigned, and those who achieved it are told who failed.
10. Advisories: `support.oracle_advisories`.  Auto-provide: whoever discovers an instance has its owners asked for what
comes into scope.
11. Ownership: `support.oracle_transfers`.  While one has bids, one cannot unpublish what they are for, delete the instance
locally, or
    resign without cancelling them.

A call that breaks several rules may be refused for any of them: `Refused` carries them all.
"""

from __future__ import annotations

from typing import Any

from support.oracle_ownership import Owning
from support.oracle_state import Out, Refused, Thing, Who, refuse_if
from support.small_fom import (
    INTERACTION_ROOT,
    INTERACTIONS,
    PRIVILEGE,
    ROOT,
    attributes_of,
    lineage,
    parameters_of,
)
from weft import OrderType
from weft.model.time import HLAfloat64Time

__all__ = ["Oracle", "Refused"]


def check_time(time: Any) -> None:
    """Of the wrong kind, which a federate cannot even send: it is refused before all that the RTI looks at."""
    refuse_if(InvalidLogicalTime=time is not None and not isinstance(time, HLAfloat64Time))


class Oracle(Owning):
    """Each service returns the callbacks (seat, method, arguments) it leads to, or raises `Refused`."""

    # --- messages ---------------------------------------------------------------------------------------------

    def stamp(self, time: Any) -> tuple[Any, ...]:
        return () if time is None else (time, OrderType.RECEIVE, OrderType.RECEIVE, None)

    def send(self, seat: int, cls: str, names: set[str], tag: bytes, time: Any) -> Out:
        me = self.me(seat)
        check_time(time)
        refuse_if(InteractionClassNotDefined=cls == "?")
        refuse_if(
            InteractionClassNotPublished=cls not in me.sends,
            InteractionParameterNotDefined=bool(names - set(parameters_of(cls))),
        )
        out: Out = []
        for other in self.who.values():
            at = next((c for c in lineage(cls, INTERACTION_ROOT) if c in other.receives), None)
            if other is not me and at is not None:
                kept = frozenset((p, p.encode()) for p in names if p in parameters_of(at))
                arguments = (at, kept, tag, self.way(me, cls), me.handle, None, *self.stamp(time))
                out.append((other.seat, "receive_interaction", arguments))
        return out

    def way(self, me: Who, cls: str) -> str:
        return me.transportations.get(cls) or INTERACTIONS.get(cls, ("HLAreliable", ()))[0]

    def send_directed(self, seat: int, cls: str, handle: Any, names: set[str], tag: bytes) -> Out:
        me = self.me(seat)
        refuse_if(InteractionClassNotDefined=cls == "?")
        thing, _ = self.known(me, handle)
        above = lineage(thing.cls, ROOT)
        refuse_if(
            InteractionClassNotPublished=not any(cls in me.directs.get(c, ()) for c in above),
            InteractionParameterNotDefined=bool(names - set(parameters_of(cls))),
        )
        out: Out = []
        for other in self.who.values():
            wanted = [
                (c, other.directed[target][c])
                for target in above
                for c in lineage(cls, INTERACTION_ROOT)
                if c in other.directed.get(target, {})
            ]
            if other is not me and other in thing.known and wanted:
                at, universally = wanted[0]
                if universally or other in thing.owners.values():
                    kept = frozenset((p, p.encode()) for p in names if p in parameters_of(at))
                    arguments = (at, thing.handle, kept, tag, self.way(me, cls), me.handle)
                    out.append((other.seat, "receive_directed_interaction", arguments))
        return out

    def update(self, seat: int, handle: Any, names: set[str], tag: bytes, time: Any) -> Out:
        me = self.me(seat)
        check_time(time)
        thing, _ = self.known(me, handle)
        self.check_owned(me, thing, names)
        out: Out = []
        for other, at in thing.known.items():
            wanted = names & set(other.subscribed.get(at, {}))
            for way in {self.way_of(thing, a) for a in wanted}:
                if other is not me:
                    kept = frozenset((a, a.encode()) for a in wanted if self.way_of(thing, a) == way)
                    arguments = (thing.handle, kept, tag, way, me.handle, None, *self.stamp(time))
                    out.append((other.seat, "reflect_attribute_values", arguments))
        return out

    def check_owned(self, me: Who, thing: Thing, names: set[str], way: str = "") -> None:
        there = set(attributes_of(thing.known[me]))
        refuse_if(
            AttributeNotDefined=bool(names - there),
            AttributeNotOwned=any(thing.owners.get(a) is not me for a in names & there),
            InvalidTransportationTypeHandle=way == "?",
        )

    def way_of(self, thing: Thing, name: str) -> str:
        return thing.transportations.get(name) or attributes_of(thing.cls)[name]

    # --- names and instances ----------------------------------------------------------------------------------

    def reserve(self, seat: int, names: frozenset[str], multiple: bool) -> Out:
        me = self.me(seat)
        refuse_if(NameSetWasEmpty=not names, IllegalName=any(not n or n.startswith("HLA") for n in names))
        taken = set(self.reserved) | {thing.name for thing in self.things.values()}
        free = not names & taken
        if free:
            self.reserved.update(dict.fromkeys(names, me))
        result = "succeeded" if free else "failed"
        if multiple:
            return [(seat, f"multiple_object_instance_name_reservation_{result}", (names,))]
        return [(seat, f"object_instance_name_reservation_{result}", tuple(names))]

    def release(self, seat: int, names: frozenset[str]) -> Out:
        me = self.me(seat)
        refuse_if(ObjectInstanceNameNotReserved=any(self.reserved.get(n) is not me for n in names))
        for name in names:
            del self.reserved[name]
        return []

    def register(self, seat: int, cls: str, name: str | None, handle: Any, given_name: str) -> Out:
        """`handle` and `given_name` are what the RTI chose, None and "" if it refused."""
        me = self.me(seat)
        refuse_if(ObjectClassNotDefined=cls == "?")
        refuse_if(
            ObjectClassNotPublished=cls not in me.published,
            ObjectInstanceNameInUse=name is not None and any(t.name == name for t in self.things.values()),
            ObjectInstanceNameNotReserved=name is not None
            and self.reserved.get(name) is not me
            and all(t.name != name for t in self.things.values()),
        )
        if name is not None:
            del self.reserved[name]
        owners = dict.fromkeys(me.published[cls], me)
        thing = Thing(handle, given_name, cls, me.handle, owners, dict(me.defaults.get(cls, {})), {me: cls})
        self.things[handle] = thing
        out: Out = []
        for other in self.who.values():
            if other is not me:
                out += self.discovery(other, thing)
        return self.advised(out)

    def delete(self, seat: int, handle: Any, tag: bytes, time: Any) -> Out:
        me = self.me(seat)
        check_time(time)
        thing, _ = self.known(me, handle)
        refuse_if(DeletePrivilegeNotHeld=thing.owners.get(PRIVILEGE) is not me)
        return self.advised(self.removed(thing, me, tag, self.stamp(time)))

    def local_delete(self, seat: int, handle: Any) -> Out:
        me = self.me(seat)
        thing, _ = self.known(me, handle)
        refuse_if(
            FederateOwnsAttributes=me in thing.owners.values(),
            OwnershipAcquisitionPending=me in [bid.who for bid in thing.bids],
        )
        del thing.known[me]
        return self.advised([])

    def request_instance(self, seat: int, handle: Any, names: set[str], tag: bytes) -> Out:
        me = self.me(seat)
        thing, at = self.known(me, handle)
        refuse_if(AttributeNotDefined=bool(names - set(attributes_of(at))))
        return self.provision(me, thing, names, tag)

    def request_class(self, seat: int, cls: str, names: set[str], tag: bytes) -> Out:
        me = self.me(seat)
        self.check_class(cls, names)
        below = [t for t in self.things.values() if cls in lineage(t.cls, ROOT)]
        return [call for thing in below for call in self.provision(me, thing, names, tag)]

    # --- transportation ---------------------------------------------------------------------------------------

    def change_way(self, seat: int, handle: Any, names: set[str], way: str) -> Out:
        me = self.me(seat)
        thing, _ = self.known(me, handle)
        self.check_owned(me, thing, names, way)
        thing.transportations.update(dict.fromkeys(names, way))
        arguments = (thing.handle, frozenset(names), way)
        return [(seat, "confirm_attribute_transportation_type_change", arguments)]

    def change_default_way(self, seat: int, cls: str, names: set[str], way: str) -> Out:
        me = self.me(seat)
        refuse_if(
            ObjectClassNotDefined=cls == "?",
            AttributeNotDefined=cls != "?" and bool(names - set(attributes_of(cls))),
            InvalidTransportationTypeHandle=way == "?",
        )
        me.defaults.setdefault(cls, {}).update(dict.fromkeys(names, way))
        return []

    def change_interaction_way(self, seat: int, cls: str, way: str) -> Out:
        me = self.me(seat)
        refuse_if(
            InteractionClassNotDefined=cls == "?",
            InteractionClassNotPublished=cls != "?" and cls not in me.sends,
            InvalidTransportationTypeHandle=way == "?",
        )
        me.transportations[cls] = way
        return [(seat, "confirm_interaction_transportation_type_change", (cls, way))]
