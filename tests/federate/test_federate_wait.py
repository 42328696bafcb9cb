"""Letting things happen: poll, run, run_until, synchronize; with evoked and with immediate callbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest

import weft
from weft import CallbackModel, EmbeddedNode, Federate
from weft.cli.data import object_model
from weft.host import NodeHost
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.model.errors import CallNotAllowedFromWithinCallback, NotInTime

RANGE = object_model("range.xml")
BOUND = 240.0  # seconds; nothing here takes that long unless it hangs


@contextmanager
def federates(count: int, host: NodeHost | None = None, **options: Any) -> Iterator[list[Federate]]:
    node = host or EmbeddedNode()
    with ExitStack() as stack:
        yield [
            stack.enter_context(weft.join("Range", f"f{number}", fom=RANGE, host=node, **options))
            for number in range(count)
        ]


def side_by_side(*actions: Callable[[], Any]) -> list[Any]:
    """Each in a thread of its own; all must end."""
    results: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n, action=action: results.__setitem__(n, action()), daemon=True)
        for n, action in enumerate(actions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
        assert not thread.is_alive(), "it hangs"
    return [results.get(number) for number in range(len(actions))]


def test_poll_does_not_wait() -> None:
    """What is there is handled; nothing is no reason to wait."""
    with federates(2) as (one, two):
        heard: list[int] = []
        two.on_interaction("Fire")(lambda shot: heard.append(shot["Round"]))
        assert two.poll() is False
        for number in range(3):
            one.send("Fire", Target="x", Round=number)
        assert heard == []
        while two.poll():
            pass  # on a machine that is busy, once may not be enough
        assert heard == [0, 1, 2]
        assert two.poll() is False


def test_run_until_says_whether_the_condition_holds() -> None:
    """True as soon as it holds, even if it held before; False when time is up."""
    network = SimulatedNetwork(["S1", "S2"], profile=LinkProfile(delay=0.5))
    with (
        weft.join("Range", "one", fom=RANGE, host=network.at("S1")) as one,
        weft.join("Range", "two", fom=RANGE, host=network.at("S2")) as two,
    ):
        heard: list[int] = []
        two.on_interaction("Fire")(lambda shot: heard.append(shot["Round"]))
        one.run(2.0)
        assert two.run_until(lambda: True, 0.0)
        before = network.clock.now
        assert not two.run_until(lambda: heard, 3.0)
        assert network.clock.now == pytest.approx(before + 3.0)
        one.send("Fire", Target="x", Round=1)
        one.send("Fire", Target="x", Round=2)
        assert two.run_until(lambda: 1 in heard, 10.0)
        assert network.clock.now == pytest.approx(before + 3.5), "no longer than need be"
        assert heard == [1]
        two.run(0.001)
        assert heard == [1, 2]


def test_run_until_gives_up_on_a_real_clock() -> None:
    """The same with the node of a process."""
    with federates(1) as (one,):
        assert not one.run_until(lambda: False, 0.01)
        one.run(0.0)


def test_run_handles_what_arrives_meanwhile() -> None:
    """`run(seconds)` goes on for so long, by the clock of its host."""
    network = SimulatedNetwork(["S1"])
    with federates(2, network.at("S1")) as (one, two):
        heard: list[int] = []
        two.on_interaction("Fire")(lambda shot: heard.append(shot["Round"]))
        one.publish("Fire")
        for number in (1, 2, 3):
            shoot = partial(one.send, "Fire", Target="x", Round=number)
            network.clock.at(network.clock.now + number, shoot)
        before = network.clock.now
        two.run(2.5)
        assert heard == [1, 2]
        assert network.clock.now == before + 2.5


@pytest.mark.parametrize("model", list(CallbackModel))
def test_all_meet_at_a_synchronization_point(model: CallbackModel) -> None:
    """Whoever comes first registers it; nobody goes on before all have come; a label may be used again and again."""
    with federates(3, callbacks=model) as all_three:
        arrived: list[int] = []
        lock = threading.Lock()

        def meet(me: Federate) -> list[int]:
            seen = []
            for turn in range(10):
                with lock:
                    arrived.append(turn)
                assert me.synchronize("step", BOUND)
                with lock:
                    seen.append(arrived.count(turn))
            return seen

        found = side_by_side(*[lambda me=me: meet(me) for me in all_three])
        assert found == [[3] * 10] * 3


def test_a_point_that_nobody_else_reaches() -> None:
    """An error that names the other when time is up; asking again goes on waiting, and is reached when the other comes."""
    network = SimulatedNetwork(["S1", "S2"])
    with (
        weft.join("Range", "one", fom=RANGE, host=network.at("S1")) as one,
        weft.join("Range", "two", fom=RANGE, host=network.at("S2")) as two,
    ):
        for _ in range(2):
            with pytest.raises(NotInTime, match="two has not achieved"):
                one.synchronize("ready", 1.0)
        with pytest.raises(NotInTime, match="'never'"):
            two.synchronize("never", 0.0)
        assert two.synchronize("ready", 1.0)
        assert one.synchronize("ready", 1.0)


def test_a_federate_alone_is_synchronized_at_once() -> None:
    """A federation of one."""
    with federates(1) as (one,):
        assert one.synchronize("ready", BOUND)
        assert one.synchronize("ready", BOUND)


def test_waiting_within_a_handler_is_refused() -> None:
    """EVOKED: callbacks do not nest."""
    with federates(2) as (one, two):
        two.on_interaction("Fire")(lambda shot: two.run_until(lambda: False, BOUND))
        one.send("Fire", Target="x", Round=1)
        with pytest.raises(CallNotAllowedFromWithinCallback):
            two.poll()


def test_immediate_callbacks_come_by_themselves() -> None:
    """IMMEDIATE: handlers run in one thread of their own, while the federate's thread does something else."""
    with federates(2, callbacks=CallbackModel.IMMEDIATE) as (one, two):
        heard: list[int] = []
        threads: set[int] = set()
        done = threading.Event()

        @two.on_interaction("Fire")
        def fired(shot: weft.Interaction) -> None:
            heard.append(shot["Round"])
            threads.add(threading.get_ident())
            if shot["Round"] == 50:
                done.set()

        for number in range(51):
            one.send("Fire", Target="x", Round=number)
        assert done.wait(BOUND)
        assert heard == list(range(51))
        assert len(threads) == 1
        assert threads != {threading.get_ident()}
        assert two.poll() is False


