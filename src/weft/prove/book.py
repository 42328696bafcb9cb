"""Names for handles, and handles for names, in one federation of one world.

What a federate observes is written down in names, so that two worlds can be compared whatever numbers they give.
"""

from __future__ import annotations

import json
import re
from collections.abc import ItemsView, Mapping, Sequence, Set
from enum import Enum
from typing import TypeVar

from weft.federate import RTIambassador
from weft.fom import PRIVILEGE_TO_DELETE
from weft.model.conveyed import conveyed_bounds
from weft.model.enums import OrderType, ResignAction
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.json_types import Json
from weft.model.records import RangeBounds
from weft.model.time import HLAinteger64TimeFactory, LogicalTime, LogicalTimeInterval, time_factory
from weft.prove.script import HeardCallback, Script, ScriptedCall
from weft.prove.signatures import SIGNATURES
from weft.prove.words import ModelWords

H = TypeVar("H", bound=Handle)
_UNKNOWN = 0xFFFF00  # numbers from here on are of nothing
_GIVEN_NAME = re.compile(r"HLA\d+$")


class HandleBook:
    def __init__(self, words: ModelWords, script: Script, federation: str) -> None:
        self.words = words
        self.federation = federation
        factory = time_factory(script.time)
        assert factory is not None
        self.factory = factory
        self.handles: dict[tuple[type[Handle], str], Handle] = {}
        self.names: dict[Handle, str] = {}
        self.attributes: dict[tuple[str, str], AttributeHandle] = {}  # by class and name
        self.parameters: dict[tuple[str, str], ParameterHandle] = {}
        self.class_of: dict[str, str] = {}  # the class that an instance was registered with
        self.filled = False

    # --- what is learned --------------------------------------------------------------------------------------

    def learn(self, kind: type[Handle], name: str, handle: Handle) -> None:
        self.handles[kind, name] = handle
        self.names[handle] = name

    def fill(self, rti: RTIambassador) -> None:
        """Once a federate has joined: all names of the object model."""
        if self.filled:
            return
        self.filled = True
        words = self.words
        for cls in words.all_classes:
            handle = rti.get_object_class_handle(cls)
            self.learn(ObjectClassHandle, cls, handle)
            for name in (*words.attributes(cls), PRIVILEGE_TO_DELETE):
                attribute = rti.get_attribute_handle(handle, name)
                self.attributes[cls, name] = attribute
                self.learn(AttributeHandle, name, attribute)
        for interaction in words.all_interactions:
            its = rti.get_interaction_class_handle(interaction)
            self.learn(InteractionClassHandle, interaction, its)
            for name in words.parameters(interaction):
                parameter = rti.get_parameter_handle(its, name)
                self.parameters[interaction, name] = parameter
                self.learn(ParameterHandle, name, parameter)
        for name in words.dimensions:
            self.learn(DimensionHandle, name, rti.get_dimension_handle(name))
        for name in words.transportations:
            self.learn(TransportationTypeHandle, name, rti.get_transportation_type_handle(name))

    # --- from names -------------------------------------------------------------------------------------------

    def handle(self, kind: type[H], name: Json) -> H:
        """A name nobody has given stands for a handle of nothing."""
        found = self.handles.get((kind, str(name)))
        return found if isinstance(found, kind) else kind.of(_UNKNOWN)

    def arguments(self, step: ScriptedCall) -> tuple[list[object], dict[str, object]]:
        """Attributes and parameters are those of the class or instance that stands before them."""
        given: list[object] = []
        keywords: dict[str, object] = {}
        context = ""
        for parameter, plain in zip(SIGNATURES[step.call], step.arguments, strict=False):
            name = parameter.name
            if name == "interaction_class" or (name == "object_class" and not context):
                context = str(plain)
            elif name == "object_instance" and step.call != "send_directed_interaction":
                context = self.class_of.get(str(plain), "")
            elif name == "target":
                context = self.class_of.get(str(plain), str(plain))
            value = None if plain is None else self._value(name, plain, context)
            if parameter.kind is not parameter.KEYWORD_ONLY:
                given.append(value)
            elif value is not None:
                keywords[name] = value
        return given, keywords

    def _value(self, name: str, plain: Json, context: str) -> object:
        """What stands for the argument of a parameter of that name."""
        if name in _HANDLES:
            return self.handle(_HANDLES[name], plain)
        if name in _HANDLE_SETS:
            return frozenset(self.handle(_HANDLE_SETS[name], one) for one in _list(plain))
        match name:
            case "federation_name":
                return f"{self.federation}-{plain}"
            case "fom_modules":
                return self.words.sources
            case "user_supplied_tag":
                return str(plain).encode("latin-1")
            case "object_instance_names":
                return frozenset(map(str, _list(plain)))
            case "time":
                return self._time(plain)
            case "lookahead":
                return self._interval(plain)
            case "resign_action":
                return ResignAction[str(plain)]
            case "value":
                return plain if isinstance(plain, bool) else ResignAction[str(plain)]
            case "order" | "order_type":
                return OrderType[str(plain)]
            case "range_bounds":
                return RangeBounds(*map(_whole, _list(plain)))
            case "target":
                kind = ObjectInstanceHandle if plain in self.class_of else ObjectClassHandle
                return self.handle(kind, plain)
            case _:
                return self._value_of_class(name, plain, context)

    def _value_of_class(self, name: str, plain: Json, context: str) -> object:
        match name:
            case "attribute":
                return self._attribute(plain, context)
            case "attributes" | "confirmed_attributes" | "desired_attributes":
                return self._attributes(plain, context)
            case "parameter":
                return self._parameter(plain, context)
            case "attribute_values":
                return {
                    self._attribute(one, context): self._bytes(value, self.words.attribute_type(context, one))
                    for one, value in _members(plain)
                }
            case "parameter_values":
                return {
                    self._parameter(one, context): self._bytes(value, self.words.parameter_type(context, one))
                    for one, value in _members(plain)
                }
            case "attributes_and_regions":
                return [
                    (self._attributes(names, context), self._value("regions", regions, context))
                    for names, regions in map(_list, _list(plain))
                ]
            case _:
                return plain

    def _time(self, plain: Json) -> LogicalTime:
        factory = self.factory
        if isinstance(factory, HLAinteger64TimeFactory):
            return factory.make_time(_whole(plain))
        return factory.make_time(_number(plain))

    def _interval(self, plain: Json) -> LogicalTimeInterval:
        factory = self.factory
        if isinstance(factory, HLAinteger64TimeFactory):
            return factory.make_interval(_whole(plain))
        return factory.make_interval(_number(plain))

    def _attribute(self, plain: Json, context: str) -> AttributeHandle:
        return self.attributes.get((context, str(plain))) or self.handle(AttributeHandle, plain)

    def _attributes(self, plain: Json, context: str) -> frozenset[AttributeHandle]:
        return frozenset(self._attribute(name, context) for name in _list(plain))

    def _parameter(self, plain: Json, context: str) -> ParameterHandle:
        return self.parameters.get((context, str(plain))) or self.handle(ParameterHandle, plain)

    def _bytes(self, plain: Json, data_type: str) -> bytes:
        """A text stands for its bytes; {"federate": name} and {"value": …} are encoded as the data type says.

        Where nobody knows the type, as of an instance that was not registered, a value stands for its own text.
        """
        if isinstance(plain, Mapping) and data_type:
            value = self.handle(FederateHandle, plain["federate"]) if "federate" in plain else plain["value"]
            return self.words.model.encode(data_type, value)
        return plain.encode("latin-1") if isinstance(plain, str) else json.dumps(plain).encode()

    # --- to names ---------------------------------------------------------------------------------------------

    def say(self, value: object) -> Json:
        """In plain data, with names for handles; sets in order."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return value.replace(f"{self.federation}-", "")
        if isinstance(value, Handle):
            return self._say_handle(value)
        if isinstance(value, (bytes, memoryview)):
            return bytes(value).decode("latin-1")
        if isinstance(value, Enum):
            return value.name
        if isinstance(value, Mapping):
            return {str(self.say(key)): self.say(one) for key, one in sorted(value.items())}
        if isinstance(value, Set):
            return sorted((self.say(one) for one in value), key=repr)
        if isinstance(value, (tuple, list)):
            return [self.say(one) for one in value]
        if hasattr(value, "value"):
            return self.say(value.value)  # a logical time or interval
        return repr(value)

    def _say_handle(self, handle: Handle) -> Json:
        found = self.names.get(handle)
        if found is not None:
            return found
        if isinstance(handle, RegionHandle):
            bounds = conveyed_bounds(handle)
            if bounds is not None:
                return {str(self.say(dimension)): list(both) for dimension, both in sorted(bounds.items())}
        return f"{type(handle).__name__} {bytes(handle).hex()}"

    def say_name(self, handle: Handle, name: str) -> str:
        """Of an instance: a name that the RTI gave is that of its handle."""
        if _GIVEN_NAME.match(name) and handle in self.names:
            return f"name of {self.names[handle]}"
        return str(self.say(name))

    def say_callback(self, method: str, arguments: tuple[object, ...]) -> HeardCallback:
        if method == "discover_object_instance":
            instance, cls, name, producer = arguments
            assert isinstance(instance, ObjectInstanceHandle)
            assert isinstance(name, str)
            if instance not in self.names:
                self.learn(ObjectInstanceHandle, str(self.say(name)), instance)
            rest = (self.say(cls), self.say_name(instance, name), self.say(producer))
            return [method, self.say(instance), *rest]
        if method == "initiate_federate_restore":
            _, name, handle = arguments
            assert isinstance(handle, FederateHandle)
            self.learn(FederateHandle, str(name), handle)
        if method == "report_federation_executions":
            (report,) = arguments
            assert isinstance(report, Set)
            ours = [one for one in report if one[0].startswith(f"{self.federation}-")]
            return [method, sorted((self.say(one) for one in ours), key=repr)]
        said = [self.say(one) for one in arguments]
        if method == "receive_interaction":
            # What HLAexception has is words for people.
            said[1] = {name: "…" if name == "HLAexception" else value for name, value in _members(said[1])}
        return [method, *said]

    def note_result(self, step: ScriptedCall, result: object) -> Json:
        """What the call returned, in names; what it made has the step's name from now on."""
        if step.call == "join_federation_execution":
            assert isinstance(result, FederateHandle)
            self.learn(FederateHandle, str(step.arguments[0]), result)
        elif step.name and isinstance(result, Handle):
            self.learn(type(result), step.name, result)
            if isinstance(result, ObjectInstanceHandle):
                self.class_of[step.name] = str(step.arguments[0])
        elif step.name and isinstance(result, tuple) and isinstance(result[1], MessageRetractionHandle):
            self.learn(MessageRetractionHandle, step.name, result[1])
        if step.call == "get_object_instance_name" and isinstance(result, str):
            handle = self.handles.get((ObjectInstanceHandle, str(step.arguments[0])))
            return result if handle is None else self.say_name(handle, result)
        return self.say(result)


