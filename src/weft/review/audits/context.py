"""What every audit is given, and what it gives back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from weft.review.advice.rows import AdviceRows
from weft.review.audits.survey import ACTING as ACTING
from weft.review.audits.survey import RTI as RTI
from weft.review.audits.survey import MemberStay, Seen, survey
from weft.review.kernels import arrow
from weft.review.kernels.records import AuditFigures, Violation
from weft.review.quality import CLOCK, WRONG
from weft.review.spark.reading import Opened, read_rows
from weft.review.spark.tasks import Frame, RunPart, lives_of, parts_of
from weft.review.steps import StepRunner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBER, CLOCK_COLUMN = "command", "epoch_ns"
SAME_CLOCK = 20_000_000  # ns: nodes whose two clocks differ by as much are on one machine
CLOCKS_DIFFER = 1_000_000_000  # ns that clocks of several machines may differ


@dataclass(frozen=True)
class RecordedMember:
    """A federate, as its rows tell."""

    federate: int
    node: str
    stay: MemberStay


class Leaving(NamedTuple):
    """How a federate left."""

    command: int
    """The number of the command by which it did."""
    told: int
    """Wall clock of the row that tells it first."""


@dataclass
class Result:
    """`violations` counts what is wrong; `unsure` what would be, were rows not missing; witnesses are some of the former."""

    violations: int
    witnesses: list[Violation]
    unsure: int = 0
    figures: AuditFigures = field(default_factory=AuditFigures)
    idle: str = field(default="", compare=False)
    """Why no rows were read for it, if none were: what audits before it have read told enough."""


@dataclass
class Context:
    session: SparkSession | None
    opened: Opened
    rows: DataFrame | None
    witnesses: int = 20
    orders: tuple[str, ...] = ("RO", "CO", "CT")

    rows_per_part: int = 0
    """Of what one task reads; 0: chosen by the number of rows."""

    def reopen(self, opened: Opened) -> None:
        """Other files, or the same with another clock: what was found out before is forgotten."""
        kept = {one.name: self.__dict__[one.name] for one in fields(self)}
        self.__dict__.clear()
        self.__dict__.update(kept, opened=opened)

    @property
    def spark(self) -> SparkSession:
        """For what is done with Spark only."""
        assert self.session is not None
        return self.session

    @cached_property
    def frame(self) -> DataFrame:
        """All rows, by Spark's own reader; with Spark only."""
        return read_rows(self.spark, self.opened) if self.rows is None else self.rows

    @property
    def advice_rows(self) -> AdviceRows:
        return AdviceRows(self.runner, self.parts)

    @cached_property
    def parts(self) -> list[RunPart]:
        return parts_of(self.opened.run, self.rows_per_part)

    def parts_with(self, *kinds: str) -> list[RunPart]:
        """Those that have rows of these kinds."""
        both = zip(self.parts, self.survey, strict=True)
        return [part for part, seen in both if any(seen.kinds[kind] for kind in kinds)]

    @property
    def time_type(self) -> str:
        """Of logical time, in Spark's words."""
        return arrow.time_type(self.opened.time_column)

    @property
    def runner(self) -> StepRunner:
        return StepRunner(self.session, self.time_type)

    @cached_property
    def survey(self) -> list[Seen]:
        """Of each part."""
        return survey(self.session, self.parts, self.opened.time_column)

    @cached_property
    def order_column(self) -> str:
        """What tells which changes a node knew of: the number of its last command; in older rows only the wall clock."""
        return CLOCK_COLUMN if any(seen.unnumbered for seen in self.survey) else NUMBER

    @cached_property
    def gone(self) -> dict[int, Leaving]:
        """Federates that left, as far as rows have numbers of commands."""
        found: dict[int, Leaving] = {}
        for federate, *told in (one for seen in self.survey for one in seen.gone):
            found[federate] = min(Leaving(*told), found.get(federate, Leaving(*told)))
        return found

    @property
    def home(self) -> str:
        """The node that is the federation's home; empty: not known, or rows of it are missing."""
        home = str(self.opened.run.info.get("home") or "")
        return "" if home in self.untold | self.crashed else home

    def has(self, *kinds: str) -> bool:
        """Are there rows of these kinds?"""
        return any(seen.kinds[kind] for seen in self.survey for kind in kinds)

    @cached_property
    def members(self) -> dict[int, RecordedMember]:
        """All federates of the run: there are few, so they are known to the driver."""
        found: dict[int, RecordedMember] = {}
        for seen in self.survey:
            for federate, stay in seen.members.items():
                known = found.get(federate, RecordedMember(federate, seen.node, MemberStay()))
                found[federate] = RecordedMember(
                    federate, min(known.node, seen.node), known.stay.joined(stay)
                )
        return found

    @property
    def joined_before(self) -> int:
        """The number of the last federate that had joined when the first node began to record."""
        return min((one.joined_before for one in self.survey if one.joined_before is not None), default=0)

    @property
    def after_leaving(self) -> set[tuple[int, int]]:
        """Blocks (source, block) of messages that somebody got after it had left."""
        found = {(one, block) for seen in self.survey for one, block in seen.after_leaving}
        for member in self.members.values():
            last, left = member.stay.last, member.stay.left_at
            if last is not None and left is not None and last[0] > left and member.node not in self.crashed:
                found.add((last[1], last[2]))
        return found

    @property
    def untold(self) -> set[str]:
        """Nodes of which rows are missing, or not to be trusted."""
        return set(self.opened.gaps)

    @property
    def grant_slack(self) -> int:
        """By how much the clocks of nodes may differ, ns.

        Nodes on one machine have one clock: then the difference of the two clocks that each writes is the same.
        """
        sums: dict[str, tuple[float, int]] = dict.fromkeys(self.nodes, (0.0, 0))
        for seen in self.survey:
            total, count = sums[seen.node]
            sums[seen.node] = total + seen.offset[0], count + seen.offset[1]
        known = [total / count for total, count in sums.values() if count]
        one_clock = len(sums) == 1 or (len(known) == len(sums) and max(known) - min(known) < SAME_CLOCK)
        return 0 if one_clock else CLOCKS_DIFFER

    def trusted(self, found: Frame, schema: str) -> Frame:
        """The same, with what leans on rows that are missing, or not to be trusted, marked as unsure."""
        doubts = self.opened.doubts
        wrong = {node for doubt in doubts if doubt.severity == WRONG for node in doubt.nodes}
        clock = {node for doubt in doubts if doubt.severity == CLOCK for node in doubt.nodes}
        if not (self.untold or wrong or clock):
            return found
        nodes = {member.federate: member.node for member in self.members.values()}
        by_clock = BY_CLOCK if self.order_column == NUMBER else (*BY_CLOCK, "missed", "extra")
        return found.mapInArrow(partial(doubted, nodes, self.untold, wrong, clock, by_clock), schema)

    @cached_property
    def excused(self) -> set[int]:
        """Federates that may have gone, or whose run may have ended, before something could reach them.

        It ends where they are when their node is cut off, or the federation restored: what is under way then never comes.
        """
        ended = {name for name, node in self.opened.run.nodes.items() if node.get("ended_ns") is not None}
        ended -= {seen.node for seen in self.survey if seen.restored}
        return {one.federate for one in self.members.values() if one.stay.left or one.node not in ended}

    @cached_property
    def crashed(self) -> set[str]:
        """Nodes that crashed once, or still write: what they did last may not be in their files."""
        lives = Counter(life.node for life in lives_of(self.parts))
        stops = Counter[str]()
        for seen in self.survey:
            stops[seen.node] += seen.kinds["stop"]
        nodes = self.opened.run.nodes
        running = {node for node in lives if nodes.get(node, {}).get("ended_ns") is None}
        return running | {node for node, count in lives.items() if count > max(1, stops[node])}

    @cached_property
    def nodes(self) -> list[str]:
        return sorted({file.node for file in self.opened.run.files})

    def result(
        self, found: Frame, schema: str, order: tuple[str, ...], figures: AuditFigures | None = None
    ) -> Result:
        """Of a frame of violations, in which a column `unsure` marks those that are none for certain.

        Every task counts its own, and hands on the first ones.
        """
        told = found.mapInArrow(
            partial(_first_ones, order, self.witnesses, schema), f"{schema}, times bigint"
        ).toArrow()
        rows = told.to_pylist()
        counts = Counter[bool]()
        for row in rows:
            counts[row["unsure"]] += row.pop("times") or 0
        shown = sorted(
            (row for row in rows if row[order[0]] is not None and not row["unsure"]),
            key=partial(_place, order),
        )
        return Result(
            counts[False],
            [plain(row) for row in shown[: self.witnesses]],
            counts[True],
            figures or AuditFigures(),
        )


