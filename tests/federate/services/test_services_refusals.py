"""Every exception of every implemented service (clauses 4 to 10): provoked, or with the reason why it cannot be.

What the standard says of each service is in `tests/data/services`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from support.federation import Federation, federation, refused
from support.placement import Placement
from support.refusals import CANNOT_RAISE, FACTORIES, FEDERATION, WRONG_TYPES, Refusal
from support.refusals_objects import DECLARATION, OBJECTS, ORDER
from support.refusals_ownership import OWNERSHIP, PENDING_ACQUISITION
from support.refusals_regions import REGIONS
from support.refusals_saving import SAVING
from support.refusals_support import SUPPORT
from support.refusals_time import TIME, TIME_CANNOT_RAISE
from support.saves import begin_restore, instruct, save
from support.standard_services import snake, standard
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, RTIambassador, heard
from weft.channel import interval
from weft.cli.reference.services import all_services
from weft.federate.refusals import COMMON, SERVICES, UNCONNECTED, UNJOINED, errors_of
from weft.kernel import DURING_RESTORE, DURING_SAVE
from weft.model import errors
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle

REFUSALS = [
    *FEDERATION,
    *DECLARATION,
    *OBJECTS,
    *OWNERSHIP,
    *PENDING_ACQUISITION,
    *ORDER,
    *SUPPORT,
    *SAVING,
    *TIME,
    *REGIONS,
]

# Arguments of a sound type for a call that is refused before anybody looks at them.
SOUND: dict[str, Any] = {
    "attributes": set(),
    "desired_attributes": set(),
    "confirmed_attributes": set(),
    "interaction_classes": set(),
    "attribute_values": {},
    "parameter_values": {},
    "object_instance_names": {"a"},
    "attributes_and_regions": [],
    "regions": set(),
    "dimensions": set(),
    "fom_modules": (),
    "mim_module": "mim.xml",
    "user_supplied_tag": b"",
    "label": "another",
    "dependency": interval(1.0),
}
OWN = {"correlate", "correlate_singly", "cancel_correlation"}  # of Weft's own services
# What may be called while the federate saves, or restores.
_AMBASSADORS = UNCONNECTED | (UNJOINED - {"enable_callbacks", "disable_callbacks"}) | {"get_time_factory"}
REFUSED_IN_SAVE = [s for s in SERVICES if s not in DURING_SAVE | _AMBASSADORS]
REFUSED_IN_RESTORE = [s for s in SERVICES if s not in DURING_RESTORE | _AMBASSADORS]


def call_soundly(rti: RTIambassador, service: str) -> Any:
    method = getattr(rti, service)
    if service == "join_federation_execution":
        return method("type", "federation")
    wanted = inspect.signature(method).parameters.values()
    args = [SOUND.get(p.name, ObjectClassHandle.of(1)) for p in wanted if p.default is p.empty]
    args = [0.0 if "time_in_seconds" in p.name else a for p, a in zip(wanted, args, strict=False)]
    return method(*args)


@pytest.mark.parametrize("case", REFUSALS, ids=str)
def test_the_standards_exception_is_raised(case: Refusal, placement: Placement) -> None:
    """Each clause's exceptions: the call is refused with just that class, and the message is not empty."""
    with federation(2, placement=placement) as f, refused(getattr(errors, case.error)):
        case.provoke(f)


@pytest.mark.parametrize(("service", "arguments"), WRONG_TYPES)
def test_a_wrong_type_is_refused_like_a_wrong_value(
    service: str, arguments: tuple[Any, ...], placement: Placement
) -> None:
    """No Python error comes out of the RTI, compiled or not: something is not defined or known, or RTIinternalError says why."""
    with federation(1, placement=placement) as f:
        with pytest.raises(errors.RTIexception):
            getattr(f.rti[0], service)(*arguments)
        f.publish(0, "Vehicle", "Name")
        f.register(0, "Vehicle")


@pytest.mark.parametrize("service", [s for s in SERVICES if s not in UNCONNECTED])
def test_not_connected(service: str) -> None:
    """Clause 4.2: before connecting there is nobody to ask, whatever the arguments."""
    with refused(errors.NotConnected):
        call_soundly(RTIambassador(EmbeddedNode()), service)


@pytest.mark.parametrize("service", [s for s in SERVICES if s not in UNCONNECTED | UNJOINED])
def test_not_joined(service: str) -> None:
    """Clause 4.11: all but the services that lead to joining need a joined federate; pending services too."""
    rti = RTIambassador(EmbeddedNode())
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
    with refused(errors.FederateNotExecutionMember):
        call_soundly(rti, service)
    rti.disconnect()


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Federation]]:
    """Two federations, one in the middle of a save and one in the middle of a restore."""
    node = EmbeddedNode(save_directory=tmp_path_factory.mktemp("saves"))
    with (
        federation(2, node=node) as saving,
        federation(2, node=EmbeddedNode(save_directory=node.saves)) as restoring,
    ):
        instruct(saving)
        save(restoring)
        begin_restore(restoring)
        yield {"save": saving, "restore": restoring}


