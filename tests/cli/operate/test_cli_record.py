"""Recording of a whole mesh: each node writes its own files of one run, unless told not to or killed (issue 8, item 1)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.node_processes import wait_until, write_file
from weft.cli import main
from weft.fabric import Topology
from weft.host.recording.runs import Run, find_runs, open_run
from weft.review import judge
from weft.wire.codec.packed import fields_of

PATIENCE = (
    240.0  # for processes that start on a machine that is busy; nothing is asserted of how long they take
)
TOPOLOGY = Topology(("S1", "S2"), {"A": ("S1", "S2")})
# Two of these fire at each other until each has heard enough and the other has, too; `log` says what it did, line by line.
FEDERATE = """
import os, sys
import weft
from weft.cli.data import object_model

ENOUGH = int(sys.argv[2])
log = open(sys.argv[1], "w", buffering=1)
heard, others = 0, 0

class Ear(weft.FederateAmbassador):
    def receive_interaction(self, interaction_class, values, tag, *rest):
        global heard, others
        heard, others = heard + 1, int(tag.rpartition(b":")[2])
        print("heard", tag.decode(), file=log)

rti = weft.RTIambassador()
rti.connect(Ear(), weft.CallbackModel.EVOKED, os.environ["WEFT_ADDRESS"])
if sys.argv[1] == "one":
    rti.create_federation_execution("Range", [object_model("range.xml")])
joined = False
while not joined:
    try:
        rti.join_federation_execution(sys.argv[1], "test", "Range")
        joined = True
    except weft.errors.FederationExecutionDoesNotExist:
        rti.evoke_callback(0.05)
fire = rti.get_interaction_class_handle("Fire")
rti.publish_interaction_class(fire)
rti.subscribe_interaction_class(fire)
number, ready = 0, False
while not ready:
    ready = heard >= ENOUGH and others >= ENOUGH
    number += 1
    tag = f"{sys.argv[1]}:{number}:{heard}"
    print("sent", tag, file=log)
    rti.send_interaction(fire, {}, tag.encode())
    rti.evoke_multiple_callbacks(0.01, 0.05)
rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
rti.disconnect()
print("left", file=log)
"""


class Mesh:
    """`weft run` of two nodes with a federate each."""

    def __init__(self, folder: Path, enough: int, *arguments: str) -> None:
        self.folder = folder
        write_file(folder, TOPOLOGY)
        (folder / "federate.py").write_text(FEDERATE)
        command = [sys.executable, "-m", "weft.cli", "run", "domains.toml", "--settings", "settings.toml"]
        for node, name in (("S1", "one"), ("S2", "two")):
            command += ["--federate", f"{node}={sys.executable} federate.py {name} {enough}"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "WEFT_RECORD_SECONDS": "0.1"}
        with (folder / "out").open("w") as out:
            self.process = subprocess.Popen(
                [*command, "--no-journal", *arguments], cwd=folder, env=environment, stdout=out, stderr=out
            )

    def said(self) -> str:
        return (self.folder / "out").read_text()

    def processes_of(self, node: str) -> list[int]:
        return [int(number) for number in re.findall(rf"{node}: running \(process (\d+)\)", self.said())]

    def log(self, name: str, what: str) -> list[str]:
        path = self.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split()[-1] for line in lines if line.startswith(what)]

    def is_done(self) -> bool:
        """Have both federates left?"""
        return all(self.log(name, "left") for name in ("one", "two"))

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(240)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def _tags(run: Run) -> tuple[list[dict[str, Any]], dict[tuple[int, int], str]]:
    rows = run.read().to_pylist()
    tags = {}
    for row in rows:
        if row["kind"] == "send" and row["source"] and row["class"].endswith(".Fire"):
            tags[row["source"], row["message"]] = (row["tag"] or fields_of(row["packed"])[1]).decode()
    return rows, tags


def _delivered(rows: list[dict[str, Any]], name: str) -> list[tuple[int, int]]:
    mine = [row for row in rows if row["kind"] == "deliver" and row["name"] == name and row["source"]]
    return [(row["source"], row["message"]) for row in mine if row["class"].endswith(".Fire")]


def _check_sequence(rows: list[dict[str, Any]]) -> None:
    """Each node's rows are there from the first on, without a gap."""
    for node in {row["node"] for row in rows}:
        mine = [row["seq"] for row in rows if row["node"] == node]
        assert mine == list(range(1, len(mine) + 1))


def _is_beginning(one: list[str], other: list[str]) -> bool:
    shorter = min(len(one), len(other))
    return shorter > 0 and one[:shorter] == other[:shorter]


