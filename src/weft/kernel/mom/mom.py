"""The Management Object Model (clause 11): what the RTI tells about itself, and takes orders on, in HLA's own terms.

The RTI takes part in its federation as `Federation.rti`, which owns the MOM's instances and sends its reports, by the
same path as everybody's messages.  It is told of what concerns it during a turn (`Turn.tell_rti`) and acts when the turn ends:

    receive_interaction              a federate sent a MOM interaction: answer with reports, or carry out what it asks for
    provide_attribute_value_update   somebody wants the values of a MOM instance
    note                             MOM attributes have changed (`Turn.note`)
    note_time_state                  a federate asks to advance, or is granted: each is told, though both may be in one turn

Who acts: the node of a federate tells about that federate, because it counts what the federate sends and hears, and takes
orders about its time, which it alone keeps; the home tells about the federation, and takes all other orders, because it gives
commands their place.  What reaches another node is passed on.

`mom_objects` has the instances and their values, `mom_requests` the requests, `mom_services` adjustments and services,
`mom_reports` what is reported unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.message.recipients import MANAGED
from weft.kernel.mom import mom_objects, mom_reports, mom_requests, mom_services
from weft.kernel.mom.mom_parameters import ParameterError, Parameters
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time.grants import TIME_STATE, TIME_STATE_CHANGED
from weft.model.deliveries import checked
from weft.model.errors import RTIexception
from weft.model.handles import FederateHandle, InteractionClassHandle, ObjectInstanceHandle
from weft.model.records import Source

_REQUEST = "HLAinteractionRoot.HLAmanager.HLAfederate.HLArequest"
_SERVICE = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAservice"

OnBehalf = Callable[[Step, FederateHandle, str, tuple[object, ...]], None]
"""Invokes a service in the name of a federate, or raises."""


def establish(federation: Federation) -> None:
    """A new federation: it has no members yet, so nobody is told."""
    mom_objects.register(Step(Turn(federation.home, 0.0), federation, federation.rti), None)


# --- after a command ------------------------------------------------------------------------------------------


def joined(step: Step, sources: tuple[Source, ...]) -> None:
    member = step.member
    member.modules = sources
    member.granted_since = step.now
    mom_objects.register(step, member)
    step.note(None, "HLAfederatesInFederation")
    if sources:
        step.note(None, "HLAFOMmoduleDesignatorList", "HLAcurrentFDD")
    if member.switches.service_reporting:
        step.federation.observed[member.handle] = member


def departed(step: Step, fault: str | None) -> None:
    federation = step.federation
    member = step.member
    mom_objects.remove(step)
    federation.observed.pop(member.handle, None)
    federation.mom.due.pop(member.handle, None)
    for instance in federation.instances.values():  # its seat will be another's
        instance.updated &= ~member.bit
        instance.reflected &= ~member.bit
    step.note(None, "HLAfederatesInFederation")
    if fault is not None and federation.home == step.node:
        mom_reports.federate_lost(step, fault)


_REGISTERS = ("register_object_instance", "register_object_instance_with_regions")


def commanded(step: Step, service: str, arguments: tuple[object, ...]) -> None:
    """A service of this member was carried out, at every node."""
    member = step.member
    if service in _REGISTERS:
        member.tally.registered += 1
    elif service == "delete_object_instance":
        member.tally.deleted += 1
    elif service == "set_automatic_resign_directive":
        step.note(member, "HLAautomaticResignAction")
    elif service == "set_switch" and arguments[0] == "service_reporting":
        if arguments[1]:
            step.federation.observed[member.handle] = member
        else:
            step.federation.observed.pop(member.handle, None)


# --- what the RTI is told -------------------------------------------------------------------------------------


def responsible(federation: Federation, what: str, arguments: tuple[object, ...]) -> str:
    """The node that acts on it."""
    member: Member | None = None
    if what in ("note", TIME_STATE_CHANGED) and arguments[0] is not None:
        member = federation.members.get(checked(FederateHandle, arguments[0]))
    elif what == "provide_attribute_value_update":
        member = mom_objects.subject(federation, checked(ObjectInstanceHandle, arguments[0]))
    elif what == "receive_interaction":
        entry = federation.catalog.interaction_classes[checked(InteractionClassHandle, arguments[0])]
        if _is_for_its_node(entry):
            try:
                member = Parameters(federation, entry, checked(dict, arguments[1])).member()
            except ParameterError:
                member = None
    return federation.home if member is None else member.node


def _is_for_its_node(entry: InteractionClassEntry) -> bool:
    """Does the node of the federate that it names act on it?"""
    known = _known(entry)
    if known is None:
        return False
    name = known.name.rpartition(".")
    return name[0] == _REQUEST or (name[0] == _SERVICE and mom_services.is_judged_by_its_node(name[2]))


def act(step: Step, what: str, arguments: tuple[object, ...], on_behalf: OnBehalf) -> None:
    if what == "receive_interaction":
        _interaction(step, arguments, on_behalf)
    elif what == "provide_attribute_value_update":
        instance, attributes, *_ = arguments
        assert isinstance(attributes, Iterable)
        mom_objects.reflect(step, checked(ObjectInstanceHandle, instance), attributes)
    elif what == "note":
        federate, names = arguments
        assert isinstance(names, Iterable)
        members = step.federation.members
        member = None if federate is None else members.get(checked(FederateHandle, federate))
        if federate is None or member is not None:
            mom_objects.reflect_named(step, member, names)
    elif what == TIME_STATE_CHANGED:
        federate, state = arguments
        member = step.federation.members.get(checked(FederateHandle, federate))
        if member is not None:
            mom_objects.reflect_named(step, member, (TIME_STATE,), checked(str, state))


def _interaction(step: Step, arguments: tuple[object, ...], on_behalf: OnBehalf) -> None:
    federation = step.federation
    interaction_class, values, who = arguments
    entry = _known(federation.catalog.interaction_classes[checked(InteractionClassHandle, interaction_class)])
    if entry is None:
        return
    sender = checked(FederateHandle, who)
    try:
        _obey(step, entry, Parameters(federation, entry, checked(dict, values)), sender, on_behalf)
    except ParameterError as error:
        mom_reports.mom_exception(step, sender, entry.name, str(error), True)
    except RTIexception as error:
        why = mom_reports.text_of_error(error)
        mom_reports.mom_exception(step, sender, entry.name, why, False)


def _known(entry: InteractionClassEntry) -> InteractionClassEntry | None:
    """The class the RTI takes it as: a federation may have made classes below the standard's."""
    for ancestor in entry.lineage:
        if ancestor.parent is not None and ancestor.parent.name in MANAGED:
            return ancestor
    return None


def _obey(
    step: Step,
    entry: InteractionClassEntry,
    given: Parameters,
    sender: FederateHandle,
    on_behalf: OnBehalf,
) -> None:
    _, _, about, kind, name = entry.name.split(".")
    if about == "HLAfederation":
        if kind == "HLArequest" and name in mom_requests.OF_FEDERATION:
            mom_requests.OF_FEDERATION[name](step, given)
        elif name == "HLAsetSwitches":
            for service, arguments in mom_services.federation_commands(given):
                on_behalf(step, sender, service, arguments)
        return
    member = given.member()
    if kind == "HLArequest" and name in mom_requests.OF_FEDERATE:
        mom_requests.OF_FEDERATE[name](step, member, given)
    elif kind == "HLAadjust" and name in (*mom_services.ADJUSTMENTS, *mom_services.OLDER_ADJUSTMENTS):
        for service, arguments in mom_services.adjust_commands(name, given):
            on_behalf(step, member.handle, service, arguments)
    elif kind == "HLAservice" and mom_services.is_service(name):
        on_behalf(step, member.handle, *mom_services.service_command(name, given))
