"""Who takes part: numbers for processes, and what becomes of messages when one of them goes (S0-12, S0-14, S0-15).

Join.  A process gets the next number, from 0; numbers are never changed and never given again in an execution (the paper would
sort them by federate handle, and vectors under way would then speak of somebody else).  Nothing was addressed to it before, so
nothing stands before it.  `Mses.joined` at the others, before they address it.

Resign.  It gets nothing more: `Mses.resigned` at the others drops its row.  What it sent still arrives and is delivered in
order, so pairs of it stay.  The others may hear of it at different times.

Crash.  Its messages may be lost, and what depends on them would wait for ever.  Nor can one pair be dropped alone: a pair
stands for all that lies before it.  So a view ends, as one agreement among the survivors, in three steps:

    1. every survivor stops sending, and has received all that survivors sent it in this view
    2. every message of the crashed that any survivor holds, delivered or not, is forwarded to all its surviving destinations
       (`forwards` says by whom and to whom); messages that nobody holds are void
    3. at each survivor: `Mses.crashed`, which delivers what still waits, in causal order; it may send again at once

At its end no message of the view is under way that anybody will deliver, so all rows are empty.  A message of the next view
that comes to a survivor before its step 3 is kept until then, and a late one of the crashed is refused: tags say in
which view they were sent.  What a sequencer passes on during step 1 is part of the view and has to arrive as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from weft.model.errors import OrderingError


class Processes:
    """The numbers of federates (the paper's FedToPID), the same at all who hear of joins and resignations in the same order."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.next = 0

    def join(self, federate: Hashable) -> int:
        if federate in self.numbers:
            raise OrderingError(
                f"federate {federate!r} has already joined, as process {self.numbers[federate]}"
            )
        number = self.numbers[federate] = self.next
        self.next += 1
        return number

    def leave(self, federate: Hashable) -> int:
        """By resigning or by a crash; the number is not given again."""
        number = self.numbers.pop(federate, None)
        if number is None:
            raise OrderingError(f"federate {federate!r} has not joined, or has left before")
        return number

    def destinations(self, federates: Sequence[Hashable]) -> list[int]:
        """As `Mses.send` wants them."""
        return sorted(self.numbers[federate] for federate in federates)


class Forward(NamedTuple):
    """A survivor passes on the message `number` of the crashed `source`."""

    holder: int
    source: int
    number: int
    to: int


def forwards(
    holdings: Mapping[int, Mapping[tuple[int, int], Sequence[int]]], crashed: Sequence[int]
) -> list[Forward]:
    """Who passes on what.  `holdings`: for each survivor the messages of the crashed that it has, with their destinations.

    The lowest survivor that holds a message sends it, to those who do not have it.
    """
    made: list[Forward] = []
    seen: set[tuple[int, int]] = set()
    for holder in sorted(holdings):
        for (source, number), destinations in sorted(holdings[holder].items()):
            if source not in crashed:
                raise OrderingError(f"process {holder} reports a message of {source}, which has not crashed")
            if (source, number) not in seen:
                seen.add((source, number))
                made += [
                    Forward(holder, source, number, to)
                    for to in destinations
                    if to in holdings and (source, number) not in holdings[to]
                ]
    return made
