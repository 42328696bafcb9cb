"""The group by itself (ordering/group.py) and its stamps in bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.ordering.group import CausalGroup, GroupStamp
from weft.ordering.group_tags import plain_tag, split_tag, write_stamp, write_text_stamp
from weft.ordering.table_tags import MARK
from weft.ordering.tables import ID_SIZE

A, B, C = (bytes([number]) * ID_SIZE for number in (1, 2, 3))
identities = st.binary(min_size=ID_SIZE, max_size=ID_SIZE)
numbers = st.integers(1, 1 << 40)
stamps = st.builds(
    GroupStamp,
    identities,
    numbers,
    st.dictionaries(identities, numbers, max_size=5).map(lambda pairs: tuple(pairs.items())),
    st.booleans(),
)
tags = st.one_of(
    st.binary(),
    st.builds(lambda stamp, rest: write_stamp(stamp) + rest, stamps, st.binary(max_size=5)),
    st.builds(lambda stamp, rest: write_text_stamp(stamp) + rest, stamps, st.binary(max_size=5)),
    st.binary(max_size=20).map(lambda rest: MARK + rest),
    st.text("&*0123456789abcdef.,+", max_size=30).map(str.encode),
)


@given(stamps, tags)
def test_a_tag_comes_back_as_it_was(stamp: GroupStamp, tag: bytes) -> None:
    """S0-10, in both forms; also if it looks like a stamp itself."""
    assert split_tag(write_stamp(stamp) + tag) == (stamp, tag)
    assert split_tag(write_text_stamp(stamp) + tag) == (stamp, tag)
    assert split_tag(plain_tag(tag)) == (None, tag)


@given(st.binary())
def test_any_bytes_are_a_tag(data: bytes) -> None:
    """Federates without the middleware send what they like."""
    stamp, tag = split_tag(data)
    assert data.endswith(tag)
    if stamp is None and not data.startswith((MARK + b"\0", b"&&*&&")):
        assert tag == data


def test_the_text_has_the_fields_of_the_paper() -> None:
    """S0-10: time, causal vector, destinations, source, the user's tag."""
    text = write_text_stamp(GroupStamp(A, 7, ((B, 3),))) + b"user&tag"
    assert text.split(b"&", 4) == [b"7", B.hex().encode() + b".3", b"*", A.hex().encode(), b"user&tag"]


def known(own: bytes, *others: bytes) -> CausalGroup:
    made = CausalGroup(own)
    for other in others:
        made.begin(other, 0)
    return made


def test_hit_waits_for_fire() -> None:
    """S0-23: the observer gets the hit first, and holds it until it has the fire."""
    tank, target, observer = known(A, B, C), known(B, A, C), known(C, A, B)
    fire = tank.stamp()
    assert target.arrive(fire, "fire") == ["fire"]
    hit = target.stamp()
    assert observer.arrive(hit, "hit") == []
    assert observer.held == 1
    assert observer.arrive(fire, "fire") == ["fire", "hit"]


def test_a_note_stands_for_a_message_that_is_not_for_us() -> None:
    """S0-16, and its causes still come first."""
    first, second, third, us = known(A, B, C), known(B, A, C), known(C, A, B), known(b"us", A, B, C)
    cause = first.stamp()
    second.arrive(cause, "cause")
    filtered = second.stamp()
    third.arrive(cause, "cause")
    third.arrive(filtered, "filtered")
    effect = third.stamp()
    assert effect.causes == ((B, 1),)  # B's message stands for A's
    assert us.arrive(effect, "effect") == []
    assert us.note(filtered) == []
    assert us.arrive(cause, "cause") == ["cause", "effect"]


def test_a_message_in_parts_is_done_when_its_note_has_come() -> None:
    """Two transportations, two callbacks: what follows waits for both."""
    sender, other, us = known(A, B, C), known(B, A, C), known(C, A, B)
    update = sender.stamp(part=True)
    other.arrive(update, "all")
    other.note(update)
    answer = other.stamp()
    assert us.arrive(update, "one part") == ["one part"]
    assert us.arrive(answer, "answer") == []
    assert us.arrive(update, "the other part") == ["the other part"]
    assert us.note(update) == ["answer"]


def test_a_refused_send_leaves_nothing_behind() -> None:
    group = known(A, B)
    group.arrive(GroupStamp(B, 1, ()), "x")
    before = group.stamp()
    group.unstamp(before)
    assert group.stamp() == before


def test_what_waits_for_a_lost_message_is_released_after_its_past() -> None:
    """A lost message stands for what lies before it; others have its stamp."""
    us = known(C, A, B, b"lost")
    lost = GroupStamp(b"lost", 1, ((A, 1),))
    assert us.arrive(GroupStamp(B, 1, ((b"lost", 1),)), "effect") == []
    assert us.lose(b"lost", [lost]) == []
    assert us.arrive(GroupStamp(A, 1, ()), "cause") == ["cause", "effect"]
    assert us.arrive(lost, "late") == []
    assert us.counts.refused == 1


def test_nothing_is_kept_at_the_end() -> None:
    us = known(C, A, B)
    us.arrive(GroupStamp(B, 2, ((A, 1),)), "second")
    us.arrive(GroupStamp(B, 1, ((b"nobody", 9),)), "first")
    assert us.give_up() == ["first", "second"]
    assert us.held == 0
