"""Tags as text, before the user's own tag (S0-10): for middleware over an RTI that carries nothing else.

    <vt>&<cv>&<destinations>&<source>&<the user's tag>

The order of the fields and the ampersand are the paper's; what is inside the first two is ours:

    vt              the times of processes 0, 1, …, with commas; then @view, unless that is 0; then + if there may be parts
    cv              rows with semicolons, each k:j.x,j.x,…; empty if no row has a pair
    destinations    rising, with commas

The user's tag comes last and is any bytes, ampersands among them: only the first four separate.
"""

from __future__ import annotations

import re
from itertools import pairwise

from weft.model.errors import OrderingError
from weft.ordering.message import NOTHING, Tag
from weft.ordering.tags import check_destinations

NUMBER = "[0-9]{1,18}"
NUMBERS = f"{NUMBER}(?:,{NUMBER})*"
PAIR = rf"{NUMBER}\.{NUMBER}"
ROW = f"{NUMBER}:{PAIR}(?:,{PAIR})*"
SHAPE = re.compile(
    rf"({NUMBERS})(?:@({NUMBER}))?(\+?)&((?:{ROW}(?:;{ROW})*)?)&({NUMBERS}|)&({NUMBER})&(.*)".encode(), re.S
)


def encode_text(tag: Tag, user_tag: bytes = b"", recipient: int = -1, part: bool = False) -> bytes:
    """For all recipients, or for one."""
    view = f"@{tag.view}" if tag.view else ""
    rows = ";".join(
        f"{k}:{','.join(f'{row[at]}.{row[at + 1]}' for at in range(0, len(row), 2))}"
        for k, row in enumerate(tag.rows)
        if row and _carries(tag, k, recipient)
    )
    head = f"{_join(tag.time)}{view}{'+' * part}&{rows}&{_join(tag.destinations)}&{tag.source}&"
    return head.encode() + user_tag


def read_text(data: bytes) -> tuple[Tag, bool, bytes]:
    """The tag, whether there may be parts, and the user's own; an OrderingError if no process can have written it."""
    shape = SHAPE.fullmatch(data)
    if shape is None:
        raise OrderingError(f"not a tag of the form vt&cv&destinations&source&tag: {data[:60]!r}")
    time, source = _split(shape[1]), int(shape[6])
    destinations = _split(shape[5]) if shape[5] else []
    if source >= len(time) or time[source] == 0:
        raise OrderingError(f"a tag of process {source} without its time")
    if destinations:
        _check_rising(destinations, len(time))
        check_destinations(source, destinations)
    rows = _rows(shape[4], time)
    if rows[source]:
        raise OrderingError(f"a tag with a row for its own source, process {source}")
    return Tag(int(shape[2] or 0), source, time, destinations, rows), bool(shape[3]), shape[7]


def _join(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def _split(text: bytes) -> list[int]:
    return [int(one) for one in text.split(b",")]


def _rows(text: bytes, time: list[int]) -> list[list[int]]:
    made = [NOTHING] * len(time)
    last = -1
    for written in text.split(b";") if text else ():
        head, _, pairs = written.partition(b":")
        k = int(head)
        row = [int(one) for pair in pairs.split(b",") for one in pair.split(b".")]
        _check_rising([last, k] if last >= 0 else [k], len(time))
        _check_rising(row[::2], len(time))
        if any(not 1 <= row[at + 1] <= time[row[at]] for at in range(0, len(row), 2)):
            raise OrderingError(f"a tag with a message in row {k} that its source does not know of")
        made[k] = row
        last = k
    return made


def _check_rising(processes: list[int], size: int) -> None:
    if processes[-1] >= size or any(one >= other for one, other in pairwise(processes)):
        raise OrderingError(
            f"a tag of {size} processes that names {processes}, which do not rise or are too many"
        )


def _carries(tag: Tag, destination: int, recipient: int) -> bool:
    """Does a recipient need this row?  Of those of the destinations it looks at its own only (S0-17).  -1: all need it."""
    return recipient < 0 or destination == recipient or destination not in tag.destinations
