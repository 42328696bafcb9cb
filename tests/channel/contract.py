"""What every dispatcher must do, whatever its threads or processes (S3-8, S3-9).

A dispatcher is tested through a *bench*: how to make one, and what can be asked of it.  Those of `weft.channel` are drained by
calling `run_one`.  Those of the host have threads or processes of their own: they run in a RealTimeChannel, which is started when
the test begins to wait (so that what was pushed before waits together), and are waited for, within a bound.

`ordered` says whether it keeps all priorities in one order: with a thread or a process for each priority, only what is equal in
priority is (`ranked`), and with one for each consumer not even that.  Consumers that run `elsewhere`, in another process, cannot
change the test's variables: what they want to say, they note.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from support.node_processes import loopback
from weft.channel import (
    FULL,
    NO_DISPATCHING,
    ChannelObserver,
    Cooperative,
    Event,
    EventChannel,
    Immediate,
    Schedule,
    SimulatedProcessor,
    SingleThreaded,
    Urgency,
    on,
)
from weft.fabric import Topology
from weft.host.dispatch import OneThread, Preemptive, RealTimeChannel, ThreadPerConsumer, ThreadPools
from weft.host.in_process.event_channel import ProcessChannel
from weft.host.in_process.mesh_node import OwnNode

A = 16
BOUND = 60.0  # seconds, for what takes milliseconds


@dataclass(frozen=True)
class Bench:
    name: str
    make: Callable[[], Any]
    queues: bool = True  # does work wait?
    ordered: bool = True
    ranked: bool = True
    cooperative: bool = False
    hosted: bool = False
    elsewhere: bool = False
    of_node: bool = False  # under the mutex of a node of this process, as a channel that is joined to others


BENCHES = [
    Bench("none", Immediate, queues=False, ordered=False, ranked=False),
    Bench("single", SingleThreaded),
    Bench("cooperative", Cooperative, cooperative=True),
    Bench("simulated", lambda: SimulatedProcessor(lambda work: 1.0, preemptive=False)),
    Bench("simulated, preemptive", lambda: SimulatedProcessor(lambda work: 1.0, preemptive=True)),
    Bench(
        "none, in real time",
        lambda: Immediate(time.monotonic),
        queues=False,
        ordered=False,
        ranked=False,
        hosted=True,
    ),
    Bench("one thread", OneThread, hosted=True),
    Bench("one thread, cooperative", lambda: OneThread(cooperative=True), cooperative=True, hosted=True),
    Bench("thread pools", lambda: ThreadPools(1), ordered=False, hosted=True),
    Bench("thread per consumer", ThreadPerConsumer, ordered=False, ranked=False, hosted=True),
    Bench("preemptive", lambda: Preemptive(realtime=False), ordered=False, hosted=True, elsewhere=True),
]
BENCHES += [  # in order or not is the same code, and a node for each example takes long
    replace(bench, name=f"{bench.name}, of a node", ordered=False, of_node=True)
    for bench in BENCHES
    if bench.hosted and bench.queues
]


class Observer(ChannelObserver):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, Any, str]] = []
        self.overruns: list[tuple[str, float, float]] = []
        self.dropped: list[tuple[str, Any]] = []
        self.late: list[tuple[str, Any, float]] = []
        self.hung: list[tuple[str, Any]] = []

    def consumer_failed(self, consumer: str, events: Any, error: Exception) -> None:
        self.failed.append((consumer, events[0].payload, repr(error)))

    def overran(self, consumer: str, spent: float, worst: float) -> None:
        self.overruns.append((consumer, spent, worst))

    def missed(self, consumer: str, events: Any, late: float) -> None:
        self.late.append((consumer, events[0].payload, late))

    def discarded(self, consumer: str, events: Any) -> None:
        self.dropped.append((consumer, events[0].payload))

    def hanging(self, consumer: str, events: Any, seconds: float) -> None:
        self.hung.append((consumer, events[0].payload))


class Notes:
    """What consumers note, in the order in which they did, from whatever process."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        self._rest = b""
        self._read: list[Any] = []

    def add(self, note: Any) -> None:
        data = pickle.dumps(note)
        written = os.write(self._in, len(data).to_bytes(4) + data)  # less than a page: in one piece
        assert written == 4 + len(data) < 4096

    def all(self) -> list[Any]:
        try:
            while data := os.read(self._out, 65_536):
                self._rest += data
        except BlockingIOError:
            pass
        while self._rest:
            end = 4 + int.from_bytes(self._rest[:4])
            self._read.append(pickle.loads(self._rest[4:end]))
            self._rest = self._rest[end:]
        return self._read

    def close(self) -> None:
        os.close(self._out)
        os.close(self._in)


LEVELS = {f"p{priority}.{sub}": Urgency(priority, sub) for priority in range(4) for sub in range(3)}


class Scene:
    """A channel with one supplier, on a dispatcher, with consumers by urgency that note what they get."""

    def __init__(self, bench: Bench, **more: Any) -> None:
        self.bench = bench
        self.observer = Observer()
        self.dispatcher = bench.make()
        self.notes = Notes()
        self._begun = False
        self._node: OwnNode | None = None
        configuration = FULL if bench.queues else NO_DISPATCHING
        if bench.hosted:
            self.host: Any
            if bench.of_node:
                self._node = OwnNode(loopback(Topology(("S1",), {"A": ("S1",)})), "S1")
                self._node.start()
                self.host = ProcessChannel(
                    "contract",
                    self._node,
                    configuration,
                    self.dispatcher,
                    Schedule(LEVELS),
                    self.observer,
                    **more,
                )
            else:
                self.host = RealTimeChannel(
                    "contract", self.dispatcher, configuration, Schedule(LEVELS), self.observer, **more
                )
            with self.host.held() as channel:
                self.channel: EventChannel = channel
        else:
            self.host = None
            self.channel = EventChannel(
                "contract", configuration, self.dispatcher, Schedule(LEVELS), self.observer, **more
            )
        self.supplier: Any = (self.host or self.channel).supply((0, 0))

    @property
    def order(self) -> list[Any]:
        return self.notes.all()

    def note(self, *words: Any) -> None:
        self.notes.add(words)

    def consumer(
        self, name: str, urgency: str, kind: int = A, react: Callable[[Any], Any] | None = None
    ) -> Any:
        def push(events: Any) -> Any:
            self.note(name, events[0].payload)
            return react(events) if react is not None else None

        if self.host is not None:
            return self.host.consume(push, on(kind), name=name, rt_info=urgency).proxy
        return self.channel.consume(push, on(kind), name=name, rt_info=urgency, now=0.0)

    def push(self, payload: Any = None, kind: int = A) -> None:
        event = Event(kind, 1, payload)
        if self.host is not None:
            self.supplier.push(event)
        else:
            self.supplier.push(event, now=0.0)

    def inside(self) -> AbstractContextManager[Any]:
        """To change proxies."""
        return nullcontext() if self.host is None else self.host.held()

    def begin(self) -> None:
        """Threads and processes start, if there are any and they have not."""
        if self.host is not None and not self._begun:
            self._begun = True
            self.host.start()

    def finish(self) -> None:
        self.begin()
        if self.host is None:
            self.channel.run_pending()
        else:
            assert self.host.wait_idle(BOUND), f"still busy: {self.dispatcher.running()}"

    def close(self) -> None:
        if self.host is not None:
            assert self.host.stop() == []
        if self._node is not None:
            self._node.stop()
        self.notes.close()
