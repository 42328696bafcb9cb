"""Tests of services run once for each placement of their federates (`support.placement`): those that take it as a fixture.

Two marks leave some out: `one_node` all but the embedded node, `bare` the causal middleware.  In pure Python they run twice:
what is compiled is the kernel, and the first two placements have all of it.  What says little more is left to `make soak`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support.placement import (
    PLACEMENTS,
    AboveMiddleware,
    AboveTables,
    OverOwnNodes,
    OverSimulatedNodes,
    Placement,
)

# Of those, the other groups say little more about a node inside the process, which has the same kernel.
OWN_NODES = ("federation", "object", "ownership", "saving", "callbacks", "ddm", "sync", "urgency")
PURE = bool(os.environ.get("WEFT_PURE"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "placement" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker
        names = [Placement.name]
        if marked("one_node") is None:
            names += [OverSimulatedNodes.name, OverOwnNodes.name]
            names += [AboveMiddleware.name, AboveTables.name] if marked("bare") is None else []
        group = metafunc.module.__name__.rpartition("_")[2]
        rare = [pytest.param(name, marks=pytest.mark.soak if _is_rare(name, group) else ()) for name in names]
        metafunc.parametrize("placement", rare, indirect=True)


def _is_rare(placement: str, group: str) -> bool:
    if placement == Placement.name:
        return False
    if placement == AboveTables.name:
        return True
    if group == "refusals":
        # All of them take a minute when spread.
        return True
    if placement == OverOwnNodes.name:
        return PURE or group not in OWN_NODES
    return PURE and placement == AboveMiddleware.name


@pytest.fixture
def placement(request: pytest.FixtureRequest) -> Iterator[Placement]:
    """Where the test's federates are."""
    made = PLACEMENTS[request.param]()
    yield made
    made.close()
