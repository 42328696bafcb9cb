"""Runs with declarations as of a logical time (S4-21) are reviewed clean, and faults in them are found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from review.audits.test_planted_faults import followed
from review.planted import Rows
from support import recorded_runs
from support.recorded_declarations import LIVES
from weft.review import judge

WORLDS: dict[str, Callable[..., Path]] = {
    "embedded": recorded_runs.embedded,
    "server": recorded_runs.served,
    "mesh": recorded_runs.over_nodes,
    "fabric": partial(recorded_runs.over_nodes, time="HLAfloat64Time", fabric=True),
}


@pytest.mark.parametrize("declarations", LIVES)
@pytest.mark.parametrize("world", WORLDS)
def test_what_was_wanted_as_of_a_time_is_judged_so(world: str, declarations: str, tmp_path: Path) -> None:
    """S4-21, S4-2: also over a save and a restore, both logical times, and who joins again."""
    WORLDS[world](tmp_path, 3, steps=160, restore=True, life=LIVES[declarations], declarations=declarations)
    runs = recorded_runs.runs(tmp_path)
    assert len(runs) == 2
    for run, verdict in zip(runs, judge(runs), strict=True):
        assert verdict.clean, str(verdict)
        if world in ("mesh", "fabric"):  # virtual time: no row is later than it should be
            assert not [one for one in followed(run) if one[0] in ("interest", "time")]


@pytest.mark.parametrize("declarations", LIVES)
@pytest.mark.parametrize("seed", [25, 27])
def test_what_was_given_early_or_is_of_no_instance_is_no_fault(
    seed: int, declarations: str, tmp_path: Path
) -> None:
    """Flushed before its receiver unsubscribed as of its time; or sent of an instance that was gone when it subscribed."""
    run = recorded_runs.over_nodes(
        tmp_path, seed, steps=160, life=LIVES[declarations], declarations=declarations
    )
    (verdict,) = judge([run])
    assert verdict.clean, str(verdict)


def test_what_was_wanted_as_of_its_time_and_never_came_is_missed(tmp_path: Path) -> None:
    """S4-21: what is sent late is judged as what is sent at once."""
    run = recorded_runs.over_nodes(tmp_path, 3, steps=160, life=LIVES["timed"], declarations="timed")
    rows = Rows(run)
    sends = {(row["source"], row["message"]): row for row in rows.all("send") if row["order"] == "TSO"}
    late = next(
        row
        for row in rows.all("deliver")
        if row["order"] == "TSO"
        and (row["class"] or "").startswith("HLAinteractionRoot.Signal")
        and row["federate"] not in (sends[row["source"], row["message"]]["destinations"] or ())
    )
    key = (late["source"], late["message"], late["federate"])
    for kind in ("deliver", "hold", "release", "filter"):
        for row in rows.all(kind):
            if (row["source"], row["message"], row["federate"]) == key:
                rows.remove(row)
    rows.write()
    (verdict,) = judge([run])
    found = {(one["what"], one["source"], one["message"], one["federate"]) for one in verdict.findings}
    assert ("missed", *key) in found, str(verdict)
