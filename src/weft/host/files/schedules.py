"""A schedule file as a node uses it: how urgent classes are for federates that join there.

An operation of the schedule stands for a class if it has its name, in full or the end of it (`Alarm`), or for a class as one
federate gets it: `tower:Alarm`, by the federate's name or its type.  Other operations are passed over.
"""

from __future__ import annotations

from pathlib import Path

from weft.channel import SchedulePlan, parse_schedule
from weft.kernel import ClassSchedule, Wish
from weft.model.errors import SettingsError
from weft.model.records import Source


def class_schedule(plan: SchedulePlan, deadlines: bool = False) -> ClassSchedule:
    """With `deadlines`, the period of an operation is also the deadline of its callbacks: done before the next one comes."""
    return {one.info.name: Wish(one.urgency(), one.period if deadlines else 0.0) for one in plan.operations}


def read_schedule(file: str | Path, deadlines: bool = False) -> ClassSchedule:
    """Of a file as `weft.channel.write_schedule` writes it; none if no file is named."""
    if not file:
        return {}
    try:
        source = Source(str(file), Path(file).read_bytes())
    except OSError as error:
        raise SettingsError(f"channel.schedule: {file}: {error.strerror or error}") from error
    return class_schedule(parse_schedule(source), deadlines)
