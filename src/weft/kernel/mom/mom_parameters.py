"""The parameters of a MOM interaction: decoded by the object model, or the reason why they cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from weft.fom.catalog import InteractionClassEntry
from weft.fom.orders import NAMES
from weft.kernel.mom.mom_objects import RESIGN_ACTIONS
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation, Member
from weft.model.enums import OrderType, ResignAction
from weft.model.errors import EncodingError, FederateHandleNotKnown, InvalidFederateHandle, RTIexception
from weft.model.handles import HANDLE_BYTES, FederateHandle, Handle, ParameterHandle, TransportationTypeHandle

H = TypeVar("H", bound=Handle)
T = TypeVar("T")


class ParameterError(Exception):
    """A parameter is missing or says nothing; the message names it."""


class Parameters:
    def __init__(
        self, federation: Federation, entry: InteractionClassEntry, values: Mapping[ParameterHandle, bytes]
    ) -> None:
        self.federation = federation
        self.entry = entry
        self.values = values

    def has(self, name: str) -> bool:
        return self.entry.names.get(name) in self.values

    def get(self, name: str) -> object:
        """The value, as its data type in the object model has it."""
        raw = self._raw(name)
        data_type = self.entry.parameters[self.entry.names[name]].data_type
        try:
            value: object = self.federation.catalog.model.decode(data_type, raw)
        except EncodingError as error:
            raise ParameterError(f"{name} is no {data_type}: {error}") from error
        return value

    def number(self, name: str) -> int:
        value = self.get(name)
        if not isinstance(value, int):
            raise ParameterError(f"{name} is no whole number, but {value!r}")
        return value

    def text(self, name: str) -> str:
        value = self.get(name)
        if not isinstance(value, str):
            raise ParameterError(f"{name} is no text, but {value!r}")
        return value

    def handle(self, kind: type[H], name: str) -> H:
        """A handle: as the object model has it, its length and its bytes; or as its own `encode` gives it, only these."""
        raw = self._raw(name)
        if len(raw) == HANDLE_BYTES:
            return kind(raw)
        return kind(self._bytes(name, self.get(name)))

    def handles(self, kind: type[H], name: str) -> frozenset[H]:
        """Handles in an array; each of them either way."""
        raw = self._raw(name)
        count = int.from_bytes(raw[:HANDLE_BYTES], "big")
        if count and len(raw) == HANDLE_BYTES * (count + 1):
            return frozenset(kind(raw[at : at + HANDLE_BYTES]) for at in range(4, len(raw), HANDLE_BYTES))
        found = self.get(name)
        if not isinstance(found, Iterable):
            raise ParameterError(f"{name} are no handles, but {found!r}")
        return frozenset(kind(self._bytes(name, one)) for one in found)

    def transportation(self, name: str) -> TransportationTypeHandle:
        """By its handle, or by its name as in 2010."""
        names = self.federation.catalog.transportation_names
        raw = self._raw(name)
        if len(raw) >= 6 and len(raw) == 4 + 2 * int.from_bytes(raw[:4], "big"):  # an HLAunicodeString
            found = names.get(raw[4:].decode("utf-16-be", "replace"))
            if found is None:
                raise ParameterError(f"{name} is none of {', '.join(names)}")
            return found
        return self.handle(TransportationTypeHandle, name)

    def _raw(self, name: str) -> bytes:
        handle = self.entry.names.get(name)
        if handle is None or handle not in self.values:
            raise ParameterError(f"{name} is missing")
        return self.values[handle]

    def _bytes(self, name: str, value: object) -> bytes:
        if not isinstance(value, bytes):
            raise ParameterError(f"{name} is no handle, but {value!r}")
        return value

    def member(self) -> Member:
        handle = self.handle(FederateHandle, "HLAfederate")
        try:
            return preconditions.member(self.federation, handle)
        except (FederateHandleNotKnown, InvalidFederateHandle) as error:
            raise ParameterError(f"HLAfederate is no joined federate: {error}") from error


Taken = Callable[[Parameters], object]
"""Takes one argument of a service out of the parameters."""


def plain(name: str) -> Taken:
    return lambda given: given.get(name)


def handle(kind: type[H], name: str) -> Taken:
    return lambda given: given.handle(kind, name)


def handles(kind: type[H], name: str) -> Taken:
    return lambda given: given.handles(kind, name)


def transportation(name: str) -> Taken:
    return lambda given: given.transportation(name)


def constant(value: object) -> Taken:
    return lambda given: value


def optional(taken: Taken, name: str, otherwise: object) -> Taken:
    return lambda given: taken(given) if given.has(name) else otherwise


def time(name: str) -> Taken:
    return lambda given: _time(given, name, given.federation.time.decode_time)


def interval(name: str) -> Taken:
    return lambda given: _time(given, name, given.federation.time.decode_interval)


def _time(given: Parameters, name: str, decode: Callable[[bytes], T]) -> T:
    data = given.get(name)
    if not isinstance(data, bytes):
        raise ParameterError(f"{name} is no logical time of this federation, but {data!r}")
    try:
        return decode(data)
    except RTIexception as error:
        raise ParameterError(f"{name} is no logical time of this federation: {error}") from error


_ACTIONS: dict[str | int, ResignAction] = {name: action for action, name in RESIGN_ACTIONS.items()}


def resign_action(given: Parameters, name: str) -> ResignAction:
    return _one_of(_ACTIONS, given, name)


# The standard's HLAorderType has two enumerators; of Weft's own orders come the numbers.
_ORDERS: dict[str | int, OrderType] = dict(
    [*NAMES.items(), *[(order.value, order) for order in NAMES.values() if order.value > 1]]
)


def order(given: Parameters, name: str) -> OrderType:
    return _one_of(_ORDERS, given, name)


def switch(given: Parameters, name: str) -> bool:
    return _one_of({"Enabled": True, "Disabled": False}, given, name)


def _one_of(choices: dict[str | int, T], given: Parameters, name: str) -> T:
    """An enumerated value; numbers that are no enumerator come out of the decoder as numbers."""
    value = given.get(name)
    if not isinstance(value, (str, int)) or value not in choices:
        raise ParameterError(f"{name} is {value!r}, not one of {', '.join(map(str, choices))}")
    return choices[value]
