"""Shapes of rows: what several messages have in common says the same as a row for each would."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, step_of
from weft.interest import Extent
from weft.kernel.recording import row_shapes
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import Recipient, Update
from weft.kernel.state.recipients import Recipients
from weft.model.handles import ObjectInstanceHandle
from weft.model.recording import rows_in, spread

NODES = (HERE, HERE, HERE, HERE, "elsewhere")
INTERACTIONS = ("Event", "Event.Fire", "Event.Fire.BigFire")


@cache
def world() -> tuple[Federation, list[Member]]:
    return bare(*NODES)


@given(
    sender=st.sampled_from([0, 4]),
    received=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(INTERACTIONS)), max_size=8),
    straight=st.booleans(),
)
def test_an_interaction_is_one_send_and_a_row_for_each_who_gets_it(
    sender: int, received: list[tuple[int, str]], straight: bool
) -> None:
    """In the order of the receivers, each with the parameters of the class at which it receives it."""
    federation, members = world()
    catalog = federation.catalog
    entry = catalog.interaction_class_named(INTERACTIONS[-1])
    assert entry is not None
    recipients = Recipients(members[sender], entry.handle, [entry.transportation])
    for who, name in received:
        recipients.here.append(Recipient(members[who], catalog.interaction_class_named(name)))
    patterns = row_shapes.interaction_rows(
        step_of(federation, members[sender]), entry, recipients, tuple(entry.parameters), "RO", straight
    )
    rows = spread(patterns)
    assert len(rows) == rows_in(patterns)
    assert rows[0]["kind"] == ("send" if sender == 0 else "arrive")
    kinds = ["deliver" for _ in received] or (["filter"] if sender else [])
    assert [row["kind"] for row in rows[1:]] == (kinds if straight else [])
    delivered = [row for row in rows if row["kind"] == "deliver"]
    for row, (who, name) in zip(delivered, received if straight else [], strict=True):
        known = catalog.interaction_class_named(name)
        assert known is not None
        assert (row["federate"], row["name"]) == (members[who].handle.number, members[who].name)
        assert row["class"] == known.name
        assert row["items"] == tuple(
            known.parameters[p].name for p in entry.parameters if p in known.parameters
        )
        assert row["source"] == members[sender].handle.number


BOXES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(1, 8)).map(lambda b: (b[0], b[0] + b[1])), max_size=3
)


@given(st.lists(st.none() | BOXES, min_size=1, max_size=3))
def test_of_an_update_it_can_be_told_which_attribute_is_where(given_boxes: list[Any]) -> None:
    """From the boxes, each once, and a number for each attribute that names its own."""
    federation, members = world()
    entry = federation.catalog.object_class_named("Vehicle")
    (dimension,) = [one.handle for one in federation.catalog.dimensions.values() if one.name == "Lane"]
    assert entry is not None
    handles = list(entry.attributes)[: len(given_boxes)]
    where = {
        handle: tuple([Extent({dimension.number: box}) for box in boxes])
        for handle, boxes in zip(handles, given_boxes, strict=True)
        if boxes is not None
    }
    thing = ObjectInstanceHandle.of(1)
    federation.instances[thing] = Instance(
        thing, "it", entry, {}, federation.knowledge({}), members[0].handle
    )
    message = Update(members[0].handle, thing, dict.fromkeys(handles, b""), b"", where, None)
    told: Any = row_shapes.place_of(federation, message, False)
    boxes = list(zip(told["lower"], told["upper"], strict=True))
    assert len(set(boxes)) == len(boxes)
    named = told.get("boxes", [1] * len(handles))
    for mask, expected in zip(named, given_boxes, strict=True):
        found = {box for place, box in enumerate(boxes) if mask > 0 and mask >> place & 1}
        assert found == set(expected or ())
        assert (mask == row_shapes.NOWHERE) is (expected == [])
