"""Regions of three federates (clause 9) against boxes of plain numbers: what they are, who may do what, and who hears what."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, interaction_class, step_of
from support.small_fom import DIMENSION, LANES
from weft.kernel.ddm import matching
from weft.kernel.message import recipients
from weft.kernel.services import data_distribution, declaration
from weft.kernel.state.federation import Federation
from weft.model.errors import (
    InvalidRangeBound,
    InvalidRegion,
    RegionInUseForUpdateOrSubscription,
    RegionNotCreatedByThisFederate,
    RTIexception,
)
from weft.model.handles import DimensionHandle, RegionHandle
from weft.model.records import RangeBounds

WHOLE = (0, LANES)
OF_REGIONS = ("set", "commit", "delete", "subscribe", "unsubscribe")


class Box:
    """A region: its owner, what was set, what was committed, and if its owner subscribes with it."""

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.set = WHOLE
        self.committed: tuple[int, int] | None = None
        self.used = False


class Regions:
    def __init__(self) -> None:
        self.boxes: dict[RegionHandle, Box] = {}
        self.deleted: dict[RegionHandle, None] = {}
        self.plain: set[int] = set()  # who subscribes without a region

    def refusal(
        self, call: str, who: int, at: RegionHandle, low: int, high: int
    ) -> type[RTIexception] | None:
        box = self.boxes.get(at)
        if box is None:
            return InvalidRegion
        if box.owner != who:
            return RegionNotCreatedByThisFederate
        if call == "set":
            return None if 0 <= low < high <= LANES else InvalidRangeBound
        if call == "delete":
            return RegionInUseForUpdateOrSubscription if box.used else None
        return InvalidRegion if call == "subscribe" and box.committed is None else None

    def called(self, call: str, at: RegionHandle, low: int, high: int) -> None:
        """It was not refused."""
        box = self.boxes[at]
        if call == "set":
            box.set = (low, high)
        elif call == "commit":
            box.committed = box.set
        elif call == "delete":
            del self.boxes[at]
            self.deleted[at] = None
        else:
            box.used = call == "subscribe"

    def hear(self, sender: int, low: int, high: int) -> set[int]:
        """Who gets what is sent there."""
        near = {
            box.owner
            for box in self.boxes.values()
            if box.used and box.committed and max(low, box.committed[0]) < min(high, box.committed[1])
        }
        return (near | self.plain) - {sender}


def carried_out(federation: Federation, step: Any, call: str, at: RegionHandle, low: int, high: int) -> None:
    event = interaction_class(federation, "Event").handle
    if call == "set":
        data_distribution.set_range_bounds(step, at, lane(federation), RangeBounds(low, high))
    elif call == "commit":
        arguments: Any = data_distribution.prepare(federation, step.member, ([at],))
        data_distribution.commit_region_modifications(step, *arguments)
    elif call == "delete":
        data_distribution.delete_region(step, at)
    elif call == "subscribe":
        data_distribution.subscribe_interaction_class_with_regions(step, event, [at])
    else:
        data_distribution.unsubscribe_interaction_class_with_regions(step, event, [at])


def lane(federation: Federation) -> DimensionHandle:
    return federation.catalog.dimension_names[DIMENSION].handle


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_regions_are_boxes(chance: Random, steps: int) -> None:
    """Clauses 9.2 to 9.4, 9.10 to 9.12, 10.32: what was committed counts, not what was set; who subscribes without a region
    is everywhere; a region in use cannot be deleted."""
    federation, members = bare(HERE, HERE, HERE)
    entry = interaction_class(federation, "Event")
    model = Regions()
    for _ in range(steps):
        who, call = chance.randrange(3), chance.choice(OF_REGIONS)
        low, high = chance.randint(-1, LANES), chance.randint(0, LANES + 1)
        step = step_of(federation, members[who])
        if chance.random() < 0.1:
            if chance.random() < 0.5:
                declaration.subscribe_interaction_class(step, entry.handle)
                model.plain.add(who)
            else:
                declaration.unsubscribe_interaction_class(step, entry.handle)
                model.plain.discard(who)
            continue
        if len(model.boxes) < 3:
            model.boxes[data_distribution.create_region(step, [lane(federation)])] = Box(who)
        at = chance.choice([*model.boxes, *model.deleted][:4])
        if chance.random() < 0.8 and at in model.boxes:  # most are called by the owner
            who = model.boxes[at].owner
            step = step_of(federation, members[who])
        expected = model.refusal(call, who, at, low, high)
        found: type[RTIexception] | None = None
        try:
            carried_out(federation, step, call, at, low, high)
        except RTIexception as error:
            found = type(error)
        assert found is expected, (call, who, at)
        if expected is None:
            model.called(call, at, low, high)
    for handle, box in model.boxes.items():
        for number, member in enumerate(members):
            bounds = box.set if number == box.owner else box.committed
            if bounds is not None:
                step = step_of(federation, member)
                assert data_distribution.get_range_bounds(step, handle, lane(federation)) == bounds
    for _ in range(6):
        who, low = chance.randrange(3), chance.randrange(LANES)
        step = step_of(federation, members[who])
        mine = data_distribution.create_region(step, [lane(federation)])
        carried_out(federation, step, "set", mine, low, low + 1)
        carried_out(federation, step, "commit", mine, 0, 0)
        extents = matching.extents_of(federation, [mine], frozenset([lane(federation)]))
        here = recipients.of_interaction(step, members[who], entry, extents).here
        assert {members.index(one.member) for one in here} == model.hear(who, low, low + 1)
