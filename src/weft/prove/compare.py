"""What two worlds must agree on, and where the standard leaves a choice.

* Results and exceptions of calls: the same.  Where a client does not wait for answers (`asyncUpdates`), and several calls were
  made in a hurry, which of them was refused is not known.
* What a federate hears between two steps: the same callbacks.
  - All that is no message, and messages in time stamp order with the grants among them: in the same order, but that messages of
    equal time are free among themselves.
  - Messages in receive order: the values of one attribute by one sender, and the interactions of one class by one sender, in the
    same order if they are reliable and were sent in the same order type; all else is free.
  - A federate that is time-constrained hears messages in receive order while it advances, and nobody hears any during a save.
    Over several nodes it is free whether one that is sent when the grant or the save is due comes before it, or with the next
    advance, or after the save.
* Any exception is one that the service may raise; nothing is reflected of an instance that was not discovered or is removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from weft.federate.refusals import errors_of
from weft.prove.player import Seen
from weft.prove.script import Plain


@dataclass(frozen=True)
class Difference:
    number: int  # of the step, from 0
    kind: str  # "trouble", "exception", "unknown", "result" or "heard"
    what: str

    def __str__(self) -> str:
        return f"step {self.number + 1}: {self.what}"


# Where transportation, producer and time are among what a callback has, its method first.
_MESSAGES: dict[str, tuple[int | None, int, int]] = {
    "reflect_attribute_values": (4, 5, 7),
    "receive_interaction": (4, 5, 7),
    "receive_directed_interaction": (5, 6, 7),
    "remove_object_instance": (None, 3, 4),
}
# What begins a time in which messages in receive order are held.
_HOLDING = (
    "time_advance_grant", "flush_queue_grant", "time_regulation_enabled", "time_constrained_enabled", "initiate_federate_save",
)  # fmt: skip
_ENDS = ("federate_resigned", "federation_restored", "connection_lost")


def broken(seen: Sequence[Seen]) -> Difference | None:
    """What is wrong in one world, whatever others do: an exception that its service has not, a message about nothing."""
    known: dict[
        int, Counter[str]
    ] = {}  # how many, since another may have the name before the removal of the first is heard
    blurred: set[int] = set()  # since a restore it knows what it knew then
    for number, one in enumerate(seen):
        step = one.step
        if one.error and one.error not in errors_of(step.call):
            what = f"{step.call} raised {one.error}, which is none of its exceptions: {one.text}"
            return Difference(number, "exception", what)
        if step.call == "join_federation_execution" and not one.error:
            known[step.federate] = Counter()
            blurred.discard(step.federate)
        if step.call.startswith("register_object_instance") and not one.error:
            known.setdefault(step.federate, Counter())[step.name] += 1
        for who, heard in one.heard.items():
            for callback in heard:
                if callback[0] == "federation_restored":
                    blurred.add(who)
                elif callback[0] == "discover_object_instance":
                    known.setdefault(who, Counter())[callback[1]] += 1
                elif who not in blurred and callback[0] in (
                    "reflect_attribute_values",
                    "remove_object_instance",
                ):
                    if not known.setdefault(who, Counter())[callback[1]]:
                        what = f"f{who} heard of {callback[1]}, which it has not discovered: {callback}"
                        return Difference(number, "unknown", what)
                    if callback[0] == "remove_object_instance":
                        known[who][callback[1]] -= 1
    return None


def first_difference(
    expected: Sequence[Seen], found: Sequence[Seen], world: str, one_place: bool
) -> Difference | None:
    """`one_place`: all federates are at one node, so that nothing can be under way when a grant is due."""
    comparison = _Comparison(world, one_place)
    for number, (one, other) in enumerate(zip(expected, found, strict=False)):
        kind, what = comparison.differs(one, other)
        if what:
            return Difference(number, kind, what)
    return None


class _Comparison:
    def __init__(self, world: str, one_place: bool) -> None:
        self._world = world
        self._one_place = one_place
        self._late: dict[
            int, tuple[list[Plain], list[Plain]]
        ] = {}  # heard in one world and not yet in the other

    def differs(self, one: Seen, other: Seen) -> tuple[str, str]:
        call = f"{one.step.call} by f{one.step.federate}"
        sure = not (one.unsure or other.unsure)
        if sure and one.error != other.error:
            return "result", f"{call}: {_outcome(one)} embedded, {_outcome(other)} at {self._world}"
        if sure and one.result != other.result:
            return "result", f"{call}: returned {one.result!r} embedded, {other.result!r} at {self._world}"
        for who in sorted({*one.heard, *other.heard, *self._late}):
            expected, found = one.heard.get(who, []), other.heard.get(who, [])
            if not self._is_alike(who, expected, found):
                late = self._late.get(who, ([], []))
                told = f"\n  embedded: {_told(expected)}\n  {self._world}: {_told(found)}"
                return "heard", f"after {call}: f{who} heard{told}" + (
                    f"\n  late: {late}" if any(late) else ""
                )
        if one.step.call == "resign_federation_execution" and not one.error:
            self._late.pop(one.step.federate, None)
        return "", ""

    def _is_alike(self, who: int, expected: list[Plain], found: list[Plain]) -> bool:
        if any(callback[0] in _ENDS for callback in expected):
            self._late.pop(who, None)
        if _in_order(expected) != _in_order(found):
            return False
        mine, others = _in_receive_order(expected), _in_receive_order(found)
        late = self._late.get(who, ([], []))
        if mine == others and not any(late):
            return True
        ahead, behind = [*late[0], *mine], [*late[1], *others]
        for callback in list(ahead):
            if callback in behind:
                behind.remove(callback)
                ahead.remove(callback)
        if not ahead and not behind:
            self._late.pop(who, None)
            return any(late) or _reliably(mine) == _reliably(others)
        may_be_late = any(late) or any(callback[0] in _HOLDING for callback in expected)
        if self._one_place or not may_be_late:
            return False
        self._late[who] = (ahead, behind)
        return True


def _outcome(seen: Seen) -> str:
    return f"{seen.error} ({seen.text})" if seen.error else "no exception"


def _told(heard: list[Plain]) -> str:
    return "".join(f"\n    {one}" for one in heard) or "nothing"


def _is_stamped(callback: Plain) -> bool:
    """Was it delivered in time stamp order?"""
    time = _MESSAGES[callback[0]][2]
    return len(callback) > time + 2 and callback[time + 2] == "TIMESTAMP"


def _in_receive_order(heard: list[Plain]) -> list[Plain]:
    return [one for one in heard if one[0] in _MESSAGES and not _is_stamped(one)]


def _in_order(heard: list[Plain]) -> list[Plain]:
    """All that has one order; neighbours of equal time in an order of their own."""
    made: list[Plain] = []
    run: list[Plain] = []
    for one in heard:
        if one[0] not in _MESSAGES:
            made += [*sorted(run, key=repr), one]
            run = []
        elif _is_stamped(one):
            if run and _time(run[0]) != _time(one):
                made += sorted(run, key=repr)
                run = []
            run.append(one)
    return made + sorted(run, key=repr)


def _time(message: Plain) -> Plain:
    return message[_MESSAGES[message[0]][2]]


def _reliably(messages: list[Plain]) -> dict[tuple[str, ...], list[Plain]]:
    """The reliable ones, by what has an order of its own: a sender's values of an attribute, its interactions of a class."""
    found: dict[tuple[str, ...], list[Plain]] = {}
    for one in messages:
        way, producer, time = _MESSAGES[one[0]]
        if way is None or one[way] != "HLAreliable":
            continue
        sent = (
            str(one[time + 1]) if len(one) > time + 1 else ""
        )  # between messages sent in different orders nothing is promised
        if one[0] == "reflect_attribute_values":
            for name, value in one[2].items():
                found.setdefault((one[0], one[producer], sent, one[1], name), []).append([value, one[3]])
        else:
            found.setdefault((one[0], one[producer], sent, one[1]), []).append(one)
    return found
