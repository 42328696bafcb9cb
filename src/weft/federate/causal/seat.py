"""One joined federate in a causal group: between its ambassador, the RTI and the other members.

`hear` takes each callback of the RTI and gives those that the federate is to have now, in order.  The middleware's own classes
and instances never reach the federate.  What concerns an instance stays in its order: a removal that is not itself in
causal order waits for the held messages about that instance, and what follows it waits behind it.
"""

from __future__ import annotations

import inspect
import secrets
from collections import Counter, deque
from collections.abc import Callable
from typing import ClassVar, Final, TypeVar

from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador
from weft.federate.causal.module import (
    ATTRIBUTE,
    FEDERATE,
    FEDERATE_ATTRIBUTE,
    INTERACTION,
    OBJECT,
    PARAMETER,
)
from weft.federate.causal.notices import (
    BYE,
    HERE,
    GroupNotice,
    as_opaque,
    from_opaque,
    read_notice,
    write_notice,
)
from weft.federate.causal.party import KEPT_NOTES, Party
from weft.federate.causal.work import Call, HeldCallback, SeatCounts, Work
from weft.model.errors import (
    FederateHandleNotKnown,
    InvalidFederateHandle,
    NameNotFound,
    OrderingError,
    RTIexception,
)
from weft.model.handles import FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle
from weft.ordering.group import GroupStamp
from weft.ordering.group_tags import ID_SIZE, split_tag

# The places of the tag, of the sender and of the instance (none: -1) among the arguments.
ORDERED: Final = {
    "receive_interaction": (2, 4, -1),
    "receive_directed_interaction": (3, 5, 1),
    "reflect_attribute_values": (2, 4, 0),
    "remove_object_instance": (1, 2, 0),
}
REMOVE: Final = "remove_object_instance"
ABOUT_INSTANCES: Final = frozenset(
    name
    for name, method in vars(FederateAmbassador).items()
    if inspect.isfunction(method) and list(inspect.signature(method).parameters)[1:2] == ["object_instance"]
)

Kind = TypeVar("Kind")


