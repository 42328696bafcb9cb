"""With time stamp order, two runs of the same federation give the same callbacks at every federate (issue 5, item 5).

The federates do what they do because of what they heard, so one message in another order would change everything after it.
Nothing else is the same in any two runs: who joins first, who gets to run when, delays, losses and repetitions, at one node or
over several.
"""

from __future__ import annotations

import hashlib
import threading
from random import Random

import pytest

from fabric.topologies import some
from support.fabric_federations import BAD
from support.recording_ambassador import Recorder
from support.simulated_federates import FOM
from support.timed_federation import EVENT, REQUESTS
from weft import CallbackModel, EmbeddedNode, HLAinteger64Interval, HLAinteger64Time, OrderType, RTIambassador
from weft.host import NodeHost
from weft.host.simulated.fabric import FabricNetwork

pytestmark = pytest.mark.over_nodes

FEDERATES = 4
END = 18
NAME = "the same"


class Same:
    """A federate whose doings follow from its name and what it has heard."""

    def __init__(self, number: int, site: NodeHost) -> None:
        self.number = number
        self.name = f"federate {number}"
        self.state = hashlib.sha256(self.name.encode()).digest()
        self.log = Recorder()
        self.rti = RTIambassador(site)
        self.rti.connect(self.log, CallbackModel.EVOKED)
        self.time = 0
        self.enabled = 0
        self.waiting = False
        self.heard: list[str] = []

    def join(self) -> None:
        rti = self.rti
        rti.join_federation_execution(self.name, "test", NAME)
        self.event = rti.get_interaction_class_handle(EVENT)
        rti.publish_interaction_class(self.event)
        rti.subscribe_interaction_class(self.event)
        rti.change_interaction_order_type(self.event, OrderType.TIMESTAMP)

    def enable(self) -> None:
        self.rti.enable_time_regulation(HLAinteger64Interval(1 + self.number % 2))
        self.rti.enable_time_constrained()

    def evoke(self, seconds: float = 0.0) -> None:
        while self.rti.evoke_callback(seconds):
            seconds = 0.0
        for method, arguments in self.log.take():
            if method == "receive_interaction":
                self.note(f"{arguments[2]!r} at {arguments[6].value}, {arguments[8].name}")
            elif method == "time_advance_grant":
                self.waiting = False
                self.time = arguments[0].value
                self.note(f"granted {self.time}")
            elif method.endswith("_enabled"):
                self.enabled += 1

    def note(self, what: str) -> None:
        self.heard.append(what)
        self.state = hashlib.sha256(self.state + what.encode()).digest()

    def go_on(self) -> None:
        """Send a few messages and ask for time, as the state says."""
        for n in range(self.state[0] % 4):
            time = self.time + 2 + self.state[1 + n] % 4
            self.rti.send_interaction(self.event, {}, self.state[8 + n : 10 + n], HLAinteger64Time(time))
        kind = ("TAR", "NMR")[self.state[7] % 2]
        self.waiting = True
        goal = min(END, self.time + 1 + self.state[6] % 5)
        getattr(self.rti, REQUESTS[kind])(HLAinteger64Time(goal))

    def finished(self) -> bool:
        return self.time >= END and not self.waiting


def verdict(federates: list[Same]) -> str:
    whole = "\n".join(line for one in federates for line in (one.name, *one.heard))
    return hashlib.sha256(whole.encode()).hexdigest()


def simulated(seed: int) -> str:
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0)
    federates = [Same(n, network.at(random.choice(topology.servers))) for n in range(FEDERATES)]
    federates[0].rti.create_federation_execution(NAME, [FOM], "HLAinteger64Time")
    for one in random.sample(federates, FEDERATES):
        one.join()
    network.settle()
    for one in random.sample(federates, FEDERATES):
        one.enable()
    while not all(one.enabled == 2 for one in federates):
        network.settle()
        for one in federates:
            one.evoke()
    for _ in range(100_000):
        if all(one.finished() for one in federates):
            return verdict(federates)
        network.run_until(lambda: False, network.clock.now + random.choice((0.0, 0.001, 0.05)))
        one = random.choice(federates)
        one.evoke()
        if not one.waiting and not one.finished():
            one.go_on()
    raise AssertionError(f"seed {seed}: stuck at {[one.time for one in federates]}")


def threaded() -> str:
    """At one embedded node, each federate in a thread of its own."""
    node = EmbeddedNode()
    federates = [Same(n, node) for n in range(FEDERATES)]
    federates[0].rti.create_federation_execution(NAME, [FOM], "HLAinteger64Time")
    for one in federates:
        one.join()
    for one in federates:
        one.enable()
    for one in federates:
        one.evoke()
    threads = [threading.Thread(target=_run, args=(one,)) for one in federates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    return verdict(federates)


def _run(one: Same) -> None:
    while not one.finished():
        if not one.waiting:
            one.go_on()
        one.evoke(1.0)


@pytest.mark.parametrize("runs", [15, pytest.param(200, marks=pytest.mark.soak)])
def test_all_runs_give_one_hash(runs: int) -> None:
    found = {simulated(seed) for seed in range(runs)} | {threaded() for _ in range(3)}
    assert len(found) == 1
