"""Effects: what the kernel wants done.  The kernel decides, the host does (`weft.host`)."""

from __future__ import annotations

from typing import Any


class Effect:
    """Base of all effects."""


class Reply(Effect):
    """A call has succeeded: hand `value` to whoever made call `number` in that session."""

    def __init__(self, session: int, number: int, value: Any) -> None:
        self.session = session
        self.number = number
        self.value = value


class Refuse(Effect):
    """A call has failed: raise `error` at whoever made call `number` in that session."""

    def __init__(self, session: int, number: int, error: Exception) -> None:
        self.session = session
        self.number = number
        self.error = error


class Callback(Effect):
    """Invoke a service of the federate ambassador of that session."""

    def __init__(self, session: int, method: str, arguments: tuple[Any, ...]) -> None:
        self.session = session
        self.method = method
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"Callback({self.session}, {self.method}{self.arguments!r})"


class Transmit(Effect):
    """Send a parcel to another node: reliably and in order with what was sent before, or at best effort."""

    def __init__(self, node: str, parcel: Any, reliable: bool = True) -> None:
        self.node = node
        self.parcel = parcel
        self.reliable = reliable
