"""Federates that go on in steps, each in a process of its own: the scenarios of `weft bench orders` and `weft bench tso`.

    loose   each step: wait, send one message to all others, take what has come (S0-18)
    close   each step: send, then wait for the message of that step from everybody (S0-19)
    mixed   an aircraft that tells its position each step and fires now and then, a tank that answers with a hit, an
            observer (S0-20)
    idle    nothing is sent: only time advances (for `tso`)

Orders: RO, CO (the RTI's own), CO-middleware (`weft.CausalRTIambassador`), CO-tables (the same with destinations from tables),
TSO (Time Advance Request each step, lookahead 0.1, messages for the next step, S0-21).

A federate runs `main` of this module with a `Plan` in JSON, and prints a line of JSON: how long its steps took, the CPU they
took, and what it saw.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import weft
from weft.model.records import RtiConfiguration
from weft_benchmarks.fedpro import server
from weft_benchmarks.runner import COMPILED, environment
from weft_benchmarks.testbed.hosts import Host, addresses

FOM = weft.Source(
    "steps.xml",
    b"""<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>Steps</name><type>FOM</type></modelIdentification>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>Step</name><sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation>
<order>Receive</order><parameter><name>Payload</name><dataType>HLAopaqueData</dataType></parameter></interactionClass>
<interactionClass><name>Fire</name><sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation>
<order>Receive</order></interactionClass>
<interactionClass><name>Hit</name><sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation>
<order>Receive</order></interactionClass>
</interactionClass></interactions></objectModel>""",
)
NAME = "steps"
ORDERS = ("RO", "CO", "CO-middleware", "TSO")
BY_TABLES = "CO-tables"  # the middleware with destinations="tables"; on request
SCENARIOS = ("loose", "close", "mixed")
PAYLOAD = bytes(64)
LOOKAHEAD = 0.1
PATIENCE = 120.0  # seconds without any progress before a federate gives up and says who blocks


class Plan(NamedTuple):
    address: str
    settings: str
    place: int
    federates: int
    steps: int
    step_ms: float
    scenario: str
    order: str
    # Mixed: the aircraft fires every so many steps.
    every: int = 10


class Ears(weft.FederateAmbassador):
    def __init__(self) -> None:
        self.heard: list[int] = []  # by sender: messages of steps
        self.senders: dict[Any, int] = {}
        self.fires: list[bytes] = []
        self.hits: list[bytes] = []
        self.early = 0  # hits that came before their fire
        self.granted = 0.0
        self.enabled = 0
        self.synchronized = 0
        self.announced: set[str] = set()
        self.kinds: dict[Any, str] = {}

    def receive_interaction(self, *arguments: Any) -> None:
        kind = self.kinds[arguments[0]]
        if kind == "Step":
            sender = self.senders.setdefault(arguments[4], len(self.senders))
            while len(self.heard) <= sender:
                self.heard.append(0)
            self.heard[sender] += 1
        elif kind == "Fire":
            self.fires.append(arguments[2])
        else:
            self.hits.append(arguments[2])
            self.early += arguments[2] not in self.fires

    def time_advance_grant(self, time: Any) -> None:
        self.granted = time.value

    def time_regulation_enabled(self, time: Any) -> None:
        self.enabled += 1

    def time_constrained_enabled(self, time: Any) -> None:
        self.enabled += 1

    def announce_synchronization_point(self, label: str, tag: bytes) -> None:
        self.announced.add(label)

    def federation_synchronized(self, label: str, failed: Any) -> None:
        self.synchronized += 1


class SteppingFederate:
    """One of them, in its process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ears = Ears()
        self.rti: Any = weft.RTIambassador()
        if plan.order in ("CO-middleware", BY_TABLES):
            self.rti = weft.CausalRTIambassador(destinations="tables" if plan.order == BY_TABLES else "all")
        where = RtiConfiguration(rti_address=plan.address, additional_settings=plan.settings)
        self.rti.connect(self.ears, weft.CallbackModel.EVOKED, where)
        if plan.place == 0:
            self.rti.create_federation_execution(NAME, [FOM])
            print("created", flush=True)
        self.rti.join_federation_execution(f"federate {plan.place}", "steps", NAME)
        self.classes = {}
        for name in ("Step", "Fire", "Hit"):
            handle = self.rti.get_interaction_class_handle(name)
            self.classes[name] = handle
            self.ears.kinds[handle] = name
            self.rti.publish_interaction_class(handle)
            if plan.order in ("CO", "TSO"):
                order = weft.OrderType.TIMESTAMP if plan.order == "TSO" else weft.OrderType.CAUSAL
                self.rti.change_interaction_order_type(handle, order)
            if name == "Step" and plan.scenario == "mixed" and plan.place == 0:
                continue  # the aircraft hears only of hits
            self.rti.subscribe_interaction_class(handle)
        payload = self.rti.get_parameter_handle(self.classes["Step"], "Payload")
        self.values = {payload: PAYLOAD}
        self.time = 0.0
        if plan.order == "TSO":
            self.rti.enable_time_regulation(weft.HLAfloat64Interval(LOOKAHEAD))
            self.until(lambda: self.ears.enabled == 1)
            self.rti.enable_time_constrained()
            self.until(lambda: self.ears.enabled == 2)

    def until(self, condition: Any) -> None:
        """Take callbacks until it holds."""
        waited = time.perf_counter()
        while not condition():
            if not self.rti.evoke_callback(1.0) and time.perf_counter() - waited > PATIENCE:
                raise RuntimeError(f"{self.plan}: no progress; {self.rti.query_blocking()}")

    def together(self, point: str) -> None:
        """Wait for all others."""
        done = self.ears.synchronized
        if self.plan.place == 0:
            self.rti.register_federation_synchronization_point(point, b"")
        self.until(lambda: point in self.ears.announced)
        self.rti.synchronization_point_achieved(point)
        self.until(lambda: self.ears.synchronized > done)

    def send(self, name: str, values: Any, tag: bytes = b"") -> None:
        if self.plan.order == "TSO":
            self.rti.send_interaction(self.classes[name], values, tag, weft.HLAfloat64Time(self.time + 1.0))
        else:
            self.rti.send_interaction(self.classes[name], values, tag)

    def advance(self) -> None:
        """To the next step: by logical time, or just by taking what has come."""
        self.time += 1.0
        if self.plan.order == "TSO":
            self.rti.time_advance_request(weft.HLAfloat64Time(self.time))
            ears, rti = self.ears, self.rti
            while ears.granted < self.time:
                rti.evoke_callback(1.0)
        else:
            while self.rti.evoke_callback(0.0):
                pass

    def pause(self) -> None:
        """The step's own work: a sleep that is added to each step, so that nothing else hides in it (S0-24)."""
        if self.plan.step_ms:
            time.sleep(self.plan.step_ms / 1000)

    def heard_all(self, steps: int) -> bool:
        heard = self.ears.heard
        return len(heard) == self.plan.federates - 1 and min(heard) >= steps

    def run(self) -> None:
        plan = self.plan
        for step in range(1, plan.steps + 1):
            self.pause()
            if plan.scenario in ("loose", "close"):
                self.send("Step", self.values)
            self.advance()
            if plan.scenario == "close" and plan.order != "TSO":
                self.until(lambda step=step: self.heard_all(step))
        if plan.order == "TSO":
            self.advance()  # what was sent in the last step comes with the next
        if plan.scenario != "idle":
            self.until(lambda: self.heard_all(plan.steps))

    def run_mixed(self) -> None:
        plan = self.plan
        shots = plan.steps // plan.every
        for step in range(1, plan.steps + 1):
            self.pause()
            if plan.place == 0:
                self.send("Step", self.values)
                if step % plan.every == 0:
                    self.send("Fire", {}, b"%d" % step)
            self.answer()
            self.advance()
        if plan.order == "TSO":
            for _ in range(4):  # a fire is heard a step later, and its hit another one after that
                self.answer()
                self.advance()
        wanted = (shots if plan.place != 0 else 0, shots if plan.place != 1 else 0)
        while len(self.ears.fires) < wanted[0] or len(self.ears.hits) < wanted[1]:
            self.answer()
            self.rti.evoke_callback(1.0)
        self.answer()

    def answer(self) -> None:
        if self.plan.place != 1:
            return
        for fire in self.ears.fires[self.answered :]:
            self.answered += 1
            self.send("Hit", {}, fire)

    answered = 0

    def stamp_bytes(self) -> float:
        """Bytes of order per message sent: the causal tag, or the time with its retraction number."""
        if self.plan.order == "TSO":
            return 16.0
        if self.plan.order == "RO":
            return 0.0
        if self.plan.order in ("CO-middleware", BY_TABLES):
            counts = self.rti.counts
            return float((counts.stamp_bytes + counts.notice_bytes) / max(1, counts.messages))
        ordered = self.rti.query_status()[0]["ordered"]
        return float(ordered["tag_bytes"] / max(1, ordered["tags"]))

    def leave(self) -> None:
        self.rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
        self.rti.disconnect()


