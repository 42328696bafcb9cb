"""Values of callbacks as plain data and back: for callbacks that are saved with a federation.

Whatever is not itself plain (None, numbers, text, bytes) becomes a list that begins with what it was.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from weft.kernel.ddm import matching
from weft.kernel.state.messages import DirectedInteraction, Interaction, Message, Update, numbered
from weft.model import enums
from weft.model.deliveries import Delivery, delivery_from, stamp_from
from weft.model.errors import WeftError
from weft.model.handles import Handle, MessageRetractionHandle
from weft.model.packed import PackedValues
from weft.model.records import CorrelatedEvent, RangeBounds
from weft.model.time import HLAfloat64Time, HLAinteger64Time

_TIMES: dict[str, Any] = {"HLAfloat64Time": HLAfloat64Time, "HLAinteger64Time": HLAinteger64Time}
_HANDLES = {kind.__name__: kind for kind in Handle.__subclasses__()}
_ENUMS: dict[str, Any] = {
    name: kind for name, kind in vars(enums).items() if isinstance(kind, type) and issubclass(kind, Enum)
}


class SnapshotError(WeftError):
    """Data that is no saved federation, or of another version."""


def callback_to_plain(method: str, arguments: tuple[object, ...]) -> list[object]:
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, PackedValues):
            argument = argument.unpack()
        values.append(to_plain(argument))
    return [method, values]


def callback_from_plain(data: list[Any]) -> tuple[str, tuple[Any, ...]]:
    method, values = data
    return method, tuple(from_plain(value) for value in values)


def delivery_to_plain(delivery: Delivery) -> list[object]:
    return callback_to_plain(delivery.method, delivery.arguments())


def content_to_plain(content: Delivery | Message) -> list[object]:
    """What waits in a queue: cut to what a federate gets, or as it was sent, under the name of the service."""
    if isinstance(content, Delivery):
        return delivery_to_plain(content)
    stamp = () if content.stamp is None else content.stamp.arguments()
    if isinstance(content, Interaction):
        boxes = None if content.at is None else matching.boxes(content.at)
        one = (content.interaction_class, content.values, content.tag, content.transportation)
        return callback_to_plain(content.service, (*one, content.sender, boxes, *stamp))
    if isinstance(content, Update):
        carried = None if content.where is None else matching.carried(content.where)
        two = (content.instance, content.values, content.tag, content.sender, carried)
        return callback_to_plain(content.service, (*two, *stamp))
    if isinstance(content, DirectedInteraction):
        three = (content.interaction_class, content.target, content.values, content.tag)
        return callback_to_plain(content.service, (*three, content.transportation, content.sender, *stamp))
    raise SnapshotError(f"{type(content).__name__} cannot be saved")


def content_from_plain(data: list[Any]) -> Delivery | Message:
    method, arguments = callback_from_plain(data)
    delivery = delivery_from(method, arguments)
    if delivery is not None:
        return delivery
    if method == "send_interaction":
        kind, values, tag, transportation, sender, boxes, *stamp = arguments
        at = None if boxes is None else matching.from_boxes(boxes)
        return numbered(Interaction(sender, kind, values, tag, transportation, at, stamp_from(tuple(stamp))))
    if method == "update_attribute_values":
        instance, values, tag, sender, carried, *stamp = arguments
        where = None if carried is None else matching.from_carried(carried)
        return numbered(Update(sender, instance, values, tag, where, stamp_from(tuple(stamp))))
    if method == "send_directed_interaction":
        kind, target, values, tag, transportation, sender, *stamp = arguments
        return numbered(
            DirectedInteraction(sender, kind, target, values, tag, transportation, stamp_from(tuple(stamp)))
        )
    raise SnapshotError(f"{method} is nothing that waits")


def to_plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)) or type(value) is bytes:
        return value
    if isinstance(value, MessageRetractionHandle):
        return ["retraction", bytes(value)]  # longer than other handles
    if isinstance(value, Handle):
        return ["handle", type(value).__name__, value.number]
    if isinstance(value, Enum):
        return ["enum", type(value).__name__, value.value]
    if isinstance(value, (HLAfloat64Time, HLAinteger64Time)):
        return ["time", type(value).__name__, value.encode()]
    if isinstance(value, dict):
        return ["map", [[to_plain(key), to_plain(item)] for key, item in value.items()]]
    if isinstance(value, (set, frozenset)):
        return ["set", [to_plain(item) for item in _ordered(value)]]
    if isinstance(value, RangeBounds):
        return ["bounds", *value]
    if isinstance(value, CorrelatedEvent):
        content = callback_to_plain(value.method, value.arguments)
        return ["event", to_plain(value.class_handle), content, to_plain(value.order)]
    if isinstance(value, (tuple, list)):
        return ["tuple" if isinstance(value, tuple) else "list", [to_plain(item) for item in value]]
    raise SnapshotError(f"{type(value).__name__} cannot be saved")


def _ordered(values: Any) -> list[Any]:
    """In an order that does not depend on the process; sets in a set (conveyed regions) are ordered by what is in them."""
    nested = any(isinstance(value, frozenset) for value in values)
    return sorted(values, key=sorted) if nested else sorted(values)


def from_plain(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    kind, *rest = data
    if kind == "retraction":
        return MessageRetractionHandle(rest[0])
    if kind == "handle":
        return _HANDLES[rest[0]].of(rest[1])
    if kind == "enum":
        return _ENUMS[rest[0]](rest[1])
    if kind == "time":
        return _TIMES[rest[0]].decode(rest[1])
    if kind == "bounds":
        return RangeBounds(*rest)
    if kind == "event":
        method, arguments = callback_from_plain(rest[1])
        return CorrelatedEvent(method, from_plain(rest[0]), arguments, from_plain(rest[2]))
    if kind == "map":
        return {from_plain(key): from_plain(item) for key, item in rest[0]}
    made: dict[str, Any] = {"set": frozenset, "tuple": tuple, "list": list}
    return made[kind](from_plain(item) for item in rest[0])
