"""Random operations for the bench: what Hypothesis draws, and how each is called at the real RTI.

Most arguments are right most of the time: handles of nothing ("?"), foreign attributes and empty sets come now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from support.bench import SWITCHES, Bench
from support.fom import (
    BEST_EFFORT,
    INTERACTION_ROOT,
    INTERACTIONS,
    OBJECTS,
    RATES,
    RELIABLE,
    ROOT,
    attributes_of,
    parameters_of,
)

from weft import ResignAction
from weft.model.time import HLAfloat64Time, HLAinteger64Time

SEATS = 4
Draw = Callable[[st.SearchStrategy[Any]], Any]

_TANK = "Vehicle.GroundVehicle.Tank"
_classes = st.sampled_from([_TANK, "Vehicle", "Vehicle.GroundVehicle", _TANK, *OBJECTS, ROOT, "?"])
_interactions = st.sampled_from([*INTERACTIONS, *INTERACTIONS, INTERACTION_ROOT, "?"])
_all_attributes = sorted({a for cls in OBJECTS for a in attributes_of(cls)})
_all_parameters = sorted({p for cls in INTERACTIONS for p in parameters_of(cls)})
_seats = st.sampled_from([0, 1, 2, 0, 1, 2, 3])
_instances = st.sampled_from([0, 0, 1, 1, 2, 3, 5, -1])
_tags = st.sampled_from([b"", b"tag"])
_names = st.sampled_from(["a", "b", "c"])
_odd_names = st.sampled_from(["a", "b", "c", "a", "b", "c", "", "HLAown"])
_labels = st.sampled_from(["ready", "go"])
_ways = st.sampled_from([RELIABLE, BEST_EFFORT, RELIABLE, BEST_EFFORT, "?"])
_times = st.sampled_from([None, None, None, HLAfloat64Time(1.5), HLAinteger64Time(2)])
_rarely = st.sampled_from([False] * 11 + [True])
_actions = st.sampled_from(list(ResignAction))
_rates = st.sampled_from(["", "", *RATES, *RATES, "?"])


def _subset(draw: Draw, own: list[str], foreign: list[str]) -> set[str]:
    chosen: set[str] = draw(st.sets(st.sampled_from(own), max_size=4)) if own else set()
    if own and not chosen and not draw(_rarely):
        chosen = set(own)
    if draw(_rarely):
        chosen.add(draw(st.sampled_from([*foreign, "?"])))
    return chosen


def _attributes(draw: Draw, cls: str) -> set[str]:
    return _subset(draw, sorted(attributes_of(cls)) if cls != "?" else ["?"], _all_attributes)


def _parameters(draw: Draw, cls: str) -> set[str]:
    return _subset(draw, parameters_of(cls) if cls != "?" else ["?"], _all_parameters)


def _class_and_attributes(draw: Draw) -> tuple[Any, ...]:
    cls = draw(_classes)
    return cls, _attributes(draw, cls)


def _class_maybe_attributes(draw: Draw) -> tuple[Any, ...]:
    cls = draw(_classes)
    return cls, None if draw(st.integers(0, 3)) == 0 else _attributes(draw, cls)


def _directed(draw: Draw) -> tuple[Any, ...]:
    commands = st.sampled_from(["Command", "Command.Halt", "Command.Halt", "Event", "?"])
    return draw(st.sampled_from(["Vehicle", "Vehicle", _TANK, ROOT, "?"])), draw(st.sets(commands, max_size=2))


def _instance_and_attributes(draw: Draw) -> tuple[Any, ...]:
    return draw(_instances), _attributes(draw, draw(st.sampled_from([_TANK, _TANK, "Vehicle", "Vehicle.Aircraft"])))


def _interaction_and_parameters(draw: Draw) -> tuple[Any, ...]:
    cls = draw(_interactions)
    return cls, _parameters(draw, cls)


def _send_directed(draw: Draw) -> tuple[Any, ...]:
    cls = draw(st.sampled_from(["Command.Halt", "Command.Halt", "Command", "Event", "?"]))
    return cls, draw(_instances), _parameters(draw, cls), draw(_tags)


def _point(draw: Draw) -> tuple[Any, ...]:
    numbers = st.lists(st.sampled_from([0, 1, 2, 0, 1, 2, 3, -1]), max_size=3)
    return draw(_labels), draw(_tags), draw(st.none() | numbers)


# Operation -> (weight, what to draw for it).
OPERATIONS: dict[str, tuple[int, Callable[[Draw], tuple[Any, ...]]]] = {
    "evoke": (2, lambda draw: ()),
    "join": (1, lambda draw: ()),
    "resign": (1, lambda draw: (draw(_actions),)),
    "publish": (3, _class_and_attributes),
    "unpublish": (2, _class_maybe_attributes),
    "subscribe": (4, lambda draw: (*_class_and_attributes(draw), draw(_rates), draw(st.booleans()))),
    "unsubscribe": (3, _class_maybe_attributes),
    "publish_interaction": (2, lambda draw: (draw(_interactions), draw(st.sampled_from([True, True, False])))),
    "subscribe_interaction": (2, lambda draw: (draw(_interactions), draw(st.sampled_from([True, False, None])))),
    "publish_directed": (1, lambda draw: (*_directed(draw), draw(st.sampled_from([True, True, False])))),
    "subscribe_directed": (1, lambda draw: (*_directed(draw), draw(st.sampled_from([True, False, None])))),
    "send": (3, lambda draw: (*_interaction_and_parameters(draw), draw(_tags), draw(_times))),
    "send_directed": (2, _send_directed),
    "reserve": (2, lambda draw: (draw(_odd_names), draw(st.none() | st.frozensets(_odd_names, max_size=2)))),
    "release": (1, lambda draw: (draw(_names), draw(st.none() | st.frozensets(_names, max_size=2)))),
    "register": (5, lambda draw: (draw(_classes), draw(st.none() | _names))),
    "update": (5, lambda draw: (*_instance_and_attributes(draw), draw(_tags), draw(_times))),
    "delete": (1, lambda draw: (draw(_instances), draw(_tags), draw(_times))),
    "local_delete": (2, lambda draw: (draw(_instances),)),
    "request_instance": (1, lambda draw: (*_instance_and_attributes(draw), draw(_tags))),
    "request_class": (1, lambda draw: (*_class_and_attributes(draw), draw(_tags))),
    "change_way": (1, lambda draw: (*_instance_and_attributes(draw), draw(_ways))),
    "change_default_way": (1, lambda draw: (*_class_and_attributes(draw), draw(_ways))),
    "change_interaction_way": (1, lambda draw: (draw(_interactions), draw(_ways))),
    "register_point": (2, _point),
    "achieve": (3, lambda draw: (draw(_labels), draw(st.none() | st.booleans()))),
    "set_switch": (1, lambda draw: (draw(st.sampled_from(list(SWITCHES))), draw(st.booleans()))),
}


@st.composite
def operations(draw: Draw, *which: str) -> tuple[Any, ...]:
    """(operation, seat, further arguments); of these operations, or of all."""
    weighted = [name for name, (weight, _) in OPERATIONS.items() for _ in range(weight) if name in (which or OPERATIONS)]
    name = draw(st.sampled_from(weighted))
    return name, draw(_seats), *OPERATIONS[name][1](draw)


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
        rti.publish_object_class_directed_interactions if on else rti.unpublish_object_class_directed_interactions
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


def _direct(b: Bench, rti: Any, cls: str, number: int, names: set[str], tag: bytes) -> Any:
    target = b.instance(number)
    values = {b.parameters[name]: name.encode() for name in sorted(names)}
    return lambda: rti.send_directed_interaction(b.interactions[cls], target, values, tag), (cls, target, names, tag)


def _reserve(b: Bench, rti: Any, name: str, names: frozenset[str] | None) -> Any:
    if names is None:
        return lambda: rti.reserve_object_instance_name(name), (frozenset([name]), False)
    return lambda: rti.reserve_multiple_object_instance_names(names), (names, True)


def _release(b: Bench, rti: Any, name: str, names: frozenset[str] | None) -> Any:
    if names is None:
        return lambda: rti.release_object_instance_name(name), (frozenset([name]),)
    return lambda: rti.release_multiple_object_instance_names(names), (names,)


def _update(b: Bench, rti: Any, number: int, names: set[str], tag: bytes, time: Any) -> Any:
    target = b.instance(number)
    values = {b.attributes[name]: name.encode() for name in sorted(names)}
    return lambda: rti.update_attribute_values(target, values, tag, time), (target, names, tag, time)


def _delete(b: Bench, rti: Any, number: int, tag: bytes, time: Any) -> Any:
    target = b.instance(number)
    return lambda: rti.delete_object_instance(target, tag, time), (target, tag, time)


def _local_delete(b: Bench, rti: Any, number: int) -> Any:
    target = b.instance(number)
    return lambda: rti.local_delete_object_instance(target), (target,)


def _request_instance(b: Bench, rti: Any, number: int, names: set[str], tag: bytes) -> Any:
    target = b.instance(number)
    return lambda: rti.request_attribute_value_update(target, b.set_of(names), tag), (target, names, tag)


def _request_class(b: Bench, rti: Any, cls: str, names: set[str], tag: bytes) -> Any:
    return lambda: rti.request_attribute_value_update(b.classes[cls], b.set_of(names), tag), (cls, names, tag)


def _change_way(b: Bench, rti: Any, number: int, names: set[str], way: str) -> Any:
    target = b.instance(number)
    call = rti.request_attribute_transportation_type_change
    return lambda: call(target, b.set_of(names), b.ways[way]), (target, names, way)


def _change_default_way(b: Bench, rti: Any, cls: str, names: set[str], way: str) -> Any:
    call = rti.change_default_attribute_transportation_type
    return lambda: call(b.classes[cls], b.set_of(names), b.ways[way]), (cls, names, way)


def _change_interaction_way(b: Bench, rti: Any, cls: str, way: str) -> Any:
    call = rti.request_interaction_transportation_type_change
    return lambda: call(b.interactions[cls], b.ways[way]), (cls, way)


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
}
