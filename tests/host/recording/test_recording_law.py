"""What is recorded is what happened: random federations against a log of their own calls and callbacks (issue 8, item 1).

Every message carries a tag that is its own, so the log knows messages without knowing their numbers.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import count
from typing import Any

import pytest

from support import simulated_nodes
from support.federation import Federation
from support.memory_recordings import MemoryRecordings
from support.small_fom import fom
from weft import OrderType

CLASSES = ("Event", "Event.Fire", "Event.Fire.BigFire", "Command")
PARAMETERS = {
    "Event": ("When",),
    "Event.Fire": ("When", "Who", "Whom"),
    "Event.Fire.BigFire": ("When", "Who", "Whom", "Calibre"),
    "Command": ("Text",),
}
ATTRIBUTES = ("Position", "Name", "Speed", "Crew")
KIND = "Vehicle.GroundVehicle"
MESSAGES = {"receive_interaction": 2, "reflect_attribute_values": 2}


class Log:
    """A run of random calls, with what was sent and heard, written down by the federates themselves."""

    def __init__(self, seed: int, nodes: int, orders: bool) -> None:
        self.random = random.Random(seed)
        self.orders = orders
        self.sent: dict[
            bytes, tuple[int, str, frozenset[str], bytes]
        ] = {}  # tag -> sender, class, items, cause
        self.heard: list[list[bytes]] = []
        self.parts: list[tuple[int, bytes, frozenset[str]]] = []
        self._tags = count(1)
        self._cause = b""
        self.memory = MemoryRecordings()
        sites = simulated_nodes.sites(nodes) if nodes > 1 else None
        self.made = Federation(3, joined=0, model=fom(), nodes=None if sites is None else (sites * 3)[:3])
        kernels = [self.made.node._node] if sites is None else sites[0].kernels()  # type: ignore[attr-defined]
        for kernel in kernels:
            kernel.record(self.memory, 0.0)
        if sites is None:
            self.made.node.recordings = self.memory  # type: ignore[assignment]  # only asked whether it is there
        self._begin()

    def _begin(self) -> None:
        made = self.made
        for i in range(3):
            made.join(i)
            self.heard.append([])
            for method, place in MESSAGES.items():
                made.log[i].on[method] = lambda *args, i=i, place=place, method=method: self._hear(
                    i, method, args, args[place]
                )
        for i in range(3):
            for name in CLASSES:
                made.rti[i].publish_interaction_class(made.interaction(name))
            made.publish(i, KIND, *ATTRIBUTES)
        self.objects = [made.register(i, KIND) for i in range(3)]

    def _hear(self, i: int, method: str, args: tuple[Any, ...], tag: bytes) -> None:
        if tag not in self.sent:
            return  # of the RTI's own
        names = self._names(method, args)
        self.heard[i].append(tag)
        self.parts.append((i, tag, names))
        if self.random.random() < 0.3 and len(self.sent) < 150:
            self._cause = tag
            try:
                self.send(i)
            finally:
                self._cause = b""

    def _names(self, method: str, args: tuple[Any, ...]) -> frozenset[str]:
        rti = self.made.rti[0]
        if method == "receive_interaction":
            return frozenset(rti.get_parameter_name(args[0], one) for one in args[1])
        kind = self.made.object_class(KIND)
        return frozenset(rti.get_attribute_name(kind, one) for one in args[1])

    def send(self, i: int) -> None:
        made, chance = self.made, self.random
        tag = b"%d" % next(self._tags)
        order = chance.choice([None, OrderType.CAUSAL, OrderType.TOTAL]) if self.orders else None
        more: dict[str, Any] = {} if order is None else {"order": order}
        if chance.random() < 0.5:
            name = chance.choice(CLASSES)
            chosen = chance.sample(PARAMETERS[name], chance.randint(0, len(PARAMETERS[name])))
            self.sent[tag] = (i, f"HLAinteractionRoot.{name}", frozenset(chosen), self._cause)
            values = {made.parameter(name, one): one.encode() for one in chosen}
            made.rti[i].send_interaction(made.interaction(name), values, tag, **more)
        else:
            chosen = chance.sample(ATTRIBUTES, chance.randint(1, len(ATTRIBUTES)))
            self.sent[tag] = (i, f"HLAobjectRoot.{KIND}", frozenset(chosen), self._cause)
            new = {made.attribute(KIND, one): one.encode() for one in chosen}
            made.rti[i].update_attribute_values(self.objects[i], new, tag, **more)

    def step(self) -> None:
        made, chance = self.made, self.random
        i = chance.randrange(3)
        what = chance.random()
        if what < 0.6:
            self.send(i)
        elif what < 0.75:
            name = chance.choice(CLASSES)
            if chance.random() < 0.7:
                made.rti[i].subscribe_interaction_class(made.interaction(name))
            else:
                made.rti[i].unsubscribe_interaction_class(made.interaction(name))
        elif what < 0.9:
            if chance.random() < 0.7:
                made.subscribe(i, KIND, *chance.sample(ATTRIBUTES, chance.randint(1, 4)))
            else:
                made.rti[i].unsubscribe_object_class(made.object_class(KIND))
        else:
            made.drain(i)

    def run(self, steps: int) -> list[dict[str, Any]]:
        for _ in range(steps):
            self.step()
        before = -1
        while before != len(self.parts):
            before = len(self.parts)
            self.made.drain()
        rows = self.memory.take()
        members = self.made.state().members
        self.places = [members[self.made.handle(i)].node for i in range(3)]
        self.made.close()
        return rows


def _number(log: Log, i: int) -> int:
    return log.made.handle(i).number


@pytest.mark.parametrize("orders", [False, True], ids=["receive order", "causal and total order"])
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_what_happened(seed: int, nodes: int, orders: bool) -> None:
    log = Log(seed, nodes, orders)
    rows = log.run(120)
    numbers = [_number(log, i) for i in range(3)]
    sends = [row for row in rows if row["kind"] == "send" and row["source"]]

    # Each message is sent once, under one number, by who called; items, class, values and cause are those of the call.
    tags = {(row["source"], row["message"]): row["tag"] for row in sends if "tag" in row}
    assert len(tags) == len([row for row in sends if "tag" in row])
    called = {tag for tag, (_, _, items, _) in log.sent.items()}
    assert set(tags.values()) <= called
    for row in sends:
        if "tag" not in row:
            continue
        sender, name, items, cause = log.sent[row["tag"]]
        assert (row["federate"], row["source"]) == (numbers[sender], numbers[sender])
        assert row["class"] == name
        assert set(row["items"]) <= items
        assert row["values"] == [item.encode() for item in row["items"]]
        assert tags.get((row.get("cause_source"), row.get("cause"))) == (cause or None)
        assert row["payload_bytes"] == sum(len(item) for item in row["items"])

    # Each callback is one delivery, in the order in which the federate got them.
    for i in range(3):
        delivered = [row for row in rows if row["kind"] == "deliver" and row["federate"] == numbers[i]]
        assert {row["node"] for row in delivered} <= {log.places[i]}
        found = [
            tags[row["source"], row["message"]]
            for row in delivered
            if (row["source"], row["message"]) in tags
        ]
        assert found == log.heard[i]
    parts = Counter(
        (numbers.index(row["federate"]), tags[row["source"], row["message"]], frozenset(row["items"]))
        for row in rows
        if row["kind"] == "deliver" and (row["source"], row["message"]) in tags
    )
    assert parts == Counter(log.parts)

    # Who a message was sent to is who got it.
    to = {(row["source"], row["message"]): set(row.get("destinations", ())) for row in sends if "tag" in row}
    got: dict[Any, set[int]] = {key: set() for key in to}
    for row in rows:
        if row["kind"] == "deliver" and (row["source"], row["message"]) in to:
            got[row["source"], row["message"]].add(row["federate"])
    if not orders:
        assert got == to
    # What was heard of was sent, and what a node recorded has no gaps.
    for node in {row["node"] for row in rows}:
        mine = [row["seq"] for row in rows if row["node"] == node]
        assert mine == list(range(1, len(mine) + 1))
    # A message in causal order is stamped after its cause.
    stamped = {(row["source"], row["message"]): row["vector"] for row in sends if row.get("order") == "CO"}
    for row in sends:
        vector = stamped.get((row["source"], row["message"]))
        before = (row.get("cause_source", 0), row.get("cause", 0))
        if vector is not None and before in stamped:
            assert vector[before[0]] >= stamped[before][before[0]] > 0
