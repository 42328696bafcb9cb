"""Tags in bytes (S0-10, S0-17).

All numbers are varints: seven bits to a byte, the lowest first, the high bit set on all but the last.

    tag       form, view, source, count of processes, the time of each, destinations, then the rows in the form said:
    0 rows    count, then for each row that is not empty, by rising destination: gap, count of pairs, the pairs (gap, age)
    1 groups  count, then for each message, by rising source: gap, age, its destinations

A gap is the distance from the one before, less one (from -1 for the first); in groups, where a source may come again, it is
the distance itself (from 0).  The age of a pair (j, x) is how far back it lies: time[j] - x.

    set       2 * count, then the gaps;  or 2 * bytes + 1, then a bit for each process, the lowest first

Sets and rows are written in whichever form is shorter.  Rows suit unicast, groups suit broadcast, where few messages stand
before many destinations.  A tag for one recipient leaves out the rows of the other destinations, which it would not look at.
"""

from __future__ import annotations

from typing import Final

from weft.model.errors import OrderingError
from weft.ordering.message import NOTHING, Tag

ROWS: Final = 0
GROUPS: Final = 1
MAX_SHIFT: Final = 63


def encode_tag(tag: Tag, recipient: int = -1) -> bytes:
    """For all recipients, or for one."""
    needed = _needed(tag, recipient)
    rows: list[int] = []
    _write_rows(rows, tag, needed)
    groups: list[int] = []
    _write_groups(groups, tag, needed)
    out: list[int] = []
    write_number(out, ROWS if len(rows) <= len(groups) else GROUPS)
    write_number(out, tag.view)
    write_number(out, tag.source)
    write_number(out, len(tag.time))
    for value in tag.time:
        write_number(out, value)
    _write_set(out, tag.destinations)
    out += rows if len(rows) <= len(groups) else groups
    return bytes(out)


def decode_tag(data: bytes) -> Tag:
    """Refuses, with an OrderingError, what no process can have written."""
    reader = TagReader(data)
    form = reader.number()
    view = reader.number()
    source = reader.number()
    size = reader.count()
    time = [reader.number() for _ in range(size)]
    if form > GROUPS:
        raise OrderingError(f"a tag of form {form}, which this version does not know")
    if source >= size or time[source] == 0:
        raise OrderingError(f"a tag of process {source} without its time")
    destinations = reader.members(size)
    check_destinations(source, destinations)
    rows = reader.rows(time) if form == ROWS else reader.groups(time)
    if rows[source]:
        raise OrderingError(f"a tag with a row for its own source, process {source}")
    if reader.at != len(data):
        raise OrderingError(f"{len(data) - reader.at} bytes follow the tag")
    return Tag(view, source, time, destinations, rows)


def check_destinations(source: int, destinations: list[int]) -> None:
    if not destinations or source in destinations:
        raise OrderingError(f"a tag of process {source} to itself or to nobody")


def _needed(tag: Tag, recipient: int) -> list[int]:
    """The destinations whose rows are to be written."""
    rows, destinations = tag.rows, tag.destinations
    found: list[int] = []
    at = 0
    for k in range(len(rows)):
        addressed = at < len(destinations) and destinations[at] == k
        if addressed:
            at += 1
        if rows[k] and (recipient < 0 or not addressed or k == recipient):
            found.append(k)
    return found


# Writing


def write_number(out: list[int], number: int) -> None:
    while number > 127:
        out.append((number & 127) | 128)
        number >>= 7
    out.append(number)


def _write_set(out: list[int], members: list[int]) -> None:
    """Members rise, and there is at least one."""
    gaps: list[int] = []
    last = -1
    for member in members:
        write_number(gaps, member - last - 1)
        last = member
    size = last // 8 + 1
    if len(gaps) <= size:
        write_number(out, 2 * len(members))
        out += gaps
        return
    write_number(out, 2 * size + 1)
    bits = [0] * size
    for member in members:
        bits[member >> 3] |= 1 << (member & 7)
    out += bits


