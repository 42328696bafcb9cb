"""Every `--help` ends with two examples, and every example works (issue 9, 2)."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interest.paper import FED, GRID_OF_TWO
from support.server_in_thread import Talker, serving
from weft import EmbeddedNode
from weft.cli import main, parser
from weft.cli.examples import (
    ATTACHES,
    EXAMPLES,
    LIVE,
    LONG,
    MEASURES,
    QUICK,
    SERVES,
    STEERS,
    Example,
    parsers,
)
from weft.cli.operate.demo import Story, play
from weft.fabric import parse_domains
from weft.host.event_channel.run import write_run
from weft.host.mesh.journal import Journal
from weft.host.simulated.rates import PAPER, simulate
from weft.model.records import Source

ROOT = Path(__file__).resolve().parent.parent.parent
FOM = """<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
 <objects><objectClass><name>HLAobjectRoot</name>
  <objectClass><name>{0}</name><attribute><name>Place</name>
   <dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions></attribute></objectClass></objectClass></objects>
 <dimensions><dimension><name>X</name><upperBound>1000</upperBound></dimension>
  <dimension><name>Y</name><upperBound>1000</upperBound></dimension></dimensions>
</objectModel>"""
LAST = '"$(weft runs --last)"'


def of_kind(kind: str) -> list[str]:
    return sorted(
        {example.command for shown in EXAMPLES.values() for example in shown if example.kind == kind}
    )


@pytest.mark.parametrize("one", list(parsers(parser())), ids=lambda one: one.prog.replace(" ", "-"))
def test_every_help_ends_with_two_examples(one: argparse.ArgumentParser) -> None:
    """Of that command itself, but for `weft` and groups, which show commands below them."""
    shown = EXAMPLES.get(one.prog, ())
    assert len(shown) >= 2, f"{one.prog} has no two examples in weft.cli.examples"
    help_text = one.format_help()
    assert help_text.endswith("\n".join(["examples:", *[f"  {example.command}" for example in shown]]) + "\n")
    for example in shown:
        assert one.prog in example.command


def test_there_are_no_examples_of_commands_that_are_gone() -> None:
    assert set(EXAMPLES) == {one.prog for one in parsers(parser())}
    assert {example.kind for shown in EXAMPLES.values() for example in shown} == {
        QUICK, SERVES, LIVE, STEERS, ATTACHES, LONG, MEASURES,
    }  # fmt: skip


# A folder as a person has it


def furnish(folder: Path) -> None:
    """The files that examples speak of."""
    tutorial = re.search(r"```xml\n(.*?)```", (ROOT / "docs" / "tutorials" / "federate.md").read_text(), re.S)
    assert tutorial is not None
    (folder / "harbour.xml").write_text(tutorial[1])
    federation = '[federation]\nname = "Harbour"\nfom = "harbour.xml"\n[[federate]]\nname = "tug"\ncommand = "python tug.py"\n'
    (folder / "harbour.toml").write_text(federation)
    ships = re.search(
        r"`ships.py`:\n\n```python\n(.*?)```", (ROOT / "docs/how-to/python-classes.md").read_text(), re.S
    )
    assert ships is not None
    (folder / "ships.py").write_text(ships[1])
    (folder / "my.fed").write_bytes(FED.replace(b"2D", b"Ground"))
    (folder / "my.rid").write_bytes(GRID_OF_TWO)
    for name, owner in (("a", "A"), ("b", "B"), ("my", "C")):
        (folder / f"{name}.xml").write_text(FOM.format(owner))
    (folder / "updates.csv").write_text("id,x_lower,x_upper\nnear,0,5\nfar,5,9\n")
    (folder / "subscriptions.csv").write_text("x_lower,x_upper\n4,5\n5,6\n")
    operations = re.search(
        r"`operations.toml`:\n\n```toml\n(.*?)```", (ROOT / "docs/explanation/channel.md").read_text(), re.S
    )
    assert operations is not None
    (folder / "operations.toml").write_text(operations[1])
    shell("weft schedule plan operations.toml -o schedule.toml")
    (folder / "traffic.csv").write_text("S1,S2,9\nS2,S3,9\nS3,S4,1\n")
    (folder / "latency.csv").write_text("S1,S2,0.1\nS3,S4,20\n")
    shell("weft domains plan --servers 16 --topology bus -o domains.toml")
    topology = parse_domains(Source("domains.toml", (folder / "domains.toml").read_bytes())).topology
    Journal(folder / "runs" / "journal" / "S1.journal", "S1", topology.fingerprint).close()
    record_a_run()
    for name in ("updates", "subscriptions"):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({"x_lower": [0, 5], "x_upper": [5, 9]}), folder / f"{name}.parquet")


def record_a_run() -> None:
    """As `weft demo` does it."""
    node = EmbeddedNode("demo")
    node.record("runs")
    play(Story(), node, 5, 0.001, 2)
    node.stop_recording()


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("furnished")
    before = Path.cwd()
    os.chdir(folder)
    try:
        furnish(folder)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def home(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy for each test, so that none depends on what another has left."""
    shutil.copytree(furnished, tmp_path / "home", copy_function=shutil.copy2)
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def shell(command: str) -> str:
    """What a shell makes of it, in this process: pipes, `>` and the one substitution that examples use."""
    if LAST in command:
        command = command.replace(LAST, shlex.quote(shell("weft runs --last").strip()))
    taken = ""
    for stage in command.split(" | "):
        words = shlex.split(stage)
        target, mode = "", ""
        for sign, how in ((">>", "a"), (">", "w")):
            if sign in words:
                at = words.index(sign)
                target, mode = words[at + 1], how
                words = words[:at]
        taken = run(words, taken)
        if target:
            with Path(target).open(mode) as file:
                file.write(taken)
    return taken


