"""The schedule file (TOML): what the off-line scheduler decided, for the runs to come.

    policy = "rate monotonic"
    preemptive = true

    [operations."radar.push"]
    worst = 0.002                   # seconds; so are typical, cached, period, quantum
    period = 0.025
    criticality = 3                 # 0 (very low) to 4 (very high); so is importance
    after = ["antenna.turn"]        # what triggers it
    priority = 0
    sub_priority = 1

A run needs only the priorities and `worst`, against which overruns are measured; the rest is there for whoever reads the
file, and to plan anew from it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import NoReturn

from weft.channel.scheduling.rt_info import MEDIUM, After, RtInfo, triggers
from weft.channel.scheduling.schedule import POLICIES, Scheduled, SchedulePlan
from weft.model.errors import ScheduleError
from weft.model.records import Source
from weft.model.toml_places import Path, places

TIMES = ("worst", "typical", "cached", "period", "quantum")
WHOLES = ("criticality", "importance", "threads")
DECIDED = ("priority", "sub_priority", "lead", "response", "meets_deadline", "after")
HEAD = ("policy", "preemptive", "schedulable", "utilisation", "operations")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def write_schedule(plan: SchedulePlan) -> str:
    """As the text of a file that `parse_schedule` takes."""
    lines = [
        f"policy = {json.dumps(plan.policy)}",
        f"preemptive = {json.dumps(plan.preemptive)}",
        f"schedulable = {json.dumps(plan.schedulable)}",
        f"utilisation = {plan.utilisation!r}",
    ]
    for one in plan.operations:
        info = one.info
        lines += ["", f"[operations.{json.dumps(info.name, ensure_ascii=False)}]"]
        times = {"worst": info.worst, "typical": info.typical, "cached": info.cached, "period": one.period}
        lines += [f"{word} = {value!r}" for word, value in times.items() if value]
        lines += [f"quantum = {info.quantum!r}"] if info.quantum else []
        lines += [f"{word} = {getattr(info, word)}" for word in WHOLES]
        names = list(dict.fromkeys(part.operation for part in triggers(info.dependencies)))
        lines += [f"after = {json.dumps(names, ensure_ascii=False)}"] if names else []
        lines += [f"priority = {one.priority}", f"sub_priority = {one.sub_priority}"]
        lines += [f"lead = {one.lead!r}"] if one.lead is not None else []
        lines += [f"response = {one.response!r}"] if one.response is not None else []
        lines += [] if one.meets_deadline else ["meets_deadline = false"]
    return "\n".join(lines) + "\n"


def parse_schedule(source: Source) -> SchedulePlan:
    """What is wrong with a file is said with its line."""
    try:
        text = source.data.decode("utf-8")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ScheduleError(f"is not UTF-8: {error}", source.name) from None
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.search(str(error))
        line = found[1] if found and found[1] else text.count("\n") + 1
        raise ScheduleError(_TOML_PLACE.sub("", str(error)), f"{source.name}:{line}") from None
    return _ScheduleReader(source.name, document, places(text)).read()


class _ScheduleReader:
    def __init__(self, name: str, document: dict[str, object], lines: Mapping[Path, int]) -> None:
        self.name = name
        self.document = document
        self.lines = lines

    def read(self) -> SchedulePlan:
        for key in self.document:
            if key not in HEAD:
                self._fail((key,), f"there is no key {key!r} here; there are {', '.join(HEAD)}")
        policy = self.document.get("policy")
        if policy not in POLICIES:
            self._fail(("policy",), f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        preemptive = self.document.get("preemptive", True)
        if not isinstance(preemptive, bool):
            self._fail(("preemptive",), f"preemptive must be true or false, not {preemptive!r}")
        table = self.document.get("operations", {})
        if not isinstance(table, dict):
            self._fail(("operations",), 'operations are tables, like [operations."radar.push"]')
        operations = [self._operation(name, entry, table) for name, entry in table.items()]
        operations.sort(key=lambda one: (one.priority, one.sub_priority))
        used = self._number((), self.document, "utilisation", 0.0)
        return SchedulePlan(str(policy), bool(preemptive), tuple(operations), used)

    def _operation(self, name: str, entry: object, known: dict[str, object]) -> Scheduled:
        path: Path = ("operations", name)
        if not isinstance(entry, dict):
            self._fail(path, f"operation {name} must be a table")
        for key in entry:
            if key not in (*TIMES, *WHOLES, *DECIDED):
                keys = ", ".join((*TIMES, *WHOLES, *DECIDED))
                self._fail((*path, key), f"operation {name} has no key {key!r}; there are {keys}")
        times = {word: self._number(path, entry, word, 0.0) for word in TIMES}
        wholes = {word: self._whole(path, entry, word) for word in WHOLES if word in entry}
        after = entry.get("after", [])
        if not isinstance(after, list) or not all(isinstance(one, str) for one in after):
            self._fail((*path, "after"), 'after must be a list of operations, like ["antenna.turn"]')
        for at, one in enumerate(after):
            if one not in known:
                self._fail(
                    (*path, "after", at), f"operation {name} runs after {one}, which is not in the file"
                )
        info = RtInfo(
            name,
            **times,
            criticality=wholes.get("criticality", MEDIUM),
            importance=wholes.get("importance", MEDIUM),
            threads=wholes.get("threads", 0),
            dependencies=tuple(After(one) for one in after),
        )
        try:
            info.check()
        except ScheduleError as error:
            self._fail(path, error.message)
        for word in ("priority", "sub_priority"):
            if word not in entry:
                self._fail(path, f"operation {name} has no {word}")
        meets = entry.get("meets_deadline", True)
        if not isinstance(meets, bool):
            self._fail((*path, "meets_deadline"), f"meets_deadline must be true or false, not {meets!r}")
        return Scheduled(
            info,
            times["period"],
            self._whole(path, entry, "priority"),
            self._whole(path, entry, "sub_priority"),
            self._number(path, entry, "lead", 0.0, least=-float("inf")) if "lead" in entry else None,
            self._number(path, entry, "response", 0.0) if "response" in entry else None,
            meets,
        )

    def _number(
        self, path: Path, table: dict[str, object], word: str, default: float, least: float = 0.0
    ) -> float:
        value = table.get(word, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
            bound = " of at least 0" if least == 0.0 else ""
            self._fail((*path, word), f"{word} must be a number{bound}, not {value!r}")
        return float(value)

    def _whole(self, path: Path, table: dict[str, object], word: str) -> int:
        value = table[word]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._fail((*path, word), f"{word} must be a whole number of at least 0, not {value!r}")
        return int(value)

    def _fail(self, path: Path, message: str) -> NoReturn:
        while path and path not in self.lines:
            path = path[:-1]
        raise ScheduleError(message, f"{self.name}:{self.lines[path]}" if path else self.name)
