"""Runs that were really recorded: random federates over an embedded node, a server, or three nodes, from a seed.

The kernels, the links and the recorder are the real ones; only time is virtual where several nodes take part, so that a run of
minutes takes a second.  Everything a run can hold is in it: receive, causal, total and time stamp order, both logical
times, regions, updates in several transportations, retraction, deletion, saves, and federates that resign and join again.
"""

from __future__ import annotations

import random
import time as clocks
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fabric.topologies import of
from support.recording_ambassador import Recorder
from support.server_in_thread import serving
from support.small_fom import DIMENSION, LANES, fom, parameters_of
from support.timed_federation import REQUESTS
from weft import (
    CallbackModel,
    EmbeddedNode,
    OrderType,
    ResignAction,
    RTIambassador,
    RtiConfiguration,
    Source,
)
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.runs import find_runs, open_run
from weft.host.recording.writers import Writer
from weft.host.settings import MeshDdmSettings, read_rid
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.model.errors import RTIexception
from weft.model.records import RangeBounds

NAME = "lived"
INTERVAL = 5.0  # virtual seconds after which rows go to a file
TIMED = "Event.Hit"
PLAIN = ("Command", "Command.Halt", "Event.Fire.BigFire")
KIND = "Vehicle.GroundVehicle"
ATTRIBUTES = ("Name", "Crew", "Position", "Speed")
LEAVING = ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST

Pass = Callable[[float], None]
"""Lets so many seconds pass."""