def run(words: list[str], given: str) -> str:
    if words[0] == "echo":
        return " ".join(words[1:]) + "\n"
    assert words[0] == "weft"
    out = io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given.encode()))
    code: object = 1
    try:
        with contextlib.redirect_stdout(out):
            code = main(words[1:])
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdin = before
    assert code == 0, f"{words} ended with {code}\n{out.getvalue()}"
    return out.getvalue()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", of_kind(QUICK))
def test_a_quick_example(command: str) -> None:
    """It says something, or writes the file that it names."""
    if command.startswith("weft timeline"):
        write_run("runs", "avionics", simulate(PAPER, 0.1, preemptive=False), wall_clock=False)
    said = shell(command)
    written = re.search(r"(?:-o|--output|--out|>>?) (\S+)", command)
    assert said or (written is not None and Path(written[1]).exists())


def test_examples_that_ask_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the usual port as far as they know."""
    with serving() as server:
        monkeypatch.setenv("FEDPRO_CLIENT_OVERRIDES", f"connect.port={server.ports['tcp']}")
        for command in of_kind(LIVE):
            said = shell(command)
            assert (
                "Proven: all worlds agree." if command.startswith("weft prove") else "Nobody waits."
            ) in said


def test_examples_that_steer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as they stand there, with the key that a server has left below runs."""
    mine = home / "runs" / "server" / "20010101-000000-000000"
    with serving(run_directory=str(mine)) as server:
        talker = Talker(server.address(), federation="Range")
        monkeypatch.setenv("FEDPRO_CLIENT_OVERRIDES", f"connect.port={server.ports['tcp']}")
        said = [shell(example.command) for example in EXAMPLES["weft steer"]]
        assert said[0].startswith("Range: paused by the operator")
        assert "10 steps to come" in said[1]
        assert said[2] == "Range: time advances\n"
        talker.rti.leave()


def test_examples_of_a_console(home: Path) -> None:
    """They say where the pages are, and end when they are told to."""
    with serving() as server:
        environment = {**os.environ, "FEDPRO_CLIENT_OVERRIDES": f"connect.port={server.ports['tcp']}"}
        for command in of_kind(ATTACHES):
            words = [sys.executable, "-m", "weft.cli", *shlex.split(command)[1:]]
            with subprocess.Popen(
                words, cwd=home, env=environment, text=True, stdout=subprocess.PIPE
            ) as process:
                assert process.stdout is not None
                assert any("http://127.0.0.1:" in line for line in process.stdout)
                process.send_signal(signal.SIGTERM)


def test_examples_that_serve(home: Path) -> None:
    """They greet, and end in order when they are told to; on ports that are free."""
    environment = {**os.environ, "WEFT_SERVE_PORT": "0", "PYTHONUNBUFFERED": "1"}
    running = []
    try:
        for command in of_kind(SERVES):
            words = [sys.executable, "-m", "weft.cli", *shlex.split(command)[1:]]
            running.append(
                subprocess.Popen(
                    words,
                    cwd=home,
                    env=environment,
                    text=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            )
        for process in running:
            assert process.stdout is not None
            assert "serves" in process.stdout.readline()
            assert process.stdout.readline().strip().startswith("tcp")
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.communicate(timeout=240)
            assert process.returncode == 0
    finally:
        for process in running:
            process.kill()


@pytest.mark.soak
@pytest.mark.parametrize("command", of_kind(LONG))
def test_a_long_example(command: str, home: Path, tmp_path: Path) -> None:
    """In a real shell; a review ends with 1 if it has found something."""
    (tmp_path / "bin").mkdir()
    weft = tmp_path / "bin" / "weft"
    weft.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m weft.cli "$@"\n')
    weft.chmod(0o755)
    if LAST in command:
        shell("weft demo --steps 20 --step-ms 1 --no-review")
    if command.startswith(("weft sql", "weft compare", "weft trend", "weft lake")):
        record_a_run()
        main(["review", "runs"])
    if command.startswith("weft tune") and "--out" not in command:
        for written in ("domains.toml", "schedule.toml"):  # by hand, and so they would not be replaced
            (home / written).unlink()
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    running = subprocess.Popen(
        ["bash", "-c", command], cwd=home, env={**os.environ, "PATH": path}, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        said, _ = running.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # a test that ran out of time leaves nobody behind
    judges = ("weft review", "weft compare", "weft trend")
    allowed = (0, 1) if command.startswith(judges) else (0,)
    assert running.returncode in allowed, said


@pytest.mark.soak
@pytest.mark.parametrize("command", of_kind(MEASURES))
def test_a_benchmark_begins_and_can_be_stopped(command: str, home: Path) -> None:
    """It says what it measures; Ctrl-C on the terminal reaches all its processes, and none is left."""
    words = [sys.executable, "-m", "weft.cli", *shlex.split(command)[1:]]
    master, slave = pty.openpty()  # progress is for terminals
    running = subprocess.Popen(words, cwd=home, start_new_session=True, stdout=slave, stderr=slave)
    os.close(slave)
    try:
        said = os.read(master, 4096)
        os.killpg(running.pid, signal.SIGINT)
        with contextlib.suppress(OSError):  # the end of a terminal
            while more := os.read(master, 4096):
                said += more
        running.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        os.close(master)
    assert running.returncode == 130, said.decode()
    assert b"Traceback" not in said


def test_an_example_is_a_value() -> None:
    assert Example("weft doctor") == Example("weft doctor", QUICK)
