"""Tags in bytes and as text: what is written is what is read, and nothing else can be read (S0-10, S0-17)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ordering.cost import pairs
from ordering.network import Network
from ordering.orders import CausalOrder
from weft.model.errors import OrderingError
from weft.ordering import (
    Mses,
    Tag,
    decode_tag,
    encode_tag,
    encode_tags,
)
from weft.ordering.tags import ALIKE, GROUPS, ROWS, _encode_alike, _needed, _row_of_all
from weft.ordering.text_tags import encode_text, read_text


@st.composite
def tags(draw: st.DrawFn) -> Tag:
    """Any tag that a process could write, and some that none would."""
    size = draw(st.integers(2, 40))
    time = draw(st.lists(st.integers(0, 2**40), min_size=size, max_size=size))
    source = draw(st.integers(0, size - 1))
    time[source] += 1
    others = [k for k in range(size) if k != source]
    destinations = sorted(draw(st.sets(st.sampled_from(others), min_size=1)))
    senders = [k for k in range(size) if time[k]]
    rows: list[list[int]] = [[] for _ in range(size)]
    for k in draw(st.sets(st.sampled_from(others))):
        for sender in sorted(draw(st.sets(st.sampled_from(senders), max_size=6))):
            rows[k] += [sender, max(1, time[sender] - draw(st.sampled_from([0, 1, 2, 200])))]
    return Tag(draw(st.integers(0, 300)), source, time, destinations, rows)


@st.composite
def alike(draw: st.DrawFn) -> Tag:
    """Tags whose destinations have one row, each without the pair of its own."""
    tag = draw(tags())
    senders = [k for k in range(len(tag.time)) if tag.time[k]]
    one: list[int] = []
    for sender in sorted(draw(st.sets(st.sampled_from(senders), max_size=6))):
        one += [sender, max(1, tag.time[sender] - draw(st.sampled_from([0, 0, 0, 1, 200])))]
    for k in tag.destinations:
        tag.rows[k] = without(one, k)
    return tag


@st.composite
def split(draw: st.DrawFn, destinations: list[int]) -> list[list[int]]:
    """Destinations at nodes: some at the same one, or each at its own."""
    if draw(st.booleans()):
        return [[k] for k in destinations]
    nodes = draw(st.lists(st.integers(0, 3), min_size=len(destinations), max_size=len(destinations)))
    return [
        [k for k, at in zip(destinations, nodes, strict=True) if at == node] for node in sorted(set(nodes))
    ]


def without(row: list[int], process: int) -> list[int]:
    return [n for at in range(0, len(row), 2) if row[at] != process for n in row[at : at + 2]]


def fields(tag: Tag) -> tuple[object, ...]:
    return tag.view, tag.source, tag.time, tag.destinations, [list(row) for row in tag.rows]


def trimmed(tag: Tag, recipient: int) -> Tag:
    rows = [[] if k in tag.destinations and k != recipient else list(row) for k, row in enumerate(tag.rows)]
    return Tag(tag.view, tag.source, tag.time, tag.destinations, rows)


@given(tags(), st.binary(max_size=20))
def test_what_is_written_is_read(tag: Tag, user_tag: bytes) -> None:
    """In bytes and as text, to all and to one; a user's tag may have ampersands."""
    assert fields(decode_tag(encode_tag(tag))) == fields(tag)
    again, _, own = read_text(encode_text(tag, user_tag))
    assert (fields(again), own) == (fields(tag), user_tag)
    for to in tag.destinations[:3]:
        assert fields(decode_tag(encode_tag(tag, to))) == fields(trimmed(tag, to))
        assert fields(read_text(encode_text(tag, user_tag, to))[0]) == fields(trimmed(tag, to))
        assert tag.pairs_for([[to]]) == pairs(trimmed(tag, to))


@given(st.one_of(tags(), alike()), st.data())
def test_tags_for_several_nodes(tag: Tag, data: st.DataObject) -> None:
    """S0-17: each recipient finds its own row and those of all who are not addressed, in one tag for all or in its own."""
    groups = data.draw(split(tag.destinations))
    written = encode_tags(tag, groups)
    assert len(written) == len(groups)
    for recipients, one in zip(groups, written, strict=True):
        read = decode_tag(one)
        assert fields(read)[:4] == fields(tag)[:4]
        for k, row in enumerate(tag.rows):
            if k in recipients:
                assert without(read.rows[k], k) == without(row, k)
            elif k not in tag.destinations:
                assert read.rows[k] == row
    assert tag.pairs_for(groups) == sum(len(row) for one in groups for row in trimmed_to(tag, one)) // 2


