"""Logical time in `weft.join` (clause 8): representations, steps, next messages, retraction, pace, and who holds it up."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from federate.test_federate_wait import BOUND, side_by_side
from support.server_in_thread import serving
from weft import CallbackModel, EmbeddedNode, Federate
from weft.cli.data import object_model
from weft.errors import (
    CallNotAllowedFromWithinCallback,
    FederateNotExecutionMember,
    InvalidLogicalTime,
    InvalidLookahead,
    InvalidMessageRetractionHandle,
    SettingsError,
)
from weft.federate.clock import rounded
from weft.model.records import Blocking

RANGE = object_model("range.xml")


@contextmanager
def timed(*names: str, **options: Any) -> Iterator[list[Federate]]:
    """Federates of one program that regulate and are constrained."""
    if "rti" not in options:
        options.setdefault("host", EmbeddedNode())
    options.setdefault("time", 0.1)
    with ExitStack() as stack:
        yield [stack.enter_context(weft.join("Range", name, fom=RANGE, **options)) for name in names]


@pytest.fixture(params=["embedded", "immediate", "server"])
def options(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "server":
        with serving() as server:
            yield {"rti": server.address()}
    elif request.param == "immediate":
        yield {"callbacks": CallbackModel.IMMEDIATE}
    else:
        yield {}


def test_messages_of_a_step_have_come_when_it_is_there(options: dict[str, Any]) -> None:
    """8.8, 8.14: each in a loop of its own; what is sent for the next step is heard in it, none is late, none comes twice."""
    heard: dict[str, list[tuple[float, float]]] = {"one": [], "two": []}

    def take_part(me: Federate) -> None:
        me.on_interaction("Fire")(lambda shot: heard[me.name].append((shot.time, me.now)))
        me.synchronize("all listen", BOUND, federates=2)
        for t in me.steps(0.1, until=2):
            me.send("Fire", Target=me.name, Round=1, time=t + 0.1)

    with timed("one", "two", **options) as (one, two):
        side_by_side(lambda: take_part(one), lambda: take_part(two))
        assert one.now == two.now == 2.0
    for said in heard.values():
        # A message of t is handled on the way to t, when the last grant was that before; each hears the other.
        assert said == [(n / 10, (n - 1) / 10) for n in range(2, 21)]


def test_several_of_one_program_go_together() -> None:
    """`weft.steps`: all ask before any waits, so that one thread takes them along."""
    with timed("one", "two", "three", time=1) as federates:
        assert list(weft.steps(federates, 2, until=7)) == [2, 4, 6]
        assert [one.now for one in federates] == [6, 6, 6]
        assert [one.earliest for one in federates] == [7, 7, 7]


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 10**4), st.integers(0, 6), st.integers(1, 10**5))
def test_steps_are_where_one_would_write_them(start: int, step: int, digits: int, count: int) -> None:
    """Whatever the step: the n-th time is the double nearest to start + n·step, so that steps of all federates meet."""
    scale = 10**digits
    time = rounded(start / scale + count * (step / scale))
    assert time == float(Fraction(start + count * step, scale))


@settings(max_examples=100, derandomize=True, database=None, deadline=None)
@given(st.integers(1, 10**4), st.integers(0, 5), st.integers(0, 10**6))
def test_a_message_for_the_next_step_is_in_it(step: int, digits: int, count: int) -> None:
    """`time=t + step` is the time of the next step, and is not refused: the lookahead that the RTI knows is a little less."""
    size = step / 10**digits
    now, after = rounded(count * size), rounded((count + 1) * size)
    assert rounded(now + size) == after
    assert after >= now + size * (1 - 1e-6)


@pytest.mark.parametrize("lookahead", [1, 1.0])
def test_a_lookahead_may_be_written_as_a_whole_number(lookahead: float) -> None:
    """Where the federation counts in fractions, what is sent for the earliest time is not refused for a rounding either."""
    with timed("one", time="float64", lookahead=lookahead) as (one,):
        for t in one.steps(0.01, until=2):
            one.send("Fire", Target="x", Round=1, time=t + lookahead)
            one.send("Fire", Target="x", Round=1, time=one.earliest)


def test_next_message_stops_where_it_is() -> None:
    """8.10: at the time of the next message, or at the bound."""
    with timed("one", "two", time=1) as (one, two):
        times: list[int] = []
        two.on_interaction("Fire")(lambda shot: times.append(shot.time))
        one.send("Fire", Target="x", Round=1, time=5)
        one.send("Fire", Target="x", Round=2, time=7)
        one.request(20)
        assert (two.next_message(10), times) == (5, [5])
        assert (two.next_message(10), times) == (7, [5, 7])
        assert two.next_message(10) == 10


def test_flush_takes_all_there_is() -> None:
    """8.12: messages of later times come at once."""
    with timed("one", "two", time=1) as (one, two):
        times: list[int] = []
        two.on_interaction("Fire")(lambda shot: times.append(shot.time))
        for time in (3, 9):
            one.send("Fire", Target="x", Round=1, time=time)
        assert two.flush(100) <= 3
        assert times == [3, 9]


def test_a_message_is_taken_back() -> None:
    """8.22: what `send`, `update` and `delete` return with a time; nothing else can be taken back."""
    with timed("one", "two", time=1) as (one, two):
        heard: list[object] = []
        two.on_interaction("Fire")(heard.append)
        two.on_update("Tank")(lambda tank, update: heard.append(dict(update)))
        two.on_removal("Tank")(heard.append)
        tank = one.register("Tank")
        sent = [
            one.send("Fire", Target="x", Round=1, time=5),
            tank.update(State="Destroyed", time=5),
            tank.delete(time=6),
        ]
        for message in sent:
            one.retract(message)
        with pytest.raises(InvalidMessageRetractionHandle, match="logical time"):
            one.retract(one.send("Hit", Target="x", Round=1, Result="Damaged"))
        one.request(20)
        two.advance(10)
        assert heard == []
        assert tank.name in two.objects("Tank")


def test_plain_numbers_are_times_for_the_ambassador() -> None:
    """Wherever the federation's kind of time is known; a fraction is none where it counts in whole numbers."""
    with timed("one", time=1) as (whole,):
        whole.rti.time_advance_request(3)
        while whole.poll():
            pass
        assert whole.now == 3
        assert whole.rti.query_logical_time() + 2 == weft.HLAinteger64Time(5)
        for wrong in (3.5, 4.0, True, "4", -1, 2**63):
            with pytest.raises(InvalidLogicalTime):
                whole.rti.time_advance_request(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidLookahead):
            whole.rti.modify_lookahead(-1)
        whole.rti.modify_lookahead(2)
        assert whole.rti.query_lookahead() == weft.HLAinteger64Interval(2)
    with timed("one", time=0.5) as (fraction,):
        fraction.rti.time_advance_request(2)
        while fraction.poll():
            pass
        assert fraction.rti.query_logical_time() == weft.HLAfloat64Time(2.0)
        for bad in (-0.5, math.nan, math.inf):
            with pytest.raises(InvalidLogicalTime):
                fraction.rti.time_advance_request(bad)
    assert weft.HLAfloat64Time(1.0) + 0.5 == weft.HLAfloat64Time(1.5)
    assert weft.HLAinteger64Time(5) - 2 == weft.HLAinteger64Time(3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"time": "float32"}, "float64"),
        ({"time": 0.1, "lookahead": 0.2}, "too much"),
        ({"time": "float64", "regulating": True}, "lookahead="),
    ],
)
def test_what_is_asked_for_wrongly_is_told(given: dict[str, Any], said: str) -> None:
    """Before anything is connected."""
    with pytest.raises(SettingsError, match=said):
        weft.join("Range", "one", fom=RANGE, **given)


