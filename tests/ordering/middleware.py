"""Federates with the causal middleware on a simulated mesh with unequal links, and happened-before by what they send and get.

Everything is drawn from a seed: what federates do, how long their messages take, who joins, resigns and crashes when.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

from support.small_fom import fom
from weft import CallbackModel, CausalRTIambassador, FederateAmbassador, ResignAction, RTIambassador
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.ordering.group_tags import split_tag

NAME = "range"
NODES = ("S1", "S2", "S3", "S4")
INTERACTIONS = ("Event", "Event.Hit", "Event.Fire.BigFire", "Command.Halt")  # reliable ones
OBJECT, ATTRIBUTES = "Building", ("Height",)
LIKE_STAMPS = (
    b"",
    b"&",
    b"a&b&c&d&e",
    b"&&*&&",
    b"\x9eW\x00",
    b"\x9eW\x01abcdef\x01\x00",
    b"1&&*&0123456789ab&",
)


class Oracle:
    """Who sent and got what, and what lay in the past of each message."""

    def __init__(self) -> None:
        self.past: dict[bytes, set[bytes]] = {}  # of each message
        self.known: dict[int, set[bytes]] = {}  # of each federate
        self.before: dict[int, set[bytes]] = {}  # the pasts of all that a federate got
        self.got: dict[int, list[bytes]] = {}
        self.faults: list[str] = []

    def joined(self, federate: int) -> None:
        self.known[federate], self.before[federate], self.got[federate] = set(), set(), []

    def sent(self, federate: int, name: bytes) -> None:
        self.past[name] = set(self.known[federate])
        self.known[federate].add(name)

    def receives(self, federate: int, name: bytes) -> None:
        if name in self.got[federate]:
            self.faults.append(f"twice: {federate} got {name!r}")
        if name in self.before[federate]:
            self.faults.append(f"unsafe: {federate} got {name!r} after what it caused")
        self.got[federate].append(name)
        self.before[federate] |= self.past[name]
        self.known[federate] |= self.past[name] | {name}


class Watched(CausalRTIambassador):
    """Remembers what the RTI itself delivered."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.raw: list[bytes] = []

    def _hear(self, method: str, arguments: tuple[Any, ...]) -> None:
        at = {"receive_interaction": 2, "reflect_attribute_values": 2, "remove_object_instance": 1}.get(
            method
        )
        if at is not None:
            tag = split_tag(arguments[at])[1]
            if re.match(rb"m\d+/\d+ ", tag):
                self.raw.append(tag)
        super()._hear(method, arguments)


class Player(FederateAmbassador):
    """A federate that now and then answers what it gets, from within the callback."""

    def __init__(self, world: World, number: int, node: str) -> None:
        self.world = world
        self.number = number
        self.node = node
        self.rti = world.make(world.network.at(node))
        self.joined = False
        self.instances: list[Any] = []
        self.known: set[Any] = set()
        self.wishes: set[str] = set()

    def join(self) -> None:
        self.rti.connect(self, CallbackModel.EVOKED)
        self.rti.join_federation_execution(f"federate {self.number}", "test", NAME)
        self.joined = True
        self.world.oracle.joined(self.number)
        rti = self.rti
        self.classes = {name: rti.get_interaction_class_handle(name) for name in INTERACTIONS}
        self.object_class = rti.get_object_class_handle(OBJECT)
        self.attributes = {name: rti.get_attribute_handle(self.object_class, name) for name in ATTRIBUTES}
        for one in self.classes.values():
            rti.publish_interaction_class(one)
        rti.publish_object_class_attributes(self.object_class, set(self.attributes.values()))

    # what it does

    def wish(self, name: str) -> None:
        if name == OBJECT:
            self.rti.subscribe_object_class_attributes(self.object_class, set(self.attributes.values()))
        else:
            self.rti.subscribe_interaction_class(self.classes[name])
        self.wishes.add(name)

    def unwish(self, name: str) -> None:
        if name == OBJECT:
            self.rti.unsubscribe_object_class(self.object_class)
        else:
            self.rti.unsubscribe_interaction_class(self.classes[name])
        self.wishes.discard(name)

    def tag(self) -> bytes:
        """Messages of federates without the middleware have no place in its order."""
        world = self.world
        if world.ordered and not isinstance(self.rti, CausalRTIambassador):
            return b"bare"
        world.messages += 1
        name = b"m%d/%d " % (self.number, world.messages) + world.random.choice(LIKE_STAMPS)
        world.oracle.sent(self.number, name)
        return name

    def send(self, name: str) -> None:
        self.rti.send_interaction(self.classes[name], {}, self.tag())

    def update(self) -> None:
        if not self.instances:
            self.instances.append(self.rti.register_object_instance(self.object_class))
        instance = self.world.random.choice(self.instances)
        self.rti.update_attribute_values(instance, dict.fromkeys(self.attributes.values(), b"x"), self.tag())

    def delete(self) -> None:
        if self.instances:
            self.rti.delete_object_instance(self.instances.pop(), self.tag())

    def resign(self) -> None:
        self.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        self.joined = False

    def crash(self) -> None:
        self.rti._lose_connection()
        self.joined = False

    # what it hears

    def heard(self, tag: bytes) -> None:
        world = self.world
        if not tag.startswith(b"m") or (world.ordered and not isinstance(self.rti, CausalRTIambassador)):
            return
        if tag not in world.oracle.past:
            world.oracle.faults.append(f"torn: {self.number} got the tag {tag!r}, which nobody sent")
            return
        world.oracle.receives(self.number, tag)
        if world.random.random() < world.answers:
            self.send(world.random.choice(INTERACTIONS))

    def receive_interaction(self, *arguments: Any) -> None:
        self.heard(arguments[2])

    def discover_object_instance(self, *arguments: Any) -> None:
        self.known.add(arguments[0])

    def reflect_attribute_values(self, *arguments: Any) -> None:
        if arguments[0] not in self.known:
            self.world.oracle.faults.append(f"{self.number} got values of an instance it does not know")
        self.heard(arguments[2])

    def remove_object_instance(self, *arguments: Any) -> None:
        self.known.discard(arguments[0])
        self.heard(arguments[1])


