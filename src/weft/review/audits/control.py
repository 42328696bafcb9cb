"""Who wanted what: the rows by which subscriptions, regions and knowledge of instances change, as a frame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from weft.review.audits import pick
from weft.review.audits.context import RTI, Context
from weft.review.spark import arrow
from weft.review.spark.tasks import Frame, RunPart, read_part, spread

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("declare", "region", "resign", "lost")
FORGETS = "local_delete_object_instance"
"""6.16: a call by which a federate gets no more of an instance, until it discovers it again."""
WORDS = ("node", "kind", "service", "class")
COLUMNS = (
    *WORDS,
    *("seq", "federate", "items", "region", "dimensions", "lower", "upper", "epoch_ns", "command", "object"),
)
SCHEMA = (
    "node string, kind string, service string, class string, seq bigint, federate bigint, items array<string>, "
    "region bigint, dimensions array<string>, lower array<bigint>, upper array<bigint>, epoch_ns bigint, "
    "command bigint, object bigint, time {time}"
)


def control(context: Context) -> Frame:
    """Of all federates; made once."""
    made: Frame | None = context.__dict__.get("control")
    if made is None:
        column = context.opened.time_column
        parts = [
            part
            for part, seen in zip(context.parts, context.survey, strict=True)
            if any(seen.kinds[kind] for kind in (*KINDS, "call"))
        ]
        schema = SCHEMA.format(time="bigint" if column == "time_int" else "double")
        works = [partial(choose, part, column) for part in parts]
        made = context.__dict__["control"] = spread(context.session, works, schema).persist()
    return made


def choose(part: RunPart, time_column: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for table in read_part(part, (*COLUMNS, time_column), _chosen):
        words = {name: table[name].cast(pa.string()) for name in WORDS}
        others = {name: table[name] for name in COLUMNS if name not in WORDS}
        yield from pa.table({**words, **others, "time": table[time_column]}).to_batches()


def _chosen(table: pa.Table) -> pa.Table:
    forgets = arrow.is_one_of(table, "kind", "call") & arrow.is_one_of(table, "service", FORGETS)
    forgets &= arrow.present(table, "object")  # or it was refused
    rows = (arrow.is_one_of(table, "kind", *KINDS) | forgets) & (arrow.numbers(table, "federate") != RTI)
    return pick.filtered(table, rows)
