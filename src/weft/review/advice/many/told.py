"""What advice from many runs says, as data: for `--json`.  Runs are named by folders; `none_because`: why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from weft.review.advice.many.choosing import (
    GridCandidate,
    ManyDomains,
    ManyGrid,
    ManySchedule,
    Spread,
    described,
)
from weft.review.advice.many.runs import RunTold
from weft.review.advice.told import NoAdvice


class SpreadData(TypedDict):
    """Of a figure of all runs: in all, and of the runs the least, the median and the most."""

    total: float
    min: float
    median: float
    max: float


class CandidateData(TypedDict):
    """`cost`: messages between nodes; with groups, datagrams and unwanted receptions."""

    setting: str
    partitions: int
    cost: SpreadData
    copies: int
    unwanted: int
    bad_for: list[str]


class ManyGridData(NoAdvice, total=False):
    file: str
    old: CandidateData
    new: CandidateData
    saved: float
    tried: list[CandidateData]
    runs: dict[str, dict[str, int]]


class ManyDomainsData(NoAdvice, total=False):
    file: str | None
    costs: dict[str, SpreadData]
    saved: float
    domains: dict[str, list[str]]
    runs: dict[str, dict[str, int]]
    bad_for: list[str]
    left_out: dict[str, str]
    kept_because: str


class ManyScheduleData(NoAdvice, total=False):
    file: str
    utilisation: float
    schedulable: bool
    dispatcher_interrupts: bool
    utilisation_of_runs: SpreadData
    late_as_recorded: SpreadData
    late_as_planned: SpreadData
    misses_recorded: int
    operations: list[dict[str, object]]
    bad_for: list[str]


class ManyAdviceData(TypedDict, total=False):
    grid: ManyGridData
    domains: ManyDomainsData
    schedule: ManyScheduleData


Runs = Mapping[int, RunTold]


def names(runs: Runs, numbers: Sequence[int]) -> list[str]:
    return [runs[number].name for number in numbers]


def spread_data(one: Spread) -> SpreadData:
    return {"total": one.total, "min": one.least, "median": one.median, "max": one.most}


def _candidate(one: GridCandidate, runs: Runs, setting: str) -> CandidateData:
    return {
        "setting": setting,
        "partitions": one.tried.partitions,
        "cost": spread_data(one.spread),
        "copies": one.totals["copies"],
        "unwanted": one.totals["unwanted"],
        "bad_for": names(runs, one.bad_for),
    }


SEVERAL = "what each run had"


def grid_data(grid: ManyGrid, runs: Runs, file: str) -> ManyGridData:
    given = runs[grid.runs[0]].given

    def shown(one: GridCandidate) -> CandidateData:
        return _candidate(one, runs, described(one.tried.setting, given))

    old = SEVERAL if grid.old is None else described(grid.old, given)
    return {
        "file": file,
        "old": _candidate(grid.recorded, runs, old),
        "new": shown(grid.new),
        "saved": grid.recorded.spread.total - grid.new.spread.total,
        "tried": [shown(one) for one in grid.tried],
        "runs": {
            runs[number].name: {"old": grid.recorded.costs[number], "new": grid.new.costs[number]}
            for number in grid.runs
        },
    }


def domains_data(domains: ManyDomains, runs: Runs, file: str) -> ManyDomainsData:
    made: ManyDomainsData = {
        "file": file if domains.text else None,
        "costs": {name: spread_data(domains.spread(name)) for name in domains.costs},
        "saved": domains.spread("old").total - domains.spread("new").total,
        "domains": {name: list(members) for name, members in domains.new.domains.items()},
        "runs": {
            runs[number].name: {name: domains.costs[name][number] for name in ("old", "new")}
            for number in domains.costs["new"]
        },
        "bad_for": names(runs, domains.bad_for),
        "left_out": {runs[number].name: why for number, why in domains.left_out.items()},
    }
    if domains.kept_because:
        made["kept_because"] = domains.kept_because
    return made


def schedule_data(schedule: ManySchedule, runs: Runs, file: str) -> ManyScheduleData:
    known = {one.operation: one for one in schedule.operations}
    return {
        "file": file,
        "utilisation": schedule.plan.utilisation,
        "schedulable": schedule.plan.schedulable,
        "dispatcher_interrupts": schedule.preemptive,
        "utilisation_of_runs": spread_data(Spread.of(list(schedule.utilisation.values()))),
        "late_as_recorded": spread_data(Spread.of(list(schedule.late["recorded"].values()))),
        "late_as_planned": spread_data(Spread.of(list(schedule.late["planned"].values()))),
        "misses_recorded": sum(schedule.misses.values()),
        "operations": [
            {
                "name": one.info.name,
                "priority": one.priority,
                "sub_priority": one.sub_priority,
                "period_s": one.period,
                "worst_s": one.info.worst,
                "response_s": one.response,
                "meets_deadline": one.meets_deadline,
                "old_priority": known[one.info.name].priority,
            }
            for one in schedule.plan.operations
        ],
        "bad_for": names(runs, schedule.bad_for),
    }
