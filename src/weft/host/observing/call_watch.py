"""From a federate's call to what it waits for: the span of calls that are not made for every message.

For most of them that is the answer.  Others are over when a callback comes: a request to advance with its grant, a save when the
federation is saved.  Whoever wants to know of them (logs in JSON, OpenTelemetry) is handed each when it is over.  A node
without a watch pays a comparison with None for each such call and no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from weft.host.log import Log
from weft.kernel import Effect, Node
from weft.kernel.state.effects import Callback
from weft.model.log_text import INFO, WARNING, LogText

_SAVED: Final = ("federation_saved", "federation_not_saved")
_RESTORED: Final = ("federation_restored", "federation_not_restored", "request_federation_restore_failed")
_REGISTERED: Final = (
    "synchronization_point_registration_succeeded",
    "synchronization_point_registration_failed",
)
WATCHED: Final[dict[str, tuple[str, ...]]] = {
    "create_federation_execution": (),
    "destroy_federation_execution": (),
    "join_federation_execution": (),
    "resign_federation_execution": (),
    "register_federation_synchronization_point": _REGISTERED,
    "synchronization_point_achieved": ("federation_synchronized",),
    "request_federation_save": _SAVED,
    "federate_save_complete": _SAVED,
    "request_federation_restore": _RESTORED,
    "federate_restore_complete": _RESTORED,
    "enable_time_regulation": ("time_regulation_enabled",),
    "enable_time_constrained": ("time_constrained_enabled",),
    "time_advance_request": ("time_advance_grant",),
    "time_advance_request_available": ("time_advance_grant",),
    "next_message_request": ("time_advance_grant",),
    "next_message_request_available": ("time_advance_grant",),
    "flush_queue_request": ("flush_queue_grant", "time_advance_grant"),
}
"""A service, and the callbacks of which the first ends it; none: its answer does."""
_ENDS: Final = frozenset(method for methods in WATCHED.values() for method in methods)
_FAILURES: Final = frozenset(method for method in _ENDS if "_not_" in method or method.endswith("_failed"))
_LABELLED: Final = frozenset(
    [
        "register_federation_synchronization_point",
        "synchronization_point_achieved",
        "request_federation_save",
        "request_federation_restore",
    ]
)


@dataclass(eq=False)
class WatchedCall:
    service: str
    began_ns: int  # since 1970
    federation: str = ""
    federate: str = ""
    label: str = ""
    requested: str = ""  # which logical time it asks for
    ended_ns: int = 0
    ended_by: str = ""  # the callback that ended it; "": the answer
    granted: str = ""
    error: str = ""
    refused: str = ""  # the name of the exception
    key: tuple[int, int] = (0, 0)  # session and number of the call

    @property
    def seconds(self) -> float:
        return (self.ended_ns - self.began_ns) / 1e9


@dataclass
class CallWatch:
    node: Node
    sinks: Iterable[Callable[[WatchedCall], None]]
    clock: Callable[[], int] = time.time_ns
    _unanswered: dict[tuple[int, int], WatchedCall] = field(default_factory=dict)
    _open: dict[int, list[WatchedCall]] = field(default_factory=dict)

    def called(self, session: int, sequence: int, service: str, arguments: tuple[object, ...]) -> None:
        if service not in WATCHED:
            return
        call = WatchedCall(service, self.clock(), *self._names(session))
        if service in ("create_federation_execution", "destroy_federation_execution"):
            call.federation = str(arguments[0])
        elif service == "join_federation_execution":
            call.federation, call.federate = str(arguments[0]), str(arguments[2] or "")
        elif service in _LABELLED and arguments:
            call.label = str(arguments[0])
        elif arguments and "request" in service:
            call.requested = _time(arguments[0])
        call.key = (session, sequence)
        self._unanswered[call.key] = call
        if WATCHED[service]:
            self._open.setdefault(session, []).append(call)

    def _names(self, session: int) -> tuple[str, str]:
        found = self.node.sessions.get(session)
        if found is None or found.member is None or found.federation is None:
            return "", ""
        return found.federation.name, found.member.name

    def replied(self, session: int, sequence: int) -> None:
        call = self._unanswered.pop((session, sequence), None)
        if call is not None and not WATCHED[call.service]:
            federation, federate = self._names(session)
            call.federation = call.federation or federation
            call.federate = call.federate or federate
            self._over(call)
            if call.service == "resign_federation_execution":
                self.lost(session, "the federate has resigned")

    def refused(self, session: int, sequence: int, error: Exception) -> None:
        call = self._unanswered.pop((session, sequence), None)
        if call is not None:
            waiting = self._open.get(session, [])
            if call in waiting:
                waiting.remove(call)
            if not waiting:
                self._open.pop(session, None)
            call.error, call.refused = str(error), type(error).__name__
            self._over(call)

    def heard(self, effects: Iterable[Effect]) -> None:
        """What the kernel has brought about; most of it is none of our business."""
        if not self._open:
            return
        for effect in effects:
            if isinstance(effect, Callback) and effect.method in _ENDS:
                self._called_back(effect.session, effect.method, effect.arguments)

    def _called_back(self, session: int, method: str, arguments: tuple[object, ...]) -> None:
        waiting = self._open.get(session, [])
        for call in list(waiting):
            if method not in WATCHED[call.service]:
                continue
            if call.service in _LABELLED and "synchron" in method and str(arguments[0]) != call.label:
                continue
            waiting.remove(call)
            call.ended_by = method
            if "grant" in method or method.startswith("time_"):
                call.granted = _time(arguments[0])
            if method in _FAILURES:
                call.error = ", ".join(str(one) for one in arguments) or method
            self._over(call)
        if not waiting:
            self._open.pop(session, None)

    def lost(self, session: int, why: str) -> None:
        """The federate is gone, or has resigned: what it waited for will not come."""
        for call in self._open.pop(session, []):
            call.error = why
            self._over(call)
        for key in [key for key in self._unanswered if key[0] == session]:
            del self._unanswered[key]

    def _over(self, call: WatchedCall) -> None:
        call.ended_ns = self.clock()
        self._unanswered.pop(call.key, None)  # a grant may come before the answer
        for sink in self.sinks:
            sink(call)


def _time(value: object) -> str:
    """A logical time as a person writes it."""
    return str(getattr(value, "value", value))


# --- as entries of the log: who created, joined, resigned, saved; for programs, people have `weft status` ---------------

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
