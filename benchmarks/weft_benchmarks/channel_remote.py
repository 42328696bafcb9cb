"""Events from suppliers in one process to consumers in another, over loopback (S3-16, Table 2 of the paper).

Two processes, each with a channel and the same number of consumers, are joined by gateways; suppliers are in the first.  A push
is timed until the first and the last consumer of its own process are called, until those of the other are, and until an answer
of that one is back, which it pushes when its last consumer is called: a round trip.  One event is under way at a time.  Times of
the two processes are of one clock, the system's.  Both are pinned to one core, and free to use all; they ask for SCHED_FIFO, as
those of the paper ran in the real-time class, so that other work of the machine does not pass for the channel's.

Floor: the same ping-pong in C, between two processes, pinned alike; 64 bytes each way.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.channel import FULL, NO_DISPATCHING, Event, on
from weft.host.dispatch import RealTimeConsumer
from weft.host.in_process.event_channel import ProcessChannel
from weft.host.in_process.mesh_nodes import open_channel
from weft_benchmarks.channel import CONSUMERS, KIND, SUPPLIERS, spread
from weft_benchmarks.mesh import places
from weft_benchmarks.runner import COMPILED, PURE, environment

EVENTS = {COMPILED: 600, PURE: 200}
DISPATCHES = ("none", "single")
FLOOR_TURNS = 3_000
FRAME = 64
URGENCY = 10  # under SCHED_FIFO
PATIENCE = 60.0  # seconds until an answer is given up
_SETUP, _ANSWER = KIND + 1, KIND + 2


# --- in the two processes -----------------------------------------------------------------------------------------


def _open(address: str, dispatch: str) -> ProcessChannel:
    configuration = NO_DISPATCHING if dispatch == "none" else FULL
    return open_channel(
        "bench", address, configuration=configuration, additional_settings="Weft.journal=none"
    )


class Crowd:
    """So many consumers, of which the first and the last note when they are called."""

    def __init__(self, channel: ProcessChannel, finished: Callable[[], None]) -> None:
        self.first = 0
        self.last = 0
        self._channel = channel
        self._finished = finished
        self._consumers: list[RealTimeConsumer] = []

    def resize(self, count: int) -> None:
        for consumer in self._consumers:
            consumer.disconnect()
        pushed: list[Callable[[Any], None]] = [lambda events: None] * count
        pushed[0] = self._note_first if count > 1 else self._note_only
        if count > 1:
            pushed[-1] = self._note_last
        self._consumers = [self._channel.consume(push, on(KIND)) for push in pushed]

    def _note_first(self, events: Any) -> None:
        self.first = time.monotonic_ns()

    def _note_last(self, events: Any) -> None:
        self.last = time.monotonic_ns()
        self._finished()

    def _note_only(self, events: Any) -> None:
        self.first = self.last = time.monotonic_ns()
        self._finished()


def far(address: str, dispatch: str) -> None:
    """Consumers; until the other end is gone."""
    channel = _open(address, dispatch)
    answer = channel.supply((1, _ANSWER), name="far")
    crowd = Crowd(channel, lambda: answer.push(Event(_ANSWER, 1, (crowd.first, crowd.last))))

    def set_up(events: Any) -> None:
        crowd.resize(events[0].payload)
        answer.push(Event(_ANSWER, 1, (0, 0)))

    channel.consume(set_up, on(_SETUP))
    print("ready", flush=True)
    channel.wait(PATIENCE, until=lambda: bool(channel.linked()))
    channel.wait(until=lambda: not channel.linked())


class Near:
    """Suppliers, and the figures.  `alone`: there is no other process, and only consumers beside the suppliers are timed."""

    def __init__(self, address: str, dispatch: str, alone: bool = False) -> None:
        self._alone = alone
        self.channel = _open(address, dispatch)
        self.dispatch = dispatch
        self.answers: list[tuple[int, int]] = []
        self.crowd = Crowd(self.channel, lambda: None)
        self._is_wanted = False
        self._set_up = self.channel.supply((1, _SETUP), supplier=self, name="near")
        self.channel.consume(lambda events: self.answers.append(events[0].payload), on(_ANSWER))

    def wanted(self, publications: Any) -> None:
        self._is_wanted = bool(publications)

    def measure(self, events: int) -> dict[str, float]:
        if not self._alone and not self.channel.wait(PATIENCE, until=lambda: self._is_wanted):
            raise RuntimeError("the other process is not there")
        found: dict[str, float] = {"fifo": float(os.sched_getscheduler(0) == os.SCHED_FIFO)}
        for suppliers in SUPPLIERS:
            for consumers in CONSUMERS:
                found |= self._latency(suppliers, consumers, events)
        return found

    def _latency(self, suppliers: int, consumers: int, events: int) -> dict[str, float]:
        self.crowd.resize(consumers)
        self._set_up.push(Event(_SETUP, 1, consumers))
        self._answer()
        proxies = [self.channel.supply((source, KIND)) for source in range(1, suppliers + 1)]
        taken: dict[str, list[int]] = {}
        for turn in range(events // 10 + events):
            number = turn % suppliers
            event = Event(KIND, number + 1, bytes(8))
            begun = time.monotonic_ns()
            proxies[number].push(event)
            first, last = self._answer()
            back = time.monotonic_ns()
            if turn >= events // 10:
                times = {"local first": self.crowd.first, "local last": self.crowd.last}
                if not self._alone:
                    times |= {"remote first": first, "remote last": last, "round trip": back}
                for word, at in times.items():
                    taken.setdefault(word, []).append(at - begun)
        for proxy in proxies:
            proxy.disconnect()
        name = f"{suppliers} {consumers} {self.dispatch}"
        return {
            key: value for word, one in taken.items() for key, value in spread(f"{name} {word}", one).items()
        }

    def _answer(self) -> tuple[int, int]:
        if self._alone:
            return 0, 0
        if not self.channel.wait(PATIENCE, until=lambda: bool(self.answers)):
            raise RuntimeError("the other process does not answer")
        return self.answers.pop()


# --- in the process of the benchmark ------------------------------------------------------------------------------


def measure(
    build: str, folder: str, pinned: bool, dispatches: Sequence[str] = (), events: int = 0
) -> dict[str, float]:
    """All figures of one build, by flat names, so that rounds can be compared."""
    found: dict[str, float] = {}
    for dispatch in dispatches or DISPATCHES:
        first, second = places(folder)
        with process(__name__, build, "far", first, dispatch, pinned=pinned, fifo=True) as other:
            assert other.stdout is not None
            other.stdout.readline()
            found |= _measured(build, "near", second, dispatch, events or EVENTS[build], pinned)
    return found


def measure_alone(build: str, folder: str, dispatch: str, events: int, pinned: bool) -> dict[str, float]:
    """The figures of consumers beside the suppliers, where there is no other process."""
    return _measured(build, "alone", places(folder)[0], dispatch, events, pinned)


def _measured(
    build: str, role: str, address: str, dispatch: str, events: int, pinned: bool
) -> dict[str, float]:
    with process(__name__, build, role, address, dispatch, str(events), pinned=pinned, fifo=True) as one:
        said, complaint = one.communicate(timeout=600)
        if one.returncode:
            raise RuntimeError(f"the measurement of remote consumers ({build}) failed:\n{complaint}")
    found: dict[str, float] = json.loads(said)
    return found


@contextlib.contextmanager
def process(
    module: str, build: str, *arguments: str, pinned: bool, fifo: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """A process of a benchmark, which runs `main` of a module; it is gone at the end."""
    made = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**environment(build), "WEFT_FABRIC_RETRY_SECONDS": "0.02"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: prepare(pinned, fifo),
    )
    try:
        yield made
    finally:
        made.kill()
        made.communicate()


def prepare(pinned: bool, fifo: bool) -> None:
    """In a process that begins: on one core, the last, since the first often has the machine's interrupts; and in real time."""
    if pinned:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if fifo:
        take_fifo(URGENCY)


def take_fifo(urgency: int) -> bool:
    """May this process run in real time?  Then it does."""
    if not hasattr(os, "sched_setscheduler"):
        return False
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(urgency))
    except PermissionError:
        return False
    return True


def measure_floor(folder: str, pinned: bool) -> dict[str, float]:
    """In C; nothing where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return {}
    program = Path(folder) / "floor"
    if not program.exists():
        source = Path(__file__).with_name("floor.c")
        subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True, capture_output=True)
    done = subprocess.run(
        [str(program), "direct", str(FLOOR_TURNS), str(FRAME)],
        capture_output=True, text=True, check=True, timeout=120, preexec_fn=lambda: prepare(pinned, fifo=True),
    )  # fmt: skip
    return spread("floor", [int(line) for line in done.stdout.split()])


def main(role: str, address: str, dispatch: str, events: str = "0") -> None:
    if role == "far":
        far(address, dispatch)
    else:
        print(json.dumps(Near(address, dispatch, role == "alone").measure(int(events))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
