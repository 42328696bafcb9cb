"""What federates here are told and what they call, as rows (`weft.kernel.recording` has messages on their way)."""

from __future__ import annotations

from typing import Any, Final

from weft.kernel.effects import Callback, UrgentCallback
from weft.kernel.recording import (
    MESSAGES,
    bounds_of,
    callback_items,
    cause_of,
    delivery,
    known,
    number_of,
    sent_items,
    transport_of,
)
from weft.kernel.state import Federation, Member
from weft.kernel.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
)
from weft.model.recording import NO_OBJECT, Pattern, Recorder

GRANTS: Final = frozenset(
    ["time_advance_grant", "flush_queue_grant", "time_regulation_enabled", "time_constrained_enabled"]
)


# --- callbacks ------------------------------------------------------------------------------------------------


def given(turn: Turn, federation: Federation, recorder: Recorder, member: Member, effect: Callback) -> None:
    """A callback is handed to a federate here."""
    method = effect.method
    if method in MESSAGES:
        _delivered(turn, federation, recorder, member, effect)
    elif method in GRANTS:
        _granted(turn, recorder, member, effect)
    elif method == "request_retraction":
        retraction = effect.arguments[0]
        row = _plain("retract", method, member, ("source", FederateHandle(retraction[:4]).number))
        _note(turn, recorder, row, number_of(retraction))
    else:
        _told(turn, federation, recorder, member, effect)


def _delivered(
    turn: Turn, federation: Federation, recorder: Recorder, member: Member, effect: Callback
) -> None:
    method, arguments = effect.method, effect.arguments
    directed = method == "receive_directed_interaction"
    producer = arguments[5 if directed else 4]
    number = effect.number
    time: Any = None
    order = "RO"
    if isinstance(effect, UrgentCallback) and effect.order is OrderType.PRIORITY:
        order = "PO"
    if len(arguments) > 6:
        time = arguments[-4].value
        if arguments[-1] is not None:
            number = number_of(arguments[-1])
        if arguments[-2] is OrderType.TIMESTAMP:
            order = "TSO"
    values = arguments[2 if directed else 1]
    key = (
        member.handle,
        method,
        _kind_of(federation, method, arguments),
        producer,
        order,
        sent_items(values),
    )
    shape = recorder.shapes.get(key, -1)
    if shape < recorder.first:
        name, items, _, transportation = callback_items(federation, method, arguments)
        transport = transport_of(federation, transportation)
        source = producer.number
        rows = [delivery("deliver", method, member, source, name, items, order, transport)]
        if order == "TSO":
            rows.insert(0, delivery("release", method, member, source, name, items, order, transport))
        shape = recorder.learn(key, tuple(rows))
    if method == "receive_interaction":
        thing = NO_OBJECT
    else:
        thing = arguments[1 if directed else 0].number
    recorder.enter(shape, turn.now, number, thing, 0, 0, time, None, b"", 0, None)


def _kind_of(federation: Federation, method: str, arguments: tuple[Any, ...]) -> Any:
    """What tells the shapes of callbacks apart: class and transportation."""
    if method == "reflect_attribute_values":
        instance = federation.instances.get(arguments[0])
        return (None if instance is None else instance.entry.handle), arguments[3]
    return arguments[0], arguments[4 if method == "receive_directed_interaction" else 3]


def _plain(kind: str, service: str, member: Member, *more: tuple[str, Any]) -> Pattern:
    return (
        ("kind", kind),
        ("service", service),
        ("federate", member.handle.number),
        ("name", member.name),
        *more,
    )


def _note(
    turn: Turn,
    recorder: Recorder,
    row: Pattern,
    number: int = 0,
    time: Any = None,
    thing: int = NO_OBJECT,
    more: dict[str, Any] | None = None,
    member: Member | None = None,
) -> None:
    cause_source, cause = (0, 0) if member is None else cause_of(member)
    shape = known(recorder, (row,))
    recorder.enter(shape, turn.now, number, thing, cause_source, cause, time, None, b"", 0, more)


UNSCHEDULED: Final = 255  # of the row schema: nobody has said how urgent it is


