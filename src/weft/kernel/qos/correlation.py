"""Groups of messages: a federate that waits for several interactions and updates gets them in one callback (S3-5, S3-6).

A message becomes an event when its order would have it handed to the federate, so a group fires when its last event would have
been delivered.  What a group is and when it fires is said in `weft.channel.correlation`; here is which messages are its events:

    class       the class at which the federate receives the interaction or knows the object, or one above it
    attributes  where some are named: an update with at least one of them
    sender      where one is named: by the name of the federate

A dependency comes as plain data, as it can be sent and saved:

    ["on", "interaction" | "object", class, [attribute, …], sender]     numbers of handles; "" for any sender
    ["all", part, …]   ["any", part, …]   ["interval", seconds]   ["deadline", seconds]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.channel.correlation import (
    Arrival,
    CorrelationStep,
    LeafNode,
    Owner,
    Registration,
    TimerLeaf,
    in_order,
    steps_to,
)
from weft.channel.event import ANY, FIRST_TYPE, Event
from weft.channel.qos import Dependency, all_of, any_of, check, deadline, interval, on
from weft.channel.scheduling.urgency import UNSCHEDULED
from weft.channel.timers import Timers
from weft.model.errors import ChannelError
from weft.model.handles import AttributeHandle, Handle, InteractionClassHandle, ObjectClassHandle
from weft.model.json_types import Json
from weft.model.records import CorrelatedEvent

Fired = Callable[[int, tuple[CorrelatedEvent, ...], float], None]
"""The number of the group, its events, and the time."""

_KEPT = 1024  # ways through a group's tree that are kept


class Pattern:
    """What an event has to be."""

    def __init__(self, kind: Handle, attributes: frozenset[Handle], sender: str) -> None:
        self.kind = kind
        self.attributes = attributes
        self.sender = sender

    def suits(self, lineage: list[Handle], values: list[Handle], sender: str) -> bool:
        if self.kind not in lineage or (self.sender and self.sender != sender):
            return False
        return not self.attributes or any(handle in self.attributes for handle in values)


class Group(Owner):
    """One dependency of a federate."""

    def __init__(
        self, number: int, asked: Sequence[Json], singly: bool, timers: Timers, fired: Fired
    ) -> None:
        self.number = number
        self.clears = False
        self.is_gateway = False
        self.asked = asked
        self.singly = singly  # its messages are also handed over by themselves
        self.patterns: list[Pattern] = []
        self._timers = timers
        self._fired = fired
        self._arrived = 0
        self._steps: dict[tuple[int, ...], CorrelationStep] = {}
        dependency = self._understand(asked, 0)
        check(dependency)
        self._registration = Registration(self, 1, dependency)
        self._registration.compile(dependency, {"": UNSCHEDULED})

    def classes(self) -> list[Handle]:
        return [pattern.kind for pattern in self.patterns]

    def start(self, now: float) -> None:
        self._registration.active = True
        self._registration.start(self._timers, now)

    def stop(self) -> None:
        self._registration.active = False
        self._registration.stop(self._timers)
        self._registration.clear()

    def offer(
        self, lineage: list[Handle], event: CorrelatedEvent, values: list[Handle], sender: str, now: float
    ) -> bool:
        """Is it one of its events?"""
        suits = tuple(
            [place for place, one in enumerate(self.patterns) if one.suits(lineage, values, sender)]
        )
        if not suits:
            return False
        step = self._steps.get(suits)
        if step is None:
            if len(self._steps) >= _KEPT:
                self._steps.clear()
            leaves: list[LeafNode] = [self._registration.leaves[place] for place in suits]
            step = self._steps[suits] = steps_to(leaves)
        self._arrived += 1
        self._take(step.node.offer(step, self._arrived, Event(FIRST_TYPE, 1, event, now)), now)
        return True

    def timed_out(self, leaf: TimerLeaf, event: Event, now: float) -> None:
        step = leaf.step
        if step is not None and self._registration.active:
            self._arrived += 1
            told = Event(
                event.type, ANY, CorrelatedEvent("timeout", None, tuple(event.payload)), event.created
            )
            self._take(step.node.offer(step, self._arrived, told), now)

    def _take(self, found: list[Arrival] | None, now: float) -> None:
        if found is not None:
            self._registration.rearm(self._timers, now)
            events = tuple([arrival.event.payload for arrival in in_order(found)])
            self._fired(self.number, events, now)

    # --- from plain data --------------------------------------------------------------------------------------

    def _understand(self, data: object, depth: int) -> Dependency:
        if not isinstance(data, (list, tuple)) or not data or depth > 64:
            raise ChannelError(f"{str(data)[:100]} is no dependency; see docs/explanation/urgency.md")
        word, *rest = data
        if word == "on" and len(rest) == 4:
            self.patterns.append(_pattern(rest))
            return on(FIRST_TYPE, 1)
        if word == "interval" and len(rest) == 1:
            return interval(rest[0])
        if word == "deadline" and len(rest) == 1:
            return deadline(rest[0])
        if word in ("all", "any"):
            parts = [self._understand(part, depth + 1) for part in rest]
            return all_of(*parts) if word == "all" else any_of(*parts)
        raise ChannelError(f"{str(data)[:100]} is no dependency; see docs/explanation/urgency.md")


def _pattern(data: Sequence[object]) -> Pattern:
    word, number, attributes, sender = data
    if (
        word not in ("interaction", "object")
        or not isinstance(number, int)
        or not isinstance(attributes, (list, tuple))
        or not isinstance(sender, str)
    ):
        raise ChannelError(f"{str(data)[:100]} names no class to wait for; see docs/explanation/urgency.md")
    named = frozenset([AttributeHandle.of(one) for one in attributes])
    return Pattern(class_handle(str(word), number), named, sender)


def class_handle(word: str, number: int) -> Handle:
    return InteractionClassHandle.of(number) if word == "interaction" else ObjectClassHandle.of(number)
