"""What an experiment of a paper comes out as: figures and tables, each beside what the paper says of it.

`Claim.holds` is found from what was measured, never written down: a claim that does not come out again is shown as such.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.drawing import Chart, ChartPoint, Graphic, line_chart
from weft.model.json_types import Json


class Table(NamedTuple):
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words; whether it comes out here; and by which of our numbers one sees that."""

    says: str
    holds: bool | None
    because: str


@dataclass
class Figure:
    # As the paper numbers it ("4.1"); a figure that goes beyond the paper has none.
    number: str
    title: str
    shows: Sequence[Chart | Graphic | Table]
    claims: Sequence[Claim] = ()
    # What the paper prints, where it prints numbers.
    printed: Table | None = None
    # What one has to know to read it: what differs from the paper's experiment.
    notes: Sequence[str] = ()


@dataclass
class Chapter:
    """All that came out of one paper."""

    paper: str
    title: str
    about: str
    settings: dict[str, Json] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    quick: bool
    # Told what is being done, and how far it is: from 0 to 1.
    progress: Callable[[str, float], None]
    # Each federate in a network namespace of its own, with its own address, where a chapter can do so.
    apart: bool = False

    def choose(self, quick: int, full: int) -> int:
        return quick if self.quick else full


def mean_of(x: float, samples: Sequence[float]) -> ChartPoint:
    return ChartPoint(x, statistics.fmean(samples), min(samples), max(samples))


def picture_of(shown: Chart | Graphic) -> Graphic:
    return line_chart(shown) if isinstance(shown, Chart) else shown


def as_json(chapter: Chapter) -> Json:
    """For the file beside the page: all numbers, without the pictures' shapes."""
    return {
        "paper": chapter.paper,
        "title": chapter.title,
        "settings": chapter.settings,
        "figures": [
            {
                "number": figure.number,
                "title": figure.title,
                "claims": [dataclasses.asdict(claim) for claim in figure.claims],
                "printed": _table(figure.printed) if figure.printed is not None else None,
                "notes": list(figure.notes),
                "shows": [_shown(one) for one in figure.shows],
            }
            for figure in chapter.figures
        ],
    }


def _table(table: Table) -> Json:
    return {"heads": list(table.heads), "rows": [list(row) for row in table.rows]}


def _shown(shown: Chart | Graphic | Table) -> Json:
    if isinstance(shown, Table):
        return {"table": _table(shown)}
    if isinstance(shown, Graphic):
        return {"picture": shown.title}
    series: Json = [
        {"name": one.name, "points": [list(point) for point in one.points]} for one in shown.series
    ]
    return {"chart": shown.title, "x": shown.x, "y": shown.y, "series": series}
