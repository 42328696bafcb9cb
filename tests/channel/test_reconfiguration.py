"""Modules are replaced at run time, and no event is lost or repeated (S3-12)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.channel import (
    BROADCAST,
    FULL,
    NO_CORRELATION,
    NO_DISPATCHING,
    Configuration,
    Cooperative,
    Event,
    EventChannel,
    Schedule,
    SingleThreaded,
    Urgency,
    WaterMarks,
    all_of,
    any_of,
    deadline,
    interval,
    on,
)

A, B, C = 16, 17, 18
CONFIGURATIONS = (FULL, NO_DISPATCHING, NO_CORRELATION, BROADCAST)


def test_the_modules_of_each_configuration() -> None:
    """S3-12 [V]."""
    assert FULL.modules() == (
        "supplier proxies", "filtering", "correlation", "dispatching", "consumer proxies",
    )  # fmt: skip
    assert NO_DISPATCHING.modules()[1:-1] == ("filtering", "correlation")
    assert NO_CORRELATION.modules()[1:-1] == ("filtering", "dispatching")
    assert BROADCAST.modules()[1:-1] == ()


def test_work_that_waits_moves_over_in_order() -> None:
    """Also above the water marks of the dispatcher it moves to."""
    schedule = Schedule({f"p{number}": Urgency(number) for number in range(3)})
    channel = EventChannel("test", schedule=schedule)
    order: list[Any] = []

    def take(number: int) -> Any:
        return lambda events: order.append((number, events[0].payload))

    for number in (2, 0, 1):
        channel.consume(take(number), on(A), rt_info=f"p{number}", now=0.0)
    supplier = channel.supply((1, A))
    for payload in range(4):
        supplier.push(Event(A, 1, payload), now=0.0)
    channel.run_one()
    small = Cooperative(WaterMarks(1, 0, "discard newest"))
    channel.reconfigure(FULL, now=0.0, dispatcher=small)
    assert channel.pending() == 11
    channel.run_one()
    channel.reconfigure(NO_DISPATCHING, now=0.0)
    assert order == [(number, payload) for number in range(3) for payload in range(4)]
    assert channel.pending() == 0


def test_groups_keep_what_they_have_while_the_channel_correlates() -> None:
    channel = EventChannel("test", FULL)
    found: list[Any] = []
    channel.consume(
        lambda events: found.append([event.type for event in events]), all_of(on(A), on(B)), now=0.0
    )
    supplier = channel.supply((1, A), (1, B))
    supplier.push(Event(A, 1), now=0.0)
    channel.reconfigure(NO_DISPATCHING, now=0.0)
    supplier.push(Event(B, 1), now=0.0)
    assert found == [[A, B]]


def test_what_groups_wait_with_is_pushed_when_the_channel_stops_correlating() -> None:
    """In one push, in the order of arrival; and then each event comes alone."""
    channel = EventChannel("test", NO_DISPATCHING)
    found: list[Any] = []
    proxy = channel.consume(
        lambda events: found.append([event.type for event in events]), all_of(on(C), on(B), on(A)), now=0.0
    )
    supplier = channel.supply((1, A), (1, B), (1, C))
    supplier.push(Event(B, 1), now=0.0)
    supplier.push(Event(C, 1), now=0.0)
    assert [event.type for event in proxy.held()] == [B, C]
    channel.reconfigure(Configuration(correlation=False, dispatching=False), now=0.0)
    assert found == [[B, C]]
    assert proxy.held() == ()
    supplier.push(Event(B, 1), now=0.0)
    supplier.push(Event(A, 1), now=0.0)
    channel.reconfigure(NO_DISPATCHING, now=0.0)
    supplier.push(Event(B, 1), now=0.0)
    assert found == [[B, C], [B], [A]]


def test_timers_run_on() -> None:
    """An interval keeps its beat through every configuration; a deadline its moment."""
    channel = EventChannel("test", NO_DISPATCHING)
    found: list[Any] = []
    channel.consume(lambda events: found.extend(event.created for event in events), interval(1.0), now=0.25)
    channel.consume(lambda events: found.append("late"), any_of(all_of(on(A), on(B)), deadline(4.5)), now=0.0)
    for configuration in (BROADCAST, Configuration(correlation=False), NO_DISPATCHING, BROADCAST):
        due = channel.next_due()
        assert due is not None
        channel.reconfigure(configuration, now=due - 0.5)
        channel.expire(due)
        channel.run_pending()
    assert found == [1.25, 2.25, 3.25, 4.25]
    channel.expire(4.5)
    assert found[4:] == ["late"]


def test_during_a_push_modules_are_replaced_when_it_has_ended() -> None:
    """S3-12: the consumers of one push all see the same channel."""
    channel = EventChannel("test", NO_DISPATCHING)
    found: list[Any] = []

    def first(events: Any) -> None:
        found.append(("first", [event.type for event in events]))
        channel.reconfigure(NO_CORRELATION, now=0.0)
        assert channel.configuration == NO_DISPATCHING

    channel.consume(first, on(A), now=0.0)
    channel.consume(
        lambda events: found.append(("second", [event.type for event in events])),
        all_of(on(A), on(B)),
        now=0.0,
    )
    supplier = channel.supply((1, A), (1, B))
    supplier.push(Event(A, 1), now=0.0)
    assert channel.configuration == NO_CORRELATION
    supplier.push(Event(B, 1), now=0.0)
    channel.run_pending()
    assert found == [("first", [A]), ("second", [A]), ("second", [B])]


@pytest.mark.parametrize("successor", [SingleThreaded, Cooperative, None])
@pytest.mark.parametrize("how", ["generator", "more"])
def test_who_replaces_the_dispatcher_it_runs_on_is_finished_by_the_new_one(successor: Any, how: str) -> None:
    """A consumer in the middle of its steps, and one that was interrupted before."""
    from weft.channel import MORE

    schedule = Schedule({"low": Urgency(2), "high": Urgency(1)})
    channel = EventChannel("test", FULL, Cooperative(), schedule)
    noted: list[str] = []
    supplier = channel.supply((1, A), (1, B))
    begun: list[str] = []

    def change() -> None:
        if successor is None:
            channel.reconfigure(NO_DISPATCHING, now=0.0)
        else:
            channel.reconfigure(FULL, now=0.0, dispatcher=successor())

    def stepwise(name: str, between: Any) -> Any:
        def generator(events: Any) -> Any:
            noted.append(f"{name} begins")
            between()
            yield
            noted.append(f"{name} ends")

        def more(events: Any) -> Any:
            if name in begun:
                noted.append(f"{name} ends")
                return None
            begun.append(name)
            noted.append(f"{name} begins")
            between()
            return MORE

        return generator if how == "generator" else more

    channel.consume(
        stepwise("low", lambda: supplier.push(Event(B, 1), now=0.0)), on(A), rt_info="low", now=0.0
    )
    channel.consume(stepwise("high", change), on(B), rt_info="high", now=0.0)
    supplier.push(Event(A, 1), now=0.0)
    channel.run_pending()
    assert sorted(noted) == ["high begins", "high ends", "low begins", "low ends"]
    assert channel.pending() == 0


dispatchers = st.sampled_from((None, SingleThreaded, Cooperative))
moves = st.one_of(
    st.tuples(st.just("push"), st.sampled_from((A, B, C))),
    st.tuples(st.just("run"), st.just(0)),
    st.tuples(st.just("change"), st.tuples(st.sampled_from(CONFIGURATIONS), dispatchers)),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(moves, max_size=30))
def test_no_event_is_lost_or_repeated(done: list[tuple[str, Any]]) -> None:
    """S3-12: a plain subscription gets every event once and in order, a group each event at most once, and both are complete in
    the end."""
    channel = EventChannel("test", FULL)
    plain: list[int] = []
    grouped: list[int] = []
    channel.consume(
        lambda events: plain.extend(event.payload for event in events), on(A), on(B), on(C), now=0.0
    )
    both = channel.consume(
        lambda events: grouped.extend(event.payload for event in events), all_of(on(A), on(B)), now=0.0
    )
    supplier = channel.supply((1, 0))
    kinds: list[int] = []
    for word, what in done:
        if word == "push":
            supplier.push(Event(what, 1, len(kinds)), now=0.0)
            kinds.append(what)
        elif word == "run":
            channel.run_one()
        else:
            configuration, kind = what
            chosen = kind() if kind is not None and configuration.dispatching else None
            channel.reconfigure(configuration, now=0.0, dispatcher=chosen)
    channel.run_pending()
    assert plain == list(range(len(kinds)))
    assert len(set(grouped)) == len(grouped)
    held = {event.payload for event in both.held()}
    assert not held & set(grouped)
    channel.reconfigure(Configuration(correlation=False, dispatching=False), now=0.0)
    assert both.held() == ()
    assert held <= set(grouped)
    # What is missing was a second of its kind in a group that waited for the other.
    assert {kinds[at] for at in range(len(kinds))} - {C} <= {kinds[at] for at in grouped} | {C}
