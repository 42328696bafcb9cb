"""What advice asks of a run's rows: histograms and graphs, from what parts tell of theirs; what is collected is these alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from weft.interest.ddm_settings import DdmSettings
from weft.review.advice.batches import (
    COUNTED,
    OUTSIDE,
    PACKED,
    SEND_COLUMNS,
    Model,
    More,
    counted,
    described,
    grouped,
    model_cells,
    model_spaces,
    read_counts,
    unpacked,
)
from weft.review.advice.caused import EACH_MESSAGE, NOTE
from weft.review.advice.cells import parse_layout
from weft.review.advice.grid import Listening, TrafficCounts
from weft.review.advice.listening import read_listening
from weft.review.advice.operations import MEASURE, OF_NODE
from weft.review.advice.orders import ClassTraffic
from weft.review.advice.rows import AdviceRows
from weft.review.advice.schedule import Measured
from weft.review.advice.traffic import MOVES, SEEN, by_channels, rows_of
from weft.review.kernels import arrow
from weft.review.spark.tasks import Frame, RunPart
from weft.review.steps import RECORDED, AuditStep, AuditSteps, StepKind

LAYOUTS = "layout string, messages bigint"

# --- grid -------------------------------------------------------------------------------------------------------------


def listening_of(rows: AdviceRows, model: Model, more: More) -> Listening:
    """Changes of subscriptions, and of the regions used for them; those of updates move more often and are left out."""
    return read_listening(rows.changes, model_spaces(model), model_cells(model, more))


def grouped_sends(rows: AdviceRows, model: Model, more: More, listening: Listening) -> Frame:
    """The histogram: how many messages there were of each kind that a strategy could tell apart, part by part."""
    return rows.runner.each(GROUP, rows.parts, model, more, listening, rows.until)


def group(
    model: Model, more: More, listening: Listening, until: int | None, part: RunPart
) -> Iterator[pa.RecordBatch]:
    return grouped(described(model, more, listening, _sends(part, until)))


def _sends(part: RunPart, until: int | None) -> Iterator[pa.RecordBatch]:
    for table in rows_of(part, (*SEND_COLUMNS, "kind", "service"), until):
        rows = (
            arrow.is_one_of(table, "kind", "send") & (arrow.numbers(table, "source") > 0) & by_channels(table)
        )
        rows &= arrow.present(table, "destinations")
        rows &= arrow.fits(table, "order", ("RO", "TSO").__contains__, True)
        yield from arrow.filtered(table.select(SEND_COLUMNS), rows).combine_chunks().to_batches()


def layouts_of(grouped: Frame) -> Counter[str]:
    """Messages by layout; `OUTSIDE` are those that go to those who get them under any strategy, because regions are asked as of
    their time."""
    found = Counter[str]()
    for row in grouped.mapInArrow(_without_groups, LAYOUTS).toArrow().to_pylist():
        found[row["layout"]] += row["messages"]
    return found


def _without_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield arrow.fitted(batch, arrow.schema_of(LAYOUTS))


def spaces_used(layouts: Counter[str]) -> list[int]:
    """The numbers of the spaces in which anything was sent."""
    return sorted({space for layout in layouts if layout != OUTSIDE for space in parse_layout(layout)[1]})


def counts_of(
    rows: AdviceRows, grouped: Frame, model: Model, more: More, listening: Listening, settings: Sequence[DdmSettings]
) -> list[TrafficCounts]:  # fmt: skip
    found = rows.runner.then(COUNT, grouped, model, more, listening, tuple(settings)).toArrow().to_pylist()
    return read_counts(found, len(settings))


def count(
    model: Model, more: More, listening: Listening, settings: Sequence[DdmSettings], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    groups = (
        group
        for batch in batches
        for layout, packed in zip(batch["layout"].to_pylist(), batch["groups"].to_pylist(), strict=True)
        if layout != OUTSIDE
        for group in unpacked(packed)
    )
    return counted(model, more, listening, settings, groups)


# --- domains ----------------------------------------------------------------------------------------------------------


def federate_nodes(rows: AdviceRows) -> dict[int, str]:
    return {federate: part.node for part in rows.traffic for federate in part.federates}


def message_graph(rows: AdviceRows, nodes: Mapping[int, str]) -> dict[tuple[str, str], int]:
    """How many messages went from each node to each other: one for each node that has somebody who gets it."""
    found = Counter[tuple[str, str]]()
    for part in rows.traffic:
        for receivers, times in part.sent.items():
            for other in {nodes[one] for one in receivers if one in nodes} - {part.node}:
                found[part.node, other] += times
    return dict(found)


def commands_by_node(rows: AdviceRows) -> dict[str, int]:
    """How many commands the federates of each node gave: calls that change what all nodes know."""
    found = Counter[str]()
    for part in rows.traffic:
        found[part.node] += part.commands
    return dict(+found)


# --- schedule ---------------------------------------------------------------------------------------------------------


def measured_operations(rows: AdviceRows) -> dict[str, list[Measured]]:
    """For each node what its operations took: a `dispatch` and the `done` of the same consumer that follows it."""
    return {node: found.measured for node, found in rows.operations.items() if found.measured}


def interrupts(rows: AdviceRows) -> bool:
    """Did one operation run while another of its node had begun and not ended?  Then the dispatcher interrupts."""
    return any(found.interrupts for found in rows.operations.values())


def operation_causes(rows: AdviceRows) -> dict[tuple[str, str], int]:
    """How often the second operation handled what was sent while the first one ran."""
    return dict(rows.caused.operations)


# --- orders -----------------------------------------------------------------------------------------------------------


def class_traffic(rows: AdviceRows) -> dict[str, ClassTraffic]:
    made: dict[str, ClassTraffic] = {}
    for part in rows.traffic:
        for name, one in part.classes.items():
            made.setdefault(name, ClassTraffic(name)).add(one)
    for name, (held, held_ns) in rows.caused.held.items():
        if name in made:
            made[name].held, made[name].held_ns = held, held_ns
    return made


def class_causes(rows: AdviceRows) -> dict[tuple[str, str], int]:
    """How many messages of the second class were sent while one of the first was being handled."""
    return dict(rows.caused.classes)


GROUP = AuditStep(
    "alike", StepKind.MAP, "messages by what a strategy could tell apart", (RECORDED, "traffic", "moves"), group, PACKED,
    (*SEND_COLUMNS, "kind", "service"), when="there is an object model",
)  # fmt: skip
COUNT = AuditStep(
    "counts", StepKind.MAP, "what they would cost under each setting", ("alike",), count, COUNTED
)
STEPS = AuditSteps(
    "advice", "what should change before the next run?",
    (SEEN, MOVES, GROUP, COUNT, MEASURE, OF_NODE, NOTE, EACH_MESSAGE),
)  # fmt: skip
