"""`weft status` and `weft top` against real servers, `weft top` in a real terminal (a pty); nothing sleeps (issue 9, 2)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.server_in_thread import Talker, serving
from weft import CallbackModel, FederateAmbassador, HLAinteger64Time, RTIambassador, RtiConfiguration
from weft.cli import main
from weft.cli.data import object_model
from weft.cli.observe.top import PERIOD, Wake, _wait
from weft.cli.terminal.asking import Asker, NodeAccess, ask_all
from weft.cli.terminal.keyboard import Keyboard, Keys
from weft.host.conventions import OPERATOR
from weft.host.server.guard import hash_password, read_password_file
from weft.model.errors import RTIinternalError
from weft.model.time import HLAinteger64Interval

Capture = pytest.CaptureFixture[str]
PATIENCE = 240.0


def joined(address: str, name: str, federation: str = "Harbour") -> RTIambassador:
    rti = RTIambassador()
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED, RtiConfiguration(rti_address=address))
    with contextlib.suppress(Exception):
        rti.create_federation_execution(federation, object_model("range.xml"), "HLAinteger64Time")
    rti.join_federation_execution(name, "test", federation)
    rti.enable_time_regulation(HLAinteger64Interval(1))
    rti.enable_time_constrained()
    while rti.evoke_multiple_callbacks(0.0, 0.0):
        pass
    return rti


@contextlib.contextmanager
def hanging(address: str) -> Iterator[list[RTIambassador]]:
    """`fast` waits for `slow`."""
    both = [joined(address, "slow"), joined(address, "fast")]
    both[1].time_advance_request(HLAinteger64Time(40))
    try:
        yield both
    finally:
        for rti in both:
            rti.leave()


# weft status


def test_the_status_of_a_federation_that_hangs(capsys: Capture) -> None:
    """Who blocks whom in the first line; --json has the same; --check ends with 1 if somebody waits too long."""
    with serving() as server, hanging(server.address()):
        assert main(["status", server.address()]) == 0
        first, *rest = capsys.readouterr().out.splitlines()
        assert first.startswith("Harbour: slow blocks fast")
        assert any(re.search(r"fast +test .*for 40 TAR", line) for line in rest)
        assert main(["status", server.address(), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [(one["blocker"], one["blocks"]) for one in found["blocking"]] == [("slow", ["fast"])]
        assert found["federations"]["Harbour"]["federates"]["fast"]["blocked_by"] == ["slow"]
        assert main(["status", server.address(), "--check", "--patience", "3600"]) == 0
        nobody = "127.0.0.1:1"
        assert main(["status", server.address(), nobody, "--check", "--patience", "3600"]) == 1
        shown = capsys.readouterr()
        assert "node 127.0.0.1:1 is down: " in shown.err
        assert main(["top", server.address()]) == 0
        assert "slow blocks fast" in capsys.readouterr().out


def test_a_server_that_is_not_there(capsys: Capture) -> None:
    """Without --check an error of its own; with it, the answer is the exit code."""
    assert main(["status", "127.0.0.1:1"]) == 2
    assert "Connection refused" in capsys.readouterr().err
    assert main(["status", "127.0.0.1:1", "--check"]) == 1


def test_a_server_that_asks_for_a_password(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDPRO_CLIENT_SETTINGS", "connect.clearTextPassword=true")
    guard = read_password_file(f'[users.alice]\npassword = "{hash_password("sesame")}"', "users.toml", True)
    with serving(guard=guard) as server:
        assert main(["status", server.address(), "--password", "alice:sesame"]) == 0
        assert main(["status", server.address()]) == 2
        assert main(["status", server.address(), "--operator-key", "nowhere.key"]) == 2
    assert "operator.key in the run directory that the server names" in capsys.readouterr().err


class Surveyed:
    """Stands in for an ambassador; it answers with surveys, or refuses as servers of different ages do."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers
        self.left = 0
        self.connected = 0

    def __call__(self) -> Any:
        return self

    def connect(self, *_: Any) -> None:
        self.connected += 1

    def leave(self) -> None:
        self.left += 1

    def query_survey(self, sections: tuple[str, ...]) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def query_status(self) -> list[Any]:
        return []


def test_a_node_is_asked_again_after_it_was_gone() -> None:
    """A new connection, the node's name kept; rates from one answer to the next."""
    clock = iter(range(100)).__next__
    counts = [
        {"node": "S1", "now": n, "server": {"messages": n * 10}, "federations": {}} for n in (1.0, 2.0, 3.0)
    ]
    node = Surveyed([counts[0], RTIinternalError("gone"), counts[1], counts[2]])
    asker = Asker("h:1", clock=clock, make=node)
    first, gone, again, last = (asker.ask(()) for _ in range(4))
    assert (first.node, gone.node, gone.why, again.node) == ("S1", "S1", "gone", "S1")
    assert gone.age > 0
    assert (node.connected, node.left) == (2, 1)
    server: Any = last.survey["server"]
    assert server["messages_rate"] == 10.0


def test_an_older_server_is_asked_for_its_status() -> None:
    """It refuses a call that it does not know, once; any other refusal is told."""
    unknown = RTIinternalError("an own call of Weft that this version does not know: 'query_survey'")
    node = Surveyed([unknown])
    assert Asker("h:1", make=node).ask(()).survey == {"node": "h:1", "federations": {}}
    assert not node.answers
    node = Surveyed([RTIinternalError("Unauthorized")])
    (answer,) = ask_all(["h:1"], NodeAccess(), (), make=node)
    assert answer.why == "Unauthorized"


