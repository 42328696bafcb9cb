"""What a generated module will contain, and how each data type looks in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from weft.fom.codegen.names import MODULE_WORDS, Names, qualified
from weft.fom.datatypes import (
    ArrayType,
    DataType,
    EnumeratedType,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
    made_of,
)
from weft.fom.encoding import Codecs
from weft.fom.encoding.basic import is_boolean
from weft.fom.encoding.elements import elements_of
from weft.fom.encoding.notation import dimensions, enumerator_values
from weft.fom.encoding.standard import STANDARD
from weft.fom.objectmodel import InteractionClass, ObjectClass, ObjectModel
from weft.model.errors import EncodingError

RecordType = FixedRecordType | VariantRecordType
C = TypeVar("C", ObjectClass, InteractionClass)


class ModulePlan:
    """Chooses the data types and classes to generate, and gives each its name in Python."""

    def __init__(self, model: ObjectModel) -> None:
        self.types: Mapping[str, DataType] = model.data_types
        self.codecs = Codecs(model.data_types)
        self.object_classes = _beyond(model.object_classes, model.mim.object_classes if model.mim else ())
        self.interaction_classes = _beyond(
            model.interaction_classes, model.mim.interaction_classes if model.mim else ()
        )
        own = [name for name in model.data_types if model.mim is None or name not in model.mim.data_types]
        self.needed = [name for name in self._reachable([*own, *self._used()]) if self.encodable(name)]
        self.enumerations = [name for name in self.needed if self.is_enumeration(name)]
        self.records = [name for name in self.needed if isinstance(self.types.get(name), RecordType)]
        names = Names(MODULE_WORDS)
        self.type_names = {name: names.give(name) for name in [*self.enumerations, *self.records]}
        self.object_names = {name: names.give(*qualified(name)) for name in self.object_classes}
        self.interaction_names = {name: names.give(*qualified(name)) for name in self.interaction_classes}
        # Names of generated classes: a field of the same name would hide the class from its annotation.
        named = (self.type_names, self.object_names, self.interaction_names)
        self.taken = frozenset(name for names_given in named for name in names_given.values())

    def encodable(self, name: str) -> bool:
        try:
            self.codecs.codec(name)
        except EncodingError:
            return False
        return True

    def is_enumeration(self, name: str) -> bool:
        kind = self.types.get(name)
        return isinstance(kind, EnumeratedType) and not is_boolean(enumerator_values(kind))

    def record_fields(self, record: FixedRecordType) -> Iterator[tuple[str, str]]:
        """Name and type of each field that has a value, the included ones first."""
        included = self.types.get(record.include)
        if isinstance(included, FixedRecordType):
            yield from self.record_fields(included)
        for field in record.fields:
            if not self.codecs.codec(field.type).padding:
                yield field.name, field.type

    def annotation(self, name: str, within: tuple[str, ...] = ()) -> str:
        kind = self.types.get(name)
        match kind:
            case SimpleType() | ReferenceType():
                return self.annotation(kind.representation, within)
            case EnumeratedType() if self.is_enumeration(name):
                return f"{self.type_names[name]} | int"
            case FixedRecordType() | VariantRecordType():
                return self.type_names[name]
            case ArrayType():
                if name in within:  # an array of itself
                    return "Any"
                levels, text = self._levels(kind)
                element = text or self.annotation(kind.element, (*within, name))
                return "list[" * levels + element + "]" * levels
            case _:
                return self.codecs.codec(name).python_type

    def to_plain(self, name: str, expression: str) -> str:
        """Source that turns a typed value into what the codecs take."""
        return self._converted(name, expression, "{0}.to_plain()", "{0}")

    def from_plain(self, name: str, expression: str) -> str:
        """Source that turns what the codecs give into a typed value."""
        return self._converted(name, expression, "{1}.from_plain({0})", "known({1}, {0})")

    def _converted(
        self, name: str, expression: str, record: str, enumeration: str, within: tuple[str, ...] = ()
    ) -> str:
        kind = self.types.get(name)
        match kind:
            case SimpleType() | ReferenceType():
                return self._converted(kind.representation, expression, record, enumeration, within)
            case EnumeratedType() if self.is_enumeration(name):
                return enumeration.format(expression, self.type_names[name])
            case FixedRecordType() | VariantRecordType():
                return record.format(expression, self.type_names[name])
            case ArrayType() if name not in within:
                levels, _ = self._levels(kind)
                items = [f"item{len(within) + level or ''}" for level in range(levels)]
                innermost = items[-1] if items else expression
                text = self._converted(kind.element, innermost, record, enumeration, (*within, *items, name))
                if text == innermost:
                    return expression
                for item, source in zip(reversed(items), reversed([expression, *items[:-1]]), strict=True):
                    text = f"[{text} for {item} in {source}]"
                return text
            case _:
                return expression

    def _levels(self, array: ArrayType) -> tuple[int, str]:
        """How many lists deep an array is, and "str" or "bytes" if its innermost dimension is that."""
        ranks = len(dimensions(array.name, array.cardinality))
        innermost = elements_of(self.codecs.codec(array.element)).python_type
        return (ranks - 1, innermost) if innermost in ("str", "bytes") else (ranks, "")

    def _used(self) -> Iterator[str]:
        for object_class in self.object_classes.values():
            yield from (attribute.data_type for attribute in object_class.attributes)
        for interaction_class in self.interaction_classes.values():
            yield from (parameter.data_type for parameter in interaction_class.parameters)

    def _reachable(self, roots: Iterable[str]) -> list[str]:
        """The roots and all types they need, in the order of the model; standard types need no definition."""
        seen: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.types:
                continue
            seen.add(name)
            waiting += made_of(self.types[name])
        return [name for name in self.types if name in seen and name not in STANDARD]


def _beyond(classes: Mapping[str, C], standard: Iterable[str]) -> dict[str, C]:
    """The classes that the MIM does not already have."""
    known = set(standard)
    return {name: found for name, found in classes.items() if name not in known}
