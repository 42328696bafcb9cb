"""`weft run` of a federation file, with real processes, as a user and as a test starts it (`weft.run_file`).

Issue 22, item 7.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from support.node_processes import free_ports, wait_until
from weft.cli.data import object_model
from weft.cli.operate.running.places import nodes_of
from weft.cli.operate.running.reading import read_federation_file
from weft.errors import NotInTime, SettingsError
from weft.model.records import Source

SERVER = "[server]\nrecord = false\nconsole = false\n"
GUNNER = """
import os
import sys

import weft

with weft.join() as gunner:
    print("here is", gunner.name, "of type", os.environ["WEFT_FEDERATE_TYPE"], "in", gunner.rti.get_time_factory().name)
    gunner.synchronize("met", 60, federates=2)
    print("met")
    if len(sys.argv) > 1:
        gunner.synchronize("seen", 60, federates=sys.argv[1:])
"""
VISITOR = """
import sys

import weft

with weft.join() as visitor:
    visitor.synchronize("seen", 60, federates=sys.argv[1:])
"""


def _write(folder: Path, text: str, more: str = "") -> Path:
    (folder / "gunner.py").write_text(GUNNER)
    (folder / "visitor.py").write_text(VISITOR)
    (folder / "range.xml").write_bytes(object_model("range.xml").data)
    file = folder / "range.toml"
    file.write_text(f'[federation]\nname = "Range"\nfom = "range.xml"\n{more}{text}')
    return file


def _run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """From another folder than the file's, whose paths are its own."""
    here = folder / "elsewhere"
    here.mkdir()
    command = [sys.executable, "-m", "weft.cli", "run", str(folder / "range.toml"), *flags]
    return subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=240, check=False)


def _is_gone(pid: int) -> bool:
    """Or ended, and nobody has asked for its exit code yet: that is for the system's first process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_one_file_starts_a_federation(tmp_path: Path) -> None:
    """A server, federates in Python and others, each when what it waits for has happened; all in one view; exit code 0."""
    _write(
        tmp_path,
        SERVER
        + """
[[federate]]
name = "gunner"
command = "python gunner.py"
count = 2

[[federate]]
name = "printer"
command = ["sh", "-c", "echo $WEFT_FEDERATION $WEFT_FOM $SPEED; test -n $WEFT_ADDRESS; pwd; echo done > done"]
after = { synchronized = "met", log = { gunner-1 = "here is .*-1" }, ended = "gunner", seconds = 0.1 }
environment = { SPEED = "3" }

[[federate]]
name = "last"
command = "sh -c 'exit 3'"
expect = 3
after = { file = "done" }

[[federate]]
name = "logger"
command = ["sh", "-c", "echo logs; exec sleep 1000"]
ends = "nothing"
""",
        'time = "integer64"\ntimeout = 200\n',
    )
    done = _run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for expected in (
        "gunner-1: here is gunner-1 of type gunner in HLAinteger64Time",
        "gunner-2: here is gunner-2 of type gunner in HLAinteger64Time",
        "gunner-1: met",
        f"printer: Range {tmp_path}/range.xml 3",
        f"printer: {tmp_path}",
        "logger: logs",
        "run: last has ended",
        "run: Range: all have ended; exit code 0",
    ):
        assert expected in lines, done.stdout
    assert not done.stderr
    order = [done.stdout.index(part) for part in ("gunner-2: met", "run: printer starts", "run: last starts")]
    assert order == sorted(order)
    assert all(_is_gone(int(pid)) for pid in re.findall(r"process (\d+)", done.stdout))
    assert "\x1b" not in done.stdout, "plain lines, as this is no terminal"
    [folder] = (tmp_path / "elsewhere" / "runs" / "federation").iterdir()
    assert (folder / "federate-logger.log").read_text() == "logs\n"
    assert (folder / "node-server.log").read_text().startswith("{")


def test_who_fails_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    """With the last lines of its log; also what it has started in the background is ended, and a time-out names who is late."""
    _write(
        tmp_path,
        SERVER
        + """
[[federate]]
name = "bad"
command = ["sh", "-c", "sleep 1000 & echo $! >> pids; echo no coal >&2; exit 3"]
restart = 1
ends = "nothing"

[[federate]]
name = "slow"
command = ["sh", "-c", "echo $$ >> pids; sleep 1000 & echo $! >> pids; wait"]
timeout = 0.5
ends = "nothing"
after = { log = { bad = "no coal" } }

