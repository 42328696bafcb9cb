"""`weft domains plan --traffic …`: domains for the traffic that is expected (S1-16)."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.topologies import is_forest, route_cost
from weft.cli import main
from weft.fabric import Topology, parse_domains, parts
from weft.fom import merge, parse_module
from weft.model.errors import DomainsError
from weft.model.records import Source
from weft.review.advice.domains import (
    PLANS,
    Costs,
    NodeTraffic,
    all_trees,
    as_topology,
    best_tree,
    by_closeness,
    ready_made,
    search,
    topology_cost,
)
from weft.review.advice.expected import Expected, read_latency, read_placement, read_traffic

FED = (
    b"(FED (Federation F) (FEDversion v1.3) (spaces)\n"
    b"(objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)\n"
    b"  (class Ship (attribute place reliable receive) (class Tug (attribute load reliable receive)))))\n"
    b"(interactions (class InteractionRoot reliable receive (class Warning reliable receive))))\n"
)


def names(count: int) -> tuple[str, ...]:
    return tuple(f"S{at}" for at in range(1, count + 1))


@st.composite
def traffics(draw: st.DrawFn, least: int, most: int) -> NodeTraffic:
    count = draw(st.integers(least, most))
    cells = st.lists(st.sampled_from((0, 0, 1, 5, 100)), min_size=count**2, max_size=count**2)
    made = np.array(draw(cells), np.int64).reshape(count, count)
    np.fill_diagonal(made, 0)
    far = draw(st.lists(st.sampled_from((0, 1, 9, 200)), min_size=count**2, max_size=count**2))
    pairs = {(one, other): far[at] for at, (one, other) in enumerate(combinations(names(count), 2))}
    counts = {
        (one, other): int(made[at, to])
        for at, one in enumerate(names(count))
        for to, other in enumerate(names(count))
    }
    hop = draw(st.sampled_from((0, 0, 100)))
    return NodeTraffic.of(names(count), counts, pairs if draw(st.booleans()) else None, hop)


def all_forests(count: int) -> list[Topology]:
    """Every family of domains over so many servers that has no cycle, found by trying each: not by how the planner does it."""
    groups = [group for size in range(2, count + 1) for group in combinations(names(count), size)]
    families = (
        [group for at, group in enumerate(groups) if chosen >> at & 1] for chosen in range(1 << len(groups))
    )
    made = (
        Topology(names(count), {f"D{at}": group for at, group in enumerate(family)}) for family in families
    )
    return [topology for topology in made if is_forest(topology)]


FORESTS = {count: all_forests(count) for count in (3, 4)}


@given(traffics(3, 4))
@settings(max_examples=25, deadline=None)
def test_no_forest_at_all_is_cheaper(traffic: NodeTraffic) -> None:
    """S1-16, against brute force: of all forests in which everybody reaches whom he sends to."""
    least = min(
        topology_cost(traffic, topology)
        for topology in FORESTS[len(traffic.servers)]
        if all(
            {traffic.servers[one], traffic.servers[other]} <= set(part)
            for one, other in zip(*np.nonzero(traffic.messages), strict=True)
            for part in parts(topology)
            if traffic.servers[one] in part
        )
    )
    assert topology_cost(traffic, as_topology(traffic.servers, best_tree(traffic))) == least


@given(traffics(2, 9))
@settings(max_examples=20, deadline=None)
def test_laws_of_a_plan(traffic: NodeTraffic) -> None:
    """S1-16: a forest of all servers that reach one another, and never dearer than what is ready-made, flat least of all."""
    found = best_tree(traffic)
    planned = as_topology(traffic.servers, found)
    assert is_forest(planned)
    assert parts(planned) == [traffic.servers]
    spent = topology_cost(traffic, planned)
    assert spent == Costs(traffic.both, traffic.latency).of(found)
    for name in PLANS:
        assert spent <= topology_cost(traffic, ready_made(traffic.servers, name))


@given(traffics(3, 5), st.data())
def test_latency_counts_on_every_hop(traffic: NodeTraffic, data: st.DataObject) -> None:
    trees = list(all_trees(len(traffic.servers)))
    tree = trees[data.draw(st.integers(0, len(trees) - 1))]
    topology = as_topology(traffic.servers, tree)
    far = np.zeros_like(traffic.messages) if traffic.latency is None else traffic.latency
    spent = 0
    for one, other in combinations(traffic.servers, 2):
        route = topology.route(one, other)
        hops = [(topology.numbers[hop.sender], topology.numbers[hop.receiver]) for hop in route]
        each = route_cost(topology, route) + sum(int(far[hop]) for hop in hops)
        spent += int(traffic.both[topology.numbers[one], topology.numbers[other]]) * each
    assert spent == topology_cost(traffic, topology) == Costs(traffic.both, traffic.latency).of(tree)


def test_beyond_all_trees_the_search_comes_close() -> None:
    """Seven servers are the first that are searched: of all 79,745 trees none is cheaper by more than a twentieth."""
    random = np.random.default_rng(11)
    made = random.choice([0, 0, 1, 5, 100], (7, 7)).astype(np.int64)
    np.fill_diagonal(made, 0)
    traffic = NodeTraffic(names(7), made)
    costs = Costs(traffic.both)
    least = min(costs.of(tree) for tree in all_trees(7))
    assert costs.of(search(traffic)) <= 1.05 * least


def test_who_is_close_stands_side_by_side() -> None:
    both = np.zeros((6, 6), np.int64)
    for one, other in ((0, 3), (3, 5), (1, 4), (4, 2)):
        both[one, other] = both[other, one] = 10
    order = by_closeness(both)
    assert sorted(order) == list(range(6))
    assert {frozenset(order[:3]), frozenset(order[3:])} == {frozenset({0, 3, 5}), frozenset({1, 2, 4})}


# --- what is read ---------------------------------------------------------------------------------------------------


def test_tables_are_read() -> None:
    table = b"# a guess\nfrom, to, messages\nS1, S2, 10\n\nS2,S3,2.6 # more\nS1, S2, 5\nS3, S3, 9\n"
    found = read_traffic(Source("t.csv", table))
    assert found == Expected(("S1", "S2", "S3"), {("S1", "S2"): 15, ("S2", "S3"): 3})
    assert read_latency(Source("l.csv", b"S1, S3, 0.25\n"), found.servers) == {("S1", "S3"): 0.25}


def test_traffic_follows_interest() -> None:
    """S1-16: what an object model and the declarations tell of the application's graph."""
    model = merge([parse_module(Source("a.fed", FED))])
    placed = (
        b"S1, publishes, HLAobjectRoot.Ship.Tug, 10\nS2, subscribes, HLAobjectRoot.Ship\n"
        b"S1, subscribes, HLAobjectRoot.Ship\nS3, subscribes, HLAobjectRoot.Ship.Tug\nS3, publishes, HLAobjectRoot.Ship, 4\n"
        b"S2, publishes, HLAinteractionRoot.Warning, 1\nS4, subscribes, HLAinteractionRoot.Warning\n"
    )
    found = read_placement(Source("p.csv", placed), model)
    assert found.servers == ("S1", "S2", "S3", "S4")
    assert found.messages == {
        ("S1", "S2"): 10, ("S1", "S3"): 10, ("S3", "S1"): 4, ("S3", "S2"): 4, ("S2", "S4"): 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"S1, S2, 1\nS1, S2\n", "t.csv:2: a row is from, to, messages, not 'S1, S2'"),
        (b"\n\nS1, S2, -1\n", "t.csv:3: the number of messages must be a number of at least 0, not '-1'"),
        (b"S1, S2, many\n", "t.csv:1: the number of messages must be a number of at least 0, not 'many'"),
        (b"S1, S 2, 1\n", "t.csv:1: 'S 2' cannot be the name of a server"),
        (b"S1, S2, 1\n\xff\n", "t.csv:2: this is not UTF-8 text"),
        (b"# nothing\n", "t.csv: there is no row in this table"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: bytes, says: str) -> None:
    with pytest.raises(DomainsError) as error:
        read_traffic(Source("t.csv", text))
    assert str(error.value).startswith(says)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(
        DomainsError, match=r"t.csv:1: there is no server 'S3x' in the domains file; did you mean S3\?"
    ):
        read_traffic(Source("t.csv", b"S3x, S2, 1\n"), ("S2", "S3"))
    with pytest.raises(DomainsError, match=r"l.csv:1: there is no server 'S9' in the traffic"):
        read_latency(Source("l.csv", b"S9, S2, 1\n"), ("S2", "S3"))
    model = merge([parse_module(Source("a.fed", FED))])
    with pytest.raises(DomainsError, match=r"did you mean HLAobjectRoot.Ship.Tug\?"):
        read_placement(Source("p.csv", b"S1, subscribes, Tug\n"), model)
    with pytest.raises(DomainsError, match=r"p.csv:1: a row is server, publishes"):
        read_placement(Source("p.csv", b"S1, eats, HLAobjectRoot.Ship\n"), model)


