"""Runs that a restore has ended: what still waited is not lost, what was lost before is found (4.29; issue 18, 2.3)."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from review.audits.test_planted_faults import followed, told
from review.planted import DAMAGES, Damage, Found, NoPlace, Rows, first
from support import recorded_runs
from support.hasty_runs import PACED, Hasty
from weft.kernel.node.recording_end import RESTORED
from weft.recorder import BY_RESTORE
from weft.review import judge

SEED = 2
WORLDS: dict[str, Callable[..., Path]] = {
    "embedded": recorded_runs.embedded,
    "server": recorded_runs.served,
    "mesh": recorded_runs.over_nodes,
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three nodes of which two do not hear of each other when the federation is restored."""
    folders = [tmp_path_factory.mktemp("ended") for _ in range(2)]
    return [
        recorded_runs.over_nodes(folder, SEED + turn, steps=120, restore=True, life=Hasty)
        for turn, folder in enumerate(folders)
    ]


@pytest.mark.parametrize("world", WORLDS)
def test_what_waits_when_a_restore_ends_a_run_is_not_lost(world: str, tmp_path: Path) -> None:
    """In all orders, for time and for predecessors, for an update rate, as callbacks, and on the way: both runs are clean."""
    WORLDS[world](tmp_path, SEED, steps=60, restore=True, life=Hasty)
    before, after = recorded_runs.runs(tmp_path)
    for verdict in judge([before, after]):
        assert verdict.clean, str(verdict)
    rows = Rows(before)
    assert {row["service"] for row in rows.all("stop")} == {BY_RESTORE}
    assert {row["service"] for row in Rows(after).all("stop")} == {None}
    given_up = rows.all("drop", detail=RESTORED)
    assert {rows.send(row)["order"] for row in given_up if row["source"]} >= {"RO", "CO", "CT"}
    assert {row["federate"] for row in given_up if row["rate"]} == {PACED + 1}


def test_things_wait_for_predecessors_and_are_on_their_way(ended: list[Path]) -> None:
    """Else nothing would be shown by runs over nodes."""
    rows = Rows(ended[0])
    held = [
        row for row in rows.all("drop", detail=RESTORED) if rows.of(row, "hold", federate=row["federate"])
    ]
    assert {rows.send(row)["order"] for row in held} == {"CO", "CT"}
    assert {row["order"] for row, _ in on_their_way(rows)} >= {"RO", "CO"}
    assert followed(ended[0]) == set()


def on_their_way(rows: Rows) -> list[tuple[dict[str, object], int]]:
    """Messages, and receivers at whose nodes they have not arrived."""
    return [
        (row, who)
        for row in rows.all("send")
        for who in (row["destinations"] or ()) if row["source"]
        if rows.home[who] not in {row["node"], *(other["node"] for other in rows.of(row, "arrive"))}
    ]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 6])
def test_what_waits_for_an_update_rate_when_its_receiver_leaves_is_not_lost(
    seed: int, tmp_path: Path
) -> None:
    """Without a restore: it resigns, or the instance is removed."""
    (verdict,) = judge([recorded_runs.over_nodes(tmp_path, seed, steps=60, life=Hasty)])
    assert verdict.clean, str(verdict)


# Lost before the restore


def nothing_is_said_of_what_waited_for_it(rows: Rows) -> Found:
    """A message came to a federate's node and is neither delivered nor given up."""
    row = first(row for row in rows.all("drop", detail=RESTORED, federate=PACED + 1) if row["rate"] is None)
    rows.remove(row)
    return {("delivery", "lost", row["federate"])}


NO_PLACE = (
    "lost in time stamp order",
    "lost though its receiver moved to where it still wants it",
    "lost on its way while its receiver subscribed again",
)
"""Not in such runs, or not in all."""
LOST = [
    *(fault for fault in DAMAGES if fault.name.startswith("lost ") and fault.name not in NO_PLACE),
    *(fault for fault in DAMAGES if fault.name.startswith("not addressed though")),
    Damage("nothing is said of what waited for it", nothing_is_said_of_what_waited_for_it),
]


@pytest.mark.parametrize("fault", LOST, ids=[fault.name for fault in LOST])
def test_what_was_lost_before_the_restore_is_found(ended: list[Path], tmp_path: Path, fault: Damage) -> None:
    """In one of the runs, or the other if that has no place for it."""
    for turn, made in enumerate(ended):
        run = Path(shutil.copytree(made, tmp_path / str(turn) / made.name))
        rows = Rows(run)
        with contextlib.suppress(NoPlace):
            wanted = fault.do(rows)
            rows.write()
            (verdict,) = judge([run])
            assert told(verdict) == wanted, str(verdict)
            assert not verdict.unsure
            assert followed(run) <= wanted
            return
    raise AssertionError("no run has a place for this fault")
