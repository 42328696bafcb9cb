"""A federation as plain data (dicts, lists, text, bytes, numbers), and back.

For two purposes: a federation save, and the beginning of a node that gets its first member of a federation.  The law, tested:
a federation made of a snapshot behaves as the original from there on.

    snapshot(federation, now)    everything but what can be worked out again (recipients, plans)
    restored(data, now)          a federation from it

Orders matter (callbacks follow them), so maps are lists of pairs.  Handles are their numbers.  What instances share (owners,
knowledge) they share again.  What only a member's own node knows of it is its `private` part: counts, what advisories have told
it, when it is next reported on, callbacks held for it.  In a save each node adds that of its own members.

Data of another version is refused with a SnapshotError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from weft.kernel.federation import operator, timed_saves
from weft.kernel.federation.founding import extended_model, found
from weft.kernel.federation.plain import (
    SnapshotError,
    callback_from_plain,
    callback_to_plain,
    from_plain,
    to_plain,
)
from weft.kernel.federation.snapshot_members import add_private, member_data, member_from, private_data
from weft.kernel.federation.snapshot_regions import regions_data, restore_regions, templates_data
from weft.kernel.federation.snapshot_times import condemned_data, condemned_from
from weft.kernel.state.federation import (
    Bid,
    Federation,
    Instance,
    Knowledge,
    Member,
    Overrides,
    SynchronizationPoint,
    Transfers,
)
from weft.kernel.state.order_state import Flush
from weft.kernel.state.time_state import STOPPED
from weft.model.enums import OrderType
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    TransportationTypeHandle,
)
from weft.model.records import Source
from weft.model.time import LogicalTime

VERSION = 2

Held = Iterable[tuple[str, tuple[object, ...]]]
"""Callbacks: method and arguments."""


class SavedMember(NamedTuple):
    handle: FederateHandle
    name: str
    kind: str


class Outline(NamedTuple):
    """What must fit for a restore."""

    name: str
    time: str
    members: list[SavedMember]


# --- out ------------------------------------------------------------------------------------------------------


def share(federation: Federation, member: Member, callbacks: Held, now: float) -> dict[str, Any]:
    """What only the member's own node knows of it."""
    due = federation.mom.due.get(member.handle)
    private = private_data(member, None if due is None else due - now)
    private["templates"] = templates_data(federation, member)
    private["held"] = [callback_to_plain(method, arguments) for method, arguments in callbacks]
    if member.node != federation.home and federation.saves.saving is not None:
        private["instances"] = _instances_of(federation, member)
    return private


def _instances_of(federation: Federation, member: Member) -> list[list[int]]:
    """Those that it has updated, and those that it has had reflected: the home's masks have only what has passed there."""
    instances, bit = federation.instances.values(), member.bit
    return [
        [one.handle.number for one in instances if one.updated & bit],
        [one.handle.number for one in instances if one.reflected & bit],
    ]


def snapshot(
    federation: Federation, now: float, shares: dict[int, Any] | None = None, label: str = ""
) -> dict[str, Any]:
    """`shares`: the private parts by the member's number, where other nodes know them better."""
    federation.count_up()
    sources = _Sources()
    fom, mim, time_name, rid = federation.founding
    members = []
    for member in federation.members.values():
        data = member_data(member, sources.number)
        known = None if shares is None else shares.get(member.handle.number)
        data["private"] = share(federation, member, (), now) if known is None else known
        members.append(data)
    objects = _Objects()
    instances = [objects.data(instance) for instance in federation.instances.values()]
    saving = federation.saves.saving
    return {
        "version": VERSION,
        "name": federation.name,
        "label": label,
        "save time": None if saving is None else to_plain(saving.time),
        "fom": [sources.number(source) for source in fom],
        "mim": None if mim is None else sources.number(mim),
        "time": time_name,
        "rid": None if rid is None else sources.number(rid),
        "extensions": [[sources.number(source) for source in more] for more in federation.extensions],
        "joined": federation.membership.joined,
        "registered": federation.objects.registered,
        "seats": [None if member is None else member.handle.number for member in federation.membership.seats],
        "members": members,
        "rti": member_data(federation.rti, sources.number) | {"private": private_data(federation.rti, None)},
        "owners": objects.owners,
        "knowledge": objects.knowledge,
        "instances": instances,
        "classes": [kind.number for kind in federation.objects.of_class],
        "reserved": [[name, holder.number] for name, holder in federation.objects.reserved.items()],
        "points": [_point_data(point) for point in federation.points.values()],
        "switches": list(map(list, federation.switches.items())),
        "observed": [handle.number for handle in federation.observed],
        "orders": _orders_data(federation),
        "regions": regions_data(federation),
        "strategy": federation.channels.origin(),
        "channels": None if federation.channels.adapting is None else federation.channels.adapting.plain(),
        "next save": timed_saves.plain(federation) if shares is None else None,
        "paused": operator.plain(federation, now) if shares is None else None,
        "last save": [federation.saves.last[0], to_plain(federation.saves.last[1])],
        "sources": sources.data,
    }


