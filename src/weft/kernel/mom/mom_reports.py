"""Reports: interactions that the RTI sends of its own accord or because it was asked.

A report is built only if somebody hears it.  Reports about a federate are sent by that federate's node, reports about the
federation by its home.

Service reporting tells of every service a federate calls (that its node hears of) and of every callback it gets.  A
federate whose services are reported cannot subscribe to those reports; should it hear them at a class above, that is not
reported in turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from functools import cache

from weft.fom import EnumeratedType, standard_mim
from weft.fom.catalog import InteractionClassEntry
from weft.interest import Extent
from weft.kernel.message import pipeline, recipients
from weft.kernel.services import object_management
from weft.kernel.state.effects import Callback, Effect, Record
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.region_state import Extents
from weft.kernel.state.step import Step
from weft.kernel.time import tso_queue
from weft.model.as_of import TIMED_SERVICES
from weft.model.deliveries import DeliveredInteraction
from weft.model.enums import ServiceGroup
from weft.model.errors import EncodingError
from weft.model.handles import FederateHandle, Handle, InteractionClassHandle, ObjectInstanceHandle
from weft.model.packed import PackedValues
from weft.model.time import HLAfloat64Interval, HLAfloat64Time, HLAinteger64Interval, HLAinteger64Time

FEDERATE = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport"
FEDERATION = "HLAinteractionRoot.HLAmanager.HLAfederation.HLAreport"
SERVICE_INVOCATION = f"{FEDERATE}.HLAreportServiceInvocation"


_TARGETS = {"send_interaction": InteractionClassHandle, "update_attribute_values": ObjectInstanceHandle}


def heard(step: Step, name: str) -> InteractionClassEntry | None:
    """The class of a report, if anybody anywhere hears it."""
    entry = step.federation.catalog.interaction_class_names.get(name)
    if entry is None:
        return None
    found = recipients.of_interaction(step, step.federation.rti, entry)
    return entry if found.here or found.posts else None


def report(step: Step, name: str, **values: object) -> None:
    """To whoever hears it."""
    entry = heard(step, name)
    if entry is not None:
        send(step, entry, **values)


def send(step: Step, entry: InteractionClassEntry, **values: object) -> None:
    federation = step.federation
    rti = federation.rti
    sent = {}
    for name, value in values.items():
        handle = entry.names.get(name)
        if handle is not None:  # a MIM of one's own may lack it
            data = encoded(federation, entry.parameters[handle].data_type, value)
            if data is not None:
                sent[handle] = data
    rti.declared.sends[entry.handle] = None
    at = _place(federation, entry, values) if federation.ddm.regions else None
    pipeline.send_interaction(Step(step.turn, federation, rti), entry.handle, sent, b"", at=at)


def _place(federation: Federation, entry: InteractionClassEntry, values: dict[str, object]) -> Extents | None:
    """The region that a report is sent with: whom it is about and, of a service, which group that is in."""
    ranges: dict[int, tuple[int, int]] = {}
    about = {"HLAfederate": values.get("HLAfederate"), "HLAserviceGroup": values.get("HLAserviceType")}
    for dimension in federation.catalog.available_to_interaction_class(entry):
        value = about.get(federation.catalog.dimensions[dimension].name)
        if isinstance(value, (Handle, int)):
            number = value.number if isinstance(value, Handle) else value
            ranges[dimension.number] = (number, number + 1)
    return (Extent(ranges),) if ranges else None


def encoded(federation: Federation, data_type: str, value: object) -> bytes | None:
    """As the object model has it; counts stop at what fits.  None: a MIM of one's own has another type for it.

    A value that cannot be told must not keep a service from being carried out.
    """
    model = federation.catalog.model
    try:
        return model.encode(data_type, value)
    except EncodingError:
        try:
            return model.encode(data_type, _tame(value))
        except EncodingError:
            return None


def _tame(value: object) -> object:
    if isinstance(value, int):
        return min(value, (1 << 31) - 1)
    if isinstance(value, dict):
        return {key: _tame(held) for key, held in value.items()}
    return [_tame(one) for one in value] if isinstance(value, list) else value


def mom_exception(step: Step, sender: FederateHandle, service: str, why: str, parameter: bool) -> None:
    """A MOM interaction of that sender could not be acted on."""
    report(
        step,
        f"{FEDERATE}.HLAreportMOMexception",
        HLAfederate=sender,
        HLAservice=service,
        HLAexception=why,
        HLAparameterError=parameter,
    )


def federate_lost(step: Step, fault: str) -> None:
    report(
        step,
        f"{FEDERATE}.HLAreportFederateLost",
        HLAfederate=step.member.handle,
        HLAfederateName=step.member.name,
        HLAtimeStamp=step.federation.time.make_initial().encode(),
        HLAfaultDescription=fault,
    )


# --- services and exceptions ----------------------------------------------------------------------------------


def refused(
    step: Step,
    service: str,
    group: ServiceGroup | None,
    arguments: tuple[object, ...],
    error: Exception,
) -> None:
    """A call of this member was refused."""
    member = step.member
    if member.handle in step.federation.observed:
        invoked(step, member, service, group, arguments, None, error)
    if member.switches.exception_reporting:
        report(
            step,
            f"{FEDERATE}.HLAreportException",
            HLAfederate=member.handle,
            HLAservice=text_of_service(service, arguments),
            HLAexception=text_of_error(error),
        )


def invoked(
    step: Step,
    member: Member,
    service: str,
    group: ServiceGroup | None,
    arguments: tuple[object, ...],
    value: object,
    error: Exception | None = None,
) -> None:
    """A service was invoked by this member, or, without a group, at it: a callback."""
    entry = heard(step, SERVICE_INVOCATION)
    file = report_file(step.federation, member)
    if entry is None and not file:
        return
    if service in _TARGETS:
        target = arguments[0]
        if type(target) is bytes:  # a server leaves the bytes of a handle as they came
            arguments = (_TARGETS[service](target), *arguments[1:])
    arguments = _as_called(step.federation, service, arguments)
    told: dict[str, object] = {
        "HLAfederate": member.handle,
        "HLAservice": text_of_service(service, arguments),
        "HLAserviceType": (group_of(service) if group is None else group).value,
        "HLAsuccessIndicator": error is None,
        "HLAsuppliedArguments": [argument(given) for given in arguments],
        "HLAreturnedArgument": argument(value),
        "HLAexception": "" if error is None else text_of_error(error),
        "HLAserialNumber": member.reports_made,
    }
    member.reports_made += 1
    if entry is not None:
        send(step, entry, **told)
    if file:
        _record(step, member, file, told)


def _as_called(federation: Federation, service: str, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """Without what its node added."""
    if service == "delete_region":
        return arguments[:1]
    if service in object_management.REGISTERS:
        given = arguments[: object_management.REGISTERS[service]]
        return given[:-1] if given[-1:] == (None,) else given
    if service == "commit_region_modifications" and arguments:
        rows = arguments[0]
        if type(rows) is tuple:
            arguments = (frozenset(handle for handle, _ in rows), *arguments[1:])
    form = TIMED_SERVICES.get(service)
    if form is not None and len(arguments) > form.place:
        timed = arguments[form.place]
        if type(timed) is tuple:
            arguments = (*arguments[: form.place], tso_queue.wrapped(federation, timed[0]))
    return arguments


def report_file(federation: Federation, member: Member) -> str:
    """The file that the member's service reports go to; empty: none.  Handles and numbers tell apart what is called alike."""
    if not federation.mom.reports or not member.switches.send_service_reports_to_file:
        return ""
    number = federation.execution.rpartition("/")[2]
    whose = f"{_plain(federation.name)}-{number}.{_plain(member.name)}-{member.handle.number}"
    return f"{federation.mom.reports}/{whose}.services.jsonl"


