"""A run that was steered is as good as any other: the review finds nothing wrong with it (issue 9, "Steer")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.timed_federation import Timed
from weft import EmbeddedNode
from weft.host.recording.runs import find_runs, open_run
from weft.review import review

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


@pytest.mark.soak
def test_a_steered_run_has_nothing_wrong(spark: Any, tmp_path: Path) -> None:
    """Also where the operator resigned a federate for which messages waited."""
    node = EmbeddedNode()
    node.record(tmp_path)
    f = Timed(3, node=node)
    f.all_timed(1)
    for time in range(1, 9):
        if time in (2, 6):
            f.rti[0].steer("pause", "range")
        for i in sorted(f.present):
            f.stamp(i, time + 1, b"%d" % i)
            f.ask(i, ("TAR", "NMR")[time % 2], time)
        if time == 4:  # its request and its messages are under way
            f.rti[0].steer("resign", "range", "federate 2")
            f.present.discard(2)
            f.rti[0].steer("resume", "range")
        elif time in (2, 3, 6, 7, 8):
            f.rti[1].steer("step", "range")
        f.quiet()
    assert f.rti[0].query_logical_time().value == 8
    node.stop_recording()
    (run,) = find_runs(tmp_path)
    kinds = open_run(run).read(["kind"]).column("kind").to_pylist()
    assert kinds.count("steer") > 8
    assert kinds.count("lost") == 1
    found = review(run, session=spark, advice=False)
    assert {name: one.violations for name, one in found.audits.items()} == dict.fromkeys(found.audits, 0)
    assert found.rows == len(kinds)
