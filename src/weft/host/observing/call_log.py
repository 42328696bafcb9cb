"""What federates do, as entries of the log: who created, joined, resigned, saved.  For programs; people have `weft status`."""

from __future__ import annotations

from weft.host.log import Log
from weft.host.observing.call_watch import WatchedCall
from weft.model.log_text import INFO, WARNING, LogText

# What is logged, and in which words; requests to advance would be too many.
_TOLD = {
    "create_federation_execution": ("federation-created", "federation {federation!r} was created"),
    "destroy_federation_execution": ("federation-destroyed", "federation {federation!r} was destroyed"),
    "join_federation_execution": ("federate-joined", "federate {federate!r} joined {federation!r}"),
    "resign_federation_execution": (
        "federate-resigned",
        "federate {federate!r} resigned from {federation!r}",
    ),
    "register_federation_synchronization_point": (
        "synchronization-registered",
        "federate {federate!r} registered synchronization point {label!r}",
    ),
    "synchronization_point_achieved": (
        "synchronized",
        "federation {federation!r} is synchronized at {label!r}, as federate {federate!r} was told",
    ),
    "request_federation_save": ("federation-saved", "federation {federation!r} was saved as {label!r}"),
    "request_federation_restore": (
        "federation-restored",
        "federation {federation!r} was restored from {label!r}",
    ),
}


def log_call(log: Log, call: WatchedCall) -> None:
    if call.service not in _TOLD:
        return
    event, words = _TOLD[call.service]
    about = {"federation": call.federation, "federate": call.federate, "label": call.label}
    if call.error:
        log.detail(
            LogText(f"{call.service} failed: {call.error}", "refused", WARNING, error=call.refused, **about)
        )
        return
    log.detail(LogText(words.format(**about), event, INFO, seconds=f"{call.seconds:.3f}", **about))
