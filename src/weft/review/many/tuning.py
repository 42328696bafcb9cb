"""`weft tune` of many runs: a grid, domains and a schedule that are good for all of them, and how good they are for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from weft.host.storage import Place, place_of
from weft.model.json_types import JsonObject
from weft.review.advice.advice import (
    DOMAINS_FILE,
    RID_FILE,
    SCHEDULE_FILE,
    DomainsAdvice,
    GridAdvice,
    Inputs,
    RunAdvice,
    recorded_settings,
)
from weft.review.advice.check import MESSAGES, check
from weft.review.advice.domains import NodeTraffic
from weft.review.advice.grid import TrafficCounts
from weft.review.advice.many.choosing import (
    TOTAL,
    ManyDomains,
    ManyGrid,
    ManySchedule,
    choose_domains,
    choose_grid,
    choose_schedule,
)
from weft.review.advice.many.runs import RunTold, costs_of, summaries
from weft.review.advice.many.told import ManyAdviceData, domains_data, grid_data, schedule_data
from weft.review.advice.rid import Tried
from weft.review.advice.rows import AdviceRows
from weft.review.advice.told import NoAdvice
from weft.review.errors import ReviewError
from weft.review.many.finding import FoundRun
from weft.review.many.reviewing import CORES, HERE_ROWS, TASKS_PER_CORE
from weft.review.spark.cluster import LOCAL, AnyMaster, Cluster, cluster_of
from weft.review.spark.reading import open_for_review, read_rows
from weft.review.spark.session import Profile, given_session, progress
from weft.review.tune import refuse_others, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
NO_GRID = "no message went by channels from one node to another"
NO_MODEL = "the runs have no object model in them; give it with --fom"


@dataclass(frozen=True)
class ManyAdvice:
    """Of the runs that are alike; the numbers are those of `runs`."""

    runs: Mapping[int, RunTold]
    left_out: Mapping[str, str]
    how: str
    grid: ManyGrid | None
    domains: ManyDomains | None
    schedule: ManySchedule | None

    def files(self) -> dict[str, str]:
        parts = {RID_FILE: self.grid, DOMAINS_FILE: self.domains, SCHEDULE_FILE: self.schedule}
        return {name: one.text for name, one in parts.items() if one is not None and one.text}

    def data(self) -> ManyAdviceData:
        has_model = any(run.model for run in self.runs.values())
        why = NO_GRID if has_model else NO_MODEL
        runs = self.runs
        told = {
            "grid": grid_data(self.grid, runs, RID_FILE) if self.grid else NoAdvice(none_because=why),
            "domains": domains_data(self.domains, runs, DOMAINS_FILE)
            if self.domains
            else NoAdvice(none_because="the runs had one node"),
            "schedule": schedule_data(self.schedule, runs, SCHEDULE_FILE)
            if self.schedule
            else NoAdvice(none_because="no operation with an RT_Info was dispatched"),
        }
        return cast("ManyAdviceData", told)


@dataclass(frozen=True)
class TunedMany:
    """What came of it; `files` are those that were written, `replay` is by the name of the run."""

    advice: ManyAdvice
    files: Mapping[str, Path]
    replay: Mapping[str, JsonObject] = field(default_factory=dict)

    def as_data(self) -> dict[str, object]:
        runs = self.advice.runs.values()
        made: dict[str, object] = {
            "runs": [{"run": run.place, "federation": run.federation, "rows": run.rows} for run in runs],
            "rows": sum(run.rows for run in runs),
            "left_out": dict(self.advice.left_out),
            "chosen_by": self.advice.how,
            "files": {name: str(path) for name, path in self.files.items()},
            "advice": self.advice.data(),
        }
        return made | ({"replay": dict(self.replay)} if self.replay else {})


def tune_many(
    found: Sequence[FoundRun],
    out: str | Path = ".",
    master: AnyMaster = LOCAL,
    given: Inputs | None = None,
    how: str = TOTAL,
    force: bool = False,
    replay: int = 0,
    messages: int = MESSAGES,
    say: Say = lambda text: None,
    session: SparkSession | None = None,
) -> TunedMany:
    """`given`: object model, RID and domains in place of the runs' own.  `replay`: so many runs are replayed."""
    folder = Path(out)
    if not force:
        refuse_others(folder, (RID_FILE, DOMAINS_FILE, SCHEDULE_FILE))
    left_out = {str(run.place): run.going_on for run in found if run.going_on}
    runs = sorted((run for run in found if not run.going_on), key=lambda one: (one.start_ns, one.place))
    rows = sum(run.rows for run in runs)
    here = session is None and cluster_of(master) == Cluster() and rows <= HERE_ROWS
    with ExitStack() as ended:
        begin = partial(
            given_session, session, Profile(master, max((run.rows for run in runs), default=0)), say
        )
        spark = None if here else ended.enter_context(begin())
        advice = _advised(spark, [run.place for run in runs], given or Inputs(), how, left_out, say)
        files = write_files(folder, advice.files(), f"{len(advice.runs)} runs", force)
        replayed = {}
        if replay:
            replayed = _replayed(spark or ended.enter_context(begin()), advice, replay, messages, say)
    return TunedMany(advice, files, replayed)


