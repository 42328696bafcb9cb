"""Correlation: conjunctions and disjunctions, nested, against the definition (S3-5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.mutants import CORRELATION, load
from channel.reference import Occurrence, pushes, pushes_clearing
from channel.strategies import dependencies, pairs
from weft import channel as real
from weft.channel.qos import Dependency, all_of, any_of, on
from weft.model.errors import ChannelError

A, B, C, D = 16, 17, 18, 19


def got(
    registrations: list[Dependency],
    history: list[tuple[int, int]],
    clear_all: bool = False,
    module: Any = real,
) -> list[list[int]]:
    """The places in the history of what a consumer was pushed."""
    channel = module.EventChannel("test", module.NO_DISPATCHING)
    found: list[list[int]] = []

    def take(events: Any) -> None:
        found.append([event.payload for event in events])

    qos = module.ConsumerQos(tuple(registrations), clear_all=clear_all)
    channel.connect_consumer(take, qos, now=0.0)
    supplier = channel.supply((0, 0))
    for at, (source, kind) in enumerate(history):
        supplier.push(module.Event(kind, source, at), now=0.0)
    return found


def of_type(*types: int) -> list[tuple[int, int]]:
    return [(1, kind) for kind in types]


several = st.lists(dependencies, min_size=1, max_size=3)
histories = st.lists(pairs, max_size=14)


@settings(max_examples=200, deadline=None)
@given(several, histories)
def test_correlation_is_what_the_definition_says(registrations: list[Dependency], history: list[Any]) -> None:
    """S3-5: for any dependencies and any events, the pushes are those of the definition."""
    assert got(registrations, history) == pushes(registrations, [Occurrence(*pair) for pair in history])


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(several, st.lists(pairs, max_size=25))
def test_correlation_is_what_the_definition_says_many_times(
    registrations: list[Dependency], history: list[Any]
) -> None:
    assert got(registrations, history) == pushes(registrations, [Occurrence(*pair) for pair in history])


@settings(max_examples=100, deadline=None)
@given(several, histories)
def test_clearing_all_is_a_new_beginning_with_every_push(
    registrations: list[Dependency], history: list[Any]
) -> None:
    """S3-5: the option that TAO has no choice about."""
    assert got(registrations, history, clear_all=True) == pushes_clearing(
        registrations, [Occurrence(*pair) for pair in history]
    )


@settings(max_examples=60, deadline=None)
@given(several, histories)
def test_registrations_are_a_disjunction(registrations: list[Dependency], history: list[Any]) -> None:
    """S3-4: several registrations are one any_of of them."""
    assert got(registrations, history) == got([any_of(*registrations)], history)


@settings(max_examples=60, deadline=None)
@given(dependencies, histories)
def test_repetition_changes_nothing(dependency: Dependency, history: list[Any]) -> None:
    """A dependency is a condition, not a count: twice the same is the same."""
    expected = got([dependency], history)
    assert got([dependency, dependency], history) == expected
    assert got([all_of(dependency, dependency)], history) == expected
    assert got([all_of(any_of(dependency))], history) == expected


def test_a_conjunction_is_one_push_with_all_events_in_order_of_arrival() -> None:
    """S3-5 [V]."""
    assert got([all_of(on(A), on(B), on(C))], of_type(C, A, B)) == [[0, 1, 2]]


def test_the_first_is_kept() -> None:
    """S3-5 [V]: a satisfied conjunct ignores further events until its group fires."""
    assert got([all_of(on(A), on(B))], of_type(A, A, A, B, B, A)) == [[0, 3], [4, 5]]


def test_only_the_group_that_fired_is_cleared() -> None:
    """S3-5 [!]: OR(AND(a,b),AND(c,d)), firing a,b keeps a pending c; with TAO's rule it is thrown away."""
    pair_of_pairs: list[Dependency] = [any_of(all_of(on(A), on(B)), all_of(on(C), on(D)))]
    assert got(pair_of_pairs, of_type(C, A, B, D)) == [[1, 2], [0, 3]]
    assert got(pair_of_pairs, of_type(C, A, B, D), clear_all=True) == [[1, 2]]
    separate: list[Dependency] = [all_of(on(A), on(B)), all_of(on(C), on(D))]
    assert got(separate, of_type(C, A, B, D)) == [[1, 2], [0, 3]]


