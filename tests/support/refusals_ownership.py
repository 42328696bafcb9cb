"""Refusals of ownership management, and of what cannot be done while an acquisition is pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.federation import Federation
from support.refusals import TANK, Refusal, tank
from support.refusals_objects import by_instance
from weft import ResignAction
from weft.model.handles import ObjectInstanceHandle

POSITION = "Position"


def disputed(f: Federation) -> ObjectInstanceHandle:
    """A tank of federate 0, whose position federate 1 tries to acquire."""
    instance = tank(f)
    f.publish(1, "Vehicle", POSITION)
    f.rti[1].attribute_ownership_acquisition(instance, f.attributes(TANK, POSITION), b"")
    return instance


def offered(f: Federation) -> ObjectInstanceHandle:
    """A tank of federate 0, which negotiates to divest its position; federate 1 does not publish anything."""
    instance = tank(f)
    f.rti[0].negotiated_attribute_ownership_divestiture(instance, f.attributes(TANK, POSITION), b"")
    return instance


def _call(
    service: str, error: str, i: int, make: Callable[[Federation], ObjectInstanceHandle], *more: Any
) -> Refusal:
    """The service, called by federate i for the position of the tank that `make` makes."""

    def call(f: Federation) -> Any:
        return getattr(f.rti[i], service)(make(f), f.attributes(TANK, POSITION), *more)

    return Refusal(service, error, call)


def _published(make: Callable[[Federation], ObjectInstanceHandle], *names: str) -> Any:
    def made(f: Federation) -> ObjectInstanceHandle:
        instance = make(f)
        f.publish(1, "Vehicle", *names)
        return instance

    return made


def _willing(f: Federation) -> ObjectInstanceHandle:
    """Federate 1 takes the position if it is available; federate 0 has to confirm."""
    instance = _published(offered, POSITION)(f)
    f.rti[1].attribute_ownership_acquisition_if_available(instance, f.attributes(TANK, POSITION), b"")
    return instance  # type: ignore[no-any-return]


def _acquired(f: Federation) -> ObjectInstanceHandle:
    instance = disputed(f)
    f.rti[0].unconditional_attribute_ownership_divestiture(instance, f.attributes(TANK, POSITION), b"")
    return instance


_OF_THE_OWNER = (
    "unconditional_attribute_ownership_divestiture",
    "negotiated_attribute_ownership_divestiture",
    "confirm_divestiture",
    "attribute_ownership_release_denied",
    "attribute_ownership_divestiture_if_wanted",
)
_CANCEL_DIVESTITURE = "cancel_negotiated_attribute_ownership_divestiture"
_CANCEL_ACQUISITION = "cancel_attribute_ownership_acquisition"
_ACQUIRE = "attribute_ownership_acquisition"
_IF_AVAILABLE = "attribute_ownership_acquisition_if_available"

OWNERSHIP = [
    *(case for service in _OF_THE_OWNER for case in by_instance(service, b"")),
    *(_call(service, "RTIinternalError", 0, tank, "text") for service in _OF_THE_OWNER),
    *by_instance(_CANCEL_DIVESTITURE),
    *by_instance(_ACQUIRE, b"", owner=False),
    *by_instance(_IF_AVAILABLE, b"", owner=False),
    *by_instance(_CANCEL_ACQUISITION, owner=False),
    *by_instance("query_attribute_ownership", owner=False),
    *by_instance("is_attribute_owned_by_federate", one=True, owner=False),
    _call("negotiated_attribute_ownership_divestiture", "AttributeAlreadyBeingDivested", 0, offered, b""),
    _call("confirm_divestiture", "AttributeDivestitureWasNotRequested", 0, disputed, b""),
    _call("confirm_divestiture", "NoAcquisitionPending", 0, offered, b""),
    _call(_CANCEL_DIVESTITURE, "AttributeDivestitureWasNotRequested", 0, disputed),
    *(
        case
        for service in (_ACQUIRE, _IF_AVAILABLE)
        for case in (
            _call(service, "ObjectClassNotPublished", 1, tank, b""),
            _call(service, "AttributeNotPublished", 1, _published(tank, "Name"), b""),
            _call(service, "FederateOwnsAttributes", 0, tank, b""),
            _call(service, "RTIinternalError", 1, _published(tank, POSITION), "text"),
        )
    ),
    _call(_IF_AVAILABLE, "AttributeAlreadyBeingAcquired", 1, disputed, b""),
    _call(_CANCEL_ACQUISITION, "AttributeAcquisitionWasNotRequested", 1, tank),
    # Only an Attribute Ownership Acquisition can be cancelled, not one If Available.
    _call(_CANCEL_ACQUISITION, "AttributeAcquisitionWasNotRequested", 1, _willing),
    _call(_CANCEL_ACQUISITION, "AttributeAlreadyOwned", 1, _acquired),
]


def _while_pending(service: str, act: Callable[[Federation, ObjectInstanceHandle], Any]) -> list[Refusal]:
    return [
        Refusal(service, "OwnershipAcquisitionPending", lambda f, make=make: act(f, make(f)))  # type: ignore[misc]
        for make in (disputed, _willing)
    ]


PENDING_ACQUISITION = [
    *_while_pending(
        "unpublish_object_class", lambda f, _: f.rti[1].unpublish_object_class(f.object_class("Vehicle"))
    ),
    *_while_pending(
        "unpublish_object_class_attributes",
        lambda f, _: f.rti[1].unpublish_object_class_attributes(
            f.object_class("Vehicle"), f.attributes(TANK, POSITION)
        ),
    ),
    *_while_pending(
        "local_delete_object_instance", lambda f, instance: f.rti[1].local_delete_object_instance(instance)
    ),
    *(
        case
        for action in ResignAction
        if not action.name.startswith("CANCEL")
        for case in _while_pending(
            "resign_federation_execution",
            lambda f, _, action=action: f.resign(1, action),  # type: ignore[misc]
        )
    ),
]
