"""Calls as of a logical time on the wire (S4-21): a field that others pass over, in none but such calls."""

from __future__ import annotations

import pytest

from weft.model.as_of import TIMED_SERVICES
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle, RegionHandle
from weft.model.time import HLAfloat64Time, HLAfloat64TimeFactory, HLAinteger64Time, HLAinteger64TimeFactory
from weft.wire.codec.calls import decode_call, encode_call

ATTRIBUTES = frozenset([AttributeHandle.of(3), AttributeHandle.of(4)])
REGIONS = frozenset([RegionHandle.of(5)])


def leading(service: str) -> tuple[object, ...]:
    """The arguments that it always has."""
    if service == "commit_region_modifications":
        return (REGIONS,)
    kind: object = ObjectClassHandle.of(2) if "object" in service else InteractionClassHandle.of(2)
    if service.endswith("with_regions"):
        return (kind, REGIONS if "interaction" in service else [(ATTRIBUTES, REGIONS)])
    return (kind, ATTRIBUTES) if "attributes" in service else (kind,)


@pytest.mark.parametrize("service", TIMED_SERVICES)
def test_a_time_there_and_back(service: str) -> None:
    form = TIMED_SERVICES[service]
    given = leading(service)
    assert len(given) == form.leading
    times = ((HLAinteger64Time(7), HLAinteger64TimeFactory()), (HLAfloat64Time(0.5), HLAfloat64TimeFactory()))
    for time, factory in times:
        whole = (*given, *form.between, time)
        number, payload = encode_call(service, whole)
        found = decode_call(payload, factory)
        assert (found.service, found.arguments) == (service, whole)
        # Who does not know the field reads the standard's call.
        plain = encode_call(service, given)
        assert plain[0] == number
        assert payload.endswith(time.encode())
        assert len(payload) > len(plain[1])
        assert decode_call(plain[1], factory).arguments == given


def test_what_is_not_by_default_stays() -> None:
    time = HLAinteger64Time(7)
    for service, between in (
        ("subscribe_object_class_attributes", ("Low", True)),
        ("subscribe_object_class_attributes", ("", False)),
        ("subscribe_object_class_attributes", ("Low", False)),
        ("subscribe_interaction_class", (False,)),
        ("subscribe_object_class_attributes_passively_with_regions", ("Low",)),
    ):
        whole = (*leading(service), *between, time)
        _, payload = encode_call(service, whole)
        assert decode_call(payload, HLAinteger64TimeFactory()).arguments == whole
