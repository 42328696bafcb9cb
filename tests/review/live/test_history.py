"""A run that is judged by processes that die (issue 21, item 7): whoever goes on knows the same, and tells nothing twice."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from review.checks import faulty_run
from review.live.test_live import told, with_ends
from review.simulation import number, write
from support.manifests import list_anew
from weft.host.recording.files import write_idle
from weft.host.recording.manifest import FOLDER
from weft.host.storage import place_of
from weft.review.kernels.records import Violation
from weft.review.live import frontier, history
from weft.review.live.history import Knowing, LiveRun, ReadLine, RunHistory

ORDERS = ("RO", "CO", "CT")
SECOND = 1_000_000_000


def lines_of(run: Path) -> dict[str, list[ReadLine]]:
    found: dict[str, list[ReadLine]] = {}
    for path in sorted((run / FOLDER).iterdir()):
        end = 0
        for text in path.read_bytes().splitlines(keepends=True):
            end += len(text)
            found.setdefault(path.name, []).append(ReadLine(path.name, end, text.decode()))
    return found


def fresh(run: Path) -> RunHistory:
    return RunHistory(str(run), "time_int", ORDERS, 0)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = number(with_ends(faulty_run(seed=11, steps=120, times=1)))
    return list_anew(write(tmp_path_factory.mktemp("faulty") / "small" / "run", rows, rows_per_file=25))


def whole(run: Path, now: int, folder: Path) -> Counter[tuple[Any, ...]]:
    """What one process finds that is given everything, line by line."""
    known: dict[str, Knowing] = {}
    kept = fresh(run)
    found: list[Violation] = []
    for lines in _interleaved(lines_of(run), [0] * 1000):
        found += LiveRun(kept, place_of(folder), known).go_on(lines, now)
    return Counter(map(told, found))


def _interleaved(left: dict[str, list[ReadLine]], choices: list[int]) -> list[list[ReadLine]]:
    left = {name: list(lines) for name, lines in left.items()}
    batches = []
    for choice in [*choices, *[0] * 1000]:
        if not left:
            break
        name = sorted(left)[choice % len(left)]
        many = 1 + choice // 7 % 3
        batches.append(left[name][:many])
        left[name] = left[name][many:]
        if not left[name]:
            del left[name]
    return batches


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    choices=st.lists(st.integers(0, 40), max_size=40),
    deaths=st.sets(st.integers(0, 60), max_size=12),
    repeats=st.sets(st.integers(0, 60), max_size=6),
    snapshot_rows=st.sampled_from([30, 100, 1000, 10**9]),
)
def test_whoever_goes_on_knows_the_same(
    faulty: Path, tmp_path: Path, choices: list[int], deaths: set[int], repeats: set[int], snapshot_rows: int
) -> None:
    """Lines in any order of nodes, processes that die between batches, and batches that are done again because what came of them
    was not kept: in the end just that is told which a single process tells."""
    now = 10**18 * 2
    known: dict[str, Knowing] = {}
    kept = fresh(faulty)
    found: list[Violation] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "SNAPSHOT_ROWS", snapshot_rows)
        for place, lines in enumerate(_interleaved(lines_of(faulty), choices)):
            if place in deaths:
                known.clear()
            if place in repeats:
                LiveRun(copy.deepcopy(kept), place_of(tmp_path), known).go_on(lines, now + 1)
            found += LiveRun(kept, place_of(tmp_path), known).go_on(lines, now)
    assert LiveRun(kept, place_of(tmp_path), {}).told().over
    counts = Counter(map(told, found))
    assert counts == whole(faulty, now, tmp_path / "whole")
    assert counts


def test_a_node_that_says_that_nothing_happens_is_not_waited_for(faulty: Path, tmp_path: Path) -> None:
    """By the time of its file, if all that it listed was read."""
    left = lines_of(faulty)
    one, other = sorted(left)
    node = history.node_of(other)
    kept, known = fresh(faulty), dict[str, Knowing]()
    latest = max(json.loads(lines[-2].text)["to_ns"] for lines in left.values())
    live = LiveRun(kept, place_of(tmp_path), known)
    live.go_on([*left[one][:2], *left[other][:-2]], latest)
    write_idle(faulty, node, latest + SECOND)
    live.go_on([], latest)
    assert live.following.frontier.read[node] <= latest, "something of it is not read yet"
    live.go_on(left[other][-2:-1], latest)
    assert live.following.frontier.read[node] <= latest, "its end is not read yet"
    live.go_on(left[other][-1:], latest)
    assert live.following.frontier.read[node] == latest + SECOND


def test_when_it_is_over(tmp_path: Path) -> None:
    """All have ended; or one has, and the others are silent, and nothing of them is unread; or all are, for long."""
    rows = number(with_ends(faulty_run(seed=11, steps=20, times=1)))
    run = list_anew(write(tmp_path / "small" / "run", rows, rows_per_file=25), closed=False)
    left = lines_of(run)
    last = max(json.loads(lines[-1].text)["to_ns"] for lines in left.values())
    rest = [line for lines in left.values() for line in lines]
    live = LiveRun(fresh(run), place_of(tmp_path / "snapshots"), {})
    live.go_on(rest[:-1], last)
    live.go_on([], last + 2 * frontier.SILENT)
    assert not live.told().over, "of one node something is unread"
    live.go_on(rest[-1:], last + 2 * frontier.SILENT)
    assert live.told().over, "their last rows say that they ended"
    alone = number(faulty_run(seed=11, steps=20, times=1))
    run = list_anew(write(tmp_path / "crashed" / "run", alone, ended_ns=None))
    live = LiveRun(fresh(run), place_of(tmp_path / "snapshots"), {})
    lines = [line for lines in lines_of(run).values() for line in lines]
    live.go_on(lines, last)
    assert not live.told().over
    live.go_on([], last + 2 * frontier.SILENT)
    assert live.told().silent
    assert not live.told().over, "all are silent, but not for long"
    live.go_on([], last + frontier.SILENT + 2 * frontier.DESERTED)
    assert live.told().over