def _advised(
    spark: SparkSession | None,
    places: Sequence[Place],
    given: Inputs,
    how: str,
    left_out: Mapping[str, str],
    say: Say,
) -> ManyAdvice:
    with progress(spark, f"{len(places):,} runs", say):
        frame, told = summaries(spark, places, given, _tasks(spark))
    runs, others = alike(told)
    if not runs:
        why = "; ".join(dict.fromkeys([*left_out.values(), *others.values()])) or "there are none"
        raise ReviewError(f"no run to advise on: {why}")
    with progress(spark, "grid", say):
        model = any(run.model for run in runs.values())
        grid = choose_grid(runs, partial(costs_of, frame), how, given.multicast) if model else None
    say("domains")
    domains = choose_domains(runs, how)
    return ManyAdvice(runs, {**left_out, **others}, how, grid, domains, choose_schedule(runs))


def _tasks(spark: SparkSession | None) -> int:
    if spark is None:
        return 1
    try:
        return TASKS_PER_CORE * int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return TASKS_PER_CORE * CORES


def alike(told: Sequence[RunTold]) -> tuple[dict[int, RunTold], dict[str, str]]:
    """The runs with the object model that most have, by their numbers; and why the others are left out."""
    left_out = {run.place: run.error for run in told if run.error}
    whole = {number: run for number, run in enumerate(told) if not run.error}
    if not whole:
        return {}, left_out
    most = Counter(run.model for run in whole.values()).most_common(1)[0][0]
    chosen = {number: run for number, run in whole.items() if run.model == most}
    for number, run in whole.items():
        if number not in chosen:
            what = "another" if run.model and most else "an" if run.model else "no"
            left_out[run.place] = (
                f"it has {what} object model, unlike the {len(chosen):,} runs that are taken together"
            )
    return chosen, left_out


# Replay


def _replayed(
    spark: SparkSession, advice: ManyAdvice, count: int, messages: int, say: Say
) -> dict[str, JsonObject]:
    """Of some runs, from the one that costs least to the one that costs most."""
    made = {}
    for number in sample(advice, count):
        run = advice.runs[number]
        say(f"replay of {run.name}")
        opened = open_for_review(place_of(run.place))
        rows = AdviceRows.of(spark, opened)
        made[run.name] = check(read_rows(spark, opened), rows, _as_of_one(advice, number), messages, say)
    return made


def sample(advice: ManyAdvice, count: int) -> list[int]:
    if advice.grid is not None:
        costs: Mapping[int, int] = advice.grid.new.costs
    elif advice.domains is not None:
        costs = advice.domains.costs["new"]
    else:
        return []
    ordered = sorted(costs, key=lambda number: (costs[number], number))
    last = len(ordered) - 1
    return sorted({ordered[round(at * last / max(1, count - 1))] for at in range(min(count, len(ordered)))})


def _as_of_one(advice: ManyAdvice, number: int) -> RunAdvice:
    """As if it had been advised on this run alone: with the same settings."""
    run = advice.runs[number]
    grid = domains = None
    if advice.grid is not None and number in advice.grid.new.costs:
        new = advice.grid.new.tried
        old = Tried(recorded_settings(run.given), {}, 0)
        none = TrafficCounts()
        grid = GridAdvice(old, new, (), none, none, {}, 0, advice.grid.text, 0)
    if advice.domains is not None and number in advice.domains.costs["new"]:
        servers = advice.domains.old.servers
        traffic = NodeTraffic.of(servers, {})
        costs = {name: each[number] for name, each in advice.domains.costs.items()}
        domains = DomainsAdvice(
            traffic, costs, advice.domains.old, advice.domains.new, 0, 0, advice.domains.text
        )
    return RunAdvice(replace(run.given), grid, domains)
