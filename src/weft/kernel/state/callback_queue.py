"""The last mile: in which order a federate takes the callbacks that wait for it (docs/explanation/urgency.md).

The most urgent first; of equals the first to come.  But for any two callbacks x before y, as they came, x stays before y

    fence     if one of them is neither a message nor about an object coming or going: a grant, a synchronization point, …
    time      if both are in time stamp order
    causal    if both are in causal or total order, or it is not known that one of them is not
    stream    if both are in the same other order, and are interactions of one class by one sender, or updates of one object
              (in priority order: of equal priority)
    object    if they are about the same object, and one of them is its discovery or its removal
    coming    if both are a discovery or a removal, or one of them is and the other is in time stamp or causal order

A group of correlated messages stands in all the relations of its messages.

Whoever keeps something urgent waiting is as urgent itself, as priority inheritance has it: a discovery goes before reports if an
urgent update waits for it.

Each callback that waits knows whom it waits for and whom it keeps waiting; who waits for nobody is in a heap.  So taking one
costs O(log n), and relations are found by looking at the last one of each kind.  One that inherits is in the heap again, with
its new key; the old entry is passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final

from weft.kernel.state.effects import LEAST_URGENT, Callback, UrgentCallback
from weft.model.deliveries import (
    DeliveredDirectedInteraction,
    DeliveredInteraction,
    Delivery,
    Reflection,
    checked,
    delivery_from,
)
from weft.model.enums import OrderType
from weft.model.handles import Handle, ObjectInstanceHandle
from weft.model.records import CorrelatedEvent

CORRELATED: Final = "receive_correlation"
MISSED: Final = "deadline_missed"
MESSAGES: Final = frozenset(
    ["receive_interaction", "reflect_attribute_values", "receive_directed_interaction"]
)
"""Callbacks that are messages of federates."""

_COMING: Final = frozenset(["discover_object_instance", "remove_object_instance"])
MOVABLE: Final = MESSAGES | _COMING | {CORRELATED, MISSED}
"""Callbacks that may change places with others; all else are fences."""

# Kept at hand: a member of an enumeration is slow to look up, and these are asked for with each message.
_RECEIVE: Final = OrderType.RECEIVE
_PRIORITY: Final = OrderType.PRIORITY
_TIMESTAMP: Final = OrderType.TIMESTAMP
_COME: Final = "come"
_TIME: Final = "time"
_CAUSAL: Final = "causal"

Chain = tuple[object, ...]
"""What messages are told apart by that keep their places among one another."""
Key = tuple[int, float, int]
"""Priority, dynamic key, sub-priority."""


class _Waiting:
    """A callback that waits."""

    __slots__ = ("after", "before", "callback", "chains", "key", "number", "objects", "taken")

    def __init__(self, callback: Callback, number: int) -> None:
        self.callback = callback
        self.number = number  # in the order in which they came
        self.key: Key = (LEAST_URGENT, 0.0, 0)  # of itself, or of the most urgent that it keeps waiting
        if isinstance(callback, UrgentCallback):
            self.key = (callback.priority, callback.dynamic, callback.sub)
        self.before: list[_Waiting] = []  # whom it waits for
        self.after: list[_Waiting] = []  # whom it keeps waiting
        self.chains: list[Chain] = []
        self.objects: list[Handle] = []
        self.taken = False

    def waits_for(self, other: _Waiting) -> None:
        self.before.append(other)
        other.after.append(self)


class _Thing:
    """An object that waiting callbacks are about."""

    __slots__ = ("gate", "since", "waiting")

    def __init__(self) -> None:
        self.gate: _Waiting | None = None  # its last discovery or removal
        self.since: list[_Waiting] = []  # what is about it and came later
        self.waiting = 0


class LastMile:
    """Only whoever takes callbacks uses this; others go on to append to the inbox."""

    def __init__(self) -> None:
        self.waiting = 0
        self._arrived = 0
        self._ready: list[tuple[Key, int, _Waiting]] = []
        self._last: dict[Chain, _Waiting] = {}  # of each chain
        self._things: dict[Handle, _Thing] = {}

    def take(self, inbox: deque[Callback]) -> Callback | None:
        """The next callback: of those that wait here and of those in the inbox, up to the first fence."""
        while inbox and inbox[0].method in MOVABLE:
            self._add(inbox.popleft())
        if self.waiting:
            return self._take()
        return inbox.popleft() if inbox else None

    def clear(self) -> None:
        self.waiting = 0
        self._ready.clear()
        self._last.clear()
        self._things.clear()

    def _add(self, callback: Callback) -> None:
        self._arrived += 1
        self.waiting += 1
        found = _Waiting(callback, self._arrived)
        found.chains = list(dict.fromkeys(_chains(callback)))
        for chain in found.chains:
            last = self._last.get(chain)
            if last is not None:
                found.waits_for(last)
            self._last[chain] = found
        found.objects = list(dict.fromkeys(_objects(callback)))
        for handle in found.objects:
            self._about(found, handle, callback.method in _COMING)
        if found.before:
            self._bequeath(found)
        else:
            self._is_ready(found)

    def _bequeath(self, found: _Waiting) -> None:
        """Those it waits for are as urgent as it is."""
        key = found.key
        heirs = list(found.before)
        while heirs:
            heir = heirs.pop()
            if key < heir.key:
                heir.key = key
                if heir.before:
                    heirs.extend(heir.before)
                else:
                    self._is_ready(heir)

    def _about(self, found: _Waiting, handle: Handle, coming: bool) -> None:
        thing = self._things.get(handle)
        if thing is None:
            thing = self._things[handle] = _Thing()
        if thing.gate is not None and not thing.gate.taken:
            found.waits_for(thing.gate)
        if coming:
            for one in thing.since:
                if not one.taken:
                    found.waits_for(one)
            thing.since = []
            thing.gate = found
        else:
            if len(thing.since) > 2 * thing.waiting + 8:
                thing.since = [one for one in thing.since if not one.taken]
            thing.since.append(found)
        thing.waiting += 1

    def _is_ready(self, found: _Waiting) -> None:
        heappush(self._ready, (found.key, found.number, found))

    def _take(self) -> Callback:
        found = heappop(self._ready)[2]
        while found.taken:
            found = heappop(self._ready)[2]
        found.taken = True
        self.waiting -= 1
        for chain in found.chains:
            if self._last[chain] is found:
                del self._last[chain]
        for handle in found.objects:
            thing = self._things[handle]
            thing.waiting -= 1
            if not thing.waiting:
                del self._things[handle]
        for one in found.after:
            one.before.remove(found)
            if not one.before:
                self._is_ready(one)
        return found.callback


def _chains(callback: Callback) -> Iterator[Chain]:
    """What it keeps its place in, behind the last one that came before."""
    method = callback.method
    if method in _COMING:
        yield from ((_COME,), (_TIME,), (_CAUSAL,))
    elif method == CORRELATED:
        for event in _events(callback):
            delivery = delivery_from(event.method, event.arguments)
            if delivery is not None:
                yield _chain(delivery, event.order, 0)
    elif callback.delivery is not None:
        if isinstance(callback, UrgentCallback):
            yield _chain(callback.delivery, callback.order, callback.priority)
        else:
            yield _chain(callback.delivery, None, 0)


def _chain(delivery: Delivery, order: OrderType | None, priority: int) -> Chain:
    stamp = delivery.stamp
    if stamp is not None and stamp.received is _TIMESTAMP:
        return (_TIME,)
    if order is not _RECEIVE and order is not _PRIORITY:
        return (_CAUSAL,)
    equal = priority if order is _PRIORITY else 0
    if isinstance(delivery, Reflection):
        return delivery.instance, order, equal
    if isinstance(delivery, (DeliveredInteraction, DeliveredDirectedInteraction)):
        return delivery.interaction_class, delivery.producer, order, equal
    return (_CAUSAL,)


def _objects(callback: Callback) -> Iterator[Handle]:
    """The objects that a callback is about."""
    if callback.method == CORRELATED:
        for event in _events(callback):
            delivery = delivery_from(event.method, event.arguments)
            about = None if delivery is None else delivery.object_instance()
            if about is not None:
                yield about
    elif callback.delivery is not None:
        about = callback.delivery.object_instance()
        if about is not None:
            yield about
    elif callback.method in _COMING:
        yield checked(ObjectInstanceHandle, callback.arguments[0])


def _events(callback: Callback) -> tuple[CorrelatedEvent, ...]:
    """The messages of a group."""
    return checked(tuple, callback.arguments[1])
