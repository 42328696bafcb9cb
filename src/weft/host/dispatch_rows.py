"""Rows of a recorded run of what federates do with callbacks that have a deadline."""

from __future__ import annotations

from typing import Any

from weft.kernel import LEAST_URGENT, Dispatch
from weft.kernel.recording_told import UNSCHEDULED


def dispatch_row(happened: Dispatch) -> dict[str, Any]:
    """By the columns of `weft.recorder.schema`; where and in what sequence the row is, its writer says."""
    urgent = happened.priority < LEAST_URGENT
    return {
        "kind": happened.kind,
        "mono_ns": round(happened.at * 1e9),
        "federate": happened.federate,
        "name": happened.name,
        "source": happened.source,
        "class": happened.class_name,
        "operation": f"{happened.name}:{happened.class_name}",
        "priority": happened.priority if urgent else UNSCHEDULED,
        "sub_priority": happened.sub_priority,
        "deadline_ns": round(happened.deadline * 1e9),
        "queue": happened.queue,
    }
