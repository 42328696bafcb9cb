"""`weft demo`: aircraft, tank and observer, the mixed scenario of paper 000 (S0-20).

Three federates run side by side, each in a thread of its own and with its own ambassador.  The aircraft moves every
step and fires at the tank every few steps; the tank answers each shot with a hit; the observer only watches, and
checks what it sees: every hit must come after the shot that caused it.

Then the same over three nodes with a slow link between two of them (`demo_nodes`), in receive order, where hits are seen before
shots, and in causal order, where they are not; and a review of both says so (`demo_review`).
"""

from __future__ import annotations

import argparse
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import weft
from weft._build import is_compiled
from weft.cli.arguments import Commands, add_command, add_record, real, whole
from weft.cli.data import object_model
from weft.cli.operate import demo_nodes
from weft.cli.operate.demo_review import review_flights
from weft.model.errors import SettingsError
from weft.model.extras import EXTRAS, install, lacking

FEDERATION = "Range"
PATIENCE = 24 * 3600.0  # the aircraft may fly for long; a federate that fails is not waited for


@dataclass
class Story(demo_nodes.ObserverLog):
    """What is told while the demo runs, and what is counted for its end."""

    quiet: bool = False
    started: float = field(default_factory=time.monotonic)
    took: float = 0.0  # until the last has resigned; writing the recording comes after
    lock: threading.Lock = field(default_factory=threading.Lock)
    updates_seen: int = 0
    failures: list[str] = field(default_factory=list)

    def tell(self, who: str, text: str) -> None:
        if not self.quiet:
            with self.lock:
                print(f"{time.monotonic() - self.started:7.3f} s  {who:<9} {text}", flush=True)


def register(commands: Commands) -> None:
    parser = add_command(commands, "demo", run, "run the mixed scenario: aircraft, tank and observer")
    parser.add_argument(
        "--steps", type=whole(0), default=120, help="steps of the aircraft (default %(default)s)"
    )
    parser.add_argument(
        "--step-ms", type=real(0), default=25.0, help="length of a step (default %(default)s ms)"
    )
    parser.add_argument(
        "--fire-every", type=whole(1), default=20, help="steps between shots (default %(default)s)"
    )
    add_record(parser)
    parser.add_argument(
        "--no-review", action="store_true", help="leave out the review at the end, and Spark with it"
    )


def run(arguments: argparse.Namespace) -> int:
    if "://" in (arguments.record or ""):
        raise SettingsError("--record: weft demo reviews what it records, and records to a folder: name one")
    story = Story()
    node = weft.EmbeddedNode("demo")
    print(
        f"A firing range: three federates on one node ({'compiled' if is_compiled() else 'pure Python'}).\n"
        f"The aircraft moves every {arguments.step_ms:g} ms and fires every {arguments.fire_every} steps, "
        f"{arguments.steps} steps in all.\n"
    )
    directory = recorded_in(arguments)
    recordings = None if directory is None else node.record(directory)
    play(story, node, arguments.steps, arguments.step_ms / 1000, arguments.fire_every)
    node.stop_recording()
    code = conclude(story, arguments.steps, arguments.fire_every)
    for folder in [] if recordings is None else recordings.folders:
        print(f"Recorded in {folder}; `weft runs` lists what is recorded.")
    folders = fly_over_nodes(directory)
    if len(folders) == len(demo_nodes.ORDERS) and not arguments.no_review:
        code = max(code, review_flights(folders))
    return code


def recorded_in(arguments: argparse.Namespace) -> str | None:
    """The folder; none also where the packages are missing and nobody asked for it, which is then said."""
    if arguments.no_record:
        return None
    if not arguments.record and lacking(*EXTRAS["record"]):
        print(f"Not recorded, and so not reviewed: {install('review')}\n")
        return None
    return str(arguments.record or "runs")


def fly_over_nodes(directory: str | None) -> dict[str, Path]:
    """In both orders, and tell of it; the folders of the runs by their orders, as far as they are recorded."""
    print(
        f"\nNow over three nodes, on a virtual clock.  The link from the aircraft to the observer takes "
        f"{demo_nodes.FAR.delay * 1000:g} ms, all others {demo_nodes.NEAR.delay * 1000:g} ms."
    )
    folders = {}
    for order, word in demo_nodes.ORDERS.items():
        seen, folder = demo_nodes.fly(order, directory)
        early = ", ".join(map(str, seen.early_hits))
        told = (
            f"rounds {early} are seen to hit before they are fired"
            if early
            else "every hit is seen after its shot"
        )
        where = f" (recorded in {folder})" if folder is not None else ""
        print(f"{word} order: {told}{where}.", flush=True)
        if folder is not None:
            folders[order] = folder
    return folders