[[federate]]
name = "never"
command = "true"
ends = "nothing"
after = { file = "no-such", within = 0.2 }
""",
    )
    done = _run(tmp_path)
    assert done.returncode == 1, done.stdout
    assert "weft: federate bad (" in done.stderr
    assert re.search(
        r"ended with exit code 3 after 1 restart; .*federate-bad\.log ends with:\n    no coal\n", done.stderr
    )
    assert "run: bad starts again (restart 1 of 1)" in done.stdout
    assert "did not end within 0.5 s: slow runs and has not joined; it said nothing" in done.stderr
    waited = (
        f"federate never (true) was not started: within 0.2 s it waited for the file {tmp_path}/no-such\n"
    )
    assert f"weft: {waited}" in done.stderr
    assert "run: Range: all have ended; exit code 1" in done.stdout
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 4
    wait_until(lambda: all(_is_gone(int(pid)) for pid in pids), "they are gone")


def test_it_is_stopped_by_a_signal(tmp_path: Path) -> None:
    """All end in order; 130 says that somebody was still at it."""
    _write(
        tmp_path,
        SERVER + '[[federate]]\nname = "slow"\ncommand = ["sh", "-c", "echo $$ > pid; exec sleep 1000"]\n',
    )
    command = [sys.executable, "-m", "weft.cli", "run", "range.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            said = ""
            while "run: slow starts" not in said:
                said += running.stdout.readline()
            wait_until(
                lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()), "it runs"
            )
        finally:
            running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
    assert running.returncode == 130
    assert "stopped; slow runs and has not joined; exit code 130" in rest
    assert _is_gone(int((tmp_path / "pid").read_text()))


def test_a_test_starts_the_same_file(tmp_path: Path) -> None:
    """`weft.run_file`: it waits for the nodes, tells where to join and what was said, and ends all with its block."""
    file = _write(tmp_path, SERVER + '[[federate]]\nname = "gunner"\ncommand = "python gunner.py"\n')
    with weft.run_file(file, directory=tmp_path / "kept") as run:
        assert run.folder.parent == tmp_path / "kept" / "federation"
        assert list(run.addresses) == ["server"]
        with weft.join("Range", "observer", fom=tmp_path / "range.xml", rti=run.address) as observer:
            observer.synchronize("met", 60, federates=["gunner", "observer"])
            assert run.wait_for_line("gunner", "met") == "met"
        assert run.wait(60) == 0, run.text
        assert run.said("gunner").splitlines()[-1] == "met"
        with pytest.raises(NotInTime, match="gunner has not said 'more', and the run has ended"):
            run.wait_for_line("gunner", "more")
    with weft.run_file(file, directory=tmp_path / "kept") as run:
        pid = int(re.findall(r"process (\d+)", run.wait_for_line("run", "gunner starts"))[0])
        with pytest.raises(NotInTime, match="still runs after 0 s"):
            run.wait(0)
    assert run.code == 130
    assert _is_gone(pid)
    file.write_text("[federation]\nnme = 1\n")
    with pytest.raises(
        SettingsError, match=r"range.toml:2: \[federation\] has no key 'nme'; did you mean name\?"
    ):
        weft.run_file(file).__enter__()


def test_several_machines_by_hand(tmp_path: Path) -> None:
    """Each starts its own part of the same file, here two parts of a mesh; without --host all of it is on one machine."""
    one, two = free_ports(2)
    file = _write(
        tmp_path,
        f"""
[hosts]
left = "127.0.0.1"
right = "127.0.0.1"

[mesh]
servers = {{ A = "127.0.0.1:{one}", B = "127.0.0.1:{two}" }}
hosts = {{ A = "left", B = "right" }}
record = false

[[federate]]
name = "first"
command = "python gunner.py"
at = "A"

[[federate]]
name = "second"
command = "python gunner.py second visitor"
at = "B"
after = "first"

[[federate]]
name = "visitor"
command = "python visitor.py second visitor"
at = "A"
after = "second"
ends = "nothing"
""",
        "timeout = 200\n",
    )
    environment = {"WEFT_SERVE_RUN_DIRECTORY": str(tmp_path / "runs")}
    left = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "run", str(file), "--host", "left", "--no-console"],
        env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        with weft.run_file(file, host="right", environment=environment) as right:
            assert right.wait(200) == 0, right.text
            assert "met" in right.said("second").splitlines()
            assert not right.said("first")
    finally:
        said, _ = left.communicate(timeout=200)
    assert left.returncode == 0, said
    assert "first: met" in said
    assert "run: Range: all have ended; exit code 0" in said
    plan = read_federation_file(Source(str(file), file.read_bytes()))
    commands = [one.command for one in nodes_of(plan, "", tmp_path)]
    assert len(commands) == 2, "without --host all of it, at any free ports"
    text = (tmp_path / "domains.toml").read_text()
    assert all(str(tmp_path / "domains.toml") in one for one in commands)
    assert 'A" = "127.0.0.1:' in text
    assert str(one) not in text


def test_a_machine_without_a_node_waits_for_the_server(tmp_path: Path) -> None:
    """Its programs start when the server of the other machine answers, and the server stays until they have left."""
    [port] = free_ports(1)
    file = _write(
        tmp_path,
        f"""
[hosts]
left = "127.0.0.1"
right = "127.0.0.1"

[server]
host = "left"
port = {port}
record = false

[[federate]]
name = "gunner"
command = "python gunner.py"
count = 2
host = "right"
""",
        "timeout = 200\n",
    )
    command = [sys.executable, "-m", "weft.cli", "run", str(file), "--host", "right"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as right:
        assert right.stdout is not None
        assert "logs in" in right.stdout.readline()
        with weft.run_file(file, host="left", directory=tmp_path / "runs") as left:
            said = right.stdout.read()
            assert left.wait(200) == 0, left.text
    assert right.returncode == 0, said
    assert "waiting" not in said, "no federate was started before the server"
    assert {"gunner-1: met", "gunner-2: met"} <= set(said.splitlines())
