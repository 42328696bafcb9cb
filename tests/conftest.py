"""For all tests: Hypothesis measures the machine's load otherwise, which says nothing about Weft.

The tests of services run four times: at one embedded node; with federates spread over three nodes of two domains, which are
simulated, or real ones inside the process of the tests; and with the causal middleware between the federates and the node.
In pure Python they run twice: what is compiled is the kernel, and the first two ways have all of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support import middleware, own, spread
from weft.kernel.node import node

settings.register_profile(
    "weft", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("weft")

os.environ["WEFT_CONSOLE_ON"] = "0"  # servers of tests have no console unless the test is about it

ONE_NODE = "one_node"
PLANTS = "plants"
# Of those, the other groups say little more about a node inside the process, which has the same kernel.
OWN_NODES = ("federation", "object", "ownership", "saving", "callbacks", "ddm", "sync", "urgency")
PURE = bool(os.environ.get("WEFT_PURE"))
BARE = "bare"
CAUSAL = "causal middleware"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A fault can be planted only in modules that are not compiled: `make test` runs these in its pure part."""
    if node.__file__.endswith(".py"):
        return
    planting = [item for item in items if item.get_closest_marker(PLANTS) is not None]
    config.hook.pytest_deselected(items=planting)
    items[:] = [item for item in items if item.get_closest_marker(PLANTS) is None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    services = metafunc.module.__name__.rpartition(".")[2].startswith("test_services_")
    if services and metafunc.definition.get_closest_marker(ONE_NODE) is None:
        # All the refusals take a minute when spread.
        marks = [pytest.mark.soak] if metafunc.module.__name__.endswith("refusals") else []
        three = pytest.param(spread.SIMULATED, marks=marks)
        few = metafunc.module.__name__.rpartition("_")[2] in OWN_NODES and not PURE
        inside = pytest.param(spread.OWN, marks=[] if few else [pytest.mark.soak])
        rarely = marks or ([pytest.mark.soak] if PURE else [])
        ways = ["embedded", three, inside]
        if metafunc.definition.get_closest_marker(BARE) is None:
            ways.append(pytest.param(CAUSAL, marks=rarely))
        metafunc.parametrize("spread_over", ways, indirect=True)


@pytest.fixture(autouse=True)
def spread_over(request: pytest.FixtureRequest) -> Iterator[None]:
    over = getattr(request, "param", "embedded")
    spread.over = "" if over in ("embedded", CAUSAL) else over
    middleware.in_place = over == CAUSAL
    try:
        with own.cleaned_up() if spread.over == spread.OWN else contextlib.nullcontext():
            yield
    finally:
        spread.over = ""
        middleware.in_place = False
