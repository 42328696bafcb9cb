"""Three servers of two domains, as `weft run` starts them, each with its own loop; federates are clients of each in turn.

Rest: every client has an answer, so all it called for is at its server; then nothing is under way between servers; then every
client has another answer, and with it what the servers had for it.  Servers are asked one after another while they run, so what
is under way is found by two rounds of questions (Mattern's four counters): if as much had been received in the first round as
had been sent in the second, nothing was under way between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from weft.federate import RTIambassador
from weft.host.mesh.node import FabricNode
from weft.host.settings import LimitSettings, RecordSettings, ServeSettings, Settings
from weft.model.errors import RTIexception
from weft.model.records import RtiConfiguration
from weft.prove.worlds import QUICK, TWO_DOMAINS, LocalWorld, ServerThread, loopback, round_trip


class MeshedServers(LocalWorld):
    """`waits`: clients wait for the answers to updates, too."""

    one_place = False

    def __init__(self, waits: bool = True, record: Path | None = None) -> None:
        super().__init__("three servers" if waits else "three servers, asyncUpdates", record)
        self._told = "" if waits else "FedPro.asyncUpdates=true"
        self._servers: list[ServerThread] = []
        self._addresses: list[str] = []

    def start(self) -> None:
        domains = loopback(TWO_DOMAINS)
        for name in reversed(TWO_DOMAINS.servers):  # who is dialed first, so that nobody has to try again
            home = self.folder / name
            serve = ServeSettings(port=0, save_directory=str(home / "saves"), run_directory=str(home))
            settings = Settings(
                serve,
                LimitSettings(saves=100_000),
                fabric=QUICK,
                ddm=self.ddm,
                record=RecordSettings(directory=str(self.runs or "")),
            )
            make = partial(
                FabricNode, domains, name, self._lines.append, QUICK, home / "journal" / f"{name}.journal"
            )
            one = ServerThread(settings, self._lines.append, self.runs is not None, make)
            self._servers.append(one)
            self._addresses.append(f"127.0.0.1:{one.start()['tcp']}")
        self._until(self._is_whole, "links between three servers")

    def configuration(self, federate: int) -> RtiConfiguration:
        return RtiConfiguration("", self._addresses[federate % len(self._addresses)], self._told)

    def rest(self, federates: Sequence[RTIambassador]) -> list[RTIexception]:
        found = round_trip(federates)
        self._until(self._is_calm, "rest among three servers")
        return found + round_trip(federates)

    # Each look waits for a turn of every server's loop.

    def _is_whole(self) -> bool:
        return all(one.ask(partial(_reaches_all, one)) for one in self._servers)

    def _is_calm(self) -> bool:
        received = sum(one.ask(partial(_count, one))[1] for one in self._servers)
        later = [one.ask(partial(_count, one)) for one in self._servers]
        return received == sum(sent for sent, _, _ in later) and not any(busy for _, _, busy in later)

    def stop(self) -> None:
        for one in self._servers:
            one.stop()
        self._servers.clear()
        super().stop()


def _reaches_all(one: ServerThread) -> bool:
    assert one.fabric is not None
    mesh = one.fabric.mesh
    return all(mesh.is_reachable(name) for name in TWO_DOMAINS.servers if name != mesh.name)


def _count(one: ServerThread) -> tuple[int, int, bool]:
    """Messages sent to and received from others, and is a disk busy with a save?"""
    assert one.fabric is not None
    mesh = one.fabric.mesh
    return mesh.sent, mesh.received, bool(one.server._keeping)
