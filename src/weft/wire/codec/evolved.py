"""What a client of the 2010 edition (HLA Evolved) is told in other words, because it does not know those of HLA 4.

Its client speaks the protocol all the same, and says in the settings it connects with that its federate is an older one.  A
callback it does not know it drops, or it cannot be used afterwards; of an exception it does not know the federate gets no more
than the text.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.model.handles import FederateHandle
from weft.model.records import Source
from weft.wire.codec.values import CompressedModule, ModuleUrl

# --- callbacks ------------------------------------------------------------------------------------------------

OTHERWISE = frozenset(
    ["discover_object_instance", "federate_resigned", "flush_queue_grant", "receive_directed_interaction"]
)
"""The callbacks that differ."""


def callback_of_2010(
    method: str, arguments: tuple[object, ...], conveys_producer: bool
) -> tuple[str, tuple[object, ...]] | None:
    """One of these callbacks as the older edition has it; None where it has no word for it.

    `conveys_producer`: is the switch Convey Producing Federate, of 2010 alone, on?
    """
    if method == "flush_queue_grant":
        return "time_advance_grant", arguments[:1]
    if method == "receive_directed_interaction":
        interaction_class, _, *others = arguments
        return "receive_interaction", (interaction_class, *others[:4], None, *others[4:])
    if method == "discover_object_instance":
        # A client without a producing federate invokes the shorter of the two callbacks, if it can.
        return method, arguments if conveys_producer else (*arguments[:3], FederateHandle(b""))
    return None


# --- exceptions -----------------------------------------------------------------------------------------------

# Where it has no word for the matter (authorisation), it is RTIinternalError, which every service may raise.
NAMES = {
    "CouldNotOpenFOM": "CouldNotOpenFDD",
    "ErrorReadingFOM": "ErrorReadingFDD",
    "InconsistentFOM": "InconsistentFDD",
    "InvalidFOM": "ErrorReadingFDD",
    "InvalidMIM": "ErrorReadingMIM",
    "InvalidCredentials": "ConnectionFailed",
    "Unauthorized": "RTIinternalError",
    "InvalidObjectInstanceHandle": "ObjectInstanceNotKnown",
    "InvalidTransportationTypeHandle": "InvalidTransportationType",
    "ReportServiceInvocationsAreSubscribed": "RTIinternalError",
}
# The Java client translates these two itself, and does not know them translated; it does not know InconsistentFOM.
JAVA_NAMES = NAMES | {
    "CouldNotOpenFOM": "CouldNotOpenFOM",
    "ErrorReadingFOM": "ErrorReadingFOM",
    "InvalidFOM": "ErrorReadingFOM",
}
# Bytes: of a larger file the Java client makes an archive, and the C++ client never does.
_COMPRESSED_FROM = 1024


def is_java(modules: Iterable[Source | CompressedModule | ModuleUrl]) -> bool | None:
    """Does the Java client send modules in this way, or the C++ client?  None: either might.

    Nothing else tells the two apart before something can go wrong with a module.  Java names a file without its folder, and an
    address with its scheme.
    """
    for module in modules:
        if isinstance(module, CompressedModule):
            return True
        if isinstance(module, ModuleUrl):
            if ":" not in module.url[2:]:  # the colon of a drive is none of a scheme
                return False
        elif len(module.data) > _COMPRESSED_FROM or "/" in module.name or "\\" in module.name:
            return False
    return None


def exception_name(name: str, java: bool | None) -> str:
    """If nobody knows which client it is, an address that could not be opened is more likely Java's."""
    if java or (java is None and name == "CouldNotOpenFOM"):
        return JAVA_NAMES.get(name, name)
    return NAMES.get(name, name)
