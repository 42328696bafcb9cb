"""Messages through a server, over loopback, between processes.

* Round trip: one federate sends an interaction of 64 bytes, another answers with one; everything pinned to one core.  Floor: two
  ends in C through a C relay, the same bytes, pinned alike.
* One call: how long a synchronous send-interaction takes.  Floor: the same client against a responder in C.
* Throughput, one to one and one to seven, waiting for each answer and not (asyncUpdates); with the server's CPU per message sent.
* Profile of the same: what share of the messages was spliced, and how many frames went out with one write.
* Memory: a server with a thousand idle federates.

Federates are Python processes that run `main` of this module; they are compiled or pure as the server is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import weft
from weft.host.client.connection import RemoteConnection
from weft.host.client.settings import ClientSettings
from weft.model.records import RtiConfiguration
from weft_benchmarks.embedded import _FOM, Counter
from weft_benchmarks.runner import COMPILED, PURE, environment, say

ROUND_TRIPS = 3_000
MESSAGES = {COMPILED: 150_000, PURE: 40_000}
SYNCHRONOUS = 8_000
IDLE = 1_000
FRAME = 24 + 90  # bytes of a call with 64 bytes of payload

# --- in the federates' processes ------------------------------------------------------------------------------


def join(port: int | str, settings: str = "") -> tuple[weft.RTIambassador, Counter, Any, Any]:
    """At a server on that port, or, with an address in its place, at the node that this process is itself."""
    rti = weft.RTIambassador()
    counter = Counter()
    where = RtiConfiguration(rti_address=f"127.0.0.1:{port}", additional_settings=settings)
    if isinstance(port, str):
        where = RtiConfiguration(rti_address=port, additional_settings="Weft.journal=none")
    rti.connect(counter, weft.CallbackModel.EVOKED, where)
    with contextlib.suppress(weft.errors.FederationExecutionAlreadyExists):
        rti.create_federation_execution("bench", _FOM)
    rti.join_federation_execution("bench", "bench")
    ping = rti.get_interaction_class_handle("Ping")
    values = {rti.get_parameter_handle(ping, "Payload"): bytes(64)}
    rti.publish_interaction_class(ping)
    return rti, counter, ping, values


def leave(rti: weft.RTIambassador, port: int | str = 0) -> None:
    if isinstance(port, str):
        return  # the end of the process is enough, and in which order they end is all the same
    rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
    rti.disconnect()


def echo(port: int | str, turns: int) -> None:
    """Answer each interaction with one."""
    rti, counter, ping, values = join(port, "FedPro.asyncUpdates=true")
    rti.subscribe_interaction_class(ping)
    print("ready", flush=True)
    answered = 0
    while answered < turns:
        rti.evoke_callback(60.0)
        while answered < counter.received:
            answered += 1
            rti.send_interaction(ping, values, b"")
            rti.connection.wait(0)
    leave(rti, port)


def ping(port: int | str, turns: int) -> None:
    """Send, wait for the answer; prints the round trips in µs."""
    rti, counter, ping_class, values = join(port, "FedPro.asyncUpdates=true")
    rti.subscribe_interaction_class(ping_class)
    taken = []
    for turn in range(turns):
        before = time.perf_counter_ns()
        rti.send_interaction(ping_class, values, b"")
        while counter.received <= turn:
            rti.evoke_callback(60.0)
        taken.append((time.perf_counter_ns() - before) / 1000)
    print(json.dumps(taken), flush=True)
    leave(rti, port)


def receive(port: int | str, turns: int) -> None:
    """Count what comes; prints the rate from the first to the last, and the CPU it took."""
    rti, counter, ping_class, _ = join(port)
    rti.subscribe_interaction_class(ping_class)
    print("ready", flush=True)
    while counter.received == 0:
        rti.evoke_callback(60.0)
    before, cpu = time.perf_counter(), time.process_time()
    first = counter.received
    while counter.received < turns:
        rti.evoke_callback(1.0)
        rti.evoke_multiple_callbacks(0.0, 1.0)
    took = time.perf_counter() - before
    print(
        json.dumps({"rate": (turns - first) / took, "cpu_us": (time.process_time() - cpu) / turns * 1e6}),
        flush=True,
    )
    leave(rti, port)


def send(port: int | str, turns: int, mode: str) -> None:
    """Send, waiting for each answer ("sync") or not ("async")."""
    rti, _, ping_class, values = join(port, "FedPro.asyncUpdates=true" if mode == "async" else "")
    before, cpu = time.perf_counter(), time.process_time()
    for _ in range(turns):
        rti.send_interaction(ping_class, values, b"")
    rti.get_order_type("HLAreceive")
    took = time.perf_counter() - before
    print(json.dumps({"rate": turns / took, "cpu_us": (time.process_time() - cpu) / turns * 1e6}), flush=True)
    leave(rti, port)


def call(port: int, turns: int, joined: str) -> None:
    """One send-interaction after the other, to a server ("joined") or the responder in C; prints them in µs."""
    arguments: tuple[Any, ...] = (b"\x30\0\0\1", {b"\x40\0\0\1": bytes(64)}, b"")
    if joined == "joined":
        rti, _, ping_class, values = join(port)
        connection = rti.connection
        arguments = (ping_class, values, b"")
    else:
        connection = RemoteConnection(ClientSettings(host="127.0.0.1", port=port))
    taken = []
    for _ in range(turns):
        before = time.perf_counter_ns()
        connection.call("send_interaction", arguments)
        taken.append((time.perf_counter_ns() - before) / 1000)
    print(json.dumps(taken), flush=True)
    connection.lose()


def idle(port: int, count: int) -> None:
    """Connect so many ambassadors and stay."""
    kept = []
    for _ in range(count):
        rti = weft.RTIambassador()
        rti.connect(weft.FederateAmbassador(), weft.CallbackModel.EVOKED, f"127.0.0.1:{port}")
        with contextlib.suppress(weft.errors.FederationExecutionAlreadyExists):
            rti.create_federation_execution("bench", _FOM)
        rti.join_federation_execution("idle", "bench")
        kept.append(rti)
    print("ready", flush=True)
    sys.stdin.readline()
    for rti in kept:
        leave(rti)


# --- in the benchmark's own process ---------------------------------------------------------------------------


def measure(build: str) -> dict[str, float]:
    """All figures of one build."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        with server(build, folder, pinned=True) as (_, port):
            say(f"{build}: round trip")
            taken = round_trips(build, port)
            figures["round_trip_us"] = statistics.median(taken)
            figures["round_trip_p99_us"] = percentile(taken, 99)
            figures["call_us"] = statistics.median(
                json.loads(output(role(build, "call", port, ROUND_TRIPS, "joined", pinned=True)))
            )
        for receivers, name in ((1, "one_to_one"), (7, "one_to_seven")):
            for mode in ("async", "sync"):
                say(f"{build}: {name}, {mode}")
                turns = SYNCHRONOUS if mode == "sync" else MESSAGES[build] // (1 if receivers == 1 else 4)
                with server(build, folder) as (process, port):
                    rate, cpu = throughput(build, process, port, receivers, turns, mode)
                figures[f"{name}_{mode}_per_s"] = rate
                figures[f"{name}_{mode}_server_us"] = cpu
                messages, spliced, frames, writes = _last_words(folder)
                figures[f"{name}_{mode}_spliced"] = spliced / messages
                figures[f"{name}_{mode}_frames_per_write"] = frames / writes
    return figures


