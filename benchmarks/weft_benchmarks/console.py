"""What a console costs a server with a thousand federates: the same with and without a page that looks, in turns.

* Throughput: one to one, 64-byte interactions, as fast as they go; messages a second and the server's CPU for each.
* Load: 20,000 messages a second for some seconds; how much of a core the server takes.
* How many updates a second the page got, and how large they were.

The others of the thousand are joined and idle.  The console is a process of its own, as `weft serve` starts it; without a page
it asks nothing.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from weft_benchmarks import fedpro
from weft_benchmarks.runner import environment, say

FEDERATES = 1_000
RATE = 20_000
SECONDS = 5.0
TIMES = 4  # as many messages as in `weft bench fedpro`, so that a run sees several surveys
PAUSE = 4.0  # until a console whose page is gone does not ask any more


# --- in a federate's process ----------------------------------------------------------------------------------


def paced(port: int, rate: int, seconds: float) -> None:
    """Send at a rate; says how many it were."""
    rti, _, ping_class, values = fedpro.join(port, "FedPro.asyncUpdates=true")
    print("ready", flush=True)
    sys.stdin.readline()
    began, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        while sent < passed * rate:
            rti.send_interaction(ping_class, values, b"")
            sent += 1
        rti.connection.wait(0.001)
    rti.get_order_type("HLAreceive")
    print(json.dumps(sent), flush=True)
    fedpro.leave(rti)


def listen(port: int) -> None:
    """Hear all of it, until told to end."""
    rti, counter, ping_class, _ = fedpro.join(port)
    rti.subscribe_interaction_class(ping_class)
    print("ready", flush=True)
    told = threading.Thread(target=sys.stdin.readline, daemon=True)
    told.start()
    while told.is_alive():
        rti.evoke_callback(0.1)
        rti.evoke_multiple_callbacks(0.0, 1.0)
    print(json.dumps(counter.received), flush=True)
    fedpro.leave(rti)


def main() -> None:
    role, port = sys.argv[1], int(sys.argv[2])
    if role == "paced":
        paced(port, int(sys.argv[3]), float(sys.argv[4]))
    else:
        listen(port)


# --- in the benchmark's own process ---------------------------------------------------------------------------


class Page:
    """Looks, and counts what it gets."""

    def __init__(self, url: str) -> None:
        place, _, token = url.partition("/?token=")
        self._address = place.replace("http", "ws", 1) + "/ws"
        self._headers = {"Authorization": f"Bearer {token}"}
        self.updates = 0
        self.bytes = 0
        self._ended = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        from websockets.sync.client import connect

        with connect(
            self._address, additional_headers=self._headers, compression=None, max_size=None
        ) as page:
            while not self._ended.is_set():
                with contextlib.suppress(TimeoutError):
                    self.bytes += len(page.recv(timeout=0.5))
                    self.updates += 1

    def close(self) -> tuple[float, float]:
        """Updates a second, and bytes of each."""
        took = time.monotonic() - self._began
        self._ended.set()
        self._thread.join(10.0)
        if not self.updates:
            raise RuntimeError("the page got no update; the console does not show this server")
        return self.updates / took, self.bytes / self.updates


@contextlib.contextmanager
def crowd(build: str, folder: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """A server with its idle federates and a console: its process and port, and the console's address."""
    with fedpro.server(build, folder) as (process, port):
        say(f"{build}: {FEDERATES} federates join")
        idle = fedpro.role(build, "idle", port, FEDERATES - 2)
        fedpro.ready(idle)
        console = subprocess.Popen(
            [sys.executable, "-m", "weft.cli", "console", f"127.0.0.1:{port}", *_keys(folder)],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            assert console.stdout is not None
            yield process, port, console.stdout.readline().split()[1]
        finally:
            console.terminate()
            console.communicate(timeout=30)
            idle.communicate("\n", timeout=120)


def _keys(folder: str) -> list[str]:
    found = next(Path(folder).glob("runs/server/*/operator.key"), None)
    return [] if found is None else ["--operator-key", str(found)]


def measure(build: str, repeats: int) -> list[dict[str, float]]:
    """For each round all figures, without and with a page."""
    samples = []
    with tempfile.TemporaryDirectory() as folder, crowd(build, folder) as (process, port, url):
        for number in range(1, repeats + 1):
            found: dict[str, float] = {}
            for looks in (False, True) if number % 2 else (True, False):
                say(f"{build}: {'with' if looks else 'without'} a page, round {number}/{repeats}")
                found.update(_turn(build, process, port, url if looks else ""))
            samples.append(found)
    return samples


def _turn(build: str, process: subprocess.Popen[str], port: int, url: str) -> dict[str, float]:
    page = Page(url) if url else None
    name = "page" if url else "plain"
    if page is not None:
        fedpro.wait_for(lambda: page.updates > 2)
    rate, cpu = fedpro.throughput(build, process, port, 1, TIMES * fedpro.MESSAGES[build], "async")
    found = {f"{name}_per_s": rate, f"{name}_us": cpu, f"{name}_core": _load(build, process, port)}
    if page is not None:
        found["updates_per_s"], found["update_bytes"] = page.close()
        time.sleep(PAUSE)
    return found


def _load(build: str, process: subprocess.Popen[str], port: int) -> float:
    """How much of a core the server takes at 20,000 messages a second."""
    ear = _role(build, "listen", port)
    sender = _role(build, "paced", port, RATE, SECONDS)
    for one in (ear, sender):
        fedpro.ready(one)
    before = fedpro._cpu_seconds(process.pid)
    sent = int(sender.communicate("\n", timeout=120)[0].strip().splitlines()[-1])
    spent = fedpro._cpu_seconds(process.pid) - before
    heard = int(ear.communicate("\n", timeout=120)[0].strip().splitlines()[-1])
    if heard < sent * 0.99:
        raise RuntimeError(f"{heard} of {sent} messages were received")
    return spent / SECONDS


def _role(build: str, role: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import main; main()", role, *map(str, arguments)],
        env=environment(build), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
