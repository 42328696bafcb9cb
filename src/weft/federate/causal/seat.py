"""One joined federate in a causal group: between its ambassador, the RTI and the other members.

`hear` takes each callback of the RTI and gives those that the federate is to have now, in order.  The middleware's own classes
and instances never reach the federate.  What concerns an instance stays in its order: a removal that is not itself in
causal order waits for the held messages about that instance, and what follows it waits behind it.
"""

from __future__ import annotations

import inspect
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador
from weft.federate.causal.addresses import Addresses
from weft.federate.causal.module import (
    ATTRIBUTE,
    FEDERATE,
    FEDERATE_ATTRIBUTE,
    INTERACTION,
    OBJECT,
    PARAMETER,
)
from weft.federate.causal.mom import MomTables
from weft.federate.causal.notices import (
    BYE,
    ENVELOPE,
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
    RTIinternalError,
)
from weft.model.handles import (
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
)
from weft.ordering.group import CausalGroup
from weft.ordering.group_tags import split_tag
from weft.ordering.member import MemberOrder, MemberStamp
from weft.ordering.tables import ID_SIZE, CausalTables, TableStamp, identity_of

MOST_PROCESSES: Final = 1 << 16
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
    """`tables`: messages name their destinations."""

    def __init__(
        self, rti: RTIambassador, federate: FederateHandle, now: Callable[[], float], tables: bool = False
    ) -> None:
        self.rti = rti
        self.federate = federate
        self.now = now
        self.tables = tables
        self.counts = SeatCounts()
        self.watching = False  # the federate itself subscribes to the MOM's HLAfederate
        self.watching_handle = False  # and to the attribute that we subscribe to
        self._outbox: deque[bytes] = deque()
        self._uncertain = False  # whether a federate has gone could not be found out
        self._quiet = 0  # how often nothing was said of the notes that are kept
        self._saves: dict[str, Work] = {}
        self._restoring = ""
        self._find()
        self.addresses = Addresses(rti, federate, tables)
        self._envelopes: dict[FederateHandle, MemberStamp] = {}
        self.mom: MomTables | None = None
        self._own: frozenset[object] = frozenset([self.interaction])
        self.regions: dict[str, set[RegionHandle]] = {}  # by name of what is wanted in part
        self.work = Work(self._new_party(self._new_identity()))

    @property
    def party(self) -> Party:
        return self.work.party

    def _new_identity(self) -> bytes:
        """By tables it is the number of the process, which nobody else has and all others see (S0-15)."""
        if not self.tables:
            return secrets.token_bytes(ID_SIZE)
        process = self.rti.normalize_federate_handle(self.federate)
        if not 0 <= process < MOST_PROCESSES:
            raise RTIinternalError(
                f"causal order with destinations by tables: this RTI numbers the federate {process}, and vectors of that "
                'length would not fit into tags; use destinations="all"'
            )
        return identity_of(process)

    def _new_party(self, own: bytes, number: int = 0) -> Party:
        group: MemberOrder = CausalTables(own, number) if self.tables else CausalGroup(own)
        return Party(group, self._tell, self._has_departed)

    # --- beginning and end ------------------------------------------------------------------------------------

    def _find(self) -> None:
        rti = self.rti
        self.interaction = rti.get_interaction_class_handle(INTERACTION)
        self.parameter = rti.get_parameter_handle(self.interaction, PARAMETER)
        self.object_class = rti.get_object_class_handle(OBJECT)
        self.attribute = rti.get_attribute_handle(self.object_class, ATTRIBUTE)
        self.reliable = rti.get_transportation_type_handle("HLAreliable")
        self.federate_class: ObjectClassHandle | None = None
        try:
            self.federate_class = rti.get_object_class_handle(FEDERATE)
            self.federate_attribute = rti.get_attribute_handle(self.federate_class, FEDERATE_ATTRIBUTE)
        except NameNotFound:
            self.federate_class = None  # a MIM without it: crashes go unnoticed

    def start(self) -> None:
        """Be a member.  Notices before instances: who sees an instance of ours is heard by us."""
        rti = self.rti
        if self.tables:
            self.mom = MomTables(rti)
            self._own |= self.mom.classes
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
            self.rti.delete_object_instance(member, self._written(self.party.farewell()))

    def come_back(self) -> None:
        """The RTI did not let us resign: we go on, after all that came before."""
        self.work.party = self.party.anew(self._new_identity())
        self.work.member = self.rti.register_object_instance(self.object_class)
        self.party.greet()

    def listen_again(self, interaction_class: InteractionClassHandle, shown: bool) -> None:
        """The federate has declared something about a class; if it is our own, we go on hearing it."""
        needed = self.mom is not None and self.mom.shows(interaction_class, shown)
        if needed or interaction_class == self.interaction:
            self.rti.subscribe_interaction_class_passively(interaction_class)

    # --- telling the others -----------------------------------------------------------------------------------

    def _tell(self, notice: GroupNotice) -> None:
        self._outbox.append(self._written(notice))
        self.retry()

    def _written(self, notice: GroupNotice) -> bytes:
        return write_notice(notice, self.tables)

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

    def send_envelope(self, stamp: MemberStamp) -> bool:
        """The stamp of a message ahead of it (S0-11).  Not what has to go later, in the outbox: it would come too late."""
        if self._outbox:
            return False
        data = self._written(GroupNotice(self.party.own, ENVELOPE, stamps=(stamp,)))
        try:
            self.rti.send_interaction(self.interaction, {self.parameter: as_opaque(data)}, b"")
        except RTIexception:
            return False
        return True

    def idle(self) -> None:
        """The RTI has no callback for us."""
        if self.party.group.held:
            self.party.ask_overdue()

    def _tick(self) -> None:
        """Notes do not wait for ever, even if nothing more is sent.  By tables they are asked for."""
        party = self.party
        if self.mom is not None and self.mom.open and party.company and party.all_greeted:
            self.mom.close()
        self._quiet = self._quiet + 1 if party.unanswered or (party.unsaid and not self.tables) else 0
        if self._quiet >= KEPT_NOTES:
            self._quiet = 0
            party.greet(HERE)

    # --- callbacks --------------------------------------------------------------------------------------------

    def hear(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        """What the federate is to have now."""
        calls = self._hear(method, arguments)
        self._tick()
        return calls

    def _hear(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        if self._outbox:
            self.retry()
        places = ORDERED.get(method)
        if places is not None and not self._uncertain:
            return self._ordered(method, arguments, places[0], places[1], places[2])
        before: list[Call] = self._look_around() if self._uncertain else []
        if places is not None:
            return before + self._ordered(method, arguments, places[0], places[1], places[2])
        special = _SPECIAL.get(method)
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
            if arguments[0] in self._own:
                if self.mom is None or arguments[0] == self.interaction:
                    return self._notice(arguments)
                if self.mom.hear(self.party, arguments[0], _as(dict, arguments[1])):
                    return []
        else:
            instance = _as(ObjectInstanceHandle, arguments[instance_at])
            ours = self._ours(method, arguments, instance)
            if ours is not None:
                return ours
        party = self.party
        sender, whole = _as(FederateHandle, arguments[sender_at]), _as(bytes, arguments[tag_at])
        stamp, tag = split_tag(whole)
        if self._envelopes:
            stamp = self._opened(method, arguments[sender_at - 1], sender, stamp, len(tag) == len(whole))
        if stamp is None:
            if len(tag) != len(whole) and party.knows(sender):
                arguments = (*arguments[:tag_at], tag, *arguments[tag_at + 1 :])
            return self._unordered(method, arguments, instance)
        if isinstance(stamp, TableStamp) is not self.tables or not party.is_from(stamp, sender):
            return self._unordered(method, arguments, instance)
        arguments = (*arguments[:tag_at], tag, *arguments[tag_at + 1 :])
        if method == REMOVE and party.refuses(stamp):
            return self._unordered(method, arguments, instance)  # the instance is gone, whoever crashed
        in_turn = method != REMOVE and (not self.tables or arguments[sender_at - 1] == self.reliable)
        return self._admit(stamp, HeldCallback(method, arguments, instance), in_turn)

    def _opened(
        self,
        method: str,
        transportation: object,
        sender: FederateHandle,
        stamp: MemberStamp | None,
        bare: bool,
    ) -> MemberStamp | None:
        """The stamp of the envelope that came just before, if the message has none in its tag and does not say that it has none.

        An envelope whose message is not for us is followed by something else that its sender has sent.
        """
        if method in ("receive_interaction", "reflect_attribute_values") and transportation == self.reliable:
            found = self._envelopes.pop(sender, None)
            if stamp is None and bare:
                return found
        return stamp

    def _admit(self, stamp: MemberStamp, held: HeldCallback, in_turn: bool) -> list[Call]:
        if held.instance is not None:
            self.work.holding[held.instance] = self.work.holding.get(held.instance, 0) + 1
        refused = self.party.group.counts.refused
        released = self.party.arrive(stamp, held, in_turn)
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
            assert isinstance(held, HeldCallback)  # nothing else is handed to the party
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
            told = from_opaque(_as(bytes, _as(dict, arguments[1]).get(self.parameter, b"")))
            notice = read_notice(told, self.tables, self.party.group)
        except OrderingError:
            return []  # somebody else uses our class
        sender = _as(FederateHandle, arguments[4])
        if notice.kind == ENVELOPE:
            self._envelopes[sender] = notice.stamps[0]
        if notice.kind in (BYE, ENVELOPE):
            return []
        return self._release(self.party.hear(notice, sender))

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
            notice = read_notice(_as(bytes, tag), self.tables)
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
            member = _as(FederateHandle, arguments[3])
            self.work.members[instance] = member.encode()
            return self._meet(member) + self._count()
        if object_class == self.federate_class:
            self.work.federates[instance] = b""
            if not self.watching:
                return []
            self.work.shown.add(instance)
        return self._unordered(method, arguments, instance)

    def _meet(self, federate: FederateHandle) -> list[Call]:
        """FedToPID: a member is named in our messages from now on (S0-12)."""
        if not self.tables or federate == self.federate:
            return []
        try:
            process = self.rti.normalize_federate_handle(federate)
        except RTIexception:
            return []  # it is gone already
        if self.mom is not None and not self.party.knows(federate):
            self.mom.ask(federate)
        return self._release(self.party.meet(identity_of(process), federate))

    def _about_instance(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        instance = _as(ObjectInstanceHandle, arguments[0])
        ours = self._ours(method, arguments, instance)
        return self._unordered(method, arguments, instance) if ours is None else ours

    def _class_advisory(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        return [] if arguments[0] == self.object_class else [(method, arguments)]

    def _interaction_advisory(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        return [] if arguments[0] == self.interaction else [(method, arguments)]

    def _transportation(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        return [] if self.addresses.hear_transportation(arguments) else [(method, arguments)]

    def _attribute_transportation(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        if self.addresses.hear_attribute_transportation(arguments):
            return []
        return self._about_instance(method, arguments)

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
            # Later than whatever the others know of it.
            self.work = Work(self._new_party(self._new_identity(), time.time_ns() >> 20))
            self.start()
        return [(method, arguments)]

    def _end(self, method: str, arguments: tuple[object, ...]) -> list[Call]:
        """Nothing more will come: the federate gets what was held, and then hears of the end."""
        out = self._release(self.party.group.give_up())
        return [*out, (method, arguments)]


_SPECIAL: Final[dict[str, Callable[[Seat, str, tuple[object, ...]], list[Call]]]] = {
    "discover_object_instance": Seat._discover,
    "start_registration_for_object_class": Seat._class_advisory,
    "stop_registration_for_object_class": Seat._class_advisory,
    "turn_interactions_on": Seat._interaction_advisory,
    "turn_interactions_off": Seat._interaction_advisory,
    "report_interaction_transportation_type": Seat._transportation,
    "report_attribute_transportation_type": Seat._attribute_transportation,
    "initiate_federate_save": Seat._save,
    "initiate_federate_restore": Seat._restore,
    "federation_restored": Seat._restored,
    "federate_resigned": Seat._end,
    "connection_lost": Seat._end,
}


def _as(kind: type[Kind], value: object) -> Kind:
    """An argument of a callback is what that callback says."""
    assert isinstance(value, kind)
    return value
