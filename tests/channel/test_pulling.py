"""The pull model: consumers that fetch events, suppliers that are asked (S3-2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.contract import Observer
from weft.channel import (
    EARLIEST_DEADLINE_FIRST,
    FULL,
    NO_DISPATCHING,
    DispatchRecord,
    Event,
    EventChannel,
    RtInfo,
    Schedule,
    SingleThreaded,
    Urgency,
    all_of,
    interval,
    on,
    plan,
)
from weft.model.errors import ChannelError

A, B = 16, 17
TABLES: tuple[Any, ...] = (
    Schedule({"x": Urgency(0), "y": Urgency(1)}),
    Schedule({"x": Urgency(3, 1), "y": Urgency(3, 0)}),
    plan([RtInfo("x", period=9.0), RtInfo("y", period=4.0)], EARLIEST_DEADLINE_FIRST).table(),
)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.sampled_from((A, B))),
        st.tuples(st.just("pull"), st.just(0)),
        st.tuples(st.just("switch"), st.integers(0, len(TABLES) - 1)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(moves, st.integers(1, 6), st.sampled_from((FULL, NO_DISPATCHING)))
def test_each_event_is_pulled_once_the_most_urgent_first_or_was_the_oldest_of_too_many(
    done: list[tuple[str, int]], capacity: int, configuration: Any
) -> None:
    """S3-2, S3-23: against a list; also when the policy is exchanged between push and pull."""
    observer = Observer()
    channel = EventChannel("test", configuration, schedule=TABLES[0], observer=observer)
    puller = channel.pulled(on(A, rt_info="x"), on(B, rt_info="y"), name="puller", capacity=capacity, now=0.0)
    supplier = channel.supply((1, 0))
    kept: list[tuple[str, int]] = []
    dropped: list[tuple[str, int]] = []
    table, pushed = TABLES[0], 0
    for word, what in done:
        if word == "push":
            supplier.push(Event(what, 1, pushed), now=float(pushed))
            if len(kept) == capacity:
                oldest = min(kept, key=lambda one: one[1])
                kept.remove(oldest)
                dropped.append(("puller", oldest[1]))
            kept.append(("x" if what == A else "y", pushed))
            pushed += 1
        elif word == "switch":
            table = TABLES[what]
            channel.reschedule(table)
        else:
            got = puller.try_pull(now=float(pushed))
            if not kept:
                assert got is None
                continue
            places = {
                (urgency.preemption, urgency.key(float(number)), urgency.sub, number): (name, number)
                for name, number in kept
                for urgency in [table.urgency(name)]
            }
            first = places[min(places)]
            kept.remove(first)
            assert got is not None
            assert [event.payload for event in got] == [first[1]]
        assert puller.pending() == len(kept)
    assert observer.dropped == dropped


def test_pull_consumers_have_filters_groups_and_timeouts_like_others() -> None:
    """S3-2: beside one that is pushed."""
    channel = EventChannel("test", NO_DISPATCHING)
    pushed: list[Any] = []
    puller = channel.pulled(all_of(on(A), on(B)), interval(10.0), now=0.0)
    channel.consume(lambda events: pushed.extend(event.payload for event in events), on(A), now=0.0)
    supplier = channel.supply((1, A), (1, B))
    supplier.push(Event(A, 1, "a"), now=1.0)
    assert puller.try_pull(1.0) is None
    supplier.push(Event(B, 1, "b"), now=2.0)
    got = puller.try_pull(2.0)
    assert got is not None
    assert [event.payload for event in got] == ["a", "b"]
    timeout = puller.try_pull(10.0)
    assert timeout is not None
    assert timeout[0].created == 10.0
    assert pushed == ["a"]
    puller.disconnect_pull_supplier()
    with pytest.raises(ChannelError, match="consumer 1 is not connected to channel test"):
        puller.try_pull(11.0)


def test_who_pulls_too_late_has_missed_its_deadline() -> None:
    """S3-11: the record and the observer are told when it is pulled."""
    record = DispatchRecord()
    observer = Observer()
    channel = EventChannel(
        "test",
        FULL,
        SingleThreaded(clock=lambda: 0.0),
        plan([RtInfo("x", period=1.0)]).table(),
        observer,
        record=record,
    )
    puller = channel.pulled(on(A), name="puller", rt_info="x", now=0.0)
    supplier = channel.supply((1, A))
    for now in (0.0, 5.0):
        supplier.push(Event(A, 1, now), now=now)
    for now in (0.5, 6.5):
        assert puller.try_pull(now) is not None
    assert [(name, payload, late) for name, payload, late in observer.late] == [("puller", 5.0, 0.5)]
    assert [one.kind for one in record.of("dispatch", "miss")] == ["dispatch", "dispatch", "miss"]


def test_a_supplier_is_asked_at_its_period_and_has_as_many_as_it_likes() -> None:
    """S3-2: as an operation of the schedule; what it gives goes to those that are pushed and those that pull."""
    channel = EventChannel("test", FULL, schedule=plan([RtInfo("poll", 0.001, period=1.0)]).table())
    stock = ["a", "b", "c"]
    asked: list[float] = []

    class Sensor:
        def pull(self) -> Event | None:
            asked.append(0.0)
            return Event(A, 1, stock.pop(0)) if stock else None

    got: list[Any] = []
    channel.consume(lambda events: got.extend(event.payload for event in events), on(A), now=0.0)
    puller = channel.pulled(on(A), now=0.0)
    proxy = channel.pull_from(Sensor(), (1, A), every=1.0, name="sensor", rt_info="poll", now=0.0)
    channel.run_pending()
    assert not asked
    channel.expire(1.0)
    channel.run_pending()
    assert got == ["a", "b", "c"]
    assert [puller.try_pull(1.0) is not None for _ in range(4)] == [True, True, True, False]
    stock.append("d")
    channel.expire(2.0)
    channel.run_pending()
    assert got[3:] == ["d"]
    proxy.disconnect_pull_consumer()
    stock.append("e")
    channel.expire(3.0)
    channel.run_pending()
    assert got[4:] == []


def test_without_a_period_it_is_asked_when_a_consumer_finds_nothing() -> None:
    """S3-2: pulled through the channel, as the COS event service has it."""
    channel = EventChannel("test", FULL)
    stock = [1, 2]
    proxy = channel.pull_from(lambda: Event(A, 1, stock.pop(0)) if stock else None, (1, A), now=0.0)
    puller = channel.pulled(on(A), now=0.0)
    found = [puller.try_pull(0.0) for _ in range(3)]
    assert [None if one is None else one[0].payload for one in found] == [1, 2, None]
    stock.append(3)
    assert proxy.pull(0.0) == 1
    assert puller.pending() == 1
    proxy.disconnect_pull_consumer()
    with pytest.raises(ChannelError, match="is not connected"):
        proxy.pull(0.0)


def test_a_supplier_that_raises_hurts_no_consumer() -> None:
    """S3-2: asked by the timer or by a consumer, the observer hears of it."""

    def broken() -> Event | None:
        raise OSError("no signal")

    class Told(Observer):
        def consumer_failed(self, consumer: str, events: Any, error: Exception) -> None:
            self.failed.append((consumer, None, repr(error)))

    told = Told()
    channel = EventChannel("test", NO_DISPATCHING, observer=told)
    channel.pull_from(broken, (1, A), name="on demand", now=0.0)
    channel.pull_from(broken, (1, A), every=1.0, name="timed", now=0.0)
    channel.pull_from(lambda: 7, (1, A), name="odd", now=0.0)  # type: ignore[arg-type,return-value]
    puller = channel.pulled(on(A), now=0.0)
    assert puller.try_pull(0.0) is None
    channel.expire(1.0)
    assert told.failed[0] == ("on demand", None, "OSError('no signal')")
    assert "odd was pulled and gave 7" in told.failed[1][2]
    assert told.failed[2][0] == "pull of timed"


def test_by_the_words_of_the_event_service() -> None:
    """S3-2: admins make proxies, and proxies are connected."""
    from weft.channel import depends, publishes

    channel = EventChannel("test")
    pull_supplier = channel.for_consumers().obtain_pull_supplier()
    pull_supplier.connect_pull_consumer(depends(on(A)), 0.0)
    pull_consumer = channel.for_suppliers().obtain_pull_consumer()
    stock = ["x"]
    pull_consumer.connect_pull_supplier(
        lambda: Event(A, 1, stock.pop()) if stock else None, publishes((1, A)), 0.0
    )
    got = pull_supplier.try_pull(0.0)
    assert got is not None
    assert got[0].payload == "x"


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda channel: channel.pulled(on(A), capacity=0, now=0.0), "can keep 0 pushes; at least 1"),
        (lambda channel: channel.pull_from(7, (1, A), now=0.0), "is no pull supplier"),
        (lambda channel: channel.pull_from(print, now=0.0), "publishes nothing"),
        (lambda channel: channel.pull_from(print, (1, A), every=0.0, now=0.0), "longer than 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Any, words: str) -> None:
    channel = EventChannel("test")
    with pytest.raises(ChannelError, match=words):
        wrong(channel)
    assert channel.consumers() == []
    assert channel.suppliers() == []