def _write_rows(out: list[int], tag: Tag, needed: list[int]) -> None:
    time = tag.time
    write_number(out, len(needed))
    last = -1
    for k in needed:
        row = tag.rows[k]
        write_number(out, k - last - 1)
        write_number(out, len(row) // 2)
        before = -1
        for at in range(0, len(row), 2):
            source = row[at]
            write_number(out, source - before - 1)
            write_number(out, time[source] - row[at + 1])
            before = source
        last = k


def _write_groups(out: list[int], tag: Tag, needed: list[int]) -> None:
    size = len(tag.time)
    numbers: list[list[int]] = [[] for _ in range(size)]  # by source
    members: list[list[list[int]]] = [[] for _ in range(size)]  # the same: for each number its destinations
    count = 0
    for k in needed:
        row = tag.rows[k]
        for at in range(0, len(row), 2):
            ours = numbers[row[at]]
            place = 0
            while place < len(ours) and ours[place] != row[at + 1]:
                place += 1
            if place == len(ours):
                count += 1
                ours.append(row[at + 1])
                members[row[at]].append([])
            members[row[at]][place].append(k)
    write_number(out, count)
    last = 0
    for source in range(size):
        for place in range(len(numbers[source])):
            write_number(out, source - last)
            write_number(out, tag.time[source] - numbers[source][place])
            _write_set(out, members[source][place])
            last = source


# Reading


class TagReader:
    """Reads a tag from its start; whatever is wrong with it is the peer's fault and one kind of error."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        number = 0
        shift = 0
        data = self.data
        while True:
            if self.at >= len(data):
                raise OrderingError("a tag that ends within a number")
            byte = data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > MAX_SHIFT:
                raise OrderingError("a tag with a number of more than 64 bits")

    def count(self) -> int:
        """Of things that take a byte or more each."""
        found = self.number()
        if found > len(self.data) - self.at:
            raise OrderingError("a tag that announces more than it has bytes for")
        return found

    def take(self, size: int) -> bytes:
        """The next so many bytes."""
        end = self.at + size
        if end > len(self.data):
            raise OrderingError("a tag that is too short")
        found = self.data[self.at : end]
        self.at = end
        return found

    def process(self, last: int, size: int) -> int:
        """The next process after the last one."""
        found = last + self.number() + 1
        if found >= size:
            raise OrderingError(f"a tag that names process {found} of {size}")
        return found

    def members(self, size: int) -> list[int]:
        head = self.number()
        count = head >> 1
        if count > len(self.data) - self.at:
            raise OrderingError("a tag that announces more than it has bytes for")
        found: list[int] = []
        if head & 1 == 0:
            last = -1
            for _ in range(count):
                last = self.process(last, size)
                found.append(last)
            return found
        data, start = self.data, self.at
        found = [place for place in range(count * 8) if data[start + (place >> 3)] >> (place & 7) & 1]
        self.at += count
        if found and found[-1] >= size:
            raise OrderingError(f"a tag that names process {found[-1]} of {size}")
        return found

    def rows(self, time: list[int]) -> list[list[int]]:
        size = len(time)
        made: list[list[int]] = [NOTHING] * size
        k = -1
        for _ in range(self.count()):
            k = self.process(k, size)
            row: list[int] = []
            source = -1
            for _ in range(self.count()):
                source = self.process(source, size)
                row.append(source)
                row.append(self.past(time[source]))
            made[k] = row
        return made

    def groups(self, time: list[int]) -> list[list[int]]:
        size = len(time)
        made: list[list[int]] = [[] for _ in range(size)]
        source = 0
        for _ in range(self.count()):
            source = self.process(source - 1, size)
            number = self.past(time[source])
            for k in self.members(size):
                row = made[k]
                if row and row[-2] == source:
                    raise OrderingError(f"a tag with two pairs of process {source} in row {k}")
                row.append(source)
                row.append(number)
        return made

    def past(self, now: int) -> int:
        """The number of a message, from its age."""
        age = self.number()
        if age >= now:
            raise OrderingError("a tag that names a message before the first")
        return now - age