class Life:
    """One federation execution; `step` does something at random that is allowed."""

    def __init__(self, seed: int, hosts: list[Any], wait: Pass, time: str, configuration: Any = None) -> None:
        self.random = random.Random(seed)
        self.wait = wait
        self.configuration = configuration
        self.hosts = hosts
        self.count = len(hosts)
        self.rti: list[RTIambassador] = []
        self.logs = [Recorder() for _ in hosts]
        for host, log in zip(hosts, self.logs, strict=True):
            rti = RTIambassador(host) if host is not None else RTIambassador()
            rti.connect(log, CallbackModel.EVOKED, *([configuration] if configuration is not None else []))
            self.rti.append(rti)
        self.rti[0].create_federation_execution(NAME, [self.model()], time)
        self.step_of: Any = 0.5 if "float" in time else 1
        self.present: set[int] = set()
        self.advancing: set[int] = set()
        self.constrained = [i for i in range(self.count) if i != 1]  # one only regulates
        self.regulating = [i for i in range(self.count) if i != 2]  # one is only constrained
        self.regions: dict[int, Any] = {}
        self.mouths: dict[int, Any] = {}
        self.objects: dict[int, list[Any]] = {}
        self.retractable: dict[int, Any] = {}
        self.times: dict[int, Any] = {}
        self.asked: dict[int, Any] = {}
        self.saves = 0
        self.saved: tuple[set[int], dict[int, Any], dict[int, list[Any]]] = (set(), {}, {})
        self.deleting = 0.5
        for i in range(self.count):
            self.join(i)
        self.rest(3.0)

    def model(self) -> Source:
        return fom()

    # --- taking part --------------------------------------------------------------------------------------------

    def join(self, i: int) -> None:
        rti = self.rti[i]
        rti.join_federation_execution(
            f"federate {i} {len(self.times)}-{self.random.randrange(10**6)}", "test", NAME
        )
        self.present.add(i)
        self.times[i] = 0
        self.objects[i] = []
        hit = rti.get_interaction_class_handle(TIMED)
        for name in (TIMED, *PLAIN):
            rti.publish_interaction_class(rti.get_interaction_class_handle(name))
        rti.change_interaction_order_type(hit, OrderType.TIMESTAMP)
        rti.publish_object_class_attributes(self.kind(i), self.attributes(i, *ATTRIBUTES))
        self.regions[i], self.mouths[i] = self.region(i), self.region(i)
        if i % 2:
            rti.subscribe_interaction_class(hit)
            rti.subscribe_object_class_attributes(self.kind(i), self.attributes(i, *ATTRIBUTES[: 2 + i % 3]))
        else:
            rti.subscribe_interaction_class_with_regions(hit, {self.regions[i]})
            rti.subscribe_object_class_attributes_with_regions(
                self.kind(i), [(self.attributes(i, *ATTRIBUTES), {self.regions[i]})]
            )
        if i != 4:
            rti.subscribe_interaction_class(rti.get_interaction_class_handle("Command"))
        if i != 3:
            rti.subscribe_interaction_class(rti.get_interaction_class_handle("Event.Fire"))
        factory = rti.get_time_factory()
        if i in self.regulating:
            rti.enable_time_regulation(factory.make_interval(2 * self.step_of))
        if i in self.constrained:
            rti.enable_time_constrained()
        self.rest(0.1)

    def kind(self, i: int) -> Any:
        return self.rti[i].get_object_class_handle(KIND)

    def attributes(self, i: int, *names: str) -> frozenset[Any]:
        return frozenset(self.rti[i].get_attribute_handle(self.kind(i), name) for name in names)

    def region(self, i: int) -> Any:
        lane = self.rti[i].get_dimension_handle(DIMENSION)
        made = self.rti[i].create_region({lane})
        self.place(i, made)
        return made

    def place(self, i: int, region: Any) -> None:
        lane = self.rti[i].get_dimension_handle(DIMENSION)
        low = self.random.randrange(LANES - 4)
        high = min(LANES, low + self.random.choice((4, 8, LANES)))
        self.rti[i].set_range_bounds(region, lane, RangeBounds(low, high))
        self.rti[i].commit_region_modifications({region})

    def rest(self, seconds: float) -> None:
        self.wait(seconds)
        self.drain()

    def drain(self) -> None:
        for i in sorted(self.present):
            while self.rti[i].evoke_callback(0.0):
                pass
            self.granted(i, self.logs[i].take())

    def granted(self, i: int, taken: list[tuple[str, tuple[Any, ...]]]) -> None:
        for method, arguments in taken:
            if method in ("time_advance_grant", "flush_queue_grant"):
                self.advancing.discard(i)
                self.times[i] = arguments[0].value
            elif method in ("time_regulation_enabled", "time_constrained_enabled"):
                self.times[i] = arguments[0].value

    # --- what they do -------------------------------------------------------------------------------------------

    def run(
        self, steps: int, save: bool = True, rejoin: bool = True, restore: bool = False, parade: bool = False
    ) -> None:
        """`restore`: in the middle of an advance, which is under way again some steps later; `parade`: at the end."""
        for number in range(steps):
            self.step()
            if save and number == steps // 2:
                self.save(meeting=not restore)
            if restore and number == 7 * steps // 12:
                self.restore()
            if rejoin and number == 2 * steps // 3:
                self.leave(3)
                self.rest(2.0)
                self.join(3)
                self.rest(3.0)
        if parade:
            self.parade()
        self.end()

    def step(self) -> None:
        i = self.random.choice(sorted(self.present))
        does = (
            self.tell,
            self.stamp,
            self.update,
            self.ask,
            self.move,
            self.redeclare,
            self.delete,
            self.retract,
        )
        self.random.choices(does, (6, 6, 6, 6, 1, 1, self.deleting, 0.5))[0](i)
        self.drain()
        self.wait(self.random.choice((0.001, 0.02, 0.3)))

    def tell(self, i: int) -> None:
        """Receive, causal and total order."""
        rti = self.rti[i]
        name = self.random.choice(PLAIN)
        handle = rti.get_interaction_class_handle(name)
        chosen = [one for one in parameters_of(name) if self.random.random() < 0.7]
        values = {rti.get_parameter_handle(handle, one): one.encode() for one in chosen}
        order = self.random.choice((None, OrderType.CAUSAL, OrderType.TOTAL))
        more: dict[str, Any] = {} if order is None else {"order": order}
        rti.send_interaction(handle, values, b"", **more)

    def stamp(self, i: int) -> None:
        rti = self.rti[i]
        if i not in self.regulating:
            return
        handle = rti.get_interaction_class_handle(TIMED)
        least = rti.query_logical_time().value + 2 * self.step_of
        if i in self.advancing:
            least = self.asked[i] + 2 * self.step_of
        time = rti.get_time_factory().make_time(least + self.random.randrange(4) * self.step_of)
        if self.random.random() < 0.5:
            told = rti.send_interaction_with_regions(handle, {}, {self.mouths[i]}, b"", time)
        else:
            told = rti.send_interaction(handle, {}, b"", time)
        if told is not None and told.handle is not None:
            self.retractable[i] = told.handle

    def update(self, i: int) -> None:
        rti = self.rti[i]
        mine = self.objects[i]
        if not mine or (len(mine) < 3 and self.random.random() < 0.3):
            if self.random.random() < 0.5:
                made = rti.register_object_instance(self.kind(i))
            else:
                made = rti.register_object_instance_with_regions(
                    self.kind(i), [(self.attributes(i, *ATTRIBUTES), {self.mouths[i]})]
                )
            mine.append(made)
            self.rest(0.05)
        chosen = self.random.sample(ATTRIBUTES, self.random.randint(1, len(ATTRIBUTES)))
        values = dict.fromkeys(self.attributes(i, *chosen), b"x")
        rti.update_attribute_values(self.random.choice(mine), values, b"")

    def ask(self, i: int) -> None:
        if i in self.advancing:
            return
        kinds = list(REQUESTS) if i in self.constrained else ["TAR"]
        kind = self.random.choices(kinds, [4, 1, 3, 1, 0.5][: len(kinds)])[0]
        time = self.rti[i].query_logical_time().value + self.random.randint(1, 4) * self.step_of
        self.ask_for(i, kind, time)

    def ask_for(self, i: int, kind: str, time: Any) -> None:
        self.asked[i] = time
        self.advancing.add(i)
        getattr(self.rti[i], REQUESTS[kind])(self.rti[i].get_time_factory().make_time(time))

    def move(self, i: int) -> None:
        self.place(i, self.random.choice((self.regions[i], self.mouths[i])))

    def redeclare(self, i: int) -> None:
        rti = self.rti[i]
        handle = rti.get_interaction_class_handle("Event.Fire")
        if self.random.random() < 0.5:
            rti.unsubscribe_interaction_class(handle)
        else:
            rti.subscribe_interaction_class(handle)

    def delete(self, i: int) -> None:
        if self.objects[i]:
            self.rti[i].delete_object_instance(self.objects[i].pop(), b"")

    def retract(self, i: int) -> None:
        handle = self.retractable.pop(i, None)
        if handle is not None:
            with suppress(RTIexception):  # its time may have passed
                self.rti[i].retract(handle)

    def save(self, meeting: bool = True) -> None:
        """All together; while it lasts, what is sent waits."""
        first, label = min(self.present), f"save {self.saves}"
        self.saves += 1
        if meeting:
            self.meet()
        self.rest(0.2)
        self.saved = self.advancing.copy(), self.asked.copy(), {i: o.copy() for i, o in self.objects.items()}
        self.rti[first].request_federation_save(label)
        self.until("initiate_federate_save", lambda i: self.rti[i].federate_save_begun())
        for i in sorted(self.present):
            self.rti[i].federate_save_complete()
        self.until("federation_saved", lambda i: None)

    def restore(self) -> None:
        """From the last save."""
        self.meet()
        self.rti[min(self.present)].request_federation_restore(f"save {self.saves - 1}")
        self.until("initiate_federate_restore", lambda i: self.rti[i].federate_restore_complete())
        self.advancing, self.asked, self.objects = self.saved
        self.retractable.clear()
        self.until("federation_restored", lambda i: None)

    def until(self, method: str, then: Callable[[int], None]) -> None:
        waiting = set(self.present)
        for _ in range(2000):
            for i in sorted(waiting):
                while self.rti[i].evoke_callback(0.0):
                    pass
                taken = self.logs[i].take()
                self.granted(i, taken)
                if any(one == method for one, _ in taken):
                    waiting.discard(i)
                    then(i)
            if not waiting:
                return
            self.wait(0.01)
        raise AssertionError(f"{method} never came to {sorted(waiting)}")

    def meet(self) -> None:
        """Until nobody waits for time any more."""
        for _ in range(1000):
            self.rest(0.01)
            if not self.advancing:
                return
            most = max(self.asked[i] for i in self.advancing)
            for i in sorted(self.present - self.advancing):
                if self.rti[i].query_logical_time().value < most:
                    self.ask_for(i, "TAR", most)
        raise AssertionError(f"{sorted(self.advancing)} were never granted")

    def parade(self) -> None:
        """Nothing at random: twice all ask for the same time by Time Advance Request, and get what lies before it."""
        for _ in range(2):
            self.meet()
            start = max(self.rti[i].query_logical_time().value for i in self.present)
            for i in sorted(self.present):
                if self.rti[i].query_logical_time().value < start:
                    self.ask_for(i, "TAR", start)
            self.meet()
            for number, i in enumerate(sorted(self.present & set(self.regulating))):
                hit = self.rti[i].get_interaction_class_handle(TIMED)
                when = self.rti[i].get_time_factory().make_time(start + (2 + number) * self.step_of)
                self.rti[i].send_interaction(hit, {}, b"", when)
            self.rest(0.5)
            for i in sorted(self.present):
                self.ask_for(i, "TAR", start + 8 * self.step_of)
            self.meet()
            self.rest(0.5)

    def leave(self, i: int) -> None:
        self.meet()
        self.rti[i].resign_federation_execution(LEAVING)
        self.present.discard(i)
        self.advancing.discard(i)
        self.retractable.pop(i, None)

    def end(self) -> None:
        self.meet()
        self.rest(2.0)
        for i in sorted(self.present):
            self.rti[i].resign_federation_execution(LEAVING)
            self.wait(0.01)
        self.present.clear()
        self.wait(1.0)
        self.rti[0].destroy_federation_execution(NAME)
        for rti in self.rti:
            rti.disconnect()


