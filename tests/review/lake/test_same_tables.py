"""The same tables of the lake, wherever runs and lake lie and whoever does the work (issue 21, "Must show")."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from review.lake import gathered
from review.lake.results import current, rounded
from review.planted import DAMAGES, FILES
from support.object_store import ObjectStore, reachable_store, stored
from weft.host.storage import Place, place_of
from weft.review.lake.delta import lake_at
from weft.review.many import reviewing as many
from weft.review.many.finding import look, runs_below
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import review_many

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]
Tables = dict[str, list[dict[str, Any]]]
PROMISED = ReviewOptions(orders=("CO", "CT"))  # receive order promises nothing


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with reachable_store() as made:
        yield made


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return gathered.record(tmp_path_factory.mktemp("recorded"))


def tables(top: Place, lake: Place, session: Any = None) -> Tables:
    """What a review of all runs there writes; the place in texts is that of the runs."""
    kept = lake_at(lake, "parquet")
    review_many([look(run) for run in runs_below([top.address])], kept, PROMISED, session=session)
    return {
        name: sorted(({key: _told(value, top) for key, value in row.items()} for row in rows), key=repr)
        for name, rows in current(kept).items()
    }


def _told(value: Any, top: Place) -> Any:
    return unquote(value.replace(str(top), "TOP")) if isinstance(value, str) else value


def check(top: Path, store: ObjectStore, spark: Any, folder: Path) -> Tables:
    """From a folder and a store, here and in Spark's tasks, into a lake here and there."""
    here, there = place_of(top), place_of(store.address(f"lake/{folder.name}"))
    stored(top, there)
    wanted = tables(here, place_of(folder / "lake"))
    assert tables(there, there / "lake") == wanted
    assert tables(there, place_of(folder / "from-there"), spark) == wanted
    return wanted


@pytest.mark.soak
def test_a_few_of_every_kind(store: ObjectStore, spark: Any, lone: tuple[Path, Path], tmp_path: Path) -> None:
    """Runs of the proving ground are right; of each planted fault there is a violation; of damaged files there is word."""
    top = tmp_path / "runs"
    gathered.prove(top, range(1))
    gathered.plant(top, lone, DAMAGES[::20], FILES[::12])
    wanted = check(top, store, spark, tmp_path)
    status = {row["federation"]: row["status"] for row in wanted["run"]}
    assert {status.pop(fault.name.replace(" ", "-")) for fault in DAMAGES[::20]} == {"violated"}
    for bad in FILES[::12]:
        assert status.pop(bad.name.replace(" ", "-")) == bad.status
    assert len(status) >= 2
    assert set(status.values()) == {"ok"}


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_all_of_every_kind(store: ObjectStore, spark: Any, lone: tuple[Path, Path], tmp_path: Path) -> None:
    """More seeds, and every fault there is; also runs from here by Spark, into a lake there."""
    top = tmp_path / "runs"
    gathered.prove(top, range(1, 21), steps=120)
    gathered.plant(top, lone, DAMAGES, FILES)
    wanted = check(top, store, spark, tmp_path)
    assert {row["audit"] for row in wanted["violation"]} >= {"causal", "time", "interest", "delivery"}
    lake = place_of(store.address(f"lake/{tmp_path.name}")) / "by-spark"
    assert tables(place_of(top), lake, spark) == wanted


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_spread_over_spark(
    store: ObjectStore, spark: Any, lone: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a large run is, from a store: the same but for the last digit of sums, and why nothing had to be read."""
    top = tmp_path / "runs"
    gathered.prove(top, range(4))
    gathered.plant(top, lone, DAMAGES[5::4], FILES[5::4])
    there = place_of(store.address(f"lake/{tmp_path.name}"))
    stored(top, there)
    wanted = tables(place_of(top), place_of(tmp_path / "lake"))
    monkeypatch.setattr(many, "SMALL_RUN", 0)
    found = tables(there, there / "lake", spark)
    for name, rows in wanted.items():
        assert rounded(found[name]) == rounded(rows), name
