"""Tags in bytes (S0-10, S0-17).

All numbers are varints: seven bits to a byte, the lowest first, the high bit set on all but the last.

    tag       form, view, source, count of processes, the time of each, destinations, then the rows in the form said:
    0 rows    count, then for each row that is not empty, by rising destination: gap, count of pairs, the pairs (gap, age)
    1 groups  count, then for each message, by rising source: gap, age, its destinations
    2 alike   one row for all destinations of this message, as below; no other row has pairs
    3, 4      the same, and then the rows of the others in form 0 or 1

    alike     count of pairs, then for each: 2 * gap, or 2 * gap + 1 and the age if that is not 0

A gap is the distance from the one before, less one (from -1 for the first); in groups, where a source may come again, it is
the distance itself (from 0).  The age of a pair (j, x) is how far back it lies: time[j] - x.

    set       2 * count, then the gaps;  or 2 * bytes + 1, then a bit for each process, the lowest first

Sets and rows are written in whichever form is shorter.  Rows suit unicast, groups suit broadcast, where few messages stand
before many destinations.  A tag for one recipient leaves out the rows of the other destinations, which it would not look at.

Rows are alike if they hold the same pairs, but for those of the destination itself: nobody waits for a message of its own, so
those are in nobody's row, and may be in the one row that stands for all.  It is so whenever all talk to all, and then one tag
does for all recipients.  Where it would take more bytes in all than a tag for each, as with few pairs of high age, each gets its
own.
"""

from __future__ import annotations

from typing import Final

from weft.model.errors import OrderingError
from weft.ordering.message import NOTHING, Tag

ROWS: Final = 0
GROUPS: Final = 1
ALIKE: Final = 2
MAX_SHIFT: Final = 63
KEPT_SETS: Final = 1024
KEPT_BYTES: Final = 64

_sets: dict[bytes, list[int]] = {}


def encode_tag(tag: Tag, recipient: int = -1) -> bytes:
    """For all recipients, or for one."""
    form, rows = _shorter(tag, _needed(tag, [recipient], recipient < 0))
    return bytes(_head(tag, form) + rows)


def encode_tags(tag: Tag, groups: list[list[int]]) -> list[bytes]:
    """For each group of recipients a tag: one for all where their rows are alike, or one for each, whichever is less in all."""
    others = _needed(tag, NOTHING, False)
    row: list[int] | None = None
    if len(groups) > 1 or not others:  # a single one is mostly shorter with all rows in one form
        row = _row_of_all(tag)
    if row is None:
        return _apart(tag, groups)
    each_alone = all(
        len(recipients) == 1 for recipients in groups
    )  # as where every federate has a node of its own
    if others or not each_alone:
        return _shorter_of_both(tag, groups, row, others)
    if _bytes_alike(tag, row) * len(groups) <= _bytes_apart(tag, groups):
        return [_encode_alike(tag, row, others)] * len(groups)
    return _apart(tag, groups)


def _shorter_of_both(tag: Tag, groups: list[list[int]], row: list[int], others: list[int]) -> list[bytes]:
    written = _encode_alike(tag, row, others)
    if not others and _is_surely_shorter(tag, row):
        return [written] * len(groups)
    apart = _apart(tag, groups)
    bytes_apart = 0
    for one in apart:
        bytes_apart += len(one)
    return apart if bytes_apart < len(written) * len(groups) else [written] * len(groups)


def _apart(tag: Tag, groups: list[list[int]]) -> list[bytes]:
    """Each with the rows of its own recipients."""
    found: list[bytes] = []
    for recipients in groups:
        form, rows = _shorter(tag, _needed(tag, recipients, False))
        found.append(bytes(_head(tag, form) + rows))
    return found


def _is_surely_shorter(tag: Tag, row: list[int]) -> bool:
    """Is one row for all no longer than any recipient's own?  It is, mostly, and then nobody need try.

    A row of its own takes three numbers before its pairs (how many rows, whose, how many pairs), and may lack one pair,
    that of the recipient itself; with nothing left it is not written at all.
    """
    time = tag.time
    own = 3
    longest = 0
    last = -1
    for at in range(0, len(row), 2):
        pair = _size(row[at] - last - 1) + _size(time[row[at]] - row[at + 1])
        own += pair
        longest = max(longest, pair)
        last = row[at]
    return not row or (len(row) > 2 and _bytes_alike(tag, row) <= own - longest)


