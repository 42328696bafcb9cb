"""`weft run`, `weft serve --node` and `weft journal`: what users see."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from host.mesh_nodes import wait_until, write_file
from weft.cli import main
from weft.cli.run_nodes import Child
from weft.cli.run_table import COLUMNS, PlainLines, cells, table
from weft.fabric import Topology

TOPOLOGY = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
AGENTS = (
    '[agents]\necho = { server = "S3", class = "host.mesh_agents:Echo" }\n'
    'asker = { server = "S1", class = "host.mesh_agents:Asker" }\n'
)
STATUS = {
    "links": 1, "neighbours": 2, "sent": 10, "received": 20, "packets": 4, "stamp_bytes": 10, "backlog": 1234,
    "federates": "127.0.0.1:1",
}  # fmt: skip


FEDERATE = """
import os
import weft
from weft.cli.data import object_model

print(os.environ["WEFT_ADDRESS"], os.environ["WEFT_NODE"])
with weft.join("Range", "gunner", fom=object_model("range.xml"), rti=os.environ["WEFT_ADDRESS"]):
    pass
"""


def _check_logs(folder: Path, shown: str, traced: bool) -> None:
    """Issue 9, item 3: `--log json` shows what is in the files of all nodes, each line with its node; spans are theirs, too."""
    lines = shown.splitlines()
    for server in TOPOLOGY.servers:
        [file] = (folder / "runs" / "mesh").glob(f"*/{server}.log")
        own = [line for line in lines if json.loads(line)["node"] == server]
        assert own == file.read_text().splitlines()
        events = [json.loads(line)["event"] for line in own]
        assert {"listening", "link-up", "stopping", "stopped"} <= set(events), server
    (joined,) = (one for one in map(json.loads, lines) if one["event"] == "federate-joined")
    assert (joined["node"], joined["federation"], joined["federate"]) == ("S2", "Range", "gunner")
    [printed] = (folder / "runs" / "mesh").glob("*/S2.out")
    assert not traced or '"name": "weft.join_federation_execution"' in printed.read_text()


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "weft.cli", *arguments]


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "OTEL_TRACES_EXPORTER": "console",
    }


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(*arguments),
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_mesh_with_agents_and_a_federate_runs_and_stops(tmp_path: Path) -> None:
    """One process for each node, a program with one of them, a clean end; then logs and journals tell what happened."""
    write_file(tmp_path, TOPOLOGY, AGENTS)
    (tmp_path / "federate.py").write_text(FEDERATE)
    traced = ["--otel"] if importlib.util.find_spec("opentelemetry") else []
    done = _run(
        tmp_path, "run", "domains.toml", "--settings", "settings.toml", "--quiet", "0.5", "--log", "json", *traced,
        "--federate", f"S2={sys.executable} federate.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for server in TOPOLOGY.servers:
        assert re.search(rf"{server}: running \(process \d+\), federates join at 127.0.0.1:\d+", done.stdout)
        assert f"{server}: stopped" in done.stdout
    [said] = (tmp_path / "runs" / "mesh").glob("*/federate-1.log")
    assert re.fullmatch(r"127\.0\.0\.1:\d+ S2\n", said.read_text())
    shown = _run(tmp_path, "journal", "runs/journal/S1.journal", "--json")
    assert json.loads(shown.stdout)["agents"]["asker"]["back"] == list(range(50))
    _check_logs(tmp_path, done.stderr, bool(traced))
    assert "agent echo: {" in _run(tmp_path, "journal", "runs/journal/S3.journal").stdout


def test_a_node_that_dies_is_shown_and_started_again(tmp_path: Path) -> None:
    """`--restart`; SIGTERM stops all, and no process is left."""
    write_file(tmp_path, TOPOLOGY)
    lines: list[str] = []
    with (tmp_path / "out").open("w") as out:
        mesh = subprocess.Popen(
            _command("run", "domains.toml", "--settings", "settings.toml", "--restart", "--no-journal"),
            cwd=tmp_path, env=_environment(), stdout=out,
        )  # fmt: skip

    def said(pattern: str) -> bool:
        lines[:] = re.findall(pattern, (tmp_path / "out").read_text())
        return bool(lines)

    try:
        wait_until(lambda: said(r"S3: running \(process (\d+)\)"), "S3 runs")
        os.kill(int(lines[0]), signal.SIGKILL)
        wait_until(lambda: said(r"S3: died \(SIGKILL\)"), "its end is shown")
        wait_until(
            lambda: said(r"(?s)S3: died.*S3: (?:linking|starting) \(process (\d+)\)"), "it is started again"
        )
        mesh.send_signal(signal.SIGTERM)
        assert mesh.wait(240) == 0
    finally:
        if mesh.poll() is None:
            mesh.kill()
            mesh.wait()
    for process in set(re.findall(r"process (\d+)", (tmp_path / "out").read_text())) - {"0"}:
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["serve", "--node", "S1"], "needs both: --node NAME and --domains FILE"),
        (
            ["serve", "--agents", "a:B"],
            "--agents, --journal, --no-journal and --status need --node and --domains",
        ),
        (
            ["serve", "--node", "S9", "--domains", "domains.toml"],
            "there is no server 'S9'; there are S1, S2, S3",
        ),
        (["serve", "--node", "S1", "--domains", "missing.toml"], "missing.toml: No such file"),
        (["run", "domains.toml", "--federate", "S9=x"], "say it as NODE=COMMAND; nodes are S1, S2, S3"),
        (["journal", "missing"], "missing: there is no such journal"),
        (["journal", "domains.toml"], "domains.toml: the journal cannot be read"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_file(tmp_path, TOPOLOGY)
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_the_table_and_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Node, pid, state, links, rates, stamps, backlog, restarts, address."""

    async def work() -> Child:
        child = Child("S1", [], Path("log"))
        child._took(dict(STATUS))
        child._took({**STATUS, "received": 40, "links": 2})
        return child

    child = asyncio.run(work())
    child.pid = 7
    row = dict(zip(COLUMNS, cells(child), strict=True))
    assert row["links"] == "2/2"
    assert row["stamp"] == "2.5"
    assert row["backlog"] == "1,234"
    assert row["out/s"] == "0"
    assert row["in/s"] != "0"
    lines = PlainLines()
    lines.show([child])
    lines.show([child])
    assert capsys.readouterr().out == "S1: running (process 7), federates join at 127.0.0.1:1\n"
    from rich.console import Console

    console = Console(width=100)
    console.print(table("title", [child]))
    said = capsys.readouterr().out
    assert all(column in said for column in COLUMNS)
    assert "running" in said
