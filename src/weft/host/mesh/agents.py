"""The engine of a node: its agents, each with a state that survives the process, reacting to one event at a time (S1-1).

A reaction is atomic.  What an agent sends and what becomes of its state go into the transaction in which the event counts as
handled; if the reaction raises, the state is put back as it was, nothing is sent, and it is tried again.  After `tries`
times the event is set aside, with the error, as a dead letter, and the agent goes on with the next: one event must not block
all others.

A server that is away for long does not block the agents of all others either: a reaction that sends to one for which too much
waits (`fabric.backlog_bytes`) fails like one that raises, so that its event is set aside with that error.

An agent's state is its attributes, except those whose names begin with an underscore: plain data, as `files.cbor` has it.

Agents go by name.  `directory` says on which node the agents of the domains file live; others are called name@node.  An
agent that answers `event.sender` need not know any of that."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypedDict

from weft.host.carrier import Port
from weft.host.files.cbor import CborError, decode, encode
from weft.model.errors import FabricError, SettingsError
from weft.model.log_text import ERROR, WARNING, LogText

DEAD_LETTERS: Final = 1000  # kept for each node, the newest
_LIST_OF_THREE: Final = b"\x83"  # in CBOR
_STATE: Final = "agent/"
_DEAD: Final = "dead/"


class AgentEvent(NamedTuple):
    """What an agent reacts to."""

    sender: str
    value: Any


class Reacting(Protocol):
    """What the engine needs of an agent; `weft.Agent` has it."""

    _outbox: list[tuple[str, bytes]]
    _name: str

    def begin(self) -> None: ...

    def react(self, event: AgentEvent) -> None: ...


class AgentHost(Protocol):
    """What the engine needs of its node: `Mesh` has it."""

    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> tuple[str, ...]: ...

    def spread(self, nodes: Iterable[str], port: Port, payload: bytes) -> None: ...

    def check_room(self, nodes: Iterable[str]) -> None: ...

    def keep(self, key: str, value: bytes | None) -> None: ...

    def kept(self, prefix: str) -> dict[str, bytes]: ...


class DeadLetter(TypedDict):
    """An event that was set aside."""

    agent: str
    sender: str
    value: object
    error: str


class Engine:
    """The Resident of Port.AGENTS."""

    def __init__(
        self,
        mesh: AgentHost,
        agents: Mapping[str, Reacting],
        directory: Mapping[str, str],
        report: Callable[[str], None],
        tries: int = 3,
    ) -> None:
        """`agents`: those that live here, by name.  `directory`: where the agents of the domains file live."""
        self._mesh = mesh
        self._agents = dict(agents)
        self._directory = directory
        self._report = report
        self._tries = tries
        self._states: dict[str, bytes] = {}
        self._letters = 0
        self.reactions = 0

    def begin(self) -> None:
        """Agents that were here before get their state back; to the others it is their beginning."""
        kept = self._mesh.kept(_STATE)
        dead = [int(key[len(_DEAD) :]) for key in self._mesh.kept(_DEAD)]
        self._letters = max(dead, default=0)
        for name, agent in self._agents.items():
            here = self._mesh.name
            agent._name = name if self._directory.get(name) == here else f"{name}@{here}"
            state = kept.get(_STATE + name)
            if state is not None:
                self._put_back(agent, state)
                self._states[name] = state
        for name, agent in self._agents.items():
            if name not in self._states:
                self._states[name] = self._state_of(name, agent)
                self._attempt(name, agent, agent.begin)
                if name in self._states:
                    self._mesh.keep(_STATE + name, self._states[name])

    def dead_letters(self) -> list[DeadLetter]:
        return [decode(value) for value in self._mesh.kept(_DEAD).values()]

    # --- as a Resident ----------------------------------------------------------------------------------------------

    def received(self, sender: str, payload: bytes, now: float) -> None:
        name, writer, value = decode(payload)
        agent = self._agents.get(name)
        if agent is None:
            self._set_aside(name, writer, value, f"there is no agent {name!r} on node {self._mesh.name}")
            return
        event = AgentEvent(writer, value)
        error = ""
        for _ in range(self._tries):
            error = self._attempt(name, agent, lambda: agent.react(event))
            if not error:
                self.reactions += 1
                return
        self._set_aside(name, writer, value, error)

    def lost(self, node: str, why: str, now: float) -> None:
        """Agents need not know: what they send waits for the node."""

    def found(self, node: str, restarted: bool, now: float) -> None:
        pass

    # --- reactions --------------------------------------------------------------------------------------------------

    def _attempt(self, name: str, agent: Reacting, reaction: Callable[[], None]) -> str:
        """All of it or nothing; what went wrong, if anything did."""
        agent._outbox = []
        try:
            reaction()
            letters = [self._letter(agent, to, value) for to, value in agent._outbox]
            state = self._state_of(name, agent)
        except Exception as error:
            self._put_back(agent, self._states[name])
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
            text = f"agent {name} was put back as it was: {said}"
            self._report(LogText(text, "agent-put-back", WARNING, agent=name))
            return said
        finally:
            agent._outbox = []
        for nodes, payload in letters:
            self._mesh.spread(nodes, Port.AGENTS, payload)
        if state != self._states[name]:
            self._states[name] = state
            self._mesh.keep(_STATE + name, state)
        return ""

    def _letter(self, agent: Reacting, to: str, value: bytes) -> tuple[tuple[str, ...], bytes]:
        """One agent, or `name@*`: all agents of this name, wherever there are nodes."""
        name, _, node = to.partition("@")
        node = node or self._directory.get(name, "")
        if not node and name in self._agents:
            node = self._mesh.name
        if node != "*" and node not in self._mesh.nodes:
            known = ", ".join([*self._directory, *self._agents]) or "none"
            raise FabricError(f"agent {agent._name} sends to {to!r}, whom nobody knows; known are: {known}")
        payload = _LIST_OF_THREE + encode(name) + encode(agent._name) + value
        nodes = self._mesh.nodes if node == "*" else (node,)
        self._mesh.check_room(nodes)
        return nodes, payload

    def _state_of(self, name: str, agent: Reacting) -> bytes:
        try:
            return encode({key: value for key, value in vars(agent).items() if key[0] != "_"})
        except CborError:
            for key, value in vars(agent).items():
                try:
                    encode(value if key[0] != "_" else None)
                except CborError as error:
                    raise FabricError(
                        f"the attribute {key!r} of agent {name} cannot be saved: {error}; use plain data"
                        " (None, bool, int, float, str, bytes, list, dict), or begin its name with an underscore"
                    ) from None
            raise

    def _put_back(self, agent: Reacting, state: bytes) -> None:
        values = vars(agent)
        for key in [key for key in values if key[0] != "_"]:
            del values[key]
        values.update(decode(state))

    def _set_aside(self, name: str, sender: str, value: object, error: str) -> None:
        self._letters += 1
        text = f"an event from {sender} to agent {name} was set aside: {error}"
        self._report(LogText(text, "event-set-aside", ERROR, agent=name, peer=sender))
        letter: DeadLetter = {"agent": name, "sender": sender, "value": value, "error": error}
        self._mesh.keep(f"{_DEAD}{self._letters:012}", encode(letter))
        if self._letters > DEAD_LETTERS:
            self._mesh.keep(f"{_DEAD}{self._letters - DEAD_LETTERS:012}", None)


def load_agent(text: str) -> tuple[str, Reacting]:
    """`package.module:Class` or `name=package.module:Class`; the name of the class is the agent's name, if none is given."""
    name, _, place = text.rpartition("=")
    module, _, kind = place.partition(":")
    if not module or not kind:
        raise SettingsError(f"agent {text!r}: say it as package.module:Class, or name=package.module:Class")
    if "" not in sys.path:
        sys.path.insert(0, "")  # As `python -m` does: programs lie where the command is given.
    try:
        found = getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"agent {text!r}: {error}") from error
    if not hasattr(found, "react"):
        raise SettingsError(f"agent {text!r}: {kind} is no weft.Agent")
    made: Reacting = found()
    return name or kind, made