def test_a_federation_counts_in_one_way() -> None:
    """Who comes with another representation is told which it is, and is not left behind half joined."""
    node = EmbeddedNode()
    with timed("one", host=node, time=1):
        with pytest.raises(SettingsError, match="HLAinteger64Time"), timed("two", host=node, time=0.5):
            pass
        with timed("two", host=node, time=2) as (two,):
            assert two.now == 0


@pytest.mark.parametrize(
    ("chosen", "regulates", "is_constrained"),
    [
        ({"time": "float64"}, False, False),
        ({"time": "float64", "lookahead": 1.0}, True, True),
        ({"time": "float64", "lookahead": 1.0, "constrained": False}, True, False),
        ({"time": "float64", "lookahead": 1.0, "regulating": False}, False, True),
        ({"time": 1.0, "regulating": False}, False, True),
        ({"time": "float64", "constrained": True}, False, True),
        ({}, False, False),
    ],
)
def test_who_regulates_and_is_constrained(
    chosen: dict[str, Any], regulates: bool, is_constrained: bool
) -> None:
    """8.2, 8.5: as said, by the federation's own view of it."""
    with weft.join("Range", "one", fom=RANGE, host=EmbeddedNode(), **chosen) as one:
        found = one.rti.query_survey(["federates"])["federations"]["Range"]["federates"]["one"]
        assert (found["regulating"], found["constrained"]) == (regulates, is_constrained)


