"""Processes of this machine: who wrote something, and is it still there?"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    """What names it, also when its number is used again: machine, number, and when it was started, in ticks since the boot."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid())}


def is_alive(process: dict[str, Any]) -> bool | None:
    """Is a process that `this_process` has described still there?  None: that cannot be seen from here."""
    pid = process.get("pid")
    if not isinstance(pid, int) or process.get("host") != socket.gethostname():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is somebody else's
    started = process.get("started")
    return started is None or _started(pid) in (None, started)


def _started(pid: int) -> int | None:
    """None where the system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(told.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
