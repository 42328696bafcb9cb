"""Whom messages should have been addressed to, once it is known what everybody wanted around that time.

The tiles of the audit of interest, cut by time: all messages that were sent before everybody has told what it wanted a second
later.  Of regions only the last change before some time ago is kept, so what is known of a federate does not grow with the run,
unless it changes regions as of logical times.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.host.recording.files import arrow_schema
from weft.review.audits import interest, pick
from weft.review.audits.context import CLOCK_COLUMN, NUMBER, RTI
from weft.review.audits.judging import EXTRA, MISSED, POSSIBLE
from weft.review.kernels import arrow
from weft.review.kernels.interest import GRACE
from weft.review.kernels.standing import below
from weft.review.live.columns import WaitingRows
from weft.review.live.handovers import IS_EXTRA, IS_MISSED, IS_POSSIBLE, Handovers

CONTROL = ("node", "seq", "kind", "service", "federate", "class", "items", "region", "dimensions", "lower",
           "upper", "epoch_ns", "command")  # fmt: skip
KEPT = 30_000_000_000  # ns by which a node may lag behind the others
VERDICTS = {MISSED: IS_MISSED, EXTRA: IS_EXTRA, POSSIBLE: IS_POSSIBLE}


class Addressing:
    def __init__(self, time_column: str, handovers: Handovers) -> None:
        self._time_column = time_column
        self._handovers = handovers
        self._control: dict[int, pa.Table] = {}  # by federate its rows
        self._stretches: dict[int, pa.Table] = {}
        self._classes: set[str] = set()
        self._waiting = WaitingRows()
        self._order_column = NUMBER

    @property
    def rows(self) -> int:
        return self._waiting.rows + sum(len(table) for table in self._control.values())

    def feed(self, node: str, table: pa.Table) -> None:
        """Rows of one node."""
        rows = pick.of_kinds(table, "declare", "region", "resign", "lost")
        control = pick.with_columns(rows.select(list(CONTROL)), time=rows[self._time_column])
        sent = self._sent(table)
        unnumbered = control.column("command").null_count or sent.column("command").null_count
        if unnumbered and self._order_column == NUMBER:
            self._order_column = CLOCK_COLUMN
            self._stretches.clear()
        for federate in np.unique(arrow.numbers(control, "federate")).tolist():
            if federate != RTI:
                mine = control.filter(pc.equal(control.column("federate"), federate))
                before = self._control.get(federate)
                self._control[federate] = mine if before is None else pa.concat_tables([before, mine])
                self._stretches.pop(federate, None)
        self._waiting.add(sent)

    def _sent(self, table: pa.Table) -> pa.Table:
        """As the audit of interest looks at them; `judged`: do they go by subscriptions at all?"""
        rows = pick.messages(table, "send")
        made = interest.as_sent(self._time_column, rows, "epoch_ns", "command")
        return pick.with_columns(made, judged=interest.goes_by_subscriptions(rows))

    def control(self) -> pa.Table:
        """All rows by which somebody changed what it wants, as far as they count."""
        return pa.concat_tables([_no_control(self._time_column), *self._control.values()])

    def settle(self, before: int) -> None:
        """With everything read that happened before this time."""
        ready = self._waiting.take("epoch_ns", before - GRACE)
        if ready is None:
            return
        source, message = arrow.numbers(ready, "source"), arrow.numbers(ready, "message")
        sent = ready.filter(ready.column("judged"))
        if len(sent):
            at = sent.column(self._order_column)
            self._judge(sent.append_column("at", at))
            self._compact(int(arrow.numbers(sent, "epoch_ns").min()) - KEPT)
        self._handovers.judged(source, message)

    def _judge(self, sent: pa.Table) -> None:
        self._classes |= set(sent.column("class").unique().to_pylist())
        begin, end = (int(of(arrow.numbers(sent, "at"))) for of in (np.min, np.max))
        margin = interest.margin_of(self._order_column)
        near = self._near(begin - margin, end + margin)
        misfits = interest.judge_tile(self._order_column, sent, near)
        for what, verdict in VERDICTS.items():
            rows = misfits.filter(pc.equal(misfits.column("what"), what))
            if len(rows):
                names = ("source", "message", "federate")
                source, message, federate = (arrow.numbers(rows, name) for name in names)
                judged = ~np.isin(federate, list(self._handovers.unjudged))
                self._handovers.found_out(verdict, source[judged], message[judged], federate[judged])

    def _near(self, begin: int, end: int) -> pa.Table:
        """Stretches of subscriptions in that time, one for each class of messages that they are for."""
        found = []
        for federate in self._control:
            stretches = self._stretches.get(federate)
            if stretches is None:
                stretches = interest.stretches_of_one(self._order_column, self._control[federate])
                self._stretches[federate] = stretches
            since, until = (arrow.numbers(stretches, name) for name in ("since", "until"))
            classes = {
                subscribed: [name for name in self._classes if below(name, subscribed)]
                for subscribed in stretches.column("class").unique().to_pylist()
            }
            # Who has subscribed to a class and to one above it gets it at one of them, and nobody knows at which.
            if max(Counter(itertools.chain(*classes.values())).values(), default=0) > 1:
                self._handovers.unjudged.add(federate)
            meanwhile = pick.filtered(stretches, (since <= end) & (until > begin))
            found.append(interest.for_classes(meanwhile, classes))
        return pa.concat_tables([arrow.schema_of(interest.SUBSCRIBED).empty_table(), *found])

    def _compact(self, before: int) -> None:
        """Of each region, changes before a time but the last are not needed any more."""
        for federate, table in self._control.items():
            epoch = arrow.numbers(table, "epoch_ns")
            if table.column("time").null_count < len(table) or int((epoch < before).sum()) < 100:
                continue
            kinds, regions = table.column("kind").to_pylist(), table.column("region").to_pylist()
            last = {region: place for place, region in enumerate(regions) if epoch[place] < before
                    and kinds[place] == "region"}  # fmt: skip
            keep = [
                kind != "region" or at >= before or last[region] == place
                for place, (kind, region, at) in enumerate(zip(kinds, regions, epoch, strict=True))
            ]
            self._control[federate] = table.filter(keep)
            self._stretches.pop(federate, None)


def _no_control(time_column: str) -> pa.Table:
    """For the schema of nothing."""
    schema = arrow_schema(with_node=True)
    kinds = {name: schema.field(time_column if name == "time" else name).type for name in (*CONTROL, "time")}
    plain = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
    return pa.schema(list(plain.items())).empty_table()
