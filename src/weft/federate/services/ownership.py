"""The RTI ambassador's services of ownership management.

A federate owns what it has been told that it owns (`federate.awaited`).
"""

from __future__ import annotations

from collections.abc import Set

from weft.federate.awaited import pairs
from weft.federate.services.calls import Calls
from weft.federate.services.kinds import as_set
from weft.model.errors import (
    AttributeAcquisitionWasNotRequested,
    AttributeAlreadyOwned,
    FederateOwnsAttributes,
    RTIexception,
)
from weft.model.handles import AttributeHandle, ObjectInstanceHandle


class OwnershipManagement(Calls):
    def unconditional_attribute_ownership_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.2."""
        given_up = as_set(attributes)
        service = "unconditional_attribute_ownership_divestiture"
        self._call_owner(service, object_instance, given_up, user_supplied_tag)
        self._awaited.offered.difference_update(pairs(object_instance, given_up))

    def negotiated_attribute_ownership_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.3."""
        offered = as_set(attributes)
        arguments = (object_instance, offered, user_supplied_tag)
        service = "negotiated_attribute_ownership_divestiture"
        self._refuse_unowned(service, arguments, offered)
        self._call_once(service, arguments, self._awaited.offered, pairs(object_instance, offered))

    def confirm_divestiture(
        self,
        object_instance: ObjectInstanceHandle,
        confirmed_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.6."""
        confirmed = as_set(confirmed_attributes)
        if self._awaited.offered:
            self._pending().refuse_unconfirmed(pairs(object_instance, confirmed))
        self._call_owner("confirm_divestiture", object_instance, confirmed, user_supplied_tag)

    def attribute_ownership_acquisition(
        self,
        object_instance: ObjectInstanceHandle,
        desired_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.8."""
        service = "attribute_ownership_acquisition"
        self._acquire(service, object_instance, as_set(desired_attributes), user_supplied_tag, True)

    def attribute_ownership_acquisition_if_available(
        self,
        object_instance: ObjectInstanceHandle,
        desired_attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.9."""
        service = "attribute_ownership_acquisition_if_available"
        self._acquire(service, object_instance, as_set(desired_attributes), user_supplied_tag, False)

    def _acquire(
        self,
        service: str,
        object_instance: ObjectInstanceHandle,
        attributes: frozenset[AttributeHandle],
        tag: bytes,
        lasting: bool,
    ) -> None:
        """They are wanted from here on, for the outcome may be told before the call returns."""
        self._require_connection()
        self._look_at(service, (object_instance, attributes, tag))
        asked = pairs(object_instance, attributes)
        pending = self._pending()
        if not lasting:
            pending.refuse_acquiring(asked)
        untold = frozenset(each for each in attributes if (object_instance, each) in pending.wanted)
        awaited = self._awaited
        wanted, cancelled = awaited.wanted, awaited.cancelled
        before = {pair: wanted[pair] for pair in asked if pair in wanted}
        given_up = cancelled.intersection(asked)
        wanted.update(dict.fromkeys(asked, lasting))
        cancelled.difference_update(asked)
        try:
            self._ask_again(service, object_instance, attributes, untold, (tag,), FederateOwnsAttributes)
        except BaseException:
            for pair in asked:
                wanted.pop(pair, None)
            wanted.update(before)
            cancelled.update(given_up)
            raise

    def _ask_again(
        self,
        service: str,
        object_instance: ObjectInstanceHandle,
        attributes: frozenset[AttributeHandle],
        untold: frozenset[AttributeHandle],
        rest: tuple[object, ...],
        *decided: type[RTIexception],
    ) -> frozenset[AttributeHandle]:
        """A call about attributes of which some may be decided already, and their callback on its way: which were not."""
        try:
            self._call(service, (object_instance, attributes, *rest))
            return attributes
        except decided:
            if not untold:
                raise
        others = attributes - untold
        if others:  # first: what is refused has changed nothing
            self._call(service, (object_instance, others, *rest))
        done = set(others)
        for attribute in untold:
            try:
                self._call(service, (object_instance, frozenset([attribute]), *rest))
                done.add(attribute)
            except decided:
                pass
        return frozenset(done)

    def attribute_ownership_release_denied(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> None:
        """Clause 7.12."""
        service = "attribute_ownership_release_denied"
        self._call_owner(service, object_instance, as_set(attributes), user_supplied_tag)

    def attribute_ownership_divestiture_if_wanted(
        self,
        object_instance: ObjectInstanceHandle,
        attributes: Set[AttributeHandle],
        user_supplied_tag: bytes,
    ) -> frozenset[AttributeHandle]:
        """Clause 7.13."""
        service = "attribute_ownership_divestiture_if_wanted"
        arguments = (object_instance, as_set(attributes), user_supplied_tag)
        self._refuse_unowned(service, arguments, arguments[1])
        divested = self._ask_handles(AttributeHandle, service, *arguments)
        self._awaited.offered.difference_update(pairs(object_instance, divested))
        return divested

    def cancel_negotiated_attribute_ownership_divestiture(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 7.14."""
        kept = as_set(attributes)
        self._call_owner("cancel_negotiated_attribute_ownership_divestiture", object_instance, kept)
        self._awaited.offered.difference_update(pairs(object_instance, kept))

    def cancel_attribute_ownership_acquisition(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 7.15.  What is granted or denied by now, and not told yet, is told instead of the cancellation."""
        service = "cancel_attribute_ownership_acquisition"
        given_up = as_set(attributes)
        if not self._pending().wanted:
            self._call(service, (object_instance, given_up))
            return
        self._look_at(service, (object_instance, given_up))
        awaited = self._awaited
        untold = frozenset(
            attribute
            for attribute in given_up
            if awaited.wanted.get((object_instance, attribute))
            and (object_instance, attribute) not in awaited.cancelled
        )
        new = pairs(object_instance, untold)
        awaited.cancelled.update(new)  # first: it may be confirmed before the call returns
        done: frozenset[AttributeHandle] = frozenset()
        try:
            decided = (AttributeAlreadyOwned, AttributeAcquisitionWasNotRequested)
            done = self._ask_again(service, object_instance, given_up, untold, (), *decided)
        finally:
            awaited.cancelled.difference_update(pairs(object_instance, untold - done))

    def query_attribute_ownership(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Clause 7.17."""
        self._call("query_attribute_ownership", (object_instance, as_set(attributes)))

    def is_attribute_owned_by_federate(
        self, object_instance: ObjectInstanceHandle, attribute: AttributeHandle
    ) -> bool:
        """Clause 7.19."""
        pending = self._pending()
        found = self._ask(bool, "is_attribute_owned_by_federate", object_instance, attribute)
        return found and (object_instance, attribute) not in pending.wanted
