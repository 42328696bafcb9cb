"""Nodes of a fabric as processes of their own, which a test can kill and start again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.fabric import Domains, Topology, write_domains

PATIENCE = 240.0
LOST = (
    6  # seconds without a sign of life, where a test waits for that; PATIENCE, where nobody may be given up
)
SETTINGS = "[fabric]\nlost_seconds = {}\nretry_seconds = 0.05\nretry_most_seconds = 0.5\n"


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses just now."""
    found = [socket.socket() for _ in range(count)]
    for one in found:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in found]
    for one in found:
        one.close()
    return ports


def loopback(topology: Topology) -> Domains:
    ports = free_ports(len(topology.servers))
    return Domains(
        topology, {name: f"127.0.0.1:{port}" for name, port in zip(topology.servers, ports, strict=True)}
    )


def write_file(folder: Path, topology: Topology, more: str = "", lost: float = LOST) -> Path:
    domains = loopback(topology)
    lines = [
        "[servers]",
        *(f'{name} = "{address}"' for name, address in domains.addresses.items()),
        "",
        "[domains]",
    ]
    lines += [f"{name} = {json.dumps(list(members))}" for name, members in topology.domains.items()]
    path = folder / "domains.toml"
    path.write_text("\n".join(lines) + "\n" + more)
    (folder / "settings.toml").write_text(SETTINGS.format(lost))
    return path


def wait_until(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}"
        time.sleep(0.01)  # between two looks at a condition


class NodeProcess:
    def __init__(
        self, folder: Path, name: str, *more: str, environment: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.name = name
        self.more = more
        self.environment = environment or {}
        self.status: dict[str, Any] = {}
        self.statuses = 0
        self.process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self.status = {}
        with (self.folder / f"{self.name}.log").open("a") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "weft.cli", "serve", "--no-record", "--node", self.name, "--domains", "domains.toml",
                    "--settings", "settings.toml", "--port", "0", "--status", "0.1", *self.more,
                ],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **self.environment},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith('{"status"'):
                self.status = json.loads(line)["status"]
                self.statuses += 1

    def _end(self, number: int) -> int:
        assert self.process is not None
        assert self._reader is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return code

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    @property
    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()


@contextlib.contextmanager
def ended(nodes: list[NodeProcess]) -> Any:
    """Whatever happens, no process is left."""
    try:
        yield nodes
    finally:
        for node in nodes:
            if node.process is not None:
                node.kill()


__all__ = ["NodeProcess", "ended", "free_ports", "loopback", "wait_until", "write_domains", "write_file"]
