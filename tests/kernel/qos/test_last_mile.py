"""Issue 7, item 7: the order in which a federate takes what waits for it, against the relations as
docs/explanation/urgency.md has them."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from weft import OrderType
from weft.kernel import LEAST_URGENT, Callback, LastMile, UrgentCallback
from weft.model.deliveries import Removal, delivery_from
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.records import CorrelatedEvent
from weft.model.time import HLAinteger64Time

RECEIVE, TIMESTAMP, PRIORITY = OrderType.RECEIVE, OrderType.TIMESTAMP, OrderType.PRIORITY
WAY = TransportationTypeHandle.of(1)
HEAR, REFLECT, DIRECTED = "receive_interaction", "reflect_attribute_values", "receive_directed_interaction"
DISCOVER, REMOVE, GROUP = "discover_object_instance", "remove_object_instance", "receive_correlation"

# --- callbacks ----------------------------------------------------------------------------------------------------

ORDERS = st.sampled_from([RECEIVE, RECEIVE, TIMESTAMP, PRIORITY, OrderType.CAUSAL, OrderType.TOTAL, None])
SENDERS = st.integers(1, 2).map(FederateHandle.of)
OBJECTS = st.integers(1, 2).map(ObjectInstanceHandle.of)
CLASSES = st.integers(1, 2).map(InteractionClassHandle.of)


def stamp(order: OrderType | None) -> tuple[Any, ...]:
    return (HLAinteger64Time(1), order, order, None) if order is TIMESTAMP else ()


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, tuple[Any, ...], OrderType | None]:
    method = draw(st.sampled_from([HEAR, HEAR, REFLECT, DIRECTED]))
    order = draw(ORDERS)
    if method == HEAR:
        fixed: tuple[Any, ...] = (draw(CLASSES), {ParameterHandle.of(1): b""}, b"", WAY, draw(SENDERS), None)
    elif method == REFLECT:
        fixed = (draw(OBJECTS), {AttributeHandle.of(1): b""}, b"", WAY, draw(SENDERS), None)
    else:
        fixed = (draw(CLASSES), draw(OBJECTS), {}, b"", WAY, draw(SENDERS))
    return method, (*fixed, *stamp(order)), order


@st.composite
def callbacks(draw: st.DrawFn) -> Callback:
    what = draw(st.integers(0, 19))
    if what == 0:
        return Callback(1, "time_advance_grant", (HLAinteger64Time(1),))
    if what < 3:
        found = (draw(OBJECTS), ObjectClassHandle.of(1), "name", FederateHandle.of(1))
        return Callback(1, DISCOVER, found)
    if what < 5:
        return Callback(1, REMOVE, (), 0, Removal(draw(OBJECTS), b"", FederateHandle.of(1), None))
    priority, dynamic, sub = draw(
        st.tuples(
            st.sampled_from([0, 1, 2, LEAST_URGENT]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1)
        )
    )
    if what == 5:
        events = [
            CorrelatedEvent(method, InteractionClassHandle.of(1), given, order)
            for method, given, order in draw(st.lists(messages(), min_size=1, max_size=3))
        ]
        timeout = CorrelatedEvent("timeout", None, (1.0, 1.0, 0))
        return UrgentCallback(1, GROUP, (7, (*events, timeout)), priority, None, dynamic, sub)
    if what == 6:
        return UrgentCallback(1, "deadline_missed", ({},), priority, RECEIVE, dynamic, sub)
    method, given, order = draw(messages())
    if what == 7:
        return Callback(1, method, (), 0, delivery_from(method, given))  # nothing is known of it
    return urgent(method, given, priority, order, dynamic, sub)


def urgent(
    method: str,
    given: tuple[Any, ...],
    priority: int,
    order: OrderType | None,
    dynamic: float = 0.0,
    sub: int = 0,
) -> UrgentCallback:
    return UrgentCallback(1, method, (), priority, order, dynamic, sub, delivery=delivery_from(method, given))


# --- the relations, as they are written down ------------------------------------------------------------------------

Part = tuple[str, tuple[Any, ...], OrderType | None, int]


def parts(callback: Callback) -> list[Part]:
    """The messages of a callback, or itself."""
    if callback.method == GROUP:
        events: Any = callback.arguments[1]
        return [(e.method, e.arguments, e.order, 0) for e in events if e.method != "timeout"]
    order = callback.order if isinstance(callback, UrgentCallback) else None
    priority = callback.priority if isinstance(callback, UrgentCallback) else 0
    return [(callback.method, callback.arguments, order, priority)]


def is_fence(callback: Callback) -> bool:
    return callback.method == "time_advance_grant"


def kind_of(part: Part) -> Any:
    """Which order a message is in, as far as that is known."""
    method, given, order, _ = part
    if method in (DISCOVER, REMOVE, "deadline_missed"):
        return None
    if len(given) > 8 and given[8] is TIMESTAMP:
        return TIMESTAMP
    return order if order in (RECEIVE, PRIORITY) else OrderType.CAUSAL


def about(part: Part) -> Any:
    method, given, _, _ = part
    if method in (DISCOVER, REMOVE, REFLECT):
        return given[0]
    return given[1] if method == DIRECTED else None


def stream(part: Part) -> Any:
    method, given, _, priority = part
    kind = kind_of(part)
    if kind not in (RECEIVE, PRIORITY):
        return None
    equal = priority if kind is PRIORITY else 0
    if method == REFLECT:
        return REFLECT, given[0], kind, equal
    return given[0], given[4 if method == HEAR else 5], kind, equal


def parts_related(x: Part, y: Part) -> bool:
    kinds = {kind_of(x), kind_of(y)}
    coming = [part[0] in (DISCOVER, REMOVE) for part in (x, y)]
    if all(coming):
        return True
    if any(coming):
        return bool(kinds & {TIMESTAMP, OrderType.CAUSAL}) or (about(x) is not None and about(x) == about(y))
    if kinds in ({TIMESTAMP}, {OrderType.CAUSAL}):
        return True
    return stream(x) is not None and stream(x) == stream(y)


def related(x: Callback, y: Callback) -> bool:
    if is_fence(x) or is_fence(y):
        return True
    return any(parts_related(one, other) for one in parts(x) for other in parts(y))


def key(callback: Callback) -> tuple[int, float, int]:
    if isinstance(callback, UrgentCallback):
        return callback.priority, callback.dynamic, callback.sub
    return LEAST_URGENT, 0.0, 0


def most_urgent(waiting: list[Callback]) -> Callback:
    """Of those up to the first fence that no other has to go before; of equals the first to come.

    Each is as urgent as the most urgent of those that it keeps waiting, directly or not.
    """
    if is_fence(waiting[0]):
        return waiting[0]
    fences = [place for place, one in enumerate(waiting) if is_fence(one)]
    near = waiting[: fences[0]] if fences else waiting
    urgent = [key(one) for one in near]
    for place in reversed(range(len(near))):
        behind = [later for later in range(place + 1, len(near)) if related(near[place], near[later])]
        urgent[place] = min([urgent[place], *[urgent[later] for later in behind]])
    free = [
        place for place, one in enumerate(near) if not any(related(before, one) for before in near[:place])
    ]
    return near[min(free, key=lambda place: urgent[place])]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(callbacks(), st.integers(0, 2)), max_size=24))
def test_what_waits_is_taken_by_urgency_as_far_as_orders_allow(script: list[tuple[Callback, int]]) -> None:
    """A permutation that keeps all relations, and of what may change places the most urgent first: exactly."""
    inbox: deque[Callback] = deque()
    mile = LastMile()
    waiting: list[Callback] = []
    for callback, takes in [*script, (None, len(script))]:
        if callback is not None:
            inbox.append(callback)
            waiting.append(callback)
        for _ in range(takes):
            taken = mile.take(inbox)
            if not waiting:
                assert taken is None
                continue
            expected = most_urgent(waiting)
            assert taken is expected
            waiting.remove(expected)
    assert (waiting, list(inbox), mile.waiting) == ([], [], 0)
    assert (mile._last, mile._things) == ({}, {})  # nothing is kept of what is gone


def test_an_alarm_passes_a_thousand_reports() -> None:
    inbox: deque[Callback] = deque()
    mile = LastMile()

    def hear(number: int, priority: int) -> UrgentCallback:
        given: tuple[Any, ...] = (InteractionClassHandle.of(number), {}, b"", WAY, FederateHandle.of(1), None)
        return urgent(HEAR, given, priority, RECEIVE)

    inbox.extend(hear(1, LEAST_URGENT) for _ in range(1000))
    first = mile.take(inbox)
    alarm = hear(2, 0)
    inbox.append(alarm)
    assert first is not None
    assert mile.take(inbox) is alarm
    assert mile.waiting == 999
