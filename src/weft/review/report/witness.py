"""From a witness and the rows around it to its diagram (see `diagram`); no audit is asked again, only what it said is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.recorder.timeline.units import span, unit_for
from weft.review.kernels.records import Violation
from weft.review.report.diagram import (
    AFTER,
    LATE,
    MOST_OTHERS,
    MOST_STEPS,
    OTHER,
    WAY,
    Diagram,
    DiagramEvent,
    MessageKey,
    NamedFederate,
    ProcessLine,
    Row,
    Sketch,
    Stretch,
)

NO_ROWS = "The rows of this witness were not found in the record."


def draw(audit: str, witness: Violation, rows: Sequence[Row], names: Mapping[int, NamedFederate]) -> Diagram:
    """What the witness of an audit says, as a diagram."""
    one = _Drawer(witness, rows, Sketch(names))
    what = str(witness.get("what", audit))
    make: Callable[[], Diagram] = {
        "causal": one.causal,
        "lost": one.lost,
        "missed": one.lost,
        "duplicate": one.duplicate,
        "unsent": one.unsent,
        "extra": one.extra,
        "past": one.out_of_time,
        "decreasing": one.out_of_time,
        "grant above LBTS": one.early_grant,
        "deadlines": one.deadline,
    }.get(what, one.plain)
    return make()


def lasting(nanoseconds: int) -> str:
    return span(nanoseconds, unit_for(nanoseconds))


def short(class_name: str | None) -> str:
    return (class_name or "message").rpartition(".")[2]


class _Drawer:
    def __init__(self, witness: Violation, rows: Sequence[Row], sketch: Sketch) -> None:
        self.witness = witness
        self.rows = rows
        self.sketch = sketch
        self.sends: dict[MessageKey, Row] = {}
        self.deliveries: dict[MessageKey, list[Row]] = {}
        for row in rows:
            key = (row["source"] or 0, row["message"] or 0)
            if row["kind"] == "send":
                self.sends.setdefault(key, row)
            elif row["kind"] == "deliver":
                self.deliveries.setdefault(key, []).append(row)
        self.to = int(witness.get("federate") or 0)
        self.message: MessageKey = (int(witness.get("source") or 0), int(witness.get("message") or 0))

    # Words

    def title_of(self, message: MessageKey) -> str:
        """As in "Fire 2"."""
        rows = [self.sends.get(message), *self.deliveries.get(message, ())]
        classes = [row["class"] for row in rows if row is not None and row["class"]]
        named = {self.message: self.witness.get("class")}
        after = (self.witness.get("after_source"), self.witness.get("after"))
        if after == message:
            named = {message: self.witness.get("after_class")}
        return f"{short(classes[0] if classes else named.get(message))} {message[1]}"

    def long_title(self, message: MessageKey) -> str:
        return f"{self.title_of(message)} of {self.sketch.name(message[0])}"

    def got(self, message: MessageKey) -> list[Row]:
        """By the federate that the witness is about."""
        return [row for row in self.deliveries.get(message, ()) if row["federate"] == self.to]

    # Parts

    def sent(self, message: MessageKey, tone: str) -> int | None:
        row = self.sends.get(message)
        if row is None:
            return None
        order = f" in {row['order']}" if row["order"] else ""
        time = "" if row["time"] is None else f", time stamp {row['time']:g}"
        return self.sketch.row(row, tone, "", f"sent {self.title_of(message)} ({row['class']}){order}{time}")

    def delivered(self, row: Row, tone: str, label: str = "") -> int:
        message = (row["source"] or 0, row["message"] or 0)
        time = "" if row["time"] is None else f", time stamp {row['time']:g}"
        return self.sketch.row(row, tone, label, f"got {self.long_title(message)}{time}")

    def carried(
        self, message: MessageKey, row: Row, tone: str, label: str | None = None, at_end: str = ""
    ) -> None:
        """Sent, and delivered by this row; `at_end` is written there."""
        end = self.delivered(row, tone, at_end)
        begin = self.sent(message, tone)
        if begin is not None:
            text = self.title_of(message) if label is None else label
            tip = f"{self.long_title(message)}: to {self.sketch.name(row['federate'])}"
            self.sketch.arrow(begin, end, tone, text, tip)

    def nowhere(self, federate: int, after: int | None, what: str, before: bool = False) -> int:
        """A place on a line where nothing happened, though something should have."""
        sketch = self.sketch
        known = None if after is None else sketch.events[after]
        at = 0 if known is None else known.at + (-1 if before else 1)
        line = sketch.line(federate)
        earlier = [event.seq for event in sketch.events if event.process == line and event.at <= at]
        return sketch.add(DiagramEvent(line, at, "nothing", LATE, "", what, max(earlier, default=0.0) + 0.5))

    def others(self, kinds: tuple[str, ...] = ("deliver",)) -> None:
        """What else the processes of the diagram had to do with one another, nearest first, as far as there is room."""
        sketch = self.sketch
        moments = [event.at for event in sketch.events if event.tone != OTHER]
        shown = set(sketch.lines)
        room = MOST_OTHERS
        for row in sorted(
            self.rows, key=lambda row: min((abs((row["epoch_ns"] or 0) - at) for at in moments), default=0)
        ):
            message = (row["source"] or 0, row["message"] or 0)
            known = (row["node"], row["seq"]) in sketch.taken
            if not room or known or f"federate {row['federate']}" not in shown:
                continue
            if row["kind"] == "deliver" and "deliver" in kinds:
                if message in self.sends and f"federate {message[0]}" in shown:
                    self.carried(message, row, OTHER, "")
                elif row["federate"] == self.to:
                    self.delivered(row, OTHER)
                else:
                    continue
            elif row["kind"] in kinds and row["kind"] != "send":
                sketch.row(row, OTHER, "", _told(row))
            else:
                continue
            room -= 1

    def finish(self, title: str) -> Diagram:
        if not self.sketch.events:
            self.sketch.notes.append(NO_ROWS)
        return self.sketch.finish(title, f"federate {self.to}")

    # Causal order

    def causal(self) -> Diagram:
        first = self.message
        second = (int(self.witness.get("after_source") or 0), int(self.witness.get("after") or 0))
        who, sketch = self.sketch.name(self.to), self.sketch
        way = self.way(first, second)
        for message in (first, *(message for message, _ in way), second):
            sketch.line(message[0])
        sketch.line(self.to)
        told = []
        previous = first
        for message, heard in way:
            self.sent(message, AFTER if message == second else WAY)
            had = f"{sketch.name(message[0])} had sent"
            if heard is not None:
                self.carried(previous, heard, WAY)
                had = f"{sketch.name(heard['federate'])} had got"
            told.append(f"{had} {self.title_of(previous)} when it sent {self.title_of(message)}")
            previous = message
        for row in self.got(second)[:1]:
            self.carried(second, row, AFTER)
        for row in self.got(first)[:1]:
            self.carried(first, row, LATE)
        self.others()
        if not way:
            sketch.notes.append(
                f"How {self.title_of(first)} came before {self.title_of(second)} is not among the rows near them."
            )
        why = f": {'; '.join(told)}" if told else ""
        return self.finish(
            f"{who} got {self.long_title(second)} before {self.long_title(first)}, which had happened before it{why}."
        )

    def way(self, first: MessageKey, second: MessageKey) -> list[tuple[MessageKey, Row | None]]:
        """The fewest messages from one to the other: each with the delivery of the one before it that its sender had seen
        (None: the same federate sent both).  Empty if there is none among the rows."""
        by_sender: dict[int, list[tuple[int, MessageKey]]] = {}
        for message, row in self.sends.items():
            by_sender.setdefault(row["federate"], []).append((row["seq"], message))
        came: dict[MessageKey, tuple[MessageKey, Row | None]] = {}
        frontier = [first]
        for _ in range(MOST_STEPS):
            following = []
            for message in frontier:
                knows: list[tuple[int, int, Row | None]] = [
                    (row["federate"], row["seq"], row) for row in self.deliveries.get(message, ())
                ]
                sent = self.sends.get(message)
                if sent is not None:
                    knows.insert(0, (sent["federate"], sent["seq"], None))
                for federate, since, heard in knows:
                    for seq, other in by_sender.get(federate, ()):
                        if seq > since and other not in came and other != first:
                            came[other] = (message, heard)
                            following.append(other)
            if second in came or not following:
                break
            frontier = following
        found: list[tuple[MessageKey, Row | None]] = []
        at = second
        while at in came:
            previous, heard = came[at]
            found.insert(0, (at, heard))
            at = previous
        return found

    # Deliveries and interest

    def lost(self) -> Diagram:
        who = self.sketch.name(self.to)
        begin = self.sent(self.message, LATE)
        self.sketch.line(self.to)
        self.others(("deliver", "declare", "region"))
        end = self.nowhere(self.to, begin, f"never got {self.long_title(self.message)}")
        if begin is not None:
            tip = f"{self.long_title(self.message)} did not come"
            self.sketch.arrow(begin, end, LATE, self.title_of(self.message), tip, True)
        why = "was sent to it, and nothing excuses the loss"
        if self.witness.get("what") == "missed":
            why = "was not addressed to it, though it had subscribed"
        return self.finish(f"{who} never got {self.long_title(self.message)}: it {why}.")

    def duplicate(self) -> Diagram:
        rows = self.got(self.message)
        often = f"{len(rows)} times" if len(rows) > 2 else "twice"
        for place, row in enumerate(rows[:4]):
            self.carried(self.message, row, LATE if place else AFTER, None if place else "")
        self.others()
        return self.finish(f"{self.sketch.name(self.to)} got {self.long_title(self.message)} {often}.")

    def unsent(self) -> Diagram:
        sketch = self.sketch
        sketch.line(self.message[0])
        for row in self.got(self.message)[:1]:
            end = self.delivered(row, LATE)
            self.others()
            begin = self.nowhere(self.message[0], end, f"never sent {self.title_of(self.message)}", True)
            sketch.arrow(begin, end, LATE, self.title_of(self.message), "no send of it is recorded", True)
        return self.finish(
            f"{sketch.name(self.to)} got {self.long_title(self.message)}, of which no send is recorded."
        )

    def extra(self) -> Diagram:
        for row in self.got(self.message)[:1]:
            self.carried(self.message, row, LATE)
        self.others(("deliver", "declare", "region"))
        return self.finish(
            f"{self.sketch.name(self.to)} got {self.long_title(self.message)}, which it had not subscribed to."
        )

    # Logical time

    def out_of_time(self) -> Diagram:
        bound = self.witness.get("bound")
        place = (self.witness.get("node"), self.witness.get("seq"))
        who = self.sketch.name(self.to)
        wrong = [row for row in self.got(self.message) if (row["node"], row["seq"]) == place]
        for row in (wrong or self.got(self.message))[:1]:
            at_end = "" if row["time"] is None else f"time {row['time']:g}"
            self.carried(self.message, row, LATE, None, at_end)
            self.bounded(row, bound)
        self.others(("deliver", "grant"))
        time = self.witness.get("time")
        if self.witness.get("what") == "past":
            return self.finish(
                f"{who} got {self.long_title(self.message)} with time stamp {time}, when it had been granted {bound}."
            )
        return self.finish(
            f"{who} got {self.long_title(self.message)} with time stamp {time} after a message with time stamp {bound}."
        )

    def bounded(self, wrong: Row, bound: float | None) -> None:
        """What the message came too late for: the last of what had that time."""
        kind = "grant" if self.witness.get("what") == "past" else "deliver"
        earlier = [
            row
            for row in self.rows
            if row["kind"] == kind
            and row["federate"] == self.to
            and row["time"] == bound
            and row["seq"] < wrong["seq"]
        ]
        for row in earlier[-1:]:
            if kind == "grant":
                self.sketch.row(row, AFTER, f"granted {bound}", f"was granted {bound}")
            else:
                self.carried((row["source"] or 0, row["message"] or 0), row, AFTER, None, f"time {bound:g}")

    def early_grant(self) -> Diagram:
        witness, sketch = self.witness, self.sketch
        place = (witness.get("node"), witness.get("seq"))
        who, time, bound = sketch.name(self.to), witness.get("time"), witness.get("bound")
        for row in self.rows:
            if (row["node"], row["seq"]) == place:
                sketch.row(row, LATE, f"granted {time}", f"was granted {time}")
                self.promise(int(witness.get("by") or 0), row)
        self.others(("request", "grant"))
        by = f" of {sketch.name(int(witness['by']))}" if witness.get("by") else ""
        return self.finish(
            f"{who} was granted {time}, though messages{by} could still come with times from {bound} on."
        )

    def promise(self, by: int, granted: Row) -> None:
        """The last request or grant of whoever had promised no more."""
        before = [
            row
            for row in self.rows
            if row["federate"] == by
            and row["kind"] in ("request", "grant")
            and row["epoch_ns"] <= granted["epoch_ns"]
        ]
        for row in before[-1:]:
            self.sketch.row(row, AFTER, f"{row['kind']} {row['time']}", _told(row))

    # Deadlines

    def deadline(self) -> Diagram:
        """One line for the consumer: what it ran, when it was due, when it had done."""
        witness, sketch = self.witness, self.sketch
        name = str(witness.get("name") or "consumer")
        due, ended = witness.get("deadline_ns"), int(witness.get("at_ns") or 0)
        own = [row for row in self.rows if row["kind"] == "dispatch" and row["name"] == witness.get("name")]
        began = [row for row in own if row["mono_ns"] <= ended]
        began = [row for row in began if row["deadline_ns"] == due] or began
        sketch.lines["consumer"] = ProcessLine(name, f"at {witness.get('node', '')}")

        def add(at: int, kind: str, tone: str, label: str, what: str) -> int:
            return sketch.add(DiagramEvent("consumer", at, kind, tone, label, what, at))

        last = add(ended, "done", LATE, "ended", "ended, or was told to have missed")
        steps = [last]
        if due:
            steps.insert(0, add(due, "deadline", AFTER, "deadline", "was due"))
            sketch.stretches.append(Stretch(steps[0], last, LATE, f"late by {lasting(ended - due)}"))
        if began:
            first = add(began[-1]["mono_ns"], "dispatch", WAY, "began", "began")
            sketch.stretches.insert(0, Stretch(first, last, WAY, f"{name} ran"))
        late = witness.get("late_ns")
        by = f" by {lasting(late)}" if late is not None else ""
        operation = f" ({witness['operation']})" if witness.get("operation") else ""
        return sketch.finish(f"{name}{operation} missed its deadline{by}.")

    def plain(self) -> Diagram:
        for row in self.got(self.message)[:1]:
            self.carried(self.message, row, LATE)
        self.others()
        return self.finish(", ".join(f"{name} {value}" for name, value in self.witness.items()))


def _told(row: Row) -> str:
    time = "" if row["time"] is None else f" {row['time']:g}"
    if row["kind"] == "grant":
        return f"was granted{time}" if "grant" in (row["service"] or "grant") else f"{row['service']}{time}"
    if row["kind"] == "request":
        return f"asked for{time}"
    of = f" of {short(row['class'])}" if row["class"] else ""
    return f"{row['service'] or row['kind']}{of}".replace("_", " ")
