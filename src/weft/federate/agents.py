"""Agents: persistent objects that react to events, one at a time, wherever in the fabric they live (S1-1)."""

from __future__ import annotations

from weft.host.files.cbor import CborError, encode
from weft.host.mesh.agents import AgentEvent
from weft.model.errors import FabricError


class Agent:
    """Derive from it, and say in `react` what an event does.

    Its attributes are its state: plain data, saved together with the fact that the event was handled and with what was sent,
    so that a killed process goes on where it was.  Attributes whose names begin with an underscore are not saved.
    Give attributes their first values in the class or in `begin`.
    """

    _name = ""

    def __init__(self) -> None:
        self._outbox: list[tuple[str, bytes]] = []

    @property
    def name(self) -> str:
        """How other agents call this one."""
        return self._name

    def begin(self) -> None:
        """Once in the life of the agent, before its first event."""

    def react(self, event: AgentEvent) -> None:
        """An event has come: `event.value` from the agent `event.sender`.  If this raises, nothing has happened."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it reacts")

    def send(self, to: str, value: object) -> None:
        """To an agent by its name; `name@*` stands for all agents of that name on all nodes.  Plain data."""
        try:
            self._outbox.append((to, encode(value)))
        except CborError as error:
            raise FabricError(
                f"agent {self._name} sends {to!r} a value that is no plain data: {error}"
            ) from None
