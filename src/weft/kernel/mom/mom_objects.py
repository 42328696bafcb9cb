"""The MOM's object instances: one HLAfederate for each joined federate, one HLAfederation.

They are ordinary instances, registered at every node by the commands that found a federation, join and resign federates; the
owner of their attributes is the RTI itself (`Federation.rti`).  Attributes that a FOM adds to these classes belong to nobody.
Values are made only for attributes that somebody subscribes to.

    Static and Conditional   sent when the instance is registered, and when they change (`Turn.note`)
    Periodic                 sent every HLAreportPeriod seconds, once HLAsetTiming has set one (`due`, `report`)
    all                      sent when asked for, to all who subscribe
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from weft.fom import PRIVILEGE_TO_DELETE, standard_mim, write_omt
from weft.interest import Extent
from weft.kernel.message import advisories, discovery, pipeline, timed_deletion
from weft.kernel.mom.mom_reports import encoded, report_file
from weft.kernel.services import support, time_management
from weft.kernel.state.federation import MOM_INSTANCES, Federation, Instance, Member, mom_handle
from weft.kernel.state.region_state import Placement
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import GRANTED
from weft.kernel.state.turn import Turn
from weft.kernel.time import grants, tso_queue
from weft.kernel.time.grants import TIME_STATE
from weft.model.deliveries import Removal
from weft.model.enums import ResignAction
from weft.model.handles import AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle
from weft.model.records import Source
from weft.model.time import LogicalTime, TimeValue

FEDERATE_CLASS = "HLAobjectRoot.HLAmanager.HLAfederate"
FEDERATION_CLASS = "HLAobjectRoot.HLAmanager.HLAfederation"
FIRST = MOM_INSTANCES
"""The number of the HLAfederation instance; an HLAfederate instance has its federate's number more."""

VERSION = "Weft 0.1.0"

RESIGN_ACTIONS = {
    ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES: "DivestOwnership",
    ResignAction.DELETE_OBJECTS: "DeleteObjectInstances",
    ResignAction.CANCEL_PENDING_OWNERSHIP_ACQUISITIONS: "CancelPendingAcquisitions",
    ResignAction.DELETE_OBJECTS_THEN_DIVEST: "DeleteObjectInstancesThenDivestOwnership",
    ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST: (
        "CancelPendingAcquisitionsThenDeleteObjectInstancesThenDivestOwnership"
    ),
    ResignAction.NO_ACTION: "NoAction",
}
SWITCHES = {attribute: switch for switch, attribute in support.SWITCHES.items()}


@cache
def _attributes(class_name: str, periodic: bool) -> tuple[str, ...]:
    """The attributes of the standard's MIM with, or without, a periodic update."""
    given = standard_mim().object_classes[class_name].attributes
    return tuple(a.name for a in given if (a.update_type == "Periodic") == periodic)


def subject(federation: Federation, handle: ObjectInstanceHandle) -> Member | None:
    """The member that an HLAfederate instance is about; None for the federation's."""
    return federation.members.get(FederateHandle.of(handle.number - FIRST)) if handle.number > FIRST else None


# --- registration ---------------------------------------------------------------------------------------------


def register(step: Step, member: Member | None) -> None:
    """The instance about a member, or about the federation."""
    federation = step.federation
    class_name = FEDERATION_CLASS if member is None else FEDERATE_CLASS
    entry = federation.catalog.object_class_names.get(class_name)
    if entry is None:
        return  # a MIM of one's own without it
    rti = federation.rti
    names = (*_attributes(class_name, False), *_attributes(class_name, True), PRIVILEGE_TO_DELETE)
    rti.declared.publish(entry.handle, [entry.names[name] for name in names if name in entry.names])
    placement = _placement(federation, member)
    plan = discovery.plan(federation, rti, entry)
    if placement is not None and federation.ddm.regions:
        where = dict.fromkeys(plan.owners, placement.fixed or ())
        plan = discovery.placed_plan(federation, rti, entry, plan.owners, where)
    name = f"HLAfederation {federation.name}" if member is None else f"HLAfederate {member.name}"
    instance = Instance(mom_handle(member), name, entry, plan.owners, plan.knowledge, rti.handle)
    instance.placement = placement
    federation.instances[instance.handle] = instance
    federation.objects.names[instance.name] = instance
    federation.objects.of_class.setdefault(entry.handle, {})[instance.handle] = instance
    for discoverer, known_class in plan.discoverers:
        discovery.announce(step, instance, discoverer, known_class)
    advisories.instances(step, [instance])
    step.note(member, *_attributes(class_name, False))


def _placement(federation: Federation, member: Member | None) -> Placement | None:
    """The instance about a member is where its normalized handle is, in the dimension of federates."""
    dimension = federation.catalog.dimension_names.get("HLAfederate")
    if member is None or dimension is None:
        return None
    made = Placement()
    number = member.handle.number
    made.fixed = (Extent({dimension.handle.number: (number, number + 1)}),)
    return made