class _Sources:
    """Object model texts, each once, whoever brought them."""

    def __init__(self) -> None:
        self.data: list[list[Any]] = []
        self._numbers: dict[Source, int] = {}

    def number(self, source: Source) -> int:
        found = self._numbers.get(source)
        if found is None:
            found = self._numbers[source] = len(self.data)
            self.data.append([source.name, source.data])
        return found


class _Objects:
    """Instances, with the tables they share: each table once, whether or not it is one object."""

    def __init__(self) -> None:
        self.owners: list[Any] = []
        self.knowledge: list[Any] = []
        self._numbers: dict[int, int] = {}  # by identity
        self._alike: dict[Any, int] = {}  # by content

    def _number(self, table: dict[Any, Any], of: int, into: list[Any], row: Callable[[Any], int]) -> int:
        found = self._numbers.get(of)
        if found is None:
            data = [[handle.number, row(value)] for handle, value in table.items()]
            key = (into is self.owners, *map(tuple, data))
            found = self._alike.get(key)
            if found is None:
                found = self._alike[key] = len(into)
                into.append(data)
            self._numbers[of] = found
        return found

    def data(self, instance: Instance) -> list[Any]:
        known = instance.knowledge
        owners = self._number(instance.owners, id(instance.owners), self.owners, attrgetter("handle.number"))
        knowledge = self._number(known.masks, id(known), self.knowledge, int)
        return [
            instance.handle.number,
            instance.name,
            instance.entry.handle.number,
            owners,
            knowledge,
            instance.producer.number,
            instance.updated,
            instance.reflected,
            None if instance.overrides is None else _overrides_data(instance.overrides),
            None if instance.transfers is None else _transfers_data(instance.transfers),
            condemned_data(instance.condemned),
        ]


def _overrides_data(overrides: Overrides) -> list[object]:
    return [
        [[attribute.number, way.number] for attribute, way in overrides.transportations.items()],
        [[attribute.number, order.value] for attribute, order in overrides.orders.items()],
    ]


def _transfers_data(transfers: Transfers) -> list[object]:
    return [
        [[attribute.number, tag] for attribute, tag in transfers.offered.items()],
        [
            [attribute.number, [[who.number, bid.tag, bid.lasting] for who, bid in bids.items()]]
            for attribute, bids in transfers.wanted.items()
        ],
    ]


def _point_data(point: SynchronizationPoint) -> list[object]:
    achieved = [[handle.number, well] for handle, well in point.achieved.items()]
    return [point.label, point.tag, [handle.number for handle in point.waiting], achieved, point.everyone]


# --- back -----------------------------------------------------------------------------------------------------


def outline(data: Any) -> Outline:
    """What a save says of its federation, without making it."""
    try:
        if data["version"] != VERSION:
            raise SnapshotError(f"it has version {data['version']!r}; this Weft reads version {VERSION}")
        members = [
            SavedMember(FederateHandle.of(one["handle"]), one["name"], one["kind"]) for one in data["members"]
        ]
        return Outline(data["name"], data["time"] or "HLAfloat64Time", members)
    except (KeyError, TypeError, IndexError) as error:
        raise SnapshotError(f"it is no saved federation: {error!r}") from error


def time_of_save(data: Any) -> LogicalTime | None:
    found: LogicalTime | None = from_plain(data["save time"])
    return found


def held(data: Any) -> dict[FederateHandle, list[tuple[str, tuple[Any, ...]]]]:
    """The callbacks that were held for each member."""
    return {
        FederateHandle.of(one["handle"]): [callback_from_plain(c) for c in one["private"]["held"]]
        for one in data["members"]
    }


def restored(data: object, now: float = 0.0) -> Federation:
    outline(data)
    try:
        return _restored(data, now)
    except (LookupError, TypeError, ValueError, AttributeError, RTIexception) as error:
        raise SnapshotError(f"it is no saved federation: {error!r}") from error


def _restored(data: Any, now: float) -> Federation:
    sources = [Source(name, text) for name, text in data["sources"]]
    mim = None if data["mim"] is None else sources[data["mim"]]
    rid = None if data.get("rid") is None else sources[data["rid"]]
    founding = (tuple(sources[number] for number in data["fom"]), mim, data["time"], rid)
    federation = found(data["name"], "", "", founding)
    for more in data["extensions"]:
        given = tuple(sources[number] for number in more)
        model = extended_model(federation, given)
        if model is not None:
            federation.catalog.absorb(model)
            federation.extensions.append(given)
    federation.membership.joined = data["joined"]
    federation.objects.registered = data["registered"]
    _restore_members(federation, data, sources, now)
    _restore_instances(federation, data)
    federation.objects.reserved = {name: FederateHandle.of(number) for name, number in data["reserved"]}
    for label, tag, waiting, achieved, everyone in data["points"]:
        point = SynchronizationPoint(
            label, tag, {FederateHandle.of(number): None for number in waiting}, everyone
        )
        point.achieved = {FederateHandle.of(number): well for number, well in achieved}
        federation.points[label] = point
    federation.switches = dict(data["switches"])
    for number in data["observed"]:
        member = federation.members[FederateHandle.of(number)]
        federation.observed[member.handle] = member
    label, time = data["last save"]
    federation.saves.last = (label, from_plain(time))
    _restore_orders(federation, data.get("orders"))
    restore_regions(federation, data)
    if federation.channels.adapting is not None:
        federation.channels.adapting.restore(data.get("channels"))
    timed_saves.restore(federation, data.get("next save"))
    operator.restore(federation, data.get("paused"), now)
    return federation


