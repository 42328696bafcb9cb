"""The domains file: exactly the forests are accepted, and every error has its file and line (S1-9, S1-10, S1-11)."""

from __future__ import annotations

import tomllib
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.topologies import CHAIN, CYCLIC, FIGURE_2, is_forest, of
from weft.fabric import (
    ReleaseRule,
    Topology,
    examine_domains,
    faults,
    kept_back,
    kept_names,
    parse_domains,
    parts,
    plan,
    shortest_cycle,
    smallest_repair,
    write_domains,
)
from weft.model.errors import DomainsError
from weft.model.records import Source
from weft.model.toml_places import places

SERVERS = tuple(f"S{number}" for number in range(1, 8))
TOPOLOGIES = st.dictionaries(
    st.sampled_from([f"D{number}" for number in range(1, 7)]),
    st.lists(st.sampled_from(SERVERS), unique=True, max_size=4).map(tuple),
    max_size=6,
).map(lambda domains: Topology(SERVERS, domains))


def edges_of(topology: Topology) -> list[tuple[str, str]]:
    return [(server, domain) for domain, members in topology.domains.items() for server in members]


def trees(edges: list[tuple[str, str]]) -> int:
    """The oracle: how many parts the graph has, by walking it."""
    near: dict[str, set[str]] = {}
    for one, other in edges:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    found, left = 0, set(near)
    while left:
        found += 1
        stack = [left.pop()]
        while stack:
            for other in near[stack.pop()] & left:
                left.discard(other)
                stack.append(other)
    return found


def acyclic(edges: list[tuple[str, str]]) -> bool:
    """A graph is a forest if it has as many edges as vertices less parts."""
    return len(edges) == len({end for edge in edges for end in edge}) - trees(edges)


def examine(text: str) -> list[str]:
    return [str(error) for error in examine_domains(Source("d.toml", text.encode())).errors]


@given(TOPOLOGIES)
def test_exactly_the_forests_are_accepted(topology: Topology) -> None:
    """S1-10: against a walk of the graph; an accepted file says what was written."""
    findings = examine_domains(Source("d.toml", write_domains(topology).encode()))
    forest = acyclic(edges_of(topology))
    assert is_forest(topology) == forest
    assert (findings.domains is not None) == forest
    assert bool(findings.errors) == (not forest)
    assert bool(faults(topology)) == (not forest)
    if findings.domains is not None:
        assert findings.domains.topology == topology


@given(TOPOLOGIES)
def test_the_cycle_named_is_one_and_the_shortest(topology: Topology) -> None:
    cycle = shortest_cycle(topology)
    assert bool(cycle) == (not is_forest(topology))
    if not cycle:
        return
    assert len(set(zip(cycle, [True, False] * len(cycle), strict=False))) == len(cycle)
    for at in range(0, len(cycle), 2):
        domain = topology.domains[cycle[at + 1]]
        assert cycle[at] in domain
        assert cycle[(at + 2) % len(cycle)] in domain
    assert len(cycle) == 2 * girth(topology)


def girth(topology: Topology) -> int:
    """The least number of domains that form a cycle with as many servers, by trying all."""
    for count in range(2, len(topology.domains) + 1):
        for chosen in combinations(topology.domains, count):
            if not is_forest(Topology(topology.servers, {name: topology.domains[name] for name in chosen})):
                return count
    raise AssertionError("no cycle")


@given(TOPOLOGIES)
def test_the_repair_is_the_smallest_and_cuts_nobody_off(topology: Topology) -> None:
    """One membership less would leave a cycle; whoever could reach one another still can."""
    repair = smallest_repair(topology)
    edges = edges_of(topology)
    left = [edge for edge in edges if edge not in repair.removals]
    assert acyclic(left)
    vertices = {end for edge in edges for end in edge}
    assert len(repair.removals) == len(edges) - len(vertices) + trees(edges)
    repaired = Topology(
        topology.servers,
        {
            name: tuple(s for s in members if (s, name) not in repair.removals)
            for name, members in topology.domains.items()
        },
    )
    assert sorted(parts(repaired)) == sorted(parts(topology))
    for _, domain in repair.removals:
        assert domain in repair.message


