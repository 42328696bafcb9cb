"""The blocks of the documents, and how they are run (tests/test_docs.py)."""

from __future__ import annotations

import contextlib
import glob
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from weft.cli import main

ROOT = Path(__file__).resolve().parents[2]
RUNNABLE = ("python", "py", "console", "bash", "sh", "shell")
_BLOCK = re.compile(r"(?:as `(?P<name>[\w.]+)`[^`]*)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)
LONG_RUNNING = re.compile(r"weft serve\b")
_PLAIN = re.compile(r"weft (fom|domains|ddm|timeline|journal|runs|export) [^|<>&;$()]*|weft runs")


class Block(NamedTuple):
    document: str
    name: str
    """Of the file that the reader is told to save it as; "" if there is none."""
    language: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """By which tables name it: the document and the first line."""
        return self.document, self.text.partition("\n")[0]

    @property
    def commands(self) -> list[str]:
        """Of a console block: what is typed.  With prompts, what has none is output."""
        lines = self.text.splitlines()
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return typed or [line for line in lines if line]


def documents() -> list[str]:
    """Every page a reader may read, by its path in the repository."""
    pages = sorted(page for page in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *(str(page.relative_to(ROOT)) for page in pages)]


def blocks(document: str) -> list[Block]:
    text = (ROOT / document).read_text()
    return [
        Block(
            document,
            (found["language"] != "console" and found["name"]) or "",
            found["language"],
            found["text"],
        )
        for found in _BLOCK.finditer(text)
    ]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "WEFT_SERVE_PORT": str(free_port())}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, shell=True, cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )


@contextlib.contextmanager
def serving(command: str, folder: Path) -> Iterator[str]:
    """A command that runs until it is stopped, from when it says that it serves; its first address."""
    running = subprocess.Popen(
        command.replace("weft", f"exec {sys.executable} -m weft.cli", 1),
        shell=True,
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    try:
        first = [running.stdout.readline(), running.stdout.readline()]
        if "serves" not in first[0]:
            raise AssertionError(f"{command}: {first} {running.communicate()[1]}")
        yield first[1].split()[1]
    finally:
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate()
    assert running.returncode == 0, f"{command}: exit code {running.returncode}\n{errors}"


def check_command(command: str, expected: str, folder: Path) -> None:
    done = run_here(command, folder) if _PLAIN.fullmatch(command) else run(command, folder)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert not expected or done.stdout == expected, f"{command}\n{done.stdout}{done.stderr}"


def run_here(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of Weft that needs no shell, in this process: starting Python takes longer than most of them."""
    words = []
    for word in shlex.split(command)[1:]:
        words += sorted(glob.glob(word, root_dir=folder)) if "*" in word else [word]
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        code = main(words)
    return subprocess.CompletedProcess(command, code, said.getvalue(), errors.getvalue())


def ways(text: str, instead: dict[str, str]) -> str:
    """With what a reader has to put in for himself: addresses, folders of runs."""
    for said, meant in instead.items():
        text = text.replace(said, meant)
    return text


def follow(document: str, folder: Path, left_out: set[tuple[str, str]], instead: dict[str, str]) -> None:
    """Do what a page says, from top to bottom: save files, type commands and compare what they print to the letter.

    A server that the page starts runs to the end of the page.
    """
    with contextlib.ExitStack() as servers:
        for block in blocks(document):
            if block.key in left_out:
                continue
            text = ways(block.text, instead)
            if block.name:
                (folder / block.name).write_text(text)
            elif block.language == "console":
                commands = Block(document, "", "console", text).commands
                for command in commands:
                    if LONG_RUNNING.match(command):
                        servers.enter_context(serving(command, folder))
                    else:
                        prompt = len(commands) == 1 and text.startswith("$ ")
                        check_command(command, text.partition("\n")[2] if prompt else "", folder)
            elif block.language == "python":
                (folder / "example.py").write_text(text)
                check_command("python example.py", "", folder)
            elif block.language != "text":
                raise AssertionError(f"{document}: a block without a file name:\n{block.text[:200]}")
