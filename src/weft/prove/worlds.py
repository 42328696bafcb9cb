"""Worlds inside this process: one node, a server with its clients, three nodes with links, three simulated nodes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from weft.fabric import Domains, Topology
from weft.federate import FederateAmbassador, RTIambassador
from weft.host import EmbeddedNode
from weft.host.in_process.mesh_node import OwnNode
from weft.host.mesh.node import FabricNode
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.writers import Writer
from weft.host.server.server import Server, run_loop
from weft.host.settings import (
    FabricSettings,
    LimitSettings,
    MeshDdmSettings,
    RecordSettings,
    ServeSettings,
    Settings,
    read_rid,
)
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.model.enums import CallbackModel
from weft.model.errors import NotConnected, RTIexception, RTIinternalError
from weft.model.records import RtiConfiguration

T = TypeVar("T")
PATIENCE = 60.0  # seconds
QUICK = FabricSettings(lost_seconds=PATIENCE, retry_seconds=0.02, retry_most_seconds=0.1)
TWO_DOMAINS = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})


class _LogHandler(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


class LocalWorld:
    """What worlds have in common: a name, a log, and a folder for saves and recordings."""

    one_place = True

    def __init__(self, name: str, record: Path | None = None) -> None:
        self.name = name
        self.declarations = ""
        self.runs = record
        self._lines: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="weft-prove-", ignore_cleanup_errors=True)

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)

    @property
    def ddm(self) -> MeshDdmSettings:
        return MeshDdmSettings(declarations=self.declarations)

    def start(self) -> None:
        pass

    def ambassador(self, federate: int) -> RTIambassador:
        return RTIambassador()

    def configuration(self, federate: int) -> RtiConfiguration | None:
        return None

    def log(self) -> list[str]:
        found = list(self._lines)
        del self._lines[: len(found)]
        return found

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise RTIinternalError(f"not within {PATIENCE:g} s: {what}; {self._lines}")
            self._turn()

    def _turn(self) -> None:
        """What has to be done here for something to happen."""

    def stop(self) -> None:
        self._folder.cleanup()


def place(federate: int) -> str:
    """Which server of two domains it is at: at each in turn, from the last on."""
    return TWO_DOMAINS.servers[-(federate % len(TWO_DOMAINS.servers)) - 1]


def _left(work: Callable[[], None]) -> None:
    """For the recorder's thread, which cannot know when a virtual network is at rest: rows are taken when books are full, and
    in the end."""


class Embedded(LocalWorld):
    """One node; nothing is ever under way."""

    def __init__(self, record: Path | None = None) -> None:
        super().__init__("embedded", record)
        self._handler = _LogHandler(self._lines)

    def start(self) -> None:
        logging.getLogger("weft").addHandler(self._handler)
        self.node = EmbeddedNode(
            "embedded", self.folder / "saves", str(self.folder), declarations=self.declarations
        )
        if self.runs is not None:
            guard = self.node._guarded
            self._recordings = NodeRecordings(self.runs, self._lines.append, guard, writer=Writer())
            self.node.recordings = self._recordings
            self.node._node.record(self._recordings, time.monotonic())

    def ambassador(self, federate: int) -> RTIambassador:
        return RTIambassador(self.node)

    def rest(self, federates: Sequence[RTIambassador]) -> list[RTIexception]:
        return []

    def stop(self) -> None:
        if self.runs is not None:
            self.node.stop_recording()
        logging.getLogger("weft").removeHandler(self._handler)
        super().stop()


def round_trip(federates: Sequence[RTIambassador]) -> list[RTIexception]:
    """Everybody asks something and has the answer: all that waited here is at the server, and what that had for it is here.

    What a server has for a federate before it answers that one's call comes before the answer.
    """
    found: list[RTIexception] = []
    for rti in federates:
        while True:
            try:
                rti.query_status()
            except NotConnected:
                pass
            except RTIexception as error:
                if isinstance(error, RTIinternalError):
                    raise
                found.append(error)  # of a call that nobody waited for; this one was not made
                continue
            break
    return found


@dataclass(frozen=True)
class ServerCertificate:
    cert: str
    key: str


class AtAddress(LocalWorld):
    """A server that somebody runs, with whatever settings it has."""

    def __init__(self, address: str, settings: str = "", name: str = "") -> None:
        super().__init__(name or address)
        self.address = address
        self.settings = settings

    def start(self) -> None:
        """That nobody is there, or lets nobody in, is told at once, and not as what is wrong with each script."""
        rti = self.ambassador(0)
        try:
            rti.connect(FederateAmbassador(), CallbackModel.EVOKED, self.configuration(0))
            rti.disconnect()
        except RTIexception:
            self.stop()
            raise

    def configuration(self, federate: int) -> RtiConfiguration:
        return RtiConfiguration("", self.address, self.settings)

    def rest(self, federates: Sequence[RTIambassador]) -> list[RTIexception]:
        """The first round sends what waits at clients, the second brings what that has led to."""
        return round_trip(federates) + round_trip(federates)


class AtServer(AtAddress):
    """A server in a thread of this process.  `kind`: tcp, ws, tls or wss; `waits`: for the answers to updates, too."""

    def __init__(
        self,
        kind: str = "tcp",
        waits: bool = True,
        record: Path | None = None,
        certificate: ServerCertificate | None = None,
    ) -> None:
        super().__init__("", "", f"server, {kind}" if waits else f"server, {kind}, asyncUpdates")
        self.runs = record
        self.kind = kind
        self._waits = waits
        self._certificate = certificate

    def start(self) -> None:
        serve = ServeSettings(
            port=0, save_directory=str(self.folder / "saves"), run_directory=str(self.folder)
        )
        if self.kind != "tcp":
            serve = replace(serve, **{f"{self.kind}_port": free_port()})  # type: ignore[arg-type]
        if self._certificate is not None:
            serve = replace(serve, cert=self._certificate.cert, key=self._certificate.key)
        settings = Settings(
            serve,
            LimitSettings(saves=100_000),
            ddm=self.ddm,
            record=RecordSettings(directory=str(self.runs or "")),
        )
        self._thread = ServerThread(settings, self._lines.append, self.runs is not None)
        port = self._thread.start()[self.kind]
        self.address = f"127.0.0.1:{port}" if self.kind == "tcp" else f"{self.kind}://127.0.0.1:{port}"
        told = [] if self._waits else ["FedPro.asyncUpdates=true"]
        if self._certificate is not None and self.kind in ("tls", "wss"):
            told.append(f"FedPro.keystore.path={self._certificate.cert}")
        self.settings = "\n".join(told)

    def stop(self) -> None:
        self._thread.stop()
        super().stop()


class ServerThread:
    """A server and its event loop; `join` makes what joins it to other servers, inside that loop."""

    def __init__(
        self,
        settings: Settings,
        report: Callable[[str], None],
        record: bool,
        join: Callable[[], FabricNode] | None = None,
    ) -> None:
        self.fabric: FabricNode | None = None
        self._settings = settings
        self._report = report
        self._record = record
        self._join = join
        self._started = threading.Event()
        self._ports: dict[str, int] = {}
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="weft prove server", daemon=True)

    def start(self) -> dict[str, int]:
        self._thread.start()
        if not self._started.wait(PATIENCE):
            raise RTIinternalError("the server did not start")
        if self._failure is not None:
            raise self._failure
        return self._ports

    def _run(self) -> None:
        try:
            run_loop(self._main())
        except BaseException as error:
            self._failure = error
            self._started.set()

    async def _main(self) -> None:
        self.fabric = None if self._join is None else self._join()
        self.server = Server(self._settings, self._report, None, "", self.fabric, record=self._record)
        self._ports = {kind: port for kind, _, port in await self.server.start()}
        if self.fabric is not None:
            await self.fabric.start()
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._started.set()
        await self._stopping.wait()
        await self.server.stop(1.0)
        if self.fabric is not None:
            await self.fabric.stop()

    def ask(self, question: Callable[[], T]) -> T:
        """In the server's own thread, between two turns of its loop."""
        assert self._loop is not None

        async def answer() -> T:
            return question()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(PATIENCE)

    def stop(self) -> None:
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(PATIENCE)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def loopback(topology: Topology) -> Domains:
    return Domains(topology, {name: f"127.0.0.1:{free_port()}" for name in topology.servers})


