"""Without settling: calls of several federates overlap, and messages are under way while the federation changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.federation_digest import check_agreement
from support.overlapping_calls import Driver
from support.random_kernel_calls import Call, Draw, draws, script
from support.simulated_federates import Seat, federation, handles, mesh

NODES = ("S1", "S2", "S3")
STABLE = 3  # federates that only send; the others do anything
RANDOM = 3
COUNT = 12

_LINKS = {"delay": 0.01, "jitter": 0.03, "loss": 0.2}
_SETTINGS = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}


def _prepare(stable: list[Seat]) -> list[Any]:
    """All stable federates hear all others; everybody's node knows it."""
    instances = []
    for seat in stable:
        seat.publish_interaction("Command.Halt")
        seat.subscribe_interaction("Command.Halt")
        seat.publish("Vehicle.Aircraft", "Name")
        seat.subscribe("Vehicle.Aircraft", "Name")
        instances.append(seat.register("Vehicle.Aircraft"))
    return instances


def _messages(instances: list[Any], times: list[float]) -> list[tuple[float, Call]]:
    known = handles()
    made = []
    for number, when in enumerate(times):
        seat = number % STABLE
        tag = b"%d/%d" % (seat, number)
        made.append((when, Call(seat, "send_interaction", (known.interactions["Command.Halt"], {}, tag))))
        values = {known.attributes["Name"]: tag}
        made.append((when, Call(seat, "update_attribute_values", (instances[seat], values, tag))))
    return made


def check(drawn: list[Draw], times: list[float], places: list[str], seed: int) -> None:
    network = mesh(3, seed, **_LINKS)
    made = federation(network, *places)
    instances = _prepare(made[:STABLE])
    network.settle()
    for seat in made:
        seat.heard()
    driver = Driver(network, made)
    messages = _messages(instances, sorted(times))
    for when, message in messages:
        driver.at(when, message)
    for number, call in enumerate(script(drawn, RANDOM, RANDOM)):
        driver.at(times[number % len(times)], call._replace(seat=call.seat + STABLE))
    driver.run()
    driver.check_all_ended()
    check_agreement(network, *NODES)
    for number, seat in enumerate(made):
        heard = seat.heard()
        _check_life_of_objects(heard)
        if number < STABLE:
            _check_exactly_once(number, heard, messages)


def _check_exactly_once(number: int, heard: list[Any], messages: list[tuple[float, Call]]) -> None:
    halt, name = handles().interactions["Command.Halt"], handles().attributes["Name"]
    for method, place, service in (
        ("receive_interaction", halt, "send_interaction"),
        ("reflect_attribute_values", name, "update_attribute_values"),
    ):
        for sender in range(STABLE):
            wanted = [
                call.arguments[2] for _, call in messages if (call.seat, call.service) == (sender, service)
            ]
            got = [
                arguments[2]
                for called, arguments in heard
                if called == method
                and arguments[2].startswith(b"%d/" % sender)
                and (arguments[0] == place or place in arguments[1])
            ]
            assert got == ([] if sender == number else wanted)


def _check_life_of_objects(heard: list[Any]) -> None:
    """Clause 6: discovered once, then reflected, then removed once; nothing before and nothing after."""
    known: dict[Any, bool] = {}
    for method, arguments in heard:
        if method == "discover_object_instance":
            known[arguments[0]] = True
        elif method == "remove_object_instance":
            assert known.get(arguments[0], True), f"{arguments[0]!r} is removed twice"
            known[arguments[0]] = False
        elif method == "reflect_attribute_values":
            assert known.get(arguments[0], True), f"{arguments[0]!r} is reflected after its removal"


CASES = given(
    drawn=st.lists(draws(RANDOM), min_size=15, max_size=50),
    times=st.lists(st.floats(0, 0.3), min_size=COUNT, max_size=COUNT),
    places=st.lists(st.sampled_from(NODES), min_size=STABLE + RANDOM, max_size=STABLE + RANDOM),
    seed=st.integers(0, 10_000),
)


@settings(max_examples=50, derandomize=True, **_SETTINGS)  # type: ignore[arg-type]
@CASES
def test_reliable_messages_arrive_once_and_replicas_agree(
    drawn: list[Draw], times: list[float], places: list[str], seed: int
) -> None:
    """What is sent after everyone knows of the subscription arrives once and in order; all nodes end with the same state."""
    check(drawn, times, places, seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=1000, **_SETTINGS)  # type: ignore[arg-type]
@CASES
def test_reliable_messages_arrive_once_and_replicas_agree_for_long(
    drawn: list[Draw], times: list[float], places: list[str], seed: int
) -> None:
    """As above, for longer and with new cases each time."""
    check(drawn, times, places, seed)
