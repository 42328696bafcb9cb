"""Runs and reviews in the console (issue 9, runs): found, reviewed by a child process, stopped, shown."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import weft
from support.console_in_thread import WAIT, Running, console_of
from weft.cli.data import object_model
from weft.console.runs import STAGES, Reviews, Shelf

# Says and does what `weft review` does, and takes its time where the test wants it to.
REVIEW = """
    import json, os, pathlib, sys, time
    said, html = sys.argv[1:3], sys.argv[sys.argv.index("--html") + 1]
    assert sys.argv[1] == "review" and "--json" in sys.argv
    state = pathlib.Path(os.environ["FAKE_REVIEW"])
    (state / "pid").write_text(str(os.getpid()))
    if (state / "fails").exists():
        print("weft: RUN: the audit causal failed in Spark: no Java", file=sys.stderr)
        sys.exit(2)
    for name in ("causal", "time"):
        print(f"weft: {name}: 3/3 stages, 0.1 s", file=sys.stderr, flush=True)
    while (state / "waits").exists():
        time.sleep(0.01)
    pathlib.Path(html).write_text("<title>Review</title><script>1</script>")
    print(json.dumps({"audits": {"causal": {"violations": 2}, "time": {"violations": 1}}}))
    sys.exit(1)
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which files say how the review behaves."""
    made = tmp_path / "state"
    made.mkdir()
    (tmp_path / "review.py").write_text(textwrap.dedent(REVIEW))
    monkeypatch.setenv("FAKE_REVIEW", str(made))
    return made


@pytest.fixture
def running(tmp_path: Path, state: Path) -> Iterator[Running]:
    node = weft.EmbeddedNode()
    node.record(tmp_path / "runs")
    rti = weft.RTIambassador(node)
    rti.connect(weft.FederateAmbassador(), weft.CallbackModel.EVOKED)
    rti.create_federation_execution("Range", [object_model("range.xml")])
    rti.join_federation_execution("one", "test", "Range")
    rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
    rti.disconnect()
    node.stop_recording()
    command = (sys.executable, str(tmp_path / "review.py"))
    with console_of(recordings=str(tmp_path / "runs"), reviews=lambda shelf: Reviews(shelf, command)) as one:
        yield one


assert pyarrow.parquet  # here, since the thread that records has only so much time


def run_of(running: Running) -> tuple[str, dict[str, Any]]:
    ((name, facts),) = running.ask("GET", "/api/picture", running.cookie()).json["runs"].items()
    return name, facts


def eventually(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_is_listed_reviewed_and_its_report_shown(running: Running, state: Path, tmp_path: Path) -> None:
    name, facts = run_of(running)
    assert (facts["federations"], facts["state"], facts["review"]) == (
        ["Range"],
        "complete",
        {"state": "none"},
    )
    assert facts["rows"] > 0
    assert facts["bytes"] > 0
    assert abs(facts["started"] - time.time()) < 3600
    assert running.ask("GET", f"/runs/{name}/report.html", running.cookie()).status == 404

    (state / "waits").touch()
    started = running.ask("POST", f"/api/runs/{name}/review", running.changing(), b"")
    assert (started.status, started.json["state"]) == (202, "running")
    eventually(lambda: run_of(running)[1]["review"]["progress"] == round(2 / len(STAGES), 3))
    assert run_of(running)[1]["review"]["stage"] == "interest"
    again = running.ask("POST", f"/api/runs/{name}/review", running.changing(), b"")
    assert (again.status, again.json["error"]) == (
        409,
        f"a review of {name} is running; stop it, or wait for it",
    )
    (state / "waits").unlink()
    eventually(lambda: run_of(running)[1]["review"]["state"] == "done")
    review = run_of(running)[1]["review"]
    assert (review["violations"], review["progress"], review["report"]) == (
        3,
        1.0,
        f"/runs/{name}/report.html",
    )

    report = running.ask("GET", review["report"], running.cookie("reader"))
    assert (report.status, report.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = report.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy  # its script runs, in an origin of its own: no cookie, no API
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy
    assert "default-src 'none'" in policy
    assert report.headers["x-frame-options"] == "SAMEORIGIN"


def test_a_review_can_be_stopped_and_leaves_nothing(running: Running, state: Path) -> None:
    name, facts = run_of(running)
    (state / "waits").touch()
    running.ask("POST", f"/api/runs/{name}/review", running.changing(), b"")
    eventually((state / "pid").exists)
    eventually(lambda: (state / "pid").read_text())
    pid = int((state / "pid").read_text())
    stopped = running.ask("DELETE", f"/api/runs/{name}/review", running.changing())
    assert (stopped.status, stopped.json) == (200, {"state": "none"})
    eventually(lambda: not _runs(pid))
    assert list((Path(facts["path"]) / "review").iterdir()) == []
    again = running.ask("DELETE", f"/api/runs/{name}/review", running.changing())
    assert (again.status, again.json["error"]) == (409, f"no review of {name} is running")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_review_that_fails_says_why_and_can_be_tried_again(running: Running, state: Path) -> None:
    name, _ = run_of(running)
    (state / "fails").touch()
    running.ask("POST", f"/api/runs/{name}/review", running.changing(), b"")
    eventually(lambda: run_of(running)[1]["review"]["state"] == "failed")
    assert run_of(running)[1]["review"]["error"] == "RUN: the audit causal failed in Spark: no Java"
    (state / "fails").unlink()
    running.ask("POST", f"/api/runs/{name}/review", running.changing(), b"")
    eventually(lambda: run_of(running)[1]["review"]["state"] == "done")


def test_a_review_ends_with_the_console(tmp_path: Path, state: Path, running: Running) -> None:
    name, _ = run_of(running)
    (state / "waits").touch()
    running.ask("POST", f"/api/runs/{name}/review", running.changing(), b"")
    eventually(lambda: (state / "pid").exists() and (state / "pid").read_text())
    running.server.should_exit = True
    eventually(lambda: not _runs(int((state / "pid").read_text())))


def test_what_cannot_be_read_is_listed_with_the_reason(tmp_path: Path) -> None:
    """A torn result of a review, a run of a newer version: the others are listed all the same."""
    run = tmp_path / "F" / "20260101-000000-x"
    (run / "review").mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"federation": "F", "start_ns": 5 * 10**9}))
    (run / "review" / "review.json").write_text('{"audits": {"causal"')
    shelf = Shelf(str(tmp_path))
    shelf.look()
    shown: Any = Reviews(shelf).shown()
    assert shown[run.name]["started"] == 5.0
    assert shown[run.name]["review"]["state"] == "failed"
    assert "start the review again" in shown[run.name]["review"]["error"]
    (run / "review" / "review.json").write_text('{"audits": {"causal": {"violations": 4}}}')
    review: Any = Reviews(shelf).shown()[run.name]["review"]
    assert (review["state"], review["violations"]) == ("done", 4)
    assert "report" not in review
    assert Shelf("").shown() == {}
