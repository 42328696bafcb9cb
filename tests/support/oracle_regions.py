"""Data distribution by its definitions: what each federate must hear, worked out from scratch after every call.

Nothing here is kept up to date: who discovers, what is in scope and which updates are wanted are sets, asked before a call and
after it, and the callbacks are their differences.  The object model is the table below; the oracle reads it and never the RTI.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft import Source

X, Y, Z = "X", "Y", "Z"
DIMENSIONS: dict[str, tuple[int, str]] = {X: (8, "Excluded"), Y: (8, ""), Z: (8, "[2..4)")}
UNSPECIFIED = {Z: (2, 4)}
PRIVILEGE = "HLAprivilegeToDeleteObject"
# Class -> its own attributes -> their dimensions.
OBJECTS: dict[str, dict[str, tuple[str, ...]]] = {
    "Base": {"A": (X, Y), "B": (X,)},
    "Base.Sub": {"C": (), "D": (X, Z)},
}
# Class -> its own dimensions; those above are inherited.
INTERACTIONS: dict[str, tuple[str, ...]] = {"Call": (X, Y), "Call.Loud": (Z,)}

Box = frozenset[tuple[str, int, int]]
Heard = tuple[int, str, Any, Any, Any]
"""Federate, callback, about what, attributes (or the class received), regions conveyed."""


def model(*switches: str) -> Source:
    def attribute(name: str, dimensions: tuple[str, ...]) -> str:
        listed = "".join(f"<dimension>{d}</dimension>" for d in dimensions)
        return (
            f"<attribute><name>{name}</name><dataType>HLAASCIIstring</dataType><updateType>Conditional</updateType>"
            f"<updateCondition>-</updateCondition><ownership>DivestAcquire</ownership><sharing>PublishSubscribe</sharing>"
            f"<dimensions>{listed}</dimensions><transportation>HLAreliable</transportation><order>Receive</order></attribute>"
        )

    def object_class(name: str) -> str:
        own = "".join(attribute(a, d) for a, d in OBJECTS[name].items())
        below = "".join(object_class(c) for c in OBJECTS if c.rpartition(".")[0] == name)
        last = name.rpartition(".")[2]
        return (
            f"<objectClass><name>{last}</name><sharing>PublishSubscribe</sharing>{own}{below}</objectClass>"
        )

    def interaction(name: str) -> str:
        listed = "".join(f"<dimension>{d}</dimension>" for d in INTERACTIONS[name])
        below = "".join(interaction(c) for c in INTERACTIONS if c.rpartition(".")[0] == name)
        return (
            f"<interactionClass><name>{name.rpartition('.')[2]}</name><sharing>PublishSubscribe</sharing>"
            f"<dimensions>{listed}</dimensions><transportation>HLAreliable</transportation><order>Receive</order>{below}"
            "</interactionClass>"
        )

    dimensions = "".join(
        f"<dimension><name>{name}</name><dataType>HLAinteger32BE</dataType><upperBound>{upper}</upperBound>"
        f"<normalization>-</normalization><value>{value}</value></dimension>"
        for name, (upper, value) in DIMENSIONS.items()
    )
    on = "".join(f'<{switch} isEnabled="true"/>' for switch in switches)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?><objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">'
        "<modelIdentification><name>Regions</name><type>FOM</type></modelIdentification>"
        f"<objects><objectClass><name>HLAobjectRoot</name>{object_class('Base')}</objectClass></objects>"
        f"<interactions><interactionClass><name>HLAinteractionRoot</name>{interaction('Call')}</interactionClass></interactions>"
        f"<dimensions>{dimensions}</dimensions>"
        + (f"<switches>{on}</switches>" if on else "")
        + "</objectModel>"
    )
    return Source("regions", text.encode())


def lineage(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def attributes_of(cls: str) -> dict[str, tuple[str, ...]]:
    return {a: d for c in lineage(cls) for a, d in OBJECTS[c].items()}


def available_to(interaction: str) -> set[str]:
    return {d for c in lineage(interaction) for d in INTERACTIONS[c]}


class Refused(Exception):
    """The call must be refused with that exception."""


class Area:
    def __init__(self, owner: int, dimensions: frozenset[str]) -> None:
        self.owner = owner
        self.dimensions = dimensions
        self.set = {d: (0, DIMENSIONS[d][0]) for d in dimensions}
        self.now: dict[str, tuple[int, int]] | None = None

    def box(self, available: Any) -> Box:
        """As it counts for what has these dimensions."""
        assert self.now is not None
        ranges = {d: r for d, r in UNSPECIFIED.items() if d in available} | self.now
        return frozenset((d, *r) for d, r in ranges.items())


class Thing:
    def __init__(self, cls: str, by: int) -> None:
        self.cls = cls
        self.by = by
        self.owners: dict[str, int | None] = dict.fromkeys([*attributes_of(cls), PRIVILEGE], by)
        self.known = {by: cls}
        self.at: dict[tuple[str, int], set[Any]] = {}  # attribute, federate -> regions


class View(NamedTuple):
    """What holds at one moment."""

    known: dict[tuple[int, Any], str]
    scope: dict[tuple[int, Any], frozenset[str]]
    wanted: dict[tuple[int, Any], frozenset[str]]


class Oracle:
    def __init__(self, seats: int, relaxed: bool, known_class: bool) -> None:
        self.relaxed = relaxed
        self.known_class = known_class  # Advisories Use Known Class
        self.present = set(range(seats))
        self.convey: set[int] = set()
        self.areas: dict[Any, Area] = {}
        self.things: dict[Any, Thing] = {}
        # Federate, class, attribute, region (None: without) -> active.
        self.subscribed: dict[tuple[int, str, str, Any], bool] = {}
        self.receives: dict[tuple[int, str, Any], bool] = {}

    # --- definitions ------------------------------------------------------------------------------------------

    def overlap(self, one: Box, other: Box) -> bool:
        here, there = {d: r for d, *r in one}, {d: r for d, *r in other}
        common = set(here) & set(there)
        return (bool(common) or self.relaxed) and all(
            here[d][0] < there[d][1] and there[d][0] < here[d][1] for d in common
        )

    def sent_at(self, thing: Thing, attribute: str) -> set[Box] | None:
        """Where the attribute is updated; None: in the default region."""
        owner = thing.owners.get(attribute)
        regions = thing.at.get((attribute, owner)) if owner is not None else None
        dimensions = attributes_of(thing.cls).get(attribute, ())
        return {self.areas[r].box(dimensions) for r in regions} if regions else None

    def wants(self, who: int, thing: Thing, cls: str, attribute: str, active: bool = False) -> bool:
        """Does a subscription at that class meet the attribute where it is?"""
        sent = self.sent_at(thing, attribute)
        for (w, c, a, region), is_active in self.subscribed.items():
            if (w, c, a) == (who, cls, attribute) and (is_active or not active):
                box = None if region is None else self.areas[region].box(attributes_of(cls)[attribute])
                if box is None or sent is None or any(self.overlap(box, s) for s in sent):
                    return True
        return False

    def candidate(self, who: int, cls: str) -> str | None:
        for above in lineage(cls):
            if any((w, c) == (who, above) for w, c, _, _ in self.subscribed):
                return above
        return None

    def scope(self, who: int, thing: Thing) -> frozenset[str]:
        known = thing.known.get(who)
        return frozenset(
            a
            for a, owner in thing.owners.items()
            if known is not None and owner not in (None, who) and self.wants(who, thing, known, a)
        )

    def wanted(self, owner: int, thing: Thing) -> frozenset[str]:
        found = set()
        for attribute, by in thing.owners.items():
            for who, known in thing.known.items():
                classes = [known] if self.known_class else lineage(thing.cls)
                if by == owner != who and any(self.wants(who, thing, c, attribute, True) for c in classes):
                    found.add(attribute)
        return frozenset(found)

    def view(self) -> View:
        pairs = [(who, handle, thing) for who in self.present for handle, thing in self.things.items()]
        return View(
            {(w, h): t.known[w] for w, h, t in pairs if w in t.known},
            {(w, h): self.scope(w, t) for w, h, t in pairs},
            {(w, h): self.wanted(w, t) for w, h, t in pairs},
        )

    def discover(self) -> None:
        for thing in self.things.values():
            for who in self.present - set(thing.known):
                cls = self.candidate(who, thing.cls)
                if cls is not None and any(
                    owner not in (None, who) and self.wants(who, thing, cls, a)
                    for a, owner in thing.owners.items()
                ):
                    thing.known[who] = cls

    def differences(self, before: View) -> list[Heard]:
        """What follows from a change of state: who discovers, and whom the advisories tell what."""
        self.discover()
        after = self.view()
        heard: list[Heard] = []
        for key, cls in after.known.items():
            registered = key not in before.scope and self.things[key[1]].by == key[0]
            if key not in before.known and not registered:
                heard.append((key[0], "discover_object_instance", key[1], cls, None))
        none: frozenset[str] = frozenset()
        for (who, handle), now in after.scope.items():
            told = before.scope.get((who, handle), none)
            heard += _told(who, handle, "attributes_in_scope", now - told)
            heard += _told(who, handle, "attributes_out_of_scope", told - now)
        for (who, handle), now in after.wanted.items():
            told = before.wanted.get((who, handle), none)
            owners = self.things[handle].owners
            lost = frozenset(a for a in told - now if owners[a] == who)
            heard += _told(who, handle, "turn_updates_on_for_object_instance", now - told)
            heard += _told(who, handle, "turn_updates_off_for_object_instance", lost)
        return heard

    # --- preconditions ----------------------------------------------------------------------------------------

    def own(self, who: int, region: Any) -> Area:
        area = self.areas.get(region)
        if area is None:
            raise Refused("InvalidRegion")
        if area.owner != who:
            raise Refused("RegionNotCreatedByThisFederate")
        return area

    def usable(self, who: int, regions: set[Any], dimensions: Any) -> None:
        for region in sorted(regions):
            area = self.own(who, region)
            if area.now is None:
                raise Refused("InvalidRegion")
            if not area.dimensions <= set(dimensions):
                raise Refused("InvalidRegionContext")

    def in_use(self, region: Any) -> bool:
        return (
            any(key[3] == region for key in self.subscribed)
            or any(key[2] == region for key in self.receives)
            or any(region in regions for thing in self.things.values() for regions in thing.at.values())
        )

    # --- messages ---------------------------------------------------------------------------------------------

    def conveyed(self, who: int, boxes: set[Box] | None) -> frozenset[Box] | None:
        return frozenset(boxes) if boxes is not None and who in self.convey else None

    def update(self, who: int, handle: Any, attributes: set[str]) -> list[Heard]:
        thing = self.things[handle]
        heard: list[Heard] = []
        for other, known in thing.known.items():
            parts: dict[Any, set[str]] = {}
            for attribute in attributes:
                if other != who and self.wants(other, thing, known, attribute):
                    conveyed = self.conveyed(other, self.sent_at(thing, attribute))
                    parts.setdefault(conveyed, set()).add(attribute)
            for conveyed, some in parts.items():
                heard.append((other, "reflect_attribute_values", handle, frozenset(some), conveyed))
        return heard

    def send(self, who: int, cls: str, regions: set[Any] | None) -> list[Heard]:
        sent = None if regions is None else {self.areas[r].box(available_to(cls)) for r in regions}
        heard: list[Heard] = []
        for other in self.present - {who}:
            for above in lineage(cls):
                held = [r for w, c, r in self.receives if (w, c) == (other, above)]
                if held:
                    boxes = [self.areas[r].box(available_to(above)) for r in held if r is not None]
                    met = sent is None or any(self.overlap(b, s) for b in boxes for s in sent)
                    if None in held or met:
                        heard.append((other, "receive_interaction", cls, above, self.conveyed(other, sent)))
                    break
        return heard

    def request(self, who: int, cls: str, pairs: list[tuple[set[str], set[Any]]]) -> list[Heard]:
        heard: list[Heard] = []
        for handle, thing in self.things.items():
            if cls not in lineage(thing.cls):
                continue
            by_owner: dict[int, set[str]] = {}
            for attributes, regions in pairs:
                for attribute in attributes:
                    sent = self.sent_at(thing, attribute)
                    boxes = [self.areas[r].box(attributes_of(cls)[attribute]) for r in regions]
                    owner = thing.owners[attribute]
                    if owner not in (None, who) and any(
                        sent is None or any(self.overlap(b, s) for s in sent) for b in boxes
                    ):
                        by_owner.setdefault(owner, set()).add(attribute)
            for owner, some in by_owner.items():
                heard.append((owner, "provide_attribute_value_update", handle, frozenset(some), None))
        return heard


def _told(who: int, handle: Any, method: str, attributes: frozenset[str]) -> list[Heard]:
    return [(who, method, handle, attributes, None)] if attributes else []
