"""Payloads of events on their way to another process: what is written is read, and nothing else is."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.channel import Event, News
from weft.host.event_channel.parcels import event_head, news_body, read_event, read_news
from weft.host.event_channel.values import DEPTH, MOST, ValueReader, ValueRefused, write_number, write_value

keys = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.tuples(st.integers()),
)
values = st.recursive(
    st.one_of(keys, st.text(st.characters())),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
    ),
    max_leaves=20,
)
NODES = ("S1", "S2", "S3")
NUMBERS = {name: number for number, name in enumerate(NODES)}


def write(value: Any) -> bytes:
    out = bytearray()
    write_value(out, value)
    return bytes(out)


def alike(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one.items()), list(other.items()))
    return bool(one == other)


@settings(max_examples=60, deadline=None)
@given(values)
@example([0, 127, 128, -1, MOST, -MOST - 1, MOST // 2, -MOST // 2 - 1, 1 << 200, -(1 << 200)])
@example("\ud800")
def test_what_is_written_is_read(value: Any) -> None:
    data = write(value)
    reader = ValueReader(data)
    assert alike(reader.value(), value)
    assert reader.at == len(data)
    for end in range(min(len(data), 40)):
        with pytest.raises(ValueRefused):
            ValueReader(data[:end]).value()


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=40))
@example(b"\x09\x01\x07\x00\x00")  # a list as a key
@example(b"\x05\x01\xff")
@example(b"\x07" * 100)
@example(b"\x03" + b"\xff" * 12)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    reads: tuple[Callable[[], object], ...] = (
        lambda: ValueReader(data).value(),
        lambda: read_news(ValueReader(data), NODES),
        lambda: read_event(ValueReader(data), NODES, "S1"),
    )
    for read in reads:
        with contextlib.suppress(ValueRefused):
            read()


def test_floats_that_are_not_numbers_pass() -> None:
    found = ValueReader(write(math.nan)).value()
    assert isinstance(found, float)
    assert math.isnan(found)


class Colour(IntEnum):
    RED = 1


class Point(NamedTuple):
    x: int


class Text(str):
    pass


@pytest.mark.parametrize(
    "value", [Colour.RED, Point(1), Text("x"), {1, 2}, 1j, object, bytearray(b""), [len], {"a": ...}]
)
def test_what_could_not_arrive_as_what_it_is_is_refused(value: Any) -> None:
    with pytest.raises(ValueRefused, match=r"^a "):
        write(value)


def test_what_is_in_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueRefused, match=f"more than {DEPTH} deep"):
        write(endless)


numbers = st.integers(0, MOST)
patterns = st.frozensets(st.tuples(numbers, numbers), max_size=4)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(NODES), st.lists(st.sampled_from(NODES)), patterns, patterns, st.booleans())
def test_news_arrive_as_they_were(origin: str, path: list[str], added: Any, removed: Any, anew: bool) -> None:
    news = News(origin, tuple(path), added, removed, anew)
    assert read_news(ValueReader(news_body(news, NUMBERS)), NODES) == news


@settings(max_examples=50, deadline=None)
@given(numbers, numbers, st.floats(allow_nan=False), numbers, st.sampled_from(NODES), numbers, numbers)
def test_events_arrive_as_they_were(
    type: int, source: int, created: float, ttl: int, origin: str, boot: int, number: int
) -> None:
    event = Event(type, source, None, created, ttl, origin, boot, number, "S2")
    assert repr(read_event(ValueReader(event_head(event, NUMBERS)), NODES, "S2")) == repr(event)


def test_a_number_takes_as_few_bytes_as_it_can() -> None:
    for number, size in ((0, 1), (127, 1), (128, 2), (MOST, 9)):
        out = bytearray()
        write_number(out, number)
        assert len(out) == size
        assert ValueReader(bytes(out)).number() == number
