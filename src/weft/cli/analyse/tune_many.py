"""`weft tune` with several runs, a folder of runs, or a federation of the lake: advice that is good for all of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.host.storage import place_of
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    from weft.host.storage import Place
    from weft.review.advice.advice import Inputs
    from weft.review.advice.many.told import (
        CandidateData,
        ManyDomainsData,
        ManyGridData,
        ManyScheduleData,
        SpreadData,
    )
    from weft.review.many.tuning import TunedMany
    from weft.review.spark.cluster import Cluster

MOST_NAMES = 5
REPLAYED = 3
LAKE = "runs/lake"


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("many runs (see docs/how-to/tuning.md)")
    group.add_argument(
        "--by",
        choices=("total", "worst"),
        default="total",
        help="what is chosen: what all runs together cost least with, or the run that costs most (default %(default)s)",
    )
    group.add_argument(
        "--lake",
        metavar="PLACE",
        default=LAKE,
        help="the lake that a FEDERATION is looked for in (default %(default)s)",
    )


def is_one_run(names: Sequence[str]) -> bool:
    """One run, or what is none at all: then the advice of one says what is wrong."""
    from weft.review.many.finding import is_run

    return len(names) == 1 and is_run(place_of(names[0]))


def run_many(arguments: argparse.Namespace, given: Inputs, cluster: Cluster) -> int:
    from weft.cli.arguments import say
    from weft.review.many.finding import look
    from weft.review.many.tuning import tune_many

    found = tune_many(
        [look(place) for place in dict.fromkeys(chosen_runs(arguments.run, arguments.lake))],
        arguments.out,
        cluster,
        given,
        arguments.by,
        arguments.force,
        REPLAYED if arguments.replay else 0,
        arguments.messages,
        say,
    )
    print(json.dumps(found.as_data(), indent=2) if arguments.json else "\n".join(lines(found)))
    return 0


def chosen_runs(names: Sequence[str], lake: str) -> Iterator[Place]:
    """Of runs and folders what is there, of anything else what the lake knows by that name."""
    from weft.review.many.finding import runs_below

    for name in names:
        if place_of(name).is_folder():
            yield from runs_below([name])
        else:
            yield from _of_lake(name, lake)


def _of_lake(name: str, lake: str) -> Iterator[Place]:
    from weft.review.compare.chosen import chosen
    from weft.review.compare.figures import runs_of
    from weft.review.lake.delta import open_lake

    place = place_of(lake)
    if not place.is_folder():
        raise SettingsError(
            f"{name}: there is no such run or folder, and no lake at {place} that could know a federation of that name"
        )
    snapshot = open_lake(place).snapshot()
    rows = snapshot.runs.to_pylist()
    paths = {(row["federation"], row["run"]): row["path"] for row in rows}
    for run in chosen(runs_of(snapshot), name):
        yield place_of(paths[run.key])


# Text


def lines(found: TunedMany) -> Iterator[str]:
    advice = found.advice
    for run, why in advice.left_out.items():
        yield f"left out: {run}: {why}"
    rows = sum(run.rows for run in advice.runs.values())
    yield f"{len(advice.runs):,} runs, {rows:,} rows; chosen by the {advice.how}"
    told = advice.data()
    yield ""
    yield from _none("grid", told["grid"]) or _grid(told["grid"])
    yield ""
    yield from _none("domains", told["domains"]) or _domains(told["domains"])
    yield ""
    yield from _none("schedule", told["schedule"]) or _schedule(told["schedule"])
    if found.replay:
        yield ""
        yield from _replay(found.replay)
    yield ""
    yield from (f"wrote {path}" for path in found.files.values())


def _none(name: str, told: Mapping[str, object]) -> list[str]:
    return [f"{name}: none, {told['none_because']}"] if "none_because" in told else []


def _numbers(one: SpreadData) -> str:
    return "".join(f"{number:>13,.0f}" for number in (one["total"], one["min"], one["median"], one["max"]))


HEAD = f"{'total':>13}{'min':>13}{'median':>13}{'max':>13}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def _grid(told: ManyGridData) -> Iterator[str]:
    old, new = told["old"], told["new"]
    yield f"grid: {new['setting']}, recorded with {old['setting']}"
    yield f"    {'messages between nodes':<44}{HEAD}{'worse for':>11}"
    rows: list[tuple[str, CandidateData]] = [
        ("as recorded", old),
        *((one["setting"], one) for one in told["tried"]),
    ]
    for name, one in rows:
        worse = f"{len(one['bad_for']):>6,} runs" if one["bad_for"] else ""
        mark = "* " if one["setting"] == new["setting"] and name != "as recorded" else "  "
        yield f"  {mark}{name[:43]:<44}{_numbers(one['cost'])}{worse:>11}"
    if new["bad_for"]:
        yield f"    costs these more than they had: {_names(new['bad_for'])}"


def _domains(told: ManyDomainsData) -> Iterator[str]:
    yield f"domains: {len(told['domains'])}"
    yield f"    {'cost':<44}{HEAD}"
    for name, one in told["costs"].items():
        yield f"    {name:<44}{_numbers(one)}"
    for run, why in told["left_out"].items():
        yield f"    left out: {run}: {why}"
    if "kept_because" in told:
        yield f"    as they were: {told['kept_because']}"
        return
    for name, members in told["domains"].items():
        yield f"    {name}: {', '.join(members)}"
    if told["bad_for"]:
        yield f"    cost these more than they had: {_names(told['bad_for'])}"


def _schedule(told: ManyScheduleData) -> Iterator[str]:
    fits = "all deadlines are met, also by" if told["schedulable"] else "not all deadlines are met with"
    yield f"schedule: {fits} the longest times and shortest periods of all runs ({told['utilisation']:.0%} of a processor)"
    yield f"    {'operations that can be late':<44}{HEAD}"
    yield f"    {'with the priorities that were recorded':<44}{_numbers(told['late_as_recorded'])}"
    yield f"    {'with these':<44}{_numbers(told['late_as_planned'])}"
    for one in told["operations"]:
        yield f"    {one['name']}: priority {one['priority']}, was {one['old_priority']}"
    if told["bad_for"]:
        yield f"    worse for: {_names(told['bad_for'])}"


def _replay(replay: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    from weft.cli.analyse.tune import replay_lines

    for run, told in replay.items():
        first, *rest = replay_lines(told)
        yield f"{run}: {first}"
        yield from rest
