"""What the arguments of each service mean, so that a script can say them in plain data: the names of its parameters tell.

One that is given by keyword alone is left out if it is null.
"""

from __future__ import annotations

import inspect
from typing import Final, get_overloads

from weft.federate import FederateAmbassador, RTIambassador
from weft.federate.refusals import SERVICES
from weft.prove.script import ScriptedCall

_WITH_NAME: Final = get_overloads(RTIambassador.join_federation_execution)[-1]

SIGNATURES: Final = {
    service: tuple(inspect.signature(function).parameters.values())[1:]
    for service, function in inspect.getmembers(RTIambassador, inspect.isfunction)
    if service in SERVICES
} | {"join_federation_execution": tuple(inspect.signature(_WITH_NAME).parameters.values())[1:]}

AS_OF: Final = {
    service: tuple(None for one in parameters if one.name != "time")
    for service, parameters in SIGNATURES.items()
    if any(one.name == "time" and one.kind is one.KEYWORD_ONLY for one in parameters)
}
"""What can be called as of a time, which stands last, with as many nulls as there are arguments before it."""


def is_as_of(step: ScriptedCall) -> bool:
    return step.call in AS_OF and len(step.arguments) > len(AS_OF[step.call])


ABOUT: Final = {
    callback: parameters.index("object_instance")
    for callback, parameters in (
        (name, list(inspect.signature(method).parameters))
        for name, method in inspect.getmembers(FederateAmbassador, inspect.isfunction)
    )
    if "object_instance" in parameters
}
"""Callbacks about an instance: where it stands, counted from the method itself."""

ADVANCES: Final = (
    "time_advance_request",
    "time_advance_request_available",
    "next_message_request",
    "next_message_request_available",
    "flush_queue_request",
)

UNAWAITED: Final = frozenset(["update_attribute_values", "send_interaction", *ADVANCES])
"""What a client with `asyncUpdates` does not wait for: its refusal comes with a later call."""
