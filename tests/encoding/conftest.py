"""Object models for the encoder tests; those that are not part of the project are skipped where absent."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from weft.fom import ObjectModel, merge, parse_module
from weft.model.records import Source

FOMS = Path(__file__).parents[3] / "shared" / "foms"

LoadModel = Callable[..., ObjectModel]


@lru_cache
def _load(patterns: tuple[str, ...]) -> ObjectModel:
    files = sorted(path for pattern in patterns for path in FOMS.glob(pattern))
    if not files:
        pytest.skip(f"no object models {', '.join(patterns)} in ../shared/foms")
    return merge(parse_module(Source(path.name, path.read_bytes())) for path in files)


@pytest.fixture
def load_model() -> LoadModel:
    """Merge the files of the shared folder that match the patterns, or skip."""
    return lambda *patterns: _load(patterns)


@pytest.fixture
def rpr(load_model: LoadModel) -> ObjectModel:
    return load_model("rpr2/*.xml")
