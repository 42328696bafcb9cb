"""A review of rows, compared with brute force."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from review import oracle
from review.simulation import FAULTS, Row, Simulation, number, plant, write
from weft.review import Review, review
from weft.review.audits.context import Context
from weft.review.review import run_audits
from weft.review.spark.reading import open_for_review, read_rows

MANY = 100_000  # more witnesses than there are
KNOWN = ("decreasing", "past", "grant above LBTS")
"""Of logical time, what the oracle knows; `test_planted_faults.py` has all."""


def faulty_run(
    seed: int, steps: int = 400, nodes: int = 2, times: int = 2, commands: bool = False, **options: Any
) -> list[Row]:
    """A run with faults of every kind."""
    rows = Simulation(seed, steps=steps, nodes=nodes, **options).rows
    chance = random.Random(seed)
    for fault in FAULTS * times:
        plant(rows, fault, chance)
    return number(sorted(rows, key=lambda row: row["epoch_ns"]), commands)


def review_rows(folder: Path, rows: list[Row], session: Any, **node_info: Any) -> Review:
    return review(write(folder, rows, **node_info), witnesses=MANY, session=session, advice=False)


def reviewed_in_parts(run: Path, session: Any, rows_per_part: int) -> Review:
    """All audits, with small parts for tasks."""
    opened = open_for_review(run)
    context = Context(session, opened, read_rows(session, opened), MANY, rows_per_part=rows_per_part)
    return run_audits(context, lambda text: None)


def reviewed_here(run: Path, rows_per_part: int = 0) -> Review:
    """All audits, without Spark."""
    context = Context(None, open_for_review(run), None, MANY, rows_per_part=rows_per_part)
    return run_audits(context, lambda text: None)


def audit_run(run: Path, session: Any, *names: str) -> Review:
    """Some of the audits only."""
    opened = open_for_review(run)
    return run_audits(Context(session, opened, read_rows(session, opened)), lambda text: None, names)


def keys(found: Review, audit: str, *names: str) -> set[tuple[Any, ...]]:
    return {tuple(witness.get(name) for name in names) for witness in found.audits[audit].witnesses}


def check(found: Review, rows: list[Row]) -> dict[str, int]:
    """All that is wrong is found, and nothing else; how much of each."""
    message = ("source", "message", "federate")
    deliveries = keys(found, "delivery", "what", *message)
    assert deliveries == oracle.undelivered(rows)
    assert keys(found, "causal", "federate", "source", "message") == oracle.late(rows)
    in_time = keys(found, "time", "what", "federate", "node", "seq")
    assert {one for one in in_time if one[0] in KNOWN} == oracle.out_of_order(rows) | oracle.early_grants(
        rows
    )
    orders = {(row["source"], row["message"]): row["order"] for row in oracle.of_kind(rows, "send")}
    lost = {one for one in oracle.undelivered(rows) if one[0] == "lost" and orders[one[1:3]] == "TSO"}
    lost_in_time = {one for one in keys(found, "time", "what", *message) if one[0] == "lost"}
    assert lost_in_time == lost
    assert keys(found, "interest", "what", *message) == oracle.misdirected(rows)
    assert keys(found, "deadlines", "node", "name", "seq") == oracle.missed_deadlines(rows)
    for result in found.audits.values():
        assert result.violations == len(result.witnesses)
    return {name: result.violations for name, result in found.audits.items()}
