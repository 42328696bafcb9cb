"""Commands that are killed (SIGKILL) in the middle of their work: as they touch a file for the n-th time.

Each is a process of its own, forked from one that has loaded what commands need: a hundred deaths are a matter of seconds.  Files
are opened, renamed, removed and made through Python, whose audit hooks tell of it before it is done.  Where that is done by
others (the writer of Delta Lake), the process is killed when there are so many files, or when it has said so many lines.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, TypedDict

TOUCHES = frozenset({"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.utime"})
KILLED = -signal.SIGKILL
_LOADED = (
    "weft.cli.analyse.review_many",
    "weft.cli.analyse.runs_compact",
    "weft.review.many.reviewing",
    "weft.review.report",
    "weft.review.lake.delta",
    "pyarrow.dataset",
    "deltalake",
)
_LOOK = 0.001  # seconds


class EndedCommand(NamedTuple):
    code: int
    touches: int
    """Of files below the folder; 0 if it was killed."""
    said: str


class _Asked(TypedDict):
    function: str
    words: list[str]
    below: str
    touch: int
    files: int
    lines: int


class _Answer(TypedDict):
    code: int
    touches: int
    said: str


class KilledCommands:
    """The process that forks them; `with` ends it."""

    def __enter__(self) -> KilledCommands:
        command = [sys.executable, "-c", "from support.killed_commands import serve; serve()"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(
        self,
        *words: str,
        below: Path,
        touch: int = 0,
        files: int = 0,
        lines: int = 0,
        function: str = "weft.cli:main",
    ) -> EndedCommand:
        """`weft WORDS`, or a function of its words.  It dies at that touch of a file below the folder, or when there are so
        many files, or lines are said; 0: never.  Whatever it has started has ended, too, when this returns."""
        asked = _Asked(
            function=function, words=[*words], below=str(below), touch=touch, files=files, lines=lines
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer: _Answer = json.loads(self._process.stdout.readline())
        return EndedCommand(**answer)


def serve() -> None:
    for name in _LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(_carried_out(json.loads(line))), flush=True)


def _carried_out(asked: _Asked) -> _Answer:
    with tempfile.TemporaryFile() as counted:
        heard, said = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(said, 1)
            os.dup2(said, 2)
            _run(asked, counted.fileno())
        os.close(said)
        texts: list[bytes] = []
        with os.fdopen(heard, "rb") as stream:
            listener = threading.Thread(target=_listen, args=(stream, child, asked["lines"], texts))
            listener.start()
            code = _ended(child, asked)
            listener.join()
        counted.seek(0)
        return _Answer(code=code, touches=int(counted.read() or 0), said=b"".join(texts).decode())


def _listen(stream: IO[bytes], child: int, lines: int, texts: list[bytes]) -> None:
    """Until all who can say something have ended."""
    for line in stream:
        texts.append(line)
        if len(texts) == lines:
            os.kill(child, signal.SIGKILL)


def _ended(child: int, asked: _Asked) -> int:
    ended, status = os.waitpid(child, os.WNOHANG if asked["files"] else 0)
    while not ended:
        if sum(1 for _ in _files(asked["below"])) >= asked["files"]:
            os.kill(child, signal.SIGKILL)
        time.sleep(_LOOK)
        ended, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status)


def _files(top: str) -> Iterator[str]:
    for _, _, names in os.walk(top):
        yield from names


def _run(asked: _Asked, counted: int) -> None:
    """In the child, which it ends."""
    below, touch, touches = asked["below"], asked["touch"], 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal touches
        if event in TOUCHES and arguments and below in str(arguments[0]):
            touches += 1
            if touches == touch:
                os.kill(os.getpid(), signal.SIGKILL)

    code = 70
    try:
        module, _, name = asked["function"].partition(":")
        work = getattr(importlib.import_module(module), name)
        sys.addaudithook(hook)
        code = work(asked["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        count, touch = touches, 0
        os.write(counted, str(count).encode())
        sys.stdout.flush()
        os._exit(code)
