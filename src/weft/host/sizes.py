"""How large a call may be, and how a larger one is refused.

A server takes messages up to `limits.frame_bytes`; it tells Weft's own clients, which refuse a larger call before it is sent.
Nodes take over links what is at most half of `fabric.queue_bytes`: a larger message would fill the queue of a link by itself, and
the link would be cut.
"""

from __future__ import annotations

from typing import Final

from weft.model.errors import ErrorReadingFOM, RTIexception, RTIinternalError

FRAME_BYTES: Final = "limits.frame_bytes"
QUEUE_BYTES: Final = "fabric.queue_bytes"
ASK_LIMITS: Final = "Weft.limits=true"
"""By this setting a client asks to be told how large a call may be; it is answered in the message of the result."""
_MODULES: Final = frozenset(["create_federation_execution", "join_federation_execution"])


class Most:
    """The most bytes of a call, and the setting that says so."""

    def __init__(self, size: int, setting: str) -> None:
        self.size = size
        self.setting = setting

    def __str__(self) -> str:
        return f"{self.setting}={self.size}"

    def refusal(self, service: str, size: int, where: str) -> RTIexception:
        raised = ErrorReadingFOM if service in _MODULES else RTIinternalError
        half = " is half of what the setting" if self.setting == QUEUE_BYTES else " is what the setting"
        return raised(
            f"{service or 'the call'} has {size} bytes, more than {where} takes: {self.size},{half} {self.setting} allows; "
            "send less at once, or have the setting raised"
        )


def most_of(frame_bytes: int, queue_bytes: int | None) -> Most:
    """Of a server; `queue_bytes`: where it has links to other nodes."""
    if queue_bytes is not None and queue_bytes // 2 < frame_bytes:
        return Most(queue_bytes // 2, QUEUE_BYTES)
    return Most(frame_bytes, FRAME_BYTES)


def told_most(message: str) -> tuple[str, Most | None]:
    """What a server answered to `connect`: its message, and how large a call may be if it says so."""
    words, _, last = message.rpartition("\n")
    setting, _, size = last.partition("=")
    if setting in (FRAME_BYTES, QUEUE_BYTES) and size.isdecimal():
        return words, Most(int(size), setting)
    return message, None


def size_of(arguments: tuple[object, ...]) -> int:
    """About how many bytes the arguments of a call are: values, tags and object models."""
    size = 0
    for argument in arguments:
        if type(argument) is bytes:
            size += len(argument)
        elif type(argument) is dict:
            for value in argument.values():
                size += len(value) if type(value) is bytes else 0
        elif type(argument) is tuple:
            size += sum(len(getattr(one, "data", b"")) for one in argument)
    return size
