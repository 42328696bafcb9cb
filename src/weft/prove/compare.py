"""What two worlds must agree on, and where the standard leaves a choice.

* Results and exceptions of calls: the same.
* What a federate hears between two steps: the same callbacks.  Their order is the same where the standard says so: messages of one sender
  about one instance or class, what comes before and after a grant, discovery before reflection before removal.
* Any exception is one that the service may raise; RTIinternalError never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.federate.refusals import errors_of
from weft.prove.player import Seen
from weft.prove.script import Plain


@dataclass(frozen=True)
class Difference:
    number: int  # of the step, from 0
    what: str

    def __str__(self) -> str:
        return f"step {self.number + 1}: {self.what}"


def unlisted(seen: Sequence[Seen]) -> Difference | None:
    """The first exception that its service does not have."""
    for number, one in enumerate(seen):
        if one.error and one.error not in errors_of(one.step.call):
            return Difference(number, f"{one.step.call} raised {one.error}, which is none of its exceptions: {one.text}")
    return None


def first_difference(expected: Sequence[Seen], found: Sequence[Seen], world: str) -> Difference | None:
    for number, (one, other) in enumerate(zip(expected, found, strict=False)):
        what = _differs(one, other, world)
        if what:
            return Difference(number, what)
    return None


def _differs(one: Seen, other: Seen, world: str) -> str:
    call = f"{one.step.call} by f{one.step.federate}"
    if one.error != other.error:
        return f"{call}: {_outcome(one)} embedded, {_outcome(other)} at {world}"
    if one.result != other.result:
        return f"{call}: returned {one.result!r} embedded, {other.result!r} at {world}"
    for who in sorted({*one.heard, *other.heard}):
        expected, found = _ordered(one.heard.get(who, [])), _ordered(other.heard.get(who, []))
        if expected != found:
            return f"after {call}: f{who} heard\n  embedded: {expected}\n  {world}: {found}"
    return ""


def _outcome(seen: Seen) -> str:
    return f"{seen.error} ({seen.text})" if seen.error else "no exception"


def _ordered(heard: list[Plain]) -> list[Plain]:
    return heard
