"""The contract of dispatchers (S3-8, S3-9), and what only some of them do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.contract import BENCHES, LEVELS, Bench, Observer, Scene
from weft.channel import (
    DISCARD_NEWEST,
    DISCARD_OLDEST,
    FULL,
    MORE,
    NO_DISPATCHING,
    Cooperative,
    Event,
    EventChannel,
    Immediate,
    Schedule,
    SingleThreaded,
    Urgency,
    WaterMarks,
    on,
)
from weft.model.errors import ChannelError

A, B = 16, 17


@pytest.fixture(params=BENCHES, ids=lambda bench: bench.name)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    scene = Scene(request.param)
    yield scene
    scene.close()


# The contract


def test_all_is_carried_out_once_and_equals_stay_in_order(scene: Scene) -> None:
    scene.consumer("one", "p1.0")
    scene.consumer("other", "p1.0")
    scene.begin()
    for number in range(50):
        scene.push(number)
    scene.finish()
    for name in ("one", "other"):
        assert [payload for who, payload in scene.order if who == name] == list(range(50))
    assert scene.channel.pending() == 0


def test_a_consumer_that_raises_hurts_nobody_else(scene: Scene) -> None:
    """S3-21: it is reported with who and what, counted, and served again."""

    def fail(events: Any) -> None:
        raise ValueError(f"cannot take {events[0].payload}")

    bad = scene.consumer("bad", "p0.0", react=fail)
    scene.consumer("good", "p1.0")
    scene.push(1)
    scene.push(2)
    scene.finish()
    assert [payload for who, payload in scene.order if who == "good"] == [1, 2]
    assert scene.observer.failed == [
        ("bad", 1, "ValueError('cannot take 1')"),
        ("bad", 2, "ValueError('cannot take 2')"),
    ]
    assert bad.failures == 2
    assert isinstance(bad.last_error, ValueError)


def test_a_generator_that_raises_in_the_middle_is_reported(scene: Scene) -> None:
    def fail(events: Any) -> Any:
        yield
        raise StopAsyncIteration

    scene.consumer("bad", "p0.0", react=fail)
    scene.push(1)
    scene.finish()
    assert [who for who, _, _ in scene.observer.failed] == ["bad"]


def test_stop_iteration_is_an_error_too(scene: Scene) -> None:
    scene.consumer("bad", "p0.0", react=lambda events: next(iter([])))
    scene.push(1)
    scene.finish()
    assert len(scene.observer.failed) == 1


def test_steps_are_carried_out_to_the_end(scene: Scene) -> None:
    """MORE and generators work with every dispatcher."""
    left = [3]

    def more(events: Any) -> Any:
        left[0] -= 1
        return MORE if left[0] else "any other answer means done"

    def generator(events: Any) -> Any:
        for _ in range(3):
            scene.note("step", None)
            yield

    scene.consumer("more", "p0.0", react=more)
    scene.consumer("generator", "p1.0", react=generator)
    scene.push()
    scene.finish()
    assert [who for who, _ in scene.order if who == "more"] == ["more"] * 3
    assert [who for who, _ in scene.order if who != "more"] == ["generator", "step", "step", "step"]


def test_a_consumer_may_push(scene: Scene) -> None:
    """What it pushes is carried out too, though not before it has finished where work waits."""
    scene.consumer("first", "p3.0", react=lambda events: scene.push("again", B))
    scene.consumer("second", "p0.0", kind=B)
    scene.push("once")
    scene.finish()
    assert scene.order == [("first", "once"), ("second", "again")]


def test_work_of_a_consumer_that_has_gone_is_dropped(scene: Scene) -> None:
    gone = scene.consumer("gone", "p1.0")
    scene.consumer("stays", "p1.0")
    if scene.bench.queues:
        scene.push("early")
        with scene.inside():
            gone.disconnect_push_supplier()
        scene.finish()
        assert scene.order == [("stays", "early")]
    with scene.inside():
        gone.disconnect_push_supplier()
    scene.push("late")
    scene.finish()
    assert ("gone", "late") not in scene.order


def test_suspension_is_at_the_suppliers_side(scene: Scene) -> None:
    """S3-7: what waits already is still carried out."""
    one = scene.consumer("one", "p1.0")
    scene.push("before")
    with scene.inside():
        one.suspend()
    scene.push("during")
    with scene.inside():
        one.resume(now=0.0)
    scene.push("after")
    scene.finish()
    assert scene.order == [("one", "before"), ("one", "after")]


urgencies = st.sampled_from(sorted(LEVELS))


@pytest.mark.parametrize("bench", [bench for bench in BENCHES if bench.ordered], ids=lambda bench: bench.name)
@settings(max_examples=60, deadline=None)
@given(consumers=st.lists(urgencies, min_size=1, max_size=6), pushes=st.integers(1, 4))
def test_order_is_by_priority_then_sub_priority_then_arrival(
    bench: Bench, consumers: list[str], pushes: int
) -> None:
    """S3-8: against sorting."""
    with closing(Scene(bench)) as scene:
        for number, urgency in enumerate(consumers):
            scene.consumer(f"{number}", urgency)
        for number in range(pushes):
            scene.push(number)
        scene.finish()
        order = scene.order
    arrival = [(f"{who}", number) for number in range(pushes) for who in range(len(consumers))]
    ranks = {f"{who}": (LEVELS[name].preemption, LEVELS[name].sub) for who, name in enumerate(consumers)}
    assert order == sorted(arrival, key=lambda one: ranks[one[0]])


@pytest.mark.parametrize("bench", [bench for bench in BENCHES if bench.ranked], ids=lambda bench: bench.name)
def test_e1_before_e2_by_sub_priority(bench: Bench) -> None:
    """S3-8 [V]: of the same preemption priority, E1 always goes before E2, whichever came first."""
    with closing(Scene(bench)) as scene:
        scene.consumer("E2", "p1.1", kind=B)
        scene.consumer("E1", "p1.0", kind=A)
        for kind in (B, A, B, A):
            scene.push(kind=kind)
        scene.finish()
        assert [who for who, _ in scene.order] == ["E1", "E1", "E2", "E2"]


# No dispatching


def test_without_dispatching_a_push_runs_in_the_suppliers_call() -> None:
    """S3-9 [V] EFD: no regard to priority."""
    channel = EventChannel("test", NO_DISPATCHING, schedule=Schedule(LEVELS))
    order: list[str] = []
    channel.consume(lambda events: order.append("low"), on(A), rt_info="p3.0", now=0.0)
    channel.consume(lambda events: order.append("high"), on(A), rt_info="p0.0", now=0.0)
    channel.supply((1, A)).push(Event(A, 1), now=0.0)
    assert order == ["low", "high"]
    assert not channel.must_yield()
    assert not channel.run_one()


# Run to completion, and in steps


def long_consumer(scene: Scene, steps: int, ask: bool = True) -> list[Any]:
    """Of low priority; in its second step something urgent and something of its own priority arrive."""
    noted: list[Any] = []

    def react(events: Any) -> Any:
        for step in range(steps):
            noted.append(f"step {step}")
            if step == 1:
                scene.push("u", kind=B)
            if not ask or scene.channel.must_yield():
                noted.append("yields")
                yield

    scene.consumer("long", "p2.1", react=react)
    scene.consumer("urgent", "p1.0", kind=B, react=lambda events: noted.append("urgent"))
    scene.consumer("equal", "p2.0", kind=B, react=lambda events: noted.append("equal"))
    return noted


def bench_of(name: str) -> Bench:
    return next(bench for bench in BENCHES if bench.name == name)


def test_single_threaded_runs_to_completion() -> None:
    """S3-9 [V]: the urgent one waits for the end, though it has arrived in the middle."""
    scene = Scene(bench_of("single"))
    noted = long_consumer(scene, 3, ask=False)
    scene.push()
    scene.finish()
    assert noted == ["step 0", "yields", "step 1", "yields", "step 2", "yields", "urgent", "equal"]


@pytest.mark.parametrize("ask", [True, False])
def test_cooperative_lets_the_urgent_come_between(ask: bool) -> None:
    """S3-9 [V] RTU: deferred preemption.  What is equal waits until the interrupted has finished, whatever its sub-priority."""
    scene = Scene(bench_of("cooperative"))
    noted = long_consumer(scene, 3, ask)
    scene.push()
    assert scene.channel.run_one()
    assert noted[-2:] == ["step 1", "yields"]
    scene.finish()
    without = [word for word in noted if word != "yields"]
    assert without == ["step 0", "step 1", "urgent", "step 2", "equal"]
    assert noted.count("yields") == (1 if ask else 3)


def test_more_resumes_with_the_same_events() -> None:
    """A consumer that keeps its own place."""
    scene = Scene(bench_of("cooperative"))
    seen: list[Any] = []

    def react(events: Any) -> Any:
        seen.append(events)
        if len(seen) == 1:
            scene.push("u", kind=B)
            assert scene.channel.must_yield()
            return MORE
        assert not scene.channel.must_yield()
        return None

    scene.consumer("long", "p2.0", react=react)
    scene.consumer("urgent", "p0.0", kind=B)
    scene.push("x")
    scene.finish()
    assert scene.order == [("long", "x"), ("urgent", "u"), ("long", "x")]
    assert seen[0] is seen[1]


def test_interruptions_nest() -> None:
    """S3-8: 2 is interrupted by 1, which is interrupted by 0; they go on in the reverse order."""
    scene = Scene(bench_of("cooperative"))
    noted: list[str] = []

    def stepwise(name: str, calls: int | None) -> Any:
        def react(events: Any) -> Any:
            noted.append(f"{name} begins")
            if calls is not None:
                scene.push(kind=calls)
            yield
            noted.append(f"{name} ends")

        return react

    scene.consumer("2", "p2.0", kind=A, react=stepwise("2", B))
    scene.consumer("1", "p1.0", kind=B, react=stepwise("1", 18))
    scene.consumer("0", "p0.0", kind=18, react=stepwise("0", None))
    scene.push()
    scene.finish()
    assert noted == ["2 begins", "1 begins", "0 begins", "0 ends", "1 ends", "2 ends"]


def test_a_consumer_cannot_run_others_itself() -> None:
    """Run to completion also against its own wish."""
    scene = Scene(bench_of("single"))
    scene.consumer("one", "p1.0", react=lambda events: scene.note("ran", scene.channel.run_pending()))
    scene.push(1)
    scene.push(2)
    scene.finish()
    assert scene.order == [("one", 1), ("ran", 0), ("one", 2), ("ran", 0)]


# Dynamic keys


def test_dynamic_keys_order_a_queue() -> None:
    """S3-10: earliest deadline first within one preemption priority."""
    schedule = Schedule({"short": Urgency(0, 1, lead=1.0), "long": Urgency(0, 0, lead=5.0)})
    channel = EventChannel("test", schedule=schedule)
    order: list[str] = []
    channel.consume(lambda events: order.append("long"), on(A), rt_info="long", now=0.0)
    channel.consume(lambda events: order.append("short"), on(B), rt_info="short", now=0.0)
    supplier = channel.supply((1, A), (1, B))
    supplier.push(Event(A, 1), now=0.0)  # due at 5
    supplier.push(Event(B, 1), now=4.5)  # due at 5.5
    supplier.push(Event(A, 1), now=3.0)  # due at 8
    supplier.push(Event(B, 1), now=3.5)  # due at 4.5
    channel.run_pending()
    assert order == ["short", "long", "short", "long"]


# Water marks


def marked(marks: WaterMarks) -> tuple[EventChannel, Any, list[Any], Observer, Any]:
    observer = Observer()
    dispatcher = SingleThreaded(marks)
    channel = EventChannel("test", FULL, dispatcher, Schedule(LEVELS), observer)
    order: list[Any] = []
    channel.consume(
        lambda events: order.append(events[0].payload), on(A), name="one", rt_info="p1.0", now=0.0
    )
    return channel, channel.supply((1, A), (1, B)), order, observer, dispatcher


@pytest.mark.parametrize(
    "when_full, kept, dropped",
    [(DISCARD_OLDEST, [4, 5, 6], [1, 2, 3]), (DISCARD_NEWEST, [1, 2, 3], [4, 5, 6])],
)
def test_a_full_queue_discards_and_counts(when_full: str, kept: list[int], dropped: list[int]) -> None:
    """S3-21."""
    channel, supplier, order, observer, dispatcher = marked(WaterMarks(3, 0, when_full))
    for number in range(1, 7):
        supplier.push(Event(A, 1, number), now=0.0)
        assert channel.pending() <= 3
    channel.run_pending()
    assert order == kept
    assert [payload for _, payload in observer.dropped] == dropped
    assert dispatcher.discarded == 3
    assert channel.consumers()[0].discards == 3


def test_a_full_queue_makes_the_supplier_do_the_work() -> None:
    """S3-21: with "wait", until no more than the low mark is left; nothing is lost, and order is kept."""
    channel, supplier, order, observer, _ = marked(WaterMarks(3, 1))
    for number in range(1, 8):
        supplier.push(Event(A, 1, number), now=0.0)
        assert channel.pending() <= 3
    assert order == [1, 2, 3, 4]
    channel.run_pending()
    assert order == [1, 2, 3, 4, 5, 6, 7]
    assert observer.dropped == []


def test_a_consumer_that_fills_a_queue_cannot_wait_for_itself() -> None:
    """Its work is admitted above the mark, and counted."""
    channel, supplier, order, _, dispatcher = marked(WaterMarks(2))

    def flood(events: Any) -> None:
        for number in range(5):
            supplier.push(Event(A, 1, number), now=0.0)

    channel.consume(flood, on(B), rt_info="p1.0", now=0.0)
    supplier.push(Event(B, 1), now=0.0)
    channel.run_pending()
    assert order == [0, 1, 2, 3, 4]
    assert dispatcher.overfull == 3


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from((DISCARD_OLDEST, DISCARD_NEWEST)),
    st.integers(1, 4),
    st.lists(st.sampled_from(("p0.0", "p0.1", "p1.0", "run")), max_size=40),
)
def test_discarding_is_what_a_list_would_do(when_full: str, high: int, done: list[str]) -> None:
    """Each preemption priority has a queue and marks of its own."""
    observer = Observer()
    channel = EventChannel(
        "test", FULL, SingleThreaded(WaterMarks(high, 0, when_full)), Schedule(LEVELS), observer
    )
    order: list[Any] = []
    kinds = {"p0.0": 16, "p0.1": 17, "p1.0": 18}
    for name, kind in kinds.items():
        channel.consume(lambda events: order.append(events[0].payload), on(kind), rt_info=name, now=0.0)
    supplier = channel.supply((1, 0))
    lists: dict[str, list[tuple[str, int]]] = {"p0": [], "p1": []}
    expected: list[Any] = []
    dropped: list[Any] = []

    def run() -> None:
        for name in ("p0", "p1"):
            if lists[name]:
                first = min(lists[name])
                lists[name].remove(first)
                expected.append(first[1])
                return

    for number, word in enumerate(done):
        if word == "run":
            channel.run_one()
            run()
            continue
        supplier.push(Event(kinds[word], 1, number), now=0.0)
        queue = lists[word[:2]]
        if len(queue) >= high and when_full == DISCARD_NEWEST:
            dropped.append(number)
            continue
        if len(queue) >= high:
            oldest = min(queue, key=lambda one: one[1])
            queue.remove(oldest)
            dropped.append(oldest[1])
        queue.append((word, number))
    assert channel.pending() == sum(map(len, lists.values()))
    channel.run_pending()
    while any(lists.values()):
        run()
    assert order == expected
    assert [payload for _, payload in observer.dropped] == dropped


@pytest.mark.parametrize(
    "marks", [WaterMarks(0), WaterMarks(3, 3), WaterMarks(3, -1), WaterMarks(3, 1, "panic")]
)
def test_water_marks_that_make_no_sense_are_refused(marks: WaterMarks) -> None:
    with pytest.raises(ChannelError):
        SingleThreaded(marks)


# Overruns


class VirtualClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("kind", [Immediate, SingleThreaded, Cooperative])
def test_overruns_are_found_and_reported(kind: Any) -> None:
    """S3-11: longer than the worst case of its RT_Info, interruptions not counted."""
    clock = VirtualClock()
    observer = Observer()
    schedule = Schedule({"op": Urgency(1, worst=2.0), "urgent": Urgency(0, worst=100.0)})
    configuration = NO_DISPATCHING if kind is Immediate else FULL
    channel = EventChannel("test", configuration, kind(clock=clock), schedule, observer)
    supplier = channel.supply((1, A), (1, B))

    def work(events: Any) -> Any:
        clock.now += events[0].payload
        if kind is Cooperative:
            supplier.push(Event(B, 1, 50.0), now=clock.now)
        yield
        clock.now += 0.5

    def urgent(events: Any) -> None:
        clock.now += events[0].payload

    proxy = channel.consume(work, on(A), name="op", rt_info="op", now=0.0)
    channel.consume(urgent, on(B), name="urgent", rt_info="urgent", now=0.0)
    for seconds in (1.0, 1.5, 1.75):
        supplier.push(Event(A, 1, seconds), now=clock.now)
        channel.run_pending()
    assert observer.overruns == [("op", 2.25, 2.0)]
    assert proxy.overruns == 1


def test_a_dispatcher_must_fit_its_configuration() -> None:
    with pytest.raises(ChannelError, match="has no dispatching, which does not fit SingleThreaded"):
        EventChannel("test", NO_DISPATCHING, SingleThreaded())
    with pytest.raises(ChannelError, match="has dispatching, which does not fit Immediate"):
        EventChannel("test", FULL, Immediate())
    with pytest.raises(ChannelError, match="must have a name"):
        EventChannel("")
