"""The state of a federation, as every node that has members of it holds it.

Three sharings keep it small, because a federation may have many thousand instances, each known to a hundred federates:

* `Instance.owners` is one dict for all instances registered alike; it is replaced, never changed, when ownership moves.
* `Knowledge`, who knows an instance and at which class, is a bit mask of seats per class, again one object for all
  instances known alike; it carries the routes of updates worked out so far.
* The plan of discovery for a class is worked out once per set of owned attributes, and kept until a declaration changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.fom.catalog import Catalog, ObjectClassEntry
from weft.interest import Declarations, Declared
from weft.kernel.state.effects import Callback
from weft.kernel.state.mom_state import MomState, Tally
from weft.kernel.state.rate_state import Paces
from weft.kernel.state.region_state import Placement, RegionState
from weft.kernel.state.save_state import SaveState
from weft.kernel.state.time_state import FederationTime, Timing
from weft.kernel.state.traffic import Traffic
from weft.model.enums import OrderType, ResignAction
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    TransportationTypeHandle,
)
from weft.model.json_types import JsonObject
from weft.model.recording import Pattern, Recorder
from weft.model.records import Source, absence_words
from weft.model.time import LogicalTimeFactory

if TYPE_CHECKING:
    from weft.kernel.ddm.channels import Channels
    from weft.kernel.message.causal_order import CausalOrder
    from weft.kernel.message.deliver_as_of import DeliveryAsOf
    from weft.kernel.qos.consumers import ClassSchedule, Qos
    from weft.kernel.state.messages import Recipient
    from weft.kernel.state.recipients import Recipients

_KNOWLEDGE_KEPT = 4096
_DELETED_KEPT = 4096


FEDERATION_SWITCHES = (
    "autoProvide",
    "delaySubscriptionEvaluation",
    "advisoriesUseKnownClass",
    "allowRelaxedDDM",
    "nonRegulatedGrant",
)


class Switches:
    """The switches of one federate; the federation-wide ones are in `Federation.switches`."""

    def __init__(self) -> None:
        self.object_class_relevance = False
        self.attribute_relevance = False
        self.attribute_scope = False
        self.interaction_relevance = False
        self.convey_region_designator_sets = False
        self.service_reporting = False
        self.exception_reporting = False
        self.send_service_reports_to_file = False
        # Of 2010, where no switch says it: time advances though nobody regulates.
        self.non_regulated_grant = False


Transportations = dict[AttributeHandle, TransportationTypeHandle]


class Absence:
    """Nothing comes from a federate, as its host sees it.  Times are of the node's clock.

    Who waits for it is told why, since when, and until when that may last.
    """

    def __init__(self, why: str, since: float, until: float) -> None:
        self.why = why  # LOST or SILENT
        self.since = since
        self.until = until

    def data(self, now: float) -> JsonObject:
        seconds, left = self._times(now)
        return {"why": self.why, "seconds": seconds, "left": left}

    def words(self, now: float) -> str:
        return absence_words(self.why, *self._times(now))

    def _times(self, now: float) -> tuple[float, float]:
        return round(max(0.0, now - self.since), 1), round(max(0.0, self.until - now), 1)


class Member:
    """A joined federate."""

    def __init__(
        self,
        handle: FederateHandle,
        name: str,
        kind: str,
        node: str,
        session: int,
        seat: int,
        declared: Declared,
    ) -> None:
        self.handle = handle
        self.name = name
        # In rows (`recording.message_rows`).
        self.who: Pattern = (("federate", handle.number), ("name", name))
        self.kind = kind  # the federate type
        # Who gets its interactions, by class, and it as one who gets those of others (`message.recipients`).
        self.recipients: dict[InteractionClassHandle, Recipients] = {}
        self.hearing: Recipient | None = None
        self.node = node
        self.session = session  # means something at that node only
        self.seat = seat
        self.bit = 1 << seat
        self.declared = declared
        self.switches = Switches()
        self.resign_directive = ResignAction.NO_ACTION
        # What advisories have told this federate so far; kept only while the switch is on.
        self.told_registrations: dict[ObjectClassHandle, None] = {}
        self.told_interactions: dict[InteractionClassHandle, None] = {}
        self.told_scope: dict[ObjectInstanceHandle, dict[AttributeHandle, None]] = {}
        self.told_updates: dict[ObjectInstanceHandle, dict[AttributeHandle, str]] = {}
        # Deviations from the object model's transportation and order.
        self.attribute_transportations: dict[ObjectClassHandle, Transportations] = {}
        self.attribute_orders: dict[ObjectClassHandle, dict[AttributeHandle, OrderType]] = {}
        self.interaction_transportations: dict[InteractionClassHandle, TransportationTypeHandle] = {}
        self.interaction_orders: dict[InteractionClassHandle, OrderType] = {}
        # For the MOM (`mom.mom`).
        self.mom_handle: ObjectInstanceHandle | None = None  # once it was asked for (`mom_handle`)
        self.tally = Tally()
        self.traffic = Traffic()
        self.modules: tuple[Any, ...] = ()  # the object model sources it brought
        self.granted_since = 0.0
        self.report_period = 0
        self.reports_made = 0
        # Time management (`state.time_state`).
        self.timing = Timing()
        self.holds = False  # it is time-constrained, or has QoS: not everything may be handed to it at once
        # At its own node: what it has said of urgency, deadlines and groups (`qos.consumers`).
        self.qos: Qos | None = None
        self.saved_qos: dict[str, Any] | None = None  # of a federation made of a save: what it had said then
        self.recorded = False  # its file of service reports has been begun
        self.waiting = 0  # messages it has not read yet, as its host last said
        # Its process is not there, or says nothing, as its host last said.
        self.absence: Absence | None = None
        # What it took last, as its host says: the cause of what it does.
        self.handling: Callback | None = None
        # The same, where its host knows only which message it was (`weft.host.causes`); 0: none.
        self.cause_source = 0
        self.cause = 0

    def __repr__(self) -> str:
        return f"federate {self.name!r} ({self.handle!r})"


class Knowledge:
    """Who knows an instance, and at which class: a mask of seats for each class."""

    def __init__(self, masks: dict[ObjectClassHandle, int]) -> None:
        self.masks = masks
        self.mask = 0
        for mask in masks.values():
            self.mask |= mask
        self.recipients: dict[tuple[Handle, ...], Recipients] = {}
        self.generation = 0


class Overrides:
    """Transportation and order of an instance's attributes where they differ from the object model."""

    def __init__(self) -> None:
        self.transportations: dict[AttributeHandle, TransportationTypeHandle] = {}
        self.orders: dict[AttributeHandle, OrderType] = {}


