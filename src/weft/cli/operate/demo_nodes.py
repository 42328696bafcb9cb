"""The mixed scenario over three nodes, for `weft demo`: what receive order lets the observer see, and causal order does not.

The nodes are real kernels on a simulated network and a virtual clock, so it takes no time and comes out the same every time.  The
link from the aircraft's node to the observer's is slow: the observer hears of a hit, from the tank, before it hears of the shot.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import weft
from weft.cli.data import object_model
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.writers import Writer
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork

NODES = ("aircraft", "tank", "observer")
NEAR, FAR = LinkProfile(delay=0.005), LinkProfile(delay=0.080)
ROUNDS = 3
STEP = 0.200  # virtual seconds between two shots
ORDERS = {"RO": "Receive", "CO": "Causal"}
"""By the names of the recorder: as an object model says it."""


@dataclass
class ObserverLog:
    """Rounds as the observer sees them, in its order."""

    fires: list[int] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    early_hits: list[int] = field(default_factory=list)

    def hit(self, number: int) -> None:
        self.hits.append(number)
        if number not in self.fires:
            self.early_hits.append(number)


def fly(order: str, directory: str | Path | None) -> tuple[ObserverLog, Path | None]:
    """One flight with all classes in this order; what was seen, and the folder of the run if it was recorded."""
    network = SimulatedNetwork(NODES, profile=NEAR)
    network.clock.now = time.monotonic()
    network.set_link("aircraft", "observer", FAR)
    with _recorded(network, directory) as recordings:
        seen = _fly(network, order)
    folders = {folder for one in recordings for folder in one.folders}
    return seen, next(iter(folders), None)


@contextlib.contextmanager
def _recorded(network: SimulatedNetwork, directory: str | Path | None) -> Iterator[list[NodeRecordings]]:
    """Every node writes for itself; the nodes of one federation write into one folder.

    Books are collected at the end only: the network runs in this thread, so no other may look into them meanwhile.
    """
    kept: list[NodeRecordings] = []
    for name in () if directory is None else NODES:
        recordings = NodeRecordings(directory or "", _warn, lambda work: None, writer=Writer())
        network.node(name).record(recordings, network.clock.now)
        kept.append(recordings)
    try:
        yield kept
    finally:
        for recordings in kept:
            recordings.close()


def _warn(text: str) -> None:
    print(f"weft: {text}", flush=True)


def _fly(network: SimulatedNetwork, order: str) -> ObserverLog:
    fom = _ordered(order)
    aircraft, tank, observer = federates = [
        weft.join(f"Range-{order}", name, fom=fom, host=network.at(name)) for name in NODES
    ]
    seen = ObserverLog()
    for federate in federates:
        federate.join()
    rhino = tank.register("Tank", "Rhino")
    falcon = aircraft.register("Aircraft", "Falcon")
    tank.publish("Hit")
    aircraft.publish("Fire")

    @tank.on_interaction("Fire")
    def fired_at(shot: weft.Interaction) -> None:
        tank.send("Hit", Target=rhino.name, Round=shot["Round"], Result="Damaged")

    @observer.on_interaction("Fire")
    def fire(shot: weft.Interaction) -> None:
        seen.fires.append(shot["Round"])

    @observer.on_interaction("Hit")
    def hit(report: weft.Interaction) -> None:
        seen.hit(report["Round"])

    observer.subscribe("Vehicle")
    network.settle()
    _rest(network, federates, STEP / 10)  # so that clocks tell subscriptions from what is sent
    for number in range(1, ROUNDS + 1):
        falcon.update(Position={"X": 1000.0 - 300 * number, "Y": 0.0, "Z": 300.0})
        _rest(network, federates, STEP / 2)
        aircraft.send("Fire", Target=rhino.name, Round=number)
        _rest(network, federates, STEP)
    for federate in federates:
        federate.resign()
    network.settle()
    return seen


def _rest(network: SimulatedNetwork, federates: list[weft.Federate], seconds: float) -> None:
    """Let time pass; everybody handles what it gets as soon as it comes."""
    until = network.clock.now + seconds
    while network.clock.now < until:
        for federate in federates:
            federate.run(0.001)


def _ordered(order: str) -> weft.Source:
    """The demo's object model with this order for all it has."""
    model = object_model("range.xml")
    return weft.Source(
        f"range-{order}.xml", model.data.replace(b"<order>Receive<", f"<order>{ORDERS[order]}<".encode())
    )
