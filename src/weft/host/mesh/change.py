"""A node that is started with other domains than its journal's: it finishes the old ones first (`weft.fabric.change`, S1-20).

It runs a mesh of the old domains, at the addresses of the new file, in which nobody lives: what comes for this node stays in the
journal's inbox.  How far it is it tells its neighbours at Port.CHANGE, again and again, so that nothing hangs on one message.
When nothing is left the mesh is stopped, the journal changes over, and the node begins as always.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from weft.fabric import Domains, Topology
from weft.fabric.change import ChangeOver, check_change
from weft.host.carrier import Port, ServiceClass
from weft.host.files.cbor import CborError, decode, encode
from weft.host.mesh.journal import Journal, topology_of
from weft.host.mesh.mesh import Mesh
from weft.host.settings import FabricSettings
from weft.model.errors import FabricError
from weft.model.log_text import WARNING, LogText

LOOK_SECONDS = 0.05
TELL_SECONDS = 1.0
REMIND_SECONDS = 10.0


def old_domains(journal: Path, domains: Domains) -> Topology | None:
    """The domains that are to be finished first; None if there are none, or the journal has to be looked at by who opens it."""
    found = topology_of(journal)
    if found is None or found[0] == domains.topology.fingerprint:
        return None
    old = found[1]
    if old is None:
        raise FabricError(
            f"{journal} was written under other domains by an older Weft, and does not say which; start its node once with the"
            " domains file it was written under, or with --new-journal on all servers"
        )
    check_change(old, domains.topology)
    return old


async def change_over(
    domains: Domains,
    name: str,
    report: Callable[[str], None],
    settings: FabricSettings,
    journal: Path,
    folder: Path,
    stopping: asyncio.Event,
) -> bool:
    """Finish what a journal of other domains holds, if it is one.  False if it was stopped before that."""
    old = old_domains(journal, domains)
    if old is None:
        return True
    finishing = _Finishing(domains, old, name, report, settings, journal, folder)
    report(LogText(f"node {name} finishes its old domains first: {journal}", "domains-change"))
    if not await finishing.run(stopping):
        return False
    opened = Journal(journal, name, old.fingerprint, settings.synchronous, old, finishing=True)
    try:
        opened.leave(old, domains.topology)
    finally:
        opened.close()
    report(LogText(f"node {name} has nothing left under its old domains", "domains-changed"))
    return True


class _Finishing:
    """The Resident of Port.CHANGE."""

    def __init__(
        self,
        domains: Domains,
        old: Topology,
        name: str,
        report: Callable[[str], None],
        settings: FabricSettings,
        journal: Path,
        folder: Path,
    ) -> None:
        before = replace(domains, topology=old, releases=(), agents={})
        # Servers that are in no domain any more may be in no file either.
        addresses = {one: domains.addresses.get(one, "127.0.0.1:1") for one in old.servers}
        self._mesh = Mesh(
            replace(before, addresses=addresses), name, report, settings, journal, folder, finishing=True
        )
        self._report = report
        self._old = old
        self._change = ChangeOver(old, old.numbers[name])
        self._told_at = self._reminded_at = time.monotonic()
        self._last: list[int] = []

    async def run(self, stopping: asyncio.Event) -> bool:
        mesh = self._mesh
        mesh.settle(Port.CHANGE, self)
        mesh.links.on_left = self._change.left
        await mesh.start()
        try:
            while not self._is_finished():
                if mesh.failed is not None and mesh.failed.done():
                    raise FabricError(mesh.failed.result())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), LOOK_SECONDS)
                if stopping.is_set():
                    return False
        finally:
            await mesh.stop()
        return True

    def _is_finished(self) -> bool:
        mesh = self._mesh
        channels = list(mesh.channels.made.values())
        if mesh.turn_due or any(channel.has_news() for channel in channels):
            return False  # not all of it is committed
        done = self._change.done(channels)
        now = time.monotonic()
        if done != self._last or now - self._told_at > TELL_SECONDS:
            self._last, self._told_at = done, now
            for peer in self._change.neighbours:
                if not self._change.has_left(peer):
                    mesh.send(self._old.servers[peer], Port.CHANGE, ServiceClass.RELIABLE, encode(done))
        if self._change.is_finished(channels):
            return True
        if now - self._reminded_at > REMIND_SECONDS:
            self._reminded_at = now
            self._remind()
        return False

    def _remind(self) -> None:
        away = self._mesh.unreachable()
        runs = "has not finished, or still runs under the old domains"
        said = [f"{name} ({away.get(name, runs)})" for name in self._change.waited_for()]
        text = f"node {self._mesh.name} still finishes its old domains; it waits for {', '.join(said) or 'acknowledgements'}"
        self._report(LogText(text, "domains-change", WARNING))

    # --- as a Resident ----------------------------------------------------------------------------------------------

    def received(self, sender: str, payload: bytes, now: float) -> None:
        with contextlib.suppress(CborError):
            said = decode(payload)
            if isinstance(said, list) and all(type(one) is int for one in said):
                self._change.told(self._old.numbers[sender], said)

    def lost(self, node: str, why: str, now: float) -> None:
        pass

    def found(self, node: str, restarted: bool, now: float) -> None:
        self._told_at = 0.0  # tell it soon
