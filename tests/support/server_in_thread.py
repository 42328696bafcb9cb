"""A server in a thread of the test's own, on loopback, and ways to reach and to disturb it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from weft import (
    CallbackModel,
    FederateAmbassador,
    HLAfloat64Interval,
    ResignAction,
    RTIambassador,
    RtiConfiguration,
    Source,
)
from weft.cli.data import object_model
from weft.host.server.guard import Guard
from weft.host.server.server import Server, run_loop
from weft.host.settings import (
    ChannelSettings,
    LimitSettings,
    MeshDdmSettings,
    RecordSettings,
    ServeSettings,
    Settings,
)
from weft.model.time import LogicalTime

WAIT = 240.0  # a bound for waiting, far beyond what anything takes


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def eventually(condition: Callable[[], Any]) -> bool:
    """Does it come true, within a bound far beyond what anything takes?"""
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.002)  # lets the server's thread go on
    return False


class Running:
    def __init__(
        self, server: Server, loop: asyncio.AbstractEventLoop, ports: dict[str, int], reports: list[str]
    ) -> None:
        self.server = server
        self.loop = loop
        self.ports = ports
        self.reports = reports

    def address(self, kind: str = "tcp") -> str:
        return f"127.0.0.1:{self.ports[kind]}" if kind == "tcp" else f"{kind}://127.0.0.1:{self.ports[kind]}"

    def ask(self, question: Any) -> Any:
        """Ask something in the server's own thread."""

        async def answer() -> Any:
            return question(self.server)

        return asyncio.run_coroutine_threadsafe(answer(), self.loop).result(WAIT)


@contextmanager
def serving(
    guard: Guard | None = None,
    serve: ServeSettings | None = None,
    run_directory: str = "",
    channel: ChannelSettings | None = None,
    record: str = "",
    port: int = 0,
    ddm: MeshDdmSettings | None = None,
    **limits: Any,
) -> Iterator[Running]:
    """`record`: below that folder; without one nothing is recorded.  `port` 0: any that is free."""
    settings = Settings(
        replace(serve or ServeSettings(), port=port),
        replace(LimitSettings(), **limits),
        ddm=ddm or MeshDdmSettings(),
        channel=channel or ChannelSettings(),
        record=RecordSettings(directory=record, seconds=0.05),
    )
    started = threading.Event()
    found: list[Running] = []
    reports: list[str] = []
    stopping: list[asyncio.Event] = []

    async def main() -> None:
        server = Server(settings, reports.append, guard, run_directory, record=bool(record))
        listeners = await server.start()
        stopping.append(asyncio.Event())
        ports = {kind: port for kind, _, port in listeners}
        found.append(Running(server, asyncio.get_running_loop(), ports, reports))
        started.set()
        await stopping[0].wait()
        await server.stop(1.0)

    thread = threading.Thread(target=lambda: run_loop(main()), daemon=True)
    thread.start()
    assert started.wait(WAIT)
    try:
        yield found[0]
    finally:
        found[0].loop.call_soon_threadsafe(stopping[0].set)
        thread.join(WAIT)
        assert not thread.is_alive()


class Listener(FederateAmbassador):
    """Keeps the values of interactions, and whatever else is lost or reported."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.lost: list[str] = []
        self.resigned: list[str] = []
        self.in_time = 0  # how many of regulation and constraint it has been told of

    def time_regulation_enabled(self, time: LogicalTime) -> None:
        self.in_time += 1

    def time_constrained_enabled(self, time: LogicalTime) -> None:
        self.in_time += 1

    def receive_interaction(self, *arguments: Any) -> None:
        self.heard += arguments[1].values()

    def connection_lost(self, fault_description: str) -> None:
        self.lost.append(fault_description)

    def federate_resigned(self, reason_for_resign_description: str) -> None:
        self.resigned.append(reason_for_resign_description)


class Talker:
    """A federate that sends and hears Fire."""

    def __init__(
        self,
        address: str,
        settings: str = "",
        federation: str = "F",
        fom: Source | None = None,
        model: CallbackModel = CallbackModel.EVOKED,
        ears: Listener | None = None,
    ) -> None:
        self.rti = RTIambassador()
        self.ears = ears or Listener()
        self.federation = federation
        self.rti.connect(self.ears, model, RtiConfiguration("", address, settings))
        with contextlib.suppress(Exception):
            self.rti.create_federation_execution(federation, fom or object_model("range.xml"))
        self.rti.join_federation_execution("talker", federation)
        self.fire = self.rti.get_interaction_class_handle("Fire")
        self.target = self.rti.get_parameter_handle(self.fire, "Target")
        self.rti.publish_interaction_class(self.fire)
        self.rti.subscribe_interaction_class(self.fire)

    def say(self, what: bytes) -> None:
        self.rti.send_interaction(self.fire, {self.target: what}, b"")

    def listen(self, count: int) -> list[bytes]:
        """What was heard, once so much has been heard or long enough was waited."""
        deadline = time.monotonic() + WAIT
        while len(self.ears.heard) < count and time.monotonic() < deadline and not self.ears.lost:
            self.rti.evoke_callback(0.5)
        return self.ears.heard

    def take_part_in_time(self) -> None:
        """It regulates with a lookahead of 1 and is constrained, and has been told so."""
        self.rti.enable_time_regulation(HLAfloat64Interval(1.0))
        self.rti.enable_time_constrained()
        while self.ears.in_time < 2:
            self.rti.evoke_callback(0.5)

    def leave(self) -> None:
        self.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        with contextlib.suppress(Exception):
            self.rti.destroy_federation_execution(self.federation)
        self.rti.disconnect()


class Cutter:
    """A relay that cuts the connection after so many bytes towards the server or back, once for each number given."""

    def __init__(self, port: int, upward: list[int], downward: list[int]) -> None:
        self._port = port
        self._budgets = [upward, downward]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while self._open:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                return
            for side in (near, far):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            budgets = [b.pop(0) if b else -1 for b in self._budgets]
            for source, sink, budget in ((near, far, budgets[0]), (far, near, budgets[1])):
                threading.Thread(target=self._relay, args=(source, sink, budget), daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket, budget: int) -> None:
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                if 0 <= budget <= len(data):
                    sink.sendall(data[:budget])
                    self.cuts += 1
                    break
                budget -= len(data) if budget >= 0 else 0
                sink.sendall(data)
        except OSError:
            pass
        for side in (source, sink):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()

    def close(self) -> None:
        self._open = False
        self._listener.close()
