"""How much of one core consumers get before deadlines are missed, with two channels in two processes (S3-15, figure 16).

On one core, in a process each: a high-priority supplier and its consumer, and a low-priority pair.  Each consumer also gets the
events of the other process, and does nothing with them.  A consumer's work is CPU time that it burns; that of the high-priority
one is raised until somebody misses a deadline, which is the end of the period.  Both processes ask for SCHED_FIFO.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

from weft.channel import NO_DISPATCHING, Event, interval, on
from weft.host.in_process.mesh_nodes import open_channel
from weft_benchmarks.channel_remote import PATIENCE, process, take_fifo
from weft_benchmarks.mesh import places
from weft_benchmarks.utilisation import PERIODS, TRIAL, Trial, burn, search, works

WARM = 2  # events of each pair that do not count
_KINDS = {"high": 16, "low": 17}
_URGENCY = {"high": 20, "low": 10}  # of SCHED_FIFO


# --- in the two processes -----------------------------------------------------------------------------------------


class Pair:
    """A supplier that gets timeouts and pushes, and its consumer."""

    def __init__(self, role: str, address: str, work: float, seconds: float) -> None:
        self.laxities: list[int] = []
        self._period = PERIODS[role]
        self._kind = _KINDS[role]
        self._work = work
        self._seconds = seconds
        self._wanted = 0
        self._channel = open_channel(
            "bench", address, configuration=NO_DISPATCHING, additional_settings="Weft.journal=none"
        )
        self._channel.consume(self._own, on(self._kind))
        self._channel.consume(
            lambda events: None, *(on(kind) for kind in _KINDS.values() if kind != self._kind)
        )
        self._supplier = self._channel.supply((1, self._kind), name=role)

    def run(self) -> list[int]:
        """Once the other process is there and has said what it wants; it goes on until that one has finished, too."""
        kind = self._kind
        channel = self._channel

        def is_wanted() -> bool:
            return any((0, kind) in gateway.counts for gateway in channel.gateways())

        if not channel.wait(PATIENCE, until=is_wanted):
            raise RuntimeError("the other process is not there")
        channel.consume(self._supply, interval(self._period))
        channel.wait(self._seconds + WARM * max(PERIODS.values()))
        return self.laxities[WARM:]

    def _supply(self, events: Any) -> None:
        self._supplier.push(Event(self._kind, 1, None, created=events[0].payload.due))

    def _own(self, events: Any) -> None:
        burn(self._work)
        self.laxities.append(round((events[0].created + self._period - time.monotonic()) * 1e9))


def main(role: str, address: str, work: str, seconds: str) -> None:
    fifo = take_fifo(_URGENCY[role])
    if not fifo and role == "low":
        os.nice(10)
    laxities = Pair(role, address, float(work), float(seconds)).run()
    print(json.dumps({"fifo": fifo, "laxities": laxities}), flush=True)


# --- in the process of the benchmark ------------------------------------------------------------------------------


def trial(build: str, folder: str, level: float, seconds: float = TRIAL) -> Trial:
    """Both pairs together ask for this part of the core."""
    found = Trial()
    work = works(level)
    addresses = dict(zip(work, places(folder), strict=True))
    with contextlib.ExitStack() as stack:
        running = {
            role: stack.enter_context(
                process(__name__, build, role, addresses[role], str(work[role]), str(seconds), pinned=True)
            )
            for role in work
        }
        for role, one in running.items():
            said, complaint = one.communicate(timeout=120)
            if one.returncode:
                raise RuntimeError(f"the {role}-priority process failed:\n{complaint}")
            outcome = json.loads(said)
            found.fifo = found.fifo and outcome["fifo"]
            found.laxities[role] = outcome["laxities"]
    return found


def federated(build: str, folder: str) -> dict[str, Any]:
    return search(lambda level: trial(build, folder, level), "federated")


if __name__ == "__main__":
    main(*sys.argv[1:])
