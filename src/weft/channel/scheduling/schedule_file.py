"""The schedule file (TOML): operations as they are known before the run, and what the off-line scheduler decided of them.

    policy = "rate monotonic"
    preemptive = true

    [operations."radar.push"]
    worst = 0.002                   # seconds; so are typical, cached, period, quantum
    period = 0.025                  # its own; left out where others trigger it
    criticality = 3                 # 0 (very low) to 4 (very high); so is importance
    after = ["antenna.turn"]        # what triggers it: each of these
    priority = 0
    sub_priority = 1

Besides names, `after` may have `{after = "a", calls = 2}`, `{every = 0.5}`, `{all = ["a", "b"]}` and `{any = ["a", "b"]}`, in one
another.  A file without priorities is a draft: `weft schedule plan` makes a schedule of it.  A run needs the priorities, the
periods and `worst`, against which overruns are measured; the rest is there for whoever reads the file, and to plan anew from it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from weft.channel.scheduling.rt_info import (
    MEDIUM,
    After,
    AfterAll,
    AfterAny,
    Every,
    RtInfo,
    Trigger,
    did_you_mean,
    rate,
    streams,
)
from weft.channel.scheduling.schedule import POLICIES, RATE_MONOTONIC, Scheduled, SchedulePlan
from weft.model.errors import ScheduleError
from weft.model.records import Source
from weft.model.toml_places import Path, places

TIMES = ("worst", "typical", "cached", "period", "quantum")
WHOLES = ("criticality", "importance", "threads")
DECIDED = ("priority", "sub_priority", "lead", "response", "meets_deadline", "after")
HEAD = ("policy", "preemptive", "schedulable", "utilisation", "operations")
FORMS = 'a name, {after = "name", calls = 2}, {every = 0.5}, {all = [...]} or {any = [...]}'
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def write_schedule(plan: SchedulePlan) -> str:
    """As the text of a file that `parse_schedule` takes."""
    if plan.policy not in POLICIES:
        raise ScheduleError(
            f"a schedule by the policy {plan.policy!r} is not kept in a file: only {', '.join(POLICIES)} are known to those who "
            "read it; make it anew from its RT_Infos"
        )
    lines = [
        f"policy = {json.dumps(plan.policy)}",
        f"preemptive = {json.dumps(plan.preemptive)}",
        f"schedulable = {json.dumps(plan.schedulable)}",
        f"utilisation = {plan.utilisation!r}",
    ]
    for one in plan.operations:
        info = one.info
        lines += ["", f"[operations.{json.dumps(info.name, ensure_ascii=False)}]"]
        times = {"worst": info.worst, "typical": info.typical, "cached": info.cached, "period": info.period}
        lines += [f"{word} = {value!r}" for word, value in times.items() if value]
        lines += [f"quantum = {info.quantum!r}"] if info.quantum else []
        lines += [f"{word} = {getattr(info, word)}" for word in WHOLES]
        parts = ", ".join(_trigger_text(part) for part in info.dependencies)
        lines += [f"after = [{parts}]"] if parts else []
        lines += [f"# runs every {one.period:.6g} s"] if one.period and not info.period else []
        lines += [f"priority = {one.priority}", f"sub_priority = {one.sub_priority}"]
        lines += [f"lead = {one.lead!r}"] if one.lead is not None else []
        lines += [f"response = {one.response!r}"] if one.response is not None else []
        lines += [] if one.meets_deadline else ["meets_deadline = false"]
    return "\n".join(lines) + "\n"


def _trigger_text(trigger: Trigger) -> str:
    if isinstance(trigger, After):
        name = json.dumps(trigger.operation, ensure_ascii=False)
        return name if trigger.calls == 1 else f"{{after = {name}, calls = {trigger.calls}}}"
    if isinstance(trigger, Every):
        return f"{{every = {trigger.seconds!r}}}"
    word = "all" if isinstance(trigger, AfterAll) else "any"
    return f"{{{word} = [{', '.join(_trigger_text(part) for part in trigger.parts)}]}}"


@dataclass(frozen=True, slots=True)
class ScheduleDraft:
    """What a file says; `decided` is None where its operations have no priorities yet."""

    policy: str
    preemptive: bool
    infos: tuple[RtInfo, ...]
    decided: SchedulePlan | None


def parse_schedule(source: Source) -> SchedulePlan:
    """A file of which all operations have priorities.  What is wrong with it is said with its line."""
    found = _reader(source).read(False).decided
    assert found is not None
    return found


def parse_draft(source: Source) -> ScheduleDraft:
    """A file with or without priorities."""
    return _reader(source).read(True)


def _reader(source: Source) -> _ScheduleReader:
    try:
        text = source.data.decode("utf-8")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ScheduleError(f"is not UTF-8: {error}", source.name) from None
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.search(str(error))
        line = found[1] if found and found[1] else text.count("\n") + 1
        raise ScheduleError(_TOML_PLACE.sub("", str(error)), f"{source.name}:{line}") from None
    return _ScheduleReader(source.name, document, places(text))


class _ScheduleReader:
    def __init__(self, name: str, document: dict[str, object], lines: Mapping[Path, int]) -> None:
        self.name = name
        self.document = document
        self.lines = lines

    def read(self, draft: bool) -> ScheduleDraft:
        for key in self.document:
            if key not in HEAD:
                self._fail((key,), f"there is no key {key!r} here; there are {', '.join(HEAD)}")
        policy = self.document.get("policy", RATE_MONOTONIC if draft else None)
        if policy not in POLICIES:
            self._fail(("policy",), f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        preemptive = self.document.get("preemptive", True)
        if not isinstance(preemptive, bool):
            self._fail(("preemptive",), f"preemptive must be true or false, not {preemptive!r}")
        table = self.document.get("operations", {})
        if not isinstance(table, dict):
            self._fail(("operations",), 'operations are tables, like [operations."radar.push"]')
        infos = tuple(self._info(name, entry, table) for name, entry in table.items())
        try:
            runs = streams(list(infos))
        except ScheduleError as error:
            self._fail(("operations",), error.message)
        decided = None
        if not draft or any("priority" in entry or "sub_priority" in entry for entry in table.values()):
            periods = {name: 1 / rate(series) if series else 0.0 for name, series in runs.items()}
            operations = [self._decided(info, table[info.name], periods[info.name]) for info in infos]
            operations.sort(key=lambda one: (one.priority, one.sub_priority))
            used = self._number((), self.document, "utilisation", 0.0)
            decided = SchedulePlan(str(policy), preemptive, tuple(operations), used)
        return ScheduleDraft(str(policy), preemptive, infos, decided)

    def _info(self, name: str, entry: object, known: dict[str, object]) -> RtInfo:
        path: Path = ("operations", name)
        if not isinstance(entry, dict):
            self._fail(path, f"operation {name} must be a table")
        for key in entry:
            if key not in (*TIMES, *WHOLES, *DECIDED):
                keys = ", ".join((*TIMES, *WHOLES, *DECIDED))
                self._fail((*path, key), f"operation {name} has no key {key!r}; there are {keys}")
        times = {word: self._number(path, entry, word, 0.0) for word in TIMES}
        wholes = {word: self._whole(path, entry, word) for word in WHOLES if word in entry}
        info = RtInfo(
            name,
            **times,
            criticality=wholes.get("criticality", MEDIUM),
            importance=wholes.get("importance", MEDIUM),
            threads=wholes.get("threads", 0),
            dependencies=self._triggers((*path, "after"), entry.get("after", []), name, known),
        )
        try:
            info.check()
        except ScheduleError as error:
            self._fail(path, error.message)
        return info

    def _triggers(
        self, path: Path, value: object, name: str, known: dict[str, object]
    ) -> tuple[Trigger, ...]:
        if not isinstance(value, list):
            self._fail(path, f"{path[-1]} must be a list of what triggers {name}, each of it {FORMS}")
        return tuple(self._trigger((*path, at), one, name, known) for at, one in enumerate(value))

    def _trigger(self, path: Path, value: object, name: str, known: dict[str, object]) -> Trigger:
        match value:
            case str(other):
                return self._after(path, other, 1, name, known)
            case {"after": str(other), **more} if set(more) <= {"calls"}:
                calls = more.get("calls", 1)
                if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
                    self._fail(path, f"calls must be a whole number of at least 1, not {calls!r}")
                return self._after(path, other, calls, name, known)
            case {"every": int() | float() as every, **more} if not more:
                seconds = self._number(path, {"every": every}, "every", 0.0)
                if not seconds:
                    self._fail(path, "every must be longer than 0 seconds")
                return Every(seconds)
            case {"all": list(parts), **more} if not more and parts:
                return AfterAll(self._triggers((*path, "all"), parts, name, known))
            case {"any": list(parts), **more} if not more and parts:
                return AfterAny(self._triggers((*path, "any"), parts, name, known))
        return self._fail(path, f"{value!r} triggers nothing; write {FORMS}")

    def _after(self, path: Path, other: str, calls: int, name: str, known: dict[str, object]) -> After:
        if other not in known:
            hint = did_you_mean(other, known)
            self._fail(path, f"operation {name} runs after {other}, which is not in the file{hint}")
        return After(other, calls)

    def _decided(self, info: RtInfo, entry: dict[str, object], period: float) -> Scheduled:
        path: Path = ("operations", info.name)
        for word in ("priority", "sub_priority"):
            if word not in entry:
                self._fail(
                    path,
                    f"operation {info.name} has no {word}; `weft schedule plan` gives all of them theirs",
                )
        meets = entry.get("meets_deadline", True)
        if not isinstance(meets, bool):
            self._fail((*path, "meets_deadline"), f"meets_deadline must be true or false, not {meets!r}")
        return Scheduled(
            info,
            period,
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