def _list(plain: Json) -> Sequence[Json]:
    if not isinstance(plain, list | tuple):
        raise TypeError(f"a list is needed, not {plain!r}")
    return plain


def _whole(plain: Json) -> int:
    if not isinstance(plain, int):
        raise TypeError(f"a whole number is needed, not {plain!r}")
    return plain


def _number(plain: Json) -> float:
    if not isinstance(plain, int | float):
        raise TypeError(f"a number is needed, not {plain!r}")
    return plain


def _members(plain: Json) -> ItemsView[str, Json]:
    if not isinstance(plain, Mapping):
        raise TypeError(f"an object is needed, not {plain!r}")
    return plain.items()


_HANDLES: dict[str, type[Handle]] = {
    "object_class": ObjectClassHandle,
    "interaction_class": InteractionClassHandle,
    "object_instance": ObjectInstanceHandle,
    "federate": FederateHandle,
    "region": RegionHandle,
    "dimension": DimensionHandle,
    "transportation_type": TransportationTypeHandle,
    "retraction": MessageRetractionHandle,
}
_HANDLE_SETS: dict[str, type[Handle]] = {
    "interaction_classes": InteractionClassHandle,
    "synchronization_set": FederateHandle,
    "regions": RegionHandle,
    "dimensions": DimensionHandle,
}