def test_one_event_is_one_push() -> None:
    """S3-4: an event that makes several registrations fire comes once, with all that fired."""
    assert got([on(A), on(), on(0, 1)], of_type(A)) == [[0]]
    assert got([all_of(on(A), on(B)), all_of(on(A), on(C))], of_type(C, B, A)) == [[0, 1, 2]]


def test_a_nested_group_that_did_not_fire_keeps_what_it_has() -> None:
    """The outer group is satisfied by D; B waits on for C."""
    nested: list[Dependency] = [all_of(on(A), any_of(all_of(on(B), on(C)), on(D)))]
    assert got(nested, of_type(B, A, D, A, C)) == [[1, 2], [0, 3, 4]]


@pytest.mark.parametrize("name", CORRELATION)
def test_a_wrong_channel_is_found_out(name: str) -> None:
    """The law above fails for each of these defects in the real code."""
    mutant = load(name)
    shapes: list[list[Dependency]] = [
        [any_of(all_of(on(A), on(B)), all_of(on(C), on(D)))],
        [all_of(on(A), on(B))],
        [all_of(on(A), any_of(all_of(on(B), on(C)), on(D)))],
        [all_of(on(A), on())],
        [on(A), on(0, 1), all_of(on(A), on(B))],
        [all_of(on(A), all_of(on(B), on(C)))],
        [any_of(all_of(on(A), on(B)), all_of(on(A), on(C)))],
    ]
    orders = [
        of_type(*kinds)
        for kinds in ((C, A, B, D), (A, A, B, B), (B, A, D, A, C), (B, A, A, B), (B, C, A, A), (C, B, A))
    ]
    assert any(
        got(written(mutant, shape), order, module=mutant)
        != pushes(shape, [Occurrence(*pair) for pair in order])
        for shape in shapes
        for order in orders
    )


def written(module: Any, registrations: list[Dependency]) -> list[Any]:
    """The same dependencies in the words of another module."""

    def again(part: Any) -> Any:
        if hasattr(part, "parts"):
            word = module.all_of if type(part).__name__ == "AllOf" else module.any_of
            return word(*[again(below) for below in part.parts])
        return module.on(part.type, part.source)

    return [again(part) for part in registrations]


def test_an_unchanged_channel_is_not_found_out() -> None:
    """The way mutants are made does not itself change anything."""
    same = load("")
    shape: list[Dependency] = [any_of(all_of(on(A), on(B)), all_of(on(C), on(D)))]
    assert got(written(same, shape), of_type(C, A, B, D), module=same) == [[1, 2], [0, 3]]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: all_of(), "all_of() is empty"),
        (lambda: any_of(), "any_of() is empty"),
        (lambda: all_of(A), "is no dependency"),  # type: ignore[arg-type]
        (lambda: real.interval(-1.0), "an interval must be longer than 0"),
        (lambda: real.interval(float("nan")), "an interval must be longer than 0"),
        (lambda: real.deadline(0), "a deadline must be longer than 0"),
        (lambda: real.deadline("1"), "a deadline is a number of seconds"),  # type: ignore[arg-type]
        (lambda: on(-1), "an event type is a whole number"),
        (lambda: on(True), "an event type is a whole number"),
        (lambda: on(5), "is a designator of the channel"),
        (lambda: on(A, -2), "a source is a whole number"),
        (lambda: real.publishes(), "publishes nothing"),
        (lambda: real.publishes((1, 3)), "is a designator"),
    ],
)
def test_nonsense_is_refused_when_it_is_written(make: Any, words: str) -> None:
    """S3-3: who wrote it, gets the error."""
    with pytest.raises(ChannelError) as caught:
        make()
    assert words in str(caught.value)


def test_what_was_put_together_by_hand_is_refused_when_it_is_registered() -> None:
    """And nothing is left behind."""
    channel = real.EventChannel("test")
    deep: Dependency = on(A)
    for _ in range(70):
        deep = all_of(deep)
    from weft.channel.qos import AllOf, On

    for wrong in (AllOf(()), On(3), On(A, -1), deep):
        with pytest.raises(ChannelError):
            channel.consume(print, on(A), wrong, now=0.0)
    assert channel.wanted() == frozenset()
    assert channel.consumers() == []
