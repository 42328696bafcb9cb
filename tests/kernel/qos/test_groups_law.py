"""Issue 7, item 7: which groups a federate gets, against correlation as its definition has it (`channel.reference`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.reference import Occurrence, pushes
from support.federation import Federation, federation
from weft import heard
from weft.channel import Dependency, all_of, any_of, on

CLASSES = ("Event", "Event.Fire", "Event.Hit", "Command")
TYPES = {name: 16 + place for place, name in enumerate(CLASSES)}
SENDERS = ("", "federate 0", "federate 2")
SOURCES = {"": 0, "federate 0": 1, "federate 2": 3}

LEAVES = st.tuples(st.sampled_from(CLASSES), st.sampled_from(SENDERS))
TREES: Any = st.recursive(
    LEAVES.map(lambda leaf: ("leaf", leaf)),
    lambda below: st.tuples(st.sampled_from(["all", "any"]), st.lists(below, min_size=1, max_size=3)),
    max_leaves=6,
)
SENT = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from([0, 2])), max_size=14)


def as_asked(f: Federation, tree: Any) -> Dependency:
    word, content = tree
    if word == "leaf":
        return heard(f.interaction(content[0]), sender=content[1])
    parts = [as_asked(f, part) for part in content]
    return all_of(*parts) if word == "all" else any_of(*parts)


def as_defined(tree: Any) -> Dependency:
    """A class stands for those below it: for the definition, for any of them."""
    word, content = tree
    if word == "leaf":
        name, sender = content
        below = [TYPES[one] for one in CLASSES if one == name or one.startswith(f"{name}.")]
        return any_of(*[on(kind, SOURCES[sender]) for kind in below])
    parts = [as_defined(part) for part in content]
    return all_of(*parts) if word == "all" else any_of(*parts)


@pytest.fixture(scope="module")
def f() -> Iterator[Federation]:
    with federation(3) as made:
        for name in CLASSES:
            for i in (0, 2):
                made.rti[i].publish_interaction_class(made.interaction(name))
            made.rti[1].subscribe_interaction_class(made.interaction(name))
        yield made


@settings(max_examples=60)
@given(tree=TREES, sent=SENT)
def test_groups_are_those_of_the_definition(f: Federation, tree: Any, sent: list[tuple[str, int]]) -> None:
    """One callback for each push of the definition, with the same messages; what a group waits for does not come by itself, and
    what it does not wait for does."""
    number = f.rti[1].correlate(as_asked(f, tree))
    for place, (name, who) in enumerate(sent):
        f.rti[who].send_interaction(f.interaction(name), {}, b"%d" % place)
    calls = f.take(1)
    f.rti[1].cancel_correlation(number)
    history = [Occurrence(1 + who, TYPES[name]) for name, who in sent]
    groups = [
        [int(event.arguments[2]) for event in args[1]]
        for method, args in calls
        if method == "receive_correlation"
    ]
    assert groups == pushes([as_defined(tree)], history)
    single = [int(args[2]) for method, args in calls if method == "receive_interaction"]
    taken = {at for leaf in _leaves(tree) for push in pushes([as_defined(leaf)], history) for at in push}
    assert single == [place for place in range(len(sent)) if place not in taken]


def _leaves(tree: Any) -> Iterator[Any]:
    word, content = tree
    if word == "leaf":
        yield tree
    else:
        for part in content:
            yield from _leaves(part)
