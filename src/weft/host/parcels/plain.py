"""What control parcels hold as plain data, and back: a closed set of types, each by its name; nothing is ever executed.

Handles keep their bytes as they are: a federate may have made one up, and the home must refuse it as any node would.
What is plain already (snapshots, shares) is passed as it is, by `parcels.codec`.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from weft.interest import AttributeWish
from weft.model import enums, errors, records
from weft.model.errors import RTIexception, WeftError
from weft.model.handles import Handle
from weft.model.packed import PackedValues
from weft.model.records import Source
from weft.model.time import HLAfloat64Interval, HLAfloat64Time, HLAinteger64Interval, HLAinteger64Time


class ParcelError(WeftError):
    """Bytes that are no parcel, or a value that no parcel can hold; the message says which."""


_TIMES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (HLAfloat64Time, HLAinteger64Time, HLAfloat64Interval, HLAinteger64Interval)
}
_HANDLES = {kind.__name__: kind for kind in Handle.__subclasses__()}
_ENUMS: dict[str, Any] = {
    name: kind for name, kind in vars(enums).items() if isinstance(kind, type) and issubclass(kind, Enum)
}
_RECORDS: dict[str, Any] = {
    name: kind
    for name, kind in [*vars(records).items(), ("AttributeWish", AttributeWish)]
    if isinstance(kind, type) and issubclass(kind, tuple)
}
_ERRORS: dict[str, type[RTIexception]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, RTIexception)
}


def to_plain(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return value
    if isinstance(value, Handle):
        return ["h", _known(_HANDLES, kind), bytes(value)]
    if kind is tuple or kind is list:
        return ["t" if kind is tuple else "l", [to_plain(item) for item in value]]
    if isinstance(value, tuple):
        return ["r", _known(_RECORDS, kind), [to_plain(item) for item in value]]
    if kind is dict:
        return ["m", [[to_plain(key), to_plain(item)] for key, item in value.items()]]
    if kind is set or kind is frozenset:
        return ["s", [to_plain(item) for item in _ordered(value)]]
    if isinstance(value, Enum):
        return ["e", _known(_ENUMS, kind), value.value]
    if kind is Source:
        return ["f", value.name, value.data]
    if isinstance(value, PackedValues):
        return to_plain(value.unpack())
    if isinstance(value, RTIexception):
        return ["x", _known(_ERRORS, kind), str(value)]
    return ["c", _known(_TIMES, kind), value.encode()]


def _known(table: dict[str, Any], kind: type) -> str:
    name: str = kind.__name__
    if table.get(name) is not kind:
        raise ParcelError(f"a {name} cannot go to another node")
    return name


def _ordered(values: Any) -> list[Any]:
    """In an order that does not depend on the process, where there is one."""
    try:
        nested = any(isinstance(value, frozenset) for value in values)
        return sorted(values, key=sorted) if nested else sorted(values)
    except TypeError:
        return list(values)


def from_plain(data: Any) -> Any:
    """Raises what it may where the data is not of `to_plain`; `parcels.codec` makes one error of it."""
    if type(data) is not list:
        if type(data) is dict:
            raise ParcelError("a map where none can be")
        return data
    kind, *rest = data
    made = _MAKERS[kind]
    return made(*rest)


def _exactly(table: dict[str, Any]) -> Any:
    def make(name: str, items: list[Any]) -> Any:
        return table[name](*[from_plain(item) for item in items])

    return make


def _handle(name: str, data: bytes) -> Handle:
    if type(data) is not bytes:
        raise ParcelError("a handle that is no bytes")
    return _HANDLES[name](data)


def _source(name: str, data: bytes) -> Source:
    if type(name) is not str or type(data) is not bytes:
        raise ParcelError("an object model that is no text")
    return Source(name, data)


_MAKERS: dict[str, Any] = {
    "h": _handle,
    "t": lambda items: tuple(from_plain(item) for item in items),
    "l": lambda items: [from_plain(item) for item in items],
    "r": _exactly(_RECORDS),
    "m": lambda items: {from_plain(key): from_plain(item) for key, item in items},
    "s": lambda items: frozenset(from_plain(item) for item in items),
    "e": lambda name, value: _ENUMS[name](value),
    "f": _source,
    "x": lambda name, text: _ERRORS[name](text),
    "c": lambda name, data: _TIMES[name].decode(data),
}
