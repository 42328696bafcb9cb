"""Routes, ready-made topologies and the cost model (S1-5, S1-6, S1-11, S1-13, S1-14)."""

from __future__ import annotations

from random import Random

import pytest

from fabric.network import Network
from fabric.topologies import FIGURE_2, random_forest, route_cost, tree_cost, tree_servers
from weft.fabric import Hop, Topology, cost, plan
from weft.model.errors import FabricError, SettingsError


def test_figure_2() -> None:
    """S1-11: its routers and the two routes of the paper."""
    assert FIGURE_2.routers() == ("S1", "S3", "S4", "S6")
    assert FIGURE_2.route("S1", "S8") == [Hop("S1", "A", "S3"), Hop("S3", "D", "S6"), Hop("S6", "C", "S8")]
    assert FIGURE_2.route("S5", "S8") == [
        Hop("S5", "B", "S4"),
        Hop("S4", "E", "S1"),
        Hop("S1", "A", "S3"),
        Hop("S3", "D", "S6"),
        Hop("S6", "C", "S8"),
    ]
    assert FIGURE_2.route("S5", "S5") == []


def test_routes_and_tables_agree() -> None:
    """S1-6: whoever follows the tables goes the route; in a forest no server is passed twice."""
    for seed in range(30):
        topology = random_forest(Random(seed))
        tables = {server: topology.next_hops(server) for server in topology.servers}
        for start in topology.servers:
            for end in topology.servers:
                hops, at = [], start
                while at != end:
                    hops.append(tables[at][end])
                    at = hops[-1].receiver
                assert hops == topology.route(start, end)
                assert len({hop.domain for hop in hops}) == len(hops)
                assert all({hop.sender, hop.receiver} <= set(topology.domains[hop.domain]) for hop in hops)


def test_routes_that_are_not_there() -> None:
    split = Topology(("a", "b", "c"), {"D": ("a", "b")})
    with pytest.raises(FabricError, match="a cannot reach c: no chain of domains joins them"):
        split.route("a", "c")
    with pytest.raises(FabricError, match="there is no server 'x'; there are a, b, c"):
        split.route("x", "a")


def test_the_fingerprint_tells_topologies_apart() -> None:
    """Numbers stand for names in packets, so the order counts."""
    one = Topology(("a", "b"), {"D": ("a", "b")})
    assert one.fingerprint == Topology(("a", "b"), {"D": ("a", "b")}).fingerprint
    for other in (Topology(("b", "a"), {"D": ("a", "b")}), Topology(("a", "b"), {"D": ("b", "a")})):
        assert one.fingerprint != other.fingerprint


def test_the_shapes() -> None:
    """S1-13."""
    assert plan(4, "flat").domains == {"D1": ("S1", "S2", "S3", "S4")}
    assert plan(7, "bus", 3).domains == {
        "D1": ("S1", "S4", "S7"), "D2": ("S1", "S2", "S3"), "D3": ("S4", "S5", "S6"),
    }  # fmt: skip
    assert plan(6, "daisy", 3).domains == {
        "D1": ("S1", "S2", "S3"),
        "D2": ("S1", "S4", "S5"),
        "D3": ("S1", "S6"),
    }
    assert plan(7, "tree", 3).domains == {
        "D1": ("S1", "S2", "S3"),
        "D2": ("S2", "S4", "S5"),
        "D3": ("S3", "S6", "S7"),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((5, "ring", None), "no topology 'ring'; there are flat, bus, daisy, tree"),
        ((0, "flat", None), "0 servers cannot be planned for"),
        ((9, "flat", 3), "flat is one domain of all 9 servers; a domain size of 3 needs bus"),
        ((9, "tree", 2), "the domain size of a tree is at least 3, not 2"),
        ((9, "bus", 1), "the domain size of a bus is at least 2, not 1"),
    ],
)
def test_what_cannot_be_planned(arguments: tuple[int, str, int | None], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        plan(*arguments)


@pytest.mark.parametrize(("size", "depth"), [(3, 1), (3, 3), (4, 2), (5, 2), (6, 1)])
def test_a_full_tree_costs_what_the_model_says(size: int, depth: int) -> None:
    """S1-14: n = 1+(s-1)(k^(d+1)-1)/(k-1), C = (2d+1)s², with as many sub-domains as can be, k = s-1."""
    servers = tree_servers(size, size - 1, depth)
    assert servers == 1 + (size - 1) * ((size - 1) ** (depth + 1) - 1) // (size - 2)
    tree = plan(servers, "tree", size)
    assert {len(members) for members in tree.domains.values()} == {size}
    found = cost(tree)
    assert found.worst_cost == tree_cost(size, depth) == route_cost(tree, list(found.worst))
    assert len(found.worst) == 2 * depth + 1


@pytest.mark.parametrize("root", range(2, 13))
def test_a_bus_is_linear(root: int) -> None:
    """S1-14: √n domains of √n servers cost 3n, flat costs n²."""
    servers = root * root
    bus, flat = cost(plan(servers, "bus")), cost(plan(servers, "flat"))
    assert bus.worst_cost == 3 * servers
    assert flat.worst_cost == flat.flat_cost == servers**2
    assert flat.all_clocks == flat.flat_clocks == servers**3


def test_cost_is_the_mean_over_all_pairs() -> None:
    """Against route by route."""
    for seed in range(10):
        topology = random_forest(Random(seed))
        spent = [
            (route_cost(topology, hops), len(hops))
            for start in topology.servers
            for end in topology.servers
            if (hops := topology.route(start, end))
        ]
        found = cost(topology)
        assert found.mean_cost == pytest.approx(sum(price for price, _ in spent) / len(spent))
        assert found.mean_hops == pytest.approx(sum(hops for _, hops in spent) / len(spent))
        assert found.worst_cost == max(price for price, _ in spent)


@pytest.mark.soak
def test_a_message_among_144_servers() -> None:
    """S1-15: many times more entries flat than on a bus of square-root domains (1,894 and 30 in the runs written down)."""
    flat, bus = (
        Network(plan(144, shape), 1, messages=8_000, reply=0.98, spread=20.0) for shape in ("flat", "bus")
    )
    assert not flat.run().faults
    assert not bus.run().faults
    assert flat.entries / flat.stamps > 20 * bus.entries / bus.stamps