class Bid(NamedTuple):
    """A member wants an attribute: until it gets it or is denied it, or only while its owner offers it."""

    tag: bytes
    lasting: bool


class Transfers:
    """What is under way for the ownership of an instance's attributes (`services.ownership`)."""

    def __init__(self) -> None:
        self.offered: dict[AttributeHandle, bytes] = {}  # a new owner is sought, with that tag
        self.wanted: dict[AttributeHandle, dict[FederateHandle, Bid]] = {}  # first come, first served


class Condemned:
    """An instance is deleted at a logical time that not everybody who knows it has reached (`message.timed_deletion`)."""

    def __init__(self, deleter: FederateHandle, retraction: bytes, owned: list[AttributeHandle]) -> None:
        self.deleter = deleter
        self.retraction = retraction
        self.owned = owned  # by the deleter, until then
        self.known_class: ObjectClassHandle | None = None  # at which the deleter knew it
        self.waiting: dict[FederateHandle, None] = {}


class Instance:
    """An object instance."""

    def __init__(
        self,
        handle: ObjectInstanceHandle,
        name: str,
        entry: ObjectClassEntry,
        owners: dict[AttributeHandle, Member],
        knowledge: Knowledge,
        producer: FederateHandle,
    ) -> None:
        self.handle = handle
        self.number = handle.number
        self.name = name
        self.entry = entry
        self.owners = owners  # shared; replace, never change
        self.knowledge = knowledge  # shared; replace through Federation.knowledge
        self.producer = producer
        self.updated = 0  # the seats of members that ever updated it
        self.reflected = 0  # and of those that ever had it reflected
        self.overrides: Overrides | None = None
        self.transfers: Transfers | None = None
        self.condemned: Condemned | None = None
        self.placement: Placement | None = None  # the regions its attributes are updated in


