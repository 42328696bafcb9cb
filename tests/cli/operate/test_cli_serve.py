"""`weft serve` and `weft passwd`, as a user runs them."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.server_in_thread import Talker
from weft.cli import main
from weft.host.server.guard import read_password_file


def test_a_server_greets_serves_and_ends_properly(tmp_path: Path) -> None:
    """On start: address, lines to paste, run directory.  SIGTERM: federates resign and are told, exit 0."""
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "serve", "--port", "0"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(9)]
    text = "".join(said)
    port = next(line for line in said if line.strip().startswith("tcp")).strip().rsplit(":", 1)[1]
    for word in ("run directory runs", "Python ", "C++ ", "Java ", f"crcAddress=127.0.0.1:{port}"):
        assert word in text
    talker = Talker(f"127.0.0.1:{port}", "FedPro.FED_TIMEOUT_RECONNECT=1")
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=240)
    assert process.returncode == 0
    assert "stopped" in complaints
    while not talker.ears.resigned and not talker.ears.lost:
        talker.rti.evoke_callback(5.0)
    assert talker.ears.resigned == ["the server is shutting down"]
    talker.rti.leave()
    assert list(tmp_path.glob("runs/server/*/server.log"))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tls-port", "0", "--settings", "nowhere.toml"], "nowhere.toml"),
        (["--port", "0", "--tls-port", "1"], "--cert and --cert-key"),
        (["--port", "0", "--password-file", "nobody.toml"], "security.password_file"),
    ],
)
def test_a_server_that_cannot_start_says_why(flags: list[str], said: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "weft.cli", "serve", *flags]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_entry_for_the_password_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("sesame\n"))
    assert main(["passwd", "alice"]) == 0
    entry = capsys.readouterr().out
    assert "sesame" not in entry
    assert read_password_file(entry, "users.toml") is not None