class OwnNodes(LocalWorld):
    """Three nodes of two domains in this process, with real links; federates in turn at each."""

    one_place = False

    def __init__(self, record: Path | None = None) -> None:
        super().__init__("three nodes", record)
        self._nodes: dict[str, OwnNode] = {}

    def start(self) -> None:
        domains = loopback(TWO_DOMAINS)
        settings = Settings(
            serve=ServeSettings(run_directory=str(self.folder)),
            limits=LimitSettings(saves=100_000),
            fabric=QUICK,
            ddm=self.ddm,
            record=RecordSettings(on=self.runs is not None, directory=str(self.runs or "")),
        )
        for name in reversed(TWO_DOMAINS.servers):  # who is dialed first, so that nobody has to try again
            node = OwnNode(domains, name, settings, report=self._lines.append)
            node.start()
            self._nodes[name] = node
        self._until(self._is_whole, "links between three nodes")

    def ambassador(self, federate: int) -> RTIambassador:
        return RTIambassador(self._nodes[place(federate)])

    def rest(self, federates: Sequence[RTIambassador]) -> list[RTIexception]:
        self._until(self._is_calm, "rest among three nodes")
        return []

    def _is_whole(self) -> bool:
        others = len(self._nodes) - 1
        return all(len(node._mesh._reach._entries) == others for node in self._nodes.values())

    def _is_calm(self) -> bool:
        """Has everything that was sent been received, and nobody anything left to do?"""
        nodes = list(self._nodes.values())
        with contextlib.ExitStack() as all_of_them:
            for node in nodes:
                all_of_them.enter_context(node.drive.mutex)
            if any(node._mesh.turn_due or node._keeping for node in nodes):
                return False
            return sum(node._mesh.sent - node._mesh.received for node in nodes) == 0

    def _turn(self) -> None:
        for node in self._nodes.values():
            with node.drive.mutex:
                node.flush()
                node.drive.until(lambda: False, 0.0)

    def stop(self) -> None:
        for node in self._nodes.values():
            node.stop()
        self._nodes.clear()
        super().stop()


