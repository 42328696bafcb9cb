"""Random calls, by the kernel's names of services and arguments.

Hypothesis draws numbers; `Author` makes calls of them.  It keeps in mind what the calls so far should have led to, so that
most calls mean something: it registers what is published, updates what is owned.  Where it is wrong, the refusal is a
result like any other.
Only reliable attributes and interactions, since best effort promises nothing that two runs could be compared by.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from support import small_fom as model
from support.simulated_federates import DELETE, FOM, NAME, handles
from weft import ResignAction
from weft.model.handles import FederateHandle, ObjectInstanceHandle, RegionHandle
from weft.model.records import RangeBounds

INTERACTIONS = [name for name, (way, _) in model.INTERACTIONS.items() if way == model.RELIABLE]
CLASSES = ["Vehicle", "Vehicle.GroundVehicle.Tank", "Building", "Vehicle.GroundVehicle", "Vehicle.Aircraft"]
SWITCHES = ["object_class_relevance", "attribute_relevance", "attribute_scope", "interaction_relevance"]
LOST = "lost"  # no service: the federate's session breaks off

# What is done, and how often; what comes first is what Hypothesis falls back on.
KINDS = [
    *["send"] * 4,
    *["update"] * 8,
    *["register"] * 6,
    *["publish"] * 3,
    *["subscribe"] * 5,
    *["publish_interaction"] * 2,
    *["subscribe_interaction"] * 3,
    *["delete"] * 2,
    *["direct", "subscribe_directed", "reserve", "release", "request", "local_delete"],
    *["point"] * 2,
    *["achieve"] * 3,
    *["switch"] * 2,
    *["unpublish", "unsubscribe", "unsubscribe_interaction", "unpublish_interaction", "directive", "look"],
    *["create_region", "move", "subscribe_at", "register_at", "send_at"] * 2,
    *["bounds", "commit", "receive_at", "associate", "unassociate", "unsubscribe_at", "unreceive_at"],
    *["request_at", "delete_region", "convey"],
    *["join"] * 3,
    *["resign", "lose", "list_members", "list", "create", "destroy"],
]
MEMBERSHIP = {"join", "resign", "lose", "list_members", "list", "create", "destroy"}

Draw = tuple[str, int, int, int]


class Call(NamedTuple):
    seat: int
    service: str
    arguments: tuple[Any, ...]


def draws(seats: int, membership: bool = True) -> st.SearchStrategy[Draw]:
    kinds = [kind for kind in KINDS if membership or kind not in MEMBERSHIP]
    return st.tuples(
        st.sampled_from(kinds), st.integers(0, seats - 1), st.integers(0, 999), st.integers(0, 999)
    )


def script(drawn: list[Draw], seats: int, joined: int) -> list[Call]:
    author = Author(seats, joined)
    return author.opening(joined) + [author.call(*one) for one in drawn]


class Author:
    def __init__(self, seats: int, joined: int) -> None:
        self.joined = [seat < joined for seat in range(seats)]
        self.published: list[set[str]] = [set() for _ in range(seats)]
        self.sends: list[set[str]] = [set() for _ in range(seats)]
        self.owners: list[int] = []  # of instance 1, 2, …; -1 once it is deleted
        self.classes: list[str] = []
        self.regions: list[int] = []  # the owner of region 1, 2, …; -1 once it is deleted, or should be

    def opening(self, joined: int) -> list[Call]:
        """Every federate declares something, so that there is somebody to tell."""
        made = []
        for seat in range(joined):
            for kind, number in (
                ("publish", 1),
                ("publish", seat),
                ("subscribe", 0),
                ("subscribe", 2),
                ("publish_interaction", seat),
                ("subscribe_interaction", 0),
                ("subscribe_interaction", 3),
                ("register", 0),
                ("register", 1),
                ("create_region", 0),
                ("create_region", 0),
                ("bounds", 5),
                ("commit", 1),
            ):
                made.append(self.call(kind, seat, number, 7))
        return made

    def call(self, kind: str, seat: int, a: int, b: int) -> Call:
        here = [other for other, joined in enumerate(self.joined) if joined]
        if kind not in MEMBERSHIP and not self.joined[seat] and here and a % 10:
            seat = here[a % len(here)]
        service, arguments = getattr(self, f"_{kind}")(seat, a, b)
        return Call(seat, service, arguments)

    # --- choices ----------------------------------------------------------------------------------------------

    def _cls(self, a: int) -> str:
        return CLASSES[a % len(CLASSES)]

    def _attributes(self, cls: str, b: int) -> Any:
        names = [name for name, way in model.attributes_of(cls).items() if way == model.RELIABLE]
        chosen = [name for bit, name in enumerate(names) if (b >> bit) & 1]
        return handles().set_of(*(chosen or names))

    def _interaction(self, a: int) -> Any:
        return handles().interactions[INTERACTIONS[a % len(INTERACTIONS)]]

    def _instance(self, a: int, owner: int | None = None) -> int:
        """The number of an instance, from 0; one of that owner if it has any."""
        mine = [i for i, who in enumerate(self.owners) if owner is None or who == owner]
        return mine[a % len(mine)] if mine else a % 4

    def _handle(self, number: int) -> ObjectInstanceHandle:
        return ObjectInstanceHandle.of(number + 1)

    def _left(self, seat: int) -> None:
        self.joined[seat] = False
        self.published[seat].clear()
        self.sends[seat].clear()
        self.regions = [-1 if owner == seat else owner for owner in self.regions]

    # --- membership -------------------------------------------------------------------------------------------

    def _join(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        away = [other for other, here in enumerate(self.joined) if not here]
        self.joined[seat] = True
        name = None if a % 4 == 0 or not away else f"f{seat + 1}"
        return "join_federation_execution", (NAME, "test", name, ())

    def _resign(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        action = DELETE if a % 3 == 0 else list(ResignAction)[b % len(ResignAction)]
        self._left(seat)
        return "resign_federation_execution", (action,)

    def _lose(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        self._left(seat)
        return LOST, ()

    def _list_members(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "list_federation_execution_members", (NAME if a % 4 else "nowhere",)

    def _list(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "list_federation_executions", ()

    def _create(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "create_federation_execution", (NAME if a % 2 else "another", (FOM,), None, "")

    def _destroy(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "destroy_federation_execution", (NAME if a % 2 else "another",)

    # --- declarations -----------------------------------------------------------------------------------------

    def _publish(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        if self.joined[seat]:
            self.published[seat].add(cls)
        return "publish_object_class_attributes", (handles().classes[cls], self._attributes(cls, b))

    def _unpublish(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        return "unpublish_object_class_attributes", (handles().classes[cls], self._attributes(cls, b))

    def _subscribe(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        rate = ("", "", "Low", "High")[a // 5 % 4]
        wanted = self._attributes(cls, b)
        return "subscribe_object_class_attributes", (handles().classes[cls], wanted, rate, b % 5 > 0)

    def _unsubscribe(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        return "unsubscribe_object_class_attributes", (handles().classes[cls], self._attributes(cls, b))

    def _publish_interaction(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        if self.joined[seat]:
            self.sends[seat].add(INTERACTIONS[a % len(INTERACTIONS)])
        return "publish_interaction_class", (self._interaction(a),)

    def _unpublish_interaction(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "unpublish_interaction_class", (self._interaction(a),)

    def _subscribe_interaction(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "subscribe_interaction_class", (self._interaction(a), b % 5 > 0)

    def _unsubscribe_interaction(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "unsubscribe_interaction_class", (self._interaction(a),)

    def _subscribe_directed(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        commands = frozenset([handles().interactions["Command"]])
        if a % 2:
            return "publish_object_class_directed_interactions", (handles().classes["Vehicle"], commands)
        arguments = (handles().classes["Vehicle"], commands, b % 2 == 0)
        return "subscribe_object_class_directed_interactions", arguments

    # --- objects ----------------------------------------------------------------------------------------------

    def _register(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        mine = sorted(self.published[seat])
        cls = mine[a % len(mine)] if mine else self._cls(a)
        if b % 6 == 0:  # with a name, whether or not it is reserved
            return "register_object_instance", (handles().classes[cls], ("Rhino", "Falcon")[a % 2])
        if mine and self.joined[seat]:
            self.owners.append(seat)
            self.classes.append(cls)
        return "register_object_instance", (handles().classes[cls],)

    def _update(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        number = self._instance(a, None if b % 7 == 0 else seat)
        cls = self.classes[number] if number < len(self.classes) else "Building"
        values = {handle: b"%d" % a for handle in sorted(self._attributes(cls, b)) if handle != _privilege()}
        return "update_attribute_values", (self._handle(number), values, b"%d" % b)

    def _delete(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "delete_object_instance", (self._handle(self._instance(a, seat)), b"%d" % b)

    def _local_delete(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "local_delete_object_instance", (self._handle(self._instance(a)),)

    def _request(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        number = self._instance(a)
        cls = self.classes[number] if number < len(self.classes) else "Building"
        return "request_attribute_value_update", (self._handle(number), self._attributes(cls, 0), b"%d" % b)

    def _reserve(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "reserve_object_instance_name", (("Rhino", "Falcon")[a % 2],)

    def _release(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "release_object_instance_name", (("Rhino", "Falcon")[a % 2],)

    def _look(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        if b % 2:
            return "get_federate_handle", (f"f{a % 4 + 1}",)
        return "get_known_object_class_handle", (self._handle(self._instance(a)),)

    # --- regions ----------------------------------------------------------------------------------------------

    def _region(self, seat: int, a: int) -> RegionHandle:
        mine = [number for number, owner in enumerate(self.regions, 1) if owner == seat]
        return RegionHandle.of(mine[a % len(mine)] if mine and a % 11 else a % 5)

    def _pairs(self, cls: str, seat: int, a: int, b: int) -> Any:
        chosen = self._attributes(cls, b) - {_privilege()}
        return [(frozenset(chosen), frozenset([self._region(seat, a), self._region(seat, b)]))]

    def _create_region(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        if self.joined[seat]:
            self.regions.append(seat)
        return "create_region", (frozenset([handles().lane]),)

    def _bounds(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        lower = b % 8
        bounds = RangeBounds(lower, lower + a % 6)
        return "set_range_bounds", (self._region(seat, a), handles().lane, bounds)

    def _commit(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        mine = [RegionHandle.of(number) for number, owner in enumerate(self.regions, 1) if owner == seat]
        return "commit_region_modifications", (frozenset(mine if a % 3 else [self._region(seat, a)]),)

    def _move(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return self._commit(seat, a, b) if b % 2 else self._bounds(seat, a, b)

    def _delete_region(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        region = self._region(seat, a)
        if 0 < region.number <= len(self.regions) and self.regions[region.number - 1] == seat:
            self.regions[region.number - 1] = -1
        return "delete_region", (region,)

    def _subscribe_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        passively = "" if b % 5 else "passively_"
        rate = ("", "", "Low", "High")[a // 5 % 4]
        service = f"subscribe_object_class_attributes_{passively}with_regions"
        return service, (handles().classes[cls], self._pairs(cls, seat, a, b), rate)

    def _unsubscribe_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        arguments = (handles().classes[cls], self._pairs(cls, seat, a, b))
        return "unsubscribe_object_class_attributes_with_regions", arguments

    def _receive_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        passively = "" if b % 5 else "passively_"
        arguments = (self._interaction(a), frozenset([self._region(seat, b)]))
        return f"subscribe_interaction_class_{passively}with_regions", arguments

    def _unreceive_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        arguments = (self._interaction(a), frozenset([self._region(seat, b)]))
        return "unsubscribe_interaction_class_with_regions", arguments

    def _register_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        mine = sorted(self.published[seat])
        cls = mine[a % len(mine)] if mine else self._cls(a)
        return "register_object_instance_with_regions", (handles().classes[cls], self._pairs(cls, seat, a, b))

    def _associate(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        number = self._instance(a, seat)
        cls = self.classes[number] if number < len(self.classes) else "Building"
        return "associate_regions_for_updates", (self._handle(number), self._pairs(cls, seat, a, b))

    def _unassociate(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        _, arguments = self._associate(seat, a, b)
        return "unassociate_regions_for_updates", arguments

    def _request_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        cls = self._cls(a)
        arguments = (handles().classes[cls], self._pairs(cls, seat, a, b), b"%d" % b)
        return "request_attribute_value_update_with_regions", arguments

    def _send_at(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        _, (interaction, values, tag) = self._send(seat, a, b)
        return "send_interaction_with_regions", (interaction, values, frozenset([self._region(seat, b)]), tag)

    def _convey(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "set_switch", ("convey_region_designator_sets", b % 3 > 0)

    # --- messages, points, switches ---------------------------------------------------------------------------

    def _send(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        mine = sorted(self.sends[seat])
        cls = mine[a % len(mine)] if mine and b % 9 else INTERACTIONS[a % len(INTERACTIONS)]
        values = {handles().parameters["When"]: b"now"} if cls.startswith("Event") and a % 2 else {}
        return "send_interaction", (handles().interactions[cls], values, b"%d" % b)

    def _direct(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        command = handles().interactions["Command"]
        return "send_directed_interaction", (command, self._handle(self._instance(a)), {}, b"%d" % b)

    def _point(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        label = ("ready", "over")[a % 2]
        if b % 3:
            return "register_federation_synchronization_point", (label, b"%d" % b)
        some = frozenset(FederateHandle.of(1 + (b + i) % 5) for i in range(a % 3))
        return "register_federation_synchronization_point", (label, b"%d" % b, some)

    def _achieve(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "synchronization_point_achieved", (("ready", "over")[a % 2], b % 4 > 0)

    def _switch(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "set_switch", (SWITCHES[a % 4], b % 3 > 0)

    def _directive(self, seat: int, a: int, b: int) -> tuple[str, tuple[Any, ...]]:
        return "set_automatic_resign_directive", (list(ResignAction)[a % len(ResignAction)],)


def _privilege() -> Any:
    return handles().attributes[model.PRIVILEGE]
