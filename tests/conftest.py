"""For all tests: Hypothesis measures the machine's load otherwise, which says nothing about Weft.

The tests of services run three times: at one embedded node, with federates spread over three nodes of two domains, and with the
causal middleware between the federates and the embedded node.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support import middleware, spread

settings.register_profile(
    "weft", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("weft")

ONE_NODE = "one_node"
BARE = "bare"
CAUSAL = "causal middleware"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    services = metafunc.module.__name__.rpartition(".")[2].startswith("test_services_")
    if services and metafunc.definition.get_closest_marker(ONE_NODE) is None:
        # All the refusals take a minute when spread.
        marks = [pytest.mark.soak] if metafunc.module.__name__.endswith("refusals") else []
        three = pytest.param("three nodes of two domains", marks=marks)
        causal = pytest.param(CAUSAL, marks=[*marks, *_without_middleware(metafunc)])
        metafunc.parametrize("spread_over", ["embedded", three, causal], indirect=True)


def _without_middleware(metafunc: pytest.Metafunc) -> list[pytest.MarkDecorator]:
    """Tests that say why they are not about federates with the middleware."""
    bare = metafunc.definition.get_closest_marker(BARE)
    return [] if bare is None else [pytest.mark.skip(reason=bare.kwargs["reason"])]


@pytest.fixture(autouse=True)
def spread_over(request: pytest.FixtureRequest) -> Iterator[None]:
    chosen = getattr(request, "param", "embedded")
    spread.over_nodes = chosen not in ("embedded", CAUSAL)
    middleware.in_place = chosen == CAUSAL
    try:
        yield
    finally:
        spread.over_nodes = middleware.in_place = False
