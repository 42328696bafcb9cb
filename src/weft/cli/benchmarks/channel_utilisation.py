"""How much of one core consumers get before deadlines are missed, with two channels in two processes (S3-15, figure 16).

On one core, in a process each: a high-priority supplier and its consumer, and a low-priority pair.  Each consumer also gets the
events of the other process, and does nothing with them.  A consumer's work is CPU time that it burns; that of the high-priority
one is raised until somebody misses a deadline, which is the end of the period.  Both processes ask for SCHED_FIFO.

On a shared machine a miss may be another's doing: a level counts as met if one of several trials had none, and how many were
needed is part of the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

from weft.channel import NO_DISPATCHING, Event, interval, on
from weft.cli.benchmarks.channel_remote import PATIENCE, process, take_fifo
from weft.cli.benchmarks.mesh import places
from weft.cli.benchmarks.runner import say
from weft.host.own_channels import open_channel

PERIODS = {"high": 0.050, "low": 0.100}
LOW_WORK = 0.020
TRIAL = 2.0  # seconds
ATTEMPTS = 3
LEVELS = tuple(number / 100 for number in range(80, 100))
WARM = 2  # events of each pair that do not count
_KINDS = {"high": 16, "low": 17}
_URGENCY = {"high": 20, "low": 10}  # of SCHED_FIFO


# --- in the two processes -----------------------------------------------------------------------------------------


def burn(seconds: float) -> None:
    """So much CPU time, however long that takes."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class Pair:
    """A supplier that gets timeouts and pushes, and its consumer."""

    def __init__(self, role: str, address: str, work: float) -> None:
        self.laxities: list[float] = []
        self._period = PERIODS[role]
        self._kind = _KINDS[role]
        self._work = work
        self._wanted = 0
        self._channel = open_channel(
            "bench", address, configuration=NO_DISPATCHING, additional_settings="Weft.journal=none"
        )
        self._channel.consume(self._own, on(self._kind))
        self._channel.consume(
            lambda events: None, *(on(kind) for kind in _KINDS.values() if kind != self._kind)
        )
        self._supplier = self._channel.supply((1, self._kind), name=role)

    def run(self) -> list[float]:
        """Once the other process is there and has said what it wants; it goes on until that one has finished, too."""
        kind = self._kind
        channel = self._channel

        def is_wanted() -> bool:
            return any((0, kind) in gateway.counts for gateway in channel.gateways())

        if not channel.wait(PATIENCE, until=is_wanted):
            raise RuntimeError("the other process is not there")
        channel.consume(self._supply, interval(self._period))
        channel.wait(TRIAL + WARM * max(PERIODS.values()))
        return self.laxities[WARM:]

    def _supply(self, events: Any) -> None:
        self._supplier.push(Event(self._kind, 1, None, created=events[0].payload.due))

    def _own(self, events: Any) -> None:
        burn(self._work)
        self.laxities.append(events[0].created + self._period - time.monotonic())


def main(role: str, address: str, work: str) -> None:
    fifo = take_fifo(_URGENCY[role])
    if not fifo and role == "low":
        os.nice(10)
    laxities = Pair(role, address, float(work)).run()
    print(json.dumps({"fifo": fifo, "laxities": laxities}), flush=True)


# --- in the process of the benchmark ------------------------------------------------------------------------------


def trial(build: str, folder: str, level: float) -> dict[str, Any]:
    """Both pairs together ask for this part of the core; their laxities in seconds."""
    works = {"high": (level - LOW_WORK / PERIODS["low"]) * PERIODS["high"], "low": LOW_WORK}
    addresses = dict(zip(works, places(folder), strict=True))
    found: dict[str, Any] = {"fifo": True}
    with contextlib.ExitStack() as stack:
        running = {
            role: stack.enter_context(process(__name__, build, role, addresses[role], str(work), pinned=True))
            for role, work in works.items()
        }
        for role, one in running.items():
            said, complaint = one.communicate(timeout=120)
            if one.returncode:
                raise RuntimeError(f"the {role}-priority process failed:\n{complaint}")
            outcome = json.loads(said)
            found["fifo"] = found["fifo"] and outcome["fifo"]
            found[role] = outcome["laxities"]
    return found


def search(build: str, folder: str) -> dict[str, Any]:
    """The highest level without a miss, by halving, and the laxities of all that were tried."""
    row: dict[str, Any] = {"build": build, "channels": "federated", "fifo": True, "utilisation": 0.0}
    levels: list[dict[str, Any]] = []
    low, high = 0, len(LEVELS)  # levels below `low` were met, those from `high` on were not
    while low < high:
        middle = (low + high) // 2
        tried = _level(build, folder, LEVELS[middle])
        row["fifo"] = row["fifo"] and tried.pop("fifo")
        levels.append(tried)
        if tried["misses"]:
            high = middle
        else:
            row["utilisation"] = LEVELS[middle]
            low = middle + 1
    row["levels"] = sorted(levels, key=lambda one: float(one["level"]))
    return row


def _level(build: str, folder: str, level: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attempt in range(1, ATTEMPTS + 1):
        say(f"utilisation of two channels, {level:.0%}, attempt {attempt}")
        outcome = trial(build, folder, level)
        misses = sum(laxity < 0 for role in PERIODS for laxity in outcome[role])
        found = {"level": level, "misses": misses, "attempts": attempt, "fifo": outcome["fifo"]}
        found |= {f"{role}_laxity_ms": _spread(outcome[role]) for role in PERIODS}
        if not misses:
            break
    return found


def _spread(laxities: list[float]) -> dict[str, float]:
    figures = {"min": min(laxities), "mean": sum(laxities) / len(laxities), "max": max(laxities)}
    return {word: round(1000 * value, 3) for word, value in figures.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
