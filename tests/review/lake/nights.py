"""Folders of small runs, some of which have a fault, for reviews of many."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from review.simulation import START, Simulation, number, plant, write
from support.manifests import list_anew

DAY = 86_400_000_000_000
FAULTY = {1: "late", 2: "deadline", 3: "loss"}
"""By number of the run what is wrong in it."""
AUDITS = {1: "causal", 2: "deadlines", 3: "delivery"}


def night(top: Path, count: int = 4, steps: int = 60, manifests: bool = True) -> list[Path]:
    """Runs of two federations, on several days; every other one has a manifest."""
    made = []
    for place in range(count):
        rows = Simulation(place, steps).rows
        if place in FAULTY:
            assert plant(rows, FAULTY[place], random.Random(place)) is not None
        federation = ("Range", "Harbour / west")[place % 2]
        folder = top / ("Range", "Harbour-west")[place % 2] / f"20010909T0146{place:02d}Z-{place:010d}"
        run = write(folder, number(rows))
        if manifests and place % 2:
            list_anew(run)
        describe(run, federation=federation, start_ns=START + place % 3 * DAY, id=f"{place:010d}")
        made.append(run)
    return made


def describe(run: Path, **told: Any) -> None:
    """Changes what `run.json` says."""
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | told))


def reviewing(top: Path, *more: str) -> subprocess.Popen[bytes]:
    """`weft review TOP --json` as a process of its own."""
    command = [sys.executable, "-m", "weft", "review", str(top), "--json", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
