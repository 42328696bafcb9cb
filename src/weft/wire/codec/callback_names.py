"""What a callback is called in the standard, by its method or by the first bytes of its payload."""

from __future__ import annotations

import re
from functools import cache

from weft.wire.codec.callbacks import callback_forms
from weft.wire.own.extensions import content_of, is_own
from weft.wire.protobuf import Malformed, read_tag

HEAD = 64
"""So many bytes of a payload say what it is."""

_NAME = re.compile(rb'\["([a-z_]+)"')


@cache
def standard_name(method: str) -> str:
    """`reflect_attribute_values` is reflectAttributeValues."""
    first, *others = method.split("_")
    return first + "".join(["RTI" if one == "rti" else one.capitalize() for one in others])


def callback_name(head: bytes) -> str:
    """Of a payload whose first bytes these are."""
    if is_own(head):
        found = _NAME.match(content_of(head))
        return "" if found is None else standard_name(found[1].decode())
    try:
        key, _ = read_tag(head, 0, len(head))
    except Malformed:
        return ""
    return _name(key >> 3)


@cache
def _name(number: int) -> str:
    forms = callback_forms().by_number.get(number)
    return standard_name(forms[0].service) if forms else ""
