"""A federation with logical time, for tests: short ways to ask for it and to send with it."""

from __future__ import annotations

from typing import Any

from support.federation import Federation
from support.recording_ambassador import Call
from weft import OrderType
from weft.model.handles import MessageRetractionHandle

EVENT = "Event.Hit"
GRANT = "time_advance_grant"
FLUSHED = "flush_queue_grant"
HEARD = "receive_interaction"
REQUESTS = {
    "TAR": "time_advance_request",
    "TARA": "time_advance_request_available",
    "NMR": "next_message_request",
    "NMRA": "next_message_request_available",
    "FQR": "flush_queue_request",
}


class Timed(Federation):
    """Everybody publishes and subscribes to the same interaction, in time stamp order."""

    def __init__(self, n: int = 2, time: str = "HLAinteger64Time", **more: Any) -> None:
        super().__init__(n, time=time, **more)
        for i in sorted(self.present):
            self.take_part(i)
        self.quiet()

    def take_part(self, i: int) -> None:
        event = self.interaction(EVENT)
        self.rti[i].publish_interaction_class(event)
        self.rti[i].subscribe_interaction_class(event)
        self.rti[i].change_interaction_order_type(event, OrderType.TIMESTAMP)

    @property
    def factory(self) -> Any:
        return self._asked.get_time_factory()

    def time(self, value: Any) -> Any:
        return self.factory.make_time(value)

    def regulate(self, i: int, lookahead: Any = 1) -> None:
        self.rti[i].enable_time_regulation(self.factory.make_interval(lookahead))

    def constrain(self, i: int) -> None:
        self.rti[i].enable_time_constrained()

    def all_timed(self, lookahead: Any = 1) -> None:
        """Everybody regulates and is constrained."""
        for i in sorted(self.present):
            self.regulate(i, lookahead)
            self.constrain(i)
        self.quiet()

    def ask(self, i: int, kind: str, value: Any) -> None:
        getattr(self.rti[i], REQUESTS[kind])(self.time(value))

    def stamp(self, i: int, value: Any, tag: bytes = b"") -> MessageRetractionHandle | None:
        """Send at that time; the retraction handle."""
        returned = self.rti[i].send_interaction(self.interaction(EVENT), {}, tag, self.time(value))
        assert returned is not None
        return returned.handle

    def told(self, i: int) -> list[Any]:
        """What federate i heard of time since the last time: messages as (tag, time, received order), grants as numbers."""
        return [short(call) for call in self.take(i) if short(call) is not None]


def short(call: Call) -> Any:
    method, arguments = call
    if method == GRANT:
        return arguments[0].value
    if method == FLUSHED:
        return ("flushed", arguments[0].value, arguments[1].value)
    if method == HEARD and len(arguments) > 6:
        return (arguments[2], arguments[6].value, arguments[8].name)
    if method == HEARD:
        return arguments[2]
    if method in ("time_regulation_enabled", "time_constrained_enabled"):
        return (method.split("_")[1], arguments[0].value)
    if method == "request_retraction":
        return ("retract", arguments[0])
    return None
