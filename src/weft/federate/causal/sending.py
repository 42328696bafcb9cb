"""Messages of the federate get their stamps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from weft.federate.causal.middle import Middle
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
)
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime
from weft.ordering.group_tags import plain_tag


class Sending(Middle):
    def send_interaction(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        return self._send(
            self._rti.send_interaction,
            (interaction_class, parameter_values),
            user_supplied_tag,
            time,
            order,
            lambda: self._is_chosen(interaction_class),
            interaction_class,
        )

    def send_interaction_with_regions(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        regions: Set[RegionHandle],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        return self._send(
            self._rti.send_interaction_with_regions,
            (interaction_class, parameter_values, regions),
            user_supplied_tag,
            time,
            order,
            lambda: self._is_chosen(interaction_class),
        )

    def send_directed_interaction(
        self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        return self._send(
            self._rti.send_directed_interaction,
            (interaction_class, object_instance, parameter_values),
            user_supplied_tag,
            time,
            order,
            lambda: self._is_chosen(interaction_class),
        )

    def update_attribute_values(
        self,
        object_instance: ObjectInstanceHandle,
        attribute_values: Mapping[AttributeHandle, bytes],
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        return self._send(
            self._rti.update_attribute_values,
            (object_instance, attribute_values),
            user_supplied_tag,
            time,
            order,
            lambda: self._is_chosen_instance(object_instance),
            part=True,
        )

    def delete_object_instance(
        self,
        object_instance: ObjectInstanceHandle,
        user_supplied_tag: bytes,
        time: LogicalTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        return self._send(
            self._rti.delete_object_instance,
            (object_instance,),
            user_supplied_tag,
            time,
            order,
            lambda: self._is_chosen_instance(object_instance),
        )

    def _send(
        self,
        service: Callable[..., MessageRetractionReturn | None],
        arguments: tuple[object, ...],
        tag: bytes,
        time: LogicalTime | None,
        order: OrderType | None,
        is_chosen: Callable[[], bool],
        surely: InteractionClassHandle | None = None,
        part: bool = False,
    ) -> MessageRetractionReturn | None:
        """Numbers are given in the order in which messages are sent, so one is sent after the other.

        What is to go in another order is the RTI's to order.
        """
        if order is not None and order is not OrderType.CAUSAL:
            return service(*arguments, tag, time, order=order)
        with self._lock:
            seat = self._seat
            if seat is None or not isinstance(tag, bytes):  # the RTI says what is wrong
                return service(*arguments, tag) if time is None else service(*arguments, tag, time)
            if time is not None:
                return service(*arguments, plain_tag(tag), time)
            if self._classes is not None and not is_chosen():
                return service(*arguments, plain_tag(tag))
            group = seat.party.group
            stamp = group.stamp(part)
            data = self._write(stamp)
            try:
                result = service(*arguments, data + tag)
            except BaseException:
                group.unstamp(stamp)
                raise
            seat.counts.messages += 1
            seat.counts.stamp_bytes += len(data)
            seat.party.sent(stamp, surely is not None and seat.is_sure(surely))
            return result

    def _is_chosen(self, handle: InteractionClassHandle | ObjectClassHandle) -> bool:
        """Of the classes given, is it one, or below one?"""
        key = (type(handle), handle)
        found = self._chosen.get(key)
        if found is None:
            if isinstance(handle, InteractionClassHandle):
                name = self._rti.get_interaction_class_name(handle)
            else:
                name = self._rti.get_object_class_name(handle)
            found = any(f".{chosen}." in f".{name}." for chosen in self._classes or ())
            self._chosen[key] = found
        return found

    def _is_chosen_instance(self, instance: ObjectInstanceHandle) -> bool:
        return self._is_chosen(self._rti.get_known_object_class_handle(instance))
