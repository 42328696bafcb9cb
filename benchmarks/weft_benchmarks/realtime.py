"""What the event channel costs in real time, with threads and processes.

* `hosted_latency`: as `latency` of `channel` (Table 1), but through dispatchers that have threads or processes of their own.  A
  supplier pushes when all consumers have taken the event before.
* `periodic`: how late consumers of a 1 kHz interval are called.
* `spacing`: 500 events at a fixed period; the rate at which they were consumed, as a part of the rate at which they were to be
  pushed (S3-17).

Everything asks for SCHED_FIFO; `fifo` says whether it was granted.  Floor: a thread that sleeps until the same moments, and one
byte to another process.  Figures have flat names, as in `channel`.
"""

from __future__ import annotations

import mmap
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from weft.channel import NO_DISPATCHING, Event, Immediate, interval, on
from weft.host.dispatch import OneThread, Preemptive, RealTimeChannel, realtime_standing
from weft.host.dispatch.standing import raised
from weft_benchmarks.channel import CONSUMERS, KIND, LOCAL, SUPPLIERS, spread

EVENTS = 600
WARM = 60
PERIODS_US = (2000, 1000, 500, 200, 100, 50, 20, 10)
SPACED = 500
TICKS = 3000
TICK = 0.001
BOUND = 60.0

Made = Callable[[], RealTimeChannel]


def _preemptive() -> RealTimeChannel:
    return RealTimeChannel("bench", Preemptive())


def _single() -> RealTimeChannel:
    return RealTimeChannel("bench", OneThread(realtime=True))


def _cooperative() -> RealTimeChannel:
    return RealTimeChannel("bench", OneThread(cooperative=True, realtime=True))


def _none() -> RealTimeChannel:
    return RealTimeChannel("bench", Immediate(time.monotonic), NO_DISPATCHING)


HOSTED: dict[str, Made] = {"single": _single, "cooperative": _cooperative, "preemptive": _preemptive}
ALL: dict[str, Made] = {"none": _none, **HOSTED}


class Stamps:
    """A consumer that notes when it is called, where all processes can see it."""

    def __init__(self, most: int) -> None:
        self._memory = mmap.mmap(-1, 8 * (most + 1))
        self.times = memoryview(self._memory).cast("q")

    def push(self, events: Any) -> None:
        self.times[0] += 1
        self.times[self.times[0]] = time.perf_counter_ns()

    def all(self) -> list[int]:
        return list(self.times[1 : self.times[0] + 1])


class Lateness(Stamps):
    def push(self, events: Any) -> None:
        now = time.monotonic()
        if self.times[0] < len(self.times) - 1:
            self.times[0] += 1
            self.times[self.times[0]] = round((now - events[0].payload.due) * 1e9)


def hosted_latency() -> dict[str, float]:
    fifo = realtime_standing().fifo
    found: dict[str, float] = {"fifo": float(fifo), **spread("floor hosted", _floor(fifo))}
    for dispatch, make in HOSTED.items():
        for suppliers in SUPPLIERS:
            for consumers in CONSUMERS:
                first, last = _latency(make, suppliers, consumers, fifo)
                name = f"latency {suppliers} {consumers} {LOCAL} {dispatch}"
                found |= spread(f"{name} first", first) | spread(f"{name} last", last)
    return found


def _latency(make: Made, suppliers: int, consumers: int, fifo: bool) -> tuple[list[int], list[int]]:
    channel = make()
    stamps = [Stamps(EVENTS + WARM) for _ in range(consumers)]
    for stamp in stamps:
        channel.consume(stamp, on(KIND))
    pushes = [channel.supply((source, KIND)).push for source in range(1, suppliers + 1)]
    events = [Event(KIND, source) for source in range(1, suppliers + 1)]
    begun: list[int] = []
    with channel, raised(fifo):
        for turn in range(EVENTS + WARM):
            push, event = pushes[turn % suppliers], events[turn % suppliers]
            begun.append(time.perf_counter_ns())
            push(event)
            if not channel.wait_idle(BOUND):
                raise RuntimeError("an event was not consumed")
    first, last = stamps[0].all(), stamps[-1].all()
    return _between(begun, first)[WARM:], _between(begun, last)[WARM:]