def test_figure_2_as_corrected_and_as_printed() -> None:
    """S1-11: with C = {S6, S7, S8} all is well; as printed S7 and S8 cannot be reached, which is a warning with its line."""
    assert not examine(write_domains(FIGURE_2))
    printed = Topology(FIGURE_2.servers, {**FIGURE_2.domains, "C": ("S7", "S8")})
    findings = examine_domains(Source("d.toml", write_domains(printed).encode()))
    assert findings.domains is not None
    assert findings.warnings == (
        "d.toml:8: S7, S8 cannot be reached from S1: no chain of domains joins them",
    )


def test_a_daisy_is_no_cycle() -> None:
    """S1-10a: many domains that share one server."""
    assert is_forest(of("ab", "ac", "ad", "aef"))


REPAIR = "; the smallest repair of the file: "
HEAD = '[servers]\np = "h:1"\nq = "h:2"\nr = "h:3"\ns = "h:4"\n[domains]\n'  # domains begin in line 7


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        (
            'A = ["p", "q", "r"]\nB = ["p", "q", "s"]',
            ["d.toml:8: domains A and B share 2 servers, p, q, where one is the most: p -(A)- q -(B)- p is a cycle"
             + REPAIR + "take q out of domain B"],
        ),
        (
            'A = ["p", "q", "r"]\nB = ["q", "r"]',
            ["d.toml:8: domain B is nested in domain A: q, r are in both; the smallest repair of the file: remove domain B"],
        ),
        (
            'A = ["p", "q"]\nB = ["q", "p"]',
            ["d.toml:8: domain B has the same servers as domain A: p, q; the smallest repair of the file: remove domain B"],
        ),
        (
            'A = ["p", "q"]\nB = ["q", "r"]\nC = ["r", "s"]\nD = ["s", "p"]',
            ["d.toml:7: the domains form a cycle: q -(B)- r -(C)- s -(D)- p -(A)- q" + REPAIR + "remove domain D"],
        ),
        ('A = ["p", "x"]', ["d.toml:7: domain A has the server x, which is not in [servers]"]),
        ('A = [\n"p",\n"q",\n"p"]', ["d.toml:10: domain A has server p twice"]),
        ('A = ["p"]\nA = ["q"]', ['d.toml:8: this name is already taken above: A = ["q"]']),
        ('A = "p"', ['d.toml:7: domain A must be a list of servers, like ["S1", "S2"]']),
        ('"A B" = ["p"]', ["d.toml:7: 'A B' cannot be the name of a domain: letters, digits, '_', '.' and '-' only"]),
        ('A = ["p", "q"]\n[domain]', ["d.toml:8: there is no table [domain]; there are servers, domains, certificates, release, agents"]),  # noqa: E501
        ('A = ["p", "q"\n', ["d.toml:8: unclosed array"]),
        ('A = ["p", "x"]\nB = ["y", "q"]', [
            "d.toml:7: domain A has the server x, which is not in [servers]",
            "d.toml:8: domain B has the server y, which is not in [servers]",
        ]),
    ],
)  # fmt: skip
def test_each_mistake_has_its_own_words_and_line(domains: str, said: list[str]) -> None:
    assert examine(HEAD + domains) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["d.toml: there is no table [servers]", "d.toml: there is no table [domains]"]),
        (
            "[servers]\n[domains]",
            ['d.toml:1: there is no server in [servers]; write, say, S1 = "127.0.0.1:9001"'],
        ),
        ("servers = 1\n[domains]", ["d.toml:1: servers must be a table, [servers]"]),
        (
            '[servers]\nS1 = "h"\n[domains]',
            ["d.toml:2: the address of server S1 must be like \"127.0.0.1:9001\", not 'h'"],
        ),
        (
            "[servers]\nS1 = 5\n[domains]",
            ['d.toml:2: the address of server S1 must be like "127.0.0.1:9001", not 5'],
        ),
        (
            '[servers]\nS1 = "h:1"\nS2 = "h:65536"\n[domains]',
            ["d.toml:3: the address of server S2 must be like \"127.0.0.1:9001\", not 'h:65536'"],
        ),
        (
            '[servers]\na = "h:1"\nb = "h:1"\n[domains]',
            ["d.toml:3: server b has the address of server a, h:1"],
        ),
        (
            '[servers]\nalpha = "[::1]:1"\n[domains]\nA = ["alpa"]',
            ["d.toml:4: domain A has the server alpa, which is not in [servers]; did you mean alpha?"],
        ),
        ("[servers\n", ["d.toml:1: expected ']' at the end of a table declaration"]),
    ],
)
def test_servers_are_checked_too(text: str, said: list[str]) -> None:
    assert examine(text) == said


