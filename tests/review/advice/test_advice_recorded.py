"""Rows of the recorder itself: the entities of `weft bench ddm`, recorded once and predicted for all strategies (issue 8, 3)."""

from __future__ import annotations

from typing import Any

import pytest

from support.memory_recordings import MemoryRecordings
from support.random_recorded_rows import EMPTY, predicted
from weft.host.simulated.simulated import SimulatedNetwork
from weft.interest.ddm_settings import EXACT, GRID, SIMPLE, SPACE, DdmSettings
from weft.model.records import Source
from weft_benchmarks import entities

ENTITIES, STEPS = 28, 2


def test_the_benchmark_counts_what_was_predicted_from_a_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = MemoryRecordings(False)

    class Recorded(SimulatedNetwork):
        def __init__(self, nodes: Any, *others: Any) -> None:
            super().__init__(nodes, *others)
            for name in nodes:
                self.node(name).record(memory, 0.0)  # type: ignore[attr-defined, unused-ignore]

    with monkeypatch.context() as patched:
        patched.setattr(entities, "SimulatedNetwork", Recorded)
        entities.run_here(EXACT, 1, "moving", ENTITIES, STEPS)
    rows = [{**EMPTY, **row} for row in memory.take()]
    rows.sort(key=lambda row: (row["epoch_ns"], row["node"], row["seq"]))
    tried = [
        DdmSettings(strategy=EXACT),
        DdmSettings(strategy=SIMPLE),
        DdmSettings(strategy=SPACE),
        DdmSettings(strategy=GRID, partitions=4, max_channels=65_535),
        DdmSettings(strategy=GRID, partitions=64, max_channels=65_535),
    ]
    for setting, counts in zip(tried, predicted(rows, Source("plane.fed", entities.FED), tried), strict=True):
        found = counts.totals()
        run = entities.run_here(setting.strategy, setting.partitions, "moving", ENTITIES, STEPS)
        names = {"sent": "sent", "copies": "messages", "wanted": "wanted", "unwanted": "unwanted"}
        assert {name: found[name] for name in names} == {name: run[other] for name, other in names.items()}
