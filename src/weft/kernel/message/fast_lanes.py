"""Lanes: the way of a message, found once and then used for all that are alike.

Most messages of a federate are alike: the same class with the same parameters, or the same instance with the same attributes.
A host that passes them on in packed form asks for their lane, and as long as that is open sends them along it without a turn of
the kernel for each.

There is a lane where `message.pipeline` would hand the message on as it is, to members of this node and to nobody else: no
other node, no receiver that hears another class or fewer values or is time-constrained, one transportation, no order of
Weft's own, no regions that it is sent with, nothing for the RTI itself.  It closes when anything changes that the way was found
from, and then `message.pipeline` is asked again.
"""

from __future__ import annotations

from weft.kernel.message import recipients
from weft.kernel.message.causal_order import is_plain
from weft.kernel.recording import message_rows
from weft.kernel.state import overrides
from weft.kernel.state.federation import Audience, Federation, Instance, Member, Route
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.recording import NO_OBJECT, Recorder


class Lane:
    def __init__(
        self,
        federation: Federation,
        member: Member,
        receivers: list[Member],
        transportation: TransportationTypeHandle,
    ) -> None:
        self.federation = federation
        self.generation = federation.generation
        self.member = member
        self.source = member.handle.number
        self.receivers = receivers
        self.transportation = transportation
        self.shape = -1  # in the recorder's book

    def is_open(self) -> bool:
        """May another message go along it?  Not while services are reported: those want each call and callback."""
        return self.federation.generation == self.generation and not self.federation.observed

    def passed(self) -> None:
        """One more message went along it."""
        raise NotImplementedError

    def record(self, recorder: Recorder, now: float, node: str, fields: bytes) -> None:
        """What has just passed: class or instance, values and tag as they came."""
        try:
            self._record(recorder, now, node, fields)
        except Exception as error:
            recorder.fail(error)

    def _record(self, recorder: Recorder, now: float, node: str, fields: bytes) -> None:
        raise NotImplementedError

    def _record_cause(self, recorder: Recorder) -> None:
        member = self.member
        if member.cause:
            recorder.add(member.cause_source, member.cause, None, 0, None)


class InteractionLane(Lane):
    def __init__(
        self,
        federation: Federation,
        member: Member,
        receivers: list[Member],
        audience: Audience,
        handles: list[ParameterHandle],
    ) -> None:
        super().__init__(federation, member, receivers, audience.transportation)
        self._audience = audience
        self._handles = handles

    def passed(self) -> None:
        self._audience.count += 1
        self.member.timing.sent += 1

    def _record(self, recorder: Recorder, now: float, node: str, fields: bytes) -> None:
        if self.shape < recorder.first:
            audience = self._audience
            entry = self.federation.catalog.interaction_classes[audience.sent_class]
            self.shape = message_rows.interaction_shape(
                Step(Turn(node, now), self.federation, self.member),
                recorder,
                self.member,
                entry,
                audience,
                self._handles,
            )
        recorder.enter_packed(self.shape, now, self.member.timing.sent, NO_OBJECT, fields)
        self._record_cause(recorder)


class UpdateLane(Lane):
    def __init__(
        self,
        federation: Federation,
        member: Member,
        receivers: list[Member],
        transportation: TransportationTypeHandle,
        instance: Instance,
        route: Route,
        handles: list[AttributeHandle],
    ) -> None:
        super().__init__(federation, member, receivers, transportation)
        self._handles = handles
        self._instance = instance
        self._number = instance.handle.number
        self._owners = instance.owners
        self._knowledge = instance.knowledge
        self._route = route

    def is_open(self) -> bool:
        instance = self._instance
        return (
            self.federation.generation == self.generation
            and instance.knowledge is self._knowledge
            and instance.owners is self._owners
            and instance.overrides is None
            and instance.placement is None
            and not self.federation.observed
        )

    def passed(self) -> None:
        self._route.count += 1
        self.member.timing.sent += 1
        recipients.mark(self._instance, self._route, self.member)

    def _record(self, recorder: Recorder, now: float, node: str, fields: bytes) -> None:
        if self.shape < recorder.first:
            self.shape = message_rows.update_shape(
                Step(Turn(node, now), self.federation, self.member),
                recorder,
                self.member,
                self._instance,
                self._route,
                self._handles,
            )
        recorder.enter_packed(self.shape, now, self.member.timing.sent, self._number, fields)
        self._record_cause(recorder)


def interaction_lane(
    step: Step,
    interaction_class: InteractionClassHandle,
    handles: list[ParameterHandle],
) -> Lane | None:
    """The lane of interactions of this class with these parameters."""
    federation = step.federation
    member = step.member
    entry = federation.catalog.interaction_classes.get(interaction_class)
    if entry is None or interaction_class not in member.declared.sends:
        return None
    if federation.ordered and not is_plain(overrides.interaction_order(member, entry)):
        return None
    audience = recipients.audience_of(step, member, interaction_class)
    unknown = any(handle not in entry.parameters for handle in handles)
    if unknown or audience.nodes or audience.managed or audience.holding:
        return None
    if any(received is not entry for received, _ in audience.ears):
        return None
    return InteractionLane(federation, member, [ear for _, ear in audience.ears], audience, handles)


def update_lane(
    step: Step,
    object_instance: ObjectInstanceHandle,
    handles: list[AttributeHandle],
) -> Lane | None:
    """The lane of updates of these attributes of this instance."""
    federation = step.federation
    member = step.member
    instance = federation.instances.get(object_instance)
    if instance is None or instance.overrides is not None or not instance.knowledge.mask & member.bit:
        return None
    if instance.placement is not None:
        return None
    if any(instance.owners.get(handle) is not member for handle in handles):
        return None
    if federation.ordered and not all(is_plain(overrides.attribute_order(instance, a)) for a in handles):
        return None
    route = recipients.route_of(step, instance, member, handles)
    ways = route.transportations
    if (
        route.posts
        or route.paced
        or route.holding
        or len(ways) != 1
        or any(leg.attributes is not None for leg in route.legs)
    ):
        return None
    receivers = [leg.member for leg in route.legs]
    return UpdateLane(federation, member, receivers, ways[0], instance, route, handles)
