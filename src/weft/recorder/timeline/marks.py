"""What a lane shows, mark by mark (see `layout`)."""

from __future__ import annotations

from typing import NamedTuple

from weft.recorder.timeline.figures import Figures, TimeWindow, priority_text
from weft.recorder.timeline.lanes import Activation, Miss, TimelineLane
from weft.recorder.timeline.units import Unit, span, unit_for

MOST_MARKS = 6_000
BINS = 240


class TimelineMark(NamedTuple):
    """`kind`: run, wait (interrupted), open (no end), busy (a bin), late (from deadline to end), deadline, overdue (a
    deadline that was missed), push, miss, overrun, drop.  `begin` and `end` are the same for what happens at once."""

    kind: str
    begin: float
    end: float
    tip: str
    many: int = 1  # so many does it stand for
    level: float = 1.0  # of a bin: how much of it was busy
    label: str = ""


class LaneRow(NamedTuple):
    label: str
    note: str
    tip: str
    colour: int
    marks: tuple[TimelineMark, ...]
    binned: bool


class Drawing:
    """Makes marks of what a lane holds."""

    def __init__(self, window: TimeWindow, origin: int, unit: Unit, share: int, with_node: bool) -> None:
        self.window = window
        self.origin = origin
        self.unit = unit
        self.share = max(200, share)
        self.with_node = with_node

    def label(self, lane: TimelineLane) -> str:
        return f"{lane.name} @ {lane.node}" if self.with_node else lane.name

    def lane(self, lane: TimelineLane, known: Figures, colours: dict[int | None, int]) -> LaneRow:
        parts = sum(len(one.parts) for one in lane.activations)
        binned = parts + len(lane.activations) + len(lane.pushes) + len(lane.lost) > self.share
        marks = self.bins(lane) if binned else self.exact(lane)
        work = f"{count(known.runs, 'run')}" if lane.consumes else f"{count(known.pushes, 'push', 'pushes')}"
        missed = f", {count(known.misses, 'miss', 'misses')}" if known.misses else ""
        tip = f"{lane.name}, {lane.role} at node {lane.node or '(none)'}, {', '.join(lane.operations) or 'no operation'}"
        note = f"priority {priority_text(lane.priority)} · {work}{missed}"
        return LaneRow(self.label(lane), note, tip, colours[lane.priority], tuple(marks), binned)

    def at(self, time: int) -> float:
        """A place on the axis; what is beyond an end of it is put there."""
        length = self.window.length or 1
        return min(1.0, max(0.0, (time - self.window.begin) / length))

    def time(self, time: int) -> str:
        return span(time - self.origin, self.unit)

    def exact(self, lane: TimelineLane) -> list[TimelineMark]:
        marks: list[TimelineMark] = []
        for one in lane.activations:
            marks += self.activation(lane, one)
        misses = lane.misses()
        for miss in misses:
            marks += self.miss(lane, miss)
        for push in lane.pushes:
            marks.append(self.point("push", push.at, f"{lane.name} pushes at {self.time(push.at)}"))
        for stray in lane.overran:
            marks.append(self.point("overrun", stray.at, f"{lane.name} overran by {self.time(stray.at)}"))
        for drop in lane.drops:
            why = f": {drop.detail}" if drop.detail else ""
            marks.append(
                self.point("drop", drop.at, f"{lane.name}: a push given up at {self.time(drop.at)}{why}")
            )
        return marks

    def point(self, kind: str, time: int, tip: str, label: str = "") -> TimelineMark:
        place = self.at(time)
        return TimelineMark(kind, place, place, tip, label=label)

    def activation(self, lane: TimelineLane, one: Activation) -> list[TimelineMark]:
        told = self.told(one)
        tip = f"{lane.name}: {told}"
        last = one.last(lane.until)
        marks: list[TimelineMark] = []
        if one.end is None or one.begin is None:
            marks.append(TimelineMark("open", self.at(one.first), self.at(last), tip))
        else:
            if len(one.parts) != 1:
                marks.append(TimelineMark("wait", self.at(one.begin), self.at(one.end), tip))
            for begin, end in one.parts:
                if self.window.has(begin, end):
                    marks.append(TimelineMark("run", self.at(begin), self.at(end), tip))
        if one.deadline is not None and self.window.has(one.deadline, one.deadline):
            kind = "overdue" if one.is_late(lane.until) else "deadline"
            marks.append(self.point(kind, one.deadline, tip))
        if one.overran:
            marks.append(self.point("overrun", last, f"{lane.name} ran longer than its worst case: {told}"))
        return marks

    def miss(self, lane: TimelineLane, miss: Miss) -> list[TimelineMark]:
        late = None if miss.deadline is None else miss.at - miss.deadline
        label = ""
        if miss.activation is None:
            tip = f"{lane.name}: missed at {self.time(miss.at)}, no run is known{': ' if miss.detail else ''}{miss.detail}"
        elif late is not None and late > 0:
            more = " or more" if miss.activation.end is None else ""
            tip = f"{lane.name}: missed by {span(late, self.unit)}{more}: {self.told(miss.activation)}"
            label = span(-late, unit_for(late), 1)
        else:
            tip = f"{lane.name}: reported as missed: {self.told(miss.activation)}"
        marks = [self.point("miss", miss.at, tip, label)]
        if late is not None and late > 0 and miss.deadline is not None:
            marks.insert(0, TimelineMark("late", self.at(miss.deadline), self.at(miss.at), tip))
        return marks

    def told(self, one: Activation) -> str:
        begin = "before the record" if one.begin is None else self.time(one.begin)
        end = "no end known" if one.end is None else self.time(one.end)
        texts = [f"{begin} to {end}"]
        if one.parts:
            ran = sum(last - first for first, last in one.parts)
            pieces = f" in {len(one.parts)} parts" if len(one.parts) > 1 else ""
            texts.append(f"ran {span(ran, self.unit)}{pieces}")
        if one.deadline is not None:
            texts.append(f"deadline {self.time(one.deadline)}")
        if one.laxity is not None:
            texts.append(f"laxity {span(one.laxity, self.unit)}")
        if one.operation:
            texts.append(f"operation {one.operation}")
        texts.append(f"priority {priority_text(one.priority)}")
        if one.queue is not None:
            texts.append(f"{one.queue} waiting behind it")
        return ", ".join(texts)

    # Bins

    def bins(self, lane: TimelineLane) -> list[TimelineMark]:
        size = (self.window.length or 1) / BINS
        marks = self.busy_bins(lane, size)
        marks += self.counted(lane, "push", [push.at for push in lane.pushes], size, "pushes")
        marks += self.counted(lane, "drop", [lost.at for lost in lane.drops], size, "given up")
        overran = [one.last(lane.until) for one in lane.activations if one.overran]
        overran += [stray.at for stray in lane.overran]
        marks += self.counted(lane, "overrun", overran, size, "overruns")
        marks += self.counted(lane, "miss", [miss.at for miss in lane.misses()], size, "misses")
        unfinished = [one.first for one in lane.activations if one.end is None]
        return marks + self.counted(lane, "open", unfinished, size, "without an end")

    def place(self, time: int, size: float) -> int:
        return min(BINS - 1, max(0, int((time - self.window.begin) / size)))

    def busy_bins(self, lane: TimelineLane, size: float) -> list[TimelineMark]:
        busy = [0.0] * BINS
        runs = [0] * BINS
        for one in lane.activations:
            if one.end is not None:
                runs[self.place(one.end, size)] += 1
            for begin, end in one.parts:
                first, last = self.place(begin, size), self.place(end, size)
                for bin in range(first, last + 1):
                    low = self.window.begin + bin * size
                    busy[bin] += max(0.0, min(end, low + size) - max(begin, low))
        marks = []
        for bin in range(BINS):
            if busy[bin] or runs[bin]:
                level = min(1.0, busy[bin] / size)
                tip = f"{lane.name}: {count(runs[bin], 'run')}, {level:.0%} busy {self.stretch(bin, size)}"
                marks.append(TimelineMark("busy", bin / BINS, (bin + 1) / BINS, tip, runs[bin], level))
        return marks

    def counted(
        self, lane: TimelineLane, kind: str, times: list[int], size: float, words: str
    ) -> list[TimelineMark]:
        counts: dict[int, int] = {}
        for time in times:
            bin = self.place(time, size)
            counts[bin] = counts.get(bin, 0) + 1
        return [
            TimelineMark(kind, (bin + 0.5) / BINS, (bin + 0.5) / BINS,
                 f"{lane.name}: {count} {words} {self.stretch(bin, size)}", count)
            for bin, count in sorted(counts.items())
        ]  # fmt: skip

    def stretch(self, bin: int, size: float) -> str:
        begin = self.window.begin + round(bin * size)
        return f"from {self.time(begin)} to {self.time(begin + round(size))}"


def count(number: int, word: str, words: str = "") -> str:
    return f"{number:,} {word if number == 1 else words or word + 's'}"
