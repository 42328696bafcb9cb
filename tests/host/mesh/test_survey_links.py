"""What nodes of a fabric say of their links and of whom they cannot reach, against what was sent (issue 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from host.event_channel.test_channel_process import Ear, Mouth, opened
from host.in_process.test_own_node import file
from support import own_nodes
from support.meshes_in_one_loop import Meshes, run, until
from support.node_processes import loopback
from support.surveys import asked, look_through
from weft import CallbackModel, FederateAmbassador, RTIambassador
from weft.fabric import Topology
from weft.host.carrier import Port, ServiceClass
from weft.host.observing.survey import fabric_facts

__all__ = ["file"]  # a fixture

CHAIN = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
KINDS = (ServiceClass.CAUSAL, ServiceClass.RELIABLE)
WAYS = {  # of a message: the links it takes
    (one, other): [(one, other)] if "S2" in (one, other) else [(one, "S2"), ("S2", other)]
    for one in CHAIN.servers
    for other in CHAIN.servers
    if one != other
}


def told(meshes: Meshes, name: str) -> dict[str, Any]:
    found = fabric_facts(meshes.meshes[name])
    look_through(found)
    return found


@settings(max_examples=8)
@given(st.lists(st.tuples(st.sampled_from(sorted(WAYS)), st.sampled_from(KINDS)), max_size=30))
def test_links_count_what_went_over_them(tmp_path_factory: Any, sent: list[tuple[Any, ServiceClass]]) -> None:
    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path_factory.mktemp("links"))
        await meshes.start()
        await meshes.whole()
        for (one, other), kind in sent:
            meshes.meshes[one].send(other, Port.FEDERATIONS, kind, b"payload")
        await until(
            lambda: sum(len(guest.heard) for guest in meshes.guests.values()) == len(sent), "all has come"
        )
        await until(lambda: not any(told(meshes, n)["backlog"] for n in CHAIN.servers), "all acknowledged")
        over = [hop for way, _ in sent for hop in WAYS[way]]
        packets = [hop for way, kind in sent if kind is ServiceClass.CAUSAL for hop in WAYS[way]]
        for name in CHAIN.servers:
            facts = told(meshes, name)
            assert facts["domains"] == {"A": ["S1", "S2"], "B": ["S2", "S3"]}
            assert facts["routers"] == ["S2"]
            assert facts["unreachable"] == {}
            assert set(facts["links"]) == set(CHAIN.neighbours(name))
            assert facts["packets"] == sum(link["packets"] for link in facts["links"].values())
            assert facts["stamp_bytes"] == sum(link["stamp_bytes"] for link in facts["links"].values())
            for other, link in facts["links"].items():
                assert (link["up"], link["why"], link["backlog"], link["held"]) == (True, "", 0, 0)
                assert link["sent"] == over.count((name, other))
                assert link["received"] == over.count((other, name))
                assert link["packets"] == packets.count((name, other))
                there = told(meshes, other)["links"][name]
                assert link["bytes_out"] >= 7 * link["sent"]
                assert 7 * link["sent"] <= there["bytes_in"] <= link["bytes_out"] + 1000  # and the greeting
        await meshes.stop()

    run(work())


def test_who_is_away_is_named_and_why(tmp_path: Path) -> None:
    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path)
        await meshes.start("S1")
        never = told(meshes, "S1")
        assert set(never["unreachable"]) == {"S2", "S3"}
        assert "there is no link to it" in never["unreachable"]["S2"]
        assert "there is no link to S2" in never["unreachable"]["S3"]
        assert never["links"]["S2"]["up"] is False
        assert never["links"]["S2"]["why"]
        await meshes.start("S2", "S3")
        await meshes.whole()
        up = told(meshes, "S2")["links"]["S3"]
        await meshes.meshes.pop("S3").stop()
        await until(lambda: "S3" in told(meshes, "S1")["unreachable"], "S1 has heard of it")
        down = told(meshes, "S2")["links"]["S3"]
        assert (up["up"], down["up"]) == (True, False)
        assert down["since"] > up["since"]
        assert "stopped" in down["why"]
        assert "stopped" in told(meshes, "S2")["unreachable"]["S3"]
        assert told(meshes, "S1")["unreachable"]["S3"] == "S2 has no way to it any more"
        meshes.meshes["S1"].send("S3", Port.AGENTS, ServiceClass.CAUSAL, b"waits")
        await until(lambda: told(meshes, "S2")["links"]["S3"]["backlog"] == 1, "it waits at the router")
        await meshes.stop()

    run(work())


def test_nodes_inside_processes_tell_of_their_links_too() -> None:
    """Over all of it: the call, the kernel, the mesh."""
    with own_nodes.sites(2) as sites:
        rtis = [RTIambassador(site) for site in sites]
        for rti in rtis:
            rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
        found = [asked(rti) for rti in rtis]
        assert len({one["node"] for one in found}) == 2
        for one in found:
            assert one["fabric"]["domains"] == {"A": ["S1", "S2"], "B": ["S2", "S3"]}
            assert all(link["up"] for link in one["fabric"]["links"].values())
            assert one["server"]["sessions"] >= 1
        for rti in rtis:
            rti.disconnect()


def test_event_channels_tell_of_their_consumers(file: Path) -> None:
    """Of processes that are nodes; those that pass events on are not among them."""
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        for number in range(7):
            mouth.say(number)
        ear.hears(*range(7))
        rti = RTIambassador()
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED, f"mesh://S2@{file}")
        found = asked(rti, "consumers")["event_channels"]
        assert list(found) == ["test"]
        facts = found["test"]
        assert (facts["linked"], facts["relays"], facts["queue"]) == (["S1"], False, 0)
        (consumer,) = facts["consumers"].values()
        assert (consumer["handed"], consumer["missed"], consumer["suspended"]) == (7, 0, False)
        assert "event_channels" not in asked(rti, "fabric")
        rti.disconnect()