def trimmed_to(tag: Tag, recipients: list[int]) -> list[list[int]]:
    return [[] if k in tag.destinations and k not in recipients else row for k, row in enumerate(tag.rows)]


@given(alike())
def test_one_tag_does_where_rows_are_alike(tag: Tag) -> None:
    """S0-17: all recipients share it, whole, unless one for each takes fewer bytes."""
    groups = [[k] for k in tag.destinations]
    written = encode_tags(tag, groups)
    apart = sum(len(encode_tag(tag, k)) for k in tag.destinations)
    if any(one is not written[0] for one in written):
        assert sum(map(len, written)) == apart
        return
    read = decode_tag(written[0])
    assert written[0][0] >= ALIKE or len(groups) == 1
    read.rows = [without(row, k) if k in tag.destinations else row for k, row in enumerate(read.rows)]
    assert fields(read) == fields(tag)


@given(st.one_of(tags(), alike()), st.data())
def test_no_way_to_write_the_tags_takes_fewer_bytes(tag: Tag, data: st.DataObject) -> None:
    """S0-17: trimmed for each node, grouped by message, whole for all, one row for all: the least of these is written."""
    groups = data.draw(split(tag.destinations))
    size = sum(map(len, encode_tags(tag, groups)))
    apart = [
        encode_tag(Tag(tag.view, tag.source, tag.time, tag.destinations, trimmed_to(tag, one)))
        for one in groups
    ]
    assert size <= sum(map(len, apart))
    assert size <= len(encode_tag(tag)) * len(groups)
    row = _row_of_all(tag)
    if row is not None and len(groups) > 1:
        assert size <= len(_encode_alike(tag, row, _needed(tag, [], False))) * len(groups)


def test_where_all_talk_to_all_one_tag_does() -> None:
    """Whatever has come in between: processes that broadcast have rows that are alike."""
    tags = [tag for tag, _ in Network(7, 8, "broadcast", plain=False, rows=False).run().tags]
    assert len(tags) > 50
    for tag in tags:
        assert len(set(encode_tags(tag, [[k] for k in tag.destinations]))) == 1


