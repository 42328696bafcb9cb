"""Associations of regions with instances (9.6, 9.7): both sides of the book agree, whatever is associated and given up."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, bare
from weft.kernel.ddm import instance_regions
from weft.kernel.state.federation import Instance
from weft.kernel.state.region_state import OwnedRegion
from weft.model.handles import DimensionHandle, ObjectInstanceHandle, RegionHandle

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["associate", "associate", "unassociate", "give up", "clear"]),
        st.integers(0, 1),  # who
        st.sets(st.integers(0, 2), max_size=3),  # attributes
        st.sets(st.integers(0, 2), max_size=3),  # regions
    ),
    max_size=15,
)


@settings(max_examples=50)
@given(STEPS)
def test_a_region_counts_the_attributes_that_are_updated_with_it(steps: list[tuple[Any, ...]]) -> None:
    federation, members = bare(HERE, HERE)
    entry = federation.catalog.object_class_named("Vehicle")
    assert entry is not None
    dimension = DimensionHandle.of(1)
    regions = []
    for number in range(1, 4):
        region = OwnedRegion(
            RegionHandle.of(number), members[0].handle, (dimension,), {dimension: (0, number)}
        )
        region.commit(((0, number),))
        federation.ddm.regions[region.handle] = region
        regions.append(region)
    handle = ObjectInstanceHandle.of(1)
    instance = Instance(handle, "it", entry, {}, federation.knowledge({}), members[0].handle)
    held: set[tuple[int, int, int]] = set()  # who, attribute, region
    for what, who, attributes, chosen in steps:
        named = [list(entry.attributes)[a] for a in sorted(attributes)]
        pairs = [(named, [regions[r].handle for r in sorted(chosen)])]
        these = {(who, a, r) for a in attributes for r in chosen}
        if what == "associate":
            instance_regions.associate(federation, instance, members[who], pairs)
            held |= these
        elif what == "unassociate":
            instance_regions.unassociate(federation, instance, members[who], pairs)
            held -= these
        elif what == "give up":
            instance_regions.give_up(federation, instance, members[who], named)
            held = {one for one in held if one[0] != who or one[1] not in attributes}
        else:
            instance_regions.clear(federation, instance)
            held = set()
        for place, region in enumerate(regions):
            count = sum(one[2] == place for one in held)
            assert region.instances == ({handle: count} if count else {})
            assert region.extent is not None
            assert (region.handle in federation.ddm.updated.near(region.extent)) is bool(count)
        assert (instance.placement is not None) is bool(held)
