"""`weft.join` with classes of Python, written by hand or generated: registered, updated, sent, heard, kept and refused."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType
from typing import Annotated, Any, cast

import pytest

import weft
from support.server_in_thread import serving
from weft import EmbeddedNode, Federate
from weft.channel import all_of
from weft.fom.codegen import generate
from weft.host import NodeHost, load_fom
from weft.host.simulated.simulated import SimulatedNetwork
from weft.model.errors import (
    ConflictingObjectModels,
    EncodingError,
    NameNotFound,
    ObjectInstanceNameInUse,
    ObjectInstanceNotKnown,
)

from .test_federate_join import arrive


class Flag(Enum):
    NONE = 0
    YELLOW = 4


@dataclass
class Point:
    X: float
    Y: float


@dataclass
class Ship(weft.HLAobjectRoot):
    Position: Point
    Knots: float = 0.0
    Flag: Flag = Flag.NONE
    Log: list[str] = field(default_factory=list)
    Depth: float | None = None


@dataclass
class Tug(Ship):
    Bollards: int = 2


@dataclass
class Hail(weft.HLAinteractionRoot):
    Ship: str
    Metres: float


@dataclass
class Rock(weft.HLAobjectRoot):
    At: Point


HARBOUR = weft.fom_from(Tug, Hail)


def generated() -> Any:
    """The same classes as `weft fom gen` writes them."""
    name = "harbour_generated"
    module = sys.modules[name] = ModuleType(name)
    exec(generate(load_fom(HARBOUR), name), module.__dict__)
    return module


@pytest.fixture(params=["embedded", "simulated"])
def host(request: pytest.FixtureRequest) -> NodeHost:
    if request.param == "embedded":
        return EmbeddedNode()
    return SimulatedNetwork(["S1", "S2"], seed=3).at("S2")


def join(name: str, host: NodeHost, *sources: weft.Source) -> Federate:
    return weft.join("Harbour", name, fom=[HARBOUR, *sources], host=host)


def test_a_ship_is_registered_updated_and_handed(host: NodeHost) -> None:
    with join("light", host) as light, join("tug", host) as tugboat:
        seen: list[tuple[Ship, str, dict[str, object], bytes]] = []

        @light.on_update(Ship)
        def moved(ship: Ship, update: weft.Update) -> None:
            seen.append((ship, update.name, dict(update), update.tag))

        tug = Tug(Point(1, 2), Flag=Flag.YELLOW, Log=["out"])
        bollard = tugboat.register(tug, "Bollard")
        arrive(light)
        assert tugboat.registered(tug) is bollard
        assert seen[-1][:2] == (Ship(Point(1, 2), Flag=Flag.YELLOW, Log=["out"]), "Bollard")

        tug.Position.X = 5
        tug.Log.append("back")
        tugboat.update(tug, b"again")
        arrive(light)
        assert seen[-1][0] == Ship(Point(5, 2), Flag=Flag.YELLOW, Log=["out", "back"])
        assert seen[-1][2:] == ({"Position": {"X": 5.0, "Y": 2.0}, "Log": ["out", "back"]}, b"again")

        told = len(seen)
        assert tugboat.update(tug) is None
        arrive(light)
        assert len(seen) == told  # nothing had changed

        bollard.update(Tug(Point(0, 0), Depth=7.0), b"whole")
        bollard.Knots = 3.0
        tug.Bollards = 4
        bollard.commit()
        arrive(light)
        assert seen[-1][0] == Ship(Point(0, 0), Knots=3.0, Depth=7.0)
        assert bollard["Bollards"] == 4
        assert light.objects(Ship)["Bollard"] == seen[-1][0]
        assert dict(light.objects(Ship)) == {"Bollard": seen[-1][0]}
        assert light.objects("Ship")["Bollard"].read(Ship) == seen[-1][0]

        bollard.delete()
        arrive(light)
        assert not light.objects(Ship)
        with pytest.raises(ObjectInstanceNotKnown, match="no object is registered with this very Tug"):
            tugboat.update(tug)


def test_an_interaction_is_sent_and_handed(host: NodeHost) -> None:
    with join("light", host) as light, join("tug", host) as tugboat:
        heard: list[tuple[Hail, str, bytes]] = []

        @light.on_interaction(Hail)
        def hailed(hail: Hail, message: weft.Interaction) -> None:
            heard.append((hail, message.sender, message.tag))

        tugboat.send(Hail("Bollard", 3.5), b"tag")
        tugboat.send(Hail, Ship="Heron", Metres=1)
        tugboat.send("Hail", Ship="half")
        arrive(light)
        assert heard == [(Hail("Bollard", 3.5), "tug", b"tag"), (Hail("Heron", 1.0), "tug", b"")]
        assert str(light.undecoded[-1]).startswith(
            "Hail, sent by tug, cannot be decoded and is left out: tug has sent no Metres"
        )


def test_generated_classes_and_ones_own_speak_with_each_other(host: NodeHost) -> None:
    made = generated()
    with join("light", host) as light, join("tug", host) as tugboat:
        seen: list[Any] = []

        @light.on_update(made.Tug)
        def moved(tug: object, update: weft.Update) -> None:
            seen.append(tug)

        @light.on_interaction(made.Hail)
        def hailed(hail: object, message: weft.Interaction) -> None:
            seen.append(hail)

        tugboat.register(Tug(Point(1, 2), Flag=Flag.YELLOW), "Bollard")
        tugboat.send(Hail("Bollard", 1.0))
        arrive(light)
        hail, tug = sorted(seen, key=lambda one: type(one).__name__)
        assert hail == made.Hail(Ship_="Bollard", Metres=1.0)
        assert tug == made.Tug(
            Position=made.Point(1.0, 2.0), Knots=0.0, Flag_=made.Flag.YELLOW, Log=[], Bollards=2
        )

        backwards: list[Tug] = []
        tugboat.on_update(Tug)(lambda tug, update: backwards.append(tug))
        other = made.Tug(Position=made.Point(3.0, 4.0))
        light.register(other)
        other.Bollards = 7
        light.update(other)
        arrive(tugboat)
        assert backwards[-1] == Tug(Point(3.0, 4.0), Bollards=7)


def test_it_is_called_when_the_ship_is_whole(host: NodeHost, caplog: pytest.LogCaptureFixture) -> None:
    """Who has no value of an attribute without a default is no `Ship` yet; why nothing is called is said once."""
    with join("light", host) as light, join("tug", host) as tugboat:
        seen: list[Ship] = []
        light.on_update(Ship)(lambda ship, update: seen.append(ship))
        bollard = tugboat.register("Tug", "Bollard")
        with caplog.at_level(logging.WARNING, "weft"):
            for knots in (1.0, 2.0):
                bollard.update(Knots=knots)
                arrive(light)
        assert not seen
        assert [one.getMessage() for one in caplog.records if "has sent no Position yet" in one.getMessage()][
            1:
        ] == []
        assert len(light.objects("Ship")) == 1
        assert not light.objects(Ship)
        with pytest.raises(KeyError, match="Ship 'Bollard' has sent no Position yet"):
            light.objects(Ship)["Bollard"]
        bollard.update(Position={"X": 1, "Y": 1})
        arrive(light)
        assert seen == [Ship(Point(1, 1), Knots=2.0)]


def test_who_comes_late_gets_a_whole_ship(host: NodeHost) -> None:
    with join("tug", host) as tugboat:
        tug = Tug(Point(1, 2))
        tugboat.register(tug, "Bollard")
        tug.Knots = 4.0
        tugboat.update(tug)
        with join("late", host) as late:
            late.subscribe(Ship)
            arrive(tugboat)
            arrive(late)
            assert late.objects(Ship)["Bollard"] == Ship(Point(1, 2), Knots=4.0)


def test_classes_are_taken_wherever_names_are(host: NodeHost) -> None:
    with join("light", host) as light, join("tug", host) as tugboat:
        seen: list[str] = []
        light.on_discovery(Ship)(lambda ship: seen.append(ship.name))
        light.on_removal(Ship)(lambda ship: seen.append(f"no {ship.name}"))
        light.correlate(
            all_of(weft.heard(Hail), weft.heard(Ship, "Knots")), lambda group: seen.append(str(len(group)))
        )
        light.qos(Hail, 1)
        tugboat.publish(Tug, "Knots", "Position")
        tugboat.publish(Hail)
        bollard = tugboat.register(Tug, "Bollard")
        bollard.update(Knots=1.0)
        tugboat.send(Hail("x", 1.0))
        arrive(light)
        bollard.delete()
        arrive(light)
        assert sorted(seen) == ["2", "Bollard", "no Bollard"]


def test_a_restored_ship_is_registered_still() -> None:
    """What changed in the dataclass since the save is its federate's affair: the next update sends all of it."""
    host = EmbeddedNode()
    with join("tug", host) as tugboat:
        tug = Tug(Point(1, 2))
        tugboat.register(tug, "Bollard")
        assert tugboat.save("noon")
        late = Tug(Point(9, 9))
        tugboat.register(late, "Heron")
        assert tugboat.restore("noon")
        assert tugboat.registered(tug).name == "Bollard"
        with pytest.raises(ObjectInstanceNotKnown):
            tugboat.update(late)
        with join("light", host) as light:
            seen: list[Ship] = []
            light.on_update(Ship)(lambda ship, update: seen.append(ship))
            tug.Knots = 3.0
            tugboat.update(tug)
            arrive(light)
            assert seen[-1] == Ship(Point(1, 2), Knots=3.0)


