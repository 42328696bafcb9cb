"""The RTI ambassador's services of ownership management."""

from __future__ import annotations

from collections.abc import Set

from weft.federate.services.calls import Calls
from weft.federate.services.kinds import as_set
from weft.model.handles import (
    AttributeHandle,
    ObjectInstanceHandle,
)


class OwnershipManagement(Calls):
    def unconditional_attribute_ownership_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.2."""
        self._call(
            "unconditional_attribute_ownership_divestiture",
            (object_instance, as_set(attributes), user_supplied_tag),
        )

    def negotiated_attribute_ownership_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.3."""
        self._call(
            "negotiated_attribute_ownership_divestiture",
            (object_instance, as_set(attributes), user_supplied_tag),
        )

    def confirm_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        confirmed_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.6."""
        self._call("confirm_divestiture", (object_instance, as_set(confirmed_attributes), user_supplied_tag))

    def attribute_ownership_acquisition(
        self,
        object_instance: ObjectInstanceHandle,
        desired_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.8."""
        self._call(
            "attribute_ownership_acquisition",
            (object_instance, as_set(desired_attributes), user_supplied_tag),
        )

    def attribute_ownership_acquisition_if_available(
        self,
        object_instance: ObjectInstanceHandle,
        desired_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.9."""
        self._call(
            "attribute_ownership_acquisition_if_available",
            (object_instance, as_set(desired_attributes), user_supplied_tag),
        )

    def attribute_ownership_release_denied(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.12."""
        self._call(
            "attribute_ownership_release_denied", (object_instance, as_set(attributes), user_supplied_tag)
        )

    def attribute_ownership_divestiture_if_wanted(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> frozenset[AttributeHandle]:
        """Clause 7.13."""
        return self._ask_handles(
            AttributeHandle,
            "attribute_ownership_divestiture_if_wanted",
            object_instance,
            as_set(attributes),
            user_supplied_tag,
        )

    def cancel_negotiated_attribute_ownership_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
    ) -> None:
        """Clause 7.14."""
        self._call("cancel_negotiated_attribute_ownership_divestiture", (object_instance, as_set(attributes)))

    def cancel_attribute_ownership_acquisition(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
    ) -> None:
        """Clause 7.15."""
        self._call("cancel_attribute_ownership_acquisition", (object_instance, as_set(attributes)))

    def query_attribute_ownership(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
    ) -> None:
        """Clause 7.17."""
        self._call("query_attribute_ownership", (object_instance, as_set(attributes)))

    def is_attribute_owned_by_federate(
        self,
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> bool:
        """Clause 7.19."""
        return self._ask(bool, "is_attribute_owned_by_federate", object_instance, attribute)
