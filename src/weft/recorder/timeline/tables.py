"""The figures of a time line as tables of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from weft.recorder.timeline.figures import Figures, Laxity, TimeWindow, figures_by_priority
from weft.recorder.timeline.lanes import TimelineLane
from weft.recorder.timeline.units import Unit, number, unit_for


class Table(NamedTuple):
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int  # so many columns of words come first; the others are numbers
    bad: frozenset[tuple[int, int]]  # (row, column) of figures that speak of something missed


def priority_text(priority: int | None) -> str:
    return "none" if priority is None else str(priority)


def laxity_unit(known: Iterable[Figures]) -> Unit:
    lengths = [max(abs(one.laxity.least), abs(one.laxity.most)) for one in known if one.laxity is not None]
    return unit_for(max(lengths, default=0))


def laxity_texts(laxity: Laxity | None, unit: Unit) -> tuple[str, str, str]:
    if laxity is None:
        return "", "", ""
    return (
        number(laxity.least / unit.size, 3), number(laxity.average / unit.size, 3),
        number(laxity.most / unit.size, 3),
    )  # fmt: skip


def _figures_texts(one: Figures, unit: Unit) -> tuple[str, ...]:
    counts = (one.pushes, one.runs, one.unfinished, one.misses, one.overruns, one.drops)
    return (*(str(count) if count else "" for count in counts), *laxity_texts(one.laxity, unit),
            f"{one.utilisation:.1%}" if one.runs else "")  # fmt: skip


FIGURES = ("pushes", "runs", "no end", "misses", "overruns", "given up")


def _header(unit: Unit) -> tuple[str, ...]:
    return *FIGURES, *(f"laxity {word} ({unit.name})" for word in ("min", "avg", "max")), "utilisation"


def _bad(known: Sequence[Figures], texts: int) -> frozenset[tuple[int, int]]:
    found = set()
    for row, one in enumerate(known):
        if one.misses:
            found.add((row, texts + FIGURES.index("misses")))
        if one.laxity is not None and one.laxity.least < 0:
            found.add((row, texts + len(FIGURES)))
    return frozenset(found)


def lane_table(chosen: list[TimelineLane], known: dict[int, Figures], with_node: bool) -> Table:
    unit = laxity_unit(known.values())
    rows = []
    for lane in chosen:
        words = (lane.name, *([lane.node] if with_node else []), lane.role, ", ".join(lane.operations),
                 priority_text(lane.priority))  # fmt: skip
        rows.append((*words, *_figures_texts(known[id(lane)], unit)))
    words = ("name", *(["node"] if with_node else []), "role", "operation", "priority")
    bad = _bad([known[id(lane)] for lane in chosen], len(words))
    return Table("Suppliers and consumers", (*words, *_header(unit)), tuple(rows), len(words) - 1, bad)


def priority_table(chosen: list[TimelineLane], window: TimeWindow) -> Table:
    known = figures_by_priority(chosen, window)
    unit = laxity_unit(known.values())
    rows = tuple((priority_text(priority), *_figures_texts(one, unit)) for priority, one in known.items())
    return Table("Priorities", ("priority", *_header(unit)), rows, 0, _bad(list(known.values()), 1))
