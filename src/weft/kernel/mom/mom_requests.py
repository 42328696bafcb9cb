"""Requests: what the RTI is asked about a federate or the federation, and the reports that answer.

Where there is nothing to tell, the answer is the standard's NULL response: an empty list, or zero classes.  Counts come as
one report for each transportation of the object model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from weft.kernel.mom.mom_objects import can_delete, modules_of, reflected, updated
from weft.kernel.mom.mom_parameters import ParameterError, Parameters
from weft.kernel.mom.mom_reports import FEDERATE, FEDERATION, heard, report, send
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.mom_state import Counts
from weft.kernel.state.step import Step
from weft.model.handles import AttributeHandle, Handle, ObjectClassHandle, ObjectInstanceHandle
from weft.model.records import Source

# --- declarations ---------------------------------------------------------------------------------------------


def publications(step: Step, member: Member, given: Parameters) -> None:
    declared = member.declared
    _lists(step, member, "HLAreportObjectClassPublication", "HLAattributeList", declared.published)
    report(
        step,
        f"{FEDERATE}.HLAreportInteractionPublication",
        HLAfederate=member.handle,
        HLAinteractionClassList=list(declared.sends),
    )
    name = "HLAreportDirectedInteractionPublication"
    _lists(step, member, name, "HLAinteractionClassList", declared.directs)


def subscriptions(step: Step, member: Member, given: Parameters) -> None:
    declared = member.declared
    _each(step, member, "HLAreportObjectClassSubscription", _subscribed(member))
    actives = dict(declared.receives)
    for cls, regions in declared.receives_at.items():
        actives[cls] = actives.get(cls, False) or any(regions.values())
    report(
        step,
        f"{FEDERATE}.HLAreportInteractionSubscription",
        HLAfederate=member.handle,
        HLAinteractionClassList=[
            {"HLAinteractionClass": cls, "HLAactive": active} for cls, active in actives.items()
        ],
    )
    name = "HLAreportDirectedInteractionSubscription"
    _lists(step, member, name, "HLAinteractionClassList", declared.directed)


def _subscribed(member: Member) -> list[dict[str, object]]:
    """A row for each class, activity and update rate, with regions or without."""
    rows: dict[tuple[ObjectClassHandle, bool, str], list[AttributeHandle]] = {}
    declared = member.declared
    for cls in dict.fromkeys([*declared.subscribed, *declared.subscribed_at]):
        for attribute, _, wish in declared.all_wishes(cls):
            held = rows.setdefault((cls, wish.active, wish.rate), [])
            if attribute not in held:
                held.append(attribute)
    return [
        {"HLAobjectClass": cls, "HLAactive": active, "HLAmaxUpdateRate": rate, "HLAattributeList": attributes}
        for (cls, active, rate), attributes in rows.items()
    ]


def _lists(
    step: Step,
    member: Member,
    name: str,
    parameter: str,
    declared: Mapping[ObjectClassHandle, Iterable[Handle]],
) -> None:
    rows = [{"HLAobjectClass": cls, parameter: list(handles)} for cls, handles in declared.items()]
    _each(step, member, name, rows)


def _each(step: Step, member: Member, name: str, rows: Sequence[Mapping[str, object]]) -> None:
    """One report for each row; one with a count of 0 if there is none."""
    entry = heard(step, f"{FEDERATE}.{name}")
    if entry is not None:
        for row in rows or [{}]:
            send(step, entry, HLAfederate=member.handle, HLAnumberOfClasses=len(rows), **row)


# --- counts ---------------------------------------------------------------------------------------------------

Request = Callable[[Step, Member, Parameters], None]


def _instances(name: str, counted: Callable[[Federation, Member], dict[ObjectClassHandle, int]]) -> Request:
    def answer(step: Step, member: Member, given: Parameters) -> None:
        entry = heard(step, f"{FEDERATE}.{name}")
        if entry is not None:
            counts = [
                {"HLAobjectClass": cls, "HLAcount": count}
                for cls, count in sorted(counted(step.federation, member).items())
            ]
            send(step, entry, HLAfederate=member.handle, HLAobjectInstanceCounts=counts)

    return answer


def _messages(name: str, list_name: str, counted: Callable[[Member], Counts]) -> Request:
    interactions = list_name == "HLAinteractionCounts"
    keys = ("HLAinteractionClass", "HLAinteractionCount") if interactions else ("HLAobjectClass", "HLAcount")

    def answer(step: Step, member: Member, given: Parameters) -> None:
        entry = heard(step, f"{FEDERATE}.{name}")
        if entry is None:
            return
        step.federation.count_up()
        held = sorted(counted(member).items())
        for way in step.federation.catalog.transportations:
            counts = [{keys[0]: cls, keys[1]: count} for (cls, used), count in held if used == way]
            values: dict[str, object] = {"HLAtransportation": way, list_name: counts}
            send(step, entry, HLAfederate=member.handle, **values)

    return answer


# --- instances and modules ------------------------------------------------------------------------------------


def instance_information(step: Step, member: Member, given: Parameters) -> None:
    handle = given.handle(ObjectInstanceHandle, "HLAobjectInstance")
    entry = heard(step, f"{FEDERATE}.HLAreportObjectInstanceInformation")
    if entry is None:
        return
    values: dict[str, object] = {"HLAobjectInstance": handle, "HLAownedInstanceAttributeList": []}
    instance = step.federation.instances.get(handle)
    known_class = None if instance is None else step.federation.known_class(member, instance)
    if instance is not None and known_class is not None:
        owned = [a for a, owner in instance.owners.items() if owner is member]
        values["HLAownedInstanceAttributeList"] = owned
        values["HLAregisteredClass"] = instance.entry.handle
        values["HLAknownClass"] = known_class
    send(step, entry, HLAfederate=member.handle, **values)


def _module(sources: list[Source], index: int) -> str:
    """The text of a module, counted from 0 in the list of designators, where each stands once."""
    distinct = list({source.name: source for source in reversed(sources)}.values())[::-1]
    if not 0 <= index < len(distinct):
        raise ParameterError(f"HLAFOMmoduleIndicator is {index}; there are {len(distinct)} modules, from 0")
    return distinct[index].data.decode("utf-8-sig", "replace")


def federate_module(step: Step, member: Member, given: Parameters) -> None:
    index = given.number("HLAFOMmoduleIndicator")
    text = _module(list(member.modules), index)
    name = f"{FEDERATE}.HLAreportFOMmoduleData"
    report(step, name, HLAfederate=member.handle, HLAFOMmoduleIndicator=index, HLAFOMmoduleData=text)


def deadline_misses(step: Step, member: Member, given: Parameters) -> None:
    """A report for each class of which a deadline was missed; one without a class if none was."""
    missed: dict[str, int] = {} if member.qos is None else member.qos.missed
    entry = heard(step, f"{FEDERATE}.WeftReportDeadlineMisses")
    if entry is not None:
        for name in list(missed) or [""]:
            send(
                step,
                entry,
                HLAfederate=member.handle,
                WeftClass=name,
                WeftSender="",
                WeftDeadline=0,
                WeftLate=0,
                WeftMisses=missed.get(name, 0),
                WeftMissesInAll=sum(missed.values()),
            )


OF_FEDERATE: dict[str, Request] = {
    "HLArequestPublications": publications,
    "HLArequestSubscriptions": subscriptions,
    "HLArequestObjectInstancesThatCanBeDeleted": _instances(
        "HLAreportObjectInstancesThatCanBeDeleted", can_delete
    ),
    "HLArequestObjectInstancesUpdated": _instances("HLAreportObjectInstancesUpdated", updated),
    "HLArequestObjectInstancesReflected": _instances("HLAreportObjectInstancesReflected", reflected),
    "HLArequestUpdatesSent": _messages(
        "HLAreportUpdatesSent", "HLAupdateCounts", lambda m: m.tally.updates_sent
    ),
    "HLArequestReflectionsReceived": _messages(
        "HLAreportReflectionsReceived", "HLAreflectCounts", lambda m: m.tally.reflections_received
    ),
    "HLArequestInteractionsSent": _messages(
        "HLAreportInteractionsSent", "HLAinteractionCounts", lambda m: m.tally.interactions_sent
    ),
    "HLArequestInteractionsReceived": _messages(
        "HLAreportInteractionsReceived", "HLAinteractionCounts", lambda m: m.tally.interactions_received
    ),
    "HLArequestDirectedInteractionsSent": _messages(
        "HLAreportDirectedInteractionsSent", "HLAinteractionCounts", lambda m: m.tally.directed_sent
    ),
    "HLArequestDirectedInteractionsReceived": _messages(
        "HLAreportDirectedInteractionsReceived", "HLAinteractionCounts", lambda m: m.tally.directed_received
    ),
    "HLArequestObjectInstanceInformation": instance_information,
    "HLArequestFOMmoduleData": federate_module,
    "WeftRequestDeadlineMisses": deadline_misses,
}

# --- about the federation -------------------------------------------------------------------------------------


def points(step: Step, given: Parameters) -> None:
    report(step, f"{FEDERATION}.HLAreportSynchronizationPoints", HLAsyncPoints=list(step.federation.points))


def point_status(step: Step, given: Parameters) -> None:
    """Of a point that is pending; of any other, that nobody is about it."""
    federation = step.federation
    label = given.text("HLAsyncPointName")
    point = federation.points.get(label)
    federates = []
    if point is not None:
        status = dict.fromkeys(point.waiting, "MovingToSyncPoint")
        status.update(dict.fromkeys(point.achieved, "WaitingForRestOfFederation"))
        federates = [
            {"HLAfederate": handle, "HLAfederateSyncStatus": status.get(handle, "NoActivity")}
            for handle in federation.members
        ]
    name = f"{FEDERATION}.HLAreportSynchronizationPointStatus"
    report(step, name, HLAsyncPointName=label, HLAsyncPointFederates=federates)


def federation_module(step: Step, given: Parameters) -> None:
    index = given.number("HLAFOMmoduleIndicator")
    text = _module(modules_of(step.federation), index)
    name = f"{FEDERATION}.HLAreportFOMmoduleData"
    report(step, name, HLAFOMmoduleIndicator=index, HLAFOMmoduleData=text)


def mim_data(step: Step, given: Parameters) -> None:
    mim = step.federation.catalog.model.mim
    if mim is not None:
        text = mim.source.data.decode("utf-8-sig", "replace")
        report(step, f"{FEDERATION}.HLAreportMIMdata", HLAMIMdata=text)


OF_FEDERATION: dict[str, Callable[[Step, Parameters], None]] = {
    "HLArequestSynchronizationPoints": points,
    "HLArequestSynchronizationPointStatus": point_status,
    "HLArequestFOMmoduleData": federation_module,
    "HLArequestMIMdata": mim_data,
}
