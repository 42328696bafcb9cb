"""A busy federation with all kinds of chance in it, as one trace: run as a program it prints the hash of the trace."""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any

from support.simulated_federates import Seat, federation, mesh


def canonical(value: Any) -> Any:
    """Sets and dicts in an order that does not depend on how Python hashes."""
    if isinstance(value, dict):
        return sorted((repr(key), canonical(item)) for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(repr(canonical(item)) for item in value)
    if isinstance(value, tuple):
        return tuple(canonical(item) for item in value)
    return repr(value)


def trace(seed: int) -> list[str]:
    """Every callback at every federate with its virtual time, in a run over links that delay, lose and fail."""
    network = mesh(4, seed, delay=0.01, jitter=0.02, loss=0.2)
    made = federation(network, "S1", "S2", "S3", "S4", "S4")
    chance = random.Random(5)  # the same calls whatever the network's seed
    things = []
    for seat in made:
        seat.publish("Vehicle", "Name", "Position")
        seat.subscribe("Vehicle", "Name", "Position")
        for interaction in ("Event.Hit", "Event.Fire"):
            seat.publish_interaction(interaction)
            seat.subscribe_interaction(interaction)
        things.append((seat, seat.register("Vehicle")))
        seat.begin("reserve_object_instance_name", "Rhino")
    for number in range(40):
        seat, thing = chance.choice(things)
        seat.send(chance.choice(["Event.Hit", "Event.Fire"]), b"%d" % number)
        seat.update(thing, b"%d" % number, "Name", "Position")
        _let_pass(made, chance.random() * 0.01)
        if number == 20:
            network.cut("S2", "S3")
        if number == 30:
            network.heal("S2", "S3")
    network.crash("S3")
    _let_pass([seat for seat in made if seat is not made[2]], 5.0)
    return [
        f"{seat.name} {when:.9f} {method} {canonical(arguments)}"
        for seat in made
        for when, (method, arguments) in seat.trace
    ]


def _let_pass(made: list[Seat], seconds: float) -> None:
    """Every federate takes each callback at the moment it arrives."""
    deadline = made[0].connection.now() + seconds
    while (left := deadline - made[0].connection.now()) > 0:
        made[0].connection.wait(min(left, 0.001))
        for seat in made:
            seat.heard()


def fingerprint(seed: int) -> str:
    return hashlib.sha256("\n".join(trace(seed)).encode()).hexdigest()


if __name__ == "__main__":
    print(fingerprint(int(sys.argv[1])))
