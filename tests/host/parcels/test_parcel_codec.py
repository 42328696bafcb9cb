"""Parcels as bytes: whatever nodes say to one another comes out as it went in, and nothing else comes out of any bytes."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.host.parcels.codec import ParcelError, decode_parcel, encode_parcel
from weft.interest import AttributeWish
from weft.kernel.ddm import matching
from weft.kernel.state import parcels
from weft.kernel.state.messages import DirectedInteraction, Interaction, Message, Update
from weft.kernel.state.parcels import Caller, Data
from weft.kernel.state.time_state import Report, View
from weft.kernel.time.report_codec import pack_report, unpack_reports
from weft.model import enums, errors, handles, records
from weft.model.deliveries import stamp_from
from weft.model.errors import RTIexception
from weft.model.handles import Handle
from weft.model.packed import PackedValues
from weft.model.records import Source
from weft.model.time import HLAfloat64Time, HLAinteger64Time
from weft.wire.codec.hot import shared_fields, write_values
from weft.wire.codec.packed import WireValues

HANDLES = sorted(Handle.__subclasses__(), key=lambda kind: kind.__name__)
ENUMS = [k for k in vars(enums).values() if isinstance(k, type) and issubclass(k, Enum) and k is not Enum]
ERRORS = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, RTIexception)]

names = st.text(max_size=12)
numbers = st.integers(0, 1 << 40)
blobs = st.binary(max_size=20)
any_handle = st.builds(
    lambda kind, number: kind.of(number), st.sampled_from(HANDLES), st.integers(0, 1 << 27)
)
odd_handle = st.builds(
    lambda kind, data: kind(data), st.sampled_from(HANDLES), blobs
)  # a federate made it up
times = st.builds(HLAfloat64Time, st.floats(0, 1e300)) | st.builds(HLAinteger64Time, st.integers(0, 1 << 62))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | names | blobs | times
leaves = (
    scalars
    | any_handle
    | odd_handle
    | st.sampled_from([member for kind in ENUMS for member in kind])
    | st.builds(Source, names, blobs)
    | st.builds(records.FederationExecutionInformation, names, names)
    | st.builds(records.RangeBounds, st.integers(), st.integers())
    | st.builds(AttributeWish, st.booleans(), names)
)
keys = names | any_handle | st.integers()
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.frozensets(any_handle, max_size=4)
        | st.frozensets(names, max_size=4)
    ),
    max_leaves=8,
)
federates = st.builds(handles.FederateHandle.of, st.integers(1, 1000))
callers = st.builds(Caller, names, numbers, numbers)
arguments = st.lists(values, max_size=4).map(tuple)
plain = st.recursive(
    scalars.filter(lambda v: not isinstance(v, (HLAfloat64Time, HLAinteger64Time))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.integers(), inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(names, plain, max_size=3)
exceptions = st.builds(lambda kind, text: kind(text), st.sampled_from(ERRORS), names)
calls = st.tuples(names, arguments)


def of(kind: type[Handle]) -> st.SearchStrategy[Any]:
    return st.builds(kind.of, st.integers(1, 1 << 27))


stamps = st.just(()) | st.tuples(
    times, st.just(enums.OrderType.RECEIVE), st.just(enums.OrderType.RECEIVE), st.none()
)


def message(kind: type[Handle], *, packed: bool) -> Any:
    given_values = st.dictionaries(of(kind), blobs, max_size=4)
    return given_values.map(pack) if packed else given_values


def pack(given_values: dict[Any, bytes]) -> WireValues:
    return WireValues(list(given_values), write_values(given_values), b"", b"")


ranges = st.tuples(st.integers(1, 9), st.integers(0, 1 << 32), st.integers(1, 1 << 32)).map(
    lambda r: (r[0], r[1], r[1] + r[2])
)
boxes = st.lists(ranges, max_size=3).map(lambda rows: tuple(number for row in rows for number in row))
extents = st.lists(boxes, max_size=3).map(tuple)


@st.composite
def data_parcels(draw: Any) -> Data:
    service = draw(
        st.sampled_from(["update_attribute_values", "send_interaction", "send_directed_interaction"])
    )
    update = service == "update_attribute_values"
    kind = handles.AttributeHandle if update else handles.ParameterHandle
    given_values = draw(message(kind, packed=draw(st.booleans()) and service != "send_directed_interaction"))
    tag, stamp = draw(blobs), draw(stamps)
    way = draw(of(handles.TransportationTypeHandle))
    instance = draw(of(handles.ObjectInstanceHandle))
    cls = draw(of(handles.InteractionClassHandle))
    regions = draw(st.booleans())  # sent with regions
    sender = draw(federates)
    sent: Message
    if update:
        placed = st.lists(st.tuples(of(handles.AttributeHandle), extents), min_size=1, max_size=3).map(tuple)
        where = matching.from_carried(draw(placed)) if regions else None
        sent = Update(sender, instance, given_values, tag, where, stamp_from(stamp))
    elif service == "send_interaction":
        at = matching.from_boxes(draw(extents)) if regions else None
        sent = Interaction(sender, cls, given_values, tag, way, at, stamp_from(stamp))
    else:
        sent = DirectedInteraction(sender, cls, instance, given_values, tag, way, stamp_from(stamp))
    sent.number = draw(st.integers(0, 1 << 61))
    return Data(draw(names), draw(names), draw(numbers), sent, draw(st.none() | federates))


@st.composite
def reports(draw: Any) -> Report:
    """All times of one kind, as in any federation; integers may be beyond 64 bits: a time and a lookahead, added."""
    numbers = (
        st.floats(0, allow_nan=False)
        if draw(st.booleans())
        else st.integers(0, 1 << draw(st.sampled_from([5, 65])))
    )
    bounds = st.tuples(numbers, st.integers(0, 1))
    time, requested, lookahead, head = draw(st.tuples(numbers, numbers, numbers, st.none() | numbers))
    return Report(
        draw(st.integers(1, (1 << 32) - 1)),
        draw(st.integers(0, 5)),
        time,
        draw(st.booleans()),
        requested,
        lookahead,
        draw(bounds),
        head,
        draw(bounds),
    )


any_times = st.floats(allow_nan=False) | st.integers()
any_bounds = st.none() | st.tuples(any_times, st.integers(0, 1))
time_parcels = st.builds(
    parcels.TimeReport,
    names,
    names,
    numbers,
    numbers,
    st.lists(reports(), max_size=3).map(tuple),
    st.lists(st.tuples(names, any_times), max_size=3).map(tuple),
) | st.builds(
    parcels.TimeBound,
    names,
    names,
    numbers,
    numbers,
    st.builds(View, any_bounds, st.integers(0, 1 << 32), any_bounds),
    st.lists(reports(), max_size=3).map(lambda found: b"".join([pack_report(one) for one in found])),
    st.booleans(),
    st.none() | any_times,
)
optional_federates = st.none() | federates
optional_callers = st.none() | callers
control = st.one_of(
    st.builds(parcels.Request, names, optional_callers, optional_federates, names, arguments, names),
    st.builds(parcels.Commit, names, numbers, optional_callers, optional_federates, names, arguments),
    st.builds(
        parcels.Answer, callers, values, st.none() | exceptions, st.lists(calls, max_size=2).map(tuple)
    ),
    st.builds(parcels.Welcome, names, names, names, numbers, tables),
    st.builds(parcels.Claim, names, names, optional_callers),
    st.builds(parcels.Locate, names, callers),
    st.builds(parcels.Release, names, callers),
    st.builds(parcels.Inform, names, names, numbers, federates, names, arguments),
    st.builds(parcels.Mark, names, names, numbers),
    st.builds(parcels.Share, names, names, numbers, st.dictionaries(st.integers(0, 99), plain, max_size=3)),
    st.builds(parcels.Hello, st.lists(st.tuples(names, names, names), max_size=3).map(tuple)),
    st.builds(parcels.Left, names),
    st.builds(parcels.Dissolve, names, names, names),
    st.builds(parcels.Unable, names, names, names),
)


def comparable(value: Any) -> Any:
    """With its types; exceptions and packed values by what they hold."""
    if isinstance(value, Exception):
        return type(value), str(value)
    if isinstance(value, (Data, parcels.Ordered)):
        return type(value), [comparable(item) for item in value.fields()]
    if isinstance(value, Message):
        return type(value), [comparable(item) for item in value.key()], value.urgent, value.priority
    if isinstance(value, PackedValues):
        return value.handles, value.unpack()
    if isinstance(value, dict):
        return dict, [(comparable(key), comparable(item)) for key, item in value.items()]
    if isinstance(value, frozenset):
        return frozenset, value
    if isinstance(value, (tuple, list)):
        return type(value), [comparable(item) for item in value]
    return type(value), value


@settings(max_examples=400, deadline=None)
@given(control | data_parcels() | time_parcels, st.integers(0, 1 << 30))
def test_what_goes_in_comes_out(parcel: Any, boot: int) -> None:
    """decode(encode(p)) == p for all kinds of parcels."""
    found_boot, found = decode_parcel(encode_parcel(parcel, boot))
    assert found_boot == boot
    assert comparable(found) == comparable(parcel)


def test_every_parcel_is_covered() -> None:
    """Whoever adds a parcel adds its form: all classes of the module but `Caller` and `Invocation`, which are parts of others."""
    from weft.host.parcels.codec import _BY_KIND

    all_kinds = {k for k in vars(parcels).values() if isinstance(k, type)}
    assert {k for k in all_kinds if k.__module__ == "weft.kernel.state.parcels"} - {
        Caller,
        parcels.Invocation,
    } == {kind for kind in _BY_KIND if isinstance(kind, type)}


def read(data: bytes) -> None:
    """It is a parcel or an error, nothing else; and what is a parcel can be said again."""
    try:
        boot, parcel = decode_parcel(data)
    except ParcelError:
        return
    assert comparable(decode_parcel(encode_parcel(parcel, boot))[1]) == comparable(parcel)


@settings(max_examples=400, deadline=None)
@given(
    st.builds(lambda code, rest: bytes([code]) + rest, st.integers(0, 20), st.binary(max_size=60))
    | st.binary(max_size=30)
)
def test_any_bytes_are_a_parcel_or_one_error(data: bytes) -> None:
    read(data)


@settings(max_examples=400, deadline=None)
@given(control | data_parcels() | time_parcels, st.data())
def test_damaged_parcels_are_parcels_or_one_error(parcel: Any, data: Any) -> None:
    whole = bytearray(encode_parcel(parcel, 3))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    read(bytes(whole))
    read(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


@pytest.mark.parametrize(
    "value", [object(), bytearray(b"x"), print, type("Own", (tuple,), {})(), ValueError("x")]
)
def test_what_no_parcel_can_hold_is_refused(value: Any) -> None:
    """A closed set of types."""
    with pytest.raises(ParcelError, match="Request cannot be sent"):
        encode_parcel(parcels.Request("f", None, None, "s", (value,), ""), 1)


def test_packed_values_keep_their_bytes() -> None:
    """What came from the wire leaves as it came, and a served receiver splices its callback from it."""
    given_values = {handles.ParameterHandle.of(7): b"seven", handles.ParameterHandle.of(8): b""}
    cls = handles.InteractionClassHandle.of(3)
    sent = pack(given_values)
    way = handles.TransportationTypeHandle.of(1)
    message = Interaction(handles.FederateHandle.of(1), cls, sent, b"tag", way, None, None)
    _, found = decode_parcel(encode_parcel(Data("f", "e", 5, message), 1))
    got = found.message.values
    assert got.values == sent.values
    assert got.shared == shared_fields(cls, sent.values, b"tag")
    assert got.target == cls


@given(st.lists(reports(), max_size=5))
def test_whom_the_others_wait_for_comes_out_as_it_went_in(given_reports: list[Report]) -> None:
    """They stay packed until somebody asks who blocks."""
    found = unpack_reports(b"".join([pack_report(one) for one in given_reports]))
    assert comparable(found) == comparable(tuple(given_reports))


def test_a_time_that_nobody_has_set_is_zero_among_floating_point_times() -> None:
    unset = Report(1, 0, 0, False, 2.5, 0.5, (0, 0), None, (0, 0))
    assert unpack_reports(pack_report(unset)) == (unset,)
