"""Destinations from tables that are late and wrong (S0-12 … S0-16): members by themselves, against happened-before.

`test_middleware_law` runs the same above an RTI; here channels are as slow and tables as stale as can be.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordering.members import NO_ASKING, NO_NOTES, NO_ROWS, SURE, Model
from weft.ordering.group_tags import plain_tag, split_tag, write_stamp, write_text_stamp
from weft.ordering.member import MemberStamp
from weft.ordering.message import Tag
from weft.ordering.mses import Mses
from weft.ordering.tables import CausalTables, TableStamp, identity_of, process_of

CHANGES = {
    "subscriptions": ("declare", "declare"),
    "coming and going": ("declare", "join", "resign"),
    "crashes": ("declare", "join", "resign", "crash"),
}


@pytest.mark.parametrize("changes", CHANGES)
def test_nothing_out_of_order_stuck_or_lost(changes: str) -> None:
    """S0-16, S0-13, S0-14: a stale table neither blocks for ever nor leaves anything unprotected."""
    for seed in range(12):
        model = Model(seed)
        model.run(150, CHANGES[changes])
        assert not model.faults(), (seed, model.faults()[:3])


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_at_length(seed: int) -> None:
    model = Model(seed, filters=(0.0, 0.2, 0.6)[seed % 3])
    model.run(300, list(CHANGES.values())[seed % 3])
    assert not model.faults(), model.faults()[:3]


@pytest.mark.parametrize("defect", [NO_NOTES, NO_ASKING, NO_ROWS, SURE])
def test_each_cure_is_needed(defect: str) -> None:
    """Leaving one out shows in some of these runs; the runs do put the cures to the test."""
    assert any(_fails(defect, seed) for seed in range(60))


def _fails(defect: str, seed: int) -> bool:
    model = Model(seed, defect=defect)
    model.run(150, CHANGES["subscriptions"])
    return bool(model.faults())


# --- stamps ---------------------------------------------------------------------------------------------------


@st.composite
def table_stamps(draw: st.DrawFn) -> TableStamp:
    size = draw(st.integers(1, 6))
    time = draw(st.lists(st.integers(1, 1 << 30), min_size=size, max_size=size))
    source = draw(st.integers(0, size - 1))
    others = [one for one in range(size) if one != source]
    destinations = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    rows: list[list[int]] = [[] for _ in range(size)]
    for k in others:
        for process in sorted(draw(st.sets(st.integers(0, size - 1), max_size=3)) - {k}):
            rows[k] += [process, draw(st.integers(1, time[process]))]
    tag = Tag(draw(st.integers(0, 3)), source, time, sorted(destinations), rows)
    return TableStamp(identity_of(source), tag, draw(st.booleans()))


def _fields(stamp: MemberStamp | None) -> object:
    assert isinstance(stamp, TableStamp)
    tag = stamp.tag
    rows = [_without(row, k) for k, row in enumerate(tag.rows)]
    return stamp.part, tag.view, tag.source, tag.time, tag.destinations, rows


def _without(row: list[int], process: int) -> list[int]:
    """One row that stands for all may have a pair of the destination itself, which nobody looks at."""
    return [one for at in range(0, len(row), 2) if row[at] != process for one in row[at : at + 2]]


@given(table_stamps(), st.binary())
def test_a_tag_comes_back_as_it_was(stamp: TableStamp, tag: bytes) -> None:
    """S0-10: in both forms, also to nobody, and whatever the user's own tag is."""
    for written in (write_stamp(stamp), write_text_stamp(stamp)):
        found, rest = split_tag(written + tag)
        assert (_fields(found), rest) == (_fields(stamp), tag)
        assert split_tag(plain_tag(written + tag)) == (None, written + tag)


def test_the_text_is_that_of_the_figure() -> None:
    """S0-10, figure 3.3: from process 0 to 1 and 2; the fields are time, causal vector, destinations, source and tag."""
    members = [CausalTables(identity_of(one)) for one in range(3)]
    text = write_text_stamp(members[0].stamp(False, [1, 2])) + b"fire&move"
    assert text == b"1,0,0&&1,2&0&fire&move"
    assert re.fullmatch(rb"[^&]*&[^&]*&1,2&0&fire&move", text)


def test_numbers_of_processes_and_identities() -> None:
    """S0-15: a process is the number of its federate, from 0, and never given again."""
    assert [process_of(identity_of(one)) for one in (0, 1, 70000)] == [0, 1, 70000]


def test_a_refused_send_leaves_nothing_behind() -> None:
    member, clean = CausalTables(identity_of(0)), Mses(0, 3)
    first = member.stamp(False, [1, 2])
    member.unstamp(first)
    again = member.stamp(False, [1, 2])
    assert again.tag.time == first.tag.time == clean.send([1, 2]).time
    assert again.tag.rows == first.tag.rows
