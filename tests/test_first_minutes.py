"""Issue 9, "A person's first five minutes": from a fresh clone to a federation at work, and nothing half built on the way."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
AT_WORK = re.compile(r"^ *\d+\.\d{3} s  (aircraft|tank|observer) ")
GENEROUS = 3600
HOT = ["src/weft/kernel/message/pipeline.py", "src/weft/host/files/cbor.py"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `make demo` looks at, with a `weft` that only says how it was called."""
    for name in ("Makefile", "setup.py", "mypyc.ini"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "hot_modules.txt").write_text("\n".join([f"{HOT[0]}  # the way", HOT[1], "# all", ""]))
    for name in HOT:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    weft = tmp_path / ".venv" / "bin" / "weft"
    weft.parent.mkdir(parents=True)
    weft.write_text('#!/bin/sh\necho "called: $* ${WEFT_PURE:-compiled}"\n')
    weft.chmod(0o755)
    (tmp_path / ".venv" / ".ready").touch()
    for number, file in enumerate(sorted(one for one in tmp_path.rglob("*") if one.is_file())):
        os.utime(file, (1_000_000 + number, 1_000_000 + number))
    os.utime(tmp_path / ".venv" / ".ready", (2_000_000, 2_000_000))
    return tmp_path


def _demo(checkout: Path) -> str:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("WEFT_PURE", "MAKEFLAGS")
    }
    done = subprocess.run(
        ["make", "demo"], cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    called = re.findall(r"^called: demo (\w+)$", done.stdout, re.M)
    assert len(called) == 1, done.stdout
    return str(called[0])


def _stamp(checkout: Path, at: int) -> None:
    (checkout / ".venv" / ".built").touch()
    os.utime(checkout / ".venv" / ".built", (at, at))


def test_the_demo_waits_for_no_compiler(checkout: Path) -> None:
    """Nothing is built: pure Python at once."""
    assert _demo(checkout) == "1"
    assert not (checkout / ".venv" / ".built").exists()


def test_the_demo_uses_a_build_that_is_there(checkout: Path) -> None:
    _stamp(checkout, 3_000_000)
    assert _demo(checkout) == "compiled"


@pytest.mark.parametrize("newer", [*HOT, "hot_modules.txt", "setup.py", "mypyc.ini", ".venv/.ready"])
def test_the_demo_passes_over_a_stale_build(checkout: Path, newer: str) -> None:
    """One of the sources, or what they are built with, has changed since."""
    _stamp(checkout, 3_000_000)
    os.utime(checkout / newer, (4_000_000, 4_000_000))
    assert _demo(checkout) == "1"


def test_the_demo_passes_over_a_build_of_modules_that_are_gone(checkout: Path) -> None:
    _stamp(checkout, 3_000_000)
    (checkout / HOT[1]).unlink()
    assert _demo(checkout) == "1"


def _set_up(checkout: Path, **streams: Any) -> subprocess.CompletedProcess[str]:
    """With a Python and a uv that only say how they were called."""
    (checkout / ".venv" / ".ready").unlink()
    for name in ("python", "uv"):
        tool = checkout / ".venv" / "bin" / name
        tool.write_text(f'#!/bin/sh\necho "{name}: $*"\n')
        tool.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    return subprocess.run(
        ["make", "--no-print-directory", "setup", f"PYTHON={sys.executable}"],
        cwd=checkout, env=environment, text=True, check=True, timeout=240, **streams,
    )  # fmt: skip


def test_setting_up_says_how_much_is_fetched(checkout: Path) -> None:
    """In a log that, and nothing of each package; what is ready is said, too."""
    said = _set_up(checkout, capture_output=True).stdout.splitlines()
    packages = len(re.findall(r"^[\w.-]+==", (ROOT / "requirements" / "dev.txt").read_text(), re.M))
    assert re.fullmatch(
        rf"weft: setting up \.venv .* {packages} packages: about \d+ MB to fetch, .*Spark.*", said[0]
    )
    assert said[-1] == "weft: .venv is ready"
    installs = [line for line in said if line.startswith("uv: pip install ")]
    assert len(installs) == 2
    assert all(" --quiet " in line for line in installs)
    assert (checkout / ".venv" / ".ready").exists()


def test_on_a_terminal_uv_shows_its_progress(checkout: Path) -> None:
    """Of the many packages; the project itself takes no time."""
    master, slave = pty.openpty()
    try:
        _set_up(checkout, stdout=slave, stderr=slave)
        said = os.read(master, 1 << 16).decode()
    finally:
        os.close(master)
        os.close(slave)
    many, own = (line for line in said.splitlines() if line.startswith("uv: pip install "))
    assert " --quiet " not in many
    assert "requirements/dev.txt" in many
    assert " --quiet " in own


@pytest.mark.soak
@pytest.mark.timeout(GENEROUS)
def test_from_a_fresh_clone_to_a_federation_at_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`git clone`, `make demo`: the time until the first line of a federate is printed, not asserted.  Needs a package index."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no git checkout, so there is nothing to clone")
    began = time.monotonic()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), "weft"], cwd=tmp_path, check=True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("WEFT_PURE", "MAKEFLAGS", "PYTHONPATH")
    }
    running = subprocess.Popen(
        ["make", "demo", f"PYTHON={sys.executable}"],
        cwd=tmp_path / "weft",
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said: list[str] = []
    first = None
    try:
        assert running.stdout is not None
        for line in running.stdout:
            said.append(line)
            if first is None and AT_WORK.match(line):
                first = time.monotonic() - began
        code = running.wait()
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        if running.stdout is not None:
            running.stdout.close()
    assert first is not None, "".join(said)
    assert code == 0, "".join(said)
    with capsys.disabled():
        print(f"\nfrom `git clone` to a federation at work: {first:.0f} s")
        print(f"… to the end of `make demo`: {time.monotonic() - began:.0f} s")
