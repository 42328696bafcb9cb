"""Messages one by one: what was sent to whom, what was delivered, and what excuses the difference.

Everything is done on all rows of a set of messages, as columns; only what seems wrong is looked at singly.  What has to be known
besides (who took part, who wanted what) is small, and goes along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import RecordedMember
from weft.review.audits.control import FORGETS
from weft.review.kernels import arrow
from weft.review.kernels.interest import GRACE
from weft.review.kernels.pieces import Array, by_value
from weft.review.kernels.records import RecordedRow, Violation
from weft.review.kernels.standing import (
    IN_NO_PLACE,
    AskedMessage,
    FederateStanding,
    Piece,
    boxes_of,
    pieces_of,
)
from weft.review.kernels.subscriptions import ticks

KEY = ("source", "message", "federate")
FOUND = (
    "what string, source bigint, message bigint, federate bigint, class string, order string, time {time}, bound {time}, "
    "node string, seq bigint, detail string, unsure boolean"
)
LOST, DUPLICATE, UNSENT, TWICE = "lost", "duplicate", "unsent", "sent twice"
OTHER_TIME, AFTER_RESIGNATION = "other time", "after resignation"
OTHER_CLASS, MISSING_ITEMS, EXTRA_ITEMS = "other class", "items missing", "items extra"
STRANGE = "? extra"  # delivered to somebody whom its send does not name; the audit of interest decides
MISSED, EXTRA, POSSIBLE = "missed", "extra", "possible"


@dataclass(frozen=True)
class Known:
    """Of federates and nodes: what it takes to say whether something that is not there should be."""

    members: Mapping[int, RecordedMember]
    excused: set[int]
    untold: set[str]
    """Nodes of which rows are missing."""
    crashed: set[str]
    reached: Mapping[tuple[int, int, str], int]
    """By source, federate and order the last message that came."""
    sent_up_to: Mapping[int, int]
    """Of federates at nodes that crashed: the last message that is recorded."""
    control: bytes
    time: str
    numbered: bool = False
    """Do rows tell the number of the last command that their node had carried out?"""
    joined_before: int = 0
    """The number of the last federate that had joined when the recording began."""
    registered: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """By federate and instance the class that it registered it at; of federates of which that may be asked."""

    @cached_property
    def _control(self) -> dict[int, list[RecordedRow]]:
        table = arrow.unpacked(self.control)
        numbers, there = ticks(arrow.numbers(table, "time")), arrow.present(table, "time")
        found: dict[int, list[RecordedRow]] = {}
        row: RecordedRow
        for row, tick, known in zip(table.to_pylist(), numbers.tolist(), there.tolist(), strict=True):
            row["tick"] = tick if known else None
            found.setdefault(row["federate"], []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: (row["node"], row["seq"]))
        return found

    def standing(self, federate: int) -> FederateStanding:
        kept: dict[int, FederateStanding] = self.__dict__.setdefault("_standing", {})
        if federate not in kept:
            kept[federate] = FederateStanding(self._control.get(federate, []))
        return kept[federate]

    def standing_at(self, federate: int, place: int) -> FederateStanding:
        """As it was then, of what the federate had said by that place of its node's record."""
        return FederateStanding([row for row in self._control.get(federate, []) if row["seq"] < place])

    @cached_property
    def _forgotten(self) -> dict[tuple[int, int], list[int]]:
        """By federate and instance when it was deleted locally."""
        found: dict[tuple[int, int], list[int]] = {}
        for federate, rows in self._control.items():
            for row in rows:
                if row["service"] == FORGETS:
                    at = row["command"] if self.numbered else row["epoch_ns"]
                    found.setdefault((federate, row["object"] or 0), []).append(at)
        return found

    def may_not_know(self, federate: int, instance: int, sent_at: int, addressed: bool) -> bool:
        """Had it deleted the instance locally when the message was sent, or, if it was addressed, while that was under way?

        When it discovered it again is not asked.
        """
        times = self._forgotten.get((federate, instance), ())
        if not self.numbered:
            return any(addressed or at <= sent_at + GRACE for at in times)
        return any((at > sent_at) == addressed for at in times)

    def knows_it_otherwise(self, federate: int, instance: int) -> bool:
        """Who registered an instance knows it by that class; what it subscribes to above is not for it (6.1.1)."""
        name = self.registered.get((federate, instance))
        return name is not None and name not in self.standing(federate).subscribed(name)

    def is_gap(self, federate: int) -> bool:
        """May rows of it be missing?  Of somebody nobody has heard of, all are."""
        member = self.members.get(federate)
        return member is None or member.node in self.untold

    def sent_before(self, source: int, message: int) -> bool:
        """Was it sent before the recording began?  All was of somebody who had left by then, and is in no row of its own."""
        sender = self.members.get(source)
        if sender is not None:
            return message <= sender.stay.sent_before
        return source <= self.joined_before and not self.untold and not self.crashed