def _plain(name: str) -> str:
    """A name as part of a file's name on any system."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name[:60])


def _record(step: Step, member: Member, file: str, told: dict[str, object]) -> None:
    """Into the file; it begins with whose it is."""
    if not member.recorded:
        member.recorded = True
        about = {"federation": step.federation.name, "federate": member.name, "type": member.kind}
        step.effects.append(Record(file, json.dumps(about | {"handle": member.handle.number})))
    line = told | {"HLAfederate": member.handle.number, "seconds": step.now}
    step.effects.append(Record(file, json.dumps(line)))


def callbacks(step: Step, effects: Iterable[Effect]) -> None:
    """Report the callbacks among these effects that go to members whose services are reported."""
    federation = step.federation
    observed = {m.session: m for m in federation.observed.values() if m.node == step.node}
    for effect in effects:
        if isinstance(effect, Callback) and effect.session in observed:
            told = effect.delivery
            if not isinstance(told, DeliveredInteraction) or told.producer != federation.rti.handle:
                invoked(step, observed[effect.session], effect.method, None, effect.arguments, None)


# --- in words -------------------------------------------------------------------------------------------------

_CALLBACK_GROUPS = (
    (("federation", "federate", "synchronization", "connection_lost"), ServiceGroup.FEDERATION_MANAGEMENT),
    (("start_registration", "stop_registration", "turn_interactions"), ServiceGroup.DECLARATION_MANAGEMENT),
    (("ownership", "divestiture", "attribute_is_"), ServiceGroup.OWNERSHIP_MANAGEMENT),
    (("time_", "order_type", "flush_queue", "retraction"), ServiceGroup.TIME_MANAGEMENT),
)
"""By words in their names; all others belong to object management."""
_TYPES: tuple[tuple[type, str, str], ...] = (
    (bool, "Boolean", "indicator"),
    (str, "String", "name"),
    (int, "Number", "value"),
    (float, "Number", "value"),
    (HLAinteger64Time, "LogicalTime", "time"),
    (HLAfloat64Time, "LogicalTime", "time"),
    (HLAinteger64Interval, "LogicalTimeInterval", "interval"),
    (HLAfloat64Interval, "LogicalTimeInterval", "interval"),
)
_ADVISORIES = ("object_class_relevance", "attribute_relevance", "attribute_scope", "interaction_relevance")


def group_of(callback: str) -> ServiceGroup:
    """The service group of a callback."""
    found = [group for words, group in _CALLBACK_GROUPS if any(word in callback for word in words)]
    return found[0] if found else ServiceGroup.OBJECT_MANAGEMENT


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def text_of_service(service: str, arguments: tuple[object, ...]) -> str:
    """The name the standard's interface has for it; the kernel folds some into one."""
    if service in ("get_switch", "set_switch", "get_federation_switch") and arguments:
        advisory = "_advisory" if arguments[0] in _ADVISORIES else ""
        return f"{service[:3]}{camel('_' + str(arguments[0]) + advisory)}Switch"
    passive = service.startswith("subscribe_") and bool(arguments) and arguments[-1] is False
    passive = passive and "directed" not in service
    return camel(service) + ("Passively" if passive else "")


