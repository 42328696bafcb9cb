"""Several runs followed at once, wherever they lie, and what the lake has of them meanwhile (issue 21, item 7)."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from review.checks import faulty_run
from review.lake.nights import describe
from review.live.growing import Growing
from review.live.test_history import fresh, lines_of
from review.live.test_live import expected, is_known, told, with_ends
from review.simulation import Row, number
from support.manifests import list_anew
from support.object_store import ObjectStore, reachable_store
from weft.host.recording.files import write_idle
from weft.host.recording.upload import Uploads
from weft.host.storage import place_of
from weft.review import ReviewError
from weft.review.compare.figures import runs_of
from weft.review.follow import follow_all
from weft.review.follow.query import Checkpoint, RunStanding
from weft.review.kernels.records import Violation
from weft.review.lake.schema import FOLLOWING
from weft.review.lake.store import ParquetLake
from weft.review.live.history import LiveRun
from weft.review.many.finding import look
from weft.review.many.followed import FollowedTables
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import review_many
from weft.review.spark.manifest_stream import Runs

ORDERS = ("RO", "CO", "CT")
ALL = ReviewOptions(witnesses=1000)
PATIENCE = 300.0

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with reachable_store() as made:
        yield made


class Killed(Exception):
    """As if the process was: nothing is done any more."""


class Heard:
    """What a follower has told, by the name of the run."""

    def __init__(self) -> None:
        self.found: dict[str, list[Violation]] = {}
        self.ended: list[str] = []

    def tell(self, run: str, findings: list[Violation]) -> None:
        self.found.setdefault(place_of(run).name, []).extend(findings)

    def counts(self, run: str) -> Counter[tuple[Any, ...]]:
        return Counter(told(finding) for finding in self.found.get(run, []) if is_known(finding))


def rows_of(seed: int, steps: int = 60) -> list[Row]:
    return number(with_ends(faulty_run(seed=seed, steps=steps, times=1)))


def until(
    what: Callable[[Mapping[str, RunStanding]], bool], step: Callable[[], object]
) -> Callable[..., None]:
    """For `note`: a step whenever rows were judged, and now and then, until something is so, or for too long."""
    began = time.monotonic()
    calls, rows = [0], [-1]

    def note(standings: Mapping[str, RunStanding]) -> None:
        if what(standings):
            raise KeyboardInterrupt
        assert time.monotonic() - began < PATIENCE, standings
        judged = sum(one.told.rows for one in standings.values())
        calls[0] += 1
        if judged != rows[0] or calls[0] % 8 == 0:
            rows[0] = judged
            step()

    return note


def findings_in(lake: ParquetLake, run: str) -> tuple[dict[str, object], list[dict[str, object]]]:
    """As a reader sees them: the row of the run, and its violations."""
    snapshot = lake.snapshot()
    (row,) = [one for one in snapshot.runs.to_pylist() if one["run"] == run]
    rows = [one for one in snapshot.read("violation").to_pylist() if one["run"] == run]
    assert {one["version"] for one in rows} <= {row["version"]}
    return row, rows


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
def test_in_a_store_and_killed_at_any_place(spark: Any, store: ObjectStore, tmp_path: Path) -> None:
    """Two runs come to a store by the recorder's uploader, files and then manifests, one later than the other; whoever follows
    dies before it has told what a batch found, and goes on by its checkpoint: what is told, and the lake's tables, are those of
    one who was not disturbed."""
    rows = {"first": rows_of(7, 300), "later": rows_of(8, 300)}
    spool = tmp_path / "spool" / "small"
    growing = {name: Growing(spool / name, of, closed=False) for name, of in rows.items()}
    for name, one in growing.items():
        describe(one.run, id=name)
    top = place_of(store.address("lake/followed"))
    shown = [growing["first"]]
    uploads = Uploads(lambda: [one.run for one in shown], top / "runs", keep=True)
    heard, steps, deaths = Heard(), [0], [3, 7]
    tables: dict[str, FollowedTables] = {}
    seen: set[str] = set()

    def step() -> None:
        steps[0] += 1
        if steps[0] == 4:
            shown.append(growing["later"])
        for one in shown:
            one.grow()
        uploads.turn(everything=True)

    def tell(run: str, findings: list[Violation]) -> None:
        if deaths and steps[0] >= deaths[0]:
            del deaths[0]
            raise Killed
        heard.tell(run, findings)

    lake = ParquetLake(top / "lake")

    def note(standings: Mapping[str, RunStanding]) -> None:
        tables["now"].note(standings)
        if standings and steps[0] % 3 == 0:
            seen.update(row["status"] for row in lake.snapshot().runs.to_pylist())
        go_on(standings)

    go_on = until(
        lambda standings: len(standings) == 2 and all(one.told.over for one in standings.values()), step
    )

    def follow_on() -> Mapping[str, RunStanding]:
        tables["now"] = FollowedTables(lambda run: lake, ALL)
        kept = tmp_path / "kept"
        return follow_all(
            [top / "runs"], tell=tell, session=spark, checkpoint=kept, note=note, witnesses=1000
        )

    for _ in range(2):
        with pytest.raises(Killed):
            follow_on()
    standings = follow_on()
    assert seen == {FOLLOWING}
    for name, of in rows.items():
        assert set(heard.counts(name)) == expected(of)
        assert set(heard.counts(name).values()) == {1}
    for run, standing in standings.items():
        review_many([look(place_of(run))], lake, ALL)
        row, found = findings_in(lake, place_of(run).name)
        assert row["status"] == "violated"
        assert Counter(one["audit"] for one in found) == standing.told.violations


@pytest.mark.xdist_group("spark")
def test_one_crashed_one_silent_and_one_that_begins_later(spark: Any, tmp_path: Path) -> None:
    """The run with a node that crashed is over when the other has ended, and its node is named; the one in which nothing
    happens is not, since its nodes say so; and the one that begins meanwhile is found."""
    top, aside = tmp_path / "runs" / "small", tmp_path / "aside"
    rows = rows_of(11)
    crashed = [row for row in rows if (row["node"], row["kind"]) != ("node 1", "stop")]
    silent = [row for row in rows if row["kind"] != "stop"]
    for name, of in {"crashed": crashed, "silent": silent}.items():
        while (one := Growing(aside / name, of, closed=False)).grow():
            pass
        list_anew(one.run, closed=False)
        top.mkdir(parents=True, exist_ok=True)
        one.run.rename(top / name)
    list_anew(Growing(aside / "later", rows_of(12)).run, closed=False)
    heard = Heard()

    def step() -> None:
        for node in ("node 0", "node 1"):
            write_idle(top / "silent", node, time.time_ns())
        if "crashed" in heard.ended and not (top / "later").exists():
            (aside / "later").rename(top / "later")

    ended = until(lambda standings: len(heard.ended) == 2, step)
    standings = follow_all(
        [tmp_path / "runs"], tell=heard.tell, ended=lambda run: heard.ended.append(place_of(run).name),
        session=spark, note=ended,
    )  # fmt: skip
    by_name = {place_of(run).name: one.told for run, one in standings.items()}
    assert heard.ended == ["crashed", "later"]
    assert by_name["crashed"].silent == ["node 1"]
    assert not by_name["silent"].over
    assert not by_name["silent"].silent
    assert set(heard.counts("later")) == expected(rows_of(12))
    assert set(heard.counts("crashed")) <= expected(crashed)


# The lake, without Spark


def standing_after(run: Path, folder: Path, share: float) -> RunStanding:
    """With so many of its lines read, those of its nodes in turn."""
    live = LiveRun(fresh(run), place_of(folder), {})
    every = [line for lines in zip_longest(*lines_of(run).values()) for line in lines if line is not None]
    live.go_on(every[: int(share * len(every))], 0)
    return RunStanding(live.told())


def test_what_was_found_so_far_is_in_the_lake_until_the_review_replaces_it(tmp_path: Path) -> None:
    """Readers see one standing, the next, or the review: rows of one version.  What is new waits its time; nothing is compared
    with a run that is being followed."""
    run = list_anew(Growing(tmp_path / "runs" / "small" / "run", rows_of(7, 300)).run)
    lake = ParquetLake(place_of(tmp_path / "runs" / "lake"))
    clock = [0.0]
    tables = FollowedTables(lambda _: lake, ALL, lambda: clock[0])
    some, more = standing_after(run, tmp_path, 0.5), standing_after(run, tmp_path, 0.75)
    assert not more.told.over
    assert 0 < sum(some.told.violations.values()) < sum(more.told.violations.values())

    tables.note({str(run): some})
    row, found = findings_in(lake, "run")
    assert (row["status"], row["violations"]) == (FOLLOWING, sum(some.told.violations.values()))
    assert row["nodes"] == ["node 0", "node 1"]
    assert Counter(one["audit"] for one in found) == some.told.violations
    clock[0] = 1.0
    tables.note({str(run): more})
    assert findings_in(lake, "run")[0] == row, "it waits"
    clock[0] = 6.0
    tables.note({str(run): more})
    row, found = findings_in(lake, "run")
    assert Counter(one["audit"] for one in found) == more.told.violations
    assert [one.status for one in runs_of(lake.snapshot())] == [FOLLOWING]

    review_many([look(place_of(run))], lake, ALL)
    row, found = findings_in(lake, "run")
    assert row["status"] == "violated"
    assert len(found) == row["violations"]
    tables.note({str(run): RunStanding(more.told._replace(over=True))})
    assert findings_in(lake, "run")[0] == row, "its review stays"


def test_who_goes_on_by_a_checkpoint_asks_the_same(tmp_path: Path) -> None:

    places = [place_of(tmp_path / "runs")]
    began = Checkpoint(tmp_path / "kept", places, ORDERS).began_ns()
    assert Checkpoint(tmp_path / "kept", places, ORDERS).began_ns() == began
    with pytest.raises(ReviewError, match=r"another following \(orders RO, CO, CT, and not CO\)"):
        Checkpoint(tmp_path / "kept", places, ("CO",)).began_ns()
    (tmp_path / "kept" / "began.json").write_text("{")
    with pytest.raises(ReviewError, match="remove this one, to begin anew"):
        Checkpoint(tmp_path / "kept", places, ORDERS).began_ns()


def test_runs_without_manifests_are_refused_with_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name, before Spark starts; of a folder they are named, and the others are followed."""
    from weft.cli import main
    from weft.review.follow.command import _PassedOver

    run = Growing(tmp_path / "small" / "run", rows_of(7)).run
    shutil.rmtree(run / "manifest")
    assert main(["review", str(run), "--follow"]) == 2
    assert "has no manifests, so it cannot be followed" in capsys.readouterr().err
    said: list[str] = []
    passed = _PassedOver([place_of(tmp_path)], said.append)
    passed.look()
    passed.look()
    assert len(said) == 1
    assert str(run) in said[0]


@pytest.mark.parametrize("named", ["run", "folder"])
def test_what_manifests_grow_by_is_offered_at_once(tmp_path: Path, named: str) -> None:
    """Of a run that is named itself as of one in a folder, however seldom new runs are looked for."""
    growing = Growing(tmp_path / "small" / "run", rows_of(7))
    runs = Runs([place_of(growing.run if named == "run" else tmp_path)], 0, 1 << 20)
    offered: dict[str, dict[str, int]] = {}
    more = True
    while more:
        more = growing.grow()
        offered = runs.following(offered)
        (told,) = offered.values()
        assert told == {path.name: path.stat().st_size for path in (growing.run / "manifest").iterdir()}
