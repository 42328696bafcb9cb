"""The RTI ambassador's services of declaration management."""

from __future__ import annotations

from collections.abc import Set

from weft.federate.services.calls import Calls, with_last
from weft.federate.services.kinds import as_set
from weft.model.errors import RTIexception
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle


class DeclarationManagement(Calls):
    def publish_object_class_attributes(
        self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 5.2."""
        self._call("publish_object_class_attributes", (object_class, as_set(attributes)))

    def unpublish_object_class(self, object_class: ObjectClassHandle) -> None:
        """Clause 5.3."""
        if self._awaited.wanted:
            self._pending().refuse_while_acquiring(lambda pair: self._knows_as(pair[0], object_class))
        self._call("unpublish_object_class", (object_class,))

    def unpublish_object_class_attributes(
        self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 5.3."""
        gone = as_set(attributes)
        if self._awaited.wanted:
            self._look_at("unpublish_object_class_attributes", (object_class, gone))
            self._pending().refuse_while_acquiring(
                lambda pair: pair[1] in gone and self._knows_as(pair[0], object_class)
            )
        self._call("unpublish_object_class_attributes", (object_class, gone))

    def _knows_as(self, object_instance: object, object_class: ObjectClassHandle) -> bool:
        try:
            return self._call("get_known_object_class_handle", (object_instance,)) == object_class
        except RTIexception:
            return False

    def publish_interaction_class(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.4."""
        self._call("publish_interaction_class", (interaction_class,))

    def unpublish_interaction_class(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.5."""
        self._call("unpublish_interaction_class", (interaction_class,))

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
    ) -> None:
        """Clause 5.8."""
        arguments = with_last((object_class, as_set(attributes)), update_rate_designator)
        self._call("subscribe_object_class_attributes", arguments)

    def subscribe_object_class_attributes_passively(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        update_rate_designator: str | None = None,
    ) -> None:
        """Clause 5.8."""
        self._call(
            "subscribe_object_class_attributes",
            (object_class, as_set(attributes), update_rate_designator or "", False),
        )

    def unsubscribe_object_class(self, object_class: ObjectClassHandle) -> None:
        """Clause 5.9."""
        self._call("unsubscribe_object_class", (object_class,))

    def unsubscribe_object_class_attributes(
        self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 5.9."""
        self._call("unsubscribe_object_class_attributes", (object_class, as_set(attributes)))

    def subscribe_interaction_class(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.10."""
        self._call("subscribe_interaction_class", (interaction_class,))

    def subscribe_interaction_class_passively(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.10."""
        self._call("subscribe_interaction_class", (interaction_class, False))

    def unsubscribe_interaction_class(self, interaction_class: InteractionClassHandle) -> None:
        """Clause 5.11."""
        self._call("unsubscribe_interaction_class", (interaction_class,))

    def subscribe_object_class_directed_interactions(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle]
    ) -> None:
        """Clause 5.12."""
        self._call(
            "subscribe_object_class_directed_interactions", (object_class, as_set(interaction_classes))
        )

    def subscribe_object_class_directed_interactions_universally(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle]
    ) -> None:
        """Clause 5.12."""
        self._call(
            "subscribe_object_class_directed_interactions", (object_class, as_set(interaction_classes), True)
        )

    def unsubscribe_object_class_directed_interactions(
        self, object_class: ObjectClassHandle, interaction_classes: Set[InteractionClassHandle] | None = None
    ) -> None:
        """Clause 5.13."""
        classes = None if interaction_classes is None else as_set(interaction_classes)
        self._call("unsubscribe_object_class_directed_interactions", with_last((object_class,), classes))
