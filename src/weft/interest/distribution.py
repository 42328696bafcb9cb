"""Distribution lists: who gets an update as of its logical time, whatever the order in which things arrive (S4-7 … S4-18).

A list has a name (of a cell, or whatever it stands for) and three operations, each as of a logical time T:

    Add(member, T)      from T on the member is on the list, until its next Delete
    Delete(member, T)   from T on it is not, until its next Add
    Update(V, T)        V goes to all who are on the list at T

They come in any order of their times.  Whenever one has come, all who were ever told of an update are exactly those who
are on the list at its time, so an Add or Delete that comes late has something to make good: it leads to late sends of
updates in the log, or to retractions of such as were sent.

Who is on the list.  Of one member only the sign of (Adds - Deletes) at each time counts; 0 is as if there was nothing
(S4-10).  A member is on the list at T if the latest of its times up to and including T has a positive sign.  One operation
at T therefore changes its status, if at all, in [T, next time with a sign) and nowhere else.

A member is a pair (federate, region): a federate may have several regions in one cell, which come and go by themselves.
The federate is on the list as long as any of its members is (S4-18), and only changes of that lead to anything.

Versions.  D(T), the federates on the list at T with the number of their members, is constant between changes.  The list
keeps one version for each such interval; an update finds its version by one bisection, and an Add or Delete costs a few
and the versions that it changes.  Every operation says also which
federate joins or leaves the multicast group of the list, which is all who are in any version (S4-17): a federate joins
with its first Add and leaves when its last version has been reclaimed.

Reclaiming.  When nothing comes below a bound (time, 0 or 1) any more, the log, the operations and the versions before it
can go; the version of that time stays (S4-14).  What comes below it all the same is refused.

Tbound.  If updates are always below a certain bound and Adds and Deletes never are, nothing is ever late, and no log is
needed (S4-15).  The bound is a pair, so the equality is on one side only: with (t, 0) updates come before t and operations
at t or later, with (t, 1) updates up to t and operations after it.

Federates are numbers or names: who gets something is told in their order, which does not depend on the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

from weft.interest.spacetime import Bound, passed
from weft.model.errors import InterestError
from weft.model.time import TimeValue

Federate = TypeVar("Federate", int, str)
Value = TypeVar("Value")

Member = tuple[Federate, Hashable]
"""A federate, and one of its regions."""


class Logged(Generic[Value]):
    """An update, as the log keeps it: the same object wherever it goes, so that it can be told from an equal one."""

    def __init__(self, time: TimeValue, value: Value) -> None:
        self.time = time
        self.value = value

    def __repr__(self) -> str:
        return f"Logged({self.value!r} @ {self.time!r})"


class Outcome(NamedTuple, Generic[Federate, Value]):
    """What an Add or Delete leads to, for its federate.  Only one of the two lists has anything in it."""

    federate: Federate
    sends: list[Logged[Value]]  # late: it should have got these and did not
    retractions: list[Logged[Value]]  # it got these and should not have
    joined: bool  # the multicast group
    left: bool


class Limits:
    """What may still come; all lists of a federation share it."""

    def __init__(self, tbound: Bound | None = None) -> None:
        self.reclaimed: Bound | None = None
        self.tbound = tbound

    def check(self, time: TimeValue, what: str, who: object = "") -> None:
        if self.reclaimed is not None and (time, 0) < self.reclaimed:
            raise InterestError(
                f"{what} {who} @ {time}: everybody has promised to change and send nothing {_below(self.reclaimed)}, "
                "and what was known of that time has been dropped"
            )

    def check_operation(self, time: TimeValue, what: str, who: object) -> None:
        self.check(time, what, who)
        if self.tbound is not None and (time, 0) < self.tbound:
            raise InterestError(
                f"{what} {who} @ {time}: nothing may change {_below(self.tbound)} (Tbound), since there is no log: "
                "choose a later time, or do without Tbound"
            )

    def check_update(self, time: TimeValue) -> None:
        self.check(time, "Update")
        if self.tbound is not None and (time, 0) >= self.tbound:
            raise InterestError(
                f"Update @ {time}: updates are sent {_below(self.tbound)} only (Tbound), since there is no log: "
                "send it when Tbound has been raised, or do without Tbound"
            )


def _below(bound: Bound) -> str:
    return f"up to and including {bound[0]}" if bound[1] else f"before {bound[0]}"


class History:
    """The Adds and Deletes of one member on one list."""

    def __init__(self) -> None:
        self.first = False  # before all times
        self.times: list[TimeValue] = []
        self.nets: list[int] = []  # Adds less Deletes at that time, never 0
        self.added = 0  # at how many of the times it is more Adds

    def net(self, time: TimeValue) -> int:
        found = bisect_left(self.times, time)
        return self.nets[found] if found < len(self.times) and self.times[found] == time else 0

    def status(self, time: TimeValue) -> bool:
        found = bisect_right(self.times, time)
        return self.nets[found - 1] > 0 if found else self.first

    def record(self, time: TimeValue, step: int) -> tuple[bool, TimeValue | None]:
        """An Add (1) or Delete (-1): whether the status changed from then on, and until when (None: for ever)."""
        times, nets = self.times, self.nets
        before = self.status(time)
        found = bisect_left(times, time)
        if found == len(times) or times[found] != time:
            times.insert(found, time)
            nets.insert(found, step)
            self.added += step > 0
        elif nets[found] + step:
            nets[found] += step
        else:
            del times[found], nets[found]
            self.added -= step < 0
        following = bisect_right(times, time)
        until = times[following] if following < len(times) else None
        return self.status(time) != before, until

    def intervals(self) -> list[tuple[TimeValue | None, TimeValue | None]]:
        """From when until when it is on the list; None: from ever, or for ever."""
        found: list[tuple[TimeValue | None, TimeValue | None]] = []
        on, begin = self.first, None
        for time, net in zip(self.times, self.nets, strict=True):
            if on and net < 0:
                found.append((begin, time))
            elif not on and net > 0:
                begin = time
            on = net > 0
        return [*found, (begin, None)] if on else found

    def is_ever_on(self, reclaimed: Bound | None) -> bool:
        """At any time that has not been reclaimed."""
        if self.added or not self.first or reclaimed is None or reclaimed[1]:
            return self.added > 0 or self.first
        return not self.times or self.times[0] != reclaimed[0]

    def reclaim(self, bound: Bound) -> None:
        over = passed(self.times, bound)
        if over:
            self.added -= sum([1 for net in self.nets[:over] if net > 0])
            self.first = self.nets[over - 1] > 0
            del self.times[:over]
            del self.nets[:over]


class DistributionList(Generic[Federate, Value]):
    """One list.  `versions[i]` holds from `times[i - 1]` on; the first from ever, or from what was reclaimed."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = Limits() if limits is None else limits
        self.members: dict[Federate, dict[Hashable, History]] = {}
        self.times: list[TimeValue] = []
        self.versions: list[dict[Federate, int]] = [{}]  # federate -> how many of its members are on the list
        self._on: list[tuple[Federate, ...] | None] = [None]  # the federates of a version, once asked for
        self.log_times: list[TimeValue] = []
        self.log: list[Logged[Value]] = []

    # --- who is on the list -------------------------------------------------------------------------------------

    def read(self, time: TimeValue) -> tuple[Federate, ...]:
        """D(T): the latest version up to that time (S4-16)."""
        self.limits.check(time, "read")
        found = bisect_right(self.times, time)
        on = self._on[found]
        if on is None:
            on = tuple(sorted(self.versions[found]))
            self._on[found] = on
        return on

    def has(self, federate: Federate, time: TimeValue) -> bool:
        return federate in self.versions[bisect_right(self.times, time)]

    def group(self) -> tuple[Federate, ...]:
        """The multicast group: all who are on the list at any time from now on, as far as is known."""
        return tuple(sorted([federate for federate in self.members if self._is_present(federate)]))

    def _is_present(self, federate: Federate) -> bool:
        reclaimed = self.limits.reclaimed
        return any(one.is_ever_on(reclaimed) for one in self.members.get(federate, {}).values())

    # --- operations ---------------------------------------------------------------------------------------------

    def add(self, member: Member[Federate], time: TimeValue) -> Outcome[Federate, Value]:
        self.limits.check_operation(time, "Add", member)
        return self.operate(member, time, 1)

    def delete(self, member: Member[Federate], time: TimeValue) -> Outcome[Federate, Value]:
        self.limits.check_operation(time, "Delete", member)
        return self.operate(member, time, -1)

    def net(self, member: Member[Federate], time: TimeValue) -> int:
        """Adds less Deletes of the member at that very time."""
        history = self.members.get(member[0], {}).get(member[1])
        return 0 if history is None else history.net(time)

    def update(self, update: Logged[Value]) -> tuple[Federate, ...]:
        """Who gets it now; later operations may add others or take it back."""
        self.limits.check_update(update.time)
        if self.limits.tbound is None:
            place = bisect_right(self.log_times, update.time)
            self.log_times.insert(place, update.time)
            self.log.insert(place, update)
        return self.read(update.time)

    def withdraw(self, update: Logged[Value]) -> tuple[Federate, ...]:
        """Its sender takes it back: who had got it.  Nobody will get it late."""
        for place in range(
            bisect_left(self.log_times, update.time), bisect_right(self.log_times, update.time)
        ):
            if self.log[place] is update:
                del self.log_times[place], self.log[place]
                break
        return self.read(update.time)

    def operate(self, member: Member[Federate], time: TimeValue, step: int) -> Outcome[Federate, Value]:
        """An Add (1) or Delete (-1) that has been checked."""
        federate = member[0]
        present = self._is_present(federate)
        regions = self.members.setdefault(federate, {})
        history = regions.get(member[1])
        if history is None:
            history = History()
            regions[member[1]] = history
        changed, until = history.record(time, step)
        if not history.times and not history.first:
            self._forget(federate, member[1])
        if not changed:
            return Outcome(federate, [], [], False, False)
        found = self._change(federate, time, until, step)
        after = self._is_present(federate)
        joined, left = after and not present, present and not after
        if step > 0:
            return Outcome(federate, found, [], joined, left)
        return Outcome(federate, [], found, joined, left)

    def begin(self, member: Member[Federate]) -> None:
        """It is on the list from ever on: how a list that others have is taken over, before the member's operations."""
        federate, region = member
        history = History()
        history.first = True
        self.members.setdefault(federate, {})[region] = history
        for place, version in enumerate(self.versions):
            version[federate] = version.get(federate, 0) + 1
            self._on[place] = None

    def _forget(self, federate: Federate, region: Hashable) -> None:
        del self.members[federate][region]
        if not self.members[federate]:
            del self.members[federate]

    def _change(
        self, federate: Federate, time: TimeValue, until: TimeValue | None, step: int
    ) -> list[Logged[Value]]:
        """One member more or less in [time, until): the updates for which that made a difference to the federate."""
        first = self._split(time)
        last = len(self.versions) if until is None else self._split(until)
        found: list[Logged[Value]] = []
        for place in range(first, last):
            version = self.versions[place]
            count = version.get(federate, 0) + step
            if count:
                version[federate] = count
            else:
                del version[federate]
            if count == 0 or (count == 1 and step == 1):
                self._on[place] = None
                found.extend(self._logged(time if place == first else self.times[place - 1], place))
        if until is not None:
            self._join(last)
        self._join(first)
        return found

    def _logged(self, time: TimeValue, place: int) -> list[Logged[Value]]:
        """What was updated in a version, from that time on."""
        low = bisect_left(self.log_times, time)
        high = bisect_left(self.log_times, self.times[place]) if place < len(self.times) else len(self.log)
        return self.log[low:high]

    def _split(self, time: TimeValue) -> int:
        """The version that begins at that time, made if there is none."""
        reclaimed = self.limits.reclaimed
        if reclaimed is not None and time == reclaimed[0] and not reclaimed[1]:
            return 0
        place = bisect_left(self.times, time)
        if place == len(self.times) or self.times[place] != time:
            self.times.insert(place, time)
            self.versions.insert(place + 1, dict(self.versions[place]))
            self._on.insert(place + 1, self._on[place])
        return place + 1

    def _join(self, place: int) -> None:
        """A version that is like the one before it is not needed."""
        if 0 < place < len(self.versions) and self.versions[place] == self.versions[place - 1]:
            del self.times[place - 1], self.versions[place], self._on[place]

    # --- the end of things --------------------------------------------------------------------------------------

    def reclaim(self, bound: Bound) -> list[Federate]:
        """Nothing comes below the bound any more: who leaves the multicast group by that."""
        self.limits.reclaimed = bound
        over = passed(self.log_times, bound)
        del self.log_times[:over], self.log[:over]
        for federate, regions in list(self.members.items()):
            for region, history in list(regions.items()):
                history.reclaim(bound)
                if not history.times and not history.first:
                    self._forget(federate, region)
        return self._drop(bisect_right(self.times, bound[0]))

    def _drop(self, over: int) -> list[Federate]:
        if not over:
            return []
        dropped: dict[Federate, int] = {}
        for version in self.versions[:over]:
            dropped.update(version)
        del self.times[:over], self.versions[:over], self._on[:over]
        return sorted([federate for federate in dropped if not self._is_present(federate)])

    def remove(self, federate: Federate) -> bool:
        """It has resigned: it was never here.  Was it in the group?"""
        present = self._is_present(federate)
        if self.members.pop(federate, None) is None:
            return False
        for place, version in enumerate(self.versions):
            if version.pop(federate, 0):
                self._on[place] = None
        for place in range(len(self.versions) - 1, 0, -1):
            self._join(place)
        return present

    def drop(self, member: Member[Federate]) -> None:
        """As if it had never been here: nobody makes anything good, and the group is what the others make it."""
        federate, region = member
        history = self.members.get(federate, {}).get(region)
        if history is None:
            return
        self._forget(federate, region)
        for begin, until in history.intervals():
            # Versions may have been joined over a change of this member that another of the federate made up for.
            first = 0 if begin is None else self._split(begin)
            last = len(self.versions) if until is None else self._split(until)
            for place in range(first, last):
                version = self.versions[place]
                version[federate] -= 1
                if not version[federate]:
                    del version[federate]
                self._on[place] = None
        for place in range(len(self.versions) - 1, 0, -1):
            self._join(place)

    def between(self, time: TimeValue, until: TimeValue | None) -> list[Logged[Value]]:
        """What was updated in [time, until); None: in all times from then on."""
        high = len(self.log) if until is None else bisect_left(self.log_times, until)
        return self.log[bisect_left(self.log_times, time) : high]

    def is_settled(self) -> bool:
        """Reclaiming would find nothing to drop."""
        if self.times or self.log:
            return False
        return not any(one.times for regions in self.members.values() for one in regions.values())

    def is_empty(self) -> bool:
        return not self.members and not self.log
