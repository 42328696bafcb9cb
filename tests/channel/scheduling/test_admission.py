"""Admission control: who would make others late is refused, with the reasons (S3-11)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from channel.contract import Observer
from weft.channel import (
    EARLIEST_DEADLINE_FIRST,
    FULL,
    MAXIMUM_URGENCY_FIRST,
    RATE_MONOTONIC,
    AdmissionControl,
    After,
    DispatchRecord,
    Event,
    EventChannel,
    RtInfo,
    SimulatedProcessor,
    all_of,
    interval,
    on,
    plan,
)
from weft.host.dispatch import OneThread, RealTimeChannel
from weft.model.errors import AdmissionRefused, ScheduleError

A, B = 16, 17
WORSTS = {f"w{worst}": float(worst) for worst in (1, 2, 3, 5)}
moves = st.lists(
    st.one_of(
        st.tuples(st.just("connect"), st.sampled_from(sorted(WORSTS)), st.sampled_from((4, 6, 10, 20))),
        st.tuples(st.just("register"), st.integers(0, 5), st.sampled_from((10, 20))),
        st.tuples(st.just("disconnect"), st.integers(0, 5), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@example([("connect", "w5", 10), ("connect", "w1", 4), ("connect", "w1", 6)], RATE_MONOTONIC, True)
@given(
    moves, st.sampled_from((RATE_MONOTONIC, EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST)), st.booleans()
)
def test_what_was_admitted_meets_all_deadlines(done: list[Any], policy: str, preemptive: bool) -> None:
    """S3-11: whoever comes and goes in whatever order, nobody who was admitted is ever late on a processor that runs each for
    its worst case; and who was refused would not have fitted, by a plan made from nothing."""
    infos = [RtInfo(f"{name}.{number}", worst) for name, worst in WORSTS.items() for number in range(13)]
    control = AdmissionControl(infos, policy, preemptive)
    record = DispatchRecord()
    processor = SimulatedProcessor(lambda work: work.worst, preemptive)
    channel = EventChannel("test", FULL, processor, control, record=record)
    there: dict[str, tuple[Any, list[int]]] = {}

    def fits(asked: dict[str, list[int]]) -> bool:
        made = [
            RtInfo(name, WORSTS[name[:2]], dependencies=tuple(After(f"{name} {place}") for place in range(len(periods))))
            for name, periods in asked.items()
        ]  # fmt: skip
        beats = [
            RtInfo(f"{name} {place}", period=float(period))
            for name, periods in asked.items()
            for place, period in enumerate(periods)
        ]
        whole = plan(made + beats, policy, preemptive)
        return all(one.meets_deadline for one in whole.operations if one.info.name in asked)

    for number, (word, what, period) in enumerate(done):
        now = processor.now
        asked = {name: list(periods) for name, (_, periods) in there.items()}
        before = len(channel.consumers())
        refusal = ""
        try:
            if word == "connect":
                name = f"{what}.{number}"
                asked[name] = [period]
                proxy = channel.consume(
                    lambda events: None, interval(float(period)), name=name, rt_info=name, now=now
                )
                there[name] = (proxy, [period])
            elif there and word == "register":
                name = sorted(there)[what % len(there)]
                asked[name].append(period)
                there[name][0].register(interval(float(period)), now)
                there[name][1].append(period)
            elif there:
                there.pop(sorted(there)[what % len(there)])[0].disconnect_push_supplier()
                asked = {name: list(periods) for name, (_, periods) in there.items()}
        except AdmissionRefused as refused:
            refusal = str(refused)
        assert fits(asked) == (not refusal)
        if refusal:
            assert "does not fit" in refusal
            assert len(channel.consumers()) == before
        processor.run(channel, now + 17.0)
    processor.run(channel, processor.now + 60.0)
    assert not record.of("miss")


def flight(**more: Any) -> AdmissionControl:
    return AdmissionControl(
        [
            RtInfo("radar", worst=0.002, period=0.025),
            RtInfo("ins", worst=0.002, period=0.05),
            RtInfo("fuse", worst=0.010),
            RtInfo("log", worst=0.040),
        ],
        **more,
    )


def test_the_verdict_says_who_would_be_late_and_why() -> None:
    """S3-11: consumers and suppliers; the figures of the analysis, and who takes how much."""
    channel = EventChannel("flight", schedule=flight())
    channel.supply((1, A), name="radar", rt_info="radar")
    channel.supply((2, B), name="ins", rt_info="ins")
    channel.consume(print, all_of(on(A), on(B)), name="fusion", rt_info="fuse", now=0.0)
    with pytest.raises(AdmissionRefused) as refused:
        channel.consume(print, on(B), name="logger", rt_info="log", now=0.0)
    said = str(refused.value)
    assert said.startswith(
        "channel flight: logger does not fit: 32.0% of the processor were used, with it 112.0%; "
    )
    assert (
        "fuse: can take 60 ms; only 50 ms are allowed, before it is triggered again (40 ms of log, which is not "
        in said
    )
    assert [one.name for one in channel.consumers()] == ["fusion"]


def test_a_supplier_is_judged_by_those_it_triggers() -> None:
    """S3-11: the consumer was there first, and was triggered by nothing."""
    channel = EventChannel("flight", schedule=flight())
    channel.consume(print, on(A), name="logger", rt_info="log", now=0.0)
    with pytest.raises(AdmissionRefused, match=r"radar does not fit: .* log: can take"):
        channel.supply((1, A), name="radar", rt_info="radar")
    assert channel.suppliers() == []
    channel.supply((1, A), name="without RT_Info")


def test_who_does_not_fit_may_be_admitted_with_a_warning() -> None:
    """S3-11: by setting; the observer hears the verdict."""

    class Told(Observer):
        heard: list[tuple[str, str]] = []

        def admitted_late(self, who: str, why: str) -> None:
            self.heard.append((who, why))

    observer = Told()
    channel = EventChannel("flight", schedule=flight(refuse=False), observer=observer)
    channel.supply((1, A), name="radar", rt_info="radar")
    assert not observer.heard
    channel.consume(print, on(A), name="logger", rt_info="log", now=0.0)
    ((who, why),) = observer.heard
    assert who == "logger"
    assert why.startswith("logger does not fit: 8.0% of the processor were used, with it 168.0%; ")
    assert "log: can take 44 ms; only 25 ms are allowed" in why
    assert [one.name for one in channel.consumers()] == ["logger"]


def test_priorities_follow_who_is_connected() -> None:
    """S3-11, S3-23: what waits is ranked anew when somebody faster comes."""
    infos = [RtInfo("slow", 0.001, period=1.0), RtInfo("fast", 0.001, period=0.1)]
    channel = EventChannel("test", schedule=AdmissionControl(infos))
    order: list[str] = []
    supplier = channel.supply((1, A), (1, B))
    channel.consume(lambda events: order.append("slow"), on(A), rt_info="slow", now=0.0)
    assert channel.urgency("slow").preemption == 0
    supplier.push(Event(A, 1), now=0.0)
    channel.consume(lambda events: order.append("fast"), on(B), rt_info="fast", now=0.0)
    assert (channel.urgency("fast").preemption, channel.urgency("slow").preemption) == (0, 1)
    supplier.push(Event(B, 1), now=0.0)
    channel.run_pending()
    assert order == ["fast", "slow"]


def test_an_operation_that_nobody_knows_is_refused() -> None:
    channel = EventChannel("flight", schedule=flight())
    with pytest.raises(
        ScheduleError, match="logger names the operation lgo, of which there is no RT_Info; did you mean log"
    ):
        channel.consume(print, on(A), name="logger", rt_info="lgo", now=0.0)
    assert channel.consumers() == []


def test_admission_can_begin_while_the_channel_runs() -> None:
    """S3-23: a schedule that admits, exchanged for one that does not; what is connected is judged first."""
    made = plan([RtInfo("log", 0.04, period=0.05)])
    channel = EventChannel("flight", schedule=made.table())
    channel.consume(print, on(A), name="logger", rt_info="log", now=0.0)
    with pytest.raises(AdmissionRefused, match="what is connected does not fit"):
        channel.reschedule(AdmissionControl([RtInfo("log", 0.04, period=0.03)]))
    assert channel.schedule is not None
    assert channel.urgency("log").within == pytest.approx(0.05)
    channel.reschedule(
        AdmissionControl([RtInfo("log", 0.04, period=0.05), RtInfo("more", 0.02, period=0.05)])
    )
    with pytest.raises(AdmissionRefused):
        channel.consume(print, on(A), rt_info="more", now=0.0)


def test_a_channel_in_real_time_admits_too() -> None:
    """S3-11: while it runs, from its users' threads."""
    with RealTimeChannel("flight", OneThread(), schedule=flight()) as channel:
        channel.supply((1, A), name="radar", rt_info="radar")
        with pytest.raises(AdmissionRefused):
            channel.consume(print, on(A), name="logger", rt_info="log")
        channel.consume(print, on(A), name="fusion", rt_info="fuse")
