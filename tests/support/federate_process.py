"""A federate as a process of its own, which a test can stop, continue and kill.

    python -m support.federate_process listen ADDRESS NAME            hears Fire until it hears "end"
    python -m support.federate_process listen ADDRESS NAME watch      … and its own HLAROlength
    python -m support.federate_process send ADDRESS RATE SIZE         sends Fire, numbered and timed, as it is told on its input
    python -m support.federate_process tank ADDRESS NAME DIRECTIVE HOW   owns a Tank, and is in the middle of something (HOW)
    python -m support.federate_process regulate ADDRESS NAME          regulates time, never asks for any, and achieves nothing
    python -m support.federate_process serve DIRECTORY                a server, on TCP, TLS and WebSocket; says the ports

It says what happens in lines of JSON.  Times are of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.server_in_thread import WAIT, Talker, free_port, serving
from weft import CallbackModel, FederateAmbassador, HLAfloat64Interval, ResignAction, RTIambassador
from weft.host.settings import ServeSettings

STAMP = struct.Struct(">Qq")  # number and time of a message; padding follows
OWN_QUEUE = "HLAobjectRoot.HLAmanager.HLAfederate"


# --- in the test ----------------------------------------------------------------------------------------------


class Process:
    module = "support.federate_process"

    def __init__(self, *arguments: str) -> None:
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(WAIT)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def says(self, what: str) -> Any:
        """Wait for a line that says this; what it says of it."""
        assert self.process.stdout is not None
        timer = threading.Timer(120.0, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                said = json.loads(line)
                if what in said:
                    return said[what]
        finally:
            timer.cancel()
        raise AssertionError(f"the process ended without saying {what!r}")

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)  # it may go on for a while on a busy machine

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT)


# --- in the process -------------------------------------------------------------------------------------------


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Ear(FederateAmbassador):
    """Checks the numbers, and notes how long each message took, in the part of the run that was announced last."""

    def __init__(self, rti: RTIambassador) -> None:
        self.rti = rti
        self.expected = 0
        self.wrong = 0
        self.ended = False
        self.part = ""
        self.delays: dict[str, list[float]] = {}
        self.lost: list[str] = []
        self.waiting: list[int] = []

    def receive_interaction(self, *arguments: Any) -> None:
        now = time.monotonic_ns()
        value = next(iter(arguments[1].values()))
        tag: bytes = arguments[2]
        if tag == b"end":
            self.ended = True
            return
        if tag:
            self.part = tag.decode()
        number, sent = STAMP.unpack_from(value)
        self.wrong += number != self.expected
        self.expected = number + 1
        self.delays.setdefault(self.part, []).append((now - sent) / 1e9)

    def reflect_attribute_values(self, *arguments: Any) -> None:
        self.waiting += [int.from_bytes(value, "big") for value in arguments[1].values()]

    def connection_lost(self, fault_description: str) -> None:
        self.lost.append(fault_description)


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def listen(address: str, name: str, watch: str = "") -> None:
    rti = RTIambassador()
    ear = Ear(rti)
    rti.connect(ear, CallbackModel.EVOKED, address)
    rti.join_federation_execution(name, "listener", "F")
    rti.subscribe_interaction_class(rti.get_interaction_class_handle("Fire"))
    if watch:
        kind = rti.get_object_class_handle(OWN_QUEUE)
        rti.subscribe_object_class_attributes(kind, {rti.get_attribute_handle(kind, "HLAROlength")})
    say(ready=name)
    while not ear.ended and not ear.lost:
        rti.evoke_multiple_callbacks(0.5, 1.0)
    say(
        done={
            "heard": ear.expected,
            "wrong": ear.wrong,
            "lost": ear.lost,
            "waiting": ear.waiting,
            "p99": {part: p99(delays) for part, delays in ear.delays.items()},
        }
    )


def send(address: str, rate: str, size: str) -> None:
    """Told "PART=SECONDS", sends for so long and says how many; told "end", ends."""
    talker = Talker(address)
    talker.rti.unsubscribe_interaction_class(talker.fire)
    say(ready="sender")
    number = 0
    padding = bytes(int(size))
    for line in sys.stdin:
        part, _, seconds = line.strip().partition("=")
        tag = part.encode()
        if part == "end":
            talker.rti.send_interaction(talker.fire, {talker.target: b""}, b"end")
            break
        due = time.monotonic()
        until = due + float(seconds)
        while due < until:
            value = STAMP.pack(number, time.monotonic_ns()) + padding
            talker.rti.send_interaction(talker.fire, {talker.target: value}, tag)
            number += 1
            due += 1 / float(rate)
            time.sleep(max(0.0, due - time.monotonic()))  # a rate is wanted: this is the pace, not a wait
        say(sent=number)
    talker.leave()


def tank(address: str, name: str, directive: str, how: str) -> None:
    talker = Talker(address, "FedPro.asyncUpdates=true" if how == "pipelining" else "")
    rti = talker.rti
    rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.join_federation_execution(name, "tank", "F")
    kind = rti.get_object_class_handle("Vehicle.Tank")
    position = rti.get_attribute_handle(kind, "Position")
    rti.publish_object_class_attributes(kind, {position})
    rti.publish_interaction_class(talker.fire)
    rti.set_automatic_resign_directive(ResignAction[directive])
    rti.reserve_object_instance_name("Rhino")
    rti.evoke_callback(WAIT)
    instance = rti.register_object_instance(kind, "Rhino")
    if how == "half a frame":
        session = rti.connection._session  # type: ignore[attr-defined]
        session.send_call_request(bytes(5000))
        parts = b"".join(session.take_outgoing(time.monotonic()))
        rti.connection._stream.socket.sendall(parts[:3000])  # type: ignore[attr-defined]
        say(ready=how)
        signal.pause()
    say(ready=how)
    while True:
        rti.update_attribute_values(instance, {position: bytes(24)}, b"")
        if how == "calling":
            rti.get_order_type("HLAreceive")


def regulate(address: str, name: str) -> None:
    rti = RTIambassador()
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED, address)
    rti.join_federation_execution(name, "regulator", "F")
    rti.enable_time_regulation(HLAfloat64Interval(1.0))
    rti.evoke_multiple_callbacks(0.1, WAIT)
    say(ready=name)
    while True:
        rti.evoke_callback(1.0)


def serve(directory: str) -> None:
    cert, key = str(Path(directory) / "cert.pem"), str(Path(directory) / "key.pem")
    wanted = (
        ServeSettings(cert=cert, key=key, tls_port=free_port(), ws_port=free_port())
        if Path(cert).exists()
        else None
    )
    with serving(serve=wanted) as running:
        say(ports=running.ports)
        for line in sys.stdin:
            say(pong=line.strip())


ROLES: dict[str, Callable[..., None]] = {
    "listen": listen,
    "send": send,
    "tank": tank,
    "regulate": regulate,
    "serve": serve,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
