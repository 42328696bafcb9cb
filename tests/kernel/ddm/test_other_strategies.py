"""Strategies of other packages in a federation over nodes (S2-4, S2-23): they work, and what they do wrong harms nobody."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from kernel.ddm.test_strategies import Story, Told
from support.simulated_federates import NAME, Seat
from support.small_fom import extra_module
from support.strategy_federates import DIMENSIONS, SPAN, WHOLE, Place, places, rid, seated
from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.host.simulated.simulated import SimulatedNetwork
from weft.interest import strategy
from weft.kernel.ddm import channels
from weft.kernel.survey.status import status
from weft.model.errors import RTIinternalError, SettingsError

pytestmark = pytest.mark.over_nodes

BROKEN = ("ForgetsTheEnd", "OneExtent", "NoDefault", "SaysNothing", "SaysNonsense", "Raises", "CountsCalls")
PACKAGE = "an unnamed package"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a package had brought those of `tests/prove/broken_strategies.py`."""
    points = EntryPoints(
        EntryPoint(name, f"prove.broken_strategies:{name}", strategy.GROUP)
        for name in ("Stripes", "FewSpaces", *BROKEN)
    )

    def entry_points(group: str) -> EntryPoints:
        return points.select(group=group)

    monkeypatch.setattr(strategy, "entry_points", entry_points)


@pytest.mark.parametrize("seed", range(4))
def test_one_of_another_package_delivers_the_same(seed: int) -> None:
    """S2-4, S2-23: the same callbacks as under Exact, and fewer copies than under Simple."""
    story = Story(seed)
    exact, simple, told = (Told(story, name, 1) for name in ("Exact", "Simple", "Stripes"))
    assert told.heard == exact.heard
    copies = [sum(place.total("copies") for place in one.places) for one in (exact, told, simple)]
    assert copies == sorted(copies)
    (shown, *_) = status(told.network.node("S1").federations, "S1", told.network.clock.now)
    assert shown["strategy"] == "Stripes"
    assert "strategy_fault" not in shown
    assert not told.network.notices


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_loses_nothing(name: str) -> None:
    """S2-23: what it says wrong costs copies and no message; who runs the node reads once which strategy, and what to do."""
    blamed = 0
    for seed in range(6):
        story = Story(seed)
        told = Told(story, name, 1)
        assert told.heard == Told(story, "Exact", 1).heard
        notices = told.network.notices
        assert all(f"strategy {name!r} of {PACKAGE} " in text for text in notices)
        assert all(
            "none was lost: mend that package, or choose another StrategyToUse" in text for text in notices
        )
        assert len(notices) <= 3  # one of each node
        faults = [
            shown.get("strategy_fault")
            for node in ("S1", "S2", "S3")
            for shown in status(told.network.node(node).federations, node, told.network.clock.now)
        ]
        assert sum(fault is not None for fault in faults) >= len(notices)
        blamed += bool(notices)
    assert blamed or name == "CountsCalls"


def test_a_broken_one_loses_nothing_in_groups() -> None:
    """A node that is missed is in none of the groups: it is sent to by itself."""
    topology = Topology(("S1", "S2", "S3"), {"D": ("S1", "S2", "S3")})
    source = rid("ForgetsTheEnd", 1, BestEffortChannelType="UDPmulticast")
    network = FabricNetwork(topology, 1, FabricProfile(), rid=source)
    one, _, three = seated(network, 3)
    upper = dict.fromkeys(DIMENSIONS["3D"], (SPAN - 9, WHOLE))
    one.subscribe_at("C.x", one.regions([upper]))
    three.register_at("cloud", "C.x", three.regions([dict.fromkeys(DIMENSIONS["3D"], (0, WHOLE))]))
    network.settle()
    three.tell("cloud", "C.x", tag=b"late")
    network.settle()
    assert one.reflected() == [b"late"]
    assert "broke the law of all strategies for " in network.notices[0]


def test_a_node_that_lacks_it_cannot_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """S2-4: all nodes must have the federation's strategy; who joins elsewhere is told what to install, and others go on."""
    network, (one, two) = places(rid("Stripes", 1), 2)
    one.subscribe_all("A.x")
    two.register_at("tank", "A.x", [])
    network.settle()
    for has, words in (("", "does not have it"), ("stripes 2.0", "has it from stripes 2.0")):
        two.resign()
        network.settle()
        late = Place(network, "S2")
        with monkeypatch.context() as patch:
            patch.setattr(channels, "origin", lambda _name, has=has: has)
            with pytest.raises(RTIinternalError) as refused:
                late.join("paper")
        assert str(refused.value) == (
            f"node 'S2' cannot take part in federation 'paper': that distributes data by strategy 'Stripes' of {PACKAGE}, and "
            f"the node {words}; install {PACKAGE} there, start it again and join again"
        )
        network.settle()
        assert network.notices[-1] == str(refused.value)
        assert list(network.node("S1").federations["paper"].membership.names) == [one.name]
        two = Place(network, "S2")
        two.begin_all()
        two.register_at("tank", "A.x", [])
        network.settle()
        one.heard()
        two.tell("tank", "A.x", tag=b"on")
        network.settle()
        assert one.reflected() == [b"on"]


@pytest.mark.parametrize(("has", "comes_back"), [("", False), ("stripes 2.0", True)])
def test_a_home_that_is_started_again_without_it(
    has: str, comes_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to install, and begins with what it kept when that is there; a newer version will do."""
    topology = Topology(("S1", "S2"), {"D": ("S1", "S2")})
    network = FabricNetwork(topology, 1, FabricProfile(), rid=rid("Stripes", 1))
    seated(network, 2)
    network.crash("S1")
    with monkeypatch.context() as patch:
        patch.setattr(channels, "origin", lambda _name: has)
        if not comes_back:
            with pytest.raises(
                SettingsError, match="and the node does not have it; install an unnamed package"
            ):
                network.restart("S1")
            return
        network.restart("S1")
    assert network.node("S1").federations["paper"].channels.name == "Stripes"


MORE = """<dimensions><dimension><name>Height</name><dataType>HLAinteger32BE</dataType><upperBound>9</upperBound>
<normalization>none</normalization><value>Excluded</value></dimension></dimensions>
<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Rain</name>
<sharing>PublishSubscribe</sharing><dimensions><dimension>Height</dimension></dimensions>
<transportation>HLAreliable</transportation><order>Receive</order></interactionClass></interactionClass></interactions>"""


def test_one_that_fails_when_the_object_model_grows() -> None:
    """S2-23: a federate brings a space that the strategy cannot do with: it joins, nothing is lost, and it is told."""
    network = SimulatedNetwork(["S1", "S2"], rid=rid("FewSpaces", 1))
    one, two = Seat(network.at("S1"), "one"), Seat(network.at("S2"), "two")
    one.create()
    one.join()
    two.join(NAME, extra_module(MORE))
    for name, receives in (("Rain", one), ("Event.Hit", two)):
        sends = two if receives is one else one
        kind = sends.call("get_interaction_class_handle", name)
        sends.call("publish_interaction_class", kind)
        receives.call("subscribe_interaction_class", kind)
        network.settle()
        sends.call("send_interaction", kind, {}, name.encode())
        network.settle()
        (heard,) = receives.heard("receive_interaction")
        assert heard[1][2] == name.encode()
    assert any("failed when a federate brought more of the object model" in text for text in network.notices)
    assert not [text for text in network.notices if "internal error" in text]
