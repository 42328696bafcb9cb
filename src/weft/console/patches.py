"""What changed between two pictures, as a JSON Merge Patch (RFC 7396).

A picture never has null inside an object: what is not known is absent, and null in a patch means that something is gone.
The law: `merged(old, difference(old, new)) == new`.  Lists are replaced as a whole.
"""

from __future__ import annotations

import math
from typing import Any

Object = dict[str, Any]


def difference(old: Object, new: Object) -> Object:
    """The smallest patch by members; empty if nothing has changed."""
    patch: Object = {name: None for name in old if name not in new}
    for name, value in new.items():
        if name not in old:
            patch[name] = value
            continue
        before = old[name]
        if isinstance(value, dict) and isinstance(before, dict):
            if changes := difference(before, value):
                patch[name] = changes
        elif not _same(before, value):
            patch[name] = value
    return patch


def _same(one: Any, other: Any) -> bool:
    """As JSON has it: Python takes 1, 1.0 and True for equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    return bool(one == other)


def merged(target: Any, patch: Any) -> Any:
    """What a page makes of a patch; the target is left as it is."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def without_nulls(value: Any) -> Any:
    """As a picture has it: what is null in an object is left out, and a number that JSON cannot write is a text."""
    if isinstance(value, dict):
        return {str(name): without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