@pytest.mark.parametrize("service", REFUSED_IN_SAVE)
def test_refused_while_saving(paused: dict[str, Federation], service: str) -> None:
    """Clause 4.20: from Initiate Federate Save on, only what belongs to saving, and looking names up, is left to do."""
    with refused(errors.SaveInProgress):
        call_soundly(paused["save"].rti[0], service)


@pytest.mark.parametrize("service", REFUSED_IN_RESTORE)
def test_refused_while_restoring(paused: dict[str, Federation], service: str) -> None:
    """Clause 4.29: likewise from Federation Restore Begun on."""
    with refused(errors.RestoreInProgress):
        call_soundly(paused["restore"].rti[0], service)


def test_what_is_refused_meanwhile_is_what_the_standard_says() -> None:
    """The kernel's tables of what may be called meanwhile against the exceptions each service lists."""
    for error, refused_then in (
        ("SaveInProgress", REFUSED_IN_SAVE),
        ("RestoreInProgress", REFUSED_IN_RESTORE),
    ):
        listed = {snake(one.name) for one in standard("services") if error in one.exceptions}
        assert listed - {"join_federation_execution"} == set(refused_then) - OWN


# --- what the reference says ------------------------------------------------------------------------------------

NAME = "range"
BEYOND: list[tuple[str, str, Callable[[RTIambassador], Any]]] = [
    (
        "correlate",
        "AttributeNotDefined",
        lambda rti: rti.correlate(heard(rti.get_object_class_handle("Vehicle"), AttributeHandle.of(99))),
    ),
    (
        "correlate",
        "InteractionClassNotDefined",
        lambda rti: rti.correlate(heard(InteractionClassHandle.of(4000))),
    ),
    ("correlate", "ObjectClassNotDefined", lambda rti: rti.correlate(heard(ObjectClassHandle.of(4000)))),
    (
        "set_class_qos",
        "InteractionClassNotDefined",
        lambda rti: rti.set_class_qos(InteractionClassHandle.of(4000), 1),
    ),
    ("set_class_qos", "ObjectClassNotDefined", lambda rti: rti.set_class_qos(ObjectClassHandle.of(4000), 1)),
    (
        "set_automatic_resign_directive",
        "InvalidResignAction",
        lambda rti: rti.set_automatic_resign_directive(cast(Any, "delete")),
    ),
    ("steer", "FederationExecutionDoesNotExist", lambda rti: rti.steer("pause", "nowhere")),
    ("steer", "NameNotFound", lambda rti: rti.steer("resign", NAME, "nobody")),
]
"""Of Weft's own services, and where Weft has a better word than the standard's RTIinternalError."""
AT_SERVERS = {
    *((service, "Unauthorized") for service in ("connect", "create_federation_execution", "steer")),
    *(
        (service, "Unauthorized")
        for service in ("create_federation_execution_with_mim", "destroy_federation_execution")
    ),
    ("join_federation_execution", "Unauthorized"),
}
"""What guards refuse: tests/host/server/test_guard.py, tests/host/server/test_operator_key.py."""


@pytest.mark.bare(reason="the middleware has no groups")
@pytest.mark.parametrize(
    ("service", "error", "provoke"), BEYOND, ids=lambda one: one if isinstance(one, str) else ""
)
def test_refusals_that_are_not_of_the_standard(
    service: str, error: str, provoke: Callable[[RTIambassador], Any], placement: Placement
) -> None:
    """docs/reference/exceptions.md names them, too."""
    with federation(2, placement=placement) as f, refused(getattr(errors, error)):
        provoke(f.rti[0])


def test_the_reference_names_what_is_provoked_and_nothing_else() -> None:
    """Issue 9, errors: who raises what, of `weft errors` and docs/reference/exceptions.md, is what these tests see
    raised, both ways."""
    provoked = {(case.service, case.error) for case in REFUSALS} | {(one[0], one[1]) for one in BEYOND}
    provoked |= AT_SERVERS | set(TIME_CANNOT_RAISE)  # over nodes: tests/kernel/time/test_time_nodes.py
    provoked |= {(s, "SaveInProgress") for s in REFUSED_IN_SAVE} | {
        (s, "RestoreInProgress") for s in REFUSED_IN_RESTORE
    }
    provoked |= {(service, "NotConnected") for service in SERVICES if service not in UNCONNECTED}
    provoked |= {(s, "FederateNotExecutionMember") for s in SERVICES if s not in UNCONNECTED | UNJOINED}
    provoked |= {
        (service, "RTIinternalError") for service in COMMON["RTIinternalError"]
    }  # what has no other name
    assert {(service, error) for service in SERVICES for error in errors_of(service)} == provoked


def test_the_reference_leaves_out_only_what_cannot_be_raised() -> None:
    """What the standard lists and the reference does not is explained in `CANNOT_RAISE`."""
    for one in standard("services"):
        name = snake(one.name)
        left_out = set() if _factory_reason(name) else set(one.exceptions) - set(errors_of(name))
        assert {
            e for e in left_out if (name, e) not in CANNOT_RAISE and ("*", e) not in CANNOT_RAISE
        } == set(), name