def dispatched(
    turn: Turn,
    recorder: Recorder,
    member: Member,
    kind: str,
    class_name: str,
    source: int,
    priority: int,
    sub_priority: int,
    due: float,
    waiting: int,
) -> None:
    """What a federate did with a callback that has a deadline (`weft.kernel.qos`)."""
    row: Pattern = (
        ("kind", kind),
        ("federate", member.handle.number),
        ("name", member.name),
        ("source", source),
        ("class", class_name),
        ("operation", f"{member.name}:{class_name}"),
        ("priority", priority),
        ("sub_priority", sub_priority),
    )
    _note(turn, recorder, row, more={"deadline_ns": round(due * 1e9), "queue": waiting})


def _granted(turn: Turn, recorder: Recorder, member: Member, effect: Callback) -> None:
    timing = member.timing
    more: dict[str, Any] | None = None
    if timing.regulating:
        more = _lookahead(timing.lookahead)
    _note(
        turn,
        recorder,
        _plain("grant", effect.method, member),
        time=effect.arguments[0].value,
        more=more,
    )


def _lookahead(value: Any) -> dict[str, Any]:
    return {"lookahead_float" if isinstance(value, float) else "lookahead_int": value}


def _told(turn: Turn, federation: Federation, recorder: Recorder, member: Member, effect: Callback) -> None:
    """Any other callback."""
    arguments = effect.arguments
    thing = NO_OBJECT
    row = _plain("callback", effect.method, member)
    more: dict[str, Any] | None = None
    if arguments and isinstance(arguments[0], ObjectInstanceHandle):
        thing = arguments[0].number
        instance = federation.instances.get(arguments[0])
        if instance is not None:
            row = (*row, ("class", instance.entry.name))
            if effect.method == "discover_object_instance":
                more = {"object_name": instance.name}
    _note(turn, recorder, row, thing=thing, more=more)


# --- calls ----------------------------------------------------------------------------------------------------

SENDS: Final = frozenset(
    [
        "send_interaction",
        "send_interaction_with_regions",
        "send_directed_interaction",
        "update_attribute_values",
    ]
)
_REQUESTS: Final = frozenset(
    [
        "time_advance_request",
        "time_advance_request_available",
        "next_message_request",
        "next_message_request_available",
        "flush_queue_request",
    ]
)
_TIMES: Final = frozenset(["enable_time_regulation", "enable_time_constrained", "modify_lookahead"])
_REGIONS: Final = frozenset(["create_region", "commit_region_modifications", "delete_region"])


def called(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    member: Member,
    service: str,
    group: str,
    arguments: tuple[Any, ...],
    value: Any,
) -> None:
    """A federate here has called a service, and it has been carried out."""
    if service in SENDS or group == "support" or member is federation.rti:
        return
    if service in _REQUESTS:
        more = _lookahead(member.timing.lookahead) if member.timing.regulating else None
        time = arguments[0].value
        _note(turn, recorder, _plain("request", service, member), time=time, more=more, member=member)
    elif service in _TIMES:
        more = _lookahead(arguments[0].value) if arguments else None
        _note(turn, recorder, _plain("request", service, member), more=more, member=member)
    elif service in _REGIONS:
        _region(turn, federation, recorder, member, service, arguments, value)
    elif "publish" in service or "subscribe" in service:
        _declared(turn, federation, recorder, member, service, arguments)
    elif service == "retract":
        row = _plain("retract", service, member, ("source", member.handle.number))
        _note(turn, recorder, row, number_of(arguments[0]), member=member)
    else:
        _called(turn, federation, recorder, member, service, arguments, value)


def refused(turn: Turn, recorder: Recorder, member: Member, service: str, error: Exception) -> None:
    """A call has failed."""
    detail = f"refused: {type(error).__name__}: {error}"
    _note(turn, recorder, _plain("call", service, member), more={"detail": detail}, member=member)


def _called(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    member: Member,
    service: str,
    arguments: tuple[Any, ...],
    value: Any,
) -> None:
    thing = NO_OBJECT
    row = _plain("call", service, member)
    more: dict[str, Any] | None = None
    for one in (value, *arguments):
        if isinstance(one, ObjectInstanceHandle):
            thing = one.number
            instance = federation.instances.get(one)
            if instance is not None:
                row = (*row, ("class", instance.entry.name))
                if one is value:
                    more = {"object_name": instance.name}
            break
    _note(turn, recorder, row, thing=thing, more=more, member=member)


