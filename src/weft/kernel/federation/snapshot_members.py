"""Members as plain data and back: what all nodes know of one, and what only its own node does (`federation.snapshot`)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from weft.interest import Declared
from weft.interest.declarations import AttributeWish
from weft.kernel.federation.snapshot_regions import restore_subscriptions, subscriptions_data, unchanged
from weft.kernel.federation.snapshot_times import add_clock, add_flags, clock_data, flags_data
from weft.kernel.services import support
from weft.kernel.state.federation import Member, Switches
from weft.kernel.state.mom_state import Counts, Tally
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
from weft.model.records import Source

K = TypeVar("K", bound=Handle)
L = TypeVar("L", bound=Handle)
V = TypeVar("V")

_SWITCHES = (*support.SWITCHES, "non_regulated_grant")  # in the order in which they are saved
# Of a tally: counts by class and transportation; of those, counts of instances by class; plain numbers.
_COUNTS: dict[str, type[Handle]] = {
    "updates_sent": ObjectClassHandle,
    "reflections_received": ObjectClassHandle,
    "interactions_sent": InteractionClassHandle,
    "interactions_received": InteractionClassHandle,
    "directed_sent": InteractionClassHandle,
    "directed_received": InteractionClassHandle,
}
_number = attrgetter("number")
_value = attrgetter("value")
_GONE = ("updated", "reflected")
_NUMBERS = ("updates", "registered", "deleted", "discovered", "removed")


def _map_data(given: dict[K, V], data: Callable[[V], object] = unchanged) -> list[list[object]]:
    return [[handle.number, data(value)] for handle, value in given.items()]


def _map_from(kind: type[K], data: list[list[Any]], made: Callable[[Any], V] = unchanged) -> dict[K, V]:
    return {kind.of(number): made(value) for number, value in data}


def _keys(given: dict[K, None]) -> list[int]:
    return [handle.number for handle in given]


def _keys_from(kind: type[K]) -> Callable[[list[int]], dict[K, None]]:
    return lambda data: {kind.of(number): None for number in data}


def _nested(kind: type[L], made: Callable[[Any], V] = unchanged) -> Callable[[Any], dict[L, V]]:
    return lambda data: _map_from(kind, data, made)


def member_data(member: Member, number: Callable[[Source], int]) -> dict[str, Any]:
    declared = member.declared
    return {
        "handle": member.handle.number,
        "name": member.name,
        "kind": member.kind,
        "node": member.node,
        "session": member.session,
        "seat": member.seat,
        "published": _map_data(declared.published, _keys),
        "subscribed": _map_data(declared.subscribed, lambda wishes: _map_data(wishes, list)),
        "sends": _keys(declared.sends),
        "receives": _map_data(declared.receives),
        "regions": subscriptions_data(member),
        "directs": _map_data(declared.directs, _keys),
        "directed": _map_data(declared.directed, _map_data),
        "switches": [getattr(member.switches, name) for name in _SWITCHES],
        "directive": member.resign_directive.value,
        "ways": _map_data(member.attribute_transportations, lambda ways: _map_data(ways, _number)),
        "orders": _map_data(member.attribute_orders, lambda orders: _map_data(orders, _value)),
        "interaction ways": _map_data(member.interaction_transportations, _number),
        "interaction orders": _map_data(member.interaction_orders, _value),
        "modules": [number(source) for source in member.modules],
        "period": member.report_period,
        "timing": flags_data(member.timing),
    }


def member_from(data: dict[str, Any], sources: list[Source]) -> Member:
    declared = Declared()
    member = Member(
        FederateHandle.of(data["handle"]),
        data["name"],
        data["kind"],
        data["node"],
        data["session"],
        data["seat"],
        declared,
    )
    attributes, interactions = _keys_from(AttributeHandle), _keys_from(InteractionClassHandle)
    declared.published = _map_from(ObjectClassHandle, data["published"], attributes)
    declared.subscribed = _map_from(
        ObjectClassHandle, data["subscribed"], _nested(AttributeHandle, lambda wish: AttributeWish(*wish))
    )
    declared.sends = interactions(data["sends"])
    declared.receives = _map_from(InteractionClassHandle, data["receives"])
    restore_subscriptions(member, data.get("regions", ((), ())))
    declared.directs = _map_from(ObjectClassHandle, data["directs"], interactions)
    declared.directed = _map_from(ObjectClassHandle, data["directed"], _nested(InteractionClassHandle))
    member.switches = Switches()
    for name, on in zip(_SWITCHES, data["switches"], strict=False):  # an older save has fewer
        setattr(member.switches, name, on)
    member.resign_directive = ResignAction(data["directive"])
    way = TransportationTypeHandle.of
    member.attribute_transportations = _map_from(
        ObjectClassHandle, data["ways"], _nested(AttributeHandle, way)
    )
    member.attribute_orders = _map_from(
        ObjectClassHandle, data["orders"], _nested(AttributeHandle, OrderType)
    )
    member.interaction_transportations = _map_from(InteractionClassHandle, data["interaction ways"], way)
    member.interaction_orders = _map_from(InteractionClassHandle, data["interaction orders"], OrderType)
    member.modules = tuple(sources[number] for number in data["modules"])
    member.report_period = data["period"]
    add_flags(member, data["timing"])
    return member


# --- private --------------------------------------------------------------------------------------------------


def private_data(member: Member, due: float | None) -> dict[str, object]:
    tally = member.tally
    return {
        "registrations": _keys(member.told_registrations),
        "interactions": _keys(member.told_interactions),
        "scope": _map_data(member.told_scope, _keys),
        "updates": _map_data(member.told_updates, _map_data),
        "counts": [_counts_data(getattr(tally, name)) for name in _COUNTS],
        "gone": [_map_data(getattr(tally, name)) for name in _GONE],
        "numbers": [getattr(tally, name) for name in _NUMBERS],
        "reports": member.reports_made,
        "due": due,
        "clock": clock_data(member.timing),
        "qos": member.saved_qos if member.qos is None else member.qos.data(),
        "held": [],
    }


def _counts_data(counts: Counts) -> list[list[int]]:
    return [[kind.number, way.number, count] for (kind, way), count in counts.items()]


def add_private(member: Member, data: dict[str, Any]) -> float | None:
    """Returns in how many seconds the member is next reported on."""
    member.told_registrations = _keys_from(ObjectClassHandle)(data["registrations"])
    member.told_interactions = _keys_from(InteractionClassHandle)(data["interactions"])
    member.told_scope = _map_from(ObjectInstanceHandle, data["scope"], _keys_from(AttributeHandle))
    member.told_updates = _map_from(ObjectInstanceHandle, data["updates"], _nested(AttributeHandle))
    member.tally = tally = Tally()
    for (name, kind), table in zip(_COUNTS.items(), data["counts"], strict=True):
        counts = {(kind.of(k), TransportationTypeHandle.of(way)): count for k, way, count in table}
        setattr(tally, name, counts)
    for name, table in zip(_GONE, data["gone"], strict=True):
        setattr(tally, name, _map_from(ObjectClassHandle, table))
    for name, count in zip(_NUMBERS, data["numbers"], strict=True):
        setattr(tally, name, count)
    member.reports_made = data["reports"]
    add_clock(member.timing, data["clock"])
    member.saved_qos = data.get("qos")
    due: float | None = data["due"]
    return due
