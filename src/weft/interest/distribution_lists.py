"""The distribution lists of a federation, by name: one for each cell, or for whatever the layer above maps interest to.

`weft.interest.distribution` has the rules of one list.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic

from weft.interest.distribution import DistributionList, Federate, Limits, Logged, Member, Outcome, Value
from weft.interest.spacetime import Bound
from weft.model.errors import InterestError
from weft.model.time import TimeValue

Id = Hashable
"""Names a distribution list."""


class DistributionLists(Generic[Federate, Value]):
    """All lists of a federation, by name; those on which nobody is and nothing is logged need no room."""

    def __init__(self, tbound: Bound | None = None) -> None:
        """With a Tbound there is no log; `raise_tbound` moves it."""
        self.limits = Limits(tbound)
        self.lists: dict[Id, DistributionList[Federate, Value]] = {}
        self._unsettled: dict[Id, None] = {}

    def _list(self, id_: Id) -> DistributionList[Federate, Value]:
        found = self.lists.get(id_)
        if found is None:
            found = DistributionList(self.limits)
            self.lists[id_] = found
        self._unsettled[id_] = None
        return found

    def add(self, member: Member[Federate], id_: Id, time: TimeValue) -> Outcome[Federate, Value]:
        self.limits.check_operation(time, "Add", (id_, member))
        return self._list(id_).operate(member, time, 1)

    def delete(self, member: Member[Federate], id_: Id, time: TimeValue) -> Outcome[Federate, Value]:
        self.limits.check_operation(time, "Delete", (id_, member))
        return self._list(id_).operate(member, time, -1)

    def begin(self, member: Member[Federate], id_: Id) -> None:
        """As in `DistributionList.begin`."""
        self._list(id_).begin(member)

    def update(self, ids: Iterable[Id], update: Logged[Value]) -> dict[Federate, int]:
        """To several lists: by how many of them each federate gets it."""
        self.limits.check_update(update.time)
        copies: dict[Federate, int] = {}
        for id_ in ids:
            found = self._list(id_) if self.limits.tbound is None else self.lists.get(id_)
            if found is not None:
                for federate in found.update(update):
                    copies[federate] = copies.get(federate, 0) + 1
        return copies

    def withdraw(self, ids: Iterable[Id], update: Logged[Value]) -> dict[Federate, int]:
        """Its sender takes an update back: by how many lists each federate had got it."""
        copies: dict[Federate, int] = {}
        for found in self._known(ids):
            for federate in found.withdraw(update):
                copies[federate] = copies.get(federate, 0) + 1
        return copies

    def copies(self, ids: Iterable[Id], federate: Federate, time: TimeValue) -> int:
        """On how many of these lists the federate is at that time."""
        return sum([1 for one in self._known(ids) if one.has(federate, time)])

    def _known(self, ids: Iterable[Id]) -> list[DistributionList[Federate, Value]]:
        return [self.lists[id_] for id_ in ids if id_ in self.lists]

    def read(self, id_: Id, time: TimeValue) -> tuple[Federate, ...]:
        """D(id, T)."""
        self.limits.check(time, "read", id_)
        found = self.lists.get(id_)
        return () if found is None else found.read(time)

    def net(self, member: Member[Federate], id_: Id, time: TimeValue) -> int:
        found = self.lists.get(id_)
        return 0 if found is None else found.net(member, time)

    def group(self, id_: Id) -> tuple[Federate, ...]:
        found = self.lists.get(id_)
        return () if found is None else found.group()

    def reclaim(self, bound: Bound) -> list[tuple[Id, Federate]]:
        """Nothing comes below the bound any more: who leaves which multicast group by that."""
        reclaimed = self.limits.reclaimed
        if reclaimed is not None and bound <= reclaimed:
            return []
        self.limits.reclaimed = bound
        gone: list[tuple[Id, Federate]] = []
        for id_ in list(self._unsettled):
            found = self.lists[id_]
            gone.extend([(id_, federate) for federate in found.reclaim(bound)])
            if found.is_settled():
                del self._unsettled[id_]
                if found.is_empty():
                    del self.lists[id_]
        return gone

    def raise_tbound(self, bound: Bound) -> None:
        """All have agreed: nothing changes below it any more, and updates may come up to it."""
        if self.limits.tbound is None:
            raise InterestError("there is a log here and no Tbound: give one when the lists are made")
        if bound < self.limits.tbound:
            raise InterestError(f"Tbound is {self.limits.tbound} and cannot go back to {bound}")
        self.limits.tbound = bound

    def remove(self, federate: Federate) -> list[Id]:
        """It has resigned: the lists whose multicast group it leaves."""
        left = [id_ for id_, found in self.lists.items() if found.remove(federate)]
        for id_ in left:
            if self.lists[id_].is_empty():
                del self.lists[id_]
                self._unsettled.pop(id_, None)
        return left

    def drop(self, member: Member[Federate], ids: Iterable[Id]) -> None:
        """One region of a federate, as if it had never been on these lists."""
        for id_ in ids:
            found = self.lists.get(id_)
            if found is not None:
                found.drop(member)
                if found.is_empty():
                    del self.lists[id_]
                    self._unsettled.pop(id_, None)

    def between(self, ids: Iterable[Id], time: TimeValue, until: TimeValue | None) -> list[Logged[Value]]:
        """What these lists have logged in [time, until), each update once."""
        found: dict[Logged[Value], None] = {}
        for one in self._known(ids):
            found.update(dict.fromkeys(one.between(time, until)))
        return list(found)

    def logged(self) -> int:
        """How many entries all logs have together."""
        return sum([len(self.lists[id_].log) for id_ in self._unsettled])
