"""What a federation file says, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from weft.fabric import Domains

JOINED: Final = "joined"
SYNCHRONIZED: Final = "synchronized"
ENDED: Final = "ended"
LOG: Final = "log"
FILE: Final = "file"
PORT: Final = "port"

FAILURE: Final = "failure"
RUN: Final = "run"
NOTHING: Final = "nothing"
ENDS: Final = (FAILURE, RUN, NOTHING)
"""What the end of a program ends: the run if it failed; the run in any case; nothing, and nobody waits for it."""


class StartCondition(NamedTuple):
    """What a program waits for; the same value is the fact that it has happened."""

    kind: str
    what: str  # a federate, a label, a program, a file, an address
    pattern: str = ""  # of a line in a program's log

    def __str__(self) -> str:
        return {
            JOINED: f"{self.what} to join",
            SYNCHRONIZED: f"synchronization point {self.what!r}",
            ENDED: f"{self.what} to end",
            LOG: f"a line like {self.pattern!r} of {self.what}",
            FILE: f"the file {self.what}",
            PORT: f"somebody to listen at {self.what}",
        }[self.kind]


@dataclass(frozen=True)
class Program:
    """One process: a federate, or one of several alike."""

    name: str
    command: tuple[str, ...]
    entry: str = ""  # the name in the file; of several alike the same
    number: int = 1  # among those alike
    place: str = ""  # file:line
    node: str = ""  # of a mesh
    host: str = ""
    joins: tuple[str, ...] = ()  # names of its federates
    directory: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)
    after: tuple[StartCondition, ...] = ()
    seconds: float = 0.0  # that it waits when all that has happened
    within: float | None = None  # seconds by which all that has to have happened
    timeout: float | None = None  # seconds from its start to its end
    ends: str = FAILURE
    restart: int = 0  # how often it is started again
    expect: int = 0  # its exit code


@dataclass(frozen=True)
class NodeOptions:
    """What all nodes are told; of files the whole paths."""

    settings: str = ""
    rid: str = ""
    schedule: str = ""
    modules: str = ""
    record: bool | str | None = None  # None: as the settings say
    console: bool | None = None


@dataclass(frozen=True)
class ServerPlan:
    """One server."""

    options: NodeOptions = NodeOptions()
    host: str = ""  # of [hosts]
    listen: str = ""  # the address it listens on, if that is not the host's
    port: int = 0


@dataclass(frozen=True)
class MeshPlan:
    """Nodes that are linked."""

    domains: Domains
    options: NodeOptions = NodeOptions()
    file: str = ""  # the domains file; empty: one is written for the run
    text: str = ""  # what it then says
    hosts: Mapping[str, str] = field(default_factory=dict)  # node → its host
    first_port: int = 0
    journal: str = ""  # empty: none is kept
    restart: bool = False


@dataclass(frozen=True)
class FederationPlan:
    file: str
    name: str
    fom: tuple[str, ...] = ()
    time: str = ""
    timeout: float | None = None
    nodes: ServerPlan | MeshPlan = ServerPlan()
    hosts: Mapping[str, str] = field(default_factory=dict)  # name → address
    programs: tuple[Program, ...] = ()

    def programs_of(self, host: str) -> tuple[Program, ...]:
        """That a machine starts; without a name all."""
        return tuple(one for one in self.programs if host in ("", one.host))

    def nodes_of(self, host: str) -> tuple[str, ...]:
        """Likewise; a server has no name."""
        if isinstance(self.nodes, ServerPlan):
            return ("server",) if host in ("", self.nodes.host) else ()
        servers = self.nodes.domains.topology.servers
        return tuple(one for one in servers if host in ("", self.nodes.hosts.get(one, "")))
