"""The rows of a run as advice is made from them: parts, which tasks read by Arrow, and what they told once for all questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from weft.review.advice.caused import EACH_MESSAGE, NOTE, Caused, read_sums
from weft.review.advice.operations import MEASURE, NodeOperations, PartOperations, betweens, of_node
from weft.review.advice.traffic import MOVES, SEEN, PartTraffic
from weft.review.kernels import arrow
from weft.review.kernels.records import RecordedRow
from weft.review.spark.reading import Opened
from weft.review.spark.tasks import RunPart, parts_of
from weft.review.steps import StepRunner
from weft.review.steps.told import told_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class AdviceRows:
    """`until`: only what a replay sends, up to that moment (wall clock)."""

    runner: StepRunner
    parts: Sequence[RunPart]
    until: int | None = None

    @classmethod
    def of(cls, session: SparkSession | None, opened: Opened, rows_per_part: int = 0) -> AdviceRows:
        runner = StepRunner(session, arrow.time_type(opened.time_column))
        return cls(runner, parts_of(opened.run, rows_per_part))

    def up_to(self, moment: int) -> AdviceRows:
        """What a replay of the beginning sends."""
        return AdviceRows(self.runner, self.parts, moment)

    @cached_property
    def traffic(self) -> list[PartTraffic]:
        """Of each part."""
        return told_of(self.runner.each(SEEN, enumerate(self.parts), self.until))

    @cached_property
    def changes(self) -> list[RecordedRow]:
        """Who came and went, what was declared, and how the regions moved that somebody subscribed with, in their order."""
        declared = frozenset(region for part in self.traffic for region in part.declared)
        rows = [
            row
            for part in self.traffic
            for row in part.changes
            if row["kind"] != "region" or row["region"] in declared
        ]
        both = zip(self.parts, self.traffic, strict=True)
        many = [part for part, seen in both if seen.is_moving]
        if many:
            told = told_of(self.runner.each(MOVES, enumerate(many), declared, self.until))
            rows += [row for moves in told for row in moves]
        return sorted(rows, key=lambda row: (row["epoch_ns"], row["node"], row["seq"]))

    @cached_property
    def operations(self) -> dict[str, NodeOperations]:
        """By node, what its operations took."""
        each = [
            (number, part, between)
            for number, (part, between) in enumerate(zip(self.parts, betweens(self.traffic), strict=True))
            if between is not None
        ]
        if not each:
            return {}
        told: dict[str, list[PartOperations]] = {}
        for (_, part, _), one in zip(each, told_of(self.runner.each(MEASURE, each)), strict=True):
            told.setdefault(part.node, []).append(one)
        missed = {node: Counter[str]() for node in sorted(told)}
        for seen in self.traffic:
            if seen.node in missed:
                missed[seen.node] += seen.missed
        return {node: of_node(told[node], said) for node, said in missed.items()}

    @cached_property
    def caused(self) -> Caused:
        if not any(part.is_caused or part.is_held for part in self.traffic):
            return Caused()
        return read_sums(self.runner.then(EACH_MESSAGE, self.runner.each(NOTE, self.parts)))
