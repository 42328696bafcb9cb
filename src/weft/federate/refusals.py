"""Which service refuses with which exception: the reference of `weft errors` and docs/reference/exceptions.md.

What all services have in common follows from what they need (a connection, a federation, no save meanwhile), in part from the
kernel's own tables; what is left is `services.refused.TABLE`.  Tests provoke each pair, and find no other.
"""

from __future__ import annotations

import inspect
from typing import Final

from weft.federate.ambassador import RTIambassador
from weft.federate.services.refused import TABLE
from weft.kernel import DURING_RESTORE, DURING_SAVE

FACTORIES: Final = frozenset(
    name for name in dir(RTIambassador) if name.endswith("_factory") and name != "get_time_factory"
)
SERVICES: Final = tuple(
    name
    for name, _ in inspect.getmembers(RTIambassador, inspect.isfunction)
    if not name.startswith("_") and name not in FACTORIES
)
"""All that can refuse: an ambassador's methods, but for those that make factories."""
UNCONNECTED: Final = frozenset(["connect", "disconnect", "leave", "get_hla_version"])
"""What needs no connection."""
UNJOINED: Final = frozenset(
    [
        "create_federation_execution",
        "create_federation_execution_with_mim",
        "destroy_federation_execution",
        "list_federation_executions",
        "list_federation_execution_members",
        "join_federation_execution",
        "evoke_callback",
        "evoke_multiple_callbacks",
        "enable_callbacks",
        "disable_callbacks",
        "query_status",
        "query_survey",
        "steer",
    ]
)
"""What needs a connection and no federation."""
_ASIDE: Final = (
    UNCONNECTED | (UNJOINED - {"enable_callbacks", "disable_callbacks"}) | frozenset(["get_time_factory"])
)
"""What a save or restore does not concern."""
COMMON: Final[dict[str, frozenset[str]]] = {
    "NotConnected": frozenset(SERVICES) - UNCONNECTED,
    "FederateNotExecutionMember": frozenset(SERVICES) - UNCONNECTED - UNJOINED,
    "SaveInProgress": frozenset(SERVICES) - DURING_SAVE - _ASIDE,
    "RestoreInProgress": frozenset(SERVICES) - DURING_RESTORE - _ASIDE,
    "RTIinternalError": frozenset(SERVICES) - {"get_hla_version", "get_time_factory", "leave"},
}
"""What follows from what a service needs."""


def services_that_raise(error: str) -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(sorted({*COMMON.get(error, ()), *TABLE.get(error, "").split()}))


def errors_of(service: str) -> tuple[str, ...]:
    """What to expect of a service of `SERVICES`, in alphabetical order."""
    return tuple(sorted(error for error in {*COMMON, *TABLE} if service in services_that_raise(error)))
