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
from weft.kernel.recording import row_shapes
from weft.kernel.state import overrides
from weft.kernel.state.federation import Instance, Member
from weft.kernel.state.recipients import Recipients
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectInstanceHandle, ParameterHandle
from weft.model.recording import NO_OBJECT, Recorder


class Lane:
    """Of messages that are alike: what the pipeline has decided of them, and from what."""

    def __init__(
        self,
        step: Step,
        found: Recipients,
        instance: Instance | None,
        parameters: list[ParameterHandle],
        attributes: list[AttributeHandle],
    ) -> None:
        self.federation = step.federation
        self.generation = step.federation.generation
        self.member = step.member
        self.source = step.member.handle.number
        self.transportation = found.transportations[0]
        # In the recorder's book.
        self.shape = -1
        self._recipients = found
        self._parameters = parameters
        self._attributes = attributes
        # Of updates.
        self._instance = instance
        self._number = NO_OBJECT if instance is None else instance.number
        self._owners = None if instance is None else instance.owners
        self._knowledge = None if instance is None else instance.knowledge

    def receivers(self) -> list[Member]:
        """Found again for each who asks: between many, a list for each sender is what takes memory."""
        return [recipient.member for recipient in self._recipients.here]

    def is_open(self) -> bool:
        """May another message go along it?  Not while services are reported: those want each call and callback."""
        federation = self.federation
        if federation.generation != self.generation or federation.observed:
            return False
        instance = self._instance
        return instance is None or (
            instance.knowledge is self._knowledge
            and instance.owners is self._owners
            and instance.overrides is None
            and instance.placement is None
        )

    def passed(self) -> None:
        """One more message went along it."""
        self._recipients.count += 1
        self.member.timing.sent += 1
        if self._instance is not None:
            recipients.mark(self._instance, self._recipients)

    def record(self, recorder: Recorder, now: float, node: str, fields: bytes) -> None:
        """What has just passed: class or instance, values and tag as they came."""
        try:
            if self.shape < recorder.first:
                self.shape = self._find_shape(recorder, Step(Turn(node, now), self.federation, self.member))
            member = self.member
            recorder.enter_packed(self.shape, now, member.timing.sent, self._number, fields)
            if member.cause:
                recorder.add(member.cause_source, member.cause, None, 0, None)
        except Exception as error:
            recorder.fail(error)

    def _find_shape(self, recorder: Recorder, step: Step) -> int:
        found = self._recipients
        if self._instance is not None:
            entry = self._instance.entry
            rows = row_shapes.update_rows(step, entry, found, tuple(self._attributes), "RO", True)
            return row_shapes.known(recorder, rows)
        assert isinstance(found.kind, InteractionClassHandle)
        kind = self.federation.catalog.interaction_classes[found.kind]
        rows = row_shapes.interaction_rows(step, kind, found, tuple(self._parameters), "RO", True)
        return row_shapes.known(recorder, rows)


def interaction_lane(
    step: Step, interaction_class: InteractionClassHandle, handles: list[ParameterHandle]
) -> Lane | None:
    """The lane of interactions of this class with these parameters."""
    federation = step.federation
    member = step.member
    entry = federation.catalog.interaction_classes.get(interaction_class)
    if entry is None or interaction_class not in member.declared.sends:
        return None
    if federation.ordered and not is_plain(overrides.interaction_order(member, entry)):
        return None
    found = recipients.of_interaction(step, member, entry)
    unknown = any(handle not in entry.parameters for handle in handles)
    if unknown or found.posts or found.managed or found.holding:
        return None
    if any(recipient.received is not entry for recipient in found.here):
        return None
    return Lane(step, found, None, handles, [])


def update_lane(
    step: Step, object_instance: ObjectInstanceHandle, handles: list[AttributeHandle]
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
    found = recipients.of_alike(step, member, instance, handles)
    if found.posts or found.paced or found.holding or len(found.transportations) != 1:
        return None
    if any(recipient.attributes is not None for recipient in found.here):
        return None
    return Lane(step, found, instance, [], handles)
