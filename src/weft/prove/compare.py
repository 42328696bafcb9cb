"""What two worlds must agree on, and where a choice is left: each with its reason (clauses of IEEE 1516.1-2025).

Each freedom was taken away by itself and 20 and more seeds and tests/prove/seeds played in all worlds: "needed" says which of
them differed then.

* Results and exceptions of calls: the same.
  - A client that does not wait (`asyncUpdates`, Weft's own) is told of one refusal of several, and not of which call: then what
    it was told is among the refusals of that hurry, and it was told if there were any.  (needed: async)
  - Of two faults of one call either may be told: the standard has no order for exceptions.  (needed: clients that judge nothing)
* What a federate hears between two steps: the same callbacks.
  - All that is no message, and messages in time stamp order with the grants among them: in the same order.  That of equal time
    stamps is free by the standard (8.1), but Weft promises one (`weft.ordering.stamped`), and is held to it.
  - Messages in receive order have no order by the standard (8.1).  Weft promises that the reliable values of one attribute by one
    sender, and its reliable interactions of one class, keep theirs if they were sent in the same order type; where all
    federates are at one node, all that one sender sends.  The rest is free.  (needed: nodes, mesh, simulated:
    best effort and each order of Weft's own take a way of their own between nodes, and the RTI is at all of them)  Of different
    attributes and classes nothing is compared over nodes: a callback without a time does not say in which order it was sent.
  - A time-constrained federate is delivered messages in receive order while it advances (8.1), and nobody is any during a save
    (4.1).  Over several nodes one that is sent in the very step that leads to a grant or a save may come before it, or after it.
    One that comes after has come by the time the federate asks to advance again (or to regulate, which is such a request, 8.2),
    enables asynchronous delivery, or is not constrained any more; and at the end of the script, when all do, none is left.
    (needed: simulated, where a resignation deletes and lets others advance; no seed made use of what else begins to hold
    messages, below, but that holds them by the same clause)
* Any exception is one that the service may raise; nothing is heard of an instance that was not discovered or is removed.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from weft.federate.refusals import errors_of
from weft.model.json_types import Json
from weft.prove.author import NOBODY
from weft.prove.player import END, CallRecord
from weft.prove.script import HeardCallback, ScriptedCall
from weft.prove.signatures import ABOUT, ADVANCES, is_as_of

Held = TypeVar("Held")


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
# What begins a time in which messages in receive order are held …
_HOLDING = (
    "time_advance_grant", "flush_queue_grant", "time_regulation_enabled", "time_constrained_enabled", "initiate_federate_save",
)  # fmt: skip
# … and what ends it, for the federate that calls; the end is `weft.prove.player.Player.finish`.
_RELEASES = (*ADVANCES, "enable_time_regulation", "enable_asynchronous_delivery", "disable_time_constrained")
_UNDEFINED = "AttributeNotDefined"
_ENDS = ("federate_resigned", "connection_lost")
Late = tuple[list[HeardCallback], list[HeardCallback]]
"""Messages that a federate has heard in the first world and not yet in the other, and the other way round."""


class _Saves(Generic[Held]):
    """What holds of a federate when a save is made holds again after the restore."""

    def __init__(self) -> None:
        self._labels: dict[int, str] = {}
        self._kept: dict[tuple[int, str], Held | None] = {}

    def heard(self, who: int, callback: HeardCallback, now: Held | None) -> Held | None:
        """What holds from here on: something else than `now` after a restore, None if nobody knows."""
        if callback[0] in ("initiate_federate_save", "initiate_federate_restore"):
            self._labels[who] = str(callback[1])
        elif callback[0] == "federation_saved":
            self._kept[who, self._labels.get(who, "")] = copy.deepcopy(now)
        elif callback[0] == "federation_restored":
            return copy.deepcopy(self._kept.get((who, self._labels.get(who, ""))))
        return now


def broken(seen: Sequence[CallRecord]) -> Difference | None:
    """What is wrong in one world, whatever others do: an exception that its service has not, a message about nothing."""
    known: dict[int, Counter[str] | None] = {}  # None: after a restore of a save by somebody else
    saves = _Saves[Counter[str]]()
    for number, one in enumerate(seen):
        step = one.step
        if one.error and one.error not in (*errors_of(step.call), *_of_its_time(step)):
            what = f"{step.call} raised {one.error}, which is none of its exceptions: {one.text}"
            return Difference(number, "exception", what)
        _note_call(known, one)
        for who, heard in one.heard.items():
            for callback in heard:
                mine = known[who] = saves.heard(who, callback, known.setdefault(who, Counter()))
                if mine is None:
                    continue
                about = ABOUT.get(str(callback[0]))
                if callback[0] == "discover_object_instance":
                    mine[str(callback[1])] += 1
                elif about is not None:
                    instance = str(callback[about])
                    if mine[instance] <= 0:
                        what = f"f{who} heard of {instance}, which it has not discovered: {callback}"
                        return Difference(number, "unknown", what)
                    if callback[0] == "remove_object_instance":
                        mine[instance] -= 1
    return None


def _of_its_time(step: ScriptedCall) -> tuple[str, ...]:
    """Exceptions of a call as of a time, Weft's own, beside those of the service (docs/explanation/ddm-sync.md)."""
    return ("TimeRegulationIsNotEnabled", "InvalidLogicalTime") if is_as_of(step) else ()


