"""The lake's files (issue 21, item 5): what was reviewed last counts, all of it or nothing, whoever is killed."""

from __future__ import annotations

import itertools
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.lake import results as made_up
from review.lake.results import batch, current, figures, results, whole
from support import object_store
from weft.host.storage import Place, place_of
from weft.review.errors import ReviewError
from weft.review.lake import store
from weft.review.lake.delta import lake_at, open_lake
from weft.review.lake.schema import TABLES
from weft.review.lake.store import GRACE, ParquetLake
from weft.review.lake.versions import compacted, new_version, writer_of

FEDERATIONS = ("Range", "a/b", "100 % sea")
RUNS = [(federation, run) for federation in FEDERATIONS for run in ("one", "two")]
Key = tuple[str, str]


class Killed(BaseException):
    """As if the process had ended there."""


@pytest.fixture(params=["parquet", "delta", "s3"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """All kinds keep one contract."""
    if request.param != "s3":
        yield lake_at(place_of(tmp_path / "lake"), request.param)
        return
    with pytest.MonkeyPatch.context() as patch, object_store.object_store() as s3:
        for name, value in object_store.credentials().items():
            patch.setenv(name, value)
        yield lake_at(place_of(s3.address("lake/results")))


# The contract


def test_a_new_review_replaces_the_old_one_and_no_other(lake: Any) -> None:
    """The rows of a run are those of its last review, in every table, also if it found fewer; other runs keep theirs."""
    lake.write(batch(results("Range", "one", 1), results("Range", "two", 2), results("a/b", "one", 3)))
    lake.write(results("Range", "one", 4, rows=0))
    assert figures(lake) == {
        ("Range", "one"): {("run", 4, 1)},
        ("Range", "two"): whole(2),
        ("a/b", "one"): whole(3),
    }
    lake.compact()
    lake.write(results("Range", "one", 5))
    assert figures(lake)["Range", "one"] == whole(5)
    assert figures(lake)["a/b", "one"] == whole(3)


def test_in_any_order_and_batches_the_rows_are_the_same(tmp_path: Path) -> None:
    """Law: which runs are reviewed together, and in what order, makes no difference to the rows that count."""
    chance = random.Random(7)
    found = []
    for turn in range(3):
        reviews = [results(*key, number) for number, key in enumerate(RUNS)]
        chance.shuffle(reviews)
        made = lake_at(place_of(tmp_path / str(turn)), ("parquet", "delta")[turn == 2])
        while reviews:
            count = chance.randint(1, len(reviews))
            made.write(batch(*reviews[:count]))
            del reviews[:count]
        found.append(current(made))
    assert found[0] == found[1] == found[2]


def test_an_empty_lake(lake: Any) -> None:
    """Before anything was written there are tables without rows; and `open_lake` says that there is no lake, and what to do."""
    assert not any(current(lake).values())
    with pytest.raises(ReviewError, match=r"no lake of results.*weft review FOLDER"):
        open_lake(lake.place)
    lake.write(results("Range", "one", 1))
    assert figures(open_lake(lake.place)) == {("Range", "one"): whole(1)}


def test_a_lake_has_one_format(tmp_path: Path) -> None:
    """Who asks for another one is told."""
    for first, second in (("parquet", "delta"), ("delta", "parquet")):
        place = place_of(tmp_path / first)
        lake_at(place, first).write(results("Range", "one", 1))
        assert lake_at(place).format == first
        with pytest.raises(ReviewError, match="leave --format out, or name another lake"):
            lake_at(place, second)


def test_partitions_of_two_federations_never_mix(tmp_path: Path) -> None:
    """Every file lies in the folder of the federation and day that all its rows are of, whatever the names are."""
    names = ["a", "a/b", "a%2Fb", "..", "x" * 300, "x" * 300 + "y", "é", "date=2026-01-01"]
    made = ParquetLake(place_of(tmp_path))
    made.write(batch(*(results(name, "one", number) for number, name in enumerate(names))))
    made.compact()
    assert set(figures(made)) == {(name, "one") for name in names}
    for table in TABLES:
        for file in made.files(table):
            rows = made.dataset_of(table, [file]).to_table().to_pylist()
            assert {(row["federation"][:90], row["date"]) for row in rows} == {
                (file.federation[:90], file.date)
            }
            assert len({row["federation"] for row in rows}) == 1
            assert tmp_path in Path(str(file.place)).parents


# Killed, and read meanwhile

Acts = st.lists(
    st.tuples(
        st.sampled_from(["review", "review", "compact", "hours later"]),
        st.lists(st.sampled_from(RUNS), min_size=1, max_size=3, unique=True),
        st.one_of(st.none(), st.none(), st.integers(0, 40)),
    ),
    max_size=8,
)


FEW = {
    name: TABLES[name] for name in ("run", "violation", "data_quality")
}  # so that a reader may look at every moment


@settings(max_examples=30)
@given(acts=Acts)
def test_all_of_a_review_or_nothing(acts: list[tuple[str, list[Key], int | None]]) -> None:
    """Law: at any moment, and after any kill, a run has all rows of one review: the last that ended, or the one under way.

    A reader looks before every file is written or removed; the third of an act says after how many of these it is killed.
    """
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in (made_up, store):
            patch.setattr(module, "TABLES", FEW)
        _live(ParquetLake(place_of(folder), _Clock()), acts)


class _Clock:
    ahead = 0

    def __call__(self) -> int:
        return time.time_ns() + self.ahead


def _live(lake: ParquetLake, acts: list[tuple[str, list[Key], int | None]]) -> None:
    known: dict[Key, int] = {}
    for number, (act, runs, patience) in enumerate(acts, 1):
        if act == "hours later":
            assert isinstance(lake._clock, _Clock)
            lake._clock.ahead += int(2 * GRACE * 1e9)
            continue
        doing = dict.fromkeys(runs, number) if act == "review" else {}
        do = _review(lake, doing) if doing else lake.compact
        killed = _killed_after(patience, do, partial(_look, lake, known, doing))
        seen = _look(lake, known, doing)
        assert killed or all(seen[run] == number for run in doing)
        known = seen
    assert {run: whole(figure) for run, figure in known.items()} == figures(lake)


def _review(lake: ParquetLake, doing: dict[Key, int]) -> Callable[[], object]:
    return lambda: lake.write(batch(*(results(*run, figure) for run, figure in doing.items())))


def _look(lake: ParquetLake, known: dict[Key, int], doing: dict[Key, int]) -> dict[Key, int]:
    """What a reader sees of each run: one of the two reviews, and all of it."""
    seen = {}
    found = figures(lake)
    assert set(known) <= set(found) <= set(known) | set(doing)
    for run, told in found.items():
        fitting = [one for one in (known.get(run), doing.get(run)) if one is not None and told == whole(one)]
        assert fitting, (run, told)
        seen[run] = fitting[0]
    return seen


def _killed_after(patience: int | None, do: Callable[[], object], look: Callable[[], object]) -> bool:
    counted = 0
    write, remove = Place.write, Place.remove

    def before(act: Callable[..., None]) -> Callable[..., None]:
        def do_it(*given: object) -> None:
            nonlocal counted
            look()
            if counted == patience:
                raise Killed
            counted += 1
            act(*given)

        return do_it

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Place, "write", before(write))
        patch.setattr(Place, "remove", before(remove))
        try:
            do()
        except Killed:
            return True
    return False


def test_who_has_begun_to_read_loses_no_file(tmp_path: Path) -> None:
    """A snapshot can be read to its end though everything was replaced and compacted since, for the time of grace."""
    clock = _Clock()
    lake = ParquetLake(place_of(tmp_path), clock)
    lake.write(results("Range", "one", 1))
    lake.write(results("Range", "two", 1))
    before, kept = lake.snapshot(), current(lake)
    lake.write(results("Range", "one", 2))
    done = lake.compact()
    assert done.partitions == 1
    assert done.removed == 0
    assert done.waiting > 0
    rows = {name: sorted(before.read(name).to_pylist(), key=repr) for name in TABLES}
    assert [len(rows[name]) for name in TABLES] == [len(kept[name]) for name in TABLES]
    clock.ahead += int(1.01 * GRACE * 1e9)
    assert lake.compact().removed == done.waiting
    assert all(len(lake.files(name)) == 1 for name in TABLES)
    assert figures(lake) == {("Range", "one"): whole(2), ("Range", "two"): whole(1)}


def test_who_was_stopped_for_long_writes_once_more(tmp_path: Path) -> None:
    """What was written before may have been taken for left over; so all of it is written again, and the run counts whole."""
    clock = _Clock()
    lake = ParquetLake(place_of(tmp_path), clock)
    write = Place.write

    def stopped_once(place: Place, data: bytes) -> None:
        write(place, data)
        if not clock.ahead:
            clock.ahead += int(2 * GRACE * 1e9)
            lake.compact()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Place, "write", stopped_once)
        lake.write(results("Range", "one", 1))
    assert figures(lake) == {("Range", "one"): whole(1)}


