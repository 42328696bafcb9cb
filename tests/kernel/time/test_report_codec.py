"""What nodes tell each other of logical time, as bytes: what cannot be read is refused, and nothing worse comes of it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernel.state.time_state import FLUSH, Report
from weft.kernel.time.report_codec import (
    are_reports,
    pack_number,
    pack_report,
    unpack_number,
    unpack_report,
    unpack_reports,
)

REFUSALS = (struct.error, IndexError, ValueError)
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**400), 2**400)
REAL = st.floats(allow_nan=False)
LAWS = settings(max_examples=200, deadline=None)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Of a federation whose times are all whole, or all floating point."""
    times = draw(st.sampled_from([WHOLE, REAL]))
    bounds = st.tuples(times, st.integers(0, 1))
    return Report(
        draw(st.integers(1, 2**32 - 1)),
        draw(st.integers(0, FLUSH)),
        draw(times),
        draw(st.booleans()),
        draw(times),
        draw(times),
        draw(bounds),
        draw(st.none() | times),
        draw(bounds),
    )


@LAWS
@given(st.lists(reports(), max_size=4))
def test_reports_are_read_as_they_were_written(sent: list[Report]) -> None:
    """One behind the other, of any size; whether they are reports can be said without reading them."""
    data = b"".join(map(pack_report, sent))
    assert are_reports(data)
    assert unpack_reports(data) == tuple(sent)
    at = 0
    for one in sent:
        found, at = unpack_report(data, at)
        assert found == one
        assert type(found.time) is type(one.time)
    assert at == len(data)


@LAWS
@given(WHOLE | REAL, st.binary(max_size=3))
def test_a_number_says_where_it_ends(number: int | float, behind: bytes) -> None:
    data = behind + pack_number(number) + behind
    assert unpack_number(data, len(behind)) == (number, len(data) - len(behind))


@LAWS
@given(st.lists(reports(), min_size=1, max_size=2), st.data())
def test_damage_is_refused_or_read_as_reports(sent: list[Report], data: st.DataObject) -> None:
    """Cut short, or with another byte: never another exception, and what can be read is taken for reports."""
    written = bytearray(b"".join(map(pack_report, sent)))
    place = data.draw(st.integers(0, len(written) - 1))
    if data.draw(st.booleans()):
        written[place] = data.draw(st.integers(0, 255))
    else:
        del written[place:]
    told = are_reports(bytes(written))
    try:
        found = unpack_reports(bytes(written))
    except REFUSALS:
        return
    assert told
    assert b"".join(map(pack_report, found)) == bytes(written) or any(one.head is None for one in found)


@given(st.binary(max_size=120))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    told = are_reports(data)
    try:
        unpack_reports(data)
    except REFUSALS:
        return
    assert told


@pytest.mark.parametrize("data", [b"", b"\x03", pack_number(float("nan")), b"\x02\x00", b"\x02\x05\x01"])
def test_no_number(data: bytes) -> None:
    with pytest.raises(REFUSALS):
        unpack_number(data, 0)