def _note_call(known: dict[int, Counter[str] | None], one: CallRecord) -> None:
    """How many instances of a name it knows: another may have the name before the removal of the first is heard."""
    step = one.step
    if one.error:
        return
    if step.call == "join_federation_execution":
        known[step.federate] = Counter()
    mine = known.setdefault(step.federate, Counter())
    if mine is None:
        return
    if step.call.startswith("register_object_instance"):
        mine[step.name] += 1
    elif step.call in ("local_delete_object_instance", "delete_object_instance"):
        mine[str(step.arguments[0])] -= 1


def first_difference(
    expected: Sequence[CallRecord], found: Sequence[CallRecord], world: str, one_place: bool
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
        self._late: dict[int, Late] = {}
        self._saves = _Saves[Late]()
        self._hurried: list[tuple[CallRecord, CallRecord]] = []

    def differs(self, one: CallRecord, other: CallRecord) -> tuple[str, str]:
        call = f"{one.step.call} by f{one.step.federate}"
        self._hurried.append((one, other))
        sure = not (one.unsure or other.unsure)
        if sure and one.error != other.error and not _errs_twice(one, other):
            return "result", f"{call}: {_outcome(one)} embedded, {_outcome(other)} at {self._world}"
        if (sure or not one.error) and one.result != other.result:
            return "result", f"{call}: returned {one.result!r} embedded, {other.result!r} at {self._world}"
        if not one.step.hurry:
            told = self._refusals()
            if told:
                return "result", told
        for who in sorted({*one.heard, *other.heard, *self._late}):
            expected, found = one.heard.get(who, []), other.heard.get(who, [])
            late = self._late.get(who, ([], []))
            if not self._is_alike(who, one.step if not one.error else None, expected, found):
                told = f"\n  embedded: {_told(expected)}\n  {self._world}: {_told(found)}"
                return "heard", f"after {call}: f{who} heard{told}" + (
                    f"\n  late: {late}" if any(late) else ""
                )
        if one.step.call == "resign_federation_execution" and not one.error:
            self._late.pop(one.step.federate, None)
        return "", ""

    def _refusals(self) -> str:
        """Of calls made in a hurry that nobody waited for, if it is not known which of them were refused."""
        made, self._hurried = self._hurried, []
        if not any(other.unsure for _, other in made):
            return ""
        refused = Counter(one.error for one, _ in made if one.error)
        told = Counter([other.error for _, other in made if other.error])
        told += Counter([name for _, other in made for name in other.told])
        if told <= refused and bool(told) == bool(refused):
            return ""
        return f"in a hurry: {dict(refused)} embedded, {dict(told)} at {self._world}"

    def _is_alike(
        self, who: int, step: ScriptedCall | None, expected: list[HeardCallback], found: list[HeardCallback]
    ) -> bool:
        """`step`: if it was not refused."""
        if _in_order(expected) != _in_order(found):
            return False
        mine, others = _in_receive_order(expected), _in_receive_order(found)
        before: Late = self._late.get(who, ([], []))
        for callback in expected:
            before = (
                ([], []) if callback[0] in _ENDS else self._saves.heard(who, callback, before) or ([], [])
            )
        ahead, behind = [*before[0], *mine], [*before[1], *others]
        if not _keeps_order(_streams(ahead, self._one_place), _streams(behind, self._one_place)):
            return False
        for callback in list(ahead):
            if callback in behind:
                behind.remove(callback)
                ahead.remove(callback)
        self._late.pop(who, None)
        if not ahead and not behind:
            return True
        released = step is not None and (
            step.call == END or (step.call in _RELEASES and step.federate == who)
        )
        holds = not released or any(callback[0] in _HOLDING for callback in expected)
        may_be_new = not self._one_place and any(callback[0] in _HOLDING for callback in expected)
        for left, kept, new in ((ahead, before[0], mine), (behind, before[1], others)):
            if not holds or not _within(left, [*([] if released else kept), *(new if may_be_new else [])]):
                return False
        self._late[who] = (ahead, behind)
        return True


def _errs_twice(one: CallRecord, other: CallRecord) -> bool:
    """Only of calls that name an attribute of nothing.

    Does a call have two faults, of which each side tells another?  An attribute that is not defined is known to the RTI
    alone, what is pending also to the client; the standard does not say which comes first.
    """
    errors = {one.error, other.error}
    named = (name for given in one.step.arguments if isinstance(given, list | dict) for name in given)
    return _UNDEFINED in errors and "" not in errors and NOBODY in named


def _within(some: list[HeardCallback], all_of_them: list[HeardCallback]) -> bool:
    return Counter(map(repr, some)) <= Counter(map(repr, all_of_them))


def _keeps_order(
    one: dict[tuple[str, ...], list[object]], other: dict[tuple[str, ...], list[object]]
) -> bool:
    """What one world has not heard yet comes after all that both have heard."""
    return all(
        all(a == b for a, b in zip(one[key], other[key], strict=False)) for key in one.keys() & other.keys()
    )


def _outcome(seen: CallRecord) -> str:
    return f"{seen.error} ({seen.text})" if seen.error else "no exception"


def _told(heard: list[HeardCallback]) -> str:
    return "".join(f"\n    {one}" for one in heard) or "nothing"


def _is_stamped(callback: HeardCallback) -> bool:
    """Was it delivered in time stamp order?"""
    time = _MESSAGES[str(callback[0])][2]
    return len(callback) > time + 2 and callback[time + 2] == "TIMESTAMP"


def _in_receive_order(heard: list[HeardCallback]) -> list[HeardCallback]:
    return [one for one in heard if one[0] in _MESSAGES and not _is_stamped(one)]


def _in_order(heard: list[HeardCallback]) -> list[HeardCallback]:
    """All that has one order."""
    return [one for one in heard if one[0] not in _MESSAGES or _is_stamped(one)]


def _streams(messages: list[HeardCallback], one_place: bool) -> dict[tuple[str, ...], list[object]]:
    """By what has an order of its own: a sender's reliable values of an attribute, its reliable interactions of a class."""
    found: dict[tuple[str, ...], list[object]] = {}
    for one in messages:
        method, instance = str(one[0]), str(one[1])
        way, producer, time = _MESSAGES[method]
        by = str(one[producer])
        # Between messages sent in different orders nothing is promised over nodes.
        sent = str(one[time + 1]) if len(one) > time + 1 else ""
        if one_place:
            found.setdefault((by,), []).append(one)
        elif way is None or one[way] != "HLAreliable":
            continue
        elif method == "reflect_attribute_values":
            for name, value in reflected(one).items():
                found.setdefault((method, by, sent, instance, name), []).append((value, one[3]))
        else:
            found.setdefault((method, by, sent, instance), []).append(one)
    return found


def reflected(callback: HeardCallback) -> Mapping[str, Json]:
    """Return the values of a `reflect_attribute_values`, by name."""
    values = callback[2]
    assert isinstance(values, Mapping)
    return values
