"""Who wanted what: the rows by which subscriptions, regions and knowledge of instances change, as a frame."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import RTI, Context
from weft.review.kernels import arrow
from weft.review.spark.tasks import Frame, RunPart, read_part
from weft.review.steps import RECORDED, TIME, AuditStep, StepKind

KINDS = ("declare", "region", "resign", "lost")
FORGETS = "local_delete_object_instance"
"""6.16: a call by which a federate gets no more of an instance, until it discovers it again."""
REGISTERS = ("register_object_instance", "register_object_instance_with_regions")
WORDS = ("node", "kind", "service", "class")
SCHEMA = (
    "node string, kind string, service string, class string, seq bigint, federate bigint, items array<string>, "
    "region bigint, dimensions array<string>, lower array<bigint>, upper array<bigint>, epoch_ns bigint, "
    "command bigint, object bigint, time {time}"
)
COLUMNS = arrow.names_of(SCHEMA)[:-1]


def control(context: Context) -> Frame:
    """Of all federates; made once."""
    made: Frame | None = context.__dict__.get("control")
    if made is None:
        parts = context.parts_with(*KINDS, "call")
        each = ((part, context.opened.time_column) for part in parts)
        made = context.__dict__["control"] = context.runner.each(WISHES, each).persist()
    return made


def choose(part: RunPart, time_column: str) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, (*COLUMNS, time_column), _chosen):
        columns = {name: table[name] for name in COLUMNS}
        words = {name: table[name].cast(pa.string()) for name in WORDS}
        yield from pa.table({**columns, **words, "time": table[time_column]}).to_batches()


def _chosen(table: pa.Table) -> pa.Table:
    forgets = arrow.is_one_of(table, "kind", "call") & arrow.is_one_of(table, "service", FORGETS)
    forgets &= arrow.present(table, "object")  # or it was refused
    rows = (arrow.is_one_of(table, "kind", *KINDS) | forgets) & (arrow.numbers(table, "federate") != RTI)
    return pick.filtered(table, rows)


WISHES = AuditStep(
    "wishes", StepKind.MAP, "rows by which subscriptions, regions and knowledge of instances change", (RECORDED,), choose,
    SCHEMA, (*COLUMNS, TIME), when="something was sent",
)  # fmt: skip
