"""Messages and federates: who was to get what, and did.

A handover is a message and a federate that it was sent, or delivered, to.  It is forgotten when it is settled and some time
has passed; what is known longer are the numbers of messages, which grow.  So a delivery of a message that was forgotten is
neither new nor wrong: it is left to the review at the end.

What is missing is told only if rows show that it will not come: a later message of the same sender in receive order came
through, the federate was granted a later time, or its node has ended; and not before all nodes have told what they did for
a while (`SETTLED`) after that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import plain
from weft.review.audits.judging import DUPLICATE, EXTRA, LOST, MISSED, UNSENT
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array
from weft.review.kernels.records import RecordedRow, Violation
from weft.review.kernels.sums import hashed
from weft.review.live.columns import Sorted, WaitingRows, Words
from weft.review.live.frontier import Frontier
from weft.review.live.members import Members

SETTLED = 2_000_000_000  # ns: rare ways of a message may take so long
KEPT = 30_000_000_000  # ns for which a settled handover is still known
MOST = 1_000_000  # handovers, of which the oldest are forgotten then
TOLD_LOST, TOLD_DUPLICATE, TOLD_UNSENT, TOLD_INTEREST = 1, 2, 4, 8
IS_MISSED, IS_EXTRA, IS_POSSIBLE = 1, 2, 3  # what the subscriptions say; 0: not asked yet


class Handovers:
    def __init__(self, time_column: str, frontier: Frontier, members: Members) -> None:
        self._time_column = time_column
        self._frontier, self._members = frontier, members
        self.words = Words()
        self.nodes = Words()
        kind = np.int64 if time_column == "time_int" else np.float64
        numbers = dict.fromkeys(("source", "message", "federate", "epoch", "got_at"), np.int64)
        small = dict.fromkeys(("class_name", "order", "node"), np.int32)
        flags = dict.fromkeys(("expected", "reliable", "placed", "timed", "got"), bool)
        self.handovers = Sorted(**numbers, **small, **flags, time=kind, told=np.uint8, verdict=np.uint8)
        self.sends = Sorted(source=np.int64, message=np.int64, epoch=np.int64, class_name=np.int32,
                            order=np.int32, placed=bool, open=bool, judged=bool)  # fmt: skip
        self._parts = Sorted(handover=np.int64, epoch=np.int64, count=np.int32)
        self._forgotten: dict[int, int] = {}  # by source the greatest number of a send that is forgotten
        self._until = 0  # what was sent or delivered before is forgotten
        self._reached: dict[tuple[int, int], int] = {}
        self._reaching = WaitingRows()
        self._given_up: dict[tuple[int, ...], None] = {}
        self.unjudged: set[int] = set()
        self.unsure = 0

    # What comes

    def feed(self, node: str, table: pa.Table) -> None:
        self._feed_sent(node, table)
        self._feed_delivered(node, table)
        said = pick.of_kinds(table, "drop", "filter", "retract")
        for row in said.select(["kind", "source", "message", "federate"]).to_pylist():
            self._give_up(node, row)

    def _give_up(self, node: str, row: RecordedRow) -> None:
        """Of whom it is said: anybody, one federate, everybody at that node."""
        if row["message"] is None:
            return
        message = (row["source"] or 0, row["message"])
        if row["kind"] == "retract" or (row["kind"] == "drop" and not row["federate"]):
            self._given_up[message] = None
        elif not row["federate"]:
            self._given_up[(*message, 0, self.nodes.number(node))] = None
        else:
            self._given_up[(*message, row["federate"])] = None

    def _feed_sent(self, node: str, table: pa.Table) -> None:
        rows = self._not_forgotten(pick.messages(table, "send"))
        if not len(rows):
            return
        source, message = arrow.numbers(rows, "source"), arrow.numbers(rows, "message")
        told = self._told(rows, node)
        keys = hashed(source, message)
        columns = {"source": source, "message": message, **told, "open": ~arrow.present(rows, "destinations")}
        self.sends.add(keys, columns, ~self.sends.find(keys)[1])
        federate, counts = arrow.lists(rows, "destinations")
        which = np.repeat(np.arange(len(rows)), counts)
        self._add_handovers(
            source[which], message[which], federate.astype(np.int64),
            {name: column[which] for name, column in told.items()} | {"expected": np.ones(len(which), bool)},
        )  # fmt: skip

    def _not_forgotten(self, rows: pa.Table) -> pa.Table:
        """A send may be read after deliveries of it that are forgotten for want of room; then it is, too.

        By the clock of another machine those may have come before it was sent.
        """
        old = arrow.numbers(rows, "epoch_ns") < self._until + self._frontier.clocks_differ
        self._note_forgotten(arrow.numbers(rows, "source")[old], arrow.numbers(rows, "message")[old])
        return pick.filtered(rows, ~old)

    def _told(self, rows: pa.Table, node: str) -> dict[str, Array]:
        """What the send says of a message."""
        best_effort = arrow.is_one_of(rows, "transport", "best-effort")
        order = self.words.numbers(rows, "order")
        causal = [self.words.number(name) for name in ("CO", "CT")]
        return {
            "epoch": arrow.numbers(rows, "epoch_ns"),
            "class_name": self.words.numbers(rows, "class"),
            "order": order,
            "node": np.full(len(rows), self.nodes.number(node), np.int32),
            "reliable": ~best_effort | np.isin(order, causal),
            "placed": arrow.present(rows, "dimensions"),
            "time": arrow.numbers(rows, self._time_column),
            "timed": arrow.present(rows, self._time_column),
        }

    def _add_handovers(self, source: Array, message: Array, federate: Array, told: dict[str, Array]) -> None:
        """Also handovers that are there already, because their deliveries were read first."""
        keys = hashed(source, message, federate)
        places, there = self.handovers.find(keys)
        for name, column in told.items():
            self.handovers[name][places[there]] = column[there]
        self.handovers.add(keys, {"source": source, "message": message, "federate": federate, **told}, ~there)

    def _feed_delivered(self, node: str, table: pa.Table) -> None:
        rows = pick.messages(table, "deliver")
        if not len(rows):
            return
        names = ("source", "message", "federate", "epoch_ns")
        source, message, federate, epoch = (arrow.numbers(rows, name) for name in names)
        keys = hashed(source, message, federate)
        places, there = self.handovers.find(keys)
        known = there | (message > self._limits(source))
        told = {
            "source": source, "message": message, "federate": federate, "epoch": epoch,
            "class_name": self.words.numbers(rows, "class"), "order": self.words.numbers(rows, "order"),
            "time": arrow.numbers(rows, self._time_column), "timed": arrow.present(rows, self._time_column),
        }  # fmt: skip
        self.handovers.add(keys, told, known & ~there)
        places, _ = self.handovers.find(keys[known])
        first = ~self.handovers["got"][places]
        self.handovers["got"][places] = True
        self.handovers["got_at"][places[first]] = epoch[known][first]
        self._count_parts(rows, keys, epoch, known)
        in_receive_order = arrow.is_one_of(rows, "order", "RO")
        self._reaching.add(pick.filtered(rows.select(list(names)), in_receive_order))

    def _limits(self, source: Array) -> Array:
        """By row the greatest number of its source that is forgotten."""
        every, inverse = np.unique(source, return_inverse=True)
        known = np.array([self._forgotten.get(who, 0) for who in every.tolist()], np.int64)
        return known[inverse]

    def _count_parts(self, rows: pa.Table, keys: Array, epoch: Array, known: Array) -> None:
        """Attributes of different transportation come in several callbacks, which their items tell apart."""
        items = [hash((None if names is None else tuple(names), way)) for names, way in
                 zip(*(rows.column(name).to_pylist() for name in ("items", "transport")), strict=True)]  # fmt: skip
        parts = hashed(keys, np.array(items, np.int64))[known]
        every, first, counts = np.unique(parts, return_index=True, return_counts=True)
        places, there = self._parts.find(every)
        self._parts["count"][places[there]] += counts[there].astype(np.int32)
        columns = {"handover": keys[known][first], "epoch": epoch[known][first], "count": counts}
        self._parts.add(every, columns, ~there)

    # What it means

    def judge(self, before: int, newest: int) -> Iterator[Violation]:
        """With everything read that happened before a time; `newest`: the time of the newest row."""
        self._settle_reached(before)
        yield from self._duplicates()
        yield from self._missing(before)
        yield from self._unsent(before)
        yield from self._extra()
        self._forget(min(before, newest))

    def _settle_reached(self, before: int) -> None:
        ready = self._reaching.take("epoch_ns", before - SETTLED)
        if ready is None:
            return
        keys = hashed(*(arrow.numbers(ready, name) for name in ("source", "message", "federate")))
        places, there = self.handovers.find(keys)
        if there.any():  # what should not have come overtakes nobody
            there &= self.handovers["expected"][places] & (self.handovers["verdict"][places] != IS_EXTRA)
        ready = ready.filter(there)
        if not len(ready):
            return
        columns = np.stack([arrow.numbers(ready, name) for name in ("source", "federate", "message")])
        order = np.lexsort(columns[::-1])
        columns = columns[:, order]
        last = np.append((columns[:2, 1:] != columns[:2, :-1]).any(axis=0), True)
        for source, federate, message in columns[:, last].T.tolist():
            key = (source, federate)
            self._reached[key] = max(message, self._reached.get(key, 0))

    def _finding(self, place: int, audit: str, what: str) -> Violation:
        handovers = self.handovers
        told: Violation = {"audit": audit, "what": what}
        told["source"], told["message"] = int(handovers["source"][place]), int(handovers["message"][place])
        told["federate"] = int(handovers["federate"][place])
        told["class"] = self.words.texts[handovers["class_name"][place]]
        told["order"] = self.words.texts[handovers["order"][place]]
        if handovers["timed"][place]:
            told["time"] = handovers["time"][place].item()
        return plain(told)

    def _duplicates(self) -> Iterator[Violation]:
        again = np.unique(self._parts["handover"][self._parts["count"] > 1])
        places, there = self.handovers.find(again)
        for place in places[there].tolist():
            if not self.handovers["told"][place] & TOLD_DUPLICATE:
                self.handovers["told"][place] |= TOLD_DUPLICATE
                yield self._finding(place, "delivery", DUPLICATE)

    def _missing(self, before: int) -> Iterator[Violation]:
        handovers = self.handovers
        lost = handovers["expected"] & handovers["reliable"] & (handovers["told"] & TOLD_LOST == 0)
        missed = (
            ~handovers["expected"]
            & (handovers["verdict"] == IS_MISSED)
            & (handovers["told"] & TOLD_INTEREST == 0)
        )
        old = handovers["epoch"] + SETTLED + self._frontier.clocks_differ < before
        for place in np.flatnonzero((lost | missed) & ~handovers["got"] & old).tolist():
            is_lost = bool(handovers["expected"][place])
            sure = self._will_not_come(place, is_lost)
            if sure is None:
                continue
            handovers["told"][place] |= TOLD_LOST if is_lost else TOLD_INTEREST
            if not sure:
                self.unsure += 1
            elif is_lost:
                found = self._finding(place, "delivery", LOST)
                yield found
                if found.get("order") == "TSO":
                    yield {**found, "audit": "time"}
            else:
                yield self._finding(place, "interest", MISSED)

    def _will_not_come(self, place: int, is_lost: bool) -> bool | None:
        """None: it may yet, or need not; False: it seems so, but rows are missing."""
        handovers, members = self.handovers, self._members
        source, message, federate = (
            int(handovers[name][place]) for name in ("source", "message", "federate")
        )
        order = self.words.texts[handovers["order"][place]]
        time = handovers["time"][place] if handovers["timed"][place] else None
        granted, node = members.granted.get(federate), members.node.get(federate)
        if order == "TSO" and federate in members.doubtful and node not in self._frontier.ended:
            return None
        if order == "TSO" and not is_lost and federate in members.timed:
            return (
                None  # it may have come to want it, and be sent it late: left to the review of the whole run
            )
        passed = order == "TSO" and time is not None and granted is not None and bool(time < granted)
        if order == "TSO" and time is not None and granted is not None and not passed:
            return None
        overtaken = order == "RO" and message < self._reached.get((source, federate), 0)
        left = (
            federate in members.left or federate in members.left_at
        )  # its node's rows may have been read first
        excused = left or node is None or not self._frontier.ended_in_order(node)
        if excused and not overtaken and not passed:
            return None
        there = 0 if node is None else self.nodes.number(node)
        said = ((source, message), (source, message, federate), (source, message, 0, there))
        if any(key in self._given_up for key in said):
            return None
        class_name = self.words.texts[handovers["class_name"][place]] or ""
        if members.may_not_know(federate, class_name):
            return None
        if not is_lost and members.may_know_it_otherwise(federate, source, class_name):
            return None
        if is_lost and node is not None and there != handovers["node"][place]:
            placed, sent = bool(handovers["placed"][place]), int(handovers["epoch"][place])
            if members.changed_its_mind(federate, class_name, placed, sent):
                return None
        return node is not None and node not in self._frontier.gaps

    def _unsent(self, before: int) -> Iterator[Violation]:
        handovers = self.handovers
        strange = ~handovers["expected"] & handovers["got"] & (handovers["told"] & TOLD_UNSENT == 0)
        strange &= handovers["got_at"] + self._frontier.clocks_differ < before
        places = np.flatnonzero(strange)
        for place in places[~self._sends_of(places)[1]].tolist():
            handovers["told"][place] |= TOLD_UNSENT
            source = int(handovers["source"][place])
            known = max(self._members.sent_before.get(source, 0), self._forgotten.get(source, 0))
            if int(handovers["message"][place]) <= known or self._had_left(source):
                continue
            node = self._members.node.get(source)
            if node is None or node in self._frontier.gaps:
                self.unsure += 1
            else:
                yield self._finding(place, "delivery", UNSENT)

    def _had_left(self, source: int) -> bool:
        """Before the recording began: it is in no row of its own, and all such rows have been read."""
        members, frontier = self._members, self._frontier
        if source in members.node or frontier.gaps or frontier.crashed:
            return False
        return source <= (members.joined_before or 0)

    def _sends_of(self, places: Array) -> tuple[Array, Array]:
        return self.sends.find(hashed(self.handovers["source"][places], self.handovers["message"][places]))

    def _extra(self) -> Iterator[Violation]:
        """Addressed though not wanted, or not addressed; and delivered."""
        handovers = self.handovers
        verdict = handovers["verdict"]
        wrong = handovers["expected"] & (verdict == IS_EXTRA)
        strange = ~handovers["expected"] & ((verdict == 0) | (verdict == IS_EXTRA))
        found = handovers["got"] & (handovers["told"] & TOLD_INTEREST == 0) & (wrong | strange)
        places = np.flatnonzero(found)
        sends, there = self._sends_of(places)
        for place, send, known in zip(places.tolist(), sends.tolist(), there.tolist(), strict=True):
            if strange[place] and not (known and self.sends["judged"][send]):
                continue
            handovers["told"][place] |= TOLD_INTEREST
            if known and self.sends["open"][send] and strange[place]:
                continue
            if int(handovers["federate"][place]) in self.unjudged:
                continue
            if known and (self._wanted_by_then(place, send) or self._is_by_time(place, send)):
                continue  # left to the review of the whole run
            if known:  # as it was sent, not as it was delivered
                for name in ("class_name", "order"):
                    handovers[name][place] = self.sends[name][send]
            yield self._finding(place, "interest", EXTRA)

    def _is_by_time(self, place: int, send: int) -> bool:
        """What it wants as of the message's time it may yet say, or have said since it was given it."""
        stamped = self.words.texts[self.sends["order"][send]] == "TSO"
        return stamped and int(self.handovers["federate"][place]) in self._members.timed

    def _wanted_by_then(self, place: int, send: int) -> bool:
        """From another node: its receiver may have come to want it while it was under way."""
        members, handovers = self._members, self.handovers
        source, federate = int(handovers["source"][place]), int(handovers["federate"][place])
        if members.node.get(source) == members.node.get(federate):
            return False
        class_name = self.words.texts[self.sends["class_name"][send]] or ""
        sent, got = int(self.sends["epoch"][send]), int(handovers["got_at"][place])
        return members.came_to_want(federate, class_name, bool(self.sends["placed"][send]), sent, got)

    # For the audit of interest

    def found_out(self, verdict: int, source: Array, message: Array, federate: Array) -> None:
        """What the subscriptions say of handovers; missed ones that are not there yet become handovers."""
        keys = hashed(source, message, federate)
        places, there = self.handovers.find(keys)
        self.handovers["verdict"][places[there]] = verdict
        sends, known = self.sends.find(hashed(source, message))
        new = ~there & known
        if verdict == IS_EXTRA or not new.any():
            return
        told = {name: self.sends[name][sends] for name in ("epoch", "class_name", "order")}
        told |= {"source": source, "message": message, "federate": federate}
        self.handovers.add(keys, {**told, "verdict": np.full(len(keys), verdict, np.uint8)}, new)

    def judged(self, source: Array, message: Array) -> None:
        """Whom these should have gone to has been found out."""
        places, there = self.sends.find(hashed(source, message))
        self.sends["judged"][places[there]] = True

    def sent_as(self, source: int, message: int) -> tuple[str | None, str | None]:
        """Class and order of a message, if its send is known."""
        places, there = self.sends.find(hashed(np.array([source]), np.array([message])))
        if not there[0]:
            return None, None
        texts, place = self.words.texts, places[0]
        return texts[self.sends["class_name"][place]], texts[self.sends["order"][place]]

    # What need not be known any more

    def _forget(self, before: int) -> None:
        until = before - KEPT
        handovers = self.handovers
        open_ones = (
            handovers["expected"]
            & handovers["reliable"]
            & ~handovers["got"]
            & (handovers["told"] & TOLD_LOST == 0)
        )
        if len(self._members.left):
            open_ones &= ~np.isin(handovers["federate"], list(self._members.left))
        keep = (handovers["epoch"] >= until) | open_ones
        if int(keep.sum()) > MOST:
            latest = np.sort(handovers["epoch"][keep])[-MOST]
            keep &= handovers["epoch"] >= latest
            until = max(until, int(latest))
        handovers.keep(keep)
        self._until = max(until, self._until)
        # Sends with their handovers: a delivery of one whose send alone is known would seem to go to somebody not addressed.
        old = self.sends["epoch"] < until
        self._note_forgotten(self.sends["source"][old], self.sends["message"][old])
        self.sends.keep(~old)
        self._parts.keep(self._parts["epoch"] >= until)
        while len(self._given_up) > MOST:
            del self._given_up[next(iter(self._given_up))]

    def _note_forgotten(self, source: Array, message: Array) -> None:
        for one in np.unique(source).tolist():
            last = int(message[source == one].max())
            self._forgotten[one] = max(last, self._forgotten.get(one, 0))
