"""Steps: what an audit does with the rows of a run, declared as data; and one runner, with Spark and without."""

from __future__ import annotations

from weft.review.steps.plan import plan_data, plan_text
from weft.review.steps.runner import StepRunner
from weft.review.steps.step import LOOKAHEAD, RECORDED, TIME, AuditStep, AuditSteps, StepKind

__all__ = [
    "LOOKAHEAD", "RECORDED", "TIME", "AuditStep", "AuditSteps", "StepKind", "StepRunner", "plan_data", "plan_text",
]  # fmt: skip
