"""What becomes of the messages that the federate sends: they get their stamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.federate.causal.declarations import CausalDeclarations
from weft.model.enums import OrderType
from weft.model.handles import ObjectClassHandle
from weft.model.records import MessageRetractionReturn
from weft.model.time import AnyTime
from weft.ordering.group_tags import PLAIN, plain_tag

SENDING: Final = frozenset(
    [
        "send_interaction",
        "send_interaction_with_regions",
        "send_directed_interaction",
        "update_attribute_values",
        "delete_object_instance",
    ]
)
"""They come to `_send_message` or `_send_most`, with the tag last among the arguments."""


class CausalServices(CausalDeclarations):
    def _send_message(
        self, service: str, arguments: tuple[object, ...], time: AnyTime | None, order: OrderType | None
    ) -> MessageRetractionReturn | None:
        """What is to go in another order is the RTI's to order."""
        send: Callable[..., MessageRetractionReturn | None] = getattr(self._rti, service)
        if order is not None and order is not OrderType.CAUSAL:
            return send(*arguments, time, order=order)
        if time is None:
            return self._send_most(service, arguments)
        tag = arguments[-1]
        with self._lock:
            if self._seat is None or not isinstance(tag, bytes):  # the RTI says what is wrong
                return send(*arguments, time)
            return send(*arguments[:-1], self._plain(tag), time)

    def _send_most(self, service: str, arguments: tuple[object, ...]) -> MessageRetractionReturn | None:
        """Numbers are given in the order in which messages are sent, so one is sent after the other."""
        send: Callable[..., MessageRetractionReturn | None] = getattr(self._rti, service)
        about, tag = arguments[0], arguments[-1]
        with self._lock:
            seat = self._seat
            if seat is None or not isinstance(tag, bytes):  # the RTI says what is wrong
                return send(*arguments)
            if self._classes is not None and not self._is_chosen(service, about):
                return send(*arguments[:-1], self._plain(tag))
            party, counts = seat.party, seat.counts
            address = seat.addresses.of(party, service, arguments)
            stamp = party.group.stamp(address.part, address.destinations)
            data = self._write(stamp)
            try:
                if self._envelope and address.whole and plain_tag(tag) is tag and seat.send_envelope(stamp):
                    result = send(*arguments)
                else:
                    result = send(*arguments[:-1], data + tag)
            except BaseException:
                party.group.unstamp(stamp)
                raise
            counts.messages += 1
            counts.stamp_bytes += len(data)
            party.sent(stamp, address.sure)
            if service == "delete_object_instance":
                seat.addresses.deleted(about)
            return result

    def _plain(self, tag: bytes) -> bytes:
        """Of a message without a stamp; where stamps come in envelopes, it has to say that it has none."""
        return PLAIN + tag if self._envelope else plain_tag(tag)

    def _is_chosen(self, service: str, about: object) -> bool:
        """Is the class of a message, or of the instance it is about, one of those given, or below one?"""
        name_of: Callable[..., str] = self._rti.get_interaction_class_name
        if "interaction" not in service:
            name_of = self._rti.get_object_class_name
            class_of: Callable[..., ObjectClassHandle] = self._rti.get_known_object_class_handle
            about = class_of(about)
        key = (type(about), about)
        found = self._chosen.get(key)
        if found is None:
            name = name_of(about)
            found = any(f".{chosen}." in f".{name}." for chosen in self._classes or ())
            self._chosen[key] = found
        return found
