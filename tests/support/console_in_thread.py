"""A console in a thread of the test's own, with nodes that say what the test lets them say, and ways to reach it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from websockets import Origin
from websockets.sync.client import ClientConnection, connect

from weft.console.app import RunningConsole
from weft.console.process import server_of
from weft.console.runs import Reviews, Shelf
from weft.console.security import ConsoleGuard, Tokens
from weft.model.errors import NameNotFound

WAIT = 240.0  # a bound for waiting, far beyond what anything takes
Object = dict[str, Any]


def federate(name: str, node: str = "server", **facts: Any) -> Object:
    return {
        "handle": 1,
        "type": name,
        "node": node,
        "state": "joined",
        "regulating": False,
        "constrained": False,
        **facts,
    }


class FakeNode:
    """Answers as a node would; `survey` may be changed, or be something to raise."""

    def __init__(self, name: str = "server") -> None:
        self.name = name
        self.survey: Object | Exception = {
            "node": name,
            "version": "0.1.0",
            "now": 1.0,
            "wall": 2.0,
            "server": {"sessions": 2, "messages": 100, "bytes_in": 5, "cpu_seconds": 1.5},
            "federations": {
                "Harbour": {"home": name, "instances": 3, "federates": {"tug": federate("tug", name)}}
            },
        }
        self.asked: list[tuple[str, ...]] = []
        self.at: list[float] = []
        self.steered: list[tuple[Any, ...]] = []
        self.connections = 0
        self.hangs = threading.Event()
        self.goes_on = threading.Event()

    def link(self, address: str, key: str) -> FakeLink:
        self.connections += 1
        return FakeLink(self, key)


class FakeLink:
    def __init__(self, node: FakeNode, key: str) -> None:
        self._node = node
        self.key = key

    def survey(self, sections: tuple[str, ...]) -> Object:
        node = self._node
        node.asked.append(sections)
        node.at.append(time.monotonic())
        if node.hangs.is_set():
            node.goes_on.wait(WAIT)
        if isinstance(node.survey, Exception):
            raise node.survey
        return {**node.survey, "now": time.monotonic()}

    def steer(self, action: str, federation: str, target: str | int | None) -> Object:
        if federation == "Nobody":
            raise NameNotFound("there is no such federation")
        self._node.steered.append((action, federation, target))
        return {"action": action}

    def close(self) -> None:
        pass


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    def __init__(
        self,
        console: RunningConsole,
        server: uvicorn.Server,
        loop: asyncio.AbstractEventLoop,
        reports: list[str],
    ) -> None:
        self.console = console
        self.server = server
        self.loop = loop
        self.reports = reports
        self.guard = console.guard
        self.operator = console.guard.tokens.operator
        self.reader = console.guard.tokens.reader
        self.host = f"127.0.0.1:{self.guard.port}"
        self.origin = f"{self.guard.scheme}://{self.host}"
        self.tls: ssl.SSLContext | None = None

    def do(self, what: Callable[[], Any]) -> Any:
        """In the console's own thread."""

        async def done() -> Any:
            return what()

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(WAIT)

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """The path as it is, without anything a client would tidy up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.guard.port, timeout=WAIT)
        if self.tls is not None:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.guard.port, timeout=WAIT, context=self.tls
            )
        try:
            given = {"Host": self.host, **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            found = connection.getresponse()
            return Answer(found.status, {n.lower(): v for n, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def console_routes(self) -> list[Any]:
        door: Any = self.server.config.loaded_app
        while not hasattr(door, "routes"):
            door = getattr(door, "_inner", None) or door.app
        found: list[Any] = door.routes
        return found

    def cookie(self, role: str = "operator") -> dict[str, str]:
        return {"Cookie": f"{self.guard.cookie}={self.guard.tokens.of(role)}"}

    def bearer(self, role: str = "operator") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.guard.tokens.of(role)}"}

    def changing(self, role: str = "operator", **others: str) -> dict[str, str]:
        """All that a page of the console sends."""
        given = {
            **self.cookie(role),
            "Origin": self.origin,
            "X-Weft-Token": self.guard.tokens.csrf(role),
            "Content-Type": "application/json",
        }
        return {**given, **{name.replace("_", "-"): value for name, value in others.items()}}

    def steer(self, headers: dict[str, str], **what: Any) -> Answer:
        return self.ask("POST", "/api/steer", headers, json.dumps(what).encode())

    def page(self, role: str = "operator") -> ClientConnection:
        return connect(
            f"ws://{self.host}/ws",
            origin=Origin(self.origin),
            additional_headers=self.cookie(role),
            compression=None,
            max_size=None,
            open_timeout=WAIT,
            ping_interval=None,
        )


@contextmanager
def console_of(
    *nodes: FakeNode,
    recordings: str = "",
    reviews: Callable[[Shelf], Reviews] = Reviews,
    certificate: Path | None = None,
) -> Iterator[Running]:
    """`certificate`: a folder with cert.pem and key.pem."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        guard = ConsoleGuard(
            Tokens.make(), "127.0.0.1", listening.getsockname()[1], tls=certificate is not None
        )
        reports: list[str] = []
        by_address = {f"fake:{place}": node for place, node in enumerate(nodes)}
        console = RunningConsole(
            guard,
            recordings,
            reports.append,
            lambda address, key: by_address[address].link(address, key),
            reviews,
        )
        for address in by_address:
            console.told({"address": address, "key": "secret"})
        files = [] if certificate is None else [str(certificate / f"{one}.pem") for one in ("cert", "key")]
        server = server_of(console, *files)
        started = threading.Event()
        loops: list[asyncio.AbstractEventLoop] = []

        async def main() -> None:
            loops.append(asyncio.get_running_loop())
            loops[0].call_soon(started.set)
            await server.serve([listening])

        thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
        thread.start()
        assert started.wait(WAIT)
        deadline = time.monotonic() + WAIT
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.005)
        try:
            yield Running(console, server, loops[0], reports)
        finally:
            server.should_exit = True
            for node in nodes:
                node.goes_on.set()
            thread.join(WAIT)
            assert not thread.is_alive()


def received(page: ClientConnection) -> Object:
    found: Object = json.loads(page.recv(timeout=WAIT))
    return found
