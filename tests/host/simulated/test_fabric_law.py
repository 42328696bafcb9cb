"""Where federates sit does not matter, over domains of causality either: bus, daisy, tree, figure 2 (S1-11, S1-13)."""

from __future__ import annotations

from random import Random

import pytest

from host.simulated.test_fabric_storm import draw
from host.simulated.test_simulated_law import SEATS, transcript
from support.fabric_federations import TOPOLOGIES, check_causality, fabric
from support.federation_digest import check_agreement
from support.random_kernel_calls import script
from weft import EmbeddedNode


def check(name: str, seed: int, calls: int) -> None:
    random = Random(seed)
    topology = TOPOLOGIES[name]
    places = [random.choice(topology.servers) for _ in range(SEATS)]
    todo = script(draw(random, calls), SEATS, 3)
    network = fabric(topology, seed)
    near = transcript([EmbeddedNode()] * SEATS, todo, lambda: None)
    far = transcript([network.at(place) for place in places], todo, network.settle)
    for expected, found in zip(near, far, strict=True):
        assert found == expected
    check_agreement(network, *topology.servers)
    assert not check_causality(network).faults


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_where_federates_sit_does_not_matter_over_domains(name: str, seed: int) -> None:
    """Same callbacks, same exceptions, same handles at one node and over domains, though links lose, repeat and reorder."""
    check(name, seed, 40)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_where_federates_sit_does_not_matter_over_domains_for_long(name: str) -> None:
    """As above, for longer."""
    for seed in range(100, 200):
        check(name, seed, 80)