def remove(step: Step) -> None:
    federation = step.federation
    instance = federation.instances.get(mom_handle(step.member))
    if instance is None:
        return
    rti = federation.rti
    for other in federation.seated(instance.knowledge.mask & ~rti.bit):
        step.remove(other, Removal(instance.handle, b"", rti.handle, None))
    timed_deletion.remove(step, instance)


# --- values ---------------------------------------------------------------------------------------------------


def reflect(
    step: Step, handle: ObjectInstanceHandle, attributes: Iterable[AttributeHandle], state: str = ""
) -> None:
    """Update these attributes, as far as somebody subscribes to them; `state`: HLAtimeManagerState as it was when it changed."""
    federation = step.federation
    instance = federation.instances.get(handle)
    if instance is None:
        return
    wanted = _wanted(federation, instance)
    about = subject(federation, handle)
    if about is None and handle.number != FIRST:
        return
    values: dict[AttributeHandle, bytes] = {}
    for attribute in sorted(attributes):
        if attribute in wanted and instance.owners.get(attribute) is federation.rti:
            entry = instance.entry.attributes[attribute]
            if entry.name != PRIVILEGE_TO_DELETE:
                value = state if state and entry.name == TIME_STATE else _value(step, about, entry.name)
                data = encoded(federation, entry.data_type, value)
                if data is not None:
                    values[attribute] = data
    if values:
        pipeline.update_attribute_values(Step(step.turn, federation, federation.rti), handle, values, b"")


def reflect_named(step: Step, member: Member | None, names: Iterable[str], state: str = "") -> None:
    instance = step.federation.instances.get(mom_handle(member))
    if instance is not None:
        known = instance.entry.names
        reflect(step, instance.handle, [known[name] for name in names if name in known], state)


def _wanted(federation: Federation, instance: Instance) -> dict[AttributeHandle, None]:
    found: dict[AttributeHandle, None] = {}
    for known_class, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            found.update(dict.fromkeys(a for a, _, _ in member.declared.all_wishes(known_class)))
    return found


def _value(step: Step, member: Member | None, name: str) -> object:
    federation = step.federation
    if member is None:
        return _FEDERATION[name](federation)
    if name in SWITCHES:
        return "Enabled" if getattr(member.switches, SWITCHES[name]) else "Disabled"
    if name in ("HLAtimeGrantedTime", "HLAtimeAdvancingTime"):
        return _time_spent(step.turn, member, name)
    federation.count_up()
    return _FEDERATE[name](federation, member)


def _time_spent(turn: Turn, member: Member, name: str) -> int:
    """Milliseconds in that state since the last update of the attribute."""
    timing = member.timing
    state = 0 if name == "HLAtimeGrantedTime" else 1
    spent = timing.spent[state]
    if (timing.mode == GRANTED) == (state == 0):
        spent += turn.now - max(timing.since, timing.told[state], member.granted_since)
    timing.spent[state] = 0.0
    timing.told[state] = turn.now
    return max(0, min(int(spent * 1000), (1 << 31) - 1))


def designators(sources: Iterable[Source]) -> list[str]:
    """Each once, though several identical modules may be given."""
    return list(dict.fromkeys(source.name for source in sources))


def modules_of(federation: Federation) -> list[Source]:
    """The sources of the federation's object model, without the MIM."""
    model = federation.catalog.model
    return [module.source for module in model.modules if module != model.mim]


def by_class(
    federation: Federation, gone: dict[ObjectClassHandle, int], holds: Callable[[Instance], bool]
) -> dict[ObjectClassHandle, int]:
    """How many instances of each registered class, those that are gone included."""
    found = dict(gone)
    for instance in federation.instances.values():
        if holds(instance):
            kind = instance.entry.handle
            found[kind] = found.get(kind, 0) + 1
    return found


def can_delete(federation: Federation, member: Member) -> dict[ObjectClassHandle, int]:
    privilege = federation.catalog.privilege
    return by_class(federation, {}, lambda instance: instance.owners.get(privilege) is member)


def updated(federation: Federation, member: Member) -> dict[ObjectClassHandle, int]:
    return by_class(federation, member.tally.updated, lambda instance: bool(instance.updated & member.bit))


def reflected(federation: Federation, member: Member) -> dict[ObjectClassHandle, int]:
    return by_class(
        federation, member.tally.reflected, lambda instance: bool(instance.reflected & member.bit)
    )


def state_of(federation: Federation, member: Member) -> str:
    saving, restoring = federation.saves.saving, federation.saves.restoring
    if saving is not None and member.handle in saving.status:
        return "FederateSaveInProgress"
    if restoring is not None and member.handle in restoring.handles:
        return "FederateRestoreInProgress"
    return "ActiveFederate"


def next_save(federation: Federation) -> tuple[str, LogicalTime | None]:
    """Label and time of the save that is under way, or waits for its time."""
    if federation.saves.saving is not None:
        return federation.saves.saving.label, federation.saves.saving.time
    return federation.saves.scheduled or ("", None)


def _time(time: LogicalTime | None) -> bytes:
    return b"" if time is None else time.encode()