class SynchronizationPoint:
    def __init__(self, label: str, tag: bytes, waiting: dict[FederateHandle, None], everyone: bool) -> None:
        self.label = label
        self.tag = tag
        self.waiting = waiting  # announced to, and not yet achieved
        self.achieved: dict[FederateHandle, bool] = {}
        self.everyone = everyone  # no set was given: later joiners take part


class MembershipState:
    """Who has joined, besides `Federation.members`."""

    def __init__(self, rti: Member) -> None:
        self.names: dict[str, Member] = {}
        self.seats: list[Member | None] = [rti]
        self.joined = 0  # so far
        self.departed: dict[
            FederateHandle, str
        ] = {}  # names of some who have left: their last words may still come


class ObjectState:
    """Names and classes of the instances in `Federation.instances`."""

    def __init__(self) -> None:
        self.names: dict[str, Instance] = {}
        self.of_class: dict[ObjectClassHandle, dict[ObjectInstanceHandle, Instance]] = {}
        self.registered = 0  # so far
        self.reserved: dict[str, FederateHandle] = {}
        # Of instances that were deleted while something about them may still wait for somebody: for the recorder.
        self.deleted: dict[ObjectInstanceHandle, ObjectClassEntry] = {}
        self.knowledge: dict[tuple[tuple[ObjectClassHandle, int], ...], Knowledge] = {}  # shared


class QosState:
    """At this node: members with QoS (`qos.consumers`), and what the node's schedule says of classes."""

    def __init__(self) -> None:
        self.attended: dict[FederateHandle, Qos] = {}
        self.schedule: ClassSchedule = {}


