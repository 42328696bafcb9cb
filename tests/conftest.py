"""For all tests: Hypothesis measures the machine's load otherwise, which says nothing about Weft.

The tests of services run twice: at one embedded node, and with federates spread over three nodes of two domains.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support import spread

settings.register_profile(
    "weft", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("weft")

ONE_NODE = "one_node"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    services = metafunc.module.__name__.rpartition(".")[2].startswith("test_services_")
    if services and metafunc.definition.get_closest_marker(ONE_NODE) is None:
        # All the refusals take a minute when spread.
        marks = [pytest.mark.soak] if metafunc.module.__name__.endswith("refusals") else []
        three = pytest.param("three nodes of two domains", marks=marks)
        metafunc.parametrize("spread_over", ["embedded", three], indirect=True)


@pytest.fixture(autouse=True)
def spread_over(request: pytest.FixtureRequest) -> Iterator[None]:
    spread.over_nodes = getattr(request, "param", "embedded") != "embedded"
    try:
        yield
    finally:
        spread.over_nodes = False
