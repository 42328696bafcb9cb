"""Random runs at the bench.  A run is its seed: a failing one is printed with it, and with the fewest calls that still fail."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import pytest

from support.oracle_bench import Bench
from support.oracle_calls import perform
from support.oracle_operations import SEATS, Chooser
from support.ownership_invariants import check_transfers
from support.small_fom import attributes_of

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


# Attributes change hands: many could own them, and do little else but ask for them and give them up.
_TANK = "Vehicle.GroundVehicle.Tank"
TRADING: Operations = [
    *(("join", seat) for seat in (1, 2, 3)),
    *(
        (do, seat, cls, set(attributes_of(cls)), *more)
        for seat, cls in enumerate([_TANK, _TANK, "Vehicle", _TANK])
        for do, *more in (("publish",), ("subscribe", "", True))
    ),
    ("unsubscribe", 3, _TANK, None),
    *(("register", seat, _TANK, None) for seat in (0, 0, 1)),
]
TRADE = [
    "divest",
    "negotiate",
    "confirm",
    "cancel_divestiture",
    "deny",
    "divest_if_wanted",
    "acquire",
    "acquire",
    "cancel_acquisition",
]
TRADE += [
    "query_ownership",
    "is_owned",
    "update",
    "publish",
    "unpublish",
    "subscribe",
    "register",
    "local_delete",
    "delete",
]
TRADE += ["change_default_way", "resign", "join", "evoke"]


class Kind(NamedTuple):
    advisories: bool = False
    auto_provide: bool = False
    trade: bool = False
    nodes: int = 1
    known_class: bool = False

    def bench(self) -> Bench:
        return Bench(SEATS, self.advisories, self.auto_provide, self.nodes, self.known_class)


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
    bench = kind.bench()
    which: list[str] = []
    try:
        for step in range(steps):
            which = _phase(kind, random, step, which)
            trading = kind.trade and step < len(TRADING)
            operation = TRADING[step] if trading else Chooser(bench, random).operation(*which)
            done.append(operation)
            perform(bench, *operation)
            check_transfers(bench.kernels())
        bench.evoke_all()
    except Exception as error:
        return repr(error)
    finally:
        bench.real.close()
    return ""


def _phase(kind: Kind, random: Random, step: int, before: list[str]) -> list[str]:
    """What may happen at this step; empty: anything."""
    if step < len(_OPENING) and not kind.trade:
        return _OPENING[step : step + 1]
    if step % 12 == 0 or step == len(TRADING):
        return random.choice([[], TRADE, TRADE, TRADE] if kind.trade else [[], _DATA, TRADE])
    return before


def _replay(kind: Kind, operations: Operations) -> str:
    bench = kind.bench()
    try:
        for operation in operations:
            perform(bench, *operation)
            check_transfers(bench.kernels())
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
