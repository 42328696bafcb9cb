"""Which data type an annotation is, and how its values become those that codecs take.

float, int, bool, str and bytes are HLAfloat64BE, HLAinteger64BE, HLAboolean, HLAunicodeString and HLAopaqueData; an Enum of
whole numbers is an enumeration; a dataclass is a fixed record; `list[X]` and `tuple[X, ...]` are variable arrays, `tuple[X, X]`
is a fixed one.  Data types of one's own have the names of their classes, arrays "XArray" and "XArray2".  `Annotated` with `hla`
says another data type, or another name.

All else is refused, with what would do instead.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Union, get_args, get_origin, get_type_hints

from weft.fom.datatypes import (
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    Enumerator,
    FixedRecordType,
    SimpleType,
)
from weft.fom.datatypes import Field as RecordField
from weft.fom.encoding.compiler import Codecs
from weft.fom.encoding.elements import elements_of
from weft.fom.encoding.typed import ValueSet, same
from weft.fom.mim import standard_mim
from weft.model.errors import ConflictingObjectModels, EncodingError, InvalidObjectModel

_NAME = re.compile(r"[^\W\d][\w-]*")
_PLAIN: dict[object, str] = {
    float: "HLAfloat64BE",
    int: "HLAinteger64BE",
    bool: "HLAboolean",
    str: "HLAunicodeString",
    bytes: "HLAopaqueData",
}
_REPRESENTATION = "HLAinteger32BE"
"""Of an enumeration that names no other."""

_KNOWN = "float, int, bool, str, bytes, an Enum of whole numbers, a dataclass of these, list[…] or tuple[…] of one of these"


@dataclass(frozen=True, slots=True)
class TypeWords:
    """What `Annotated` says of a data type, an attribute or a parameter; empty: as usual."""

    data_type: str = ""
    representation: str = ""
    units: str = ""
    order: str = ""
    transportation: str = ""

    def and_then(self, other: TypeWords) -> TypeWords:
        """What the other says beside or instead: `Annotated[Metres, hla(order=…)]` of an annotated `Metres`."""
        return TypeWords(
            *(getattr(other, one.name) or getattr(self, one.name) for one in dataclasses.fields(self))
        )


def hla(
    data_type: str = "",
    *,
    representation: str = "",
    units: str = "",
    order: str = "",
    transportation: str = "",
) -> TypeWords:
    """For `Annotated`: which data type of HLA it is, and how an attribute goes.

    `Annotated[int, weft.hla("HLAinteger32BE")]`.  With a `representation` the name is that of a data type of one's own:
    `weft.hla("Metres", representation="HLAfloat32BE", units="m")`.  `order` ("Receive", "TimeStamp") and `transportation`
    ("HLAreliable", "HLAbestEffort") are of attributes; those of an interaction are said of its class.
    """
    return TypeWords(data_type, representation, units, order, transportation)


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A data type by its name, and the ways between a value of the annotation and what codecs take and give."""

    data_type: str
    to_plain: Callable[..., object] = same
    from_plain: Callable[..., object] = same
    optional: bool = False
    declared: TypeWords = TypeWords()


