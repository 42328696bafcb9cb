"""Cells of regions as of a time, as a federation's setting (S4-3, S4-17, S4-22): whatever they are, everybody hears the same."""

from __future__ import annotations

from random import Random

import pytest

from fabric.topologies import some
from kernel.ddm.test_regions_nodes import HERE, NAME, THERE, Side
from support.fabric_federations import BAD
from support.random_moving_regions import MovingRun, check
from support.small_fom import DIMENSION, LANES, fom
from weft import Source
from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork
from weft.interest.cell_settings import CellSettings
from weft.model.errors import RTIinternalError
from weft_benchmarks.papers import tanks
from weft_benchmarks.papers.tanks import Drive

pytestmark = pytest.mark.over_nodes

TWO = Topology(("S1", "S2"), {"A": ("S1", "S2")})
BOUNDS = f"(CellOptions (DimensionOptions ({DIMENSION} (CellBounds 2 3 11))))"


def rid(cells: str) -> Source:
    return Source("cells.rid", f"(RTI (DataDistribution (StrategyToUse Exact)\n{cells}))".encode())


def random_cells(random: Random) -> str:
    if random.random() < 0.4:
        return f"(CellOptions (NumCells {random.choice((1, 2, 5, LANES))}))"
    bounds = sorted(random.sample(range(1, LANES), random.randint(1, 6)))
    return f"(CellOptions (DimensionOptions ({DIMENSION} (CellBounds {' '.join(map(str, bounds))}))))"


@pytest.mark.parametrize("seed", range(20))
def test_random_federates_with_random_cells_hear_what_they_want(seed: int) -> None:
    """S4-22: against the definitions, which know nothing of cells."""
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0, rid=rid(random_cells(random)))
    places = [network.at(random.choice(topology.servers)) for _ in range(2 + seed % 4)]
    run = MovingRun(seed, list(places), fom(), seed % 2, network.settle, flushes=seed % 3 == 0)
    for _ in range(160):
        run.step()
        network.run_until(lambda: False, network.clock.now + random.choice((0.0, 0.001, 0.02, 0.1)))
    run.finish()
    check(run)


def test_the_same_run_with_other_cells_differs_only_in_its_counts() -> None:
    """S4-3, S4-22: down to every message between nodes."""
    kinds = ["(NumCells 1)", "(NumCells 16)", "(NumCells 900)", f"(DimensionOptions {tanks_bounds()})"]
    runs = [tanks.drive(Drive(tanks=6, end=14, cells=f"(CellOptions {kind})"), 3) for kind in kinds]
    assert len({run._replace(asked=0, lists=0, casts=0, group_copies=0) for run in runs}) == 1
    assert runs[0].lost == runs[0].wrong == 0
    assert runs[0].wanted > 5
    assert runs[0].asked > runs[1].asked > runs[2].asked >= runs[2].at_once
    assert runs[0].lists < runs[1].lists < runs[2].lists


def tanks_bounds() -> str:
    return "(X (CellBounds 10 50 51)) (Y (CellBounds 99))"


def starts(network: FabricNetwork, node: str) -> list[list[float]]:
    federation = network.node(node).federations[NAME]
    return [
        axis.starts for topic in federation.distribution.topics.values() for axis in topic.interest.grid.axes
    ]


def sides(network: FabricNetwork) -> tuple[Side, Side]:
    one, two = Side("one", network.at("S1")), Side("two", network.at("S2"))
    one.rti.create_federation_execution(NAME, [fom()], "HLAinteger64Time")
    for side in (one, two):
        side.join()
    network.settle()
    for side in (one, two):
        side.timed()
    network.settle()
    for side in (one, two):
        side.told()
    return one, two


def test_all_nodes_have_the_cells_that_the_federation_was_created_with() -> None:
    """S4-22: also one that has no RID file of its own."""
    network = FabricNetwork(TWO, 1, BAD, lost_seconds=0.5, rid=rid(BOUNDS))
    network.crash("S2")
    network.settle()
    network.rid = None
    network.restart("S2")
    network.settle()
    one, two = sides(network)
    for side in (one, two):
        side.send(5)
    network.settle()
    assert starts(network, "S1") == starts(network, "S2") == [[0, 2, 3, 11]]


def test_a_save_keeps_them_and_what_was_logged_in_them() -> None:
    """S4-22: after a restore a message of before still comes late, by the same cells."""
    network = FabricNetwork(TWO, 1, BAD, rid=rid(BOUNDS))
    made = one, two = sides(network)

    def all_of_them(call: str, *arguments: str) -> None:
        for side in made:
            getattr(side.rti, call)(*arguments)
        network.settle()
        for side in made:
            side.told()

    one.send(10)
    network.settle()
    one.rti.request_federation_save("noon")
    network.settle()
    for side in made:
        side.told()
    all_of_them("federate_save_begun")
    all_of_them("federate_save_complete")
    one.rti.request_federation_restore("noon")
    network.settle()
    for side in made:
        side.told()
    all_of_them("federate_restore_complete")
    assert starts(network, "S1") == [[0, 2, 3, 11]]
    assert network.node("S2").federations[NAME].channels.cells == CellSettings(
        64, {DIMENSION.lower(): (2, 3, 11)}
    )
    two.hear(9)
    for side in made:
        side.ask(20)
    network.settle()
    assert "one 10" in two.told()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            "(CellOptions (DimensionOptions (Height (NumCells 2))))",
            f"knows no dimension 'Height'; there are: {DIMENSION}",
        ),
        ("(CellOptions (NumCells none))", "NumCells must be a whole number from 1 to 65536, not 'none'"),
    ],
)
def test_what_does_not_fit_the_object_model_makes_creation_fail(cells: str, message: str) -> None:
    with pytest.raises(RTIinternalError, match=rf"cells\.rid:2: CellOptions {message}"):
        sides(FabricNetwork(TWO, 1, BAD, rid=rid(cells)))


def test_a_group_is_joined_at_once_and_left_when_the_past_is_over() -> None:
    """S4-17: of the lists that a kernel keeps; with the group of a cell everybody is reached who may want something there."""
    network = FabricNetwork(TWO, 1, BAD, rid=rid(f"(CellOptions (NumCells {LANES}))"))
    one, two = sides(network)
    one.send(5)
    (topic,) = network.node("S1").federations[NAME].distribution.topics.values()
    number = next(
        m.handle.number for m in network.node("S1").federations[NAME].members.values() if m.name == "two"
    )
    (here,) = topic.interest.grid.cells((((HERE[0], HERE[0] + 1),),)) - {-1}
    assert topic.interest.lists.group(here) == ()
    two.hear(10)
    network.settle()
    assert topic.interest.lists.group(here) == (number,)
    two.move(two.ear, THERE, 12)
    network.settle()
    assert topic.interest.lists.read(here, 12) == ()
    assert topic.interest.lists.group(here) == (number,)  # what is sent at 11 is still for it
    topic.interest.reclaim((12, 0))
    assert topic.interest.lists.group(here) == ()