class Simulated(LocalWorld):
    """Three nodes of two domains on a virtual clock, with links that repeat and delay; the same every time."""

    one_place = False

    def __init__(self, record: Path | None = None) -> None:
        super().__init__("three simulated nodes", record)
        self._recordings: list[NodeRecordings] = []

    def start(self) -> None:
        profile = FabricProfile(delay=0.005, jitter=0.01, repeat=0.1, commit=0.002)
        self._network = FabricNetwork(TWO_DOMAINS, 1, profile, rid=read_rid(self.ddm))
        if self.runs is not None:
            self._network.clock.now = time.monotonic()  # rows tell the time of day by it
            for name in TWO_DOMAINS.servers:
                recordings = NodeRecordings(self.runs, self._lines.append, _left, writer=Writer())
                self._network.node(name).record(recordings, self._network.clock.now)
                self._recordings.append(recordings)

    def ambassador(self, federate: int) -> RTIambassador:
        return RTIambassador(self._network.at(place(federate)))

    def rest(self, federates: Sequence[RTIambassador]) -> list[RTIexception]:
        self._network.settle()
        self._lines += self._network.notices
        self._network.notices.clear()
        return []

    def stop(self) -> None:
        for recordings in self._recordings:
            recordings.collect()
        for name in TWO_DOMAINS.servers if self._recordings else ():
            self._network.node(name).stop_recording()
        for recordings in self._recordings:
            recordings.close()
        super().stop()
