"""What the machine's scheduler is told of a thread or process: SCHED_FIFO where it is allowed, niceness where not.

Preemption priorities are numbered from 0, the most urgent.  Under SCHED_FIFO they become levels from 80 down to 1, and the
channel's own threads stand above them at 90: they hand over work and must not wait for those who carry it out.  Best effort,
they become niceness from 0 up, added to that of the channel's process; an ordinary user may ask for that but not take it back.

What a consumer starts (threads, processes) does not inherit its level.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from weft.host import system

CHANNEL_LEVEL = 90
FIRST_LEVEL = 80
NICE_STEP = 5
NICEST = 19


class Standing(NamedTuple):
    """`fifo`: SCHED_FIFO, and `level` is its priority; otherwise `level` is niceness, added to that of the channel's process."""

    fifo: bool
    level: int

    def __str__(self) -> str:
        return f"SCHED_FIFO {self.level}" if self.fifo else f"nice {self.level}"


def standing_for(preemption: int, fifo: bool, levels: int = 1, behind: int = 0) -> Standing:
    """Of the consumers of a preemption priority.  Where one interrupts another within a priority it has several `levels`, and
    `behind` is how many of its consumers that run are more urgent."""
    if fifo:
        return Standing(True, max(1, FIRST_LEVEL - levels * max(0, preemption) - min(behind, levels - 1)))
    return Standing(False, min(NICEST, NICE_STEP * max(0, preemption)))


def channel_standing(fifo: bool) -> Standing:
    return Standing(fifo, CHANNEL_LEVEL if fifo else 0)


def take(standing: Standing, pid: int = 0) -> Standing:
    """For the calling thread, or for a process that has one thread; what it really got."""
    if standing.fifo:
        if system.REALTIME:
            with suppress(OSError):
                how = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
                os.sched_setscheduler(pid, how, os.sched_param(standing.level))
                return standing
        above = standing.level > FIRST_LEVEL
        return take(Standing(False, 0) if above else standing_for(FIRST_LEVEL - standing.level, False), pid)
    if standing.level and hasattr(os, "setpriority"):
        has = os.getpriority(os.PRIO_PROCESS, pid)
        os.setpriority(os.PRIO_PROCESS, pid, min(NICEST, has + standing.level))
    return standing


def move(standing: Standing, pid: int) -> None:
    """Another level of SCHED_FIFO for a process that stands under it; best effort there is none."""
    if standing.fifo and system.REALTIME:
        with suppress(OSError):
            os.sched_setparam(pid, os.sched_param(standing.level))


@contextmanager
def raised(fifo: bool) -> Iterator[Standing]:
    """The calling thread stands with the channel's own for a while."""
    if not fifo or not system.REALTIME:
        yield Standing(False, 0)
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield take(channel_standing(True))
    finally:
        os.sched_setscheduler(0, policy, parameters)


def realtime_standing() -> Standing:
    """What the most urgent consumers would really get here: tried out, in a thread that ends."""
    found: list[Standing] = []
    trial = threading.Thread(target=lambda: found.append(take(standing_for(0, fifo=True))))
    trial.start()
    trial.join()
    return found[0]