def judge_batches(known: Known, misfits: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: all rows of a message are in one of the partitions.  `misfits`: only what was addressed wrongly."""
    given = list(batches)
    if given:
        judged = Judged(known, pa.Table.from_batches(given).combine_chunks())
        if misfits:
            judged.misfits()
        else:
            judged.found()
        yield arrow.made_of_rows(judged.rows, arrow.schema_of(FOUND.format(time=known.time)))


class Judged:
    """Rows of messages (`near.SCHEMA`) as columns, and what is wrong with them."""

    items: Array
    transport: Array

    def __init__(self, known: Known, table: pa.Table) -> None:
        self.known = known
        self.table = table
        self.source, self.message, self.federate = (arrow.numbers(table, name) for name in KEY)
        self.seq, self.epoch = arrow.numbers(table, "seq"), arrow.numbers(table, "epoch_ns")
        self.at = arrow.numbers(table, "command") if known.numbered else self.epoch
        self.time, self.timed = arrow.numbers(table, "time"), arrow.present(table, "time")
        for name in ("kind", "node", "class", "order", "items", "transport", "service"):
            codes, texts = arrow.words(table, name)
            self.__dict__[name], self.__dict__[f"{name}_texts"] = codes, [*texts, None]
        sends = np.flatnonzero(self.is_kind("send"))
        self.sends = sends[np.lexsort((self.seq[sends], self.message[sends], self.source[sends]))]
        self.deliveries = np.flatnonzero(self.is_kind("deliver"))
        to, many = arrow.lists(table.take(self.sends), "destinations")
        told = np.repeat(self.sends, many)
        keys = np.concatenate(
            (
                np.stack((self.source[told], self.message[told], to.astype(np.int64)), axis=1),
                np.stack(
                    [column[self.deliveries] for column in (self.source, self.message, self.federate)], axis=1
                ),
            )
        )
        self.keys, number = np.unique(keys, axis=0, return_inverse=True)
        number = number.ravel()
        self.pair_of_delivery = number[len(told) :]
        self.send_of = np.full(len(self.keys), -1)
        self.send_of[number[: len(told)][::-1]] = told[::-1]  # of several the first
        self.times = self._times()
        self.rows: list[Violation] = []

    def is_kind(self, *kinds: str) -> Array:
        return arrow.is_one_of(self.table, "kind", *kinds)

    def text(self, name: str, row: int) -> str | None:
        found: str | None = self.__dict__[f"{name}_texts"][self.__dict__[name][row]]
        return found

    def _times(self) -> Array:
        """How often each pair has a delivery of the same items: parts of an update come one by one."""
        times = np.zeros(len(self.keys), np.int64)
        if len(self.deliveries):
            rows = self.deliveries
            alike = np.stack((self.pair_of_delivery, self.items[rows], self.transport[rows]), axis=1)
            values, counts = np.unique(alike, axis=0, return_counts=True)
            np.maximum.at(times, values[:, 0], counts)
        return times

    # What is wrong

    def found(self) -> None:
        expected = self.send_of >= 0
        self._lost(np.flatnonzero(expected & (self.times == 0)))
        for pair in np.flatnonzero(self.times > 1):
            self._tell(DUPLICATE, *self._told_of(int(pair)))
        self._strange(np.flatnonzero(~expected))
        self.as_sent()

    def as_sent(self) -> list[Violation]:
        """What was handed over otherwise than it was sent or asked for, or with a number that another has."""
        self._twice()
        self._other_times()
        self._after_resignation()
        self._forms()
        return self.rows

    def _tell(
        self,
        what: str,
        key: tuple[int, int, int],
        row: int,
        unsure: bool = False,
        at: int = -1,
        bound: float | None = None,
        detail: str = "",
    ) -> None:
        """`row` says what it is, and `at`, if it is given, where it was wrong."""
        source, message, federate = key
        told: Violation = {
            "what": what,
            "source": source,
            "message": message,
            "federate": federate,
            "class": self.text("class", row),
            "order": self.text("order", row),
            "time": self.time[row].item() if self.timed[row] else None,
            "unsure": unsure,
        }
        if at >= 0:
            told["node"], told["seq"] = self.text("node", at) or "", int(self.seq[at])
        if bound is not None:
            told["bound"] = bound
        if detail:
            told["detail"] = detail
        self.rows.append(told)

    def _key(self, pair: int) -> tuple[int, int, int]:
        source, message, federate = self.keys[pair].tolist()
        return source, message, federate

    def _told_of(self, pair: int) -> tuple[tuple[int, int, int], int]:
        """Its key, and the row that says most: its send, or its first delivery."""
        row = int(self.send_of[pair])
        if row < 0:
            row = int(self.deliveries[np.argmax(self.pair_of_delivery == pair)])
        return self._key(pair), row

    # Addressed wrongly, says the audit of interest

    def misfits(self) -> None:
        marked: dict[tuple[int, int, int], set[str]] = {}
        for row in np.flatnonzero(
            arrow.fits(self.table, "kind", lambda kind: kind.startswith("? "))
        ).tolist():
            key = (int(self.source[row]), int(self.message[row]), int(self.federate[row]))
            marked.setdefault(key, set()).add((self.text("kind", row) or "")[2:])
        got = {self._key(int(pair)) for pair in np.unique(self.pair_of_delivery)}
        for key, kinds in marked.items():
            sends = self._send_rows.get(key[:2])
            if not sends:
                continue
            if MISSED in kinds and key not in got:
                verdict = self.inexcusable(key, sends[0], addressed=False)
                if verdict is not None:
                    self._tell(MISSED, key, sends[0], verdict)
            elif key in got and EXTRA in kinds and not kinds & {MISSED, POSSIBLE}:
                wanted = self._wanted_by_then(key[2], sends[0]) or self._wanted_when_given(key, sends[0])
                if not wanted:
                    self._tell(EXTRA, key, sends[0])

    # Not delivered

    def _lost(self, pairs: Array) -> None:
        for pair in pairs.tolist():
            key, row = self._told_of(pair)
            verdict = self.inexcusable(key, row, addressed=True) if self._is_reliable(row) else None
            if verdict is not None:
                self._tell(LOST, key, row, verdict)

    def _is_reliable(self, row: int) -> bool:
        """Of an update with attributes of both kinds nobody knows which are which."""
        return self.text("transport", row) in (None, "reliable") or self.text("order", row) in ("CO", "CT")

    def inexcusable(self, key: tuple[int, int, int], row: int, addressed: bool) -> bool | None:
        """Of a message (its send is in that row) that did not come: None if something excuses that, else whether it is unsure."""
        source, message, federate = key
        member = self.known.members.get(federate)
        if self._given_up(key, member):
            return None
        instance = self.table["object"][row].as_py()
        if instance is not None and self.known.may_not_know(federate, instance, int(self.at[row]), addressed):
            return None
        if instance is not None and not addressed and self.known.knows_it_otherwise(federate, instance):
            return None
        order, granted = self.text("order", row), None if member is None else member.stay.granted
        stamped = order == "TSO" and bool(self.timed[row]) and granted is not None
        time = self.time[row]
        if stamped and not time < granted:
            return None
        if member is not None and addressed and self._unwanted_by_then(member, row):
            return None
        stands = federate not in self.known.excused and self._could_be_handed(member, int(self.epoch[row]))
        # Before it is released, a message in causal or total order is overtaken by none in its own; then by none at all.
        kept = order if order in ("CO", "CT") and not self._released(key) else "RO"
        if not stamped:
            stands |= message < self.known.reached.get((source, federate, kept), 0)
            stands |= member is not None and self._was_there(member, row)
        else:
            stands = True
        return self.known.is_gap(federate) if stands else None

    def _could_be_handed(self, member: RecordedMember | None, epoch: int) -> bool:
        """Who is constrained gets nothing before it asks for time again: when a run ends, much may be waiting."""
        if member is None or not member.stay.constrained:
            return True
        return member.stay.asked_ns is not None and member.stay.asked_ns > epoch

    @cached_property
    def _by_message(self) -> dict[tuple[int, int], list[int]]:
        """Rows that are neither sends nor deliveries."""
        kinds = ("arrive", "hold", "release", "drop", "filter", "retract")
        return self._grouped(np.flatnonzero(self.is_kind(*kinds)))

    @cached_property
    def _send_rows(self) -> dict[tuple[int, int], list[int]]:
        return self._grouped(self.sends)

    def _grouped(self, rows: Array) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for row in rows.tolist():
            found.setdefault((int(self.source[row]), int(self.message[row])), []).append(row)
        return found

    def _others(self, source: int, message: int, *kinds: str) -> list[int]:
        rows = self._by_message.get((source, message), ())
        return [row for row in rows if self.text("kind", row) in kinds]

    def _released(self, key: tuple[int, int, int]) -> bool:
        return any(int(self.federate[row]) == key[2] for row in self._others(key[0], key[1], "release"))

    def _given_up(self, key: tuple[int, int, int], member: RecordedMember | None) -> bool:
        """Has somebody said that it would not be delivered: to anybody, at that node, to that federate?"""
        source, message, federate = key
        for row in self._others(source, message, "drop", "filter", "retract"):
            kind, nobody = self.text("kind", row), not self.federate[row]
            if kind == "retract" or (kind == "drop" and nobody):
                return True
            if kind == "filter" and nobody:
                if member is not None and self.text("node", row) == member.node:
                    return True
            elif int(self.federate[row]) == federate:
                return True
        return False

    def _arrived(self, member: RecordedMember, row: int) -> int:
        """The row by which the message came to the federate's node: that of its send, or of its arrival; -1 if it did not."""
        if self.text("node", row) == member.node:
            return row
        for other in self._others(int(self.source[row]), int(self.message[row]), "arrive"):
            if self.text("node", other) == member.node:
                return other
        return -1

    def _was_there(self, member: RecordedMember, row: int) -> bool:
        """It came to the federate's node while the federate could be handed it: then it did not get lost on the way."""
        at = self._arrived(member, row)
        order = self.text("order", row)
        if order == "CT" and at == row:
            at = -1  # it gets its place elsewhere first
        if at < 0 or member.node in self.known.crashed:
            return False
        place = int(self.seq[at])
        if member.stay.left_at is not None and place >= member.stay.left_at:
            return False
        for other in self._others(int(self.source[row]), int(self.message[row]), "hold"):
            if int(self.federate[other]) == member.federate:
                return False  # it waits for another one, which is the one that is lost
        if order in ("CO", "CT") and not self._released(
            (int(self.source[row]), int(self.message[row]), member.federate)
        ):
            return True  # it is released when it comes, and only then waits for the federate
        # Who is constrained gets nothing before it asks for time again.
        return not member.stay.constrained or (
            member.stay.asked_at is not None and member.stay.asked_at > place
        )

    def _unwanted_by_then(self, member: RecordedMember, row: int) -> bool:
        """A node leaves out what its federate does not want any more when it arrives from another node."""
        if self.text("node", row) == member.node:
            return False
        at = self._arrived(member, row)
        standing, message = self.known.standing(member.federate), self._asked(row)
        if message is None:
            to = None if at < 0 else self.table["destinations"][at].as_py()
            return to is not None and member.federate not in to
        if at >= 0:
            return not standing.wants(message, int(self.seq[at]))
        if self.known.numbered:
            return False  # it went to its node, and whatever comes to a node is recorded there
        # It may have been kept from the node, too: by what was in force there while it was under way.
        first, last = (standing.place_of(int(self.epoch[row]) + more) for more in (0, GRACE))
        return not all(standing.wants(message, place) for place in standing.places(first, last))

    def _wanted_by_then(self, federate: int, row: int) -> bool:
        """A node hands on what its federate has come to want when it arrives from another node."""
        member, message = self.known.members.get(federate), self._asked(row)
        if member is None or message is None or self.text("node", row) == member.node:
            return False
        at = self._arrived(member, row)
        return at >= 0 and self.known.standing(federate).wants(message, int(self.seq[at]))

    def _wanted_when_given(self, key: tuple[int, int, int], row: int) -> bool:
        """What is given before its time has come (by a flush, or to who is not constrained) may later not be wanted as of it."""
        message = self._asked(row)
        if message is None or message.tick is None or not self.known.standing(key[2]).timed:
            return False
        got = [
            int(self.deliveries[at])
            for at, pair in enumerate(self.pair_of_delivery.tolist())
            if self._key(pair) == key
        ]
        places = [int(self.seq[one]) for one in got]
        return all(self.known.standing_at(key[2], place).wants(message, place) for place in places)

    def _asked(self, row: int) -> AskedMessage | None:
        """None: it does not go by subscriptions."""
        service = self.text("service", row) or ""
        name = self.text("class", row)
        if "directed" in service or "delete" in service or not name:
            return None
        is_update = "interaction" not in service and self.table["object"][row].as_py() is not None
        items = tuple((self.text("items", row) or "").split(pick.SEP)) if is_update else ()
        dimensions = (self.table["dimensions"][row].as_py() or "").split(pick.SEP)
        lower, upper = self.table["lower"][row].as_py(), self.table["upper"][row].as_py()
        boxes = boxes_of(dimensions, lower, upper) if lower else ()
        by_time = self.text("order", row) == "TSO" and self.timed[row]
        owned = pick.owned(self.table["boxes"][row].as_py())
        pieces = tuple(
            Piece(those, IN_NO_PLACE if numbers is None else tuple(boxes[number] for number in numbers))
            for those, numbers in pieces_of(items, len(boxes), owned)
        )
        tick = int(ticks(self.time[row : row + 1])[0]) if by_time else None
        return AskedMessage(name, pieces, tick, len(boxes) < 2 or bool(owned))

    # Delivered, and not sent, or otherwise

    def _strange(self, pairs: Array) -> None:
        """Delivered to a federate that its send does not name, or never sent; but for what was sent before the run began.

        A node that crashed takes the last second of its rows with it: what its federates may have sent then is unsure.
        """
        addressed = arrow.present(self.table, "destinations")
        for pair in pairs.tolist():
            key, row = self._told_of(pair)
            sends = self._send_rows.get(key[:2])
            if not sends:
                if self.known.sent_before(key[0], key[1]):
                    continue
                told = self.known.sent_up_to.get(key[0])
                self._tell(
                    UNSENT, key, row, self.known.is_gap(key[0]) or (told is not None and key[1] > told)
                )
            elif all(addressed[one] for one in sends):
                self._tell(STRANGE, key, sends[0])

    def _twice(self) -> None:
        """One number, two messages: whoever counts them is to blame."""
        for (source, message), rows in self._send_rows.items():
            for row in rows[1:]:
                if self._again(rows[0], row):
                    self._tell(TWICE, (source, message, source), row, at=row)

    def _again(self, first: int, row: int) -> bool:
        """Attributes of one update may go separately, in different orders or transportations."""
        one, other = self._items_of(first), self._items_of(row)
        return self.text("class", first) != self.text("class", row) or not one or bool(one & other)

    def _items_of(self, row: int) -> set[str]:
        return set((self.text("items", row) or "").split(pick.SEP)) - {""}

    def _other_times(self) -> None:
        """Delivered with a time that is not the one it was sent with."""
        rows = self.deliveries[self.timed[self.deliveries]]
        sent = self.send_of[self.pair_of_delivery][self.timed[self.deliveries]]
        rows = rows[(sent < 0) | ~self.timed[sent] | (self.time[sent] != self.time[rows])]
        for row in rows.tolist():
            sends = self._send_rows.get((int(self.source[row]), int(self.message[row])), [])
            times = {self.time[one].item() for one in sends if self.timed[one]}
            if times and self.time[row].item() not in times:
                key = (int(self.source[row]), int(self.message[row]), int(self.federate[row]))
                self._tell(OTHER_TIME, key, row, bound=min(times), at=row)

    def _after_resignation(self) -> None:
        for member in self.known.members.values():
            if member.stay.left_at is None or member.node in self.known.crashed:
                continue
            rows = self.deliveries[self.federate[self.deliveries] == member.federate]
            for row in rows[self.seq[rows] > member.stay.left_at].tolist():
                if self.text("node", row) == member.node:
                    key = (int(self.source[row]), int(self.message[row]), member.federate)
                    self._tell(AFTER_RESIGNATION, key, row, at=row)

    # Class and items

    def _forms(self) -> None:
        """What was handed over, against what the federate had subscribed to when it was."""
        sent = self.send_of[self.pair_of_delivery]
        rows = self.deliveries
        alike = (
            (sent >= 0)
            & (self.__dict__["class"][rows] == self.__dict__["class"][sent])
            & (self.items[rows] == self.items[sent])
        )
        unlike = np.isin(self.pair_of_delivery, self.pair_of_delivery[~alike & (sent >= 0)])
        for pair, inside in by_value(self.pair_of_delivery[unlike]):
            row = int(self.send_of[int(pair)])
            places = np.flatnonzero(unlike)[inside]
            if row >= 0:
                self._form(self._key(int(pair)), row, self.deliveries[places].tolist())

    def _form(self, key: tuple[int, int, int], row: int, got: list[int]) -> None:
        member, asked = self.known.members.get(key[2]), self._asked(row)
        if member is None or asked is None or member.node in self.known.untold:
            return
        items = {item for each in got for item in self._items_of(each)}
        names = {self.text("class", each) for each in got}
        if names == {asked.class_name} and items == self._items_of(row):
            return
        at = self._arrived(member, row)
        last = max(int(self.seq[each]) for each in got)
        standing = self.known.standing(key[2])
        places = standing.places(int(self.seq[at]) if at >= 0 else 0, last)
        if standing.timed:
            return  # as of which time what held is not judged here
        if asked.items:
            self._attributes(key, row, items, asked, standing, places, got[0])
        else:
            self._interaction(key, row, items, asked, standing, places, names, got[0])

    def _interaction(
        self, key: tuple[int, int, int], row: int, items: set[str], asked: AskedMessage, standing: FederateStanding,
        places: list[int], names: set[str | None], at: int,
    ) -> None:  # fmt: skip
        """It is received at the most specific class that is subscribed to."""
        right = {
            max((one.class_name for one in standing.fitting(asked, place)), key=len, default=None)
            for place in places
        } - {None}
        if not right:
            return  # for the audit of interest
        if not names <= right:
            as_told, as_right = (", ".join(sorted(map(str, those))) for those in (names, right))
            told = f"received as {as_told}, not {as_right}"
            self._tell(OTHER_CLASS, key, row, detail=told, at=at)
            return
        sent = self._items_of(row)
        if names == {asked.class_name} and sent - items:
            self._tell(MISSING_ITEMS, key, row, detail=", ".join(sorted(sent - items)), at=at)
        elif items - sent:
            self._tell(EXTRA_ITEMS, key, row, detail=", ".join(sorted(items - sent)), at=at)

    def _attributes(
        self, key: tuple[int, int, int], row: int, items: set[str], asked: AskedMessage, standing: FederateStanding,
        places: list[int], at: int,
    ) -> None:  # fmt: skip
        """All that it was subscribed to all the time, and nothing that it was not at any."""
        if len(standing.subscribed(asked.class_name)) > 1:
            return  # which of them counts depends on when it discovered the instance
        must, may = asked.items, set[str]()
        for place in places:
            wanted = {item for one in standing.fitting(asked, place) for item in one.items}
            must &= wanted
            may |= wanted
        for other in self._others(key[0], key[1], "filter", "drop"):
            if int(self.federate[other]) in (0, key[2]):
                must -= self._items_of(other)
        if asked.exact and self._is_reliable(row) and must - items:
            self._tell(MISSING_ITEMS, key, row, detail=", ".join(sorted(must - items)), at=at)
        elif items - may:
            self._tell(EXTRA_ITEMS, key, row, detail=", ".join(sorted(items - may)), at=at)
