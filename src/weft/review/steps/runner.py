"""Carries steps out: on Spark, or without a session in this process; the functions are the same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from weft.review.spark.tasks import Frame, Work, spread
from weft.review.steps.step import AuditStep, StepKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StepRunner:
    """Of one review."""

    def __init__(self, session: SparkSession | None, time_type: str) -> None:
        self._session = session
        self._time = time_type

    def schema(self, step: AuditStep) -> str:
        return step.schema.format(time=self._time)

    def works(self, step: AuditStep, parts: Iterable[Any], *arguments: object) -> list[Work]:
        """One for each part (or piece, or whatever the function takes last; a tuple is taken apart)."""
        taken = (part if type(part) is tuple else (part,) for part in parts)
        return [partial(step.function, *arguments, *last) for last in taken]

    def each(self, step: AuditStep, parts: Iterable[Any], *arguments: object) -> Frame:
        """A task for each of these works."""
        return spread(self._session, self.works(step, parts, *arguments), self.schema(step))

    def then(self, step: AuditStep, frame: Frame, *arguments: object) -> Frame:
        """Behind a step that gave a frame."""
        if step.kind is StepKind.KEYED:
            frame = frame.repartition(*step.key)
        return frame.mapInArrow(partial(step.function, *arguments), self.schema(step))