# --- where they live ----------------------------------------------------------------------------------------------


def over_nodes(
    directory: Path, seed: int, steps: int = 120, time: str = "HLAinteger64Time", federates: int = 5, fabric: bool = False,
    life: type[Life] = Life, declarations: str = "", **more: Any,
) -> Path:  # fmt: skip
    """Three nodes on a simulated network (`fabric`: of two domains of causality)."""
    rid = read_rid(MeshDdmSettings(declarations=declarations))
    if fabric:
        network: SimulatedNetwork = FabricNetwork(
            of("AB", "BC"), seed, FabricProfile(delay=0.005, jitter=0.01), rid=rid
        )
        names = ["A", "B", "C"]
    else:
        names = ["north", "east", "south"]
        network = SimulatedNetwork(names, seed, LinkProfile(delay=0.005, jitter=0.01, loss=0.02), rid)
    network.clock.now = clocks.monotonic()
    kept = []
    for name in names:
        recordings = NodeRecordings(directory, _warn, lambda work: None, writer=Writer(), payloads=False)
        network.node(name).record(recordings, network.clock.now)
        kept.append(recordings)

    collected = network.clock.now

    def wait(seconds: float) -> None:
        nonlocal collected
        network.run_until(lambda: False, network.clock.now + seconds)
        if network.clock.now - collected > INTERVAL:
            collected = network.clock.now
            for recordings in kept:
                recordings.collect()
                _taken(recordings)

    try:
        hosts = [network.at(names[number % 3]) for number in range(federates)]
        life(seed, hosts, wait, time).run(steps, **more)
    finally:
        for recordings in kept:
            recordings.close()
    return _first(directory)