def _bytes_alike(tag: Tag, row: list[int]) -> int:
    """What `_encode_alike` writes for that row, behind the head."""
    time = tag.time
    size = _size(len(row) // 2)
    last = -1
    for at in range(0, len(row), 2):
        source = row[at]
        age = time[source] - row[at + 1]
        size += _size(2 * (source - last - 1) + 1)
        if age:
            size += _size(age)
        last = source
    return size


def _bytes_apart(tag: Tag, groups: list[list[int]]) -> int:
    """What `_write_rows` writes for groups of one recipient each, behind their heads; counting is less work than writing."""
    time = tag.time
    size = len(groups)  # how many rows each has: none or one
    for recipients in groups:
        k = recipients[0]
        row = tag.rows[k]
        if not row:
            continue
        size += _size(k) + _size(len(row) // 2)
        last = -1
        for at in range(0, len(row), 2):
            source = row[at]
            size += _size(source - last - 1) + _size(time[source] - row[at + 1])
            last = source
    return size


def _size(number: int) -> int:
    """Bytes that it takes."""
    size = 1
    while number > 127:
        number >>= 7
        size += 1
    return size


def decode_tag(data: bytes, to_nobody: bool = False) -> Tag:
    """Refuses, with an OrderingError, what no process can have written.  `to_nobody`: there may be no destination."""
    reader = TagReader(data)
    form = reader.number()
    view = reader.number()
    source = reader.number()
    size = reader.count()
    time = reader.numbers(size)
    if form > ALIKE + 1 + GROUPS:
        raise OrderingError(f"a tag of form {form}, which this version does not know")
    if source >= size or time[source] == 0:
        raise OrderingError(f"a tag of process {source} without its time")
    destinations = reader.members(size)
    if destinations or not to_nobody:
        check_destinations(source, destinations)
    if form >= ALIKE:
        rows = reader.alike(time, destinations, form - ALIKE - 1)
    else:
        rows = reader.rows(time) if form == ROWS else reader.groups(time)
    if rows[source]:
        raise OrderingError(f"a tag with a row for its own source, process {source}")
    if reader.at != len(data):
        raise OrderingError(f"{len(data) - reader.at} bytes follow the tag")
    return Tag(view, source, time, destinations, rows)


def check_destinations(source: int, destinations: list[int]) -> None:
    own = not destinations
    for destination in destinations:
        if destination == source:
            own = True
    if own:
        raise OrderingError(f"a tag of process {source} to itself or to nobody")


def _needed(tag: Tag, recipients: list[int], every: bool) -> list[int]:
    """The destinations whose rows are to be written: of those addressed only the recipients, or every one."""
    rows, destinations = tag.rows, tag.destinations
    found: list[int] = []
    at = 0
    for k in range(len(rows)):
        addressed = at < len(destinations) and destinations[at] == k
        if addressed:
            at += 1
        if rows[k] and (every or not addressed or k in recipients):
            found.append(k)
    return found


def _row_of_all(tag: Tag) -> list[int] | None:
    """The row that stands for all destinations, if their rows are alike."""
    rows, destinations = tag.rows, tag.destinations
    first = destinations[0]
    row = rows[first]
    if len(destinations) > 1:
        other = rows[destinations[1]]
        for at in range(0, len(other), 2):
            if other[at] == first:  # which is not in its own row
                row = _with_pair(row, first, other[at + 1])
    for k in destinations:
        if rows[k] is not row and not _is_without(rows[k], row, k):
            return None
    for at in range(0, len(row), 2):
        if rows[row[at]] is row:
            return None
    return row


def _with_pair(row: list[int], source: int, number: int) -> list[int]:
    at = 0
    while at < len(row) and row[at] < source:
        at += 2
    return [*row[:at], source, number, *row[at:]]


def _is_without(some: list[int], row: list[int], process: int) -> bool:
    """Is it that row without the pair of this process?"""
    to = 0
    for at in range(0, len(row), 2):
        if row[at] == process:
            continue
        if to >= len(some) or some[to] != row[at] or some[to + 1] != row[at + 1]:
            return False
        to += 2
    return to == len(some)


# Writing


def _head(tag: Tag, form: int) -> list[int]:
    out: list[int] = [form]
    write_number(out, tag.view)
    write_number(out, tag.source)
    write_number(out, len(tag.time))
    for value in tag.time:
        write_number(out, value)
    _write_set(out, tag.destinations)
    return out


def _shorter(tag: Tag, needed: list[int]) -> tuple[int, list[int]]:
    """The rows in the shorter form, and which that is.  A single row is never longer as a row."""
    rows: list[int] = []
    _write_rows(rows, tag, needed)
    if len(needed) < 2:
        return ROWS, rows
    groups: list[int] = []
    _write_groups(groups, tag, needed)
    return (ROWS, rows) if len(rows) <= len(groups) else (GROUPS, groups)


def _encode_alike(tag: Tag, row: list[int], others: list[int]) -> bytes:
    form, rest = _shorter(tag, others) if others else (-1, NOTHING)
    out = _head(tag, ALIKE + 1 + form)
    time = tag.time
    write_number(out, len(row) // 2)
    last = -1
    for at in range(0, len(row), 2):
        source = row[at]
        age = time[source] - row[at + 1]
        write_number(out, 2 * (source - last - 1) + (age != 0))
        if age:
            write_number(out, age)
        last = source
    return bytes(out + rest)


def write_number(out: list[int], number: int) -> None:
    while number > 127:
        out.append((number & 127) | 128)
        number >>= 7
    out.append(number)


def _write_set(out: list[int], members: list[int]) -> None:
    """Members rise."""
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


def _members(bits: bytes) -> list[int]:
    """Of a set written as bits.  Most messages go to the same few sets, so these lists are shared, and never changed."""
    found = _sets.get(bits)
    if found is None:
        found = [place for place in range(len(bits) * 8) if bits[place >> 3] >> (place & 7) & 1]
        if len(bits) <= KEPT_BYTES:  # what a peer sends takes no more memory than that
            if len(_sets) >= KEPT_SETS:
                _sets.clear()
            _sets[bits] = found
    return found


class TagReader:
    """Reads a tag from its start; whatever is wrong with it is the peer's fault and one kind of error."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        data, at = self.data, self.at
        if at < len(data) and data[at] < 128:  # as most are
            self.at = at + 1
            return data[at]
        number = 0
        shift = 0
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

    def numbers(self, count: int) -> list[int]:
        """So many of them; written out, since every message has as many as there are processes."""
        data, at, end = self.data, self.at, len(self.data)
        found: list[int] = []
        for _ in range(count):
            if at < end and data[at] < 128:
                found.append(data[at])
                at += 1
            elif at + 1 < end and data[at + 1] < 128:
                found.append((data[at] & 127) | (data[at + 1] << 7))
                at += 2
            else:
                self.at = at
                found.append(self.number())
                at = self.at
        self.at = at
        return found

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
        found = _members(self.data[self.at : self.at + count])
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

    def alike(self, time: list[int], destinations: list[int], rest: int) -> list[list[int]]:
        """One row for all destinations, and those of the others: none (-1), as rows or as groups.

        A destination whose own message is among the pairs finds it there, as it finds itself: its time is never behind that.
        """
        size = len(time)
        row: list[int] = []
        source = -1
        for _ in range(self.count()):
            head = self.number()
            source += (head >> 1) + 1
            if source >= size:
                raise OrderingError(f"a tag that names process {source} of {size}")
            now = time[source]
            number = self.past(now) if head & 1 else now
            if number == 0:
                raise OrderingError("a tag that names a message before the first")
            row.append(source)
            row.append(number)
        if rest < 0:
            made = [NOTHING] * size
        else:
            made = self.rows(time) if rest == ROWS else self.groups(time)
            for k in destinations:
                if made[k]:
                    raise OrderingError(f"a tag with two rows for process {k}")
        for k in destinations:
            made[k] = row
        return made

    def past(self, now: int) -> int:
        """The number of a message, from its age."""
        age = self.number()
        if age >= now:
            raise OrderingError("a tag that names a message before the first")
        return now - age