def _bound_value(federation: Federation, value: TimeValue | None) -> bytes:
    return b"" if value is None else tso_queue.wrapped(federation, value).encode()


_FEDERATE: dict[str, Callable[[Federation, Member], object]] = {
    "HLAfederateHandle": lambda f, m: m.handle,
    "HLAfederateName": lambda f, m: m.name,
    "HLAfederateType": lambda f, m: m.kind,
    "HLAfederateHost": lambda f, m: m.node,
    "HLARTIversion": lambda f, m: VERSION,
    "HLAFOMmoduleDesignatorList": lambda f, m: designators(m.modules),
    "HLAtimeConstrained": lambda f, m: m.timing.constrained,
    "HLAtimeRegulating": lambda f, m: m.timing.regulating,
    "HLAasynchronousDelivery": lambda f, m: m.timing.asynchronous,
    "HLAfederateState": state_of,
    TIME_STATE: lambda f, m: grants.state_of(m),
    "HLAlogicalTime": lambda f, m: _bound_value(f, m.timing.time),
    "HLAlookahead": lambda f, m: time_management.lookahead_of(f, m).encode() if m.timing.regulating else b"",
    "HLAGALT": lambda f, m: _bound_value(f, time_management.galt_value(m.node, f, m)),
    "HLALITS": lambda f, m: _bound_value(f, time_management.lits_value(m.node, f, m)),
    "HLAROlength": lambda f, m: m.waiting + len(m.timing.held),
    "HLATSOlength": lambda f, m: len(m.timing.queue),
    "HLAreflectionsReceived": lambda f, m: sum(m.tally.reflections_received.values()),
    "HLAupdatesSent": lambda f, m: m.tally.updates,
    "HLAinteractionsReceived": lambda f, m: sum(m.tally.interactions_received.values()),
    "HLAinteractionsSent": lambda f, m: sum(m.tally.interactions_sent.values()),
    "HLAdirectedInteractionsReceived": lambda f, m: sum(m.tally.directed_received.values()),
    "HLAdirectedInteractionsSent": lambda f, m: sum(m.tally.directed_sent.values()),
    "HLAobjectInstancesThatCanBeDeleted": lambda f, m: sum(can_delete(f, m).values()),
    "HLAobjectInstancesUpdated": lambda f, m: sum(updated(f, m).values()),
    "HLAobjectInstancesReflected": lambda f, m: sum(reflected(f, m).values()),
    "HLAobjectInstancesDeleted": lambda f, m: m.tally.deleted,
    "HLAobjectInstancesRemoved": lambda f, m: m.tally.removed,
    "HLAobjectInstancesRegistered": lambda f, m: m.tally.registered,
    "HLAobjectInstancesDiscovered": lambda f, m: m.tally.discovered,
    "HLAautomaticResignAction": lambda f, m: RESIGN_ACTIONS[m.resign_directive],
    "HLAreportServiceFile": report_file,
}


def _switch(name: str) -> Callable[[Federation], str]:
    return lambda f: "Enabled" if f.switch(name) else "Disabled"


_FEDERATION: dict[str, Callable[[Federation], object]] = {
    "HLAfederationName": lambda f: f.name,
    "HLAfederatesInFederation": lambda f: list(f.members),
    "HLARTIversion": lambda f: VERSION,
    "HLAMIMdesignator": lambda f: f.catalog.model.mim.designator if f.catalog.model.mim else "HLAstandardMIM",
    "HLAFOMmoduleDesignatorList": lambda f: designators(modules_of(f)),
    "HLAcurrentFDD": lambda f: write_omt(f.catalog.model, f.name).decode(),
    "HLAtimeImplementationName": lambda f: f.time.name,
    "HLAlastSaveName": lambda f: f.saves.last[0],
    "HLAlastSaveTime": lambda f: _time(f.saves.last[1]),
    "HLAnextSaveName": lambda f: next_save(f)[0],
    "HLAnextSaveTime": lambda f: _time(next_save(f)[1]),
    "HLAautoProvide": _switch("autoProvide"),
    "HLAadvisoriesUseKnownClass": _switch("advisoriesUseKnownClass"),
    "HLAdelaySubscriptionEvaluation": _switch("delaySubscriptionEvaluation"),
    "HLAnonRegulatedGrant": _switch("nonRegulatedGrant"),
    "HLAallowRelaxedDDM": _switch("allowRelaxedDDM"),
}


# --- periodic -------------------------------------------------------------------------------------------------


def next_due(federation: Federation) -> float | None:
    return min(federation.mom.due.values()) if federation.mom.due else None


def report_due(step: Step) -> None:
    """The periodic attributes of the members here whose time has come.  After a pause there is one report, not many."""
    federation = step.federation
    for handle, when in list(federation.mom.due.items()):
        member = federation.members[handle]
        if when <= step.now:
            missed = int((step.now - when) / member.report_period)
            federation.mom.due[handle] = when + (missed + 1) * member.report_period
            reflect_named(step, member, _attributes(FEDERATE_CLASS, True))
