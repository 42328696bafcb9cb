"""The survey as a function of the kernel's state: its cost, the cells of grids, and small things (issue 9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.prompt_ambassadors import take_all
from support.simulated_federates import FOM, NAME
from support.surveys import asked
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, RTIambassador, Source
from weft.host.simulated.simulated import SimulatedNetwork
from weft.kernel import SECTIONS, Reply, Surroundings
from weft.kernel.node.node import Node
from weft.kernel.survey import regions, survey
from weft.kernel.survey.survey import readable
from weft.kernel.time import galt_exchange
from weft.model.records import RangeBounds

LANES = 16


def joined(host: Any, count: int, time: str = "HLAinteger64Time") -> list[RTIambassador]:
    made = [RTIambassador(host) for _ in range(count)]
    for number, rti in enumerate(made):
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
        if not number:
            rti.create_federation_execution(NAME, [FOM], time)
        rti.join_federation_execution(f"federate {number}", "test", NAME)
    return made


def test_who_holds_up_the_others_is_asked_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each federate: a survey of many would take the square of their number."""
    rtis = joined(EmbeddedNode(), 30)
    factory = rtis[0].get_time_factory()
    for rti in rtis:
        rti.enable_time_regulation(factory.make_interval(1))
        rti.enable_time_constrained()
    for rti in rtis:
        take_all(rti)
    for rti in rtis[1:]:
        rti.time_advance_request(factory.make_time(5))
    looks: list[str] = []
    real = galt_exchange.who_is_behind

    def look(federation: Any, node: str) -> Any:
        looks.append(node)
        return real(federation, node)

    monkeypatch.setattr(galt_exchange, "who_is_behind", look)
    found = asked(rtis[0])["federations"][NAME]["federates"]
    assert [one["blocked_by"] for one in found.values() if "asks" in one] == [["federate 0"]] * 29
    assert len(looks) == 1


@settings(max_examples=20)
@given(st.integers(1, 2 * LANES))
def test_cells_begin_where_another_channel_does(count: int) -> None:
    """Against the strategy itself, asked for every place of the dimension."""
    rid = Source(
        "grid.rid",
        b"(DataDistribution (StrategyToUse StaticGridPartitioned) (MaxNumberOfDataChannelsToUse 64)"
        b"(NumPartitionsPerDimension %d))" % count,
    )
    network = SimulatedNetwork(["A"], rid=rid)
    (rti,) = joined(network.at("A"), 1)
    found = asked(rti, "regions")["federations"][NAME]
    assert found["strategy"] == "StaticGridPartitioned"
    (bounds,) = found["cells"].values()
    federation = network._nodes["A"].federations[NAME]
    entry = federation.catalog.interaction_class_names["HLAinteractionRoot.Event"]
    lane = rti.get_dimension_handle("Lane")
    region = rti.create_region({lane})
    places = []
    for place in range(LANES):
        rti.set_range_bounds(region, lane, RangeBounds(place, place + 1))
        rti.commit_region_modifications({region})
        extent = federation.ddm.regions[region].extent
        assert extent is not None
        places.append(federation.channels.interaction_cells(entry, (extent,)))
    begin = [0] + [place for place in range(1, LANES) if places[place] != places[place - 1]]
    assert [one for one in bounds if one < LANES] == begin
    assert bounds[-1] == LANES


def test_regions_beyond_the_most_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "MOST", 3)
    (rti,) = joined(EmbeddedNode(), 1)
    lane = rti.get_dimension_handle("Lane")
    for number in range(5):
        found = asked(rti, "regions")["federations"][NAME]
        assert len(found["regions"]) == min(3, number)
        assert found.get("regions_left_off", 0) == max(0, number - 3)
        rti.commit_region_modifications({rti.create_region({lane})})


def test_a_node_without_a_host_tells_what_the_kernel_knows() -> None:
    node = Node("bare")
    session = node.open_session()

    def told(*arguments: Any) -> Any:
        (reply,) = node.call(session, 1, "survey", arguments, 7.0)
        assert isinstance(reply, Reply)
        return reply.value

    only = told(["server", "fabric"])
    assert only == {"node": "bare", "version": only["version"], "now": 7.0, "federations": {}}
    assert told() == only


def test_sections_are_those_that_hosts_are_asked_for() -> None:
    class Host(Surroundings):
        def of_node(self, sections: frozenset[str], now: float) -> dict[str, Any]:
            return {"asked": sorted(sections)}

    node = Node("here")
    node.surroundings = Host()
    assert survey.survey({}, "here", [], 0.0, node.surroundings)["asked"] == sorted(SECTIONS)
    assert survey.survey({}, "here", ["fabric"], 0.0, node.surroundings)["asked"] == ["fabric"]


@given(st.binary(max_size=8))
def test_a_tag_is_shown_as_text_if_it_is_some(tag: bytes) -> None:
    shown = readable(tag)
    assert shown.isprintable()
    assert shown.encode() == tag or bytes.fromhex(shown) == tag
