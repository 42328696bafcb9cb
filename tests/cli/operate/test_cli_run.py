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

from support.node_processes import wait_until, write_file
from weft.cli import main
from weft.cli.operate.journal import look, make_way
from weft.cli.operate.run_nodes import Child, NodeStatus
from weft.cli.operate.run_table import COLUMNS, PlainLines, cells, table
from weft.fabric import Topology
from weft.host.mesh.journal import Journal, set_aside
from weft.model.errors import FabricError

TOPOLOGY = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
AGENTS = (
    '[agents]\necho = { server = "S3", class = "support.checking_agents:Echo" }\n'
    'asker = { server = "S1", class = "support.checking_agents:Asker" }\n'
)
STATUS: NodeStatus = {
    "links": 1, "neighbours": 2, "sent": 10, "received": 20, "packets": 4, "stamp_bytes": 10, "backlog": 1234,
    "federates": "127.0.0.1:1", "joined": 0,
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
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
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
    assert f"what nodes and programs have said is in {said.parent.relative_to(tmp_path)}\n" in done.stdout
    assert "process 0" not in done.stdout
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


def _run_mesh(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(
        folder,
        "run",
        "domains.toml",
        "--settings",
        "settings.toml",
        "--quiet",
        "0.2",
        "--no-console",
        *arguments,
    )


def test_a_federate_that_fails_is_told_of(tmp_path: Path) -> None:
    """One that does not exist, one that ends with an error; with the end of its log, and exit code 1."""
    write_file(tmp_path, PAIR)
    (tmp_path / "bad.py").write_text("print('takes on coal')\nraise ValueError('no coal')\n")
    (tmp_path / "good.py").write_text("print('done')\n")
    done = _run_mesh(
        tmp_path, "--federate", "S1=no-such-program x", "--federate", f"S2={sys.executable} bad.py",
        "--federate", f"S2={sys.executable} good.py", "--federate", "S2=./good.py",
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr.split("federate 2")[0]
    said = "federate 1 (no-such-program x, at S1) could not be started: no-such-program: there is no such program\n"
    assert f"weft: {said}" in done.stderr
    assert (
        "weft: federate 4 (./good.py, at S2) could not be started: ./good.py: Permission denied\n"
        in done.stderr
    )
    [log] = (tmp_path / "runs" / "mesh").glob("*/federate-2.log")
    assert f"bad.py, at S2) ended with exit code 1; {log.relative_to(tmp_path)} ends with:\n" in done.stderr
    assert done.stderr.count("    ValueError: no coal\n") == 1
    assert log.read_text().startswith("takes on coal\nTraceback"), "as it came, not what it printed last"
    assert "federate 3" not in done.stderr


def test_a_node_that_dies_is_told_of(tmp_path: Path) -> None:
    """With the end of its log, and exit code 1; nobody waits for it to be linked."""
    write_file(
        tmp_path, PAIR, '[agents]\necho = { server = "S2", class = "support.checking_agents:Nobody" }\n'
    )
    done = _run_mesh(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("weft: node S2 died (exit code 2); runs/mesh/") == 1
    assert re.search(r"    weft: .*support.checking_agents.*Nobody", done.stderr)


def _journals(folder: Path, key: str) -> None:
    """As an earlier mesh has left them, whose nodes were one domain."""
    for name in PAIR.servers:
        journal = Journal(folder / "runs" / "journal" / f"{name}.journal", name, "other domains")
        journal.commit({}, {key: b"\x01"})
        journal.close()


def test_a_mesh_begins_under_other_domains(tmp_path: Path) -> None:
    """With the domains file that `weft tune` has written; nothing was under way, so its journals may be empty."""
    write_file(tmp_path, PAIR)
    _journals(tmp_path, "boot")
    done = _run_mesh(tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        "weft: nodes begin with empty journals (the domains have changed, and nothing was under way)"
        in done.stderr
    )
    assert len(list((tmp_path / "runs" / "journal").glob("S?.journal.2*"))) == 2
    assert make_way(tmp_path / "runs" / "journal", PAIR, anew=False) == []


def test_states_of_agents_are_not_set_aside_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What to do is said in the terminal, before any node is started; the flag does it."""
    write_file(tmp_path, PAIR)
    _journals(tmp_path, "agent/asker")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "domains.toml"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert (
        "S1.journal was written under other domains and holds the states of agents (asker), which cannot be finished now: an"
        " older Weft wrote it" in said.err
    )
    assert "Or run with --new-journal, which sets all journals aside" in said.err
    assert main(["serve", "--node", "S1", "--domains", "domains.toml", "--port", "0", "--no-console"]) == 2
    assert "start its node once with the domains file it was written under" in capsys.readouterr().err
    [told] = make_way(Path("runs/journal"), PAIR, anew=True)
    assert told.startswith(
        "nodes begin with empty journals (as asked); the old ones are runs/journal/S1.journal.2"
    )


def test_nodes_finish_old_domains_if_all_are_there(tmp_path: Path) -> None:
    """S1-20: then nothing is set aside; a server of the old domains without its journal would be waited for in vain."""
    old = Topology((*PAIR.servers, "S3"), {"A": (*PAIR.servers, "S3")})
    new = Topology(old.servers, {"B": ("S1", "S3"), "C": ("S3", "S2")})
    for name in old.servers[:2]:
        path = tmp_path / f"{name}.journal"
        journal = Journal(path, name, old.fingerprint, "NORMAL", old)
        journal.commit({}, {"agent/asker": b"\x01"})
        journal.close()
    with pytest.raises(FabricError, match=f"S3, in the same domains, has no journal in {tmp_path}"):
        make_way(tmp_path, new, anew=False)
    Journal(tmp_path / "S3.journal", "S3", old.fingerprint, "NORMAL", old).close()
    [told] = make_way(tmp_path, new, anew=False)
    assert told.startswith(
        "the domains have changed; nodes finish the old ones first (S1.journal: the states of agents"
    )
    with pytest.raises(FabricError, match="cannot be finished now: the new domains file lacks S3"):
        make_way(tmp_path, PAIR, anew=False)
    assert not list(tmp_path.glob("S?.journal.2*"))


def test_what_is_set_aside_is_whole(tmp_path: Path) -> None:
    """Also of a node that was killed, whose last commits lie beside its journal; and never under a node that runs."""
    path = tmp_path / "S1.journal"
    program = (
        "import os, signal, sys; from weft.host.mesh.journal import Journal\n"
        "journal = Journal(sys.argv[1], 'S1', 'those')\n"
        "journal.commit({}, {'agent/echo': b'\\x01'})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
    assert path.with_name("S1.journal-wal").exists()
    assert look(path)["agents"] == {"echo": 1}
    aside = set_aside(path)
    assert aside is not None
    assert [one.name for one in tmp_path.iterdir()] == [aside.name]
    assert look(aside)["agents"] == {"echo": 1}
    assert set_aside(path) is None
    running = Journal(path, "S1", "these")
    with pytest.raises(FabricError, match=r"does its node run\?"):
        set_aside(path)
    running.close()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["serve", "--node", "S1"], "needs both: --node NAME and --domains FILE"),
        (
            ["serve", "--agents", "a:B"],
            "--agents, --journal, --no-journal and --new-journal need --node and --domains",
        ),
        (
            ["serve", "--node", "S9", "--domains", "domains.toml"],
            "there is no server 'S9'; there are S1, S2, S3",
        ),
        (["serve", "--node", "S1", "--domains", "missing.toml"], "missing.toml: No such file"),
        (["run", "domains.toml", "--federate", "S9=x"], "say it as NODE=COMMAND; nodes are S1, S2, S3"),
        (["run", "domains.toml", "--federate", "S1= "], "say it as NODE=COMMAND; nodes are S1, S2, S3"),
        (["run", "domains.toml", "--federate", "S1=python 'x"], "No closing quotation"),
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
        child._took(STATUS)
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
