"""Red and blue tanks at scale (figures 2 to 5, S4-13, S4-19): federates on nodes of their own, over links with random delays.

Tanks move about a square.  At each step a tank, granted t, says where it looks and where it is as of t + lookahead, sends its
position with that time stamp, and asks for t + 1.  Where everybody is at what time follows from the seed of the world alone;
the seed of the network only changes how far the federates are apart in wall-clock time and what overtakes what.

Synchronized, it works as docs/explanation/ddm-sync.md proposes:

* a change of a subscription goes to the home, which puts all in one order and passes them on to every node;
* each node keeps the lists of all subscribers, and the log of its own updates; what is late it sends itself;
* a node that has carried out a change answers; until all have, who made the change is not granted its time;
* nothing is retracted over the network: the receiver filters when its time has come;
* logs and lists are reclaimed up to the least that anybody promises.

By wall clock, a change holds for what a node sends after it has heard of it, and that is all.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from interest.causal_net import CausalNet
from interest.receiving import Receiver, overlap
from weft.interest import CellAxis, CellInterest, CellUpdate, Grid
from weft.interest.cells import Boxes

SIZE = 1000
HOME = 0


class Scenario(NamedTuple):
    tanks: int = 6
    steps: int = 30
    lookahead: int = 2
    cells: int = 10  # in each dimension
    sight: int = 250
    world: int = 1
    network: int = 1
    delay: float = 1.0  # of a message, against a step of about 1
    synchronized: bool = True
    holds: bool = True  # False, a defect: who changes a region does not wait for the answers
    everybody: bool = True  # False, a defect: time waits only for those in sight (figure 5)


class Counts:
    def __init__(self) -> None:
        self.sent = 0  # updates to a node, at once
        self.late = 0  # updates to a node, late
        self.changes = 0  # of subscription regions
        self.control = 0  # messages that are not updates
        self.retractions = 0  # that a receiver made by itself
        self.extra = 0
        self.log = 0  # the most entries that one node had at once
        self.past = 0  # updates that came too late for their receiver
        self.duration = 0.0
        self.held = 0  # how often a federate waited for a change of its own


class World:
    """Where each tank is at each time."""

    def __init__(self, scenario: Scenario) -> None:
        self.places: list[list[tuple[int, int]]] = []
        for tank in range(scenario.tanks):
            rng = random.Random(1000 * scenario.world + tank)
            x, y = rng.randrange(SIZE), rng.randrange(SIZE)
            path = []
            for _ in range(scenario.steps + scenario.lookahead + 1):
                path.append((x, y))
                x = min(SIZE - 1, max(0, x + rng.randint(-60, 60)))
                y = min(SIZE - 1, max(0, y + rng.randint(-60, 60)))
            self.places.append(path)
        self.sight = scenario.sight

    def looks(self, tank: int, time: int) -> Boxes:
        x, y = self.places[tank][time]
        near = self.sight
        return (((max(0, x - near), min(SIZE, x + near)), (max(0, y - near), min(SIZE, y + near))),)

    def is_at(self, tank: int, time: int) -> Boxes:
        x, y = self.places[tank][time]
        return (((x, x + 1), (y, y + 1)),)

    def wanted(self, scenario: Scenario) -> list[list[tuple[int, int]]]:
        """By definition: for each tank the (time, sender) of all that it should be given."""
        times = range(scenario.lookahead, scenario.steps + 1)
        others = range(scenario.tanks)
        return [
            [
                (time, other)
                for time in times
                for other in others
                if other != tank and overlap(self.looks(tank, time), self.is_at(other, time))
            ]
            for tank in range(scenario.tanks)
        ]


class Tank:
    """A federate and its node."""

    def __init__(self, number: int, run: Run) -> None:
        self.number = number
        self.run = run
        self.interest = CellInterest[int, object](run.grid)
        self.receiver = Receiver[int]()
        self.current: dict[
            int, frozenset[int]
        ] = {}  # wall clock: where the others look, as far as is known here
        self.time = 0
        self.asked: int | None = None
        self.least = 0
        self.held: dict[int, None] = {}  # changes of its own that some node has not answered
        self.given: list[tuple[float, int]] = []

    def step(self) -> None:
        """Granted `time`: say what will be, and ask for the next step."""
        run, scenario = self.run, self.run.scenario
        time = self.time + scenario.lookahead
        bound = (time, 0)
        looks, is_at = run.world.looks(self.number, time), run.world.is_at(self.number, time)
        self.receiver.modify(1, looks, time)
        if scenario.holds:
            self.held[time] = None
        run.counts.changes += 1
        run.control(self.number, HOME, ("ask", self.number, time, looks))
        self.interest.modify_update((self.number, 9), is_at, time, bound)
        self._update(time)
        self.asked = self.time + 1
        run.control(self.number, HOME, ("report", self.number, self.asked + scenario.lookahead))
        self.check()

    def _update(self, time: int) -> None:
        update, copies = self.interest.update((self.number, 9), None, time)
        if not self.run.scenario.synchronized:
            cells = update.placed.cells
            copies = {
                tank: 1 for tank, looks in self.current.items() if tank != self.number and looks & cells
            }
        for tank in copies:
            self.run.counts.sent += 1
            self.run.net.send(self.number, tank, ("update", update))

    def hear(self, source: int, message: Any) -> None:
        kind = message[0]
        if kind == "update":
            self.arrive(message[1])
        elif kind == "change":
            self.change(*message[1:])
        elif kind == "least":
            self.least = message[1]
            self.interest.reclaim((self.least, 0))
        elif kind == "settled":
            self.held.pop(message[1], None)
        self.check()

    def arrive(self, update: CellUpdate[int, object]) -> None:
        if update.time <= self.time:
            self.run.counts.past += 1
        else:
            self.receiver.arrive(update)

    def change(self, tank: int, time: int, looks: Boxes) -> None:
        """As the home has put it in order: late sends first, then the answer."""
        run = self.run
        if run.scenario.synchronized:
            made = self.interest.modify_subscription((tank, 1), looks, time)
            sends, retractions = self.interest.once(tank, made)
            for update in sends:
                run.counts.late += 1
                run.net.send(self.number, tank, ("update", update))
            run.counts.retractions += len(retractions)
            run.counts.log = max(run.counts.log, self.interest.lists.logged())
        else:
            self.current[tank] = run.grid.cells(looks)
        run.control(self.number, HOME, ("answer", tank, time))

    def galt(self) -> float:
        if self.run.scenario.everybody:
            return self.least
        world, tanks = self.run.world, self.run.tanks
        looks = world.looks(self.number, self.time)
        seen = [n for n in range(len(tanks)) if overlap(looks, world.is_at(n, tanks[n].time))]
        return min((self.run.promises[n] for n in seen if n != self.number), default=float("inf"))

    def check(self) -> None:
        """Is what it asked for granted?"""
        asked = self.asked
        if asked is None or self.galt() <= asked:
            return
        if self.run.scenario.synchronized and any(time <= asked for time in self.held):
            self.run.counts.held += 1
            return
        self.asked = None
        for update in self.receiver.take((asked, 1)):
            self.given.append((update.time, update.sender))
        self.time = asked
        if asked < self.run.scenario.steps:
            self.run.net.after(self.run.net.rng.expovariate(1.0), self.step)


class Run:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.world = World(scenario)
        self.counts = Counts()
        self.grid = Grid([CellAxis("x", 0, SIZE, scenario.cells), CellAxis("y", 0, SIZE, scenario.cells)])
        self.net = CausalNet(scenario.tanks, scenario.network, scenario.delay)
        self.tanks = [Tank(number, self) for number in range(scenario.tanks)]
        self.promises = [scenario.lookahead] * scenario.tanks
        self.told = scenario.lookahead
        self.answers: dict[tuple[int, int], int] = {}
        for tank in self.tanks:
            tank.least = self.told
            hear = tank.hear if tank.number != HOME else self.hear_at_home
            self.net.handlers.append(hear)
            self.net.after(self.net.rng.expovariate(1.0), tank.step)

    def control(self, source: int, target: int, message: Any) -> None:
        self.counts.control += source != target
        self.net.send(source, target, message)

    def hear_at_home(self, source: int, message: Any) -> None:
        kind = message[0]
        if kind == "ask":
            _, tank, time, looks = message
            self.answers[tank, time] = 0
            self.everywhere(("change", tank, time, looks))
        elif kind == "report":
            self.promises[message[1]] = message[2]
            if min(self.promises) > self.told:
                self.told = min(self.promises)
                self.everywhere(("least", self.told))
        elif kind == "answer":
            _, tank, time = message
            self.answers[tank, time] += 1
            if self.answers[tank, time] == self.scenario.tanks:
                self.to(tank, ("settled", time))
        else:
            self.tanks[HOME].hear(source, message)

    def everywhere(self, message: Any) -> None:
        for tank in range(self.scenario.tanks):
            self.to(tank, message)

    def to(self, tank: int, message: Any) -> None:
        if tank == HOME:
            self.tanks[HOME].hear(HOME, message)
        else:
            self.control(HOME, tank, message)

    def run(self) -> Run:
        self.net.run()
        assert all(tank.time == self.scenario.steps for tank in self.tanks), "somebody waits for ever"
        self.counts.duration = self.net.now
        self.counts.extra = sum(tank.receiver.extra for tank in self.tanks)
        return self

    def lost(self) -> int:
        """How many updates somebody should have been given and was not."""
        return sum(
            len(set(wanted) - set(tank.given))
            for wanted, tank in zip(self.world.wanted(self.scenario), self.tanks, strict=True)
        )

    def given(self) -> list[list[tuple[float, int]]]:
        """To each tank; those of equal time in the order of their senders, as time stamp order has it."""
        assert all([t for t, _ in tank.given] == sorted(t for t, _ in tank.given) for tank in self.tanks)
        return [sorted(tank.given) for tank in self.tanks]
