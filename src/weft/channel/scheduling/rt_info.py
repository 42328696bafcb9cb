"""RT_Info: what is known of an operation before the run (S3-10), and how often it therefore runs.

An operation has a period of its own, or it is triggered by others, whose periods it inherits: each of them alone triggers it
(their rates add up), or all together do (it runs as often as the slowest).  The times at which it runs are described by
*streams*, one period for each independent series of triggers; its own period is that of all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from weft.model.errors import ScheduleError

LEVELS = ("very low", "low", "medium", "high", "very high")  # of criticality and of importance, by number
MEDIUM = 2


@dataclass(frozen=True, slots=True)
class After:
    """Triggered by another operation, `calls` times whenever that one runs."""

    operation: str
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Every:
    """Triggered by an interval timer."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AfterAny:
    parts: tuple[Trigger, ...]


@dataclass(frozen=True, slots=True)
class AfterAll:
    parts: tuple[Trigger, ...]


Trigger = After | Every | AfterAny | AfterAll


@dataclass(frozen=True, slots=True)
class RtInfo:
    """One operation: its entry point is its name.  Times are in seconds; 0 means unknown.

    period: 0 means that it has none of its own, and runs as its dependencies say.  Each of them triggers it.
    threads: how many of it run side by side; 0 is the same as 1.
    quantum: its time slice, for hosts that divide time among equals.
    """

    name: str
    worst: float = 0.0
    typical: float = 0.0
    cached: float = 0.0
    period: float = 0.0
    criticality: int = MEDIUM
    importance: int = MEDIUM
    quantum: float = 0.0
    threads: int = 0
    dependencies: tuple[Trigger, ...] = ()

    def check(self) -> None:
        for word in ("worst", "typical", "cached", "period", "quantum"):
            value: float = getattr(self, word)
            if not 0 <= value < float("inf"):
                raise ScheduleError(
                    f"operation {self.name}: {word} must be a time of at least 0 seconds, not {value!r}"
                )
        for word in ("criticality", "importance"):
            if getattr(self, word) not in range(len(LEVELS)):
                raise ScheduleError(
                    f"operation {self.name}: {word} must be 0 ({LEVELS[0]}) to {len(LEVELS) - 1} ({LEVELS[-1]}), "
                    f"not {getattr(self, word)!r}"
                )
        if self.threads < 0:
            raise ScheduleError(f"operation {self.name}: threads must be at least 0, not {self.threads}")
        if not self.name:
            raise ScheduleError("an operation has no name")


def triggers(parts: tuple[Trigger, ...]) -> Iterator[After]:
    """All operations that are named in them."""
    for part in parts:
        if isinstance(part, After):
            yield part
        elif isinstance(part, AfterAny | AfterAll):
            yield from triggers(part.parts)


def in_dependency_order(infos: list[RtInfo]) -> list[RtInfo]:
    """Those that are depended on first; a circle or an operation that does not exist is an error."""
    known = {info.name: info for info in infos}
    if len(known) != len(infos):
        twice = next(info.name for info in infos if [one.name for one in infos].count(info.name) > 1)
        raise ScheduleError(f"there are two operations {twice}")
    done: dict[str, RtInfo] = {}
    for info in infos:
        info.check()
        _visit(info, known, done, [])
    return list(done.values())


def _visit(info: RtInfo, known: dict[str, RtInfo], done: dict[str, RtInfo], way: list[str]) -> None:
    if info.name in done:
        return
    if info.name in way:
        circle = [*way[way.index(info.name) :], info.name]
        raise ScheduleError(f"operations depend on one another in a circle: {' → '.join(circle)}")
    for one in triggers(info.dependencies):
        if one.operation not in known:
            raise ScheduleError(
                f"operation {info.name} depends on {one.operation}, which does not exist{did_you_mean(one.operation, known)}"
            )
        if one.calls < 1:
            raise ScheduleError(
                f"operation {info.name} is called {one.calls} times by {one.operation}; at least 1"
            )
        _visit(known[one.operation], known, done, [*way, info.name])
    done[info.name] = info


def streams(infos: list[RtInfo]) -> dict[str, tuple[float, ...]]:
    """The periods of the independent series of triggers of each operation; none for one that is never triggered."""
    found: dict[str, tuple[float, ...]] = {}
    for info in in_dependency_order(infos):
        own = (info.period,) if info.period else _together(info.dependencies, found)
        found[info.name] = own * max(1, info.threads)
    return found


def rate(periods: tuple[float, ...]) -> float:
    return sum(1 / period for period in periods)


def _together(parts: tuple[Trigger, ...], found: dict[str, tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(period for part in parts for period in _of(part, found))


def _of(trigger: Trigger, found: dict[str, tuple[float, ...]]) -> tuple[float, ...]:
    if isinstance(trigger, After):
        return found[trigger.operation] * trigger.calls
    if isinstance(trigger, Every):
        return (trigger.seconds,)
    if isinstance(trigger, AfterAny):
        return _together(trigger.parts, found)
    return min((_of(part, found) for part in trigger.parts), key=rate)


def depths(infos: list[RtInfo]) -> dict[str, int]:
    """The length of the longest chain of dependencies that leads to each."""
    found: dict[str, int] = {}
    for info in in_dependency_order(infos):
        found[info.name] = max((found[one.operation] + 1 for one in triggers(info.dependencies)), default=0)
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else ""
