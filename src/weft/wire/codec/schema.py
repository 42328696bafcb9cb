"""The schema of the Federate Protocol's services: 470 messages, 178 calls, 62 callbacks, from `codec.schema_text`.

A call `Foo` has the messages `FooRequest` and `FooResponse`.  All requests are members of one `CallRequest`, all responses of one
`CallResponse`, whose first member is the exception: so the response to request *n* has the number *n* + 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from weft.model import errors
from weft.wire.codec.schema_text import CALLBACKS, CALLS, DATATYPES, EVOLVED, FIELDS

# The exceptions an HLA 4 client knows by name, and those that only a client of the 2010 edition (Evolved) knows.
HLA4_EXCEPTIONS = frozenset(
    name
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, errors.RTIexception) and found is not errors.RTIexception
)
EVOLVED_EXCEPTIONS = frozenset(EVOLVED.split())


class SchemaField(NamedTuple):
    number: int
    name: str
    type: str
    repeated: bool = False
    oneof: bool = False
    optional: bool = False


Message = tuple[SchemaField, ...]


class Schema(NamedTuple):
    messages: dict[str, Message]
    calls: tuple[str, ...]  # the name of call n is calls[n - 1]
    callbacks: tuple[str, ...]


@cache
def schema() -> Schema:
    """The whole schema, read at first use."""
    messages = {name: _message(fields) for name, *fields in lines(DATATYPES)}
    types = {field: kind for kind, *fields in lines(FIELDS) for field in fields}
    calls = []
    for name, *words in lines(CALLS):
        fields, result = (words[:-2], words[-1]) if "=" in words else (words, "")
        calls.append(name)
        messages[f"{name}Request"] = _message(_typed(field, types) for field in fields)
        result_name = "configurationResult" if result == "ConfigurationResult" else "result"
        messages[f"{name}Response"] = _message([f"{result_name}:{result}"] if result else [])
    callbacks = []
    for name, *fields in lines(CALLBACKS):
        callbacks.append(name)
        messages[name] = _message(_typed(field, types) for field in fields)
    messages["CallbackSucceeded"] = ()
    messages["CallRequest"] = _union(f"{name}Request" for name in calls)
    messages["CallResponse"] = _union(["ExceptionData", *(f"{name}Response" for name in calls)])
    messages["CallbackRequest"] = _union(callbacks)
    messages["CallbackResponse"] = _message(
        ["callbackSucceeded:CallbackSucceeded|", "callbackFailed:ExceptionData|"]
    )
    return Schema(messages, tuple(calls), tuple(callbacks))


def snake_case(name: str) -> str:
    """`QueryGALT` is the service `query_galt`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def lines(text: str) -> list[list[str]]:
    """The words of each line; a line that starts with a blank continues the one before."""
    return [line.split() for line in text.replace("\n ", " ").splitlines() if line]


def _typed(field: str, types: dict[str, str]) -> str:
    return field if ":" in field else f"{field}:{types[field]}"


def _union(names: Iterable[str]) -> Message:
    return _message(f"{name[:1].lower()}{name[1:]}:{name}|" for name in names)


def _message(fields: Iterable[str]) -> Message:
    made = []
    for number, field in enumerate(fields, 1):
        name, kind = field.split(":")
        bare = kind.rstrip("*|?")
        made.append(SchemaField(number, name, bare, "*" in kind, "|" in kind, "?" in kind))
    return tuple(made)
