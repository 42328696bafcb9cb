"""Waiting for other federates: until they have joined, and at synchronization points; who is missing is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.model.errors import NotInTime, RTIexception

if TYPE_CHECKING:
    from weft.federate.federate import Federate

Who = int | Iterable[str]
"""So many federates, or those of these names."""
_ANSWER = 10.0  # seconds that the RTI may take to say who has joined
_LOOK = 0.1  # seconds from one look at who has joined to the next


class Meeting:
    """Of one `Federate`."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate
        # Of one stay in the federation.
        self.announced: set[str] = set()  # synchronization points that are pending
        self.achieved: set[str] = set()  # those of them that wait for others
        self.members: frozenset[str] | None = None  # who had joined, when that was asked last

    def forget(self) -> None:
        self.announced.clear()
        self.achieved.clear()
        self.members = None

    def reached(self, label: str) -> None:
        self.announced.discard(label)
        self.achieved.discard(label)

    def wait_for(self, who: Who, seconds: float) -> None:
        wanted = who if isinstance(who, int) else frozenset([who] if isinstance(who, str) else who)
        federate = self._federate
        deadline = federate.rti.connection.now() + seconds
        present = self._present()
        while len(present) < wanted if isinstance(wanted, int) else not wanted <= present:
            left = deadline - federate.rti.connection.now()
            if left <= 0:
                raise NotInTime(
                    f"federation {federate.federation!r}, after {seconds:g} s: {_missing(wanted, present)}"
                )
            federate.run(min(left, _LOOK))
            present = self._present()

    def _present(self) -> frozenset[str]:
        """Who has joined, by a question to the RTI."""
        federate = self._federate
        self._forget_members()
        federate.rti.list_federation_execution_members(federate.federation)
        federate.run_until(self._is_answered, _ANSWER)
        return frozenset() if self.members is None else self.members

    def _forget_members(self) -> None:
        self.members = None

    def _is_answered(self) -> bool:
        return self.members is not None

    def synchronize(self, label: str, seconds: float, who: Who | None) -> None:
        federate = self._federate
        deadline = federate.rti.connection.now() + seconds

        def left() -> float:
            return max(0.0, deadline - federate.rti.connection.now())

        if label not in self.achieved:
            if who is not None:
                self.wait_for(who, seconds)
            if label not in self.announced:
                federate.rti.register_federation_synchronization_point(label, b"")
            if not federate.run_until(lambda: label in self.announced, left()):
                raise NotInTime(
                    f"synchronization point {label!r} was not announced within {seconds:g} s: "
                    "the RTI, or who registered it for some federates only, has left this one out"
                )
            # First: with IMMEDIATE callbacks the point may be reached during the call.
            self.achieved.add(label)
            try:
                federate.rti.synchronization_point_achieved(label)
            except RTIexception:
                self.achieved.discard(label)
                raise
        if not federate.run_until(lambda: label not in self.achieved, left()):
            raise NotInTime(
                f"synchronization point {label!r} was not reached within {seconds:g} s: {self._waits_for(label)}"
            )

    def _waits_for(self, label: str) -> str:
        """In words, as far as the RTI says: other vendors' do not."""
        federate = self._federate
        try:
            found: object = federate.rti.query_survey(["federates"])
            for step in ("federations", federate.federation, "synchronization", label, "waits_for"):
                found = found[step] if isinstance(found, Mapping) else None
        except (RTIexception, KeyError):
            found = None
        if not isinstance(found, Sequence):
            return "others have joined and not achieved it"
        others = [str(name) for name in found if name != federate.name]
        return f"{', '.join(others) or 'nobody any more'} {'has' if len(others) == 1 else 'have'} not achieved it"


def _missing(wanted: int | frozenset[str], present: frozenset[str]) -> str:
    there = ", ".join(sorted(present)) or "nobody"
    if isinstance(wanted, int):
        return f"{wanted - len(present)} of {wanted} federates are missing; there are {there}"
    absent = sorted(wanted - present)
    return f"{', '.join(absent)} {'has' if len(absent) == 1 else 'have'} not joined; there are {there}"
