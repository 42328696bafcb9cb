"""Servers that are nodes of one fabric, all in one thread of the test's own: real links, real parcels, packed values."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from support.node_processes import loopback
from support.server_in_thread import WAIT, Running, eventually
from weft.fabric import Domains, Topology
from weft.host.mesh.node import FabricNode
from weft.host.server.server import Server, run_loop
from weft.host.settings import FabricSettings, MeshDdmSettings, RecordSettings, ServeSettings, Settings

QUICK = FabricSettings(lost_seconds=10.0, retry_seconds=0.02, retry_most_seconds=0.1)
PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})


@contextmanager
def serving_mesh(
    topology: Topology = PAIR,
    record: str = "",
    ddm: MeshDdmSettings | None = None,
    run_directory: str = "",
    changed: Callable[[Domains], Domains] = lambda domains: domains,
) -> Iterator[dict[str, Running]]:
    """By the names of the servers; the first is the directory.  `record`: below that folder."""
    domains = changed(loopback(topology))
    settings = Settings(
        ServeSettings(port=0),
        fabric=QUICK,
        ddm=ddm or MeshDdmSettings(),
        record=RecordSettings(directory=record, seconds=0.05),
    )
    started = threading.Event()
    found: dict[str, Running] = {}
    stopping: list[asyncio.Event] = []
    failed: list[BaseException] = []

    async def main() -> None:
        nodes = []
        stopping.append(asyncio.Event())
        for name in topology.servers:
            reports: list[str] = []
            fabric = FabricNode(domains, name, reports.append, QUICK, ddm=ddm)
            place = "" if not record else f"{record}/{name}"
            one = replace(settings, record=replace(settings.record, directory=place))
            server = Server(one, reports.append, None, run_directory, fabric, record=bool(record))
            listeners = await server.start()
            await fabric.start()
            ports = {kind: port for kind, _, port in listeners}
            found[name] = Running(server, asyncio.get_running_loop(), ports, reports)
            nodes.append((server, fabric))
        started.set()
        await stopping[0].wait()
        for server, fabric in nodes:
            await server.stop(1.0)
            await fabric.stop()

    def run() -> None:
        try:
            run_loop(main())
        except BaseException as error:
            failed.append(error)
            started.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(WAIT)
    assert not failed, failed
    try:
        assert eventually(lambda: all(_whole(one, topology) for one in found.values())), found
        yield found
    finally:
        found[topology.servers[0]].loop.call_soon_threadsafe(stopping[0].set)
        thread.join(WAIT)
        assert not thread.is_alive()


def _whole(one: Running, topology: Topology) -> bool:
    def look(server: Server) -> Any:
        assert server._meshed is not None
        mesh: Any = server._meshed.carrier
        return all(mesh.is_reachable(name) for name in topology.servers if name != mesh.name)

    return bool(one.ask(look))