def play(story: Story, node: weft.EmbeddedNode, steps: int, step: float, fire_every: int) -> None:
    """All three join before any of them starts; then each runs in its own thread until it has resigned."""
    names = ("aircraft", "tank", "observer")
    federates = [weft.join(FEDERATION, name, fom=object_model("range.xml"), host=node) for name in names]
    for federate in federates:
        federate.join()
    roles: list[Callable[[], None]] = [
        lambda: aircraft(story, federates[0], steps, step, fire_every),
        lambda: tank(story, federates[1], steps // fire_every),
        lambda: observer(story, federates[2]),
    ]
    threads = [
        threading.Thread(target=_guarded, args=(story, role, federate), daemon=True)
        for role, federate in zip(roles, federates, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    story.took = time.monotonic() - story.started


def _guarded(story: Story, role: Callable[[], None], federate: weft.Federate) -> None:
    """A federate that fails resigns like the others, so they do not wait for it."""
    try:
        role()
    except Exception as error:
        story.failures.append(f"{federate.name}: {type(error).__name__}: {error}")
    finally:
        federate.resign()


def aircraft(story: Story, me: weft.Federate, steps: int, step: float, fire_every: int) -> None:
    me.publish("Fire")
    plane = me.register("Aircraft", "Falcon")
    story.tell("aircraft", "publishes Aircraft and Fire, registers Falcon")

    @me.on_interaction("Hit")
    def hit(report: weft.Interaction) -> None:
        story.tell(
            "aircraft", f"hears that round {report['Round']} left {report['Target']} {report['Result']}"
        )

    me.synchronize("ready")
    for number in range(1, steps + 1):
        angle = 2 * math.pi * number / 60
        plane.update(
            Position={"X": 1000 * math.cos(angle), "Y": 1000 * math.sin(angle), "Z": 300.0},
            Heading=(90 - math.degrees(angle)) % 360,
        )
        if number % fire_every == 0:
            story.tell("aircraft", f"fires round {number // fire_every} at Rhino")
            me.send("Fire", Target="Rhino", Round=number // fire_every)
        me.run(step)
    finish(me)


def tank(story: Story, me: weft.Federate, armour: int) -> None:
    rhino = me.register("Tank", "Rhino")
    me.publish("Hit")
    story.tell("tank", "publishes Tank and Hit, registers Rhino")

    @me.on_interaction("Fire")
    def fired_at(shot: weft.Interaction) -> None:
        result = "Damaged" if shot["Round"] < armour else "Destroyed"
        story.tell("tank", f"is hit by round {shot['Round']}: {result}")
        me.send("Hit", Target=rhino.name, Round=shot["Round"], Result=result)
        rhino.update(State=result)

    me.synchronize("ready")
    rhino.update(Position={"X": 0.0, "Y": 0.0, "Z": 0.0}, State="Intact")
    finish(me)


def observer(story: Story, me: weft.Federate) -> None:
    story.tell("observer", "subscribes to Vehicle, Fire and Hit, publishes nothing")

    @me.on_discovery("Vehicle")
    def found(vehicle: weft.RemoteObject) -> None:
        story.tell("observer", f"discovers {vehicle.name} of {vehicle.owner}")

    @me.on_update("Vehicle")
    def moved(vehicle: weft.RemoteObject, changes: dict[str, object]) -> None:
        story.updates_seen += 1

    @me.on_interaction("Fire")
    def fire(shot: weft.Interaction) -> None:
        story.fires.append(shot["Round"])
        story.tell("observer", f"sees round {shot['Round']} fired")

    @me.on_interaction("Hit")
    def hit(report: weft.Interaction) -> None:
        story.hit(report["Round"])
        story.tell("observer", f"sees round {report['Round']} hit: {report['Target']} {report['Result']}")

    me.synchronize("ready")
    finish(me)


def finish(me: weft.Federate) -> None:
    """Nobody leaves before all has been told: at "landed" every shot has been heard, at "over" every hit."""
    me.synchronize("landed", PATIENCE)
    me.synchronize("over", PATIENCE)


def conclude(story: Story, steps: int, fire_every: int) -> int:
    print()
    for failure in story.failures:
        print(f"A federate failed: {failure}")
    print(
        f"The observer saw {story.updates_seen} updates, {len(story.fires)} shots and {len(story.hits)} hits "
        f"in {story.took:.1f} s."
    )
    if story.early_hits:
        print(f"Rounds {story.early_hits} were seen to hit before they were fired.")
    elif story.hits:
        print("Every hit was seen after its shot: on one node, receive order is causal order.")
    complete = len(story.fires) == len(story.hits) == steps // fire_every and not story.early_hits
    return 0 if complete and not story.failures else 1