def measure_idle(build: str) -> float:
    """MiB of a server with a thousand idle federates."""
    with tempfile.TemporaryDirectory() as folder, server(build, folder) as (process, port):
        crowd = role(build, "idle", port, IDLE)
        ready(crowd)
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        crowd.communicate("\n", timeout=120)
        return resident / 1024


def measure_floor(folder: str) -> dict[str, float]:
    """The C floors; nothing where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return {}
    program = Path(folder) / "floor"
    source = Path(__file__).with_name("floor.c")
    if not program.exists():
        subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True, capture_output=True)
    figures = {}
    with _floor(program, "relay") as port:
        done = subprocess.run(
            [str(program), "pingpong", str(port), str(ROUND_TRIPS), str(FRAME)],
            capture_output=True, text=True, check=True, timeout=120, preexec_fn=_pin,
        )  # fmt: skip
        taken = [int(line) / 1000 for line in done.stdout.split()]
        figures["relay_us"] = statistics.median(taken)
        figures["relay_p99_us"] = percentile(taken, 99)
    with _floor(program, "responder") as port:
        figures["responder_call_us"] = statistics.median(
            json.loads(output(role(COMPILED, "call", port, ROUND_TRIPS, "alone", pinned=True)))
        )
    return figures


def _pin() -> None:
    os.sched_setaffinity(0, {0})


@contextlib.contextmanager
def _floor(program: Path, role: str) -> Iterator[int]:
    process = subprocess.Popen([str(program), role, "0"], stdout=subprocess.PIPE, text=True, preexec_fn=_pin)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def server(
    build: str, folder: str, pinned: bool = False, record: str = ""
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """What recording costs is measured apart (`weft bench record`).  `record`: where to; what waits for a store stays there."""
    recording = ["--record", record] if record else ["--no-record"]
    spool = {"WEFT_RECORD_SPOOL": f"{folder}/spool", "WEFT_RECORD_KEEP_SPOOL": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "serve", "--no-console", "--port", "0", *recording],
        env=environment(build) | spool, cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=_pin if pinned else None,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.strip().startswith("tcp"):
                yield process, int(line.rsplit(":", 1)[1])
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)  # it may wait half a minute for a store


def role(build: str, role: str, *arguments: Any, pinned: bool = False) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import main; main()", role, *map(str, arguments)],
        env=environment(build),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=_pin if pinned else None,
    )  # fmt: skip


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError("a federate of the benchmark did not start; its error stands above")


def output(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=300)
    if process.returncode != 0:
        raise RuntimeError("a federate of the benchmark failed; its error stands above")
    return out.strip().splitlines()[-1]


def round_trips(
    build: str, near: int | str, far_from: int | str | None = None, pinned: bool = True
) -> list[float]:
    """In µs, between two processes at the same server, or at two places of their own."""
    far = role(build, "echo", near if far_from is None else far_from, ROUND_TRIPS, pinned=pinned)
    ready(far)
    taken: list[float] = json.loads(output(role(build, "ping", near, ROUND_TRIPS, pinned=pinned)))
    far.communicate(timeout=60)
    return taken[len(taken) // 10 :]


def throughput(
    build: str,
    process: subprocess.Popen[str],
    port: int,
    receivers: int,
    turns: int,
    mode: str,
    begun: Callable[[], bool] = lambda: True,
) -> tuple[float, float]:
    """Messages per second that the slowest receiver got, and the server's CPU µs for each message sent.

    `begun`: is the server as it is in the midst of a run?
    """
    ears = [role(build, "receive", port, turns) for _ in range(receivers)]
    for ear in ears:
        ready(ear)
    wait_for(begun)
    before = _cpu_of_all(process.pid)
    sender = role(build, "send", port, turns, mode)
    rates = [json.loads(output(ear))["rate"] for ear in ears]
    output(sender)
    return min(rates), (_cpu_of_all(process.pid) - before) / turns * 1e6


def wait_for(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Until it is."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            raise RuntimeError(f"the server was not ready within {seconds:g} s")
        time.sleep(0.02)


def _last_words(folder: str) -> tuple[int, int, int, int]:
    """What the server that stopped last says it did: messages, those spliced, frames, writes."""
    log = max(Path(folder).glob("**/server.log"), key=lambda path: path.stat().st_mtime_ns)
    last = log.read_text().splitlines()[-1]
    found = re.search(
        r"after (\d+) updates and interactions \((\d+) .*; (\d+) frames .* in (\d+) writes", last
    )
    if found is None:
        raise RuntimeError(f"the server did not say what it did; its last line was {last!r}")
    messages, spliced, frames, writes = map(int, found.groups())
    return messages, spliced, frames, writes


def _cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_of_all(pid: int) -> float:
    """With the processes that it has started: one of them writes what is recorded."""
    return sum(map(_cpu_seconds, family(pid)))


def family(pid: int) -> list[int]:
    """A process and those that it has started."""
    started = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(int(child) for path in started for child in path.read_text().split())]


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


ROLES: dict[str, Callable[..., None]] = {
    "echo": echo,
    "ping": ping,
    "receive": receive,
    "send": send,
    "call": call,
    "idle": idle,
}


def main() -> None:
    role, *rest = sys.argv[1:]
    ROLES[role](*(int(word) if word.isdigit() else word for word in rest))
