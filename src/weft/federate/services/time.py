"""The RTI ambassador's services of time management."""

from __future__ import annotations

from collections.abc import Set

from weft.federate.awaited import CONSTRAINED, GRANT, REGULATION
from weft.federate.services.calls import Calls
from weft.federate.services.kinds import as_set
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
)
from weft.model.records import Blocking, TimeQueryReturn, blocking_from
from weft.model.time import AnyInterval, AnyTime, LogicalTime, LogicalTimeInterval


class TimeManagement(Calls):
    def enable_time_regulation(self, lookahead: AnyInterval) -> None:
        """Clause 8.2."""
        self._pending().refuse_while(GRANT, REGULATION)
        self._call_once("enable_time_regulation", (lookahead,), self._awaited.time_states, (REGULATION,))

    def disable_time_regulation(self) -> None:
        """Clause 8.4."""
        self._pending().refuse_before(REGULATION)
        self._call("disable_time_regulation", ())

    def enable_time_constrained(self) -> None:
        """Clause 8.5."""
        self._pending().refuse_while(GRANT, CONSTRAINED)
        self._call_once("enable_time_constrained", (), self._awaited.time_states, (CONSTRAINED,))

    def disable_time_constrained(self) -> None:
        """Clause 8.7."""
        self._pending().refuse_before(CONSTRAINED)
        self._call("disable_time_constrained", ())

    def time_advance_request(self, time: AnyTime) -> None:
        """Clause 8.8."""
        self._advance("time_advance_request", time)

    def time_advance_request_available(self, time: AnyTime) -> None:
        """Clause 8.9."""
        self._advance("time_advance_request_available", time)

    def next_message_request(self, time: AnyTime) -> None:
        """Clause 8.10."""
        self._advance("next_message_request", time)

    def next_message_request_available(self, time: AnyTime) -> None:
        """Clause 8.11."""
        self._advance("next_message_request_available", time)

    def flush_queue_request(self, time: AnyTime) -> None:
        """Clause 8.12."""
        self._advance("flush_queue_request", time)

    def _advance(self, service: str, time: AnyTime) -> None:
        """The grant ends it, which may be delivered before this returns; or a refusal, which may come with a later call."""
        self._pending().refuse_while(GRANT, REGULATION, CONSTRAINED)
        self._call_once(service, (time,), self._awaited.time_states, (GRANT,))

    def enable_asynchronous_delivery(self) -> None:
        """Clause 8.15."""
        self._call("enable_asynchronous_delivery", ())

    def disable_asynchronous_delivery(self) -> None:
        """Clause 8.16."""
        self._call("disable_asynchronous_delivery", ())

    def query_galt(self) -> TimeQueryReturn:
        """Clause 8.17."""
        return self._ask(TimeQueryReturn, "query_galt")

    def query_logical_time(self) -> LogicalTime:
        """Clause 8.18."""
        return self._ask(self._times[0], "query_logical_time")

    def query_lits(self) -> TimeQueryReturn:
        """Clause 8.19."""
        return self._ask(TimeQueryReturn, "query_lits")

    def modify_lookahead(self, lookahead: AnyInterval) -> None:
        """Clause 8.20."""
        pending = self._pending()
        pending.refuse_while(GRANT)
        pending.refuse_before(REGULATION)
        self._call("modify_lookahead", (lookahead,))

    def query_lookahead(self) -> LogicalTimeInterval:
        """Clause 8.21."""
        self._pending().refuse_before(REGULATION)
        return self._ask(self._times[1], "query_lookahead")

    def retract(self, retraction: MessageRetractionHandle) -> None:
        """Clause 8.22."""
        self._pending().refuse_before(REGULATION)
        self._call("retract", (retraction,))

    def query_blocking(self) -> Blocking:
        """Not of the standard: whom this federate waits for, where that one is in time, and since when.

        `print(rti.query_blocking())` says it in a sentence.  Another vendor's RTI refuses the call.
        """
        return blocking_from(self._ask(dict, "query_blocking"))

    def set_time_advance_patience(self, seconds: float) -> None:
        """Not of the standard: whenever a time advance takes longer, `time_advance_blocked` says who blocks it; 0: never."""
        self._call("set_time_advance_patience", (seconds,))

    def change_attribute_order_type(
        self, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle], order_type: OrderType
    ) -> None:
        """Clause 8.24."""
        self._call_owner("change_attribute_order_type", object_instance, as_set(attributes), order_type)

    def change_default_attribute_order_type(
        self, object_class: ObjectClassHandle, attributes: Set[AttributeHandle], order_type: OrderType
    ) -> None:
        """Clause 8.25."""
        self._call("change_default_attribute_order_type", (object_class, as_set(attributes), order_type))

    def change_interaction_order_type(
        self, interaction_class: InteractionClassHandle, order_type: OrderType
    ) -> None:
        """Clause 8.26."""
        self._call("change_interaction_order_type", (interaction_class, order_type))
