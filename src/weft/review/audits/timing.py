"""Logical time: deliveries in time stamp order, none in the past, none lost; grants not above the LBTS."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np

from weft.host.runs import read_rows
from weft.review import arrow
from weft.review.audits import pick
from weft.review.audits.context import Context, Result
from weft.review.audits.delivery import Deliveries
from weft.review.audits.near import time_type
from weft.review.kernels import timing as kernel
from weft.review.kernels.pieces import by_value, split
from weft.review.tasks import Part, Work, lives_of, merged, read_part, rising, spread

EARLY_GRANT = "grant above LBTS"
LOST = "lost"
CARRY, FLAGGED = "carry", "flagged"
FLUSH = "flush_queue_grant"
CONSTRAINED, NOT_CONSTRAINED = "time_constrained_enabled", "disable_time_constrained"
GRANTS = ("time_advance_grant", FLUSH)
SAME_CLOCK = 20_000_000  # ns: nodes whose two clocks differ by as much are on one machine
CLOCKS_DIFFER = 1_000_000_000  # ns that clocks of several machines may differ
ORDER = ("what", "federate", "seq", "source", "message")
WITNESS = ("what", "federate", "node", "seq", "source", "message", "time", "bound", "by")
DELIVERY = ("federate", "seq", "source", "message", "time")
ORDERED = ("node", "kind", "order", "service", "seq", "federate", "source", "message")
STEPPED = ("node", "kind", "service", "seq", "federate", "epoch_ns")


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    frames = []
    deliveries = Deliveries.of(context)
    if deliveries.blocks:
        lost = deliveries.lost().where(f.col("order") == "TSO")
        frames.append(lost.withColumn("what", f.lit(LOST)).select(*_nulled(lost, context), "unsure"))
    ordered = _ordered(context)
    if ordered is not None:
        frames.append(ordered.select(*_nulled(ordered, context)).withColumn("unsure", f.lit(False)))
    if not frames:
        return Result(0, [], idle="nothing was granted or delivered")
    return context.result(reduce(lambda one, other: one.unionByName(other), frames), ORDER)


def _nulled(frame: Any, context: Context) -> list[Any]:
    """The columns of a violation; what a frame does not have is null."""
    from pyspark.sql import functions as f

    time = time_type(context)
    types = {"what": "string", "node": "string", "time": time, "bound": time}
    return [
        f.col(name) if name in frame.columns else f.lit(None).cast(types.get(name, "bigint")).alias(name)
        for name in WITNESS
    ]


# Deliveries, piece by piece


def _ordered(context: Context) -> Any:
    """What is out of order, and grants that came too early; None if nothing is."""
    from pyspark.sql import functions as f

    time = time_type(context)
    works: list[Work] = []
    if context.has("grant"):
        clock = 0 if _one_clock(context) else CLOCKS_DIFFER
        works.append(partial(early_grants, time, clock, _columns(context), context.parts))
    for part, seen in zip(context.parts, context.survey, strict=True):
        if seen.kinds["grant"] or seen.kinds["deliver"]:
            works.append(partial(judge_part, time, _columns(context), part))
    if not works:
        return None
    schema = _pieces_schema(time)
    pieces = spread(context.session, works, schema).repartition("node", "federate")
    told = pieces.mapInArrow(partial(fold, time), schema).persist()
    counts = {row["what"]: row["count"] for row in told.groupBy("what").count().collect()}
    if not counts:
        return None
    found = told.where(f.col("what") != FLAGGED).select(*WITNESS)
    if counts.get(FLAGGED):
        flags = [row.asDict() for row in told.where(f.col("what") == FLAGGED).collect()]
        parts = [part for part in context.parts if any(flag["node"] == part.node for flag in flags)]
        more = spread(
            context.session,
            [partial(by_earlier, time, _columns(context), part, flags) for part in parts],
            schema,
        )
        found = found.unionByName(more.select(*WITNESS))
        found = found.groupBy("federate", "node", "seq", "source", "message", "time", "by").agg(
            f.max(f.struct("what", "bound")).alias("worst")
        )
        found = found.select("*", "worst.what", "worst.bound").drop("worst")
    return found


def _columns(context: Context) -> tuple[str, str]:
    return context.opened.time_column, context.opened.lookahead_column


def _pieces_schema(time: str) -> str:
    numbers = ["seq", "last_head_grant", "last_head_flush", "source", "message", "by"]
    times = ["time", "bound", "granted", "most", "least_before_grant", "least_before_flush"]
    return ", ".join(
        ["what string", "node string", "federate bigint", "flushed boolean"]
        + [f"{name} bigint" for name in numbers]
        + [f"{name} {time}" for name in times]
    )


def judge_part(time: str, columns: tuple[str, str], part: Part) -> Iterator[Any]:
    return judge_pieces(time, read_part(part, (*ORDERED, columns[0]), partial(ordered, columns[0])))


def ordered(time_column: str, table: Any) -> Any:
    """Deliveries in time stamp order, and grants."""
    is_delivery = arrow.is_one_of(table, "kind", "deliver") & arrow.is_one_of(table, "order", "TSO")
    is_grant = arrow.is_one_of(table, "kind", "grant") & arrow.fits(
        table, "service", GRANTS.__contains__, True
    )
    rows = (is_delivery | is_grant) & arrow.present(table, time_column)
    found = pick.filtered(table, rows)
    code = np.where(arrow.is_one_of(found, "service", FLUSH), kernel.FLUSH_GRANT, kernel.GRANT)
    return pick.with_columns(
        found,
        code=np.where(is_delivery[rows], kernel.DELIVER, code),
        time=found[time_column],
        file=np.zeros(len(found), np.int64),
    )


def fold(time: str, batches: Iterator[Any]) -> Iterator[Any]:
    """For mapInArrow, all of a federate together: what was found, and pieces whose first deliveries must be compared with
    what came before the piece, and do not fit."""
    import pyarrow as pa

    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given)
    carries = arrow.is_one_of(table, "what", CARRY)
    yield from pick.filtered(table, ~carries).to_batches()
    rows = pick.filtered(table, carries).to_pylist()
    rows.sort(key=lambda row: (row["node"], row["federate"], row["seq"]))
    groups = itertools.groupby(rows, key=lambda row: (row["node"], row["federate"]))
    flags = [flag for _, group in groups for flag in _flagged(group)]
    yield arrow.made_of_rows(flags, arrow.schema_of(_pieces_schema(time)))


def _flagged(carries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    most = granted = None
    for carry in carries:
        if _below(carry["least_before_grant"], granted) or _below(carry["least_before_flush"], most):
            told = ("node", "federate", "seq", "last_head_grant", "last_head_flush")
            yield {"what": FLAGGED, "most": most, "granted": granted} | {name: carry[name] for name in told}
        known = [time for time in (None if carry["flushed"] else most, carry["most"]) if time is not None]
        most = max(known, default=None)
        granted = granted if carry["granted"] is None else carry["granted"]


def _below(time: Any, bound: Any) -> bool:
    return time is not None and bound is not None and bool(time < bound)


def by_earlier(
    time_name: str, columns: tuple[str, str], part: Part, flags: list[dict[str, Any]]
) -> Iterator[Any]:
    """Deliveries at the beginning of a piece that do not fit to what came before it."""
    schema = arrow.schema_of(_pieces_schema(time_name))
    mine = [flag for flag in flags if flag["node"] == part.node]
    for table in read_part(part, (*ORDERED, columns[0]), partial(ordered, columns[0])):
        seq, federate, time, code = (
            arrow.numbers(table, name) for name in ("seq", "federate", "time", "code")
        )
        for flag in mine:
            rows = (federate == flag["federate"]) & (seq >= flag["seq"]) & (code == kernel.DELIVER)
            for what, bound, last in (
                (kernel.PAST, flag["granted"], flag["last_head_grant"]),
                (kernel.DECREASING, flag["most"], flag["last_head_flush"]),
            ):
                if bound is not None:
                    wrong = pick.filtered(table.select(list(DELIVERY)), rows & (seq <= last) & (time < bound))
                    told = {"what": what, "bound": bound, "node": part.node}
                    yield arrow.made_of_rows([row | told for row in wrong.to_pylist()], schema)


def judge_pieces(time_name: str, batches: Iterator[Any]) -> Iterator[Any]:
    """For mapInArrow: what is out of order, and for each piece and federate what is to be carried."""
    schema = arrow.schema_of(_pieces_schema(time_name))
    for batch in batches:
        file, seq = arrow.numbers(batch, "file"), arrow.numbers(batch, "seq")
        federate, code, time = (arrow.numbers(batch, name) for name in ("federate", "code", "time"))
        source, message = arrow.numbers(batch, "source"), arrow.numbers(batch, "message")
        nodes, names = arrow.words(batch, "node")
        rows: list[dict[str, Any]] = []
        for piece in split(file, seq):
            node = names[nodes[piece.start]]
            for who, inside in by_value(federate[piece]):
                places = inside + piece.start
                found, carry = kernel.check_order(code[places], time[places])
                common = {"node": node, "federate": int(who)}
                for place, what, bound in found:
                    at = places[place]
                    rows.append(
                        {
                            "what": what, "seq": int(seq[at]), "source": int(source[at]),
                            "message": int(message[at]), "time": time[at].item(), "bound": bound.item(), **common,
                        }
                    )  # fmt: skip
                rows.append(_carry_row(carry, seq[places], common))
        yield arrow.made_of_rows(rows, schema)


def _carry_row(carry: kernel.TimeCarry, seq: Any, common: dict[str, Any]) -> dict[str, Any]:
    last = int(seq[-1])
    heads = {
        "last_head_grant": int(seq[carry.first_grant]) - 1 if carry.first_grant < len(seq) else last,
        "last_head_flush": int(seq[carry.first_flush]) - 1 if carry.first_flush < len(seq) else last,
    }
    names = ("granted", "most", "least_before_grant", "least_before_flush")
    values = {name: getattr(carry, name) for name in names}
    plain = {name: value.item() for name, value in values.items() if value is not None}
    return {"what": CARRY, "seq": int(seq[0]), "flushed": carry.flushed, **heads, **plain, **common}


# Grants


def early_grants(time: str, clock: int, columns: tuple[str, str], parts: list[Part]) -> Iterator[Any]:
    """All requests and grants in one task, in the order of the clock; there are few beside the messages."""
    schema = arrow.schema_of(_pieces_schema(time))
    changes, checks = (partial(stepped, columns, clock, is_check) for is_check in (False, True))
    names = (*STEPPED, *columns)
    streams = []
    for life in lives_of(parts):
        streams.append(rising(_to_its_end(life, read_part(life, names, changes))))
        streams.append(rising(read_part(life, names, checks)))
    for batch in check_grants(time, merged(streams)):
        yield arrow.made_of_rows(batch.to_pylist(), schema)


def _to_its_end(life: Part, tables: Iterator[Any]) -> Iterator[Any]:
    """After the last row of a life nobody knows what its federates promised: a crash takes the last second of rows with it."""
    import pyarrow as pa

    who: set[int] = set()
    schema = None
    for table in tables:
        schema = table.schema
        who.update(np.unique(arrow.numbers(table, "federate")).tolist())
        yield table
    if schema is not None and who:
        last = max(
            int(arrow.numbers(read_rows(file, ("epoch_ns",)), "epoch_ns").max()) for file in life.files[-1:]
        )
        row = {
            "node": life.node,
            "seq": 0,
            "leaves": True,
            "turn": 0,
            "is_check": False,
            "late": False,
            "at": last + 1,
        }
        yield pa.Table.from_pylist([row | {"federate": one} for one in sorted(who)], schema=schema)


def stepped(columns: tuple[str, str], clock: int, is_check: bool, table: Any) -> Any:
    """Rows that change what a federate promises, or grants that are to be compared with what others do.

    What happened in the same nanosecond (a node has one time for all that one call leads to) speaks for the grant.
    """
    import pyarrow.compute as pc

    time, lookahead = columns
    there = arrow.present(table, time)
    leaves = arrow.is_one_of(table, "kind", "resign", "lost")
    turns = arrow.is_one_of(table, "service", CONSTRAINED, NOT_CONSTRAINED)
    # With another lookahead nobody knows what is promised until the next request or grant.
    unknown = arrow.is_one_of(table, "service", "modify_lookahead", "disable_time_regulation")
    rows = (arrow.is_one_of(table, "kind", "request", "grant") & there) | leaves | turns | unknown
    is_grant = arrow.is_one_of(table, "kind", "grant") & there
    is_grant &= arrow.fits(table, "service", (*GRANTS, "").__contains__, True)
    rows = is_grant if is_check else rows
    found = pick.filtered(table, rows)
    on, off = (arrow.is_one_of(found, "service", name) for name in (CONSTRAINED, NOT_CONSTRAINED))
    count = len(found)
    return pick.with_columns(
        found.select(["node", "seq", "federate"]),
        time=found[time],
        promise=pc.add(found[time], found[lookahead]),
        leaves=leaves[rows],
        turn=on.astype(np.int64) - off,
        is_check=np.full(count, is_check),
        late=np.full(count, is_check),
        at=arrow.numbers(found, "epoch_ns") + (clock if is_check else 0),
    )


def _one_clock(context: Context) -> bool:
    """Nodes on one machine have one clock: then the difference of the two clocks that each writes is the same."""
    sums: dict[str, tuple[float, int]] = dict.fromkeys(context.nodes, (0.0, 0))
    for seen in context.survey:
        total, count = sums[seen.node]
        sums[seen.node] = total + seen.offset[0], count + seen.offset[1]
    known = [total / count for total, count in sums.values() if count]
    return len(sums) == 1 or (len(known) == len(sums) and max(known) - min(known) < SAME_CLOCK)


def check_grants(time_name: str, batches: Iterator[Any]) -> Iterator[Any]:
    dtype: Any = np.int64 if time_name == "bigint" else np.float64
    schema = arrow.schema_of(
        f"what string, federate bigint, node string, seq bigint, time {time_name}, bound {time_name}, by bigint"
    )
    promises = kernel.Promises(dtype)
    constrained: set[int] = set()
    for batch in batches:
        federate, turn = arrow.numbers(batch, "federate"), arrow.numbers(batch, "turn")
        time, is_check = arrow.numbers(batch, "time").astype(dtype), arrow.numbers(batch, "is_check", False)
        regulates = arrow.present(batch, "promise") & ~arrow.numbers(batch, "leaves", False)
        excesses = promises.feed(
            federate, arrow.numbers(batch, "promise").astype(dtype), regulates, is_check, time
        )
        turns = [(int(place), int(federate[place])) for place in np.flatnonzero((turn != 0) & ~is_check)]
        rows = []
        for place, bound, by in excesses:
            while turns and turns[0][0] < place:
                _turn(constrained, turn, *turns.pop(0))
            if int(federate[place]) in constrained:
                told = batch.slice(place, 1).to_pylist()[0]
                rows.append(
                    {"what": EARLY_GRANT, "bound": bound.item(), "by": by}
                    | {name: told[name] for name in ("federate", "node", "seq", "time")}
                )
        for rest in turns:
            _turn(constrained, turn, *rest)
        yield arrow.made_of_rows(rows, schema)


def _turn(constrained: set[int], turn: Any, place: int, federate: int) -> None:
    (constrained.add if turn[place] > 0 else constrained.discard)(federate)
