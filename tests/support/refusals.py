"""Calls that must be refused: for each (service, exception) of the standard a way to provoke it, or the reason why nothing can.

`FEDERATION` and `REASONS` are here; the other groups are in `refusals_objects`, `refusals_ownership` and `refusals_support`.
NotConnected and FederateNotExecutionMember are provoked for every service by
`tests/federate/services/test_services_refusals.py` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from support.federation import NAME, Federation
from support.recording_ambassador import Recorder
from support.small_fom import extra_module, fom
from weft import CallbackModel, Credentials, ResignAction, RTIambassador, RtiConfiguration, Source
from weft.fom import standard_mim
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
)

TANK = "Vehicle.GroundVehicle.Tank"
NO_CLASS = ObjectClassHandle.of(9999)
NO_ATTRIBUTE = AttributeHandle.of(9999)
NO_INTERACTION = InteractionClassHandle.of(9999)
NO_PARAMETER = ParameterHandle.of(9999)
NO_INSTANCE = ObjectInstanceHandle.of(9999)
NOBODY = FederateHandle.of(9999)

GARBAGE = Source("garbage", b"this is no object model")
NAMELESS = extra_module(
    "<objects><objectClass><name>HLAobjectRoot</name><objectClass><sharing>Neither</sharing></objectClass></objectClass></objects>"
)
CONTRADICTION = extra_module(
    "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Vehicle</name><attribute><name>Position</name>"
    "<dataType>HLAASCIIstring</dataType><transportation>HLAreliable</transportation><order>Receive</order></attribute>"
    "</objectClass></objectClass></objects>"
)
NOWHERE = "/nowhere/model.xml"


class Refusal(NamedTuple):
    service: str
    error: str
    provoke: Callable[[Federation], Any]

    def __str__(self) -> str:
        return f"{self.service}-{self.error}"


def tank(f: Federation) -> ObjectInstanceHandle:
    """A tank of federate 0, which owns its position, name and ammunition; federate 1 knows it as a vehicle."""
    f.subscribe(1, "Vehicle", "Position")
    f.publish(0, TANK, "Position", "Name", "Ammo")
    return f.register(0, TANK)


def within(f: Federation, act: Callable[[], Any]) -> None:
    """Do it inside a callback of federate 0."""
    f.log[0].on["synchronization_point_registration_succeeded"] = lambda label: act()
    f.rti[0].register_federation_synchronization_point("within", b"")
    f.drain(0)


def connect(*more: Any, model: Any = CallbackModel.EVOKED) -> Any:
    return RTIambassador().connect(Recorder(), model, *more)


def create(f: Federation, *modules: Any, name: str = "other", time: str = "") -> None:
    f.rti[0].create_federation_execution(name, modules, time)


def create_with(f: Federation, mim: Any, *modules: Any, name: str = "other", time: str = "") -> None:
    f.rti[0].create_federation_execution_with_mim(name, modules or [fom()], mim, time)


def standard() -> Source:
    """A MIM that is as good as the standard one."""
    return standard_mim().source


def join(f: Federation, *modules: Any, name: str = "late", federation: str = NAME) -> None:
    if f.handles[1] is not None:
        f.resign(1)
        f.handles[1] = None
    f.rti[1].join_federation_execution(name, "test", federation, modules)


def owning(f: Federation, action: ResignAction) -> None:
    tank(f)
    f.resign(0, action)


def _achieve_unannounced(f: Federation) -> None:
    f.rti[0].register_federation_synchronization_point("mine", b"", {f.handle(0)})
    f.rti[1].synchronization_point_achieved("mine")


WITH_MIM = "create_federation_execution_with_mim"

FEDERATION = [
    Refusal("connect", "AlreadyConnected", lambda f: f.rti[0].connect(Recorder(), CallbackModel.EVOKED)),
    Refusal("connect", "UnsupportedCallbackModel", lambda f: connect(model="evoked")),
    Refusal("connect", "InvalidCredentials", lambda f: connect(Credentials("HLAplainTextPassword", b"x"))),
    Refusal(
        "connect", "ConnectionFailed", lambda f: connect(RtiConfiguration(rti_address="localhost:15164"))
    ),
    Refusal(
        "connect",
        "CallNotAllowedFromWithinCallback",
        lambda f: within(f, lambda: f.rti[0].connect(Recorder(), CallbackModel.EVOKED)),
    ),
    Refusal("disconnect", "FederateIsExecutionMember", lambda f: f.rti[0].disconnect()),
    Refusal("disconnect", "CallNotAllowedFromWithinCallback", lambda f: within(f, f.rti[0].disconnect)),
    Refusal(
        "create_federation_execution",
        "FederationExecutionAlreadyExists",
        lambda f: create(f, fom(), name=NAME),
    ),
    Refusal(
        "create_federation_execution",
        "CouldNotCreateLogicalTimeFactory",
        lambda f: create(f, fom(), time="?"),
    ),
    Refusal("create_federation_execution", "InconsistentFOM", lambda f: create(f, fom(), CONTRADICTION)),
    Refusal("create_federation_execution", "InvalidFOM", lambda f: create(f, NAMELESS)),
    Refusal("create_federation_execution", "ErrorReadingFOM", lambda f: create(f, GARBAGE)),
    Refusal("create_federation_execution", "CouldNotOpenFOM", lambda f: create(f, NOWHERE)),
    Refusal(WITH_MIM, "FederationExecutionAlreadyExists", lambda f: create_with(f, standard(), name=NAME)),
    Refusal(WITH_MIM, "CouldNotCreateLogicalTimeFactory", lambda f: create_with(f, standard(), time="?")),
    Refusal(WITH_MIM, "InconsistentFOM", lambda f: create_with(f, standard(), fom(), CONTRADICTION)),
    Refusal(WITH_MIM, "InvalidFOM", lambda f: create_with(f, standard(), NAMELESS)),
    Refusal(WITH_MIM, "ErrorReadingFOM", lambda f: create_with(f, standard(), GARBAGE)),
    Refusal(WITH_MIM, "CouldNotOpenFOM", lambda f: create_with(f, standard(), NOWHERE)),
    Refusal(WITH_MIM, "InvalidMIM", lambda f: create_with(f, NAMELESS)),
    # A MIM that lacks what every MIM has is at fault itself, not the FOM modules that need it.
    Refusal(WITH_MIM, "InvalidMIM", lambda f: create_with(f, fom())),
    Refusal(WITH_MIM, "ErrorReadingMIM", lambda f: create_with(f, GARBAGE)),
    Refusal(WITH_MIM, "CouldNotOpenMIM", lambda f: create_with(f, NOWHERE)),
    Refusal(WITH_MIM, "DesignatorIsHLAstandardMIM", lambda f: create_with(f, "HLAstandardMIM")),
    Refusal(
        "destroy_federation_execution",
        "FederatesCurrentlyJoined",
        lambda f: f.rti[0].destroy_federation_execution(NAME),
    ),
    Refusal(
        "destroy_federation_execution",
        "FederationExecutionDoesNotExist",
        lambda f: f.rti[0].destroy_federation_execution("nowhere"),
    ),
    Refusal(
        "join_federation_execution",
        "FederationExecutionDoesNotExist",
        lambda f: join(f, federation="nowhere"),
    ),
    Refusal("join_federation_execution", "FederateNameAlreadyInUse", lambda f: join(f, name="federate 0")),
    Refusal("join_federation_execution", "InconsistentFOM", lambda f: join(f, CONTRADICTION)),
    Refusal("join_federation_execution", "InvalidFOM", lambda f: join(f, NAMELESS)),
    Refusal("join_federation_execution", "ErrorReadingFOM", lambda f: join(f, GARBAGE)),
    Refusal("join_federation_execution", "CouldNotOpenFOM", lambda f: join(f, NOWHERE)),
    Refusal("join_federation_execution", "FederateAlreadyExecutionMember", lambda f: f.join(0)),
    Refusal(
        "join_federation_execution",
        "CallNotAllowedFromWithinCallback",
        lambda f: within(f, lambda: f.join(0)),
    ),
    Refusal("resign_federation_execution", "InvalidResignAction", lambda f: f.resign(0, None)),  # type: ignore[arg-type]
    Refusal(
        "resign_federation_execution", "FederateOwnsAttributes", lambda f: owning(f, ResignAction.NO_ACTION)
    ),
    Refusal(
        "resign_federation_execution",
        "CallNotAllowedFromWithinCallback",
        lambda f: within(f, lambda: f.resign(0)),
    ),
    Refusal(
        "register_federation_synchronization_point",
        "InvalidFederateHandle",
        lambda f: f.rti[0].register_federation_synchronization_point("x", b"", {NOBODY}),
    ),
    Refusal("synchronization_point_achieved", "SynchronizationPointLabelNotAnnounced", _achieve_unannounced),
    Refusal(
        "register_federation_synchronization_point",
        "RTIinternalError",
        lambda f: f.rti[0].register_federation_synchronization_point("x", "text"),  # type: ignore[arg-type]
    ),
]

# "*" stands for every service.
CANNOT_RAISE: dict[tuple[str, str], str] = {
    ("*", "Unauthorized"): "the embedded node has no authorizer: whoever connects may do everything",
    (
        "*",
        "RTIinternalError",
    ): "only for what the standard has no name for; no input of a sound type leads to it",
    (
        "*",
        "AttributeAlreadyBeingChanged",
    ): "a change of transportation is carried out within the call that asks for it",
    (
        "*",
        "InteractionClassAlreadyBeingChanged",
    ): "a change of transportation is carried out within the call that asks for it",
    (
        "join_federation_execution",
        "CouldNotCreateLogicalTimeFactory",
    ): "both time representations are built in, and creating the federation already checked the name",
}
FACTORIES = "a factory is a Python type, there before any connection"

# Arguments of a wrong Python type.
WRONG_TYPES: list[tuple[str, tuple[Any, ...]]] = [
    ("publish_object_class_attributes", (NO_CLASS, {1, "a"})),
    ("send_interaction", (1, {}, b"")),
    ("update_attribute_values", ("tank", {}, b"")),
    ("reserve_object_instance_name", (5,)),
    ("register_federation_synchronization_point", ("go", b"", {b"1234"})),
    ("attribute_ownership_acquisition", ("tank", {1}, b"")),
    ("query_attribute_ownership", (NO_INSTANCE, {"Position"})),
    ("is_attribute_owned_by_federate", (7, 5)),
]
