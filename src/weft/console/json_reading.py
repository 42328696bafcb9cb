"""Parts of what a node has answered.  It comes from elsewhere: what is not of the expected kind counts as absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from weft.model.json_types import Json


def section(facts: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return the object of that name; an empty one where there is none."""
    found = facts.get(name)
    return found if isinstance(found, Mapping) else {}


def objects(facts: Mapping[str, Json], name: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the objects inside the object of that name."""
    for key, value in section(facts, name).items():
        if isinstance(value, Mapping):
            yield key, value


def listed(facts: Mapping[str, Json], name: str) -> Iterator[Mapping[str, Json]]:
    """Yield the objects of the list of that name."""
    for value in _list(facts, name):
        if isinstance(value, Mapping):
            yield value


def texts(facts: Mapping[str, Json], name: str) -> list[str]:
    """Return the texts of the list of that name."""
    return [value for value in _list(facts, name) if isinstance(value, str)]


def number(facts: Mapping[str, Json], name: str) -> float | None:
    """Return the number of that name; None where there is none."""
    found = facts.get(name)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def _list(facts: Mapping[str, Json], name: str) -> Sequence[Json]:
    found = facts.get(name)
    return found if isinstance(found, list | tuple) else ()
