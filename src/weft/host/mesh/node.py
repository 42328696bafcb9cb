"""A node of the fabric, put together: the mesh, the agents and event channels that live on it, and the place where federations
join it.

    node = FabricNode(domains, "S3", report, settings, journal, folder, agents)
    await node.start()
    …
    await node.stop()

`node.mesh` is the Carrier.  Whoever joins the node's federations to those of other nodes settles at Port.FEDERATIONS, before
`start`:

    node.mesh.settle(Port.FEDERATIONS, resident)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from weft.fabric import Domains, parse_domains
from weft.host.carrier import Port
from weft.host.event_channel.links import ChannelLinks
from weft.host.mesh.agents import Engine, Reacting, load_agent
from weft.host.mesh.mesh import Mesh
from weft.host.settings import FabricSettings, MeshDdmSettings
from weft.model.errors import SettingsError
from weft.model.records import Source


class FabricNode:
    def __init__(
        self,
        domains: Domains,
        name: str,
        report: Callable[[str], None],
        settings: FabricSettings | None = None,
        journal: Path | None = None,
        folder: Path = Path(),
        agents: Mapping[str, Reacting] | None = None,
        ddm: MeshDdmSettings | None = None,
    ) -> None:
        """`agents`: besides those of the domains file, which are loaded here if they live on this node."""
        self.domains = domains
        self.mesh = Mesh(domains, name, report, settings, journal, folder, ddm)
        living = {
            agent: load_agent(place.program)[1]
            for agent, place in domains.agents.items()
            if place.server == name
        }
        living.update(agents or {})
        directory = {agent: place.server for agent, place in domains.agents.items()}
        self.engine = Engine(self.mesh, living, directory, report, self.mesh.settings.tries)
        topology = domains.topology
        self._first_hops = {
            node: topology.numbers[hop.receiver] for node, hop in topology.next_hops(name).items()
        }
        self.channels = ChannelLinks(
            self.mesh,
            topology.neighbours(name),
            name in topology.routers(),
            lambda: time.time_ns() // 1000,
            report,
            self.has_room,
        )

    async def start(self) -> None:
        self.mesh.settle(Port.AGENTS, self.engine)
        self.mesh.settle(Port.EVENTS, self.channels)
        self.engine.begin()
        await self.mesh.start()

    async def stop(self) -> None:
        await self.mesh.stop()

    def has_room(self, node: str) -> bool:
        """On the way to a node: at most half of what a link may hold before it is cut."""
        session = self.mesh.links.links[self._first_hops[node]].session
        return session is None or 2 * session.unacknowledged_bytes < self.mesh.settings.queue_bytes

    def status(self) -> dict[str, str | int]:
        return {**self.mesh.status(), "reactions": self.engine.reactions}


def read_domains(path: str) -> tuple[Domains, Path]:
    """The file, and the folder that names in it are relative to."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(
            f"{path}: {error.strerror or error} (a domains file is wanted; `weft domains plan` writes one)"
        ) from error
    return parse_domains(Source(path, data)), Path(path).parent
