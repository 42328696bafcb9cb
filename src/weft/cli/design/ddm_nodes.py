"""Plays a workload with a process for each federate, which is a node of a fabric itself; all on this machine.

The processes stay from one run to the next: each run has a fabric of its own, with new ports.  They are told what to do by
lines of JSON, and answer with one line each:

    begin    connect, create or join, declare and register      → {}
    meet     wait until everybody knows what all have declared  → {}
    play     the steps, each so many ms after the one before    → {}
    counts   take callbacks for a moment, then count            → what is counted, in all since `begin`
    end      resign, stop the node                              → {}

`time.perf_counter` is one clock for all processes of a machine, so a receiver can say how long a message took.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

import weft
from weft.cli.design.ddm_runs import NAME, RunCost, Setting, WorkloadFederate, add_traffic, played
from weft.cli.design.ddm_workload import AttributeAt, Workload, WorkloadPart, WorkloadTurn
from weft.model.errors import WeftError
from weft.model.json_types import JsonObject
from weft.model.records import RtiConfiguration, Source

# Seconds without any message after which no more is waited for; some may be lost, or have found nobody who still wants them.
_QUIET: Final = 0.05
_QUIET_IF_MISSING: Final = 1.0
_AT_MOST: Final = 30.0  # seconds to wait for that
_PATIENCE: Final = 300.0  # seconds for an answer, besides what the steps take
_LAUNCH: Final = "from weft.cli.design.ddm_nodes import main; main()"


class NodeOrder(NamedTuple):
    """What one process is told to do."""

    address: str
    settings: str
    creates: bool
    model: list[tuple[str, str]]  # names and texts
    part: WorkloadPart


# --- in each process ------------------------------------------------------------------------------------------------


class NodeProcess:
    def __init__(self) -> None:
        self._player: WorkloadFederate | None = None

    def begin(self, plan: NodeOrder) -> JsonObject:
        player = self._player = WorkloadFederate(plan.part)
        where = RtiConfiguration(rti_address=plan.address, additional_settings=plan.settings)
        player.rti.connect(player.ears, weft.CallbackModel.EVOKED, where)
        model = [Source(name, text.encode()) for name, text in plan.model]
        player.join(model if plan.creates else None)
        player.set_up()
        return {}

    def meet(self, registers: bool) -> JsonObject:
        self._there().meet(registers)
        return {}

    def play(self, step_ms: float) -> JsonObject:
        player = self._there()
        due = time.perf_counter()
        for step in range(len(player.part.turns)):
            player.move(step)
            player.update(step)
            due += step_ms / 1000
            while (left := due - time.perf_counter()) > 0:
                player.rti.evoke_callback(left)
            player.take()
        return {}

    def counts(self) -> JsonObject:
        player = self._there()
        end = time.perf_counter() + 0.01
        while (left := end - time.perf_counter()) > 0:
            player.rti.evoke_callback(left)
        told = player.rti.query_survey(["fabric"])
        fabric = told["fabric"]
        links = fabric["links"].values()
        mine = told["federations"][NAME]["federates"][player.part.federate]
        found: dict[str, int] = {}
        add_traffic(found, player.part.federate, mine.get("traffic", {}))
        return {
            **found,
            "bytes": sum(link["bytes_out"] for link in links) + fabric["group_bytes"],
            "datagrams": fabric["group_datagrams"],
            "links up": sum(link["up"] for link in links),
            "cpu": time.process_time(),
            "latencies": list(player.ears.latencies),
        }

    def end(self) -> JsonObject:
        self._there().leave()
        self._player = None
        weft.stop_node()
        return {}

    def _there(self) -> WorkloadFederate:
        assert self._player is not None
        return self._player


def main() -> None:
    process = NodeProcess()
    for line in sys.stdin:
        try:
            answer = _answer(process, line)
        except WeftError as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def _answer(process: NodeProcess, line: str) -> JsonObject:
    what, given = json.loads(line)
    if what == "begin":
        return process.begin(plan_from(given))
    if what == "meet":
        return process.meet(given)
    if what == "play":
        return process.play(given[0])
    return process.counts() if what == "counts" else process.end()


def plan_from(text: str) -> NodeOrder:
    """JSON has lists in place of tuples."""
    address, settings, creates, model, part = json.loads(text)
    federate, wishes, things, squares, turns = part
    made = WorkloadPart(
        federate,
        [AttributeAt(*one) for one in wishes],
        [AttributeAt(*one) for one in things],
        squares,
        [WorkloadTurn(*one) for one in turns],
    )
    return NodeOrder(address, settings, creates, model, made)


# --- in the process that compares -----------------------------------------------------------------------------------


class Nodes:
    """So many processes, ready to play."""

    def __init__(self, count: int) -> None:
        self._given_up = ""
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 (shown if one fails, closed at the end)
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", _LAUNCH],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                text=True,
            )
            for _ in range(count)
        ]

    def __enter__(self) -> Nodes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            if kind is not None:
                process.kill()
            process.communicate()
        self._words.close()

    def play(self, workload: Workload, chosen: Setting, step_ms: float = 10.0) -> RunCost:
        with tempfile.TemporaryDirectory() as name:
            plans = _plans(workload, chosen, Path(name))
            self._ask("begin", [json.dumps(plans[0])], self._processes[:1])
            self._ask("begin", [json.dumps(one) for one in plans[1:]], self._processes[1 : len(plans)])
            used = self._processes[: len(plans)]
            self._ask("meet", [one.creates for one in plans], used)
            before = self._settled(used)
            begun = time.perf_counter()
            steps = max(len(part.turns) for part in workload.parts)
            self._ask("play", [[step_ms]] * len(used), used, _PATIENCE + 10 * steps * step_ms / 1000)
            seconds = time.perf_counter() - begun
            after = self._settled(used)
            self._ask("end", [[]] * (len(used) - 1), used[1:])
            self._ask("end", [[]], used[:1])  # the home goes last
        return _sum(chosen, workload, before, after, seconds)

    def _settled(self, used: list[subprocess.Popen[str]]) -> list[JsonObject]:
        """What they count when nothing comes any more."""
        end = time.perf_counter() + _AT_MOST
        found, quiet = self._ask("counts", [[]] * len(used), used), time.perf_counter()
        while time.perf_counter() < min(quiet + _quiet_for(found), end):
            more = self._ask("counts", [[]] * len(used), used)
            if [one.get("received") for one in more] != [one.get("received") for one in found]:
                quiet = time.perf_counter()
            if any(int(str(one["links up"])) < len(used) - 1 for one in more):
                quiet = time.perf_counter()  # not all have met
            found = more
        return found

    def _ask(
        self,
        what: str,
        given: Sequence[object],
        asked: list[subprocess.Popen[str]],
        patience: float = _PATIENCE,
    ) -> list[JsonObject]:
        """All at once, and then their answers; none of them may take longer."""
        watching = threading.Timer(patience, self._give_up, (what, patience))
        watching.start()
        try:
            for process, one in zip(asked, given, strict=True):
                assert process.stdin is not None
                process.stdin.write(json.dumps([what, one]) + "\n")
                process.stdin.flush()
            return [self._answer(number, process, what) for number, process in enumerate(asked, 1)]
        except BrokenPipeError:
            raise WeftError(f"a node of the comparison ended before {what!r}\n{self._last_words()}") from None
        finally:
            watching.cancel()

    def _answer(self, number: int, process: subprocess.Popen[str], what: str) -> JsonObject:
        assert process.stdout is not None
        line = process.stdout.readline()
        lost = {"error": f"{self._given_up or 'it has ended'}\n{self._last_words()}"}
        answer: JsonObject = json.loads(line) if line else {**lost}
        if "error" in answer:
            raise WeftError(f"node {number} of the comparison failed at {what!r}: {answer['error']}")
        return answer

    def _give_up(self, what: str, patience: float) -> None:
        self._given_up = f"there was no answer for {patience:g} s"
        for process in self._processes:
            process.kill()

    def _last_words(self) -> str:
        self._words.seek(0)
        return self._words.read()[-2000:]


def _quiet_for(counts: list[JsonObject]) -> float:
    """How long nothing must have come: not long where all that was sent has, since then that is all."""
    sent, come = (sum(int(str(one.get(name, 0))) for one in counts) for name in ("copies", "received"))
    return _QUIET if sent == come else _QUIET_IF_MISSING


def _plans(workload: Workload, chosen: Setting, folder: Path) -> list[NodeOrder]:
    """A fabric of one domain, on ports that are free just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(len(workload.parts) + 1)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    names = [f"S{number}" for number in range(1, len(workload.parts) + 1)]
    servers = "\n".join(f'{name} = "127.0.0.1:{port}"' for name, port in zip(names, ports, strict=False))
    (folder / "domains.toml").write_text(f"[servers]\n{servers}\n\n[domains]\nA = {json.dumps(names)}\n")
    (folder / "compare.rid").write_bytes(chosen.rid.data)
    settings = f'[serve]\nrun_directory = "{folder}"\n[ddm]\nrid = "{folder / "compare.rid"}"\nmulticast_port = {ports[-1]}\n'
    (folder / "settings.toml").write_text(settings)
    model = [(one.name, one.data.decode()) for one in workload.model]
    extra = f"Weft.settings={folder / 'settings.toml'}\nWeft.journal=none"
    return [
        NodeOrder(f"mesh://{name}@{folder / 'domains.toml'}", extra, number == 0, model, part)
        for number, (name, part) in enumerate(zip(names, workload.parts, strict=True))
    ]


def _sum(
    chosen: Setting, workload: Workload, before: list[JsonObject], after: list[JsonObject], seconds: float
) -> RunCost:
    total: dict[str, float] = {}
    latencies: list[float] = []
    for was, now in zip(before, after, strict=True):
        for key, value in now.items():
            if isinstance(value, (int, float)):
                then = was.get(key, 0)
                assert isinstance(then, (int, float))
                total[key] = total.get(key, 0) + value - then
            elif isinstance(value, list):
                latencies += [float(str(one)) for one in value]
    counts = {key: int(value) for key, value in total.items()}
    return played(
        chosen, workload, counts, counts["bytes"], None, counts["datagrams"], total["cpu"], latencies, seconds
    )
