"""A follower killed at random moments (issue 21, "Nothing lost"): the same command goes on, and ends as if undisturbed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from review.lake.nights import describe
from review.live.growing import Growing
from review.live.test_follow_many import rows_of
from review.live.test_live import expected, is_known, told
from weft.host.storage import Place, place_of
from weft.review.lake.store import ParquetLake
from weft.review.many.finding import look
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import review_many

PATIENCE = 600.0
RUNS = ("one", "two", "three")
OWN = ("version", "reviewed_ns", "review_seconds", "seconds")
"""What differs from review to review."""


class Follower:
    """The command, begun again and again; what it has printed."""

    def __init__(self, top: Path, kept: Path) -> None:
        self._command = [sys.executable, "-m", "weft", "review", str(top), "--follow", "--json"]
        self._command += ["--checkpoint", str(kept), "--master", "local[1]", "--witnesses", "1000"]
        self._out = kept.with_suffix(".out")

    def start(self) -> subprocess.Popen[bytes]:
        with open(self._out, "ab") as out:
            return subprocess.Popen(self._command, stdout=out, stderr=subprocess.DEVNULL)

    def found(self) -> Counter[tuple[Any, ...]]:
        """What it has told; a line may have been cut off."""
        made: Counter[tuple[Any, ...]] = Counter()
        for line in self._out.read_bytes().split(b"\n"):
            try:
                one = json.loads(line)
            except ValueError:
                continue
            if "audit" in one and is_known(one):
                made[place_of(one["run"]).name, *told(one)] += 1
        return made


def reviewed(lake: Place) -> dict[str, str]:
    """By run, its status."""
    if not (lake / "run").is_folder():
        return {}
    return {row["run"]: row["status"] for row in ParquetLake(lake).snapshot().runs.to_pylist()}


def tables(lake: Place) -> dict[str, list[str]]:
    snapshot = ParquetLake(lake).snapshot()
    return {
        name: sorted(map(_plain, snapshot.read(name).to_pylist()))
        for name in ("run", "audit", "violation", "latency")
    }


def _plain(row: dict[str, object]) -> str:
    return json.dumps({name: value for name, value in row.items() if name not in OWN}, sort_keys=True)


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_moments(seed: int, tmp_path: Path) -> None:
    """Findings and tables at the end are those of a follower that nobody killed; nothing is told of that is not so."""
    dice = random.Random(seed)
    rows = {name: rows_of(seed * 10 + place, steps=800) for place, name in enumerate(RUNS)}
    top = tmp_path / "runs" / "small"
    growing = {name: Growing(top / name, of, seed, closed=False) for name, of in rows.items()}
    for name, one in growing.items():
        describe(one.run, id=name)
    follower, lake = Follower(tmp_path / "runs", tmp_path / "kept"), place_of(tmp_path / "runs" / "lake")
    _kill_and_grow(follower, list(growing.values()), dice)
    process = follower.start()
    _until(lambda: set(reviewed(lake).values()) == {"violated"} and len(reviewed(lake)) == len(RUNS), process)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 1

    assert set(follower.found()) == {(name, *one) for name, of in rows.items() for one in expected(of)}
    undisturbed = ParquetLake(place_of(tmp_path / "lake"))
    review_many(
        [look(place_of(one.run)) for one in growing.values()], undisturbed, ReviewOptions(witnesses=1000)
    )
    assert tables(lake) == tables(undisturbed.place)


def _kill_and_grow(follower: Follower, growing: Iterable[Growing], dice: random.Random) -> None:
    """Until all has been written."""
    left = True
    while left:
        process = follower.start()
        until = time.monotonic() + dice.uniform(5.0, 40.0)
        while time.monotonic() < until and process.poll() is None:
            left = bool(sum(one.grow() for one in growing))
            time.sleep(dice.uniform(0.5, 4.0))  # as recorders do: not to wait for something
        process.kill()
        assert process.wait() == -signal.SIGKILL


def _until(is_so: Any, process: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    while not is_so():
        assert process.poll() is None
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.5)
