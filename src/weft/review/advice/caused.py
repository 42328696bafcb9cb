"""What was the cause of what, and what had to wait: all that is recorded of a message, in one task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array
from weft.review.spark.tasks import Frame, RunPart, read_part
from weft.review.steps import RECORDED, AuditStep, StepKind

COLUMNS = (
    "kind", "federate", "source", "message", "cause_source", "cause", "class", "operation", "mono_ns",
)  # fmt: skip
SENT, SENT_BY, RAN, RAN_BY, WAITED = range(5)
"""A message, and one that was sent while that was handled; a run of an operation for a message, and one that has it as its
cause; a message that waits at a receiver."""
NOTED = "what int, node string, federate bigint, source bigint, message bigint, word string, began bigint, ended bigint"
SUMS = "what int, before string, word string, count bigint, sum bigint"
NOTHING = -1

Pairs = Counter[tuple[str, str]]


@dataclass
class Caused:
    """`classes`, `operations`: how often what comes second has the first as its cause; `held`: by class, how many messages
    waited, and for how many nanoseconds together."""

    classes: Pairs = field(default_factory=Counter)
    operations: Pairs = field(default_factory=Counter)
    held: dict[str, tuple[int, int]] = field(default_factory=dict)


def note(part: RunPart) -> Iterator[pa.RecordBatch]:
    schema = arrow.schema_of(NOTED)
    for table in read_part(part, COLUMNS):
        sends = arrow.is_one_of(table, "kind", "send") & arrow.present(table, "class")
        sends &= arrow.numbers(table, "source") > 0
        runs = arrow.is_one_of(table, "kind", "dispatch") & arrow.fits(table, "operation", bool)
        known = arrow.present(table, "source") & arrow.present(table, "message")
        by = arrow.present(table, "cause_source") & arrow.present(table, "cause")
        of = (("source", "message"), ("cause_source", "cause"))
        for what, rows, (source, message), word in (
            (SENT, sends & known, of[0], "class"),
            (SENT_BY, sends & by & (arrow.numbers(table, "cause") > 0), of[1], "class"),
            (RAN, runs & known, of[0], "operation"),
            (RAN_BY, runs & by, of[1], "operation"),
        ):
            chosen = arrow.filtered(table, rows)
            noted = {"source": chosen[source], "message": chosen[message]}
            yield from _noted(
                what, part.node, len(chosen), schema, **noted, word=chosen[word].cast(pa.string())
            )
        yield from _waits(table, part.node, schema)


def _waits(table: pa.Table, node: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    found = arrow.filtered(table, arrow.is_one_of(table, "kind", "hold", "release"))
    held, mono = arrow.is_one_of(found, "kind", "hold"), arrow.numbers(found, "mono_ns")
    columns = {name: arrow.numbers(found, name, NOTHING) for name in ("federate", "source", "message")}
    yield from _noted(
        WAITED, node, len(found), schema, **columns, word=found["class"].cast(pa.string()),
        began=pa.array(mono, mask=~held), ended=pa.array(mono, mask=held),
    )  # fmt: skip


def _noted(
    what: int, node: str, count: int, schema: pa.Schema, **columns: Array | pa.ChunkedArray
) -> Iterator[pa.RecordBatch]:
    if count:
        same = {"what": pa.repeat(pa.scalar(what, pa.int32()), count), "node": pa.repeat(node, count)}
        given = {**same, **columns}
        arrays = [
            given[name] if name in given else pa.nulls(count, kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        yield from pa.table(arrays, schema=schema).to_batches()


def of_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All that was noted of a message is here."""
    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given)
    what = arrow.numbers(table, "what")
    rows: list[dict[str, object]] = []
    for before, after, apart in ((SENT, SENT_BY, ()), (RAN, RAN_BY, ("node",))):
        counts = _pairs(arrow.filtered(table, what == before), arrow.filtered(table, what == after), apart)
        rows += [
            {"what": after, "before": one, "word": other, "count": count}
            for (one, other), count in counts.items()
        ]
    rows += _held(arrow.filtered(table, what == WAITED))
    yield arrow.made_of_rows(rows, arrow.schema_of(SUMS))


def _pairs(causes: pa.Table, effects: pa.Table, apart: tuple[str, ...]) -> Pairs:
    """Each effect with each of its causes."""
    keys = ["source", "message", *apart]
    both = pa.concat_tables([causes.select([*keys, "word"]), effects.select([*keys, "word"])])
    numbers = same_rows(both, keys)
    codes, words = arrow.words(both, "word")
    mine, theirs = numbers[: len(causes)], numbers[len(causes) :]
    order = np.argsort(mine, kind="stable")
    first, last = (np.searchsorted(mine[order], theirs, side=side) for side in ("left", "right"))
    many = last - first
    places = np.repeat(first - (np.cumsum(many) - many), many) + np.arange(many.sum())
    before, after = codes[: len(causes)][order][places], np.repeat(codes[len(causes) :], many)
    pairs, counts = np.unique(np.stack((before, after)), axis=1, return_counts=True)
    return Counter(
        {(words[one], words[other]): int(n) for (one, other), n in zip(pairs.T.tolist(), counts, strict=True)}
    )


def same_rows(table: pa.Table, names: list[str]) -> Array:
    """A number for each row, the same for those that are alike in these columns."""
    numbers = np.zeros(len(table), np.int64)
    for name in names:
        column = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        both = numbers * max(1, len(column.dictionary)) + np.asarray(column.indices)
        _, numbers = np.unique(both, return_inverse=True)
    return numbers


def _held(waits: pa.Table) -> list[dict[str, object]]:
    """From where it was held first to where it was released last, at one receiver."""
    if not len(waits):
        return []
    numbers = same_rows(waits, ["source", "message", "federate", "node"])
    grouped = pa.table(
        {"number": numbers, "class": waits["word"], "began": waits["began"], "ended": waits["ended"]}
    ).group_by("number", use_threads=False)
    each = grouped.aggregate([("class", "max"), ("began", "min"), ("ended", "max")])
    each = arrow.filtered(each, arrow.present(each, "began_min"))
    took = arrow.present(each, "ended_max")
    spans = np.where(took, arrow.numbers(each, "ended_max") - arrow.numbers(each, "began_min"), 0)
    codes, words = arrow.words(each, "class_max")
    return [
        {
            "what": WAITED,
            "word": word,
            "count": int((codes == code).sum()),
            "sum": int(spans[codes == code].sum()),
        }
        for code, word in enumerate(words)
    ]


def read_sums(frame: Frame) -> Caused:
    found = Caused()
    for row in frame.toArrow().to_pylist():
        if row["what"] == WAITED:
            count, total = found.held.get(row["word"], (0, 0))
            found.held[row["word"]] = count + row["count"], total + row["sum"]
        else:
            pairs = found.classes if row["what"] == SENT_BY else found.operations
            pairs[row["before"], row["word"]] += row["count"]
    return found


NOTE = AuditStep(
    "causes", StepKind.MAP, "messages, runs of operations, what caused them, and waits", (RECORDED, "traffic"), note, NOTED,
    COLUMNS, when="something had a cause, or waited",
)  # fmt: skip
EACH_MESSAGE = AuditStep(
    "of each message", StepKind.KEYED, "pairs of cause and effect, and how long messages waited", ("causes",), of_messages, SUMS,
    key=("source", "message"),
)  # fmt: skip