def _taken(recordings: NodeRecordings) -> None:
    """Until its thread has taken what was collected: the next is another file, also where the thread is slow."""
    end = clocks.monotonic() + 30.0
    while any(run.waiting for run in list(recordings.runs)):
        assert clocks.monotonic() < end, "nothing is written"
        clocks.sleep(0.001)


def embedded(
    directory: Path,
    seed: int,
    steps: int = 120,
    time: str = "HLAinteger64Time",
    federates: int = 4,
    life: type[Life] = Life,
    declarations: str = "",
    **more: Any,
) -> Path:
    node = EmbeddedNode(save_directory=directory / "saves", declarations=declarations)
    node.record(directory, payloads=False)
    life(seed, [node] * federates, _moment, time).run(steps, **more)
    node.stop_recording()
    return _first(directory)


def served(
    directory: Path,
    seed: int,
    steps: int = 120,
    time: str = "HLAinteger64Time",
    federates: int = 4,
    life: type[Life] = Life,
    declarations: str = "",
    **more: Any,
) -> Path:
    """At a server on loopback."""
    ddm = MeshDdmSettings(declarations=declarations)
    with serving(run_directory=str(directory / "server"), record=str(directory), ddm=ddm) as running:
        configuration = RtiConfiguration("", running.address())
        life(seed, [None] * federates, _moment, time, configuration).run(steps, **more)
    return _first(directory)


def _moment(seconds: float) -> None:
    """Real time: no more of it than needed."""
    clocks.sleep(min(seconds, 0.002))


def runs(directory: Path) -> list[Path]:
    """In the order of their beginnings: a restore begins another run."""
    found = [Path(str(run)) for run in find_runs(directory)]
    return sorted(found, key=lambda run: int(open_run(run).info["start_ns"]))


def _first(directory: Path) -> Path:
    return runs(directory)[0]


def _warn(text: str) -> None:
    raise AssertionError(text)
