"""Time management (clause 8) of one federate, whatever it calls, against a page of arithmetic.

It is beside one that regulates with a lookahead and never moves: that one's promise is the federate's GALT for good.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, carry_out, step_of, told
from weft.kernel.services import time_management
from weft.kernel.state.step import Step
from weft.model.errors import (
    AsynchronousDeliveryAlreadyDisabled,
    AsynchronousDeliveryAlreadyEnabled,
    InTimeAdvancingState,
    InvalidLookahead,
    LogicalTimeAlreadyPassed,
    RequestForTimeConstrainedPending,
    RTIexception,
    TimeConstrainedAlreadyEnabled,
    TimeConstrainedIsNotEnabled,
    TimeRegulationAlreadyEnabled,
    TimeRegulationIsNotEnabled,
)
from weft.model.time import HLAfloat64Interval, HLAinteger64Interval, HLAinteger64Time

AVAILABLE = ("time_advance_request_available", "next_message_request_available")
ADVANCES = ("time_advance_request", "next_message_request", *AVAILABLE, "flush_queue_request")
NUMBERS = st.integers(0, 12)
WITH_TIME = st.tuples(st.sampled_from(ADVANCES), NUMBERS)
WITH_LOOKAHEAD = st.tuples(st.sampled_from(["enable_time_regulation", "modify_lookahead"]), NUMBERS)
ALONE = st.tuples(
    st.sampled_from(
        [
            "disable_time_regulation",
            "enable_time_constrained",
            "disable_time_constrained",
            "enable_asynchronous_delivery",
            "disable_asynchronous_delivery",
        ]
    ),
    st.none(),
)
CALLS = st.lists(st.one_of(WITH_TIME, WITH_LOOKAHEAD, ALONE), min_size=10, max_size=40)


@dataclass
class Federate:
    """What the standard says of it.  `galt`: what the other one promises."""

    galt: int
    time: int = 0
    requested: int | None = None  # it is advancing, to there
    available: bool = False
    regulating: bool = False
    constrained: bool = False
    waits: bool = False  # to be constrained
    asynchronous: bool = False
    lookahead: int = 0
    promised: int = 0

    def refusal(self, call: str, number: int | None) -> type[RTIexception] | None:
        if call in ("enable_asynchronous_delivery", "disable_asynchronous_delivery"):
            if self.asynchronous == (call == "enable_asynchronous_delivery"):
                already = AsynchronousDeliveryAlreadyEnabled, AsynchronousDeliveryAlreadyDisabled
                return already[not self.asynchronous]
            return None
        if call == "disable_time_regulation":
            return None if self.regulating else TimeRegulationIsNotEnabled
        if call == "disable_time_constrained":
            return None if self.constrained else TimeConstrainedIsNotEnabled
        if self.requested is not None:
            return InTimeAdvancingState
        if call == "enable_time_regulation":
            return TimeRegulationAlreadyEnabled if self.regulating else None
        if call == "modify_lookahead":
            return None if self.regulating else TimeRegulationIsNotEnabled
        if self.waits:
            return RequestForTimeConstrainedPending
        if call == "enable_time_constrained":
            return TimeConstrainedAlreadyEnabled if self.constrained else None
        assert number is not None
        return LogicalTimeAlreadyPassed if number < self.time else None

    def called(self, call: str, number: int | None) -> None:
        """It was not refused."""
        if call in ADVANCES:
            assert number is not None
            self.promised = max(self.promised, self.time + self.lookahead)
            self.requested, self.available = number, call in AVAILABLE
            if call == "flush_queue_request":
                self.requested = max(self.time, min(number, self.galt))
                self.available = True
        elif call == "enable_time_regulation":
            assert number is not None
            self.regulating, self.lookahead, self.promised = True, number, 0
        elif call == "modify_lookahead":
            assert number is not None
            self.promised = max(self.promised, self.time + self.lookahead)
            self.lookahead = number
        elif call == "disable_time_regulation":
            self.regulating = False
        elif call == "enable_time_constrained":
            self.waits = True
        elif call == "disable_time_constrained":
            self.constrained = False
        else:
            self.asynchronous = call == "enable_asynchronous_delivery"
        if self.waits and self.time <= self.galt:
            self.waits, self.constrained = False, True
        if self.requested is not None and self._may_be_granted(self.requested):
            self.time, self.requested = self.requested, None

    def _may_be_granted(self, time: int) -> bool:
        """Table of clauses 8.8 to 8.12: nothing comes any more below that time; or, without "available", up to it."""
        return not self.constrained or time < self.galt or (self.available and time == self.galt)


def call(step: Step, service: str, number: int | None) -> type[RTIexception] | None:
    function = getattr(time_management, service)
    try:
        if number is None:
            function(step)
        elif service in ADVANCES:
            function(step, HLAinteger64Time(number))
        else:
            function(step, HLAinteger64Interval(number))
    except RTIexception as error:
        assert not step.effects
        assert step.turn.orders is None, "a refused call has changed something"
        return type(error)
    carry_out(step)
    return None


@settings(max_examples=100, deadline=None)
@given(galt=st.integers(1, 9), calls=CALLS)
def test_a_federate_is_where_the_standard_says(galt: int, calls: list[tuple[str, int | None]]) -> None:
    """Clauses 8.2 to 8.21: what is refused, when it is granted, and what it is answered."""
    federation, (member, other) = bare(HERE, HERE)
    assert call(step_of(federation, other), "enable_time_regulation", galt) is None
    model = Federate(galt)
    for service, number in calls:
        step = step_of(federation, member)
        expected = model.refusal(service, number)
        was, began = model.requested, (model.regulating, model.constrained)
        assert call(step, service, number) is expected, (service, number)
        if expected is None:
            model.called(service, number)
        methods = [method for method, _ in told(step, member)]
        asked = was is not None or (expected is None and service in ADVANCES)
        grant = "flush_queue_grant" if service == "flush_queue_request" else "time_advance_grant"
        assert methods.count(grant) == (asked and model.requested is None)
        assert ("time_regulation_enabled" in methods) == (model.regulating and not began[0])
        assert ("time_constrained_enabled" in methods) == (model.constrained and not began[1])
        _check_answers(step_of(federation, member), model)


def _check_answers(step: Step, model: Federate) -> None:
    assert time_management.query_logical_time(step) == HLAinteger64Time(model.time)
    for found in (time_management.query_galt(step), time_management.query_lits(step)):
        assert (found.time_is_valid, found.time) == (True, HLAinteger64Time(model.galt))
    if model.regulating:
        actual = max(model.lookahead, model.promised - model.time)
        assert time_management.query_lookahead(step) == HLAinteger64Interval(actual)
    else:
        assert call(step, "query_lookahead", None) is TimeRegulationIsNotEnabled


def test_a_lookahead_of_the_other_kind_is_refused() -> None:
    """Clauses 8.2, 8.20: it is an interval of the federation's own kind of time, and zero or more."""
    federation, (member,) = bare(HERE)
    step = step_of(federation, member)
    for service in (time_management.enable_time_regulation, time_management.modify_lookahead):
        with pytest.raises(InvalidLookahead, match="HLAinteger64Interval"):
            service(step, HLAfloat64Interval(1.0))
    assert not step.effects