def text_of_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def argument(value: object) -> dict[str, str]:
    """An HLAargument: type, name and value in words.  The kernel knows no names of arguments; they follow from the types."""
    kind, name = _kind(value)
    return {"HLAargumentType": kind, "HLAargumentName": name, "HLAargumentValue": text(value)}


@cache
def _argument_types() -> frozenset[str]:
    found = standard_mim().data_types["HLAargumentType"]
    return (
        frozenset(one.name for one in found.enumerators) if isinstance(found, EnumeratedType) else frozenset()
    )


def _kind(value: object) -> tuple[str, str]:
    """Its HLAargumentType and a name; what has no type of its own there is told as a string."""
    kind, name = _kind_in_python(value)
    return (kind if kind in _argument_types() else "String"), name


def _kind_in_python(value: object) -> tuple[str, str]:
    if value is None:
        return "Null", ""
    if isinstance(value, Handle):
        kind = type(value).__name__
        return kind, camel_of_type(kind.removesuffix("Handle"))
    if isinstance(value, bytes):
        return "UserSuppliedTag", "userSuppliedTag"
    if isinstance(value, Enum):
        return type(value).__name__, camel_of_type(type(value).__name__)
    if isinstance(value, PackedValues):
        return "VariableLengthData", "values"
    if isinstance(value, dict):
        return _kind_in_python(next(iter(value), None))[0] + "ValueMap", "values"
    if isinstance(value, (set, frozenset, list)) or type(value) is tuple:
        one = _kind_in_python(next(iter(value), None))[0]
        return f"{one}Set", camel_of_type(one.removesuffix("Handle") + "s")
    for known, kind, name in _TYPES:
        if isinstance(value, known):
            return kind, name
    return type(value).__name__, camel_of_type(type(value).__name__)


def camel_of_type(name: str) -> str:
    return name[:1].lower() + name[1:]


def text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Handle):
        return str(value.number)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, PackedValues):
        return text(value.unpack())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(key)}: {text(held)}" for key, held in value.items()) + "}"
    if isinstance(value, (set, frozenset)):
        return "[" + ", ".join(sorted(text(one) for one in value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(one) for one in value) + "]"
    return str(getattr(value, "value", value))