# Versions


@given(st.lists(st.integers(10**18, 2 * 10**18), min_size=2, max_size=4))
def test_versions_sort_by_time(moments: list[int]) -> None:
    """A later version is greater; that of compacted rows lies between those of its review and of any later one."""
    moments = sorted({moment // 1000 for moment in moments})
    versions = [new_version(moment * 1000) for moment in moments]
    assert versions == sorted(versions)
    last = new_version(3 * 10**18)
    for one, following in itertools.pairwise(versions):
        twice = compacted(compacted(one, following), last)
        assert one < compacted(one, following) < twice < following
        assert writer_of(twice) == last
        assert writer_of(one) == one


def test_an_old_review_that_is_compacted_does_not_overrule_a_newer_one(tmp_path: Path) -> None:
    """Somebody compacts while a review, begun before, has not written its rows of `run` yet: he reads the rows of the old one."""
    lake = ParquetLake(place_of(tmp_path))
    lake.write(results("Range", "one", 1))
    lake.write(results("Range", "two", 1))
    write = Place.write
    to_do = [lake.compact]

    def meanwhile(place: Place, data: bytes) -> None:
        if to_do and "run" in place.below(lake.place).split("/"):
            assert to_do.pop()().partitions == 1
        write(place, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Place, "write", meanwhile)
        lake.write(results("Range", "one", 2))
    assert figures(lake) == {("Range", "one"): whole(2), ("Range", "two"): whole(1)}