@given(st.one_of(tags(), alike()), st.data())
def test_changed_bytes_are_read_or_refused(tag: Tag, data: st.DataObject) -> None:
    """Nothing but an OrderingError, whatever comes; and what is read can be written."""
    written = bytearray(encode_tags(tag, [tag.destinations])[0])
    for _ in range(data.draw(st.integers(1, 3))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    _read(bytes(written[: data.draw(st.integers(0, len(written)))]))
    _read(bytes(written))


@given(st.binary(max_size=60))
@example(b"")
@example(b"\x00" * 9)
@example(b"\xff" * 30)
@example(b"\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f")
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    _read(data)


def _read(data: bytes) -> None:
    try:
        tag = decode_tag(data)
    except OrderingError:
        return
    assert fields(decode_tag(encode_tag(tag))) == fields(tag)
    assert max(map(len, tag.rows)) <= 2 * len(data)


@given(tags(), st.data())
def test_changed_text_is_read_or_refused(tag: Tag, data: st.DataObject) -> None:
    written = bytearray(encode_text(tag, b"user"))
    for _ in range(data.draw(st.integers(1, 3))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(
            st.sampled_from(b"0179&,;:.@x\n\xff")
        )
    try:
        again, _, user_tag = read_text(bytes(written))
    except OrderingError:
        return
    assert fields(read_text(encode_text(again, user_tag))[0]) == fields(again)


def test_the_example_of_the_paper() -> None:
    """S0-10, figure 3.3: from process 0 to 1 and 2, the user's tag last."""
    sender = Mses(0, 3)
    assert encode_text(sender.send([1, 2]), b"hello & goodbye") == b"1,0,0&&1,2&0&hello & goodbye"
    second = encode_text(sender.send([1, 2]), b"")
    assert second == b"2,0,0&1:0.1;2:0.1&1,2&0&"
    tag, _, user_tag = read_text(second)
    assert (tag.time, tag.rows, tag.destinations, tag.source) == ([2, 0, 0], [[], [0, 1], [0, 1]], [1, 2], 0)
    assert user_tag == b""


@pytest.mark.parametrize(
    "text, said",
    [
        (b"1,0&&1&0", "not a tag"),
        (b"1,0&&1&5&", "without its time"),
        (b"0,1&&1&0&", "without its time"),
        (b"1,0&&0&0&", "to itself"),
        (b"1,0,0&&2,1&0&", "do not rise"),
        (b"1,0&&9&0&", "too many"),
        (b"1,0&0:0.1&1&0&", "own source"),
        (b"1,0&1:0.2&1&0&", "does not know of"),
        (b"1,0&1:0.1;1:0.1&1&0&", "do not rise"),
    ],
)
def test_text_that_cannot_be(text: bytes, said: str) -> None:
    with pytest.raises(OrderingError, match=said):
        read_text(text)


@pytest.mark.parametrize(
    "data, said",
    [
        ("05 00 00 01 01 02 01 00", "form 5"),
        ("00 00 00 02 00 01 02 01 00", "without its time"),
        ("00 00 00 02 01 00 02 00 00", "to itself"),
        ("00 00 00 02 01 00 00 00", "to nobody"),
        ("00 00 00 02 01 00 02 05 00", "process 5 of 2"),
        ("00 00 00 02 01 00 03 08 00", "process 3 of 2"),
        ("00 00 00 02 01 00 02 01 01 00 01 00 00", "own source"),
        ("00 00 00 02 01 00 02 01 01 01 01 00 01", "before the first"),
        ("01 00 00 02 05 00 02 01 02 00 00 02 01 00 01 02 01", "two pairs of process 0 in row 1"),
        ("00 00 00 02 01 00 02 01 00 00", "1 bytes follow"),
        ("02 00 00 02 01 00 02 01 01 04", "process 2 of 2"),
        ("02 00 00 02 01 00 02 01 01 02", "before the first"),
        ("02 00 00 02 02 00 02 01 01 01 02", "before the first"),
        ("03 00 00 02 02 00 02 01 01 00 01 01 01 00 00", "two rows for process 1"),
        ("00 00 00 7f 01", "more than it has bytes for"),
        ("00 00 00 02 01", "more than it has bytes for"),
        ("00 00 00 02 01 80", "within a number"),
        ("00 ff ff ff ff ff ff ff ff ff ff 01", "more than 64 bits"),
    ],
)
def test_bytes_that_cannot_be(data: str, said: str) -> None:
    with pytest.raises(OrderingError, match=said):
        decode_tag(bytes.fromhex(data))


def test_the_smaller_form_is_written() -> None:
    """One message before many destinations is a group; rows of their own are rows."""
    size = 40
    shared = [[], *([0, 5] for _ in range(size - 1))]
    apart = [[], *([k, k + 1] for k in range(1, size))]
    time = [50] * size
    one_group = encode_tag(Tag(0, 0, time, [1], shared))
    rows = encode_tag(Tag(0, 0, time, [1], apart))
    assert (one_group[0], rows[0]) == (GROUPS, ROWS)
    assert len(one_group) < len(time) + 20 < len(rows)


def test_broadcast_destinations_are_bits() -> None:
    """Forty destinations in five bytes, and one in one."""
    many = encode_tag(Mses(0, 41).send(list(range(1, 41))))
    one = encode_tag(Mses(0, 41).send([40]))
    assert len(many) - len(one) == 5


def test_bytes_are_counted() -> None:
    order = CausalOrder(Mses(0, 3))
    tag = order.stamp([1, 2])
    sizes = [len(order.write(tag)), len(order.write(tag, 1))]
    assert (order.tag_bytes, order.tags_written) == (sum(sizes), 2)


def test_bytes_are_smaller_than_text() -> None:
    """Over a run: by more than half."""
    tags = [tag for tag, _ in Network(4, 8, "mixed", plain=False, rows=False).run().tags]
    assert 2 * sum(len(encode_tag(tag)) for tag in tags) < sum(len(encode_text(tag)) for tag in tags)