def main() -> None:
    federate = SteppingFederate(Plan(*json.loads(sys.argv[1])))
    print("ready", flush=True)
    sys.stdin.readline()  # all have joined
    federate.together("ready")
    before, cpu = time.perf_counter(), time.process_time()
    if federate.plan.scenario == "mixed":
        federate.run_mixed()
    else:
        federate.run()
    took = time.perf_counter() - before
    found = {
        "seconds": took,
        "cpu_us": (time.process_time() - cpu) / federate.plan.steps * 1e6,
        "stamp_bytes": federate.stamp_bytes(),
        "early_hits": federate.ears.early if federate.plan.place == 2 else 0,  # as the observer sees them
    }
    federate.together("done")
    print(json.dumps(found), flush=True)
    sys.stdin.readline()  # the home goes last
    federate.leave()


# --- in the benchmark's own process ---------------------------------------------------------------------------


def run_steps(
    scenario: str,
    order: str,
    federates: int,
    steps: int,
    step_ms: float,
    mesh: bool,
    every: int = 10,
    hosts: Sequence[Host] = (),
) -> dict[str, float]:
    """Run them all once: the time of the slowest, and what they say together.  `hosts`: one for each, of a mesh."""
    settings = "Weft.journal=none" if mesh else "FedPro.asyncUpdates=true"
    with _places(federates, mesh, hosts) as addresses, tempfile.TemporaryFile("w+") as errors:
        started: list[subprocess.Popen[str]] = []
        try:
            for place, address in enumerate(addresses):
                plan = Plan(address, settings, place, federates, steps, step_ms, scenario, order, every)
                started.append(_start(plan, errors, hosts[place].namespace if hosts else ""))
                if place == 0:
                    _line(started[0])  # the federation is there
            for process in started:
                _line(process)
            for process in started:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            found = [json.loads(_line(process)) for process in started]
            for process in reversed(started):
                process.communicate(timeout=60)
        except (RuntimeError, ValueError, OSError) as error:
            errors.seek(0)
            raise RuntimeError(
                f"a federate of the benchmark failed ({error}):\n{errors.read()[-4000:]}"
            ) from error
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
    return {
        "seconds": max(one["seconds"] for one in found),
        "cpu_us": sum(one["cpu_us"] for one in found),
        "stamp_bytes": sum(one["stamp_bytes"] for one in found) / len(found),
        "early_hits": sum(one["early_hits"] for one in found),
    }


def _start(plan: Plan, errors: IO[str], namespace: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", f"from {__name__} import main; main()", json.dumps(plan)]
    if namespace:
        command = ["ip", "netns", "exec", namespace, *command]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise RuntimeError("it said nothing")
    return line


@contextlib.contextmanager
def _places(count: int, mesh: bool, hosts: Sequence[Host]) -> Iterator[list[str]]:
    """Where each federate connects: a node of its own in its process, or one server for all."""
    with tempfile.TemporaryDirectory() as folder:
        if mesh:
            yield _mesh(Path(folder), count, hosts)
        else:
            with server(COMPILED, folder) as (_, port):
                yield [f"127.0.0.1:{port}"] * count


def _mesh(folder: Path, count: int, hosts: Sequence[Host]) -> list[str]:
    names = [f"S{number}" for number in range(1, count + 1)]
    found = addresses(count, hosts)
    servers = "\n".join(f'{name} = "{address}"' for name, address in zip(names, found, strict=True))
    file = folder / "domains.toml"
    file.write_text(f"[servers]\n{servers}\n\n[domains]\nA = {json.dumps(names)}\n")
    return [f"mesh://{name}@{file}" for name in names]
