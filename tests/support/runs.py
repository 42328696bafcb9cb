"""Random runs at the bench.  A run is its seed: a failing one is printed with it, and with the fewest calls that still fail."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import pytest

from support.bench import Bench
from support.calls import perform
from support.operations import SEATS, Chooser

Operations = list[tuple[Any, ...]]

# Three of the four federates join and declare something before anything may happen.
_OPENING = [
    *["join"] * 2,
    *["publish", "subscribe", "subscribe"] * 3,
    *["publish_interaction", "subscribe_interaction"] * 2,
    *["publish_directed", "subscribe_directed"],
    *["register"] * 4,
]


# For a while at a time only these happen: what is worked out once must also be right when it is used again.
_DATA = ["update", "update", "register", "change_way", "change_default_way", "send", "send", "send_directed"]
_DATA += ["local_delete", "request_instance", "change_interaction_way", "publish", "evoke"]


class Kind(NamedTuple):
    advisories: bool = False
    auto_provide: bool = False


def check(kind: Kind, seeds: Iterable[int], steps: int) -> None:
    for seed in seeds:
        done: Operations = []
        fault = _run(kind, seed, steps, done)
        if fault:
            fewest = _shrink(kind, done)
            lines = "\n".join(f"    {operation!r}," for operation in fewest)
            pytest.fail(f"seed {seed}, {kind}: {fault}\nfewest calls:\n{lines}\n{_replay(kind, fewest)}")


def _run(kind: Kind, seed: int, steps: int, done: Operations) -> str:
    random = Random(seed)
    bench = Bench(SEATS, *kind)
    which: list[str] = []
    try:
        for step in range(steps):
            if step < len(_OPENING):
                which = _OPENING[step : step + 1]
            elif step % 12 == 0:
                which = random.choice([[], _DATA])
            operation = Chooser(bench, random).operation(*which)
            done.append(operation)
            perform(bench, *operation)
        bench.evoke_all()
    except Exception as error:
        return repr(error)
    finally:
        bench.real.close()
    return ""


def _replay(kind: Kind, operations: Operations) -> str:
    bench = Bench(SEATS, *kind)
    try:
        for operation in operations:
            perform(bench, *operation)
        bench.evoke_all()
    except Exception as error:
        return repr(error)
    finally:
        bench.real.close()
    return ""


def _shrink(kind: Kind, operations: Operations) -> Operations:
    """Leave out what can be left out, in ever smaller pieces."""
    size = len(operations) // 2
    while size:
        start = 0
        while start < len(operations):
            without = operations[:start] + operations[start + size :]
            if _replay(kind, without):
                operations = without
            else:
                start += size
        size //= 2
    return operations
