"""Was the prediction right?  Old and new settings on a simulated network, and what came of them beside what was predicted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from weft.model.json_types import JsonObject
from weft.model.records import Source
from weft.review.advice import domains as advice_domains
from weft.review.advice import jobs as advice_jobs
from weft.review.advice.advice import RID_FILE, Inputs, RunAdvice, Say, more_counts, recorded_settings
from weft.review.advice.batches import model_cells, model_spaces
from weft.review.advice.cells import layout_of
from weft.review.advice.domains import NodeTraffic, topology_cost
from weft.review.advice.replay import COLUMNS, KINDS, replay_domains, replay_strategy
from weft.review.advice.rows import AdviceRows
from weft.review.advice.schedule import NO_PRIORITY, Job, simulate
from weft.review.advice.traffic import BY_CHANNELS
from weft.review.kernels.records import RecordedRow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGES = 20_000
"""That are replayed, if nothing else is said: what takes a minute or so."""
TOTALS = ("sent", "copies", "received", "wanted", "unwanted")
NEVER = -1  # of no row
PERIODS = 20  # of the slowest operation


class Beginning(NamedTuple):
    """What is replayed of a run: its first so many messages that go by channels."""

    frame: DataFrame
    rows: AdviceRows
    messages: int


def check(frame: DataFrame, rows: AdviceRows, advice: RunAdvice, messages: int, say: Say) -> JsonObject:
    """Beside each other, for each advice and for old and new settings: `predicted` and `obtained`.

    `frame` has the same rows, one by one.
    """
    part = first_messages(frame, rows, messages)
    made: JsonObject = {"messages": part.messages}
    if advice.grid is not None:
        made["grid"] = _check_grid(part, advice, say)
    if advice.domains is not None and advice.given.model:
        made["domains"] = _check_domains(part, advice, say)
    if advice.schedule is not None:
        made["schedule"] = check_schedule(advice)
    return made


def first_messages(frame: DataFrame, rows: AdviceRows, messages: int) -> Beginning:
    """The run up to its so-manieth message that goes by channels."""
    from pyspark.sql import functions as f

    sends = replayable(frame).where(f.col("kind") == "send")
    chosen = sends.select("epoch_ns").orderBy("epoch_ns").limit(messages)
    found = chosen.agg(f.max("epoch_ns").alias("last"), f.count("*").alias("n")).first()
    until = found["last"] if found["n"] else NEVER
    return Beginning(replayable(frame).where(f.col("epoch_ns") <= until), rows.up_to(until), found["n"])


def replayable(rows: DataFrame) -> DataFrame:
    """Of sends those that a replay knows how to send."""
    from pyspark.sql import functions as f

    by_channels = f.coalesce("service", f.lit(BY_CHANNELS[0])).isin(*BY_CHANNELS)
    known = f.col("destinations").isNotNull() & (f.col("source") > 0) & f.col("class").isNotNull()
    return rows.where(f.col("kind").isin(*KINDS)).where((f.col("kind") != "send") | (by_channels & known))


def _in_order(part: Beginning) -> Iterable[RecordedRow]:
    """Row by row, a partition at a time."""
    wanted = part.frame.select(*COLUMNS, "order").orderBy("epoch_ns", "node", "seq")
    found: Iterable[RecordedRow] = wanted.toLocalIterator(prefetchPartitions=True)
    return found


# --- grid -------------------------------------------------------------------------------------------------------------


def _check_grid(part: Beginning, advice: RunAdvice, say: Say) -> JsonObject:
    assert advice.grid is not None
    given, grid = advice.given, advice.grid
    old, new = recorded_settings(given), grid.new.setting
    more = more_counts(given, old, new)
    listening = advice_jobs.listening_of(part.rows, given.model, more)
    grouped = advice_jobs.grouped_sends(part.rows, given.model, more, listening)
    counts = advice_jobs.counts_of(part.rows, grouped, given.model, more, listening, [old, new])
    nodes = sorted(set(advice_jobs.federate_nodes(part.rows).values()))
    made: JsonObject = {}
    rids = (given.rid, Source(RID_FILE, grid.text.encode()))
    for when, predicted, rid in zip(("old", "new"), counts, rids, strict=True):
        say(f"replay, {when} strategy")
        rows = (row for row in _in_order(part) if _goes_by_channels(row, given))
        obtained = replay_strategy(rows, given.model, nodes, given.home, rid, say).totals()
        made[when] = {
            "predicted": {name: predicted.totals()[name] for name in TOTALS},
            "obtained": {name: obtained[name] for name in TOTALS},
        }
    return made


def _goes_by_channels(row: RecordedRow, given: Inputs) -> bool:
    if row["kind"] != "send" or row["order"] in (None, "RO"):
        return True
    if row["order"] != "TSO":
        return False
    spaces, cells = model_spaces(given.model), model_cells(given.model)
    items, dimensions = row["items"] or (), row["dimensions"] or ()
    return not layout_of(cells, spaces, row["class"], items, dimensions, row["boxes"] or ()).boxes


# --- domains ----------------------------------------------------------------------------------------------------------


def _check_domains(part: Beginning, advice: RunAdvice, say: Say) -> JsonObject:
    assert advice.domains is not None
    given, domains = advice.given, advice.domains
    nodes = advice_jobs.federate_nodes(part.rows)
    traffic = NodeTraffic.of(domains.old.servers, advice_jobs.message_graph(part.rows, nodes))
    home = given.home if given.home in domains.old.servers else domains.old.servers[0]
    made: JsonObject = {}
    for when, topology in (("old", domains.old), ("new", domains.new)):
        say(f"replay, {when} domains")
        obtained = replay_domains(_in_order(part), given.model, topology, home, say)
        made[when] = {"predicted": topology_cost(traffic, topology), "obtained": obtained}
    flat = advice_domains.ready_made(domains.old.servers, "flat")
    made["flat"] = {"predicted": topology_cost(traffic, flat)}
    return made


# --- schedule ---------------------------------------------------------------------------------------------------------


def check_schedule(advice: RunAdvice) -> JsonObject:
    """All operations at once and then at their rates, each as long as it ever took, on one processor."""
    assert advice.schedule is not None
    made = advice.schedule.plan
    periodic = [one for one in made.operations if one.period]
    longest = max((one.period for one in periodic), default=0.0)
    jobs = [
        Job(one.info.name, round(at * one.period * 1e9), round(one.info.worst * 1e9))
        for one in periodic
        for at in range(round(PERIODS * longest / one.period) + 1)
    ]
    new = {one.info.name: (one.priority, one.sub_priority) for one in periodic}
    old = {
        one.operation: (NO_PRIORITY if one.priority is None else one.priority, one.sub_priority)
        for one in advice.schedule.operations
    }
    before, after = simulate(jobs, old), simulate(jobs, new)
    return {
        one.info.name: {
            "old": {
                "predicted": advice.schedule.recorded.get(one.info.name, (None, True))[0],
                "obtained": before[one.info.name] / 1e9,
            },
            "new": {"predicted": one.response, "obtained": after[one.info.name] / 1e9},
        }
        for one in periodic
    }