class TypesOf:
    """All data types that annotations need."""

    def __init__(self) -> None:
        self.types: dict[str, DataType] = {}
        self._records: dict[tuple[type, str], _Record] = {}

    def use(self, annotation: object, where: str) -> TypeUse:
        """Of an attribute or parameter; `X | None` is one that may be left out."""
        base, declared, optional = _split(annotation)
        return dataclasses.replace(self._named(base, declared, where), declared=declared, optional=optional)

    def _part(self, annotation: object, where: str) -> TypeUse:
        """Of a field of a record, or an element of an array."""
        use = self.use(annotation, where)
        if use.optional:
            raise InvalidObjectModel(
                f"{where}: only an attribute or parameter as a whole may be left out, as X | None; "
                "here write a list of none or one, or a field beside it that says whether it counts"
            )
        if use.declared.order or use.declared.transportation:
            raise InvalidObjectModel(f"{where}: order and transportation are of a whole attribute")
        return use

    def _named(self, base: object, declared: TypeWords, where: str) -> TypeUse:
        if base in _PLAIN:
            return TypeUse(self._plain(base, declared, where))
        if isinstance(base, type) and issubclass(base, Enum):
            return self._enumeration(base, declared, where)
        if isinstance(base, type) and issubclass(base, ValueSet):
            raise InvalidObjectModel(
                f"{where}: {base.__name__} is a class of the object model, and no data type; "
                "name its instance by a str, or make a dataclass of its own for the value"
            )
        if isinstance(base, type) and dataclasses.is_dataclass(base):
            return self._record(base, declared, where)
        if get_origin(base) in (list, tuple) and get_args(base):
            return self._array(base, declared, where)
        instead = "say of what, as in list[float]" if base in (list, tuple) else f"there are {_KNOWN}"
        if isinstance(base, Enum):
            instead = "the field has the name of its type: write `from __future__ import annotations`, or another name"
        raise InvalidObjectModel(f"{where}: {_shown(base)} is no data type; {instead}")

    def _plain(self, annotation: object, declared: TypeWords, where: str) -> str:
        name = declared.data_type or _PLAIN[annotation]
        base = declared.representation or name
        held = python_type_of(base)
        wanted = getattr(annotation, "__name__", "")
        if held != wanted:
            raise InvalidObjectModel(
                f"{where}: no data type {base!r} is known of the standard; with representation= it is one of your own"
                if not held
                else f"{where}: {base} holds {held}, and the annotation says {wanted}"
            )
        if declared.representation:
            if not isinstance(standard_mim().data_types[base], BasicType):
                raise InvalidObjectModel(
                    f"{where}: {base} is no basic representation, as HLAfloat32BE is; only of those others are made"
                )
            self._define(
                SimpleType(name, base, declared.units or "NA", resolution="NA", accuracy="NA"), where
            )
        return name

    def _enumeration(self, kind: type[Enum], declared: TypeWords, where: str) -> TypeUse:
        name = declared.data_type or kind.__name__
        for member in kind:
            if type(member.value) is not int:
                raise InvalidObjectModel(
                    f"{where}: {kind.__name__}.{member.name} is {member.value!r}; an enumerator is a whole number"
                )
        members = tuple(Enumerator(member.name, (member.value,)) for member in kind)
        if not members:
            raise InvalidObjectModel(f"{where}: {kind.__name__} has no enumerators")
        representation = declared.representation or _REPRESENTATION
        if python_type_of(representation) != "int":
            raise InvalidObjectModel(
                f"{where}: {representation!r} is no representation of an enumeration, as HLAinteger32BE and HLAoctet are"
            )
        self._define(EnumeratedType(name, representation, members), where)

        def to_plain(value: object) -> object:
            if not isinstance(value, kind):
                raise TypeError(f"expected a {kind.__name__}")
            return value.value

        def from_plain(plain: str | int) -> object:
            try:
                return kind[plain] if isinstance(plain, str) else kind(int(plain))
            except ValueError:
                raise EncodingError(f"{name}: {kind.__name__} has no enumerator {plain!r}") from None

        return TypeUse(name, to_plain, from_plain)

    def _record(self, kind: type, declared: TypeWords, where: str) -> TypeUse:
        name = declared.data_type or kind.__name__
        record = self._records.get((kind, name))
        if record is None:
            record = self._records[kind, name] = _Record(kind)
            record.fields = {
                field: self._part(annotation, f"{where}.{field}")
                for field, annotation in annotations_of(kind, where).items()
            }
            fields = tuple(RecordField(field, use.data_type) for field, use in record.fields.items())
            self._define(FixedRecordType(name, "HLAfixedRecord", fields), where)
        return TypeUse(name, record.to_plain, record.from_plain)

    def _array(self, annotation: object, declared: TypeWords, where: str) -> TypeUse:
        is_list, parts = get_origin(annotation) is list, get_args(annotation)
        count = None if is_list or parts[-1] is Ellipsis else len(parts)
        if count is not None and any(part != parts[0] for part in parts):
            raise InvalidObjectModel(
                f"{where}: {_shown(annotation)} has elements of several types; a dataclass has names for them"
            )
        use = self._part(parts[0], f"{where}[]")
        text = _text_of(use.data_type)
        if text:
            raise InvalidObjectModel(f"{where}: an array of {use.data_type} is written {text}")
        name = declared.data_type or f"{use.data_type}Array{'' if count is None else count}"
        if count is None:
            self._define(ArrayType(name, use.data_type, "Dynamic", "HLAvariableArray"), where)
        else:
            self._define(ArrayType(name, use.data_type, str(count), "HLAfixedArray"), where)

        def to_plain(value: list[object]) -> object:
            if not isinstance(value, list | tuple):
                raise TypeError("expected a list")
            return [use.to_plain(each) for each in value]

        def from_plain(plain: list[object]) -> object:
            found = plain if use.from_plain is same else [use.from_plain(each) for each in plain]
            return found if is_list else tuple(found)

        return TypeUse(name, to_plain, from_plain)

    def _define(self, data_type: DataType, where: str) -> None:
        name = data_type.name
        if not _NAME.fullmatch(name):
            raise InvalidObjectModel(f"{where}: {name!r} cannot be the name of a data type")
        if name in standard_mim().data_types:
            raise InvalidObjectModel(
                f"{where}: {name} is a data type of the standard; give yours another name by weft.hla(…)"
            )
        known = self.types.setdefault(name, data_type)
        if known != data_type:
            raise ConflictingObjectModels(
                f"{where}: two data types are called {name}; give one of them another name by weft.hla(…)"
            )


