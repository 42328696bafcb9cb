"""Recorded rows as they are looked at one by one, and what is found in them, as types."""

from __future__ import annotations

from typing import TypedDict

RecordedRow = TypedDict(
    "RecordedRow",
    {
        "node": str,
        "seq": int,
        "epoch_ns": int,
        "mono_ns": int,
        "command": int,
        "kind": str,
        "service": str | None,
        "federate": int,
        "name": str | None,
        "source": int | None,
        "message": int | None,
        "destinations": list[int] | None,
        "class": str,
        "object": int | None,
        "items": list[str] | None,
        "order": str | None,
        "region": int | None,
        "dimensions": list[str] | None,
        "lower": list[int] | None,
        "upper": list[int] | None,
        "boxes": list[int] | None,
        "operation": str | None,
        "priority": int | None,
        "deadline_ns": int | None,
        "detail": str | None,
        "time": float | None,
        "at": int,
        "tick": int | None,
    },
)
"""Of the recorder's columns (`weft.recorder.COLUMNS`) those that were read.

`time`: that of the federation's logical time; `tick`: it as a whole number; `at`: whatever orders rows.
"""

Bounds = tuple[tuple[str, int, int], ...]
"""Dimension, lower and upper bound."""


def bounds_of(row: RecordedRow) -> Bounds:
    """Region after region; none of one that was created, before its bounds are committed."""
    if not row["dimensions"] or not row["lower"] or not row["upper"]:
        return ()
    return tuple(zip(row["dimensions"], row["lower"], row["upper"], strict=True))


Violation = TypedDict(
    "Violation",
    {
        "audit": str,
        "what": str,
        "federate": int,
        "node": str,
        "seq": int,
        "source": int,
        "message": int,
        "class": str | None,
        "order": str | None,
        "time": float | None,
        "bound": float,
        "by": int,
        "after_source": int,
        "after": int,
        "after_class": str | None,
        "after_order": str | None,
        "detail": str,
        "name": str | None,
        "operation": str | None,
        "priority": int | None,
        "deadline_ns": int | None,
        "at_ns": int,
        "late_ns": int | None,
        "epoch_ns": int,
        "unsure": bool,
    },
    total=False,
)
"""Something that is wrong: whose fault it is and which message or row it is about, as far as they apply."""


class DeadlineFigures(TypedDict):
    """How well a consumer of events did."""

    node: str
    name: str | None
    priority: int | None
    events: int
    misses: int
    laxity_ms: dict[str, float] | None
    utilisation: float | None


class AuditFigures(TypedDict, total=False):
    """What audits tell besides violations."""

    by_order: dict[str, int]
    not_judged: list[int]
    consumers: list[DeadlineFigures]