CERTAIN = ("duplicate", "other time", "after resignation", "sent twice", "decreasing", "past")
"""What is there and wrong: rows that are missing do not make it so.  The like for what was late."""
BY_CLOCK = ("grant above LBTS",)
"""What the clocks of several nodes have to agree for."""


def doubted(
    nodes: dict[int, str],
    gaps: set[str],
    wrong: set[str],
    clock: set[str],
    by_clock: tuple[str, ...],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Whoever is named in a finding may be one whose rows cannot be relied on."""
    for batch in batches:
        rows = batch.to_pylist()
        for row in rows:
            named = {row.get("node")}
            named |= {nodes.get(row[who], "") for who in ("federate", "source", "by") if row.get(who)}
            what = row.get("what")
            missing = gaps | {""} if gaps else gaps
            row["unsure"] = bool(
                row["unsure"]
                or named & wrong
                or (what is not None and what not in CERTAIN and named & missing)
                or (what in by_clock and named & clock)
            )
        yield arrow.made_of_rows(rows, batch.schema)


def _place(order: tuple[str, ...], row: dict[str, str | int]) -> list[tuple[bool, str | int]]:
    """What is not there comes first."""
    return [(row[name] is not None, row[name]) for name in order]


def _first_ones(
    order: tuple[str, ...], many: int, schema: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    given = list(batches)
    wanted = arrow.schema_of(f"{schema}, times bigint")
    if not given:
        return
    table = pa.Table.from_batches(given)
    unsure = arrow.numbers(table, "unsure", False).astype(bool)
    counts = [{"unsure": mark, "times": int((unsure == mark).sum())} for mark in (False, True)]
    yield arrow.made_of_rows(counts, wanted)
    certain = table.filter(pa.array(~unsure))
    there = pa.table({f"{name} is there": pc.is_valid(certain[name]) for name in order})
    keys = [(key, "ascending") for name in order for key in (f"{name} is there", name)]
    sortable = pa.table([*there.columns, *(certain[name] for name in order)], [*there.column_names, *order])
    places = pc.sort_indices(sortable, sort_keys=keys)[:many]
    yield from (
        pa.concat_tables([certain.take(places)], promote_options="default")
        .append_column("times", pa.nulls(len(places), pa.int64()))
        .to_batches()
    )


def plain(row: Violation, *others: str) -> Violation:
    """What does not apply is left out, and `others`."""
    gone = {"unsure", *others}
    kept = {name: value for name, value in row.items() if value is not None and name not in gone}
    return cast("Violation", kept)
