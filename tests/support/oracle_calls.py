"""How each operation of `support.oracle_operations` is called at the real RTI, and what the oracle is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.oracle_bench import Bench


def perform(bench: Bench, operation: str, seat: int, *args: Any) -> None:
    """Do it at the bench: operations that only need their names turned to handles are in `_CALLS`."""
    if operation in _CALLS:
        real, predicted = _CALLS[operation](bench, bench.real.rti[seat], *args)
        bench.simple(seat, operation, real, *predicted)
    else:
        bench.do(operation, seat, *args)


def _publish(b: Bench, rti: Any, cls: str, names: set[str]) -> Any:
    return lambda: rti.publish_object_class_attributes(b.classes[cls], b.set_of(names)), (cls, names)


def _unpublish(b: Bench, rti: Any, cls: str, names: set[str] | None) -> Any:
    if names is None:
        return lambda: rti.unpublish_object_class(b.classes[cls]), (cls, None)
    return lambda: rti.unpublish_object_class_attributes(b.classes[cls], b.set_of(names)), (cls, names)


def _subscribe(b: Bench, rti: Any, cls: str, names: set[str], rate: str, active: bool) -> Any:
    service = "subscribe_object_class_attributes" + ("" if active else "_passively")
    call = getattr(rti, service)
    return lambda: call(b.classes[cls], b.set_of(names), rate or None), (cls, names, rate, active)


def _unsubscribe(b: Bench, rti: Any, cls: str, names: set[str] | None) -> Any:
    if names is None:
        return lambda: rti.unsubscribe_object_class(b.classes[cls]), (cls, None)
    return lambda: rti.unsubscribe_object_class_attributes(b.classes[cls], b.set_of(names)), (cls, names)


def _publish_interaction(b: Bench, rti: Any, cls: str, on: bool) -> Any:
    call = rti.publish_interaction_class if on else rti.unpublish_interaction_class
    return lambda: call(b.interactions[cls]), (cls, on)


def _subscribe_interaction(b: Bench, rti: Any, cls: str, active: bool | None) -> Any:
    call = {
        True: rti.subscribe_interaction_class,
        False: rti.subscribe_interaction_class_passively,
        None: rti.unsubscribe_interaction_class,
    }[active]
    return lambda: call(b.interactions[cls]), (cls, active)


def _publish_directed(b: Bench, rti: Any, cls: str, names: set[str], on: bool) -> Any:
    call = (
        rti.publish_object_class_directed_interactions
        if on
        else rti.unpublish_object_class_directed_interactions
    )
    return lambda: call(b.classes[cls], {b.interactions[n] for n in names}), (cls, names, on)


def _subscribe_directed(b: Bench, rti: Any, cls: str, names: set[str], universally: bool | None) -> Any:
    call = {
        True: rti.subscribe_object_class_directed_interactions_universally,
        False: rti.subscribe_object_class_directed_interactions,
        None: rti.unsubscribe_object_class_directed_interactions,
    }[universally]
    return lambda: call(b.classes[cls], {b.interactions[n] for n in names}), (cls, names, universally)


def _send(b: Bench, rti: Any, cls: str, names: set[str], tag: bytes, time: Any) -> Any:
    values = {b.parameters[name]: name.encode() for name in sorted(names)}
    return lambda: rti.send_interaction(b.interactions[cls], values, tag, time), (cls, names, tag, time)


def _direct(b: Bench, rti: Any, cls: str, target: Any, names: set[str], tag: bytes) -> Any:
    values = {b.parameters[name]: name.encode() for name in sorted(names)}
    return lambda: rti.send_directed_interaction(b.interactions[cls], target, values, tag), (
        cls,
        target,
        names,
        tag,
    )


def _reserve(b: Bench, rti: Any, name: str, names: frozenset[str] | None) -> Any:
    if names is None:
        return lambda: rti.reserve_object_instance_name(name), (frozenset([name]), False)
    return lambda: rti.reserve_multiple_object_instance_names(names), (names, True)


def _release(b: Bench, rti: Any, name: str, names: frozenset[str] | None) -> Any:
    if names is None:
        return lambda: rti.release_object_instance_name(name), (frozenset([name]),)
    return lambda: rti.release_multiple_object_instance_names(names), (names,)


def _update(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes, time: Any) -> Any:
    values = {b.attributes[name]: name.encode() for name in sorted(names)}
    return lambda: rti.update_attribute_values(target, values, tag, time), (target, names, tag, time)


def _delete(b: Bench, rti: Any, target: Any, tag: bytes, time: Any) -> Any:
    return lambda: rti.delete_object_instance(target, tag, time), (target, tag, time)


def _local_delete(b: Bench, rti: Any, target: Any) -> Any:
    return lambda: rti.local_delete_object_instance(target), (target,)


def _request_instance(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes) -> Any:
    return lambda: rti.request_attribute_value_update(target, b.set_of(names), tag), (target, names, tag)


def _request_class(b: Bench, rti: Any, cls: str, names: set[str], tag: bytes) -> Any:
    return lambda: rti.request_attribute_value_update(b.classes[cls], b.set_of(names), tag), (cls, names, tag)


def _change_way(b: Bench, rti: Any, target: Any, names: set[str], way: str) -> Any:
    call = rti.request_attribute_transportation_type_change
    return lambda: call(target, b.set_of(names), b.ways[way]), (target, names, way)


def _change_default_way(b: Bench, rti: Any, cls: str, names: set[str], way: str) -> Any:
    call = rti.change_default_attribute_transportation_type
    return lambda: call(b.classes[cls], b.set_of(names), b.ways[way]), (cls, names, way)


def _change_interaction_way(b: Bench, rti: Any, cls: str, way: str) -> Any:
    call = rti.request_interaction_transportation_type_change
    return lambda: call(b.interactions[cls], b.ways[way]), (cls, way)


def _divest(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes) -> Any:
    call = rti.unconditional_attribute_ownership_divestiture
    return lambda: call(target, b.set_of(names), tag), (target, names, tag)


def _negotiate(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes) -> Any:
    call = rti.negotiated_attribute_ownership_divestiture
    return lambda: call(target, b.set_of(names), tag), (target, names, tag)


def _confirm(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes) -> Any:
    return lambda: rti.confirm_divestiture(target, b.set_of(names), tag), (target, names, tag)


def _cancel_divestiture(b: Bench, rti: Any, target: Any, names: set[str]) -> Any:
    call = rti.cancel_negotiated_attribute_ownership_divestiture
    return lambda: call(target, b.set_of(names)), (target, names)


def _deny(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes) -> Any:
    return lambda: rti.attribute_ownership_release_denied(target, b.set_of(names), tag), (target, names, tag)


def _acquire(b: Bench, rti: Any, target: Any, names: set[str], tag: bytes, lasting: bool) -> Any:
    call = (
        rti.attribute_ownership_acquisition if lasting else rti.attribute_ownership_acquisition_if_available
    )
    return lambda: call(target, b.set_of(names), tag), (target, names, tag, lasting)


def _cancel_acquisition(b: Bench, rti: Any, target: Any, names: set[str]) -> Any:
    call = rti.cancel_attribute_ownership_acquisition
    return lambda: call(target, b.set_of(names)), (target, names)


def _query_ownership(b: Bench, rti: Any, target: Any, names: set[str]) -> Any:
    return lambda: rti.query_attribute_ownership(target, b.set_of(names)), (target, names)


def _achieve(b: Bench, rti: Any, label: str, well: bool | None) -> Any:
    return lambda: rti.synchronization_point_achieved(label, well), (label, well is not False)


_CALLS: dict[str, Callable[..., Any]] = {
    "publish": _publish,
    "unpublish": _unpublish,
    "subscribe": _subscribe,
    "unsubscribe": _unsubscribe,
    "publish_interaction": _publish_interaction,
    "subscribe_interaction": _subscribe_interaction,
    "publish_directed": _publish_directed,
    "subscribe_directed": _subscribe_directed,
    "send": _send,
    "send_directed": _direct,
    "reserve": _reserve,
    "release": _release,
    "update": _update,
    "delete": _delete,
    "local_delete": _local_delete,
    "request_instance": _request_instance,
    "request_class": _request_class,
    "change_way": _change_way,
    "change_default_way": _change_default_way,
    "change_interaction_way": _change_interaction_way,
    "achieve": _achieve,
    "divest": _divest,
    "negotiate": _negotiate,
    "confirm": _confirm,
    "cancel_divestiture": _cancel_divestiture,
    "deny": _deny,
    "acquire": _acquire,
    "cancel_acquisition": _cancel_acquisition,
    "query_ownership": _query_ownership,
}