def _restore_members(federation: Federation, data: Any, sources: list[Source], now: float) -> None:
    rti = federation.rti = member_from(data["rti"], sources)
    add_private(rti, data["rti"]["private"])
    federation.membership.seats = [None] * len(data["seats"])
    federation.take_seat(rti)
    for one in data["members"]:
        member = member_from(one, sources)
        due = add_private(member, one["private"])
        if due is not None:
            federation.mom.due[member.handle] = now + due
        member.granted_since = now
        federation.take_seat(member)
        federation.members[member.handle] = member
        federation.membership.names[member.name] = member
        federation.declarations.of[member.handle] = member.declared
        if member.timing.mode:
            federation.clock.horizon.waiting[member.handle] = None
        if member.timing.regulating:
            federation.clock.horizon.view = STOPPED  # until the home says how far time may go


def _restore_instances(federation: Federation, data: Any) -> None:
    people = {**federation.members, federation.rti.handle: federation.rti}
    owners = [
        {AttributeHandle.of(a): people[FederateHandle.of(number)] for a, number in table}
        for table in data["owners"]
    ]
    knowledge: list[Knowledge] = [
        federation.knowledge({ObjectClassHandle.of(kind): mask for kind, mask in table})
        for table in data["knowledge"]
    ]
    federation.instances.clear()  # but for what a new federation begins with
    federation.objects.names.clear()
    federation.objects.of_class = {ObjectClassHandle.of(kind): {} for kind in data["classes"]}
    for one in data["instances"]:
        number, name, kind, owned, known, producer, updated, reflected, overrides, transfers, condemned = one
        instance = Instance(
            ObjectInstanceHandle.of(number),
            name,
            federation.catalog.object_classes[ObjectClassHandle.of(kind)],
            owners[owned],
            knowledge[known],
            FederateHandle.of(producer),
        )
        instance.updated = updated
        instance.reflected = reflected
        instance.overrides = None if overrides is None else _overrides_from(overrides)
        instance.transfers = None if transfers is None else _transfers_from(transfers)
        instance.condemned = condemned_from(condemned)
        federation.instances[instance.handle] = instance
        federation.objects.names[name] = instance
        federation.objects.of_class[instance.entry.handle][instance.handle] = instance
    # Of those that were at other nodes than the home; an older save says nothing of them.
    for one in data["members"]:
        bit = federation.members[FederateHandle.of(one["handle"])].bit
        updated, reflected = one["private"].get("instances", ((), ()))
        for number in updated:
            federation.instances[ObjectInstanceHandle.of(number)].updated |= bit
        for number in reflected:
            federation.instances[ObjectInstanceHandle.of(number)].reflected |= bit


def _overrides_from(data: list[Any]) -> Overrides:
    made = Overrides()
    made.transportations = {AttributeHandle.of(a): TransportationTypeHandle.of(way) for a, way in data[0]}
    made.orders = {AttributeHandle.of(a): OrderType(order) for a, order in data[1]}
    return made


def _transfers_from(data: list[Any]) -> Transfers:
    made = Transfers()
    made.offered = {AttributeHandle.of(a): tag for a, tag in data[0]}
    made.wanted = {
        AttributeHandle.of(a): {FederateHandle.of(who): Bid(tag, lasting) for who, tag, lasting in bids}
        for a, bids in data[1]
    }
    return made


# --- Weft's own orders ----------------------------------------------------------------------------------------

# Only which view it is, not what was under way.  A node that gets its first member has had no message, so its processes begin
# with nothing.  A restored federation is another execution, in which nobody has sent anything: it begins in view 0 with empty
# rows.  Messages of before the save that were not taken are among the callbacks of the save, since all of them had arrived
# (`node.pausing`).


def _orders_data(federation: Federation) -> list[object]:
    orders = federation.orders
    flush = orders.flush
    ending = None if flush is None else [flush.point, list(flush.nodes)]
    return [federation.ordered, orders.view, orders.settled, ending, list(orders.nodes)]


def _restore_orders(federation: Federation, data: list[Any] | None) -> None:
    """None: of a federation saved by a Weft that had no such orders."""
    federation.ordered |= federation.catalog.ordered
    if data is None:
        return
    ordered, view, settled, ending, nodes = data
    orders = federation.orders
    federation.ordered |= ordered
    orders.view = view
    orders.settled = settled
    orders.flush = None if ending is None else Flush(ending[0], tuple(ending[1]))
    orders.nodes = dict.fromkeys(nodes)


def begin_orders_anew(federation: Federation) -> None:
    """The federation is restored from a save."""
    orders = federation.orders
    orders.view = orders.settled = 0
    orders.flush = None
    orders.nodes = {member.node: None for member in federation.members.values()}
