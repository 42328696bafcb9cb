"""The two tables of facts, which come from different documents, tell the same of the services: a slip in one would show."""

from __future__ import annotations

import pytest

from support import wire_facts
from support.standard_services import standard

LOCAL = {"evokeCallback", "evokeMultipleCallbacks", "enableCallbacks", "disableCallbacks", "getHLAversion"}
"""What a client does by itself has no message; so have the factories."""
OTHER_FIELDS = {
    "connect": 4,  # neither the ambassador nor the callback model go to the server
    "synchronizationPointAchieved": 1,  # `successfully` may be left out by the caller, not on the wire
    "requestAttributeValueUpdate": 2,  # InstanceAttributeValueUpdate, ClassAttributeValueUpdate
    "registerObjectInstanceWithRegions": 1,  # the name stands in the middle of the message's
    "subscribeObjectClassAttributesWithRegions": 2,  # `active` tells the passive form
    "subscribeObjectClassAttributesPassivelyWithRegions": 2,
    "subscribeInteractionClassWithRegions": 1,
    "subscribeInteractionClassPassivelyWithRegions": 1,
    "changeDefaultAttributeOrderType": 1,  # theObjectClass
    "informAttributeOwnership": 1,  # owner, federate
}
"""How many forms of a service have a message with other fields than the service has parameters."""


@pytest.mark.parametrize("part", ["services", "callbacks"])
def test_messages_have_the_parameters_of_their_services(part: str) -> None:
    """Each form of a service (clauses 4 to 10) has a message that begins with its name and has its parameters as fields."""
    messages = wire_facts.messages()
    names = [name for _, name in (wire_facts.calls() if part == "services" else wire_facts.callbacks())]
    without: dict[str, int] = {}
    for service in standard(part):
        if service.name in LOCAL or service.name.endswith("Factory"):
            continue
        parameters = [name for name, _ in service.parameters]
        if not any(
            name.lower().startswith(service.name.lower())
            and [field.name for field in messages[name]] == parameters
            for name in names
        ):
            without[service.name] = without.get(service.name, 0) + 1
    assert without == {
        name: forms
        for name, forms in OTHER_FIELDS.items()
        if name in {service.name for service in standard(part)}
    }


def test_clients_know_every_exception_of_a_service() -> None:
    known = wire_facts.exceptions("hla4")
    assert {error for service in standard("services") for error in service.exceptions} <= known
    assert not known & wire_facts.exceptions("evolved")