class World:
    """`bare`: how many federates do without the middleware."""

    def __init__(self, seed: int, federates: int = 4, make: Any = Watched, bare: int = 0) -> None:
        self.random = random.Random(seed)
        self.oracle = Oracle()
        self.messages = 0
        self.answers = 0.15
        self.make = make
        self.ordered = make is not RTIambassador
        self.network = SimulatedNetwork(NODES, seed)
        for at, one in enumerate(NODES):
            for other in NODES[at + 1 :]:
                delay = self.random.choice((0.001, 0.01, 0.3))
                self.network.set_link(one, other, LinkProfile(delay, jitter=delay, loss=0.1, retry=0.05))
        founder = RTIambassador(self.network.at(NODES[0]))
        founder.connect(FederateAmbassador(), CallbackModel.EVOKED)
        founder.create_federation_execution(NAME, [fom()])
        self.players: list[Player] = []
        for number in range(federates):
            self.enter(RTIambassador if number >= federates - bare else make)

    def enter(self, make: Any = None) -> Player:
        before, self.make = self.make, make or self.make
        player = Player(self, len(self.players), self.random.choice(NODES))
        self.make = before
        self.players.append(player)
        player.join()
        for name in (*INTERACTIONS, OBJECT):
            if self.random.random() < 0.6:
                player.wish(name)
        return player

    def here(self) -> list[Player]:
        return [player for player in self.players if player.joined]

    def pass_time(self, seconds: float) -> None:
        self.network.run_until(lambda: False, self.network.clock.now + seconds)

    def evoke(self, player: Player, most: int = 1000) -> None:
        for _ in range(most):
            if not player.rti.evoke_callback(0.0):
                break

    def run(self, steps: int, changes: tuple[str, ...] = ()) -> None:
        for _ in range(steps):
            self.step(changes)
        self.finish()

    def step(self, changes: tuple[str, ...]) -> None:
        draw = self.random
        player = draw.choice(self.here())
        what = draw.choice(("send", "send", "send", "update", "evoke", "evoke", "time", "few", *changes))
        if what == "send":
            player.send(draw.choice(INTERACTIONS))
        elif what == "update":
            player.update()
        elif what == "evoke":
            self.evoke(player)
        elif what == "few":
            self.evoke(player, 2)
        elif what == "time":
            self.pass_time(draw.choice((0.001, 0.02, 0.2)))
        elif what == "delete":
            player.delete()
        elif what == "wish":
            name = draw.choice((*INTERACTIONS, OBJECT))
            (player.unwish if name in player.wishes else player.wish)(name)
        elif what == "join" and len(self.players) < 9:
            self.enter()
        elif what == "resign" and len(self.here()) > 2:
            player.resign()
        elif what == "crash" and len(self.here()) > 2:
            player.crash()
        elif what == "node" and len(self.here()) > 2:
            self.crash_node(player)

    def crash_node(self, player: Player) -> None:
        """Not that of the federation's home."""
        elsewhere = [other for other in self.here() if other.node != player.node]
        if player.node != NODES[0] and len(elsewhere) > 1 and self.random.random() < 0.3:
            self.network.crash(player.node)
            for other in self.here():
                if other.node == player.node:
                    other.joined = False
            self.network.restart(player.node)

    def finish(self) -> None:
        """Let everything arrive and be heard."""
        self.answers = 0.0
        for _ in range(12):
            self.network.settle()
            for player in self.here():
                self.evoke(player)

    def check(self) -> None:
        """No violation, nothing stuck, each message once, tags as they were."""
        assert not self.oracle.faults, self.oracle.faults[:3]
        for player in self.here():
            if isinstance(player.rti, Watched):
                counts = player.rti.counts
                assert counts.held == 0, f"{counts.held} messages are stuck at {player.number}"
                left = Counter(player.rti.raw) - Counter(self.oracle.got[player.number])
                assert left.total() == counts.refused + counts.dropped, (player.number, left, counts)
