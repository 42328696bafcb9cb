"""Numbers of processes, and who forwards what when one of them crashes (`weft.ordering.mses`; S0-12, S0-14, S0-15)."""

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
