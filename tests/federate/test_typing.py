"""mypy knows what `weft.join` takes and gives: one run over a program, whose marked lines have to be refused and no others."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.object_models import object_model
from weft.fom.codegen import generate

ROOT = Path(__file__).parents[2]

PROGRAM = """
from dataclasses import dataclass
from typing import Annotated

import weft
from generated import Kite, Throw


@dataclass
class Ship(weft.HLAobjectRoot, dimensions={"East": 10}):
    Knots: float
    Depth: Annotated[float, weft.hla("HLAfloat32BE")] | None = None


@dataclass
class Tug(Ship):
    Bollards: int = 2


@dataclass
class Ping(weft.HLAinteractionRoot, order="TimeStamp"):
    Text: str


@dataclass
class Wrong(weft.HLAinteractionRoot, oder="TimeStamp"):  # call-arg
    Text: str


federate = weft.join("Harbour", "one", fom=weft.fom_from(Ship, Ping))
tug = Tug(3.0)
bollard: weft.LocalObject = federate.register(tug, "Bollard")
federate.register(Tug)
federate.register("Tug")
federate.register(Kite())
federate.register(Ping("x"))  # arg-type
federate.register(Tug("fast"))  # arg-type
tug.Knots = "fast"  # assignment
tug.Knot = 3.0  # attr-defined
federate.update(tug, b"tag", time=3.0)
federate.update(Ping("x"))  # arg-type
bollard.update(tug, b"tag")
bollard.update(Knots=3.0)
bollard.update(Ping("x"))  # call-overload
federate.send(Ping("x"), b"tag", time=1)
federate.send("Ping", Text="x")
federate.send(Throw())
federate.send(tug)  # call-overload
federate.subscribe(Ship, "Knots")
federate.subscribe(Ping)
federate.subscribe(int)  # arg-type


@federate.on_update(Ship)
def moved(ship: Ship, update: weft.Update) -> None:
    reveal_type(ship.Depth)  # float | None


@federate.on_update(Ship)  # arg-type
def mistaken(ship: Ping, update: weft.Update) -> None: ...


@federate.on_update(Ping)  # type-var
def unlikely(ping: Ping, update: weft.Update) -> None: ...


@federate.on_update("Ship")
def untyped(ship: weft.RemoteObject, update: weft.Update) -> None: ...


@federate.on_interaction(Ping)
def heard(ping: Ping, message: weft.Interaction) -> int:
    return len(ping.Text)


@federate.on_interaction(Ping)  # arg-type
def alone(ping: Ping) -> None: ...


reveal_type(heard)  # def (one.Ping, weft.federate.things.ReceivedInteraction) -> int
reveal_type(federate.objects(Ship)["Bollard"])  # one.Ship
reveal_type(federate.objects("Ship")["Bollard"])  # weft.federate.things.RemoteObject
reveal_type(federate.objects("Ship")["Bollard"].read(Tug).Bollards)  # int


@federate.on_directed(Ping, Ship)
def directed(ship: weft.LocalObject | weft.RemoteObject, ping: Ping, message: weft.Interaction) -> None: ...


@federate.on_request(Ship)
def requested(ship: weft.LocalObject, attributes: list[str]) -> Ship:
    return tug


@federate.on_request(Ship)  # type-var
def empty(ship: weft.LocalObject, attributes: list[str]) -> int:
    return 3


async def asynchronous() -> None:
    async with weft.join_async("Harbour", "two", fom="ships.xml", time=0.5) as two:
        two.register(tug)
        two.send(tug)  # call-overload
        async for t in two.steps(0.5, until=10):
            reveal_type(t)  # int | float
        async for ship, update in two.updates(Ship):
            reveal_type(ship)  # one.Ship
        async for message in two.interactions("Ping"):
            reveal_type(message)  # weft.federate.things.ReceivedInteraction
        two.advance(3)  # unused-coroutine
"""


def test_mypy_refuses_what_is_marked_and_nothing_else(tmp_path: Path) -> None:
    """The generated module beside it has no mark: all of it passes."""
    (tmp_path / "generated.py").write_text(generate(object_model("range"), "range"))
    program = tmp_path / "one.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", "cache"]
    command += ["--config-file", str(ROOT / "pyproject.toml"), "generated.py", "one.py"]
    environment = {"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    lines = PROGRAM.splitlines()
    said: dict[int, set[str]] = {}
    for file, number, kind, text in re.findall(r"^(\S+?):(\d+): (\w+): (.*)$", done.stdout, re.MULTILINE):
        assert file == "one.py", text
        if kind == "error":
            said.setdefault(int(number), set()).add(text.rpartition("[")[2].rstrip("]"))
        elif text.startswith("Revealed"):
            said.setdefault(int(number), set()).add(text.partition('"')[2].rstrip('"'))
    wanted = {
        number: {mark[1]}
        for number, line in enumerate(lines, 1)
        if (mark := re.search(r"  # (.*)$", line)) is not None
    }
    assert said == wanted, done.stdout + done.stderr