# --- against the standard ---------------------------------------------------------------------------------------


def test_every_exception_is_provoked_or_explained() -> None:
    """All (service, exception) pairs of the implemented services are in one of the two tables, and in one only."""
    provoked = {(case.service, case.error) for case in REFUSALS}
    open_ends, twice = set(), set()
    for service in standard("services"):
        name = snake(service.name)
        for error in service.exceptions:
            raised = (name, error) in provoked or _generally_provoked(name, error)
            reason = (
                CANNOT_RAISE.get((name, error))
                or TIME_CANNOT_RAISE.get((name, error))
                or _factory_reason(name)
            )
            if not raised and not reason and ("*", error) not in CANNOT_RAISE:
                open_ends.add((name, error))
            if raised and reason:
                twice.add((name, error))
    assert not open_ends
    assert not twice


def _generally_provoked(name: str, error: str) -> bool:
    """By `test_not_connected`, `test_not_joined` and `test_refused_while_…`."""
    if name in REFUSED_IN_SAVE and error == "SaveInProgress":
        return True
    if name in REFUSED_IN_RESTORE and error == "RestoreInProgress":
        return True
    if name not in SERVICES or name in UNCONNECTED:
        return False
    return error == "NotConnected" or (error == "FederateNotExecutionMember" and name not in UNJOINED)


def _factory_reason(name: str) -> str:
    return FACTORIES if name.endswith("_factory") and name != "get_time_factory" else ""


def test_nothing_is_provoked_that_the_standard_does_not_name() -> None:
    """The tables keep to the standard: a refusal it does not list for a service would surprise a portable federate."""
    listed: dict[str, set[str]] = {}
    for service in standard("services"):
        listed.setdefault(snake(service.name), set()).update(service.exceptions)
    assert {(c.service, c.error) for c in REFUSALS if c.error not in listed[c.service]} == set()


# Our name for a parameter where overloads share one method.
MERGED = {
    ("request_attribute_value_update", "object_instance"): "target",
    ("request_attribute_value_update", "object_class"): "target",
    ("create_federation_execution", "fom_module"): "fom_modules",
}


@pytest.mark.parametrize(
    ("part", "ambassador"), [("services", RTIambassador), ("callbacks", FederateAmbassador)]
)
def test_every_service_has_its_method_and_parameters(part: str, ambassador: type) -> None:
    """Clauses 4 to 10: the standard's names in snake_case, for methods and for parameters, in the standard's order."""
    wrong = []
    for service in standard(part):
        name = snake(service.name)
        method = getattr(ambassador, name, None)
        if method is None:
            wrong.append(f"no {name}")
        elif name != "join_federation_execution":
            ours = list(inspect.signature(method).parameters)[1:]
            theirs = [MERGED.get((name, snake(p)), snake(p)) for p, _ in service.parameters]
            if [p for p in ours if p in theirs] != theirs:
                wrong.append(f"{name}: ours {ours}, theirs {theirs}")
    assert not wrong


def test_every_service_names_its_clause() -> None:
    """Clauses 4 to 10: the docstrings of the ambassadors, and so `weft services`, have all with their clauses."""
    theirs = {
        (service.clause, snake(service.name), service.callback)
        for part in ("services", "callbacks")
        for service in standard(part)
    }
    assert {(line.clause, line.name, line.callback) for line in all_services()} == theirs
    assert len(theirs) == 235


def test_every_service_gives_the_standards_result() -> None:
    """Clauses 4 to 10: a service without a result gives none, and one with a result a value of the standard's type, in Python."""
    results: dict[str, set[str]] = {}
    for service in standard("services"):
        results.setdefault(snake(service.name), set()).add(service.result)
    for name, theirs in results.items():
        ours = inspect.signature(getattr(RTIambassador, name)).return_annotation
        assert (ours == "None") == (theirs == {""}), name
        assert theirs == {""} or any(_in_python(result) in ours for result in theirs if result), (name, ours)


def _in_python(result: str) -> str:
    if result == "String":
        return "str"
    if result.endswith("Factory") and result != "LogicalTimeFactory":
        return "type["
    return f"frozenset[{result.removesuffix('Set')}]" if result.endswith("HandleSet") else result


def test_join_takes_the_standards_parameters_by_name(placement: Placement) -> None:
    """Clause 4.11: both overloads, by position and by name."""
    names = {
        "federateName": "who",
        "federateType": "kind",
        "federationName": "range",
        "additionalFomModules": [],
    }
    for service in standard("services"):
        if service.name == "joinFederationExecution":
            with federation(2, joined=1, placement=placement) as f:
                join: Any = f.rti[1].join_federation_execution
                join(**{snake(p): names[p] for p, _ in service.parameters})
            with federation(2, joined=1, placement=placement) as f:
                join = f.rti[1].join_federation_execution
                join(*(names[p] for p, _ in service.parameters))
