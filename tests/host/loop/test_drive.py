"""Whoever waits drives: the rules of weft.host.loop.drive, each by itself, and in a crowd of threads."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from weft.host.loop import drive as driving
from weft.host.loop.drive import Drive

WAIT = 240.0


class Due:
    """What is due, as a node would have it: a counter, and in which threads it was seen to."""

    def __init__(self) -> None:
        self.due = 0
        self.done = 0

    def is_due(self) -> bool:
        return self.due > self.done

    def do(self) -> None:
        self.done = self.due


@pytest.fixture
def due() -> Due:
    return Due()


@pytest.fixture
def drive(due: Due) -> Iterator[Drive]:
    made = Drive("test", due.is_due, due.do)
    made.start()
    try:
        yield made
    finally:
        made.end()


def attendant_drives(drive: Drive) -> None:
    """Wait until it does, and the loop sleeps."""
    deadline = time.monotonic() + WAIT
    while not (drive.asleep and drive._driver == drive._attendant.ident):
        assert time.monotonic() < deadline
        time.sleep(0.0005)  # between two looks


def test_who_waits_runs_the_loop_in_its_own_thread(drive: Drive) -> None:
    """Whether or not the attendant had it before; and no thread but this one is needed."""
    for _ in range(5):
        seen: list[int] = []
        with drive.mutex:
            drive.loop.call_later(0.001, lambda: seen.append(threading.get_ident()))  # noqa: B023
            drive.until(lambda: bool(seen), WAIT)  # noqa: B023
        assert seen == [threading.get_ident()]
        attendant_drives(drive)


def test_the_attendant_serves_while_nobody_waits(drive: Drive) -> None:
    """A connection is answered though this thread does nothing but wait for the answer outside of the loop."""
    with drive.mutex:
        answers, asks = socket.socketpair()
        answers.setblocking(False)
        drive.loop.add_reader(answers, lambda: answers.send(answers.recv(10).upper()))
    asks.settimeout(WAIT)
    for _ in range(3):
        asks.send(b"there?")
        assert asks.recv(10) == b"THERE?"
    with drive.mutex:
        drive.loop.remove_reader(answers)
    answers.close()
    asks.close()


def test_what_is_due_is_done_by_whoever_is_there(drive: Drive, due: Due) -> None:
    """Nobody drives, the attendant drives, a caller drives in another thread: after the pause, and not long after."""
    finished = threading.Event()

    def caller() -> None:
        with drive.mutex:
            drive.until(finished.is_set, WAIT)

    for who in ("nobody", "the attendant", "another"):
        other = threading.Thread(target=caller)
        if who == "nobody":
            with drive.mutex:
                drive.until(lambda: False, 0.0)  # the attendant leaves for a while
        else:
            attendant_drives(drive)
        if who == "another":
            other.start()
            deadline = time.monotonic() + WAIT
            while not (drive.asleep and drive._driver == other.ident):
                assert time.monotonic() < deadline
                time.sleep(0.0005)  # between two looks
        with drive.mutex:
            due.due += 1
            drive.look_after(0.001)
        deadline = time.monotonic() + WAIT
        while due.is_due():
            assert time.monotonic() < deadline, who
            time.sleep(0.0005)  # between two looks
        if who == "another":
            finished.set()
            with drive.mutex:
                drive.notify()
            other.join(WAIT)


def test_what_is_to_be_looked_after_is_not_slept_over() -> None:
    """It was said just before the attendant began to drive: what gathered would have waited for the next call."""
    seen = threading.Event()
    drive = Drive("test", lambda: False, seen.set)
    with drive.mutex:
        drive.look_after(0.001)
    drive.start()
    try:
        assert seen.wait(WAIT)
    finally:
        drive.end()


def test_what_can_wait_is_seen_to_when_the_attendant_looks() -> None:
    """Though no caller comes, and it does not count as due."""
    seen = threading.Event()
    drive = Drive("test", lambda: False, seen.set)
    drive.start()
    try:
        for _ in range(5):
            with drive.mutex:
                drive.until(lambda: False, 0.0)
                assert (
                    drive.is_stepping(time.monotonic()) or time.monotonic() - drive._left_at >= driving.IDLE
                )
                seen.clear()
                drive.look_some_time()
            assert seen.wait(WAIT)
    finally:
        drive.end()


def test_a_look_does_not_wait(drive: Drive) -> None:
    """With 0 seconds what is there is handled, whoever drives, and nobody sleeps."""
    for _ in range(3):
        seen: list[int] = []
        with drive.mutex:
            drive.loop.call_soon(seen.append, 1)
            drive.until(lambda: False, 0.0)
        assert seen == [1]
        attendant_drives(drive)


@pytest.mark.parametrize("seed", range(4))
def test_a_crowd_of_threads(drive: Drive, due: Due, seed: int) -> None:
    """Each thread asks something that the loop answers later, in any order: all are answered, none touches while another does."""
    chance = random.Random(seed)
    inside: list[int] = []
    faults: list[str] = []
    delays = [[chance.choice((0.0, 0.0, 0.0005, 0.002)) for _ in range(30)] for _ in range(6)]

    def touch() -> None:
        inside.append(threading.get_ident())
        if len(inside) != 1:
            faults.append("two at once")
        inside.pop()

    def answer(answers: list[int], number: int) -> None:
        touch()
        due.due += 1
        answers.append(number)

    def asker(mine: list[float]) -> None:
        answers: list[int] = []
        for number, delay in enumerate(mine):
            with drive.mutex:
                touch()
                drive.loop.call_later(delay, answer, answers, number)
                drive.until(lambda: len(answers) > number, WAIT)  # noqa: B023
                if answers[-1:] != [number]:
                    faults.append(f"not answered: {number}")
            if delay:
                time.sleep(delay)  # it computes

    threads = [threading.Thread(target=asker, args=(mine,)) for mine in delays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert faults == []
    assert not any(thread.is_alive() for thread in threads)
    assert not due.is_due()


def _wait_with(drive: Drive, timer: threading.Timer) -> None:
    with drive.mutex:
        timer.start()  # not before: it may be quick
        drive.until(lambda: False, WAIT)


def test_an_interrupted_wait_leaves_all_in_order(drive: Drive) -> None:
    """Ctrl-C comes out of the wait, and the next wait is as any other."""
    for _ in range(50):
        timer = threading.Timer(0.002, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            _wait_with(drive, timer)
        timer.join()
        assert not drive.is_held
        seen: list[int] = []
        with drive.mutex:
            drive.loop.call_later(0.001, seen.append, 1)
            drive.until(lambda: bool(seen), WAIT)  # noqa: B023
        assert seen == [1]
        attendant_drives(drive)  # nothing keeps it from doing so, wherever the interruption came


def test_nothing_is_left(due: Due) -> None:
    """Neither a thread nor a file descriptor, however it ended; and who waits is let go."""
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    threads = threading.active_count()
    made = Drive("test", due.is_due, due.do)
    made.start()

    def waits() -> None:
        with made.mutex:
            made.until(lambda: False, WAIT)

    waiting = threading.Thread(target=waits)
    waiting.start()
    with made.mutex:
        task = made.loop.create_task(_never(made))
    made.end()
    waiting.join(WAIT)
    assert task.cancelled()
    assert threading.active_count() == threads
    if files:
        assert len(os.listdir("/proc/self/fd")) == files


async def _never(drive: Drive) -> None:
    await drive.loop.create_future()


def test_work_that_takes_too_long_is_given_up(drive: Drive) -> None:
    with drive.mutex, pytest.raises(TimeoutError):
        drive.complete(_never(drive), 0.005)


def test_the_attendant_waits_for_a_while(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as callers drive often enough it never does: a federate that steps fast pays no thread switch."""
    monkeypatch.setattr(driving, "IDLE", 5.0)
    with drive.mutex:
        drive.until(lambda: False, 0.0)
    for _ in range(50):
        with drive.mutex:
            assert drive._driver == 0
            drive.until(lambda: False, 0.001)
