"""A night of recorded runs, in which three things go wrong: the link gets slow, somebody sends more, a message is lost."""

from __future__ import annotations

import json
import random
import time as clocks
from pathlib import Path
from typing import Any

from review.planted import Rows
from support.recording_ambassador import Recorder
from support.small_fom import fom, parameters_of
from weft import CallbackModel, ResignAction, RTIambassador
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.runs import find_runs
from weft.host.recording.writers import Writer
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork

FEDERATION = "Night"
FIRE, COMMAND = "Event.Fire.BigFire", "Command"
STEP = 0.05  # seconds, virtual
LENGTH = 20.0  # a run is shorter
SLOW, MORE = "slow", "more"


def fly(directory: Path, seed: int, steps: int = 60, faults: frozenset[str] = frozenset()) -> None:
    """One run over two nodes: a pilot and a tank fire and command, an observer listens, on the other node."""
    delay = 0.015 if SLOW in faults else 0.005
    network = SimulatedNetwork(["north", "east"], seed, LinkProfile(delay=delay, jitter=0.004))
    # Its clock is virtual: all of the run is over by now.
    network.clock.now = clocks.monotonic() - LENGTH
    kept = []
    for name in ("north", "east"):
        recordings = NodeRecordings(directory, _warn, lambda work: None, writer=Writer(), payloads=False)
        network.node(name).record(recordings, network.clock.now)
        kept.append(recordings)
    try:
        _fly(network, random.Random(seed), steps, faults)
    finally:
        for recordings in kept:
            recordings.close()


def _fly(network: SimulatedNetwork, dice: random.Random, steps: int, faults: frozenset[str]) -> None:
    rti: dict[str, RTIambassador] = {}
    for name, node in (("pilot", "north"), ("tank", "north"), ("observer", "east")):
        mine = rti[name] = RTIambassador(network.at(node))
        mine.connect(Recorder(), CallbackModel.EVOKED)
        if not len(rti) > 1:
            mine.create_federation_execution(FEDERATION, [fom()], "HLAinteger64Time")
        mine.join_federation_execution(name, "any", FEDERATION)
        for class_name in (FIRE, COMMAND):
            handle = mine.get_interaction_class_handle(class_name)
            mine.subscribe_interaction_class(handle)
            mine.publish_interaction_class(handle)

    def wait(seconds: float) -> None:
        network.run_until(lambda: False, network.clock.now + seconds)
        for one in rti.values():
            while one.evoke_callback(0.0):
                pass

    wait(1.0)
    for _ in range(steps):
        for name, class_name, often in (("pilot", FIRE, 0.8), ("tank", COMMAND, 0.5)):
            many = (dice.random() < often) * (2 if MORE in faults and name == "pilot" else 1)
            for _ in range(many):
                _send(rti[name], class_name)
        wait(STEP)
    wait(1.0)
    for one in rti.values():
        one.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
    wait(1.0)


def _send(rti: Any, class_name: str) -> None:
    handle = rti.get_interaction_class_handle(class_name)
    values = {rti.get_parameter_handle(handle, name): b"12345678" for name in parameters_of(class_name)}
    rti.send_interaction(handle, values, b"")


def lose_one(run: Path) -> None:
    """The observer never hears of a shot in the middle of the run."""
    rows = Rows(run)
    shots = [row for row in rows.all("deliver") if row["class"].endswith("BigFire") and row["node"] == "east"]
    lost = shots[len(shots) // 2]
    rows.remove(lost, *rows.of(lost, "arrive", node="east"))
    rows.write()


def latest(directory: Path, known: set[str]) -> Path:
    """The run that has come, said to have begun when its clock did."""
    (fresh,) = [place for place in find_runs(directory) if str(place) not in known]
    run = Path(str(fresh))
    told = json.loads((run / "run.json").read_text())
    began = told["start_ns"] - int(LENGTH * 1e9)
    (run / "run.json").write_text(json.dumps({**told, "start_ns": began}))
    return run


def night(directory: Path, many: int, slow: int, more: int, lost: int, seed: int = 0) -> list[str]:
    """Names of the runs, in order; their seeds begin there."""
    names: list[str] = []
    known: set[str] = set()
    for number in range(many):
        faults = frozenset({SLOW} if number >= slow else ()) | frozenset({MORE} if number >= more else ())
        fly(directory, seed + number, faults=faults)
        run = latest(directory, known)
        known.add(str(run))
        names.append(run.name)
        if number == lost:
            lose_one(run)
    return names


def _warn(text: str) -> None:
    raise AssertionError(text)