# --- the command ----------------------------------------------------------------------------------------------------

CLUSTERS = "".join(
    f"S{one}, S{other}, {100 if (one <= 3) == (other <= 3) else 1}\n"
    for one, other in combinations(range(1, 7), 2)
)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S1-16: the plan, its cost beside flat and the ready-made, and a file that can be run."""
    traffic, out = tmp_path / "t.csv", tmp_path / "domains.toml"
    traffic.write_text(CLUSTERS)
    assert main(["domains", "plan", "--traffic", str(traffic), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("6 servers in ")
    for name in ("planned", "flat", "bus", "daisy", "tree"):
        assert f"\n  {name} " in said
    assert parse_domains(Source("d", out.read_bytes())).topology.servers == tuple(names(6))
    assert main(["domains", "plan", "--traffic", str(traffic), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["costs"]["planned"] == min(found["costs"].values()) < found["costs"]["flat"]
    assert main(["domains", "plan", "--traffic", str(traffic)]) == 0
    both = capsys.readouterr()
    assert both.out == out.read_text()
    assert "times the plan" in both.err


def test_addresses_of_a_file_are_kept_and_far_servers_joined_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two sites a hop takes 50 ms: with latency the plan crosses once, by one domain of two routers."""
    traffic, latency = tmp_path / "t.csv", tmp_path / "l.csv"
    traffic.write_text("".join(f"S{a}, S{b}, 10\n" for a, b in combinations(range(1, 7), 2)))
    latency.write_text("".join(f"S{a}, S{b}, 50\n" for a in (1, 2, 3) for b in (4, 5, 6)))
    old = tmp_path / "old.toml"
    servers = "\n".join(f'S{at} = "10.0.0.{at}:9001"' for at in range(1, 7))
    old.write_text(f'[servers]\n{servers}\n[domains]\nA = ["S1", "S2", "S3", "S4", "S5", "S6"]\n')
    out = tmp_path / "new.toml"
    flags = ["--traffic", str(traffic), "--latency", str(latency), "--domains", str(old), "-o", str(out)]
    assert main(["domains", "plan", *flags]) == 0
    assert "as in the file" in capsys.readouterr().out
    made = parse_domains(Source("new", out.read_bytes()))
    assert made.addresses["S5"] == "10.0.0.5:9001"
    for one, other in ((1, 4), (2, 6), (3, 5)):
        far = [
            hop
            for hop in made.topology.route(f"S{one}", f"S{other}")
            if (hop.sender <= "S3") != (hop.receiver <= "S3")
        ]
        assert len(far) == 1


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ([], "either --servers and --topology"),
        (["--servers", "4"], "either --servers and --topology"),
        (["--traffic", "t", "--servers", "4"], "are for a ready-made topology"),
        (["--fom", "a.xml"], "--fom and --placement belong together"),
        (["--latency", "l"], "--latency needs --traffic"),
        (["--traffic", "nowhere.csv"], "nowhere.csv: No such file"),
    ],
)
def test_what_does_not_go_together(flags: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["domains", "plan", *flags]) == 2
    assert says in capsys.readouterr().err
