"""What a message and an object cost in one process.

* `interactions`: CPU per interaction, from `send_interaction` to the end of the last `receive_interaction`, one to one and one
  to seven, 64-byte parameter.  Floor: a Python callback with the same arguments, found by one dict look-up.
* `joined`: the same one to one by `weft.join`, which finds handles by names, encodes and decodes, beside the ambassador, which is
  handed bytes; and by a dataclass, with a typed handler.
* `discoveries`: 100 federates that all discover every instance of a class with ten attributes; 1,000 and 10,000 instances.
* `memory`: the same, counted in bytes that Python has allocated when all callbacks have been delivered.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from dataclasses import dataclass
from typing import Any

import weft
from weft_benchmarks.runner import cpu_per_turn

FEDERATES = 100
ATTRIBUTES = 10
FEW = 1_000
MANY = 10_000
TURNS = 4_000

_FOM = weft.Source(
    "bench.xml",
    (
        '<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><modelIdentification><name>Bench</name>'
        "<type>FOM</type></modelIdentification>"
        "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Thing</name>"
        "<sharing>PublishSubscribe</sharing>"
        + "".join(
            f"<attribute><name>A{number}</name><dataType>HLAopaqueData</dataType>"
            "<transportation>HLAreliable</transportation><order>Receive</order></attribute>"
            for number in range(ATTRIBUTES)
        )
        + "</objectClass></objectClass></objects>"
        "<interactions><interactionClass><name>HLAinteractionRoot</name>"
        "<interactionClass><name>Ping</name><sharing>PublishSubscribe</sharing>"
        "<transportation>HLAreliable</transportation><order>Receive</order>"
        "<parameter><name>Payload</name><dataType>HLAopaqueData</dataType></parameter>"
        "</interactionClass></interactionClass></interactions></objectModel>"
    ).encode(),
)


class Counter(weft.FederateAmbassador):
    def __init__(self) -> None:
        self.received = 0
        self.discovered = 0

    def receive_interaction(self, *arguments: Any) -> None:
        self.received += 1

    def discover_object_instance(self, *arguments: Any) -> None:
        self.discovered += 1


def federation(federates: int) -> list[tuple[weft.RTIambassador, Counter]]:
    node = weft.EmbeddedNode("bench")
    made = []
    for number in range(federates):
        rti = weft.RTIambassador(node)
        counter = Counter()
        rti.connect(counter, weft.CallbackModel.EVOKED)
        if number == 0:
            rti.create_federation_execution("bench", _FOM)
        rti.join_federation_execution("bench", "bench")
        made.append((rti, counter))
    return made


def interactions() -> dict[str, float]:
    one = _one_to(1)
    seven = _one_to(7)
    return {
        "one_to_one_us": one,
        "one_to_seven_us": seven,
        "further_receiver_us": (seven - one) / 6,
        "floor_us": _floor(),
    }


def _one_to(receivers: int) -> float:
    members = federation(receivers + 1)
    sender = members[0][0]
    ping = sender.get_interaction_class_handle("Ping")
    values = {sender.get_parameter_handle(ping, "Payload"): bytes(64)}
    sender.publish_interaction_class(ping)
    ears = [rti for rti, _ in members[1:]]
    for rti in ears:
        rti.subscribe_interaction_class(ping)

    def turn() -> None:
        sender.send_interaction(ping, values, b"")
        for rti in ears:
            rti.evoke_callback(0.0)

    cost = cpu_per_turn(turn, TURNS)
    counts = {counter.received for _, counter in members[1:]}
    if len(counts) != 1 or counts == {0}:
        raise RuntimeError(f"the receivers got {counts} interactions, which should be one number above 0")
    return cost * 1e6


@dataclass
class Ping(weft.HLAinteractionRoot):
    Payload: bytes


def joined() -> dict[str, float]:
    return {
        "ambassador_us": _one_to(1),
        "join_us": _by_join("Ping"),
        "join_typed_us": _by_join(Ping),
    }


def _by_join(kind: str | type[Ping]) -> float:
    node = weft.EmbeddedNode("bench")
    heard: list[None] = []
    payload = bytes(64)
    with (
        weft.join("bench", "sender", fom=_FOM, host=node) as sender,
        weft.join("bench", "receiver", fom=_FOM, host=node) as receiver,
    ):
        if isinstance(kind, str):
            receiver.on_interaction(kind)(lambda ping: heard.append(None))
        else:
            receiver.on_interaction(kind)(lambda ping, message: heard.append(None))
        evoke = receiver.rti.evoke_callback

        def by_name() -> None:
            sender.send("Ping", Payload=payload)
            evoke(0.0)

        def by_class() -> None:
            sender.send(Ping(payload))
            evoke(0.0)

        cost = cpu_per_turn(by_name if isinstance(kind, str) else by_class, TURNS)
    if not heard:
        raise RuntimeError("the receiver got nothing")
    return cost * 1e6


def _floor() -> float:
    counter = Counter()
    table = {"receive_interaction": counter.receive_interaction}
    arguments = (b"class", {b"parameter": bytes(64)}, b"", b"transportation", b"federate", None)

    def turn() -> None:
        table["receive_interaction"](*arguments)

    return cpu_per_turn(turn, TURNS * 10) * 1e6


def _populate(instances: int) -> tuple[list[tuple[weft.RTIambassador, Counter]], float]:
    """A federation in which every federate knows every instance; also the CPU seconds it took."""
    members = federation(FEDERATES)
    owner = members[0][0]
    thing = owner.get_object_class_handle("Thing")
    attributes = {owner.get_attribute_handle(thing, f"A{number}") for number in range(ATTRIBUTES)}
    owner.publish_object_class_attributes(thing, attributes)
    for rti, _ in members[1:]:
        rti.subscribe_object_class_attributes(thing, attributes)
    before = time.process_time()
    for number in range(instances):
        owner.register_object_instance(thing)
        if number % 50 == 49:
            _drain(members)
    _drain(members)
    took = time.process_time() - before
    if any(counter.discovered != instances for _, counter in members[1:]):
        raise RuntimeError("not every federate discovered every instance")
    return members, took


def _drain(members: list[tuple[weft.RTIambassador, Counter]]) -> None:
    for rti, _ in members[1:]:
        rti.evoke_multiple_callbacks(0.0, 60.0)


def discoveries() -> dict[str, float]:
    _, few = _populate(FEW)
    _, many = _populate(MANY)
    pairs = FEDERATES - 1
    return {
        "few_us": few / FEW / pairs * 1e6,
        "many_us": many / MANY / pairs * 1e6,
        "growth": many / few,
        "floor_us": _floor(),
    }


def memory() -> dict[str, float]:
    empty, _ = _populate(0)
    gc.collect()
    tracemalloc.start()
    few, _ = _populate(FEW)
    gc.collect()
    at_few = tracemalloc.get_traced_memory()[0]
    del few
    gc.collect()
    base = tracemalloc.get_traced_memory()[0]
    many, _ = _populate(MANY)
    gc.collect()
    at_many = tracemalloc.get_traced_memory()[0] - base
    tracemalloc.stop()
    del empty, many
    return {"bytes_per_object": (at_many - at_few) / (MANY - FEW), "bytes_total": at_many}