def _between(begun: list[int], ended: list[int]) -> list[int]:
    return [end - begin for begin, end in zip(begun, ended, strict=True)]


def _floor(fifo: bool) -> list[int]:
    """One byte to another process and back, with the times at which it left and arrived."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException), raised(fifo):
            ours.close()
            while theirs.recv(1):
                theirs.send(time.perf_counter_ns().to_bytes(8))
        os._exit(0)
    theirs.close()
    taken = []
    with raised(fifo):
        for _ in range(EVENTS):
            begin = time.perf_counter_ns()
            ours.send(b"x")
            taken.append(int.from_bytes(ours.recv(8)) - begin)
    ours.close()
    os.waitpid(pid, 0)
    return taken


def periodic() -> dict[str, float]:
    """With SCHED_FIFO where it is allowed, for each dispatcher, and the same without for one."""
    fifo = realtime_standing().fifo
    found: dict[str, float] = {"fifo": float(fifo), **spread("periodic floor", _bare_periods(fifo))}
    for dispatch, make in HOSTED.items():
        found |= _lateness(f"periodic {dispatch}", make())
    ordinary = RealTimeChannel("bench", OneThread())
    return found | _lateness("periodic ordinary", ordinary)


def _lateness(name: str, channel: RealTimeChannel) -> dict[str, float]:
    late = Lateness(TICKS)
    channel.consume(late, interval(TICK))
    begin = time.monotonic()
    with channel:
        while late.times[0] < TICKS and time.monotonic() < begin + BOUND:
            time.sleep(0.05)
    seen = late.all()
    return {**spread(name, seen), f"{name} count": float(len(seen))}


def _bare_periods(fifo: bool) -> list[int]:
    late: list[int] = []

    def sleep() -> None:
        with raised(fifo):
            due = time.monotonic()
            for _ in range(TICKS):
                due += TICK
                time.sleep(max(0.0, due - time.monotonic()))
                late.append(round((time.monotonic() - due) * 1e9))

    thread = threading.Thread(target=sleep)
    thread.start()
    thread.join()
    return late


def spacing() -> dict[str, float]:
    fifo = realtime_standing().fifo
    found: dict[str, float] = {"fifo": float(fifo)}
    for dispatch, make in ALL.items():
        for period in PERIODS_US:
            found[f"spacing {dispatch} {period}"] = spaced(make(), period / 1e6, fifo)
    return found


def spaced(channel: RealTimeChannel, period: float, fifo: bool, count: int = 0) -> float:
    """The time in which the events should have been consumed, as a part of the time it took."""
    count = count or SPACED
    stamps = Stamps(count + 1)
    channel.consume(stamps, on(KIND))
    push = channel.supply((1, KIND)).push
    event = Event(KIND, 1)
    with ExitStack() as stack:
        stack.enter_context(channel)
        stack.enter_context(raised(fifo))
        push(event)  # processes are born
        channel.wait_idle(BOUND)
        begin = time.monotonic()
        for number in range(count):
            wait_until(begin + number * period)
            push(event)
        if not channel.wait_idle(BOUND):
            raise RuntimeError("not all events were consumed")
    taken = stamps.all()
    if len(taken) != count + 1:
        raise RuntimeError(f"{len(taken)} of {count + 1} events were consumed")
    return count * period / max(count * period, taken[-1] / 1e9 - begin)


def wait_until(moment: float) -> None:
    """Asleep, and awake for the last of it; others may run at any time."""
    left = moment - time.monotonic()
    while left > 0:
        time.sleep(left - 0.0001 if left > 0.0002 else 0)
        left = moment - time.monotonic()