def test_what_is_odd_but_harmless_is_a_warning() -> None:
    findings = examine_domains(Source("d.toml", (HEAD + 'A = ["p", "q"]\nB = ["p"]\nC = []').encode()))
    assert findings.domains is not None
    assert list(findings.warnings) == [
        "d.toml:8: domain B has one server and carries nothing",
        "d.toml:9: domain C has no server and carries nothing",
        "d.toml:4: server r is in no domain and cannot be reached",
        "d.toml:5: server s is in no domain and cannot be reached",
    ]


def test_bytes_that_are_no_text() -> None:
    (error,) = examine_domains(Source("d.toml", b"[servers]\n\xff")).errors
    assert str(error) == "d.toml:2: this is not UTF-8 text"
    with pytest.raises(DomainsError, match="not UTF-8"):
        parse_domains(Source("d.toml", b"\xff"))


# Certificates and release rules

DOMAINS = HEAD + 'A = ["p", "q"]\nB = ["q", "r"]\nC = ["r", "s"]\n'  # more begins in line 10
KEEP = 'keep = ["HLAobjectRoot.A"]'
CERTIFICATES = '[certificates]\nca = "ca.pem"\n[certificates.servers]\n' + "".join(
    f'{name} = {{ cert = "{name}.pem", key = "{name}.key" }}\n' for name in "pqrs"
)


def test_certificates_and_releases_are_read() -> None:
    text = (
        DOMAINS + CERTIFICATES + '[[release]]\nfrom = "A"\nto = "B"\nkeep = ["HLAobjectRoot.Car.Secret"]\n'
        '[[release]]\nlink = ["r", "q"]\nkeep = ["HLAinteractionRoot.Fire", "HLAobjectRoot.Tank"]\n'
    )
    domains = parse_domains(Source("d.toml", text.encode()))
    assert domains.ca == "ca.pem"
    assert domains.certificates["r"].key == "r.key"
    assert domains.addresses["s"] == "h:4"
    car, fire = (
        frozenset(["HLAobjectRoot.Car.Secret"]),
        frozenset(["HLAinteractionRoot.Fire", "HLAobjectRoot.Tank"]),
    )
    assert domains.releases == (
        ReleaseRule(car, from_domain="A", to_domain="B"),
        ReleaseRule(fire, from_server="r", to_server="q"),
    )
    rules = domains.releases
    assert kept_names(rules, "A", "q", "B", "r") == car
    assert kept_names(rules, "", "q", "B", "r") == car  # the router's own
    assert kept_names(rules, "B", "q", "A", "p") == frozenset()
    assert kept_names(rules, "C", "r", "B", "q") == fire
    assert kept_back(car, "HLAobjectRoot.Car.Sports", "Secret")  # inherited
    assert not kept_back(car, "HLAobjectRoot.Car", "Colour")
    assert not kept_back(car, "HLAobjectRoot.Car")
    assert kept_back(fire, "HLAobjectRoot.Tank.Heavy", "Position")
    assert not kept_back(fire, "HLAobjectRoot")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[certificates]\nca = "c"', [
            "d.toml:10: there is no table [certificates.servers]",
            *(f"d.toml:10: server {name} has no certificate; with [certificates] every server needs one" for name in "pqrs"),
        ]),
        (CERTIFICATES.replace('"ca.pem"', "3"), ["d.toml:11: ca must name the file of the authority all servers trust"]),
        (CERTIFICATES.replace('key = "q.key"', "k = 1"), [
            "d.toml:14: there is no key 'k' here; there are cert, key",
            "d.toml:14: key must name the file with the private key of q",
        ]),
        (CERTIFICATES + 'x = { cert = "x", key = "x" }', ["d.toml:17: a certificate for x, which is not in [servers]"]),
        ('[release]\nfrom = "A"', [
            "d.toml:10: release rules are written as [[release]], each with its own from, to and keep",
        ]),
        (f"[[release]]\n{KEEP}", [
            "d.toml:10: a release rule has either from and to (domains), or link (two servers)",
        ]),
        (f'[[release]]\nfrom = "A"\nto = "X"\n{KEEP}', ["d.toml:12: there is no domain 'X'"]),
        (f'[[release]]\nfrom = "A"\nto = "C"\n{KEEP}', [
            "d.toml:10: domains A and C have no boundary: no server is in both",
        ]),
        (f'[[release]]\nlink = ["p", "r"]\n{KEEP}', [
            "d.toml:11: there is no link between p and r: no domain has both",
        ]),
        (f'[[release]]\nlink = ["p"]\n{KEEP}', ['d.toml:11: link must be two servers, like ["S1", "S2"]']),
        ('[[release]]\nfrom = "A"\nto = "B"', [
            'd.toml:10: keep must be a list of names, like ["HLAobjectRoot.Vehicle.Position"]',
        ]),
        (f'[[release]]\nfrom = "A"\nto = "B"\n{KEEP}\n[[release]]\nfrom = "B"\nto = "A"\nkeep = [\n"HLAobjectRoot.A",\n"Car"]', [
            "d.toml:19: 'Car' must be a qualified name, from HLAobjectRoot or HLAinteractionRoot down",
        ]),
    ],
)  # fmt: skip
def test_mistakes_in_certificates_and_releases(more: str, said: list[str]) -> None:
    assert examine(DOMAINS + more) == said