def test_a_late_joiner_begins_where_the_others_are() -> None:
    """8.3: its first time is that of its regulation, and its steps go on from there."""
    node = EmbeddedNode()
    with timed("one", host=node, time=1) as (one,):
        one.advance(10)
        with timed("two", host=node, time=1) as (two,):
            assert two.now >= 10
            first = two.now
            assert list(weft.steps([one, two], 5, until=first + 10)) == [first + 5, first + 10]


def test_who_blocks_is_said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait that takes long names whom it waits for, in the log or to `on_blocked`, and goes on."""
    monkeypatch.setattr("weft.federate.clock._PATIENCE", 0.01)
    with timed("slow", "fast") as (slow, fast):
        told: list[Blocking] = []
        fast.request(1.0)
        with caplog.at_level(logging.WARNING, "weft"):
            assert fast.run_until(lambda: "slow" in caplog.text, BOUND)
        fast.on_blocked(told.append)
        assert fast.run_until(lambda: told, BOUND)
        assert told[0].blocked_by[0].federate == "slow"
        slow.advance(1.0)
        assert fast.wait() == 1.0


def test_who_is_resigned_does_not_wait_for_ever(options: dict[str, Any]) -> None:
    """4.13: the wait ends, with the reason."""
    with timed("slow", "fast", **options) as (slow, fast):
        other: list[Callable[[], None]] = []
        parameters = {"HLAfederate": fast.rti.get_federate_handle("fast").encode()}
        fast.request(1.0)
        other.append(lambda: _resign_by_the_mom(slow, parameters["HLAfederate"]))
        other[0]()
        with pytest.raises(FederateNotExecutionMember):
            fast.wait()


def _resign_by_the_mom(federate: Federate, handle: bytes) -> None:
    rti = federate.rti
    name = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAservice.HLAresignFederationExecution"
    resign = rti.get_interaction_class_handle(name)
    rti.publish_interaction_class(resign)
    values = {
        rti.get_parameter_handle(resign, "HLAfederate"): handle,
        rti.get_parameter_handle(resign, "HLAresignAction"): (3).to_bytes(4, "big"),
    }
    rti.send_interaction(resign, values, b"")


def test_nobody_waits_within_a_callback() -> None:
    """10.57: it would wait for itself; and nothing has been asked for then."""
    with timed("one", "two") as (one, two):
        errors: list[BaseException] = []

        @two.on_interaction("Fire")
        def fired(shot: weft.Interaction) -> None:
            with pytest.raises(CallNotAllowedFromWithinCallback) as raised:
                two.advance(1.0)
            errors.append(raised.value)

        one.send("Fire", Target="x", Round=1)
        one.request(1.0)
        assert two.advance(1.0) == 1.0
        assert errors


def test_a_save_at_a_time_and_back() -> None:
    """4.18, 4.24: the time is as it was, and steps go on from it."""
    with timed("one", time=1) as (one,):
        one.advance(3)
        assert one.save("three", BOUND)
        one.advance(8)
        assert one.restore("three", BOUND)
        assert one.now == 3
        assert list(one.steps(1, until=5)) == [4, 5]


@settings(
    max_examples=15, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(st.lists(st.floats(0.001, 0.02), min_size=1, max_size=5), st.sampled_from([5.0, 20.0]))
def test_pace_does_not_drift(work: list[float], pace: float) -> None:
    """The n-th step is due n steps after the first, whatever the others took; on a clock that is a number."""
    clock = [0.0]
    with timed("one") as (one,):
        due: list[float] = []

        def run(seconds: float) -> None:
            clock[0] += seconds

        connection = one.rti.connection
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(connection), "now", lambda self: clock[0])
            patch.setattr(one, "run", run)
            for n, t in enumerate(one.steps(0.1, until=len(work) / 10, pace=pace), start=1):
                due.append(clock[0])
                assert t == rounded(n * 0.1)
                clock[0] += work[n - 1]
        ready, begun = 0.0, []
        for n, took in enumerate(work, start=1):
            begun.append(max(ready, n * 0.1 / pace))
            ready = begun[-1] + took
        assert due == pytest.approx(begun)