class Seat:
    def __init__(self, rti: RTIambassador, federate: FederateHandle, now: Callable[[], float]) -> None:
        self.rti = rti
        self.federate = federate
        self.now = now
        self.counts = SeatCounts()
        self.watching = False  # the federate itself subscribes to the MOM's HLAfederate
        self.watching_handle = False  # and to the attribute that we subscribe to
        self._outbox: deque[bytes] = deque()
        self._uncertain = False  # whether a federate has gone could not be found out
        self._quiet = 0  # how often nothing was said of the notes that are kept
        self._saves: dict[str, Work] = {}
        self._restoring = ""
        self._lineages: dict[InteractionClassHandle, list[str]] = {}
        self._reliable: dict[InteractionClassHandle, bool] = {}
        self._asked: Counter[InteractionClassHandle] = Counter()
        self._find()
        self.work = Work(self._new_party())

    @property
    def party(self) -> Party:
        return self.work.party

    def _new_party(self) -> Party:
        return Party(secrets.token_bytes(ID_SIZE), self._tell, self._has_departed)

    # --- beginning and end ------------------------------------------------------------------------------------

    def _find(self) -> None:
        rti = self.rti
        self.interaction = rti.get_interaction_class_handle(INTERACTION)
        self.parameter = rti.get_parameter_handle(self.interaction, PARAMETER)
        self.object_class = rti.get_object_class_handle(OBJECT)
        self.attribute = rti.get_attribute_handle(self.object_class, ATTRIBUTE)
        self.transportation = rti.get_transportation_type_handle("HLAreliable")
        self.federate_class: ObjectClassHandle | None = None
        try:
            self.federate_class = rti.get_object_class_handle(FEDERATE)
            self.federate_attribute = rti.get_attribute_handle(self.federate_class, FEDERATE_ATTRIBUTE)
        except NameNotFound:
            self.federate_class = None  # a MIM without it: crashes go unnoticed

    def start(self) -> None:
        """Be a member.  Notices before instances: who sees an instance of ours is heard by us."""
        rti = self.rti
        self.watch()
        rti.subscribe_interaction_class_passively(self.interaction)
        rti.publish_interaction_class(self.interaction)
        rti.subscribe_object_class_attributes_passively(self.object_class, {self.attribute})
        rti.publish_object_class_attributes(self.object_class, {self.attribute})
        self.work.member = rti.register_object_instance(self.object_class)
        self.party.greet()

    def watch(self) -> None:
        """The MOM says which federates are gone."""
        if self.federate_class is not None:
            wanted = {self.federate_attribute}
            self.rti.subscribe_object_class_attributes_passively(self.federate_class, wanted)
            self.rti.request_attribute_value_update(self.federate_class, wanted, b"")

    def leave(self) -> None:
        """Before resigning."""
        member, self.work.member = self.work.member, None
        if member is not None:
            self.rti.delete_object_instance(member, write_notice(self.party.farewell()))

    def come_back(self) -> None:
        """The RTI did not let us resign: we go on under a new identity, after all that came before."""
        self.work.party = self.party.anew(secrets.token_bytes(ID_SIZE))
        self.work.member = self.rti.register_object_instance(self.object_class)
        self.party.greet()

    # --- telling the others -----------------------------------------------------------------------------------

    def _tell(self, notice: GroupNotice) -> None:
        self._outbox.append(write_notice(notice))
        self.retry()

    def retry(self) -> None:
        """Say what could not be said while the federation was saved or restored."""
        while self._outbox:
            data = self._outbox[0]
            try:
                self.rti.send_interaction(self.interaction, {self.parameter: as_opaque(data)}, b"")
            except RTIexception:
                return
            self._outbox.popleft()
            self.counts.notices += 1
            self.counts.notice_bytes += len(data)

    def tick(self) -> None:
        """Notes do not wait for ever, even if nothing more is sent."""
        party = self.party
        self._quiet = self._quiet + 1 if party.unsaid or party.unanswered else 0
        if self._quiet >= KEPT_NOTES:
            self._quiet = 0
            party.greet(HERE)

    # --- what the sender knows --------------------------------------------------------------------------------

    def is_sure(self, interaction_class: InteractionClassHandle) -> bool:
        """Do all members get an interaction of this class?  Only then its note can wait."""
        reliable = self._reliable.get(interaction_class)
        if reliable is None:
            if not self._asked[interaction_class]:
                self._asked[interaction_class] += 1
                try:
                    self.rti.query_interaction_transportation_type(self.federate, interaction_class)
                except RTIexception:
                    self._asked[interaction_class] -= 1
            return False
        return reliable and self.party.all_want(self.lineage(interaction_class))

    def transportation_changes(self, interaction_class: InteractionClassHandle) -> None:
        self._reliable[interaction_class] = False

    def lineage(self, interaction_class: InteractionClassHandle) -> list[str]:
        """Names of the class and of those above it."""
        found = self._lineages.get(interaction_class)
        if found is None:
            parts = self.rti.get_interaction_class_name(interaction_class).split(".")
            found = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
            self._lineages[interaction_class] = found
        return found

    # --- callbacks --------------------------------------------------------------------------------------------

    def hear(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        if self._outbox:
            self.retry()
        before: list[Call] = self._look_around() if self._uncertain else []
        places = ORDERED.get(method)
        if places is not None:
            return before + self._ordered(method, arguments, *places)
        special = self._SPECIAL.get(method)
        if special is not None:
            return before + special(self, method, arguments)
        if method in ABOUT_INSTANCES:
            return before + self._about_instance(method, arguments)
        return [*before, (method, arguments)]

    def _ordered(
        self, method: str, arguments: tuple[object, ...], tag_at: int, sender_at: int, instance_at: int
    ) -> list[Call]:
        if instance_at < 0:
            instance = None
            if arguments[0] == self.interaction:
                return self._notice(arguments)
        else:
            instance = _as(ObjectInstanceHandle, arguments[instance_at])
            ours = self._ours(method, arguments, instance)
            if ours is not None:
                return ours
        party = self.party
        sender, whole = _as(FederateHandle, arguments[sender_at]), _as(bytes, arguments[tag_at])
        stamp, tag = split_tag(whole)
        if stamp is None:
            if len(tag) != len(whole) and party.knows(sender):
                arguments = (*arguments[:tag_at], tag, *arguments[tag_at + 1 :])
            return self._unordered(method, arguments, instance)
        if not party.is_from(stamp, sender):
            return self._unordered(method, arguments, instance)
        arguments = (*arguments[:tag_at], tag, *arguments[tag_at + 1 :])
        if method == REMOVE and party.refuses(stamp):
            return self._unordered(method, arguments, instance)  # the instance is gone, whoever crashed
        return self._admit(stamp, HeldCallback(method, arguments, instance))

    def _admit(self, stamp: GroupStamp, held: HeldCallback) -> list[Call]:
        if held.instance is not None:
            self.work.holding[held.instance] += 1
        refused = self.party.group.counts.refused
        released = self.party.arrive(stamp, held, held.method != REMOVE)
        if self.party.group.counts.refused > refused:
            self._let_go(held)
        elif self.party.group.held and held not in released:
            held.since = self.now()
        return self._release(released)

    def _unordered(
        self, method: str, arguments: tuple[object, ...], instance: ObjectInstanceHandle | None
    ) -> list[Call]:
        work = self.work
        if instance is not None and (
            instance in work.behind or (method == REMOVE and work.holding.get(instance))
        ):
            work.behind.setdefault(instance, []).append((method, arguments))
            return []
        return [(method, arguments)]

    def _release(self, released: list[object]) -> list[Call]:
        out: list[Call] = []
        for held in released:
            assert isinstance(held, HeldCallback)
            instance = held.instance
            if held.since >= 0:
                self.counts.longest_wait = max(self.counts.longest_wait, self.now() - held.since)
            if instance is None:
                out.append((held.method, held.arguments))
                continue
            if instance in self.work.removed:
                self.counts.dropped += 1
            else:
                out.append((held.method, held.arguments))
                if held.method == REMOVE:
                    self.work.removed.add(instance)
            out += self._let_go(held)
        return out

    def _let_go(self, held: HeldCallback) -> list[Call]:
        """One message less is held about its instance; what follows the last."""
        work, instance = self.work, held.instance
        if instance is None:
            return []
        work.holding[instance] -= 1
        if work.holding[instance] > 0:
            return []
        del work.holding[instance]
        work.removed.discard(instance)
        return work.behind.pop(instance, [])

    # --- what is the middleware's own -------------------------------------------------------------------------

    def _notice(self, arguments: tuple[object, ...]) -> list[Call]:
        try:
            notice = read_notice(from_opaque(_as(bytes, _as(dict, arguments[1]).get(self.parameter, b""))))
        except OrderingError:
            return []  # somebody else uses our class
        if notice.kind == BYE:
            return []
        return self._release(self.party.hear(notice, _as(FederateHandle, arguments[4])))

    def _ours(
        self, method: str, arguments: tuple[object, ...], instance: ObjectInstanceHandle
    ) -> list[Call] | None:
        """None: it is the federate's."""
        work = self.work
        if instance in work.members or instance == work.member:
            return self._farewell(arguments) if method == REMOVE else []
        if instance not in work.federates:
            return None
        shown = instance in work.shown
        if method == REMOVE:
            work.shown.discard(instance)
            about = work.federates.pop(instance)
            return ([(method, arguments)] if shown else []) + self._gone(about)
        if method == "reflect_attribute_values":
            values = dict(_as(dict, arguments[1]))
            about = _as(bytes, values.get(self.federate_attribute, b""))
            if about:
                work.federates[instance] = about[4:]  # HLAhandle: a count and the bytes
                work.departed.discard(about[4:])
            if shown and not self.watching_handle:
                values.pop(self.federate_attribute, None)
                return [(method, (instance, values, *arguments[2:]))] if values else []
        if not shown:
            return []
        return [(method, arguments)]

    def _farewell(self, arguments: tuple[object, ...]) -> list[Call]:
        instance, tag, sender = arguments[:3]
        self.work.members.pop(_as(ObjectInstanceHandle, instance), None)
        released: list[object] = []
        try:
            notice = read_notice(_as(bytes, tag))
            released += self.party.hear(notice, _as(FederateHandle, sender)) if notice.kind == BYE else []
        except OrderingError:
            pass  # deleted by the RTI: the MOM says more
        return self._release(released) + self._count()

    def _count(self) -> list[Call]:
        """The instance of one that crashed may stay; it does not count."""
        departed = self.work.departed
        there = sum(producer not in departed for producer in self.work.members.values())
        return self._release(self.party.met(there))

    def _gone(self, about: bytes) -> list[Call]:
        """A federate is no more, says the MOM.  If it was a member and has not said BYE, which comes before this, it crashed."""
        if not about:
            return self._look_around()
        self.work.departed.add(about)
        return self._release(self.party.missing(lambda one: one.encode() == about)) + self._count()

    def _has_departed(self, federate: FederateHandle) -> bool | None:
        """Before we have heard of it.  None: yes, and perhaps before we came, for the MOM has not told us of it."""
        if federate.encode() in self.work.departed:
            return True
        return None if self._is_missing(federate) else False

    def _look_around(self) -> list[Call]:
        """Somebody has gone, and we had not been told yet whom the instance was about."""
        self._uncertain = False
        return self._release(self.party.missing(self._is_missing))

    def _is_missing(self, federate: FederateHandle) -> bool:
        """Is it gone, and no instance there that would tell?"""
        if federate.encode() in self.work.federates.values():
            return False
        try:
            self.rti.get_federate_name(federate)
        except (FederateHandleNotKnown, InvalidFederateHandle):
            return True
        except RTIexception:
            self._uncertain = True  # not now: the federation is being saved or restored
        return False

    def _discover(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        instance, object_class = _as(ObjectInstanceHandle, arguments[0]), arguments[1]
        if object_class == self.object_class:
            self.work.members[instance] = _as(FederateHandle, arguments[3]).encode()
            return self._count()
        if object_class == self.federate_class:
            self.work.federates[instance] = b""
            if not self.watching:
                return []
            self.work.shown.add(instance)
        return self._unordered(method, arguments, instance)

    def _about_instance(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        instance = _as(ObjectInstanceHandle, arguments[0])
        ours = self._ours(method, arguments, instance)
        return self._unordered(method, arguments, instance) if ours is None else ours

    def _class_advisory(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        return [] if arguments[0] == self.object_class else [(method, arguments)]

    def _interaction_advisory(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        return [] if arguments[0] == self.interaction else [(method, arguments)]

    def _transportation(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        federate, interaction_class, transportation = arguments
        assert isinstance(interaction_class, InteractionClassHandle)
        if federate != self.federate or not self._asked[interaction_class]:
            return [(method, arguments)]
        self._asked[interaction_class] -= 1
        self._reliable.setdefault(interaction_class, transportation == self.transportation)
        return []

    # --- save, restore, the end -------------------------------------------------------------------------------

    def _save(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        """What is held belongs to this federate already, as far as the RTI knows: it is kept here."""
        self._saves[str(arguments[0])] = self.work.copy()
        return [(method, arguments)]

    def _restore(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        self._restoring = str(arguments[0])
        return [(method, arguments)]

    def _restored(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        saved = self._saves.get(self._restoring)
        self._outbox.clear()
        if saved is not None:
            self.work = saved.copy()
        else:
            self.work = Work(self._new_party())
            self.start()
        return [(method, arguments)]

    def _end(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        """Nothing more will come: the federate gets what was held, and then hears of the end."""
        out = self._release(self.party.group.give_up())
        return [*out, (method, arguments)]

    _SPECIAL: ClassVar[dict[str, Callable[[Seat, str, tuple[object, ...]], list[Call]]]] = {
        "discover_object_instance": _discover,
        "start_registration_for_object_class": _class_advisory,
        "stop_registration_for_object_class": _class_advisory,
        "turn_interactions_on": _interaction_advisory,
        "turn_interactions_off": _interaction_advisory,
        "report_interaction_transportation_type": _transportation,
        "initiate_federate_save": _save,
        "initiate_federate_restore": _restore,
        "federation_restored": _restored,
        "federate_resigned": _end,
        "connection_lost": _end,
    }


def _as(kind: type[Kind], value: object) -> Kind:
    """An argument of a callback is what that callback says."""
    assert isinstance(value, kind)
    return value