def test_at_a_server() -> None:
    with (
        serving() as server,
        weft.join("Harbour", "light", fom=HARBOUR, rti=server.address()) as light,
        weft.join("Harbour", "tug", fom=HARBOUR, rti=server.address()) as tugboat,
    ):
        seen: list[object] = []
        light.on_update(Ship)(lambda ship, update: seen.append(ship))
        light.on_interaction(Hail)(lambda hail, message: seen.append(hail))
        tugboat.register(Tug(Point(1, 2)))
        tugboat.send(Hail("x", 1.0))
        assert light.run_until(lambda: len(seen) == 2)
        assert seen == [Ship(Point(1, 2)), Hail("x", 1.0)]


# --- refusals ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_and_nothing_has_changed() -> None:
    with join("tug", EmbeddedNode()) as tugboat:
        tug = Tug(Point(1, 2))
        bollard = tugboat.register(tug, "Bollard")
        with pytest.raises(ObjectInstanceNameInUse, match="is registered already, as 'Bollard'"):
            tugboat.register(tug)
        with pytest.raises(
            EncodingError, match=r"HLAobjectRoot\.Ship\.Tug\.Position: expected a Point; got 3"
        ):
            tugboat.register(Tug(cast("Any", 3)), "Heron")
        tugboat.register(Tug(Point(0, 0)), "Heron")  # the name was not taken
        with pytest.raises(EncodingError, match=r"HLAinteractionRoot\.Hail\.Ship: .*expected text, got 3"):
            tugboat.send(Hail(cast("Any", 3), 1.0))
        with pytest.raises(AttributeError, match="no attribute 'Knot'; did you mean 'Knots'"):
            bollard.Knot = 3
        with pytest.raises(NameNotFound, match="is a Ship, and no Tug"):
            tugboat.register(Ship(Point(0, 0))).update(tug)
        with pytest.raises(TypeError, match=r"is called with two arguments: a Hail, and how it came"):
            tugboat.on_interaction(Hail)(cast("Any", lambda hail: None))
        with pytest.raises(NameNotFound, match="without Position there is no Ship"):
            tugboat.on_update(Ship, "Knots")
        with pytest.raises(NameNotFound, match=r"add weft\.fom_from\(Rock\) to fom="):
            tugboat.register(Rock(Point(0, 0)))


def test_a_class_of_another_object_model_is_refused() -> None:
    """A generated module that is older than the object model would read bytes wrongly."""
    text = generate(load_fom(HARBOUR), "old").replace(
        'Field("Y", "HLAfloat64BE")', 'Field("Y", "HLAfloat32BE")'
    )
    name = "harbour_old"
    old: Any = ModuleType(name)
    sys.modules[name] = old
    exec(text, old.__dict__)
    with (
        join("tug", EmbeddedNode()) as tugboat,
        pytest.raises(
            ConflictingObjectModels, match="has 'Position' as Point, laid out otherwise than Point"
        ),
    ):
        tugboat.subscribe(old.Ship)


@dataclass
class Narrow(weft.HLAobjectRoot):
    Value: Annotated[int, weft.hla("HLAinteger16BE")]


def test_a_number_that_does_not_fit_its_width() -> None:
    words = r"Narrow\.Value: HLAinteger16BE: .*99999"
    one = weft.join("Numbers", "one", fom=weft.fom_from(Narrow), host=EmbeddedNode())
    with one, pytest.raises(EncodingError, match=words):
        one.register(Narrow(99999))
