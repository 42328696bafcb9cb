"""The callbacks of the Federate Protocol: from a method of the federate ambassador and its arguments to bytes, and back.

A callback travels as one member of `CallbackRequest` and is acknowledged by a `CallbackResponse`, once the federate
has dealt with it.
"""

from __future__ import annotations

import re
from functools import cache

from weft.wire.codec.forms import Forms
from weft.wire.codec.messages import decode, encode, plan, union
from weft.wire.codec.scalars import Time
from weft.wire.codec.schema import schema
from weft.wire.own.extensions import content_of, is_own
from weft.wire.protobuf import BYTES, Malformed, read_tag, tag, varint

CALLBACK_SUCCEEDED = b"\x0a\x00"
HEAD = 64
"""So many bytes of a payload say what it is."""

_NAME = re.compile(rb'\["([a-z_]+)"')

_RULES = """
InitiateFederateSaveWithTime: initiate_federate_save *
ReflectAttributeValuesWithTime: reflect_attribute_values *
ReceiveInteractionWithTime: receive_interaction *
ReceiveDirectedInteractionWithTime: receive_directed_interaction *
RemoveObjectInstanceWithTime: remove_object_instance *
TurnUpdatesOnForObjectInstanceWithRate: turn_updates_on_for_object_instance *
"""


def encode_callback(method: str, arguments: tuple[object, ...]) -> bytes:
    form = callback_forms().choose(method, arguments)
    content = plan(schema().callbacks[form.number - 1]).write(form.fields(arguments))
    return tag(form.number, BYTES) + varint(len(content)) + content


def decode_callback(payload: bytes, time: Time = None) -> tuple[str, tuple[object, ...]]:
    """The method to invoke, and its arguments."""
    number, start, end = union("CallbackRequest").find(payload, 0, len(payload))
    fields = plan(schema().callbacks[number - 1]).read(payload, start, end, time)
    return callback_forms().understand(number, fields)


def encode_callback_failure(name: str, details: str) -> bytes:
    """The acknowledgement of a callback in which the federate raised an exception."""
    return encode("CallbackResponse", (2, (name, details.encode("utf-8", "replace").decode())))


def decode_callback_response(payload: bytes) -> tuple[str, str] | None:
    """The name and the details of the exception a federate's callback ended in; None if it went well."""
    number, value = decode("CallbackResponse", payload)
    return value if number == 2 else None


@cache
def callback_forms() -> Forms:
    messages = schema().messages
    return Forms([(name, messages[name]) for name in schema().callbacks], _RULES)


# --- names of the standard -------------------------------------------------------------------------------------


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