def test_nodes_of_a_mesh_record_one_run_each_for_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mesh = Mesh(tmp_path, 10, "--record", "kept")
    try:
        wait_until(mesh.is_done, "both are done", PATIENCE)
        for node in TOPOLOGY.servers:
            wait_until(partial(_has_files, tmp_path / "kept", node, 2), f"{node} writes", PATIENCE)
        mesh.stop()
    finally:
        mesh.end()
    assert mesh.process.returncode == 0, mesh.said()
    (path,) = find_runs(tmp_path / "kept")
    run = open_run(path)
    assert (sorted(run.nodes), run.ended, run.dropped, run.troubles) == (["S1", "S2"], True, 0, [])
    rows, tags = _tags(run)
    _check_sequence(rows)
    for name, node in (("one", "S1"), ("two", "S2")):
        assert [tag for tag in tags.values() if tag.startswith(name)] == mesh.log(name, "sent")
        delivered = [tags[key] for key in _delivered(rows, name)]
        heard = mesh.log(name, "heard")
        assert delivered[: len(heard)] == heard  # what came after its last look was not taken any more
        assert {row["node"] for row in rows if row["name"] == name} == {node}
    assert main(["runs", str(tmp_path / "kept"), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["nodes"], told["state"], told["rows"]) == (["S1", "S2"], "ended in order", len(rows))


def test_nothing_is_recorded_with_no_record(tmp_path: Path) -> None:
    mesh = Mesh(tmp_path, 1, "--no-record")
    try:
        wait_until(mesh.is_done, "both are done", PATIENCE)
        mesh.stop()
    finally:
        mesh.end()
    assert not list(tmp_path.glob("**/run.json"))
    assert not list(tmp_path.glob("**/*.parquet"))


def test_a_killed_node_leaves_what_it_has_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kill -9 in the middle: what can be read is complete, its peer says that it is gone, and `weft runs` that it was cut off."""
    mesh = Mesh(tmp_path, 1_000_000, "--record", "kept")
    try:
        wait_until(lambda: _has_files(tmp_path / "kept", "S2", 3), "rows of S2 are on the disk", PATIENCE)
        # `weft run` looks at its nodes now and then: rows may be there before it has said who writes them.
        wait_until(lambda: bool(mesh.processes_of("S2")), "weft run has said that S2 runs", PATIENCE)
        (killed,) = mesh.processes_of("S2")
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: _knows_loss(tmp_path / "kept"), "S1 has recorded it", PATIENCE)
        mesh.stop()
    finally:
        mesh.end()
    (path,) = find_runs(tmp_path / "kept")
    run = open_run(path)
    assert run.interrupted == ["S2"]
    assert not [trouble for trouble in run.troubles if "temporary" not in trouble]
    rows, tags = _tags(run)
    _check_sequence(rows)
    of_two = [tag for tag in tags.values() if tag.startswith("two")]
    assert _is_beginning(of_two, mesh.log("two", "sent"))
    for name in ("one", "two"):
        # What the killed node had sent and not yet written is delivered without a `send`: it has no tag here.
        delivered = [tags.get(key) for key in _delivered(rows, name)]
        heard = mesh.log(name, "heard")
        assert all(tag in (None, there) for tag, there in zip(delivered, heard, strict=False))
    gone = [
        row for row in rows if row["kind"] == "link-down" or (row["kind"] == "lost" and row["name"] == "two")
    ]
    assert {(row["node"], row["link"]) for row in gone} == {("S1", "S2")}
    assert [row["kind"] for row in gone if row["kind"] == "lost"] == ["lost"]
    assert main(["runs", str(tmp_path / "kept"), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["ended"], told["interrupted"]) == (False, ["S2"])
    assert main(["runs", str(tmp_path / "kept")]) == 0
    assert "interrupted: S2 did not end in order" in capsys.readouterr().out


def _has_files(directory: Path, node: str, count: int) -> bool:
    return len(list(directory.glob(f"*/*/rows/node={node}/[!.]*.parquet"))) >= count


def _knows_loss(directory: Path) -> bool:
    (path,) = find_runs(directory)
    kinds = open_run(path).read(["node", "kind"]).to_pylist()
    return any(row["node"] == "S1" and row["kind"] == "link-down" for row in kinds)


_WRONG = """
import sys, time
if "S2" in sys.orig_argv and "--node" in sys.orig_argv:
    right, began = time.time_ns, time.monotonic_ns()
    time.time_ns = lambda: right() + int({ahead} * 1e9 + {gains} * (time.monotonic_ns() - began))
    time.time = lambda: time.time_ns() / 1e9
"""


@pytest.mark.parametrize(
    ("ahead", "gains", "said"),
    [
        (30.0, 0.0, r"the clock of node 'S2' was (30\.0|29\.9) s ahead of that of 'S1'"),
        pytest.param(
            -30.0,
            0.0,
            r"the clock of node 'S2' was (30\.0|30\.1) s behind that of 'S1'",
            marks=pytest.mark.soak,
        ),
        (0.0, 2.0, "the clock of node 'S2' was set, or drifts, while the run went on"),
    ],
    ids=["ahead", "behind", "drifts"],
)
def test_a_node_whose_clock_is_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: float, gains: float, said: str
) -> None:
    """Issue 21, item 2: by what is sent and arrives, both ways; and nothing is taken for a violation."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_WRONG.format(ahead=ahead, gains=gains))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    mesh = Mesh(tmp_path, 1_000_000, "--record", "kept")
    try:  # of each file it is asked anew what time it is
        wait_until(lambda: _has_files(tmp_path / "kept", "S2", 30), "rows of S2 are on the disk", PATIENCE)
        mesh.stop()
    finally:
        mesh.end()
    (verdict,) = judge(find_runs(tmp_path / "kept"))
    assert not verdict.findings, str(verdict)
    assert any(re.search(said, note) for note in verdict.notes), str(verdict)
