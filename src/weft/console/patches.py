"""What changed between two pictures, as a JSON Merge Patch (RFC 7396).

A picture never has null inside an object: what is not known is absent, and null in a patch means that something is gone.
The law: the patch `difference(old, new)`, applied to old, makes new.  Lists are replaced as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from weft.model.json_types import Json, JsonObject


def difference(old: Mapping[str, Json], new: Mapping[str, Json]) -> JsonObject:
    """The smallest patch by members; empty if nothing has changed."""
    patch: JsonObject = {name: None for name in old if name not in new}
    for name, value in new.items():
        if name not in old:
            patch[name] = value
            continue
        before = old[name]
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if changes := difference(before, value):
                patch[name] = changes
        elif not _same(before, value):
            patch[name] = value
    return patch


def _same(one: Json, other: Json) -> bool:
    """As JSON has it: Python takes 1, 1.0 and True for equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    return bool(one == other)


def without_nulls(facts: Mapping[str, Json]) -> JsonObject:
    """As a picture has it: what is null in an object is left out, and a number that JSON cannot write is a text."""
    return {str(name): _written(inner) for name, inner in facts.items() if inner is not None}


def _written(value: Json) -> Json:
    if isinstance(value, Mapping):
        return without_nulls(value)
    if isinstance(value, list | tuple):
        return [_written(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
