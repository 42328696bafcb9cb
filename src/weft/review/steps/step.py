"""A step of an audit, as data: what it takes, which columns it reads, by what it is spread, what it gives.

What is declared is what can be spread over tasks, and what is folded in the driver.  Whether a step is needed is for the audit to
decide, in plain Python, from what the steps before it told (`when` says it in words): in nearly all runs nearly all is well, and
then most steps are not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

RECORDED = "recorded rows"
"""As an input: the files of the run."""
TIME, LOOKAHEAD = "time", "lookahead"
"""As columns: those of the federation's kind of logical time."""


class StepKind(Enum):
    """How a step is spread."""

    MAP = "map"
    """A task for each part of the run; or of an earlier step's rows, wherever they are."""
    PIECES = "pieces"
    """A task for each piece of the log of all nodes, cut by the clock."""
    SCAN = "scan"
    """The same; a piece begins with what the pieces before it told, put together."""
    KEYED = "keyed"
    """All rows of a key in one task."""
    FOLD = "fold"
    """In the driver, from what is little."""


@dataclass(frozen=True)
class AuditStep:
    """One step."""

    name: str
    kind: StepKind
    does: str
    inputs: tuple[str, ...]
    """Names of steps, or `RECORDED`."""
    function: Callable[..., Any]
    schema: str = ""
    """Of what it gives, in Spark's words, `{time}` for the type of logical time; empty: no rows, but an object."""
    columns: tuple[str, ...] = ()
    """Of recorded rows, those that it reads."""
    key: tuple[str, ...] = ()
    when: str = ""
    """When it is taken; empty: always."""


@dataclass(frozen=True)
class AuditSteps:
    """All steps of an audit, each behind those that it takes something from."""

    audit: str
    question: str
    steps: tuple[AuditStep, ...]

    def __post_init__(self) -> None:
        known = {RECORDED}
        for step in self.steps:
            unknown = set(step.inputs) - known
            if unknown or step.name in known:
                raise ValueError(
                    f"{self.audit}: step {step.name!r}: its name is taken, or its inputs come behind it: {unknown}"
                )
            if (step.kind is StepKind.KEYED) != bool(step.key) or bool(step.columns) != (
                RECORDED in step.inputs
            ):
                raise ValueError(
                    f"{self.audit}: step {step.name!r}: only a keyed step has a key, and only one of rows columns"
                )
            known.add(step.name)
