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
from weft.model.time import HLAinteger64TimeFactory, time_factory
from weft.prove.calls.signatures import SIGNATURES
from weft.prove.script import HeardCallback, Script, ScriptedCall
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
        kinds = SIGNATURES[step.call]
        given: list[object] = []
        keywords: dict[str, object] = {}
        context = ""
        for kind, plain in zip(kinds, step.arguments, strict=False):
            bare = kind.rstrip("?=")
            if bare in ("class", "interaction") and not (bare == "class" and context):
                context = str(plain)
            elif bare == "instance" and step.call != "send_directed_interaction":
                context = self.class_of.get(str(plain), "")
            elif bare == "target":
                context = self.class_of.get(str(plain), str(plain))
            value = self._value(bare, plain, context)
            if kind.endswith("="):
                if value is not None:
                    keywords[bare] = value
            else:
                given.append(value)
        return given, keywords

    def _value(self, kind: str, plain: Json, context: str) -> object:
        if plain is None:
            return None
        plainly = _HANDLE_KINDS.get(kind)
        if plainly is not None:
            return self.handle(plainly, plain)
        several = _SET_KINDS.get(kind)
        if several is not None:
            return frozenset(self.handle(several, name) for name in _list(plain))
        convert = getattr(self, f"_{kind}", None)
        return plain if convert is None else convert(plain, context)

    def _federation(self, plain: Json, context: str) -> str:
        return f"{self.federation}-{plain}"

    def _model(self, plain: Json, context: str) -> object:
        return self.words.sources

    def _tag(self, plain: Json, context: str) -> bytes:
        return str(plain).encode("latin-1")

    def _names(self, plain: Json, context: str) -> frozenset[str]:
        return frozenset(map(str, _list(plain)))

    def _time(self, plain: Json, context: str) -> object:
        factory = self.factory
        if isinstance(factory, HLAinteger64TimeFactory):
            return factory.make_time(_whole(plain))
        return factory.make_time(_number(plain))

    def _interval(self, plain: Json, context: str) -> object:
        factory = self.factory
        if isinstance(factory, HLAinteger64TimeFactory):
            return factory.make_interval(_whole(plain))
        return factory.make_interval(_number(plain))

    def _action(self, plain: Json, context: str) -> ResignAction:
        return ResignAction[str(plain)]

    def _order(self, plain: Json, context: str) -> OrderType:
        return OrderType[str(plain)]

    def _bounds(self, plain: Json, context: str) -> RangeBounds:
        lower, upper = map(_whole, _list(plain))
        return RangeBounds(lower, upper)

    def _attribute(self, plain: Json, context: str) -> AttributeHandle:
        return self.attributes.get((context, str(plain))) or self.handle(AttributeHandle, plain)

    def _attributes(self, plain: Json, context: str) -> frozenset[AttributeHandle]:
        return frozenset(self._attribute(name, context) for name in _list(plain))

    def _parameter(self, plain: Json, context: str) -> ParameterHandle:
        return self.parameters.get((context, str(plain))) or self.handle(ParameterHandle, plain)

    def _values(self, plain: Json, context: str) -> dict[AttributeHandle, bytes]:
        type_of = self.words.attribute_type
        return {
            self._attribute(name, context): self._bytes(value, type_of(context, name))
            for name, value in _members(plain)
        }

    def _parameters(self, plain: Json, context: str) -> dict[ParameterHandle, bytes]:
        type_of = self.words.parameter_type
        return {
            self._parameter(name, context): self._bytes(value, type_of(context, name))
            for name, value in _members(plain)
        }

    def _pairs(self, plain: Json, context: str) -> object:
        return [
            (
                self._attributes(names, context),
                frozenset(self.handle(RegionHandle, one) for one in _list(regions)),
            )
            for names, regions in map(_list, _list(plain))
        ]

    def _target(self, plain: Json, context: str) -> Handle:
        kind = ObjectInstanceHandle if plain in self.class_of else ObjectClassHandle
        return self.handle(kind, plain)

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


_HANDLE_KINDS: dict[str, type[Handle]] = {
    "class": ObjectClassHandle,
    "interaction": InteractionClassHandle,
    "instance": ObjectInstanceHandle,
    "federate": FederateHandle,
    "region": RegionHandle,
    "dimension": DimensionHandle,
    "transportation": TransportationTypeHandle,
    "retraction": MessageRetractionHandle,
}
_SET_KINDS: dict[str, type[Handle]] = {
    "interactions": InteractionClassHandle,
    "federates": FederateHandle,
    "regions": RegionHandle,
    "dimensions": DimensionHandle,
}
