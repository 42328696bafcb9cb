"""Programs in a network of their own: a namespace with a loopback interface and nothing else, made and ended by the test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
_LOOPBACK_UP = """
import fcntl, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    IFF_UP, SIOCSIFFLAGS = 1, 0x8914
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
"""


@cache
def why_not() -> str:
    """Why there can be no such network here; empty if there can."""
    if shutil.which("unshare") is None:
        return "there is no unshare (util-linux)"
    tried = subprocess.run(
        ["unshare", "--map-root-user", "--net", sys.executable, "-c", _LOOPBACK_UP],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return tried.stderr.strip().splitlines()[-1] if tried.returncode else ""


def run_apart(program: str, *arguments: str, timeout: float = 300.0) -> str:
    """The output of a Python program that runs there.

    Where this machine allows no network of one's own (containers often do not), on its loopback interface, from which nothing
    gets out either; only its ports are shared with others then.
    """
    begin, enter = (_LOOPBACK_UP, ["unshare", "--map-root-user", "--net"]) if not why_not() else ("", [])
    ended = subprocess.run(
        [
            *enter,
            *(sys.executable, "-c", f"{begin}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n{program}"),
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
