"""Distribution lists with defects: the rules as the paper prints them, and the real source with one line replaced."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from weft.interest import Logged, Outcome

FOLDER = Path(__file__).resolve().parents[2] / "src" / "weft" / "interest"

# name: what stands in distribution.py, what the mutant has instead
LIST_MUTANTS = {
    "no cancellation": ("            del times[found], nets[found]\n", "            nets[found] = step\n"),
    "the last of a time wins": ("            nets[found] += step\n", "            nets[found] = step\n"),
    "closed interval": (
        "high = bisect_left(self.log_times, self.times[place]) if",
        "high = bisect_right(self.log_times, self.times[place]) if",
    ),
    "the time itself is left out": (
        "        low = bisect_left(self.log_times, time)\n",
        "        low = bisect_right(self.log_times, time)\n",
    ),
    "a delete holds after its time only": (
        "        found = bisect_right(self.times, time)\n        on = self._on[found]\n",
        "        found = bisect_left(self.times, time)\n        on = self._on[found]\n",
    ),
    "by federate, not by region": (
        '        """An Add (1) or Delete (-1) that has been checked."""\n', "        member = (member[0], 0)\n",
    ),
    "without counts of regions": ("            if count == 0 or (count == 1 and step == 1):\n", "            if True:\n"),
    "for ever": ("        return self.status(time) != before, until\n", "        return self.status(time) != before, None\n"),
    "no log": ("            self.log.insert(place, update)\n", "            self.log_times.pop(place)\n"),
    "unlike versions are joined": ("if 0 < place < len(self.versions) and", "if 0 < place < len(self.versions) or"),
}  # fmt: skip

# These show only when something has been reclaimed.
RECLAIM_MUTANTS = {
    "the log of the bound itself is dropped": (
        "        over = passed(self.log_times, bound)\n", "        over = bisect_right(self.log_times, bound[0])\n",
    ),
    "operations at the bound itself are dropped": (
        "        over = passed(self.times, bound)\n", "        over = bisect_right(self.times, bound[0])\n",
    ),
    "D(T) is not kept": ("            self.first = self.nets[over - 1] > 0\n", "            self.first = False\n"),
    "the version before the bound is kept": (
        "self._drop(bisect_right(self.times, bound[0]))", "self._drop(bisect_left(self.times, bound[0]))",
    ),
}  # fmt: skip

# In cells.py.
CELL_MUTANTS = {
    "t2 is not looked at": ("            if following is not None and", "            if False and"),
    "a second change at a time is like a first": ("            if replaced:\n", "            if False:\n"),
    "T before t2": ("        for cell, time, change in steps:\n", "        for cell, time, change in reversed(steps):\n"),
    "the next change is that of the same time": ("following = history.following(time)", "following = None"),
    "the new region is not written down": ("        history.write(time, new)\n", "        pass\n"),
    "one's own updates": ("and one.sender != federate]", "]"),
    "the last cell is left out": ("bisect_left(self.starts, high))", "max(bisect_left(self.starts, high) - 1, 1))"),
}  # fmt: skip


MUTANTS = {"distribution.py": LIST_MUTANTS | RECLAIM_MUTANTS, "cells.py": CELL_MUTANTS}
FILES = ("spacetime.py", "distribution.py", "distribution_lists.py", "cells.py")


class Module:
    """The four modules read anew as one, with one line replaced; without a name, with none: the control.

    Read anew altogether, because compiled classes take no others in place of their own."""

    def __init__(self, name: str = "") -> None:
        names: dict[str, Any] = {"__name__": f"mutant: {name}"}
        found = 0
        for file in FILES:
            text = (FOLDER / file).read_text()
            old, new = MUTANTS.get(file, {}).get(name, ("", ""))
            if old:
                assert text.count(old) == 1, f"{name}: {old!r} stands {text.count(old)} times"
                text = text.replace(old, new)
                found += 1
            text = re.sub(r"^from weft\.interest\..*$", "", text, flags=re.M)
            exec(compile(text, f"{file}, {name}", "exec"), names)
        assert found == bool(name)
        self.DistributionList = names["DistributionList"]
        self.DistributionLists = names["DistributionLists"]
        self.Logged = names["Logged"]
        self.Axis = names["CellAxis"]
        self.Grid = names["Grid"]
        self.CellInterest = names["CellInterest"]


class Printed:
    """Section 6 of the paper to the letter: S() lets a Delete hold after its time only, and Add records before it asks."""

    def __init__(self) -> None:
        self.operations: list[tuple[int, Any, Any]] = []  # kind, federate, time; without the cancelled
        self.log: list[Logged[object]] = []

    def _status(self, federate: Any, time: Any) -> bool:
        adds = [when for kind, whose, when in self.operations if kind > 0 and whose == federate]
        deletes = [when for kind, whose, when in self.operations if kind < 0 and whose == federate]
        return any(added <= time and not any(added < deleted < time for deleted in deletes) for added in adds)

    def _record(self, kind: int, federate: Any, time: Any) -> None:
        if (-kind, federate, time) in self.operations:
            self.operations.remove((-kind, federate, time))
        else:
            self.operations.append((kind, federate, time))

    def _logged(self, federate: Any, time: Any) -> list[Logged[object]]:
        later = [when for _, whose, when in self.operations if whose == federate and when > time]
        return [one for one in self.log if time <= one.time and (not later or one.time < min(later))]

    def update(self, update: Logged[object]) -> list[Any]:
        self.log.append(update)
        federates = dict.fromkeys(federate for _, federate, _ in self.operations)
        return [federate for federate in federates if self._status(federate, update.time)]

    def add(self, member: Any, time: Any) -> Outcome[str, object]:
        federate = member[0]
        self._record(1, federate, time)
        sends = [] if self._status(federate, time) else self._logged(federate, time)
        return Outcome(federate, sends, [], False, False)

    def delete(self, member: Any, time: Any) -> Outcome[str, object]:
        federate = member[0]
        self._record(-1, federate, time)
        retractions = self._logged(federate, time) if self._status(federate, time) else []
        return Outcome(federate, [], retractions, False, False)
