"""The RTI ambassador's services of declaration management."""

from __future__ import annotations

from collections.abc import Set

from weft.federate.services.calls import Calls, with_last
from weft.federate.services.kinds import as_set
from weft.model.errors import RTIexception
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle
from weft.model.time import AnyTime


def _subscription(
    object_class: ObjectClassHandle,
    attributes: Set[AttributeHandle],
    rate: str | None,
    active: bool,
    time: AnyTime | None,
) -> tuple[object, ...]:
    subscribed = (object_class, as_set(attributes))
    if time is not None:
        return *subscribed, rate or "", active, time
    return with_last(subscribed, rate) if active else (*subscribed, rate or "", False)


class DeclarationManagement(Calls):
    def publish_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 5.2.  `time`, not of the standard: as of that logical time (docs/explanation/ddm-sync.md)."""
        self._call("publish_object_class_attributes", with_last((object_class, as_set(attributes)), time))

    def unpublish_object_class(self, object_class: ObjectClassHandle, *, time: AnyTime | None = None) -> None:
        """Clause 5.3.  `time`, not of the standard: as of that logical time."""
        if self._awaited.wanted:
            self._pending().refuse_while_acquiring(lambda pair: self._knows_as(pair[0], object_class))
        self._call("unpublish_object_class", with_last((object_class,), time))

    def unpublish_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 5.3.  `time`, not of the standard: as of that logical time."""
        gone = as_set(attributes)
        if self._awaited.wanted:
            self._look_at("unpublish_object_class_attributes", (object_class, gone))
            self._pending().refuse_while_acquiring(
                lambda pair: pair[1] in gone and self._knows_as(pair[0], object_class)
            )
        self._call("unpublish_object_class_attributes", with_last((object_class, gone), time))

    def _knows_as(self, object_instance: object, object_class: ObjectClassHandle) -> bool:
        try:
            return self._call("get_known_object_class_handle", (object_instance,)) == object_class
        except RTIexception:
            return False

    def publish_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        """Clause 5.4.  `time`, not of the standard: as of that logical time."""
        self._call("publish_interaction_class", with_last((interaction_class,), time))

    def unpublish_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        """Clause 5.5.  `time`, not of the standard: as of that logical time."""
        self._call("unpublish_interaction_class", with_last((interaction_class,), time))

    def publish_object_class_directed_interactions(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle]
    ) -> None:
        """Clause 5.6."""
        self._call("publish_object_class_directed_interactions", (object_class, as_set(interaction_classes)))

    def unpublish_object_class_directed_interactions(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle] | None = None
    ) -> None:
        """Clause 5.7."""
        classes = None if interaction_classes is None else as_set(interaction_classes)
        self._call("unpublish_object_class_directed_interactions", with_last((object_class,), classes))

    def subscribe_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 5.8.  `time`, not of the standard: as of that logical time."""
        arguments = _subscription(object_class, attributes, update_rate_designator, True, time)
        self._call("subscribe_object_class_attributes", arguments)

    def subscribe_object_class_attributes_passively(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 5.8.  `time`, not of the standard: as of that logical time."""
        arguments = _subscription(object_class, attributes, update_rate_designator, False, time)
        self._call("subscribe_object_class_attributes", arguments)

    def unsubscribe_object_class(
        self, object_class: ObjectClassHandle, *, time: AnyTime | None = None
    ) -> None:
        """Clause 5.9.  `time`, not of the standard: as of that logical time."""
        self._call("unsubscribe_object_class", with_last((object_class,), time))

    def unsubscribe_object_class_attributes(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        *,
        time: AnyTime | None = None,
    ) -> None:
        """Clause 5.9.  `time`, not of the standard: as of that logical time."""
        self._call("unsubscribe_object_class_attributes", with_last((object_class, as_set(attributes)), time))

    def subscribe_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        """Clause 5.10.  `time`, not of the standard: as of that logical time."""
        arguments = (interaction_class,) if time is None else (interaction_class, True, time)
        self._call("subscribe_interaction_class", arguments)

    def subscribe_interaction_class_passively(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        """Clause 5.10.  `time`, not of the standard: as of that logical time."""
        self._call("subscribe_interaction_class", with_last((interaction_class, False), time))

    def unsubscribe_interaction_class(
        self, interaction_class: InteractionClassHandle, *, time: AnyTime | None = None
    ) -> None:
        """Clause 5.11.  `time`, not of the standard: as of that logical time."""
        self._call("unsubscribe_interaction_class", with_last((interaction_class,), time))

    def subscribe_object_class_directed_interactions(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle]
    ) -> None:
        """Clause 5.12."""
        arguments = (object_class, as_set(interaction_classes))
        self._call("subscribe_object_class_directed_interactions", arguments)

    def subscribe_object_class_directed_interactions_universally(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle]
    ) -> None:
        """Clause 5.12."""
        arguments = (object_class, as_set(interaction_classes), True)
        self._call("subscribe_object_class_directed_interactions", arguments)

    def unsubscribe_object_class_directed_interactions(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle] | None = None
    ) -> None:
        """Clause 5.13."""
        classes = None if interaction_classes is None else as_set(interaction_classes)
        self._call("unsubscribe_object_class_directed_interactions", with_last((object_class,), classes))
