"""Which message carries a service, and how its fields correspond to the service's arguments.

By default the message `FooBar` carries the service `foo_bar`, its fields being the arguments in their order.  The rest
is said by rules, one a line:

    message [field=constant …]: service argument …

An argument is the name of a field, `(field)` for a tuple of just that field, `field:Class` for a field that must be
of that class, a constant in Python's notation, or `*` for all fields in order.  A `field=constant` before the colon is
not an argument: the field has that value whenever the message stands for that service.

A service with several forms is sent in the first that fits the arguments, and a message with several meanings is
understood as the first that fits its fields.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.wire.codec.schema import Message, lines, snake_case
from weft.wire.codec.values import HANDLES
from weft.wire.protobuf import WireError


class Argument(NamedTuple):
    place: int = -1  # of the field; -1 for a constant
    constant: object = None
    alone: bool = False  # the argument is a tuple of just the field
    kind: type = object

    def fits(self, value: object) -> bool:
        if self.place < 0:
            return type(value) is type(self.constant) and bool(value == self.constant)
        return isinstance(value, self.kind) and (
            not self.alone or (isinstance(value, tuple) and len(value) == 1)
        )


class CallForm:
    """One message that carries one service."""

    def __init__(
        self,
        number: int,
        service: str,
        arguments: Sequence[Argument],
        fixed: dict[int, object],
        width: int,
    ) -> None:
        self.number = number
        self.service = service
        self._arguments = arguments
        self._fixed = fixed
        self._width = width  # the number of fields
        self._plain = [argument.place for argument in arguments] == list(range(width)) and all(
            not argument.alone and argument.kind is object for argument in arguments
        )

    def means(self, fields: Sequence[object]) -> bool:
        """Is this what the message with these fields stands for?"""
        return all(fields[place] == constant for place, constant in self._fixed.items())

    def arguments(self, fields: tuple[object, ...]) -> tuple[object, ...]:
        if self._plain:
            return fields
        return tuple(
            [
                one.constant if one.place < 0 else (fields[one.place],) if one.alone else fields[one.place]
                for one in self._arguments
            ]
        )

    def fits(self, arguments: tuple[object, ...]) -> bool:
        """Can it carry these arguments?"""
        if len(arguments) != len(self._arguments):
            return False
        return self._plain or all(
            one.fits(value) for one, value in zip(self._arguments, arguments, strict=True)
        )

    def fields(self, arguments: tuple[Any, ...]) -> Sequence[object]:
        if self._plain:
            return arguments
        made: list[object] = [None] * self._width
        for place, constant in self._fixed.items():
            made[place] = constant
        for one, value in zip(self._arguments, arguments, strict=True):
            if one.place >= 0:
                made[one.place] = value[0] if one.alone else value
        return made


class Forms:
    """All forms of all services, found by number or by service."""

    def __init__(self, messages: Sequence[tuple[str, Message]], rules: str) -> None:
        """`messages` are in the order of their numbers; a rule names a message as it is named there."""
        ruled: dict[str, list[str]] = {}
        for words in lines(rules):
            head, service = " ".join(words).split(": ", 1)
            name, *fixed = head.split()
            ruled.setdefault(name, []).append(f"{service} = {' '.join(fixed)}")
        self.by_number: dict[int, list[CallForm]] = {}
        self.by_service: dict[str, list[CallForm]] = {}
        for number, (name, message) in enumerate(messages, 1):
            rows = ruled.pop(name, [f"{snake_case(name)} * = "])
            self.by_number[number] = [_form(number, message, row) for row in rows]
            for form in self.by_number[number]:
                self.by_service.setdefault(form.service, []).append(form)
        assert not ruled, f"rules for unknown messages: {sorted(ruled)}"

    def understand(self, number: int, fields: Any) -> tuple[str, tuple[object, ...]]:
        """The service, and its arguments."""
        for form in self.by_number[number]:
            if form.means(fields):
                return form.service, form.arguments(fields)
        raise AssertionError(f"message {number} has no meaning for {fields!r}")

    def choose(self, service: str, arguments: tuple[object, ...]) -> CallForm:
        """The form that carries this service with these arguments."""
        candidates = self.by_service.get(service, ())
        for form in candidates:
            if form.fits(arguments):
                return form
        what = f"{service} with {len(arguments)} such arguments" if candidates else f"a service {service!r}"
        raise WireError(f"the Federate Protocol has no message for {what}: {arguments!r}")


def _form(number: int, message: Message, row: str) -> CallForm:
    places = {field.name: field.number - 1 for field in message}
    left, right = row.split(" = ")
    service, *words = left.split()
    if words == ["*"]:
        words = list(places)
    fixed = dict(pair.split("=") for pair in right.split())
    return CallForm(
        number,
        service,
        [_argument(word, places) for word in words],
        {places[field]: ast.literal_eval(constant) for field, constant in fixed.items()},
        len(message),
    )


def _argument(word: str, places: dict[str, int]) -> Argument:
    name, _, kind = word.strip("()").partition(":")
    if name in places:
        return Argument(places[name], alone=word.startswith("("), kind=HANDLES[kind] if kind else object)
    return Argument(constant=ast.literal_eval(word))
