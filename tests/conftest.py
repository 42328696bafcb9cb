"""For all tests: Hypothesis measures the machine's load otherwise, which says nothing about Weft."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "weft", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("weft")