def _region(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    member: Member,
    service: str,
    arguments: tuple[Any, ...],
    value: Any,
) -> None:
    row = _plain("region", service, member)
    if service == "create_region":
        names = [federation.catalog.dimensions[d].name for d in sorted(arguments[0])]
        more = {"region": value.number, "dimensions": names}
        _note(turn, recorder, row, more=more, member=member)
    elif service == "delete_region":
        _note(turn, recorder, row, more={"region": arguments[0].number}, member=member)
    else:
        timed = arguments[1] if len(arguments) > 1 else None
        time = None if timed is None else timed[0]
        for handle, _ in arguments[0]:
            more = {"region": handle.number, **_region_bounds(federation, handle, time)}
            _note(turn, recorder, row, time=time, more=more, member=member)


def _region_bounds(federation: Federation, handle: RegionHandle, time: Any) -> dict[str, Any]:
    region = federation.regions.get(handle)
    if region is None:
        return {}
    extent = region.extent
    if time is not None and region.timeline is not None:
        extent = region.timeline.read(time)
    return {} if extent is None else bounds_of(federation, [extent], list(region.dimensions))


def _declared(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    member: Member,
    service: str,
    arguments: tuple[Any, ...],
) -> None:
    """One row, or one for each region."""
    chosen = arguments[0] if arguments else None
    row = _plain("declare", service, member)
    entry: Any = None
    if isinstance(chosen, ObjectClassHandle):
        entry = federation.catalog.object_classes.get(chosen)
    elif isinstance(chosen, InteractionClassHandle):
        entry = federation.catalog.interaction_classes.get(chosen)
    if entry is not None:
        row = (*row, ("class", entry.name))
    with_regions = service.endswith("_with_regions")
    timed = arguments[-1] if with_regions and _is_timed(arguments[-1]) else None
    time = None if timed is None else timed[0]
    rates = [one for one in arguments[1:] if isinstance(one, str)]
    rate = rates[0] if rates else ""
    more: dict[str, Any] = {"detail": f"update rate {rate}"} if rate else {}
    if not with_regions:
        items = () if len(arguments) < 2 else _names(entry, arguments[1])
        _note(turn, recorder, (*row, ("items", items)), more=more or None, member=member)
        return
    for items, regions in _placed(entry, chosen, arguments[1]):
        for region in regions:
            bounds = {"region": region.number, **_region_bounds(federation, region, time), **more}
            _note(turn, recorder, (*row, ("items", items)), time=time, more=bounds, member=member)


def _is_timed(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], int)


def _names(entry: Any, handles: Any) -> tuple[str, ...]:
    if isinstance(handles, (str, bytes, bool)) or handles is None or entry is None:
        return ()
    known = getattr(entry, "attributes", {})
    return tuple(
        [known[one].name for one in sorted(handles) if isinstance(one, AttributeHandle) and one in known]
    )


def _placed(entry: Any, chosen: Any, given: Any) -> list[tuple[tuple[str, ...], list[RegionHandle]]]:
    if isinstance(chosen, InteractionClassHandle):
        return [((), sorted(given))]
    return [(_names(entry, attributes), sorted(regions)) for attributes, regions in given]


# --- who takes part -------------------------------------------------------------------------------------------


def came(turn: Turn, recorder: Recorder, member: Member) -> None:
    """A member has joined; its own node says so, the others only that its node takes part."""
    recorder.took_part(member.node)
    if member.node == turn.node:
        _note(
            turn, recorder, _plain("join", "join_federation_execution", member), more={"detail": member.kind}
        )


def went(turn: Turn, recorder: Recorder, member: Member, fault: str | None) -> None:
    if member.node == turn.node:
        row = _plain("resign" if fault is None else "lost", "resign_federation_execution", member)
        _note(turn, recorder, row, more=None if fault is None else {"detail": fault})


def happened(turn: Turn, recorder: Recorder, kind: str, link: str, detail: str) -> None:
    """Something at the node itself: a link, another node."""
    row: Pattern = (("kind", kind), ("federate", 0), ("link", link))
    _note(turn, recorder, row, more={"detail": detail} if detail else None)
