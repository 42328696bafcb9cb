"""`weft.join`: attributes change owners, interactions are directed to objects, requests for values are answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import weft
from support.owning_process import HARBOUR, Hail, OwningProcess, Ship
from support.server_in_thread import serving
from weft import EmbeddedNode, Federate
from weft.host import NodeHost
from weft.host.simulated.simulated import SimulatedNetwork
from weft.model.errors import AttributeNotOwned, InvalidRegionContext

from .test_federate_join import arrive

Join = Callable[[str], Federate]


@pytest.fixture(params=["embedded", "simulated", "causal"])
def join(request: pytest.FixtureRequest) -> Join:
    network = SimulatedNetwork(["S1", "S2"], seed=3) if request.param == "simulated" else None
    one: NodeHost = EmbeddedNode()

    def joined(name: str) -> Federate:
        host = one if network is None else network.at("S1" if name == "tug" else "S2")
        return weft.join("Harbour", name, fom=HARBOUR, host=host, causal=request.param == "causal")

    return joined


def settle(*federates: Federate) -> None:
    for _ in range(4):
        for federate in federates:
            arrive(federate)


def seen_by(federate: Federate) -> weft.RemoteObject:
    return federate.objects("Ship")["Bollard"]


def test_what_is_offered_is_taken_and_goes_on(join: Join) -> None:
    with join("tug") as tug, join("pilot") as pilot:
        said: list[object] = []

        @pilot.on_offered(Ship)
        def offered(ship: object, attributes: list[str]) -> None:
            said.append(("offered", attributes))
            assert isinstance(ship, weft.RemoteObject)
            pilot.acquire(ship, *attributes)

        @pilot.on_acquired(Ship)
        def acquired(ship: weft.LocalObject, attributes: list[str]) -> None:
            said.append(("acquired", attributes))
            ship.update(Knots=ship["Knots"] + 1)

        @tug.on_released("Ship")
        def released(ship: weft.LocalObject, attributes: list[str]) -> None:
            said.append(("released", attributes))

        bollard = tug.register(Ship(1.0, 2.0), "Bollard")
        settle(tug, pilot)
        assert seen_by(pilot).owners == {"Position": "tug", "Knots": "tug"}
        tug.subscribe("Ship")
        tug.offer(bollard, "Knots")
        settle(tug, pilot)
        assert said == [(word, ["Knots"]) for word in ("offered", "released", "acquired")]
        assert not tug.owns(bollard, "Knots")
        assert tug.owns(bollard, "Position")
        assert pilot.owns(seen_by(pilot), "Knots")
        # Who gave it away sees it as one of others.
        assert seen_by(tug)["Knots"] == 3.0
        assert seen_by(tug).owners == {"Knots": "pilot"}
        with pytest.raises(AttributeNotOwned):
            bollard.update(Knots=0.0)


def test_what_is_asked_for_is_released_or_denied(join: Join) -> None:
    with join("tug") as tug, join("pilot") as pilot:
        said: list[object] = []
        willing = False

        @tug.on_requested(Ship)
        def requested(ship: weft.LocalObject, attributes: list[str]) -> None:
            said.append(("requested", attributes))
            if willing:
                assert tug.release(ship, *attributes) == attributes
            else:
                tug.deny(ship, *attributes)

        pilot.on_unavailable("Ship")(lambda ship, attributes: said.append(("unavailable", attributes)))
        pilot.on_acquired("Ship")(lambda ship, attributes: said.append(("acquired", attributes)))
        pilot.subscribe(Ship)
        bollard = tug.register(Ship(1.0, 2.0), "Bollard")
        settle(tug, pilot)
        pilot.acquire(seen_by(pilot), "Knots", available=True)
        settle(tug, pilot)
        assert said == [("unavailable", ["Knots"])]
        pilot.acquire(seen_by(pilot), "Knots")
        settle(tug, pilot)
        assert said[1:] == [("requested", ["Knots"]), ("unavailable", ["Knots"])]
        said.clear()
        willing = True
        pilot.acquire(seen_by(pilot), "Knots")
        settle(tug, pilot)
        assert said == [("requested", ["Knots"]), ("acquired", ["Knots"])]
        assert seen_by(pilot).owners == {"Position": "tug", "Knots": "pilot"}
        assert not tug.owns(bollard, "Knots")


def test_what_nobody_owns_is_offered_and_who_owns_what_is_told() -> None:
    host = EmbeddedNode()
    with (
        weft.join("Harbour", "tug", fom=HARBOUR, host=host) as tug,
        weft.join("Harbour", "pilot", fom=HARBOUR, host=host) as pilot,
    ):
        offers: list[list[str]] = []
        pilot.on_offered("Ship", "Knots")(lambda ship, attributes: offers.append(attributes))
        bollard = tug.register(Ship(1.0, 2.0), "Bollard")
        settle(tug, pilot)
        tug.divest(bollard, "Knots")
        settle(tug, pilot)
        assert offers == [["Knots"]]
        owners = {"HLAprivilegeToDeleteObject": "tug", "Position": "tug", "Knots": ""}
        assert tug.owners(bollard) == owners
        assert pilot.owners(seen_by(pilot)) == owners
        assert seen_by(pilot).owners == owners
        pilot.acquire(seen_by(pilot), "Knots", available=True)
        assert pilot.run_until(lambda: pilot.owns(seen_by(pilot), "Knots"))
        assert tug.owners(bollard) == owners | {"Knots": "pilot"}


def test_the_new_owner_answers_who_comes_late(join: Join) -> None:
    with join("tug") as tug, join("pilot") as pilot:
        pilot.subscribe(Ship)
        tug.on_requested(Ship)(lambda ship, attributes: tug.release(ship, *attributes))
        tug.register(Ship(1.0, 2.0), "Bollard")
        settle(tug, pilot)
        pilot.acquire(seen_by(pilot), "Knots")
        settle(tug, pilot)
        with join("late") as late:
            late.subscribe(Ship)
            settle(tug, pilot, late)
            assert late.objects(Ship)["Bollard"] == Ship(1.0, 2.0)
            assert seen_by(late).owners == {"Position": "tug", "Knots": "pilot"}


def test_an_interaction_goes_to_an_object(join: Join) -> None:
    with join("tug") as tug, join("pilot") as pilot:
        heard: list[object] = []

        @tug.on_directed(Hail, Ship)
        def hailed(ship: object, hail: Hail, message: weft.Interaction) -> None:
            assert isinstance(ship, weft.LocalObject)
            heard.append((ship.name, hail, message.sender, message.tag))

        @tug.on_directed("Hail", "Ship")
        def plain(ship: object, message: weft.Interaction) -> None:
            heard.append(message["Words"])

        pilot.subscribe("Ship")
        tug.register(Ship(), "Bollard")
        tug.register(Ship(), "Heron")
        settle(tug, pilot)
        pilot.send(Hail("ahoy"), b"tag", to=seen_by(pilot))
        pilot.send("Hail", to=pilot.objects("Ship")["Heron"], Words="you, too")
        settle(tug, pilot)
        assert heard == [
            ("Bollard", Hail("ahoy"), "pilot", b"tag"), "ahoy", ("Heron", Hail("you, too"), "pilot", b""), "you, too",
        ]  # fmt: skip
        with pytest.raises(InvalidRegionContext, match="has no regions"):
            pilot.send(Hail("ahoy"), to=seen_by(pilot), where=pilot.region(East=(0, 5)))


@pytest.mark.parametrize("answer", [{"Knots": 7.0}, Ship(5.0, 7.0), None])
def test_a_function_answers_who_asks_for_values(answer: dict[str, object] | Ship | None) -> None:
    host = EmbeddedNode()
    with weft.join("Harbour", "tug", fom=HARBOUR, host=host) as tug:
        asked: list[tuple[str, list[str]]] = []

        @tug.on_request(Ship)
        def requested(ship: weft.LocalObject, attributes: list[str]) -> dict[str, object] | Ship | None:
            asked.append((ship.name, attributes))
            return answer

        bollard = tug.register(Ship(1.0, 2.0), "Bollard")
        with weft.join("Harbour", "late", fom=HARBOUR, host=host) as late:
            late.subscribe(Ship, "Knots")
            settle(tug, late)
            assert asked == [("Bollard", ["Knots"])]
            assert seen_by(late).values == {"Knots": 2.0 if answer is None else 7.0}
            assert bollard["Knots"] == seen_by(late)["Knots"]


def test_an_owner_is_killed() -> None:
    """What it registered is gone; what it had acquired of another's object nobody owns, and is offered."""
    said: list[object] = []
    with (
        serving(reconnect_seconds=0.5) as running,
        weft.join("Harbour", "tug", fom=HARBOUR, rti=running.address()) as tug,
    ):
        tug.on_requested(Ship)(lambda ship, attributes: tug.release(ship, *attributes))
        tug.on_removal(Ship)(lambda ship: said.append(f"no {ship.name}"))

        @tug.on_offered(Ship)
        def offered(ship: object, attributes: list[str]) -> None:
            assert isinstance(ship, weft.LocalObject)
            said.append(attributes)
            tug.acquire(ship, *attributes)

        bollard = tug.register(Ship(1.0, 2.0), "Bollard")
        with OwningProcess(running.address()) as process:
            assert tug.run_until(lambda: not tug.owns(bollard, "Knots"), 240)
            process.says("ready")
            assert tug.run_until(lambda: "Heron" in tug.objects(Ship), 240)
            assert tug.owners(bollard)["Knots"] == "pilot"
            process.kill()
            assert tug.run_until(lambda: len(said) == 2 and tug.owns(bollard, "Knots"), 240)
        assert sorted(map(str, said)) == ["['Knots']", "no Heron"]
        bollard.update(Knots=3.0)
        assert not tug.objects(Ship)
