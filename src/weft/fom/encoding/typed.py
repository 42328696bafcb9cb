"""What generated modules build on (`weft.fom.codegen`): records, attributes and parameters as dataclasses.

A generated class says what its fields are; encoding and decoding are here.  *Plain* values are those the codecs
take: dicts, numbers, lists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Self, TypeVar

from weft.fom.encoding.codec import Octets
from weft.fom.encoding.compiler import Codecs
from weft.fom.encoding.misfit import shown
from weft.model.errors import EncodingError

E = TypeVar("E", bound=IntEnum)
T = TypeVar("T")


def known(enumeration: type[E], number: int) -> E | int:
    """The enumerator of a number, or the number where this object model has no name for it."""
    try:
        return enumeration(number)
    except ValueError:
        return number


def same(value: object) -> object:
    return value


class TypedRecord(ABC):
    """A fixed or variant record; subclasses are dataclasses."""

    HLA_NAME: ClassVar[str]
    CODECS: ClassVar[Codecs]

    @abstractmethod
    def to_plain(self) -> dict[str, object]: ...

    @classmethod
    @abstractmethod
    def from_plain(cls, plain: object) -> Self: ...

    def encode(self) -> bytes:
        return self.CODECS.encode(self.HLA_NAME, _plain(self.HLA_NAME, type(self).to_plain, self))

    @classmethod
    def decode(cls, data: Octets) -> Self:
        return cls.from_plain(cls.CODECS.decode(cls.HLA_NAME, data))


Record = TypedRecord
"""The name that generated modules import."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute or parameter: its name in Python, in HLA, its data type, and how its value becomes plain.

    Without a data type, or with one that no codec knows, the value is the bytes themselves.
    """

    attribute: str
    name: str
    data_type: str = ""
    to_plain: Callable[..., object] = same
    from_plain: Callable[..., object] = same


class ValueSet:
    """The attributes of an object class or the parameters of an interaction class; None is "no value"."""

    HLA_NAME: ClassVar[str]
    CODECS: ClassVar[Codecs]
    SLOTS: ClassVar[tuple[Slot, ...]] = ()

    def encode(self) -> dict[str, bytes]:
        """The values that are set, by HLA name."""
        values: dict[str, bytes] = {}
        for slot in self.SLOTS:
            value = getattr(self, slot.attribute)
            if value is None:
                continue
            if not slot.data_type:
                values[slot.name] = bytes(value)
                continue
            path = f"{self.HLA_NAME}.{slot.name}"
            plain = _plain(path, slot.to_plain, value)
            try:
                values[slot.name] = self.CODECS.encode(slot.data_type, plain)
            except EncodingError as error:
                raise EncodingError(f"{path}: {error}") from None
        return values

    @classmethod
    def decode(cls, values: Mapping[str, Octets]) -> Self:
        """From values by HLA name; those not given stay None."""
        slots = {slot.name: slot for slot in cls.SLOTS}
        decoded: dict[str, object] = {}
        for name, data in values.items():
            slot = slots.get(name)
            if slot is None:
                raise EncodingError(f"{cls.HLA_NAME}.{name}: no such attribute or parameter")
            plain = cls.CODECS.decode(slot.data_type, data) if slot.data_type else bytes(data)
            decoded[slot.attribute] = slot.from_plain(plain)
        return cls(**decoded)


def _plain(path: str, convert: Callable[[T], object], value: T) -> object:
    """A value of the wrong class has none of the methods that conversion needs."""
    try:
        return convert(value)
    except (AttributeError, TypeError) as error:
        raise EncodingError(f"{path}: {error}; got {shown(value)}") from None
