"""Refusals of time management (clause 8)."""

from __future__ import annotations

from collections.abc import Callable

from support.federation import Federation
from support.refusals import Refusal
from weft.model.handles import MessageRetractionHandle
from weft.model.time import HLAfloat64Interval, HLAfloat64Time, HLAinteger64Interval, HLAinteger64Time

ADVANCES = (
    "time_advance_request",
    "time_advance_request_available",
    "next_message_request",
    "next_message_request_available",
    "flush_queue_request",
)
FIVE, TEN = HLAfloat64Time(5.0), HLAfloat64Time(10.0)
ONE = HLAfloat64Interval(1.0)


def _advancing(f: Federation) -> None:
    """Federate 0 waits: federate 1 regulates and is behind."""
    f.rti[1].enable_time_regulation(ONE)
    f.rti[0].enable_time_constrained()
    f.rti[0].enable_time_regulation(ONE)
    f.rti[0].time_advance_request(FIVE)


def _constrained_pending(f: Federation) -> None:
    """Federate 0 is ahead of what federate 1 may still send."""
    f.rti[1].enable_time_regulation(ONE)
    f.rti[0].time_advance_request(TEN)
    f.rti[0].enable_time_constrained()


def _after(
    prepare: Callable[[Federation], None], service: str, *arguments: object
) -> Callable[[Federation], None]:
    def provoke(f: Federation) -> None:
        prepare(f)
        getattr(f.rti[0], service)(*arguments)

    return provoke


def _nothing(f: Federation) -> None:
    pass


def _regulating(f: Federation) -> None:
    f.rti[0].enable_time_regulation(ONE)


def _constrained(f: Federation) -> None:
    f.rti[0].enable_time_constrained()


def _asynchronous(f: Federation) -> None:
    f.rti[0].enable_asynchronous_delivery()


def _at_ten(f: Federation) -> None:
    f.rti[0].time_advance_request(TEN)


def _retract_too_late(f: Federation) -> None:
    _regulating(f)
    event = f.interaction("Event.Hit")
    f.rti[0].publish_interaction_class(event)
    f.rti[0].change_interaction_order_type(event, f.rti[0].get_order_type("TimeStamp"))
    returned = f.rti[0].send_interaction(event, {}, b"", FIVE)
    assert returned is not None
    assert returned.handle is not None
    f.rti[0].time_advance_request(TEN)
    f.rti[0].retract(returned.handle)


def _send_too_early(f: Federation) -> None:
    _regulating(f)
    event = f.interaction("Event.Hit")
    f.rti[0].publish_interaction_class(event)
    f.rti[0].send_interaction(event, {}, b"", HLAfloat64Time(0.5))


NOT_REGULATING = ("disable_time_regulation", ()), ("modify_lookahead", (ONE,)), ("query_lookahead", ())

TIME = [
    Refusal(
        "enable_time_regulation",
        "InvalidLookahead",
        _after(_nothing, "enable_time_regulation", HLAinteger64Interval(1)),
    ),
    Refusal(
        "enable_time_regulation", "InTimeAdvancingState", _after(_advancing, "enable_time_regulation", ONE)
    ),
    Refusal(
        "enable_time_regulation",
        "TimeRegulationAlreadyEnabled",
        _after(_regulating, "enable_time_regulation", ONE),
    ),
    *[
        Refusal(service, "TimeRegulationIsNotEnabled", _after(_nothing, service, *arguments))
        for service, arguments in NOT_REGULATING
    ],
    Refusal("enable_time_constrained", "InTimeAdvancingState", _after(_advancing, "enable_time_constrained")),
    Refusal(
        "enable_time_constrained",
        "RequestForTimeConstrainedPending",
        _after(_constrained_pending, "enable_time_constrained"),
    ),
    Refusal(
        "enable_time_constrained",
        "TimeConstrainedAlreadyEnabled",
        _after(_constrained, "enable_time_constrained"),
    ),
    Refusal(
        "disable_time_constrained",
        "TimeConstrainedIsNotEnabled",
        _after(_nothing, "disable_time_constrained"),
    ),
    *[Refusal(one, "LogicalTimeAlreadyPassed", _after(_at_ten, one, FIVE)) for one in ADVANCES],
    *[Refusal(one, "InvalidLogicalTime", _after(_nothing, one, HLAinteger64Time(5))) for one in ADVANCES],
    *[Refusal(one, "InTimeAdvancingState", _after(_advancing, one, TEN)) for one in ADVANCES],
    *[
        Refusal(one, "RequestForTimeConstrainedPending", _after(_constrained_pending, one, TEN))
        for one in ADVANCES
    ],
    Refusal(
        "enable_asynchronous_delivery",
        "AsynchronousDeliveryAlreadyEnabled",
        _after(_asynchronous, "enable_asynchronous_delivery"),
    ),
    Refusal(
        "disable_asynchronous_delivery",
        "AsynchronousDeliveryAlreadyDisabled",
        _after(_nothing, "disable_asynchronous_delivery"),
    ),
    Refusal(
        "modify_lookahead",
        "InvalidLookahead",
        _after(_regulating, "modify_lookahead", HLAinteger64Interval(1)),
    ),
    Refusal("modify_lookahead", "InTimeAdvancingState", _after(_advancing, "modify_lookahead", ONE)),
    Refusal("retract", "MessageCanNoLongerBeRetracted", _retract_too_late),
    Refusal(
        "retract",
        "InvalidMessageRetractionHandle",
        _after(_regulating, "retract", MessageRetractionHandle(b"no message")),
    ),
    Refusal(
        "retract", "TimeRegulationIsNotEnabled", _after(_nothing, "retract", MessageRetractionHandle(b"none"))
    ),
    Refusal("send_interaction", "InvalidLogicalTime", _send_too_early),
]

WAITS_ELSEWHERE = (
    "at one node a federate regulates at once; over nodes tests/kernel/time/test_time_nodes.py provokes it"
)
TIME_CANNOT_RAISE = {
    (service, "RequestForTimeRegulationPending"): WAITS_ELSEWHERE
    for service in ("enable_time_regulation", *ADVANCES)
}
