"""What advice needs of one run, worked out within a task: histograms and graphs, some kilobytes of however many rows.

Rows are read part by part, and each part is folded into what is there: to put two parts together is to add up their counts.
The numbers are those of `advice.jobs`, which spreads one large run over Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernel.node.service_table import SERVICES
from weft.review.advice import listening as advice_listening
from weft.review.advice.advice import Inputs, more_counts, recorded_settings
from weft.review.advice.batches import (
    GROUPED,
    OUTSIDE,
    SEND_COLUMNS,
    describe_batch,
    model_cells,
    model_spaces,
)
from weft.review.advice.cells import parse_layout
from weft.review.advice.grid import Listening
from weft.review.advice.listening import read_listening
from weft.review.advice.schedule import Measured
from weft.review.advice.traffic import BY_CHANNELS
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array
from weft.review.spark.tasks import RunPart, read_part

STEP_COLUMNS = (
    "node", "seq", "mono_ns", "kind", "name", "operation", "priority", "sub_priority", "deadline_ns", "source", "message",
    "cause_source", "cause",
)  # fmt: skip
_JOINED = ","
_KEYS = [*arrow.names_of(GROUPED)]


@dataclass
class RunSummary:
    """`grouped` has the columns of `GROUPED`, destinations as a text, and how many messages were alike; None: no object model."""

    grouped: pa.Table | None = None
    listening: Listening = field(default_factory=Listening)
    nodes: Mapping[int, str] = field(default_factory=dict)
    messages: Mapping[tuple[str, str], int] = field(default_factory=dict)
    commands: Mapping[str, int] = field(default_factory=dict)
    operations: Mapping[str, list[Measured]] = field(default_factory=dict)
    causes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    interrupts: bool = False

    @property
    def spaces_used(self) -> list[int]:
        """Spaces in which anything was sent."""
        layouts = [] if self.grouped is None else pc.unique(self.grouped["layout"]).to_pylist()
        return sorted({space for one in layouts if one != OUTSIDE for space in parse_layout(one)[1]})

    @property
    def by_channels(self) -> int:
        """Messages that go by channels."""
        if self.grouped is None:
            return 0
        return int(
            pc.sum(self.grouped.filter(pc.not_equal(self.grouped["layout"], OUTSIDE))["count"]).as_py() or 0
        )


def summarise(parts: Sequence[RunPart], given: Inputs) -> RunSummary:
    changes = _gathered(parts, advice_listening.COLUMNS, _of_kinds(*advice_listening.KINDS))
    nodes = _federate_nodes(changes)
    steps = _gathered(parts, STEP_COLUMNS, _steps)
    messages = Counter[tuple[str, str]]()
    commands = Counter[str](changes["node"].to_pylist())
    grouped: pa.Table | None = None
    listening = Listening()
    if given.model:
        listening = _listening(changes, given)
    columns = list(dict.fromkeys([*SEND_COLUMNS, "kind", "service"]))
    for part in parts:
        for table in read_part(part, columns, _sends_and_calls):
            calls = arrow.is_one_of(table, "kind", "call")
            commands.update(table.filter(pa.array(calls))["node"].to_pylist())
            sends = table.filter(pa.array(~calls))
            messages.update(_message_graph(sends, nodes))
            if given.model:
                grouped = _folded(grouped, _grouped(sends, given, listening))
    return RunSummary(
        grouped, listening, nodes, messages, commands, _operations(steps), _causes(steps), _interrupts(steps)
    )


def _gathered(
    parts: Sequence[RunPart], columns: Sequence[str], pick: Callable[[pa.Table], pa.Table]
) -> pa.Table:
    tables = [table for part in parts for table in read_part(part, columns, pick)]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _of_kinds(*kinds: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.filter(pa.array(arrow.is_one_of(table, "kind", *kinds)))


# Who listens, and what is sent


def _federate_nodes(changes: pa.Table) -> dict[int, str]:
    joins = _of_kinds("join")(changes)
    return dict(zip(joins["federate"].to_pylist(), joins["node"].to_pylist(), strict=True))


def _listening(changes: pa.Table, given: Inputs) -> Listening:
    """Regions of updates move more often than those of subscriptions, and are left out."""
    declared = _of_kinds("declare")(changes)["region"]
    moved = arrow.is_one_of(changes, "kind", "region")
    used = pc.is_in(changes["region"], value_set=pc.unique(declared.drop_null())).to_numpy(
        zero_copy_only=False
    )
    kept = changes.filter(pa.array(~moved | used))
    rows = sorted(kept.to_pylist(), key=lambda row: (row["epoch_ns"], row["node"], row["seq"]))
    more = more_counts(given, recorded_settings(given))
    return read_listening(rows, model_spaces(given.model), model_cells(given.model, more))


CONTROL = tuple(name for name, service in SERVICES.items() if service.control)


def _sends_and_calls(table: pa.Table) -> pa.Table:
    calls = arrow.is_one_of(table, "kind", "call") & arrow.is_one_of(table, "service", *CONTROL)
    sends = arrow.is_one_of(table, "kind", "send") & arrow.present(table, "destinations")
    return table.filter(pa.array(calls | sends))


def _message_graph(sends: pa.Table, nodes: Mapping[int, str]) -> Counter[tuple[str, str]]:
    """One for each other node that has somebody who gets it."""
    found = Counter[tuple[str, str]]()
    who, lengths = arrow.lists(sends, "destinations")
    froms, names = arrow.words(sends, "node")
    every = list(dict.fromkeys([*names, *nodes.values()]))
    federates = np.array(sorted(nodes), np.int64)
    if not len(who) or not len(federates):
        return found
    places = np.array([every.index(nodes[one]) for one in federates.tolist()])
    at = np.minimum(np.searchsorted(federates, who), len(federates) - 1)
    there = np.where(federates[at] == who, places[at], -1)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    pairs = np.unique(np.stack([rows, there]), axis=1)
    pairs = pairs[:, pairs[1] >= 0]
    for one, other in zip(froms[pairs[0]].tolist(), pairs[1].tolist(), strict=True):
        if names[one] != every[other]:
            found[names[one], every[other]] += 1
    return found


def _grouped(sends: pa.Table, given: Inputs, listening: Listening) -> pa.Table:
    """As `advice.jobs.grouped_sends` has them, but destinations are a text."""
    wanted = (
        (arrow.numbers(sends, "source") > 0)
        & arrow.fits(sends, "service", BY_CHANNELS.__contains__, missing=True)
        & arrow.fits(sends, "order", ("RO", "TSO").__contains__, missing=True)
    )
    table = sends.filter(pa.array(wanted)).select(list(SEND_COLUMNS)).combine_chunks()
    more = more_counts(given, recorded_settings(given))
    spaces, cells = model_spaces(given.model), model_cells(given.model, more)
    batches = [
        describe_batch(batch, spaces, cells, listening) for batch in table.to_batches() if batch.num_rows
    ]
    found = pa.Table.from_batches(batches, arrow.schema_of(GROUPED))
    place = found.column_names.index("destinations")
    found = found.set_column(place, "destinations", _sorted_texts(found))
    return (
        found.group_by(_KEYS, use_threads=False)
        .aggregate([([], "count_all")])
        .rename_columns([*_KEYS, "count"])
    )


def _sorted_texts(table: pa.Table) -> pa.Array:
    values, lengths = arrow.lists(table, "destinations")
    rows = np.repeat(np.arange(len(lengths)), lengths)
    ordered = values[np.lexsort((values, rows))]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(ordered.astype(np.int64)).cast(pa.string()))
    return pc.binary_join(lists, _JOINED)


def _folded(one: pa.Table | None, other: pa.Table) -> pa.Table:
    if one is None:
        return other
    both = pa.concat_tables([one, other])
    return (
        both.group_by(_KEYS, use_threads=False)
        .aggregate([("count", "sum")])
        .rename_columns([*_KEYS, "count"])
    )


def with_destinations(grouped: pa.Table) -> pa.RecordBatch:
    """As `batches.counted` takes it."""
    texts = grouped["destinations"].to_pylist()
    lists = [[int(one) for one in text.split(_JOINED)] if text else [] for text in texts]
    place = grouped.column_names.index("destinations")
    made = grouped.set_column(place, "destinations", pa.array(lists, pa.list_(pa.int64()))).combine_chunks()
    batches = made.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=made.schema)


# What operations took


def _steps(table: pa.Table) -> pa.Table:
    kinds = arrow.is_one_of(table, "kind", "dispatch", "done", "miss")
    return table.filter(pa.array(kinds & arrow.fits(table, "operation", bool)))


def _operations(steps: pa.Table) -> dict[str, list[Measured]]:
    """A `dispatch` and the `done` of the same consumer that follows it."""
    runs = steps.filter(pa.array(arrow.is_one_of(steps, "kind", "dispatch", "done")))
    nodes, names = arrow.words(runs, "node")
    operations, words = arrow.words(runs, "operation")
    mono, deadline = (arrow.numbers(runs, name) for name in ("mono_ns", "deadline_ns"))
    keys = (arrow.numbers(runs, "seq"), mono, operations, arrow.words(runs, "name")[0], nodes)
    order = np.lexsort(keys)
    begins = arrow.is_one_of(runs, "kind", "dispatch")
    first, second = order[:-1], order[1:]
    same = np.ones(len(first), np.bool_)
    for key in keys[2:]:
        same &= key[first] == key[second]
    paired = same & begins[first] & ~begins[second]
    at, ended = first[paired], mono[second[paired]]
    late = (deadline[at] > 0) & (ended > deadline[at])
    told = _misses(steps)
    made: dict[str, list[Measured]] = {}
    groups = nodes[at].astype(np.int64) * len(words) + operations[at]
    for group in sorted(
        set(groups.tolist()), key=lambda one: (names[one // len(words)], words[one % len(words)])
    ):
        mine = np.flatnonzero(groups == group)
        node, operation = names[group // len(words)], words[group % len(words)]
        took = np.sort(ended[mine] - mono[at[mine]])
        misses = max(int(late[mine].sum()), told.get((node, operation), 0))
        made.setdefault(node, []).append(
            Measured(
                operation, len(mine), int(took[-(-len(took) // 2) - 1]), int(took[-1]), int(mono[at[mine]].min()),
                int(mono[at[mine]].max()), _least(runs, "priority", at[mine]), _least(runs, "sub_priority", at[mine]) or 0,
                misses,
            )
        )  # fmt: skip
    return made


def _least(table: pa.Table, name: str, rows: Array) -> int | None:
    found: int | None = pc.min(table[name].take(pa.array(rows))).as_py()
    return found


def _misses(steps: pa.Table) -> Counter[tuple[str, str]]:
    """A node may have said of an event that it missed, and never that it ended."""
    said = _of_kinds("miss")(steps)
    return Counter(zip(said["node"].to_pylist(), said["operation"].to_pylist(), strict=True))


def _interrupts(steps: pa.Table) -> bool:
    """Did one operation run while another of its node had begun and not ended?"""
    runs = steps.filter(pa.array(arrow.is_one_of(steps, "kind", "dispatch", "done")))
    nodes, names = arrow.words(runs, "node")
    order = np.lexsort((arrow.numbers(runs, "seq"), arrow.numbers(runs, "mono_ns"), nodes))
    change = np.where(arrow.is_one_of(runs, "kind", "dispatch"), 1, -1)[order]
    return any(bool((np.cumsum(change[nodes[order] == node]) > 1).any()) for node in range(len(names)))


def _causes(steps: pa.Table) -> dict[tuple[str, str], int]:
    """How often the second operation handled what was sent while the first one ran."""
    runs = _of_kinds("dispatch")(steps)
    texts = {name: runs[name].cast(pa.string()) for name in ("node", "operation")}
    first = pa.table(
        {
            "node": texts["node"],
            "cause_source": runs["source"],
            "cause": runs["message"],
            "before": texts["operation"],
        }
    )
    after = pa.table({**texts, "cause_source": runs["cause_source"], "cause": runs["cause"]})
    first, after = (one.filter(pc.is_valid(one["cause"])) for one in (first, after))
    joined = after.join(first, ["node", "cause_source", "cause"], join_type="inner", use_threads=False)
    return dict(Counter(zip(joined["before"].to_pylist(), joined["operation"].to_pylist(), strict=True)))


def total(counts: Iterable[Mapping[tuple[str, str], int]]) -> dict[tuple[str, str], int]:
    found = Counter[tuple[str, str]]()
    for one in counts:
        found.update(one)
    return dict(found)
