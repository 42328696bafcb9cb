"""Processes of this machine: who wrote something, and is it still there?"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TypedDict


class ProcessInfo(TypedDict, total=False):
    """Names a process, also when its number is used again."""

    host: str  # its machine
    pid: int
    started: int | None  # in ticks since the boot


def this_process() -> ProcessInfo:
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": _stat(os.getpid())[1]}


def is_alive(process: ProcessInfo) -> bool | None:
    """Is a process that `this_process` has described still there?  None: that cannot be seen from here."""
    pid = process.get("pid")
    if not isinstance(pid, int) or process.get("host") != socket.gethostname():
        return None
    if os.name != "posix":
        return None  # to ask would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is somebody else's
    state, started = _stat(pid)
    if state in ("Z", "X"):
        return False  # it has ended, and its parent has not looked yet
    return started is None or process.get("started") in (None, started)


def _stat(pid: int) -> tuple[str, int | None]:
    """The state of a process and when it was started; nothing where the system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = told.rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, ValueError, IndexError):
        return "", None
