"""A lane is the pipeline with its answers kept: where there is one, and as long as it is open, `message.pipeline` would hand the
same to the same federates (6.10, 6.12)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, attributes, bare, interaction_class, object_class, step_of
from weft.kernel.message import fast_lanes, pipeline, recipients
from weft.kernel.services import declaration, object_management
from weft.kernel.state.effects import Callback, Carried
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.model.deliveries import DeliveredInteraction, Delivery, Reflection

CLASSES = ("Event", "Event.Fire", "Event.Fire.BigFire")
NAMES = ("Position", "Name")
LAWS = settings(max_examples=60, deadline=None)
WHO = st.integers(0, 3)
Sending = Callable[[Step], object]


def sent_by(federation: Federation, sender: Member, send: Sending) -> tuple[list[int], list[Delivery], bool]:
    """What the pipeline does with a message: sessions, deliveries, and does it go to another node?"""
    step = step_of(federation, sender)
    send(step)
    callbacks = [one for one in step.effects if isinstance(one, Callback)]
    deliveries = [one.delivery for one in callbacks if one.delivery is not None]
    assert len(deliveries) == len(callbacks)
    return (
        [one.session for one in callbacks],
        deliveries,
        any(isinstance(one, Carried) for one in step.effects),
    )


def is_as_sent(delivery: Delivery, sent: object) -> bool:
    """At the class it was sent at, or all that was updated."""
    if isinstance(delivery, DeliveredInteraction):
        return delivery.interaction_class == sent
    assert isinstance(delivery, Reflection)
    assert isinstance(delivery.values, dict)
    return list(delivery.values) == sent


def held(federation: Federation, member: Member, on: bool) -> None:
    """Time-constrained: what comes in receive order may have to wait."""
    member.timing.constrained = member.holds = on
    federation.changed()


class Lanes:
    """Those that were found, with the message that they are for."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        self.kept: list[tuple[fast_lanes.Lane, Member, Sending, object]] = []

    def check(self, sender: Member, lane: fast_lanes.Lane | None, send: Sending, sent: object) -> None:
        sessions, deliveries, leaves = sent_by(self.federation, sender, send)
        if lane is None:
            assert (
                leaves
                or any(one.holds for one in self.federation.members.values())
                or not all(is_as_sent(one, sent) for one in deliveries)
            )
            return
        assert lane.is_open()
        assert not leaves
        assert sessions == [one.session for one in lane.receivers()]
        assert all(is_as_sent(one, sent) for one in deliveries)
        self.kept.append((lane, sender, send, sent))

    def check_again(self) -> None:
        """Those that say they are open are as good as new ones; those that are closed stay closed."""
        for lane, sender, send, sent in self.kept:
            if lane.is_open():
                sessions, deliveries, leaves = sent_by(self.federation, sender, send)
                assert not leaves
                assert sessions == [one.session for one in lane.receivers()]
                assert all(is_as_sent(one, sent) for one in deliveries)
        self.kept = [one for one in self.kept if one[0].is_open()]


CALLS = st.tuples(
    st.sampled_from(["publish", "unpublish", "subscribe", "unsubscribe", "hold", "free"]),
    WHO,
    st.sampled_from(CLASSES),
)


@LAWS
@given(st.lists(CALLS, min_size=5, max_size=30))
def test_a_lane_of_interactions_leads_where_the_pipeline_leads(calls: list[tuple[str, int, str]]) -> None:
    """Also when declarations change, somebody is constrained, or somebody at another node listens."""
    federation, members = bare(HERE, HERE, HERE, "elsewhere")
    lanes = Lanes(federation)
    for call, who, name in calls:
        member = members[who]
        step = step_of(federation, member)
        handle = interaction_class(federation, name).handle
        if call in ("hold", "free"):
            held(federation, member, call == "hold")
        else:
            getattr(declaration, f"{call}_interaction_class")(step, handle)
        lanes.check_again()
        for sender in members[:3]:
            for one in CLASSES:
                kind = interaction_class(federation, one).handle
                lane = fast_lanes.interaction_lane(step_of(federation, sender), kind, [])
                if kind not in sender.declared.sends:
                    assert lane is None
                    continue
                lanes.check(
                    sender,
                    lane,
                    partial(pipeline.send_interaction, interaction_class=kind, values={}, tag=b""),
                    kind,
                )


@LAWS
@given(
    st.lists(st.tuples(st.sampled_from(["subscribe", "unsubscribe", "hold", "free"]), WHO, st.integers(1, 3)))
)
def test_a_lane_of_updates_leads_where_the_pipeline_leads(calls: list[tuple[str, int, int]]) -> None:
    """Both attributes are sent, in one transportation or in two: there is a lane only for who wants all of it, in one."""
    federation, members = bare(HERE, HERE, HERE, "elsewhere")
    owner = members[0]
    vehicle = object_class(federation, "Vehicle")
    handles = attributes(vehicle, NAMES)
    declaration.publish_object_class_attributes(step_of(federation, owner), vehicle.handle, handles)
    instance = object_management.register_object_instance(step_of(federation, owner), vehicle.handle)
    lanes = Lanes(federation)
    for call, who, choice in calls:
        member = members[who]
        chosen = [handle for at, handle in enumerate(handles) if choice >> at & 1]
        if call in ("hold", "free"):
            held(federation, member, call == "hold")
        elif call == "subscribe":
            declaration.subscribe_object_class_attributes(step_of(federation, member), vehicle.handle, chosen)
        else:
            declaration.unsubscribe_object_class_attributes(
                step_of(federation, member), vehicle.handle, chosen
            )
        lanes.check_again()
        for sent in (handles[:1], handles[1:]):
            values = dict.fromkeys(sent, b"")
            lanes.check(
                owner,
                fast_lanes.update_lane(step_of(federation, owner), instance, sent),
                partial(pipeline.update_attribute_values, object_instance=instance, values=values, tag=b""),
                sent,
            )
        both = fast_lanes.update_lane(step_of(federation, owner), instance, handles)
        assert both is None, "they have different transportation"
        assert fast_lanes.update_lane(step_of(federation, members[1]), instance, handles[:1]) is None


def test_what_passes_is_counted_as_the_pipeline_counts_it() -> None:
    """11.4: interactions sent and received are told from the same tallies."""
    federation, members = bare(HERE, HERE)
    fire = interaction_class(federation, "Event.Fire")
    declaration.publish_interaction_class(step_of(federation, members[0]), fire.handle)
    declaration.subscribe_interaction_class(step_of(federation, members[1]), fire.handle)
    step = step_of(federation, members[0])
    lane = fast_lanes.interaction_lane(step, fire.handle, [])
    assert lane is not None
    for _ in range(3):
        lane.passed()
    for _ in range(2):
        pipeline.send_interaction(step, fire.handle, {}, b"")
    federation.count_up()
    way = recipients.transportation_of(members[0], fire)
    assert members[0].timing.sent == 5
    assert members[0].tally.interactions_sent[fire.handle, way] == 5
    assert members[1].tally.interactions_received[fire.handle, way] == 5
