"""For all tests: Hypothesis measures the machine's load otherwise, which says nothing about Weft."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from weft.kernel.node import node

settings.register_profile(
    "weft", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("weft")

os.environ["WEFT_CONSOLE_ON"] = "0"  # servers of tests have no console unless the test is about it

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Started in the background by a shell; tests interrupt programs, which inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)

PLANTS = "plants"


@pytest.fixture(autouse=True, scope="session")
def _folder_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Saves and recordings go below the working directory unless a test says otherwise: each worker has one of its own."""
    os.chdir(tmp_path_factory.mktemp("work"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A fault can be planted only in modules that are not compiled: `make test` runs these in its pure part."""
    if node.__file__.endswith(".py"):
        return
    planting = [item for item in items if item.get_closest_marker(PLANTS) is not None]
    config.hook.pytest_deselected(items=planting)
    items[:] = [item for item in items if item.get_closest_marker(PLANTS) is None]