class _Record:
    """The dataclass of a fixed record; its fields come later, for they may be of the same class."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.fields: Mapping[str, TypeUse] = {}

    def to_plain(self, value: object) -> object:
        if not isinstance(value, self._kind):
            raise TypeError(f"expected a {self._kind.__name__}")
        return {name: use.to_plain(getattr(value, name)) for name, use in self.fields.items()}

    def from_plain(self, plain: Mapping[str, object]) -> object:
        return self._kind(**{name: use.from_plain(plain[name]) for name, use in self.fields.items()})


def annotations_of(kind: type, where: str) -> dict[str, object]:
    """Of each field of a dataclass that its constructor takes; others are the program's own."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InvalidObjectModel(
            f"{where}: {error} where {kind.__qualname__} is defined; define the classes at the top of a module, not in a function"
        ) from None
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


def _split(annotation: object) -> tuple[object, TypeWords, bool]:
    """What is annotated, what is said of it, and whether it may be None."""
    declared, optional = TypeWords(), False
    while True:
        origin, found = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation = found[0]
            for one in found[1:]:
                if isinstance(one, TypeWords):
                    declared = declared.and_then(one)
        elif origin in (Union, types.UnionType) and len(found) == 2 and type(None) in found:
            annotation, optional = next(one for one in found if one is not type(None)), True
        else:
            return annotation, declared, optional


@cache
def _standard_codecs() -> Codecs:
    return Codecs(standard_mim().data_types)


def python_type_of(name: str) -> str:
    """What a data type of the standard holds: "int", "float", "str" …; empty if there is none of that name."""
    known = standard_mim().data_types.get(name)
    if known is None:
        return ""
    return _standard_codecs().codec(name).python_type


def _text_of(name: str) -> str:
    """What an array of this standard type is in Python, if not a list."""
    if name not in standard_mim().data_types:
        return ""
    found = elements_of(_standard_codecs().codec(name)).python_type
    return found if found in ("str", "bytes") else ""


def _shown(annotation: object) -> str:
    return (
        annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    )
