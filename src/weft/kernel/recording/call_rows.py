"""What federates here call, and what happens to those who take part, as rows (`recording.message_rows` has messages)."""

from __future__ import annotations

from typing import Any, Final

from weft.kernel.recording.callback_rows import lookahead
from weft.kernel.recording.message_rows import note
from weft.kernel.recording.row_shapes import bounds_of, plain
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.as_of import TIMED_SERVICES
from weft.model.deliveries import message_number
from weft.model.enums import ServiceGroup
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
)
from weft.model.recording import NO_OBJECT, Pattern, Recorder

SENDS: Final[frozenset[str]] = frozenset(
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
    step: Step,
    recorder: Recorder,
    service: str,
    group: ServiceGroup,
    arguments: tuple[Any, ...],
    value: Any,
) -> None:
    """A federate here has called a service, and it has been carried out."""
    turn = step.turn
    member = step.member
    if service in SENDS or group is ServiceGroup.SUPPORT_SERVICES or member is step.federation.rti:
        return
    with recorder:
        if service in _REQUESTS:
            time = arguments[0].value
            more = lookahead(member.timing.lookahead_from(time)) if member.timing.regulating else None
            note(turn, recorder, plain("request", service, member), time=time, more=more, member=member)
        elif service in _TIMES:
            more = lookahead(arguments[0].value) if arguments else None
            note(turn, recorder, plain("request", service, member), more=more, member=member)
        elif service in _REGIONS:
            _region(step, recorder, service, arguments, value)
        elif "publish" in service or "subscribe" in service:
            _declared(step, recorder, service, arguments)
        elif service == "retract":
            row = plain("retract", service, member, ("source", member.handle.number))
            note(turn, recorder, row, message_number(arguments[0]), member=member)
        else:
            _any_other(step, recorder, service, arguments, value)


def carried_out(recorder: Recorder, command: int) -> None:
    """A command of that number has been carried out here, whoever gave it."""
    with recorder:
        recorder.carried_out(command)


def refused(turn: Turn, recorder: Recorder, member: Member, service: str, error: Exception) -> None:
    """A call has failed."""
    with recorder:
        detail = f"refused: {type(error).__name__}: {error}"
        note(turn, recorder, plain("call", service, member), more={"detail": detail}, member=member)


def _any_other(step: Step, recorder: Recorder, service: str, arguments: tuple[Any, ...], value: Any) -> None:
    member = step.member
    thing = NO_OBJECT
    row = plain("call", service, member)
    more: dict[str, object] | None = None
    for one in (value, *arguments):
        if isinstance(one, ObjectInstanceHandle):
            thing = one.number
            instance = step.federation.instances.get(one)
            if instance is not None:
                row = (*row, ("class", instance.entry.name))
                if one is value:
                    more = {"object_name": instance.name}
            break
    note(step.turn, recorder, row, thing=thing, more=more, member=member)


def _region(step: Step, recorder: Recorder, service: str, arguments: tuple[Any, ...], value: Any) -> None:
    turn = step.turn
    federation = step.federation
    member = step.member
    row = plain("region", service, member)
    if service == "create_region":
        names = [federation.catalog.dimensions[d].name for d in sorted(arguments[0])]
        more = {"region": value.number, "dimensions": names}
        note(turn, recorder, row, more=more, member=member)
    elif service == "delete_region":
        note(turn, recorder, row, more={"region": arguments[0].number}, member=member)
    else:
        timed = arguments[1] if len(arguments) > 1 else None
        time = None if timed is None else timed[0]
        for handle, _ in arguments[0]:
            more = {"region": handle.number, **_region_bounds(federation, handle, time)}
            note(turn, recorder, row, time=time, more=more, member=member)


def _region_bounds(federation: Federation, handle: RegionHandle, time: Any) -> dict[str, object]:
    region = federation.ddm.regions.get(handle)
    if region is None:
        return {}
    extent = region.extent
    if time is not None and region.timeline is not None:
        extent = region.timeline.read(time)
    return {} if extent is None else bounds_of(federation, [extent], list(region.dimensions))


def _declared(step: Step, recorder: Recorder, service: str, arguments: tuple[Any, ...]) -> None:
    """One row, or one for each region."""
    turn = step.turn
    federation = step.federation
    member = step.member
    chosen = arguments[0] if arguments else None
    row = plain("declare", service, member)
    entry: Any = None
    if isinstance(chosen, ObjectClassHandle):
        entry = federation.catalog.object_classes.get(chosen)
    elif isinstance(chosen, InteractionClassHandle):
        entry = federation.catalog.interaction_classes.get(chosen)
    if entry is not None:
        row = (*row, ("class", entry.name))
    with_regions = service.endswith("_with_regions")
    form = TIMED_SERVICES.get(service)
    timed: Any = None
    if form is not None:
        timed = arguments[form.place] if len(arguments) > form.place else None
        arguments = arguments[: form.place]
    time = None if timed is None else timed[0]
    rates = [one for one in arguments[1:] if isinstance(one, str)]
    rate = rates[0] if rates else ""
    more: dict[str, object] = {"detail": f"update rate {rate}"} if rate else {}
    if not with_regions:
        items = () if len(arguments) < 2 else _names(entry, arguments[1])
        if time is not None and service == "unsubscribe_object_class" and entry is not None:
            items = _names(
                entry, entry.attributes
            )  # also of what it may yet subscribe to as of an earlier time
        note(turn, recorder, (*row, ("items", items)), time=time, more=more or None, member=member)
        return
    for items, regions in _placed(entry, chosen, arguments[1]):
        for region in regions:
            bounds = {"region": region.number, **_region_bounds(federation, region, time), **more}
            note(turn, recorder, (*row, ("items", items)), time=time, more=bounds, member=member)


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
    with recorder:
        recorder.took_part(member.node)
        if member.node == turn.node:
            row = plain("join", "join_federation_execution", member)
            note(turn, recorder, row, more={"detail": member.kind})


def went(turn: Turn, recorder: Recorder, member: Member, fault: str | None) -> None:
    with recorder:
        if member.node == turn.node:
            row = plain("resign" if fault is None else "lost", "resign_federation_execution", member)
            note(turn, recorder, row, more=None if fault is None else {"detail": fault})


def lost_with_node(turn: Turn, recorder: Recorder, member: Member, fault: str) -> None:
    """A member elsewhere is lost with its node, which cannot say so: its federation's home does."""
    with recorder:
        row = plain("lost", "resign_federation_execution", member, ("link", member.node))
        note(turn, recorder, row, more={"detail": fault})


def steered(step: Step, recorder: Recorder, member: Member, text: str) -> None:
    """The operator has steered the federation, or a federate of it; its home says so."""
    with recorder:
        row: Pattern = (("kind", "steer"), ("service", "steer"), ("federate", 0))
        if member is not step.federation.rti:
            row = plain("steer", "steer", member)
        note(step.turn, recorder, row, more={"detail": text})


def happened(turn: Turn, recorder: Recorder, kind: str, link: str, detail: str) -> None:
    """Something at the node itself: a link, another node."""
    with recorder:
        row: Pattern = (("kind", kind), ("federate", 0), ("link", link))
        note(turn, recorder, row, more={"detail": detail} if detail else None)