def test_the_operator_key(tmp_path: Path) -> None:
    (tmp_path / "operator.key").write_text("secret\n")
    found = NodeAccess(operator_key=str(tmp_path / "operator.key")).credentials()
    assert found is not None
    assert (found.type, found.data) == (OPERATOR, b"secret")


# Keys


@pytest.mark.parametrize(
    ("pieces", "names"),
    [
        ([b"qs"], ["q", "s"]),
        ([b"\x1b[A\x1bOB"], ["up", "down"]),
        ([b"\x1b", b"[", b"5", b"~q"], ["page up", "q"]),
        ([b"\x1b[1;5Zx"], ["x"]),
        ([b"\x1bx"], ["escape", "x"]),
        ([b"\xc3\xa9q"], ["q"]),
    ],
)
def test_bytes_become_keys(pieces: list[bytes], names: list[str]) -> None:
    """In whatever pieces they come."""
    keys = Keys()
    assert [name for piece in pieces for name in keys.feed(piece)] == names
    whole = Keys()
    assert whole.feed(b"".join(pieces)) == names


def test_the_escape_key() -> None:
    keys = Keys()
    assert keys.feed(b"\x1b") == []
    assert keys.is_unsure
    assert keys.settle() == ["escape"]
    assert not keys.is_unsure


# weft top


class Terminal:
    """`weft top` in a pty: what it has written since somebody last looked, and keys to press."""

    def __init__(self, *arguments: str, columns: int = 100, rows: int = 30) -> None:
        self.ours, theirs = pty.openpty()
        self.size(columns, rows)
        self.before = termios.tcgetattr(theirs)
        # Whoever runs tests may have said how wide a terminal is; here it is as wide as it is.
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment["TERM"] = "xterm-256color"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "weft.cli", "top", *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
        )  # fmt: skip
        self.theirs = theirs
        self.raw = b""

    def size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, *words: str, width: int = 1000) -> None:
        """Reads until all of them are in what was written since the last frame began, and it is no wider."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = re.sub(
                r"\x1b\[[0-9;?]*[A-Za-z]", "", self.raw.rpartition(b"\x1b[H")[2].decode(errors="replace")
            )
            widest = max((len(line) for line in text.splitlines()), default=0)
            if all(word in text for word in words) and widest <= width:
                return
            ready, _, _ = select.select([self.ours], [], [], 0.5)
            if ready:
                with contextlib.suppress(OSError):
                    self.raw += os.read(self.ours, 65536)
        raise AssertionError(f"{words} not in {text}")

    def press(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for one in made:
        one.end()


def test_top_in_a_terminal(terminals: list[Terminal]) -> None:
    """Alternate screen, who blocks, keys, a narrow window, a server that goes away and comes back, and the end."""
    with serving() as server:
        port = server.ports["tcp"]
        top = Terminal(server.address())
        terminals.append(top)
        with hanging(server.address()):
            top.wait_for("Harbour: slow blocks fast", "for 40 TAR", "sort: name", "R/C")
            assert b"\x1b[?1049h" in top.raw
            top.press("s")
            top.wait_for("sort: waits")
            top.press("?")
            top.wait_for("jump to who blocks")
            top.press("x")
            top.wait_for("for 40 TAR")
            top.size(40, 12)
            top.process.send_signal(signal.SIGWINCH)
            top.wait_for("slow blocks fast", "q quit", width=40)
            top.size(100, 30)
            top.process.send_signal(signal.SIGWINCH)
        top.wait_for("1 federation")
    top.wait_for("Down: server")
    with serving(port=port):
        top.wait_for("Nobody waits.", "no federations")
    top.press("q")
    assert top.process.wait(PATIENCE) == 0
    while select.select([top.ours], [], [], 0)[0]:  # a terminal gives a page at a time
        top.raw += os.read(top.ours, 65536)
    assert b"\x1b[?1049l" in top.raw
    assert termios.tcgetattr(top.theirs) == top.before


def test_frames_that_no_key_asks_for_are_half_a_second_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many answers come; a key is served at once (in a pipe here, in place of a terminal)."""
    reads, writes = os.pipe()
    monkeypatch.setattr(sys, "stdin", None)
    keyboard = Keyboard()
    keyboard.descriptor = reads
    with Wake() as wake:
        for _ in range(100_000):  # more than the pipe takes
            wake.up()
        drawn = time.monotonic()
        assert _wait(keyboard, wake, drawn) == []
        assert time.monotonic() >= drawn + PERIOD
        wake.up()
        os.write(writes, b"sq")
        assert _wait(keyboard, wake, time.monotonic() + 3600) == ["s", "q"]
        os.write(writes, b"\x1b")
        assert _wait(keyboard, wake, time.monotonic()) == ["escape"]
    os.close(writes)
    assert keyboard.read() == ["q"]  # the terminal is gone
    os.close(reads)


def test_top_is_stopped(terminals: list[Terminal]) -> None:
    """SIGTERM: the terminal is left as it was."""
    top = Terminal("127.0.0.1:1")
    terminals.append(top)
    top.wait_for("Down: 127.0.0.1:1")
    top.process.send_signal(signal.SIGTERM)
    assert top.process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert termios.tcgetattr(top.theirs) == top.before


def test_talkers_are_counted(capsys: Capture) -> None:
    """Of a federate without logical time there is no time to show."""
    with serving() as server:
        talker = Talker(server.address())
        assert main(["status", server.address()]) == 0
        shown = capsys.readouterr().out
        assert "F: 1 federate, 0 instances" in shown
        assert "time " not in shown
        talker.leave()