def test_run_until_with_immediate_callbacks_sees_every_change() -> None:
    """The waiting thread looks again after each callback, and never takes one itself."""
    with federates(2, callbacks=CallbackModel.IMMEDIATE) as (one, two):
        heard: list[int] = []
        threads: set[int] = set()

        @two.on_interaction("Fire")
        def fired(shot: weft.Interaction) -> None:
            threads.add(threading.get_ident())
            heard.append(shot["Round"])

        for number in range(200):
            one.send("Fire", Target="x", Round=number)
            assert two.run_until(lambda number=number: heard and heard[-1] == number, BOUND)  # type: ignore[misc]
        assert not two.run_until(lambda: len(heard) > 200, 0.01)
        two.run(0.0)
        assert len(threads) == 1
        assert threading.get_ident() not in threads


def test_waiting_within_an_immediate_handler_is_refused() -> None:
    """IMMEDIATE: the one thread of callbacks cannot wait for itself."""
    with federates(2, callbacks=CallbackModel.IMMEDIATE) as (one, two):
        refused = threading.Event()

        @two.on_interaction("Fire")
        def fired(shot: weft.Interaction) -> None:
            try:
                two.run_until(lambda: False, BOUND)
            except CallNotAllowedFromWithinCallback:
                refused.set()

        one.send("Fire", Target="x", Round=1)
        assert refused.wait(BOUND)


def test_an_error_in_an_immediate_handler_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """IMMEDIATE: the error goes to `threading.excepthook`, and the next callback follows."""
    errors: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda hook: errors.append(str(hook.exc_value)))
    with federates(2, callbacks=CallbackModel.IMMEDIATE) as (one, two):
        heard: list[int] = []

        @two.on_interaction("Fire")
        def fired(shot: weft.Interaction) -> None:
            heard.append(shot["Round"])
            raise ValueError(f"round {shot['Round']}")

        for number in (1, 2):
            one.send("Fire", Target="x", Round=number)
        assert two.run_until(lambda: len(heard) == 2, BOUND)
    assert errors == ["round 1", "round 2"]
