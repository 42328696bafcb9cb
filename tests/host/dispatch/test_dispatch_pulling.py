"""The pull model in real time (S3-2): threads that wait for events, suppliers that are asked by threads and processes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from channel.contract import BOUND
from host.event_channel.test_channel_process import Mouth, opened
from host.in_process.test_own_node import file
from weft.channel import Event, on
from weft.host.dispatch import OneThread, Preemptive, RealTimeChannel, ThreadPerConsumer, ThreadPools
from weft.model.errors import ChannelError

__all__ = ["file"]  # a fixture

A = 16


class Sensor:
    """A supplier that has three events; in a process of its own it is a copy."""

    def __init__(self) -> None:
        self.stock = [3, 2, 1]

    def pull(self) -> Event | None:
        return Event(A, 1, self.stock.pop()) if self.stock else None


@pytest.mark.parametrize(
    "kind", [OneThread, ThreadPerConsumer, ThreadPools, lambda: Preemptive(realtime=False)]
)
def test_a_thread_pulls_what_a_supplier_that_is_asked_has(kind: Any) -> None:
    """S3-2: pulled from one end to the other; the thread waits in between."""
    channel = RealTimeChannel("test", kind())
    puller = channel.pulled(on(A), name="puller")
    supplier = channel.pull_from(Sensor(), (1, A), every=0.001, name="sensor")
    with channel:
        got = [puller.pull(BOUND) for _ in range(3)]
        assert [None if one is None else one[0].payload for one in got] == [1, 2, 3]
        assert puller.try_pull() is None
        assert puller.pull(0.0) is None
        supplier.disconnect()
        puller.disconnect()
        with pytest.raises(ChannelError, match="puller is not connected"):
            puller.pull(BOUND)


def test_a_supplier_is_asked_by_one_thread_at_a_time() -> None:
    """S3-2: in a pool whose threads would all ask; and one that is sent to a process is asked there."""
    inside: list[int] = []
    together: list[int] = []
    asked = threading.Event()

    def pull() -> Event | None:
        inside.append(1)
        together.append(len(inside))
        if len(together) > 20:
            asked.set()
        inside.pop()
        return None

    channel = RealTimeChannel("test", ThreadPools(4))
    channel.pull_from(pull, (1, A), every=0.0005)
    with channel:
        assert asked.wait(BOUND)
    assert set(together) == {1}
    late = RealTimeChannel("test", Preemptive(realtime=False))
    with late:
        puller = late.pulled(on(A))
        late.pull_from(Sensor(), (1, A), every=0.001)
        got = puller.pull(BOUND)
        assert got is not None
        assert got[0].payload == 1


def test_who_waits_hears_that_the_channel_was_stopped() -> None:
    channel = RealTimeChannel("test", OneThread())
    puller = channel.pulled(on(A))
    found: list[Any] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        try:
            found.append(puller.pull(None))
        except ChannelError as error:
            found.append(str(error))

    thread = threading.Thread(target=wait)
    with channel:
        thread.start()
        assert begun.wait(BOUND)
    thread.join(BOUND)
    assert not thread.is_alive()
    assert found[0] is None or "not connected" in found[0]


def test_events_of_another_node_are_pulled(file: Path) -> None:
    """S3-2, S3-13: what a consumer that pulls wants is asked for there, too."""
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth = Mouth(one)
        puller = two.pulled(on(A))
        mouth.waits()
        for number in range(3):
            mouth.say(number)
        got = [puller.pull(BOUND) for _ in range(3)]
        assert [None if one is None else one[0].payload for one in got] == [0, 1, 2]
        assert puller.try_pull() is None
