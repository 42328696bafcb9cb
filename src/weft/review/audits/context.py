"""What every audit is given, and what it gives back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from weft.review.audits.survey import ACTING as ACTING
from weft.review.audits.survey import RTI as RTI
from weft.review.audits.survey import Seen, survey
from weft.review.reading import Opened
from weft.review.tasks import Part, lives_of, parts_of


@dataclass(frozen=True)
class Member:
    """A federate, as its rows tell."""

    federate: int
    node: str
    left: bool  # it resigned or was lost
    granted: Any  # the last grant, or None


@dataclass
class Result:
    """`violations` counts what is wrong; `unsure` what would be, were rows not missing; witnesses are some of the former."""

    violations: int
    witnesses: list[dict[str, Any]]
    unsure: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    idle: str = field(default="", compare=False)
    """Why no rows were read for it, if none were: what audits before it have read told enough."""


@dataclass
class Context:
    session: Any
    opened: Opened
    rows: Any
    witnesses: int = 20
    orders: tuple[str, ...] = ("RO", "CO", "CT")

    rows_per_part: int = 0
    """Of what one task reads; 0: chosen by the number of rows."""

    @cached_property
    def parts(self) -> list[Part]:
        return parts_of(self.opened.run, self.rows_per_part)

    @cached_property
    def survey(self) -> list[Seen]:
        """Of each part."""
        return survey(self.session, self.parts, self.opened.time_column)

    def has(self, *kinds: str) -> bool:
        """Are there rows of these kinds?"""
        return any(seen.kinds[kind] for seen in self.survey for kind in kinds)

    @cached_property
    def members(self) -> dict[int, Member]:
        """All federates of the run: there are few, so they are known to the driver."""
        found: dict[int, Member] = {}
        for seen in self.survey:
            for federate, (left, granted) in seen.members.items():
                known = found.get(federate, Member(federate, seen.node, False, None))
                grants = [time for time in (known.granted, granted) if time is not None]
                found[federate] = Member(
                    federate, min(known.node, seen.node), known.left or left, max(grants, default=None)
                )
        return found

    @cached_property
    def members_frame(self) -> Any:
        """The same as a small table, with what it means for what is not there.

        `excused`: the federate may have gone, or its node been cut off, before something could reach it; only what came
        later than the missing one shows that it was passed over.
        """
        opened = self.opened
        nodes = opened.run.nodes
        ended = {name for name, node in nodes.items() if node.get("ended_ns") is not None}
        rows = [
            (member.federate, member.node, member.left or member.node not in ended, member.node in opened.gaps,
             member.granted)
            for member in self.members.values()
        ]  # fmt: skip
        time = "bigint" if opened.time_column == "time_int" else "double"
        schema = f"federate bigint, member_node string, excused boolean, gap boolean, granted {time}"
        return self.session.createDataFrame(rows, schema)

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

    def result(self, found: Any, order: tuple[str, ...], figures: dict[str, Any] | None = None) -> Result:
        """Of a frame of violations, in which a column `unsure` may mark those that are none for certain.

        Mostly there are none, or few: then one job tells all, and they are not counted a second time.
        """
        from pyspark.sql import functions as f

        if "unsure" not in found.columns:
            found = found.withColumn("unsure", f.lit(False))
        few = [row.asDict() for row in found.orderBy("unsure", *order).limit(self.witnesses + 1).collect()]
        unsure = sum(row["unsure"] for row in few)
        violations = len(few) - unsure
        if len(few) > self.witnesses:
            counts = {row["unsure"]: row["count"] for row in found.groupBy("unsure").count().collect()}
            violations, unsure = counts.get(False, 0), counts.get(True, 0)
        shown = [row for row in few if not row["unsure"]][: self.witnesses]
        return Result(violations, [_plain(row) for row in shown], unsure, figures or {})


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """What does not apply is left out."""
    return {name: value for name, value in row.items() if value is not None and name != "unsure"}