class Federation:
    def __init__(
        self,
        name: str,
        execution: str,
        home: str,
        founding: tuple[Any, ...],
        catalog: Catalog,
        time: LogicalTimeFactory,
        orders: CausalOrder,
        distribution: DeliveryAsOf,
        channels: Channels,
    ) -> None:
        self.name = name
        self.execution = execution  # tells it from others that have had the name, or will
        self.home = home
        self.founding = founding  # the arguments of its creation, for nodes that come later
        self.catalog = catalog
        self.time = time
        self.members: dict[FederateHandle, Member] = {}
        # The RTI itself, as owner of the MOM's instances and sender of its reports; it has a seat, but is no member.
        self.rti = Member(FederateHandle.of(0), "RTI", "RTI", home, 0, 0, Declared())
        self.membership = MembershipState(self.rti)
        self.declarations = Declarations()
        self.instances: dict[ObjectInstanceHandle, Instance] = {}
        self.objects = ObjectState()
        # Data distribution (`services.data_distribution`).
        self.ddm = RegionState()
        self.distribution = distribution
        self.points: dict[str, SynchronizationPoint] = {}
        self.qos = QosState()
        # Worked out on demand, valid until a declaration or the membership changes (`changed`).
        self.generation = 1
        self.kept_recipients: list[Recipients] = []
        self.plans: dict[tuple[ObjectClassHandle, FederateHandle], Any] = {}
        # The order of control over several nodes.
        self.sequence = 0
        self.nodes: dict[str, None] = {home: None}
        self.clock = FederationTime()
        self.extensions: list[tuple[Source, ...]] = []  # what joining federates added to the object model
        self.saves = SaveState()
        # The MOM (`mom.mom`): switches for all, whose services it reports.
        self.mom = MomState()
        self.switches = {name: bool(catalog.model.switches.get(name)) for name in FEDERATION_SWITCHES}
        self.observed: dict[FederateHandle, Member] = {}
        # Values that wait because their subscribers named an update rate (`message.update_rates`); None until there are any.
        self.paces: Paces | None = None
        # Weft's own orders (`message.causal_order`): is any of them in use, and what this node keeps for them.
        self.ordered = catalog.ordered
        self.orders = orders
        self.channels = channels
        self.recorder: Recorder | None = None  # where what happens here is recorded
        self.first_shape = 0  # the number of the first shape of its next recorder

    def switch(self, name: str) -> bool:
        """A federation-wide switch, as the object model was when the federation was created, or as the MOM has set it."""
        return self.switches[name]

    def taking_part(self) -> list[str]:
        """The nodes where there are members, and the home."""
        return list(dict.fromkeys([self.home, *(member.node for member in self.members.values())]))

    def count_up(self) -> None:
        """Bring all tallies up to date."""
        for recipients in self.kept_recipients:
            if recipients.count:
                recipients.count_up()

    def changed(self) -> None:
        """Forget what was worked out from declarations and membership."""
        for recipients in self.kept_recipients:
            if recipients.count:
                recipients.count_up()
            recipients.sender.recipients.clear()
        self.kept_recipients.clear()
        self.generation += 1
        self.ddm.changes += 1
        self.plans.clear()

    def keep(self, recipients: Recipients) -> None:
        """They are kept until `changed`."""
        recipients.kept = True
        self.kept_recipients.append(recipients)

    def knowledge(self, masks: dict[ObjectClassHandle, int]) -> Knowledge:
        """The shared knowledge with these masks; empty masks are left out."""
        kept = {handle: mask for handle, mask in masks.items() if mask}
        key = tuple(sorted(kept.items()))
        found = self.objects.knowledge.get(key)
        if found is None:
            if len(self.objects.knowledge) >= _KNOWLEDGE_KEPT:
                self.objects.knowledge.clear()  # instances keep theirs; only sharing with later ones is lost
            found = Knowledge(dict(key))  # in one order, whoever comes to it first
            self.objects.knowledge[key] = found
        return found

    def seated(self, mask: int) -> Iterator[Member]:
        """The members whose seats are in the mask."""
        for member in self.membership.seats:
            if member is not None and member.bit & mask:
                yield member

    def note_deleted(self, instance: Instance) -> None:
        """It is deleted; what waits for somebody may still be about it."""
        deleted = self.objects.deleted
        deleted[instance.handle] = instance.entry
        if len(deleted) > _DELETED_KEPT:
            del deleted[next(iter(deleted))]

    def class_of(self, object_instance: ObjectInstanceHandle) -> ObjectClassEntry | None:
        """Of an instance, also of one that was deleted not long ago while it was recorded."""
        instance = self.instances.get(object_instance)
        return self.objects.deleted.get(object_instance) if instance is None else instance.entry

    def known_class(self, member: Member, instance: Instance) -> ObjectClassHandle | None:
        """The class at which the member knows the instance; None if it does not know it."""
        bit = member.bit
        if not instance.knowledge.mask & bit:
            return None
        for handle, mask in instance.knowledge.masks.items():
            if mask & bit:
                return handle
        return None

    def learn(self, instance: Instance, member: Member, known_class: ObjectClassHandle) -> None:
        masks = dict(instance.knowledge.masks)
        masks[known_class] = masks.get(known_class, 0) | member.bit
        instance.knowledge = self.knowledge(masks)

    def forget(self, instance: Instance, member: Member) -> None:
        if instance.knowledge.mask & member.bit:
            masks = {handle: mask & ~member.bit for handle, mask in instance.knowledge.masks.items()}
            instance.knowledge = self.knowledge(masks)

    def keep_messages(self, member: Member) -> None:
        """A member of this node has gone, and all its messages are in its tally: they stay in the sums of the federation."""
        self.mom.former_tally.add_messages(member.tally)
        self.mom.former_traffic.add(member.traffic)

    def keep_counts(self, instance: Instance) -> None:
        """The instance goes: who updated it and had it reflected is kept in their tallies."""
        kind = instance.entry.handle
        for member in self.seated(instance.updated):
            member.tally.updated[kind] = member.tally.updated.get(kind, 0) + 1
        for member in self.seated(instance.reflected):
            member.tally.reflected[kind] = member.tally.reflected.get(kind, 0) + 1

    def take_seat(self, member: Member) -> None:
        while len(self.membership.seats) <= member.seat:
            self.membership.seats.append(None)
        self.membership.seats[member.seat] = member

    def free_seat(self) -> int:
        for seat, member in enumerate(self.membership.seats):
            if member is None:
                return seat
        return len(self.membership.seats)


MOM_INSTANCES = 1 << 27
"""The numbers of the MOM's instances begin here: the federation's, then each federate's by its number."""


def mom_handle(member: Member | None) -> ObjectInstanceHandle:
    """Of the instance that the MOM has for it; kept, since it is looked for at each request and grant."""
    if member is None:
        return ObjectInstanceHandle.of(MOM_INSTANCES)
    if member.mom_handle is None:
        member.mom_handle = ObjectInstanceHandle.of(MOM_INSTANCES + member.handle.number)
    return member.mom_handle
