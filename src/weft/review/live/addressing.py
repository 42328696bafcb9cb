"""Whom messages should have been addressed to, once it is known what everybody wanted around that time.

The tiles of the audit of interest, cut by time: all messages that were sent before everybody has told what it wanted a second
later.  Of regions only the last change before is kept, so what is known of a federate does not grow with the run, unless it
changes regions as of logical times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.audits import interest
from weft.review.audits.context import RTI
from weft.review.audits.judging import EXTRA, MISSED, POSSIBLE
from weft.review.kernels.interest import GRACE
from weft.review.live.columns import Waiting, of_kinds
from weft.review.live.handovers import IS_EXTRA, IS_MISSED, IS_POSSIBLE, Handovers

CONTROL = ("node", "seq", "kind", "service", "federate", "class", "items", "region", "dimensions", "lower",
           "upper", "epoch_ns")  # fmt: skip
VERDICTS = {MISSED: IS_MISSED, EXTRA: IS_EXTRA, POSSIBLE: IS_POSSIBLE}


class Addressing:
    def __init__(self, time_column: str, handovers: Handovers) -> None:
        self._time_column = time_column
        self._handovers = handovers
        self._control: dict[int, Any] = {}  # by federate its rows
        self._stretches: dict[int, Any] = {}
        self._classes: set[str] = set()
        self._waiting = Waiting()

    @property
    def rows(self) -> int:
        return self._waiting.rows + sum(len(table) for table in self._control.values())

    def feed(self, node: str, table: Any) -> None:
        """Rows of one node."""
        import pyarrow as pa
        import pyarrow.compute as pc

        control = of_kinds(table, "declare", "region", "resign", "lost")
        time = control.column(self._time_column)
        control = control.select(list(CONTROL)).append_column("time", time)
        for federate in np.unique(arrow.numbers(control, "federate")).tolist():
            if federate != RTI:
                mine = control.filter(pc.equal(control.column("federate"), federate))
                before = self._control.get(federate)
                self._control[federate] = mine if before is None else pa.concat_tables([before, mine])
                self._stretches.pop(federate, None)
        self._waiting.add(self._sent(table))

    def _sent(self, table: Any) -> Any:
        """As the audit of interest looks at them; `judged`: do they go by subscriptions at all?"""
        import pyarrow.compute as pc

        rows = of_kinds(table, "send")
        rows = rows.filter(pc.not_equal(pc.fill_null(rows.column("source"), RTI), RTI))
        service = pc.fill_null(rows.column("service"), "")
        plain = pc.invert(
            pc.or_(pc.match_substring(service, "directed"), pc.match_substring(service, "delete"))
        )
        judged = pc.and_(
            pc.and_(plain, rows.column("class").is_valid()), rows.column("destinations").is_valid()
        )
        is_update = pc.and_(
            pc.invert(pc.match_substring(service, "interaction")), rows.column("object").is_valid()
        )
        items = pc.binary_join(rows.column("items"), interest.SEP)
        dimensions = pc.binary_join(rows.column("dimensions"), interest.SEP)
        names = ["node", "seq", "source", "message", "class", "destinations", "lower", "upper", "epoch_ns"]
        made = rows.select(names).append_column("items", pc.if_else(is_update, items, None))
        made = made.append_column("dimensions", dimensions)
        made = made.append_column("by_logical", pc.fill_null(pc.equal(rows.column("order"), "TSO"), False))
        made = made.append_column("time", rows.column(self._time_column))
        return made.append_column("judged", judged)

    def settle(self, before: int) -> None:
        """With everything read that happened before this time."""
        ready = self._waiting.take("epoch_ns", before - GRACE)
        if ready is None:
            return
        source, message = arrow.numbers(ready, "source"), arrow.numbers(ready, "message")
        sent = ready.filter(ready.column("judged"))
        if len(sent):
            self._judge(sent)
            self._compact(int(arrow.numbers(sent, "epoch_ns").min()) - 2 * GRACE)
        self._handovers.judged(source, message)

    def _judge(self, sent: Any) -> None:
        self._classes |= set(sent.column("class").unique().to_pylist())
        begin, end = (int(of(arrow.numbers(sent, "epoch_ns"))) for of in (np.min, np.max))
        near = self._near(begin - GRACE, end + GRACE)
        misfits = interest.judge_tile(self._time_column, sent, near)
        for what, verdict in VERDICTS.items():
            import pyarrow.compute as pc

            rows = misfits.filter(pc.equal(misfits.column("what"), what))
            if len(rows):
                names = ("source", "message", "federate")
                source, message, federate = (arrow.numbers(rows, name) for name in names)
                judged = ~np.isin(federate, list(self._handovers.unjudged))
                self._handovers.found_out(verdict, source[judged], message[judged], federate[judged])

    def _near(self, begin: int, end: int) -> Any:
        """Stretches of subscriptions in that time, one for each class of messages that they are for."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = []
        for federate in self._control:
            stretches = self._stretches.get(federate)
            if stretches is None:
                stretches = interest.stretches_of_one(self._control[federate])
                self._stretches[federate] = stretches
            meanwhile = pc.and_(
                pc.less_equal(stretches.column("since"), end), pc.greater(stretches.column("until"), begin)
            )
            self._find_unjudged(federate, stretches)
            found += self._by_class(stretches.filter(meanwhile))
        return pa.concat_tables(found) if found else interest.stretches_of_one(_no_control()).slice(0, 0)

    def _below(self, subscribed: str) -> list[str]:
        return [name for name in self._classes if name == subscribed or name.startswith(f"{subscribed}.")]

    def _find_unjudged(self, federate: int, stretches: Any) -> None:
        """Who has subscribed to a class and to one above it gets it at one of them, and nobody knows at which."""
        above: dict[str, str] = {}
        for subscribed in stretches.column("class").unique().to_pylist():
            for name in self._below(subscribed):
                if above.setdefault(name, subscribed) != subscribed:
                    self._handovers.unjudged.add(federate)

    def _by_class(self, stretches: Any) -> list[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        made: list[Any] = []
        at = stretches.column_names.index("class")
        for subscribed in stretches.column("class").unique().to_pylist():
            mine = stretches.filter(pc.equal(stretches.column("class"), subscribed))
            made += [
                mine.set_column(at, "class", pa.array([name] * len(mine), pa.string()))
                for name in self._below(subscribed)
            ]
        return made

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


def _no_control() -> Any:
    """A federate that did nothing: for the schema of nothing."""
    import pyarrow as pa

    row: dict[str, Any] = dict.fromkeys(CONTROL)
    row |= {"node": "", "seq": 0, "kind": "resign", "federate": 0, "epoch_ns": 0, "time": 0}
    return pa.Table.from_pylist([row])
