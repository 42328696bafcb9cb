"""The Federate Protocol as facts: the tables in `tests/data/wire`.

    Message: 1 field Type; 2 other Type*

is a message with two fields, of which the second is repeated; `|` marks the members of a oneof, whose name is the message's.  A
message with many fields has one on each line below it.  A field of which only the type is told is a member of a oneof and has the
type's name.  `enums.txt` has the values of enumerations in the same form.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

WIRE = Path(__file__).parents[1] / "data" / "wire"
SCALARS = {"string", "bool", "bytes", "int32", "uint32", "int64", "uint64", "double"}


class Field(NamedTuple):
    number: int
    name: str
    type: str
    repeated: bool
    oneof: str  # its name; empty: none

    @property
    def message(self) -> bool:
        return self.type not in SCALARS and self.type not in enums()


def _rows(file: str) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    name = ""
    for line in (WIRE / file).read_text().splitlines():
        if line[:1] != " ":
            name, _, line = line.partition(":")
            assert name not in found, f"{file}: {name} is there twice"
            found[name] = []
        found[name] += [one.split() for one in line.split(";") if one.strip()]
    return found


@cache
def enums() -> dict[str, dict[str, int]]:
    return {
        name: {member: int(number) for number, member in rows} for name, rows in _rows("enums.txt").items()
    }


@cache
def messages() -> dict[str, tuple[Field, ...]]:
    found: dict[str, tuple[Field, ...]] = {}
    for file in ("datatypes.txt", "calls.txt", "callbacks.txt", "unions.txt"):
        for name, rows in _rows(file).items():
            assert name not in found, f"{file}: {name} is in another file, too"
            found[name] = tuple(_field(name, *words) for words in rows)
    return found


def _field(message: str, number: str, *words: str) -> Field:
    if len(words) == 1:
        kind = words[0]
        return Field(int(number), _lower(kind), kind, False, _lower(message))
    name, kind = words
    oneof = _lower(message) if kind.endswith("|") else ""
    return Field(int(number), name, kind.rstrip("*|"), kind.endswith("*"), oneof)


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


def calls() -> list[tuple[int, str]]:
    """Number and name of each request."""
    return [(field.number, field.type) for field in messages()["CallRequest"]]


def responses() -> list[tuple[int, str]]:
    """Number and name of each response; the first one tells of an exception."""
    return [(field.number, field.type) for field in messages()["CallResponse"]]


def callbacks() -> list[tuple[int, str]]:
    return [(field.number, field.type) for field in messages()["CallbackRequest"]]


def exceptions(clients: str) -> set[str]:
    """The names that `hla4` clients know, or those that only `evolved` ones know."""
    return set((WIRE / f"exceptions_{clients}.txt").read_text().split())