# Lines

TOML = """\
# [not.a.table]
top = 1
[a]
"b c" = [ # comment ]
  1,
  { x = 1, y = [
    2] },
]
d.e = '''
[no] = x
\\''''
[[t]]
k = "\\"] # [x"
[[t]]
k = 'a'
[t.u]
v = 1979-05-27 07:32:00
[[t.w]]
z = {}
"""


def test_the_lines_of_a_document() -> None:
    assert places(TOML) == {
        ("top",): 2, ("a",): 3, ("a", "b c"): 4, ("a", "b c", 0): 5, ("a", "b c", 1): 6, ("a", "b c", 1, "x"): 6,
        ("a", "b c", 1, "y"): 6, ("a", "b c", 1, "y", 0): 7, ("a", "d"): 9, ("a", "d", "e"): 9, ("t",): 12, ("t", 0): 12,
        ("t", 0, "k"): 13, ("t", 1): 14, ("t", 1, "k"): 15, ("t", 1, "u"): 16, ("t", 1, "u", "v"): 17, ("t", 1, "w"): 18,
        ("t", 1, "w", 0): 18, ("t", 1, "w", 0, "z"): 19,
    }  # fmt: skip


TOKENS = [
    "a", "b", '"c d"', "'e'", ".", "=", " = ", "[", "[[", "]", "]]", "{", "}", ",", "\n",
    "1", '"x\\"y"', "\'\'\'q\n\'\'\'", "# c [\n",
    "[a]\n", "[[b]]\n", "[b.c]\n", "a = 1\n", "[a.b]\n", "[[a.b]]\n", "x.y = {z = [1,\n2]}\n", '"""z\\"""""',
]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=9).map("".join))
def test_places_are_those_of_the_parsed_document(text: str) -> None:
    """Whatever tomllib accepts: a line for each key and element, and for nothing else."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(places(text)) == set(_paths(document))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in [(*path, key), *_paths(item, (*path, key))]]


def test_every_ready_made_topology_is_a_forest_and_every_ring_is_not() -> None:
    for count in (*range(1, 14), 37):
        for topology in ("flat", "bus", "daisy", "tree"):
            for size in (None, *range(3, 7)):
                if topology != "flat" or size is None:
                    made = plan(count, topology, size)
                    assert is_forest(made), (count, topology, size)
                    assert len(parts(made)) == 1
                    assert not examine(write_domains(made))
    assert is_forest(CHAIN)
    assert not any(map(is_forest, CYCLIC.values()))
