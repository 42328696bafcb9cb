"""The operator's side of a server's `operator.key`: finding it and reading it, for all who steer or look
(docs/how-to/steering.md).

The server's side, which makes and checks it, is `server.guard.OperatorKey`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from weft.host.conventions import OPERATOR
from weft.host.server.guard import OPERATOR_KEY
from weft.model.errors import SettingsError
from weft.model.records import Credentials

SERVER_RUNS = Path("runs") / "server"
_WHERE = f"{OPERATOR_KEY} in the run directory that the server names when it starts"


def operator_credentials(path: str | Path, option: str = "") -> Credentials:
    return Credentials(OPERATOR, read_key(path, option).encode())


def read_key(path: str | Path, option: str = "") -> str:
    """`option`: by which the person named the file, if it was one."""
    said = f"{option} {path}".strip()
    try:
        key = Path(path).read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"{said}: {error.strerror or error}; it is {_WHERE}") from error
    if not key:
        raise SettingsError(f"{said}: there is no key in it; it is {_WHERE}")
    if not key.isascii() or len(key.split()) != 1:
        raise SettingsError(f"{said}: this is no operator key, which is one word; it is {_WHERE}")
    return key.decode("ascii")


def key_of_run(run_directory: Path) -> str:
    """Of a server on this machine; empty where there is none, not yet or no longer, and then one may only look."""
    try:
        return read_key(run_directory / OPERATOR_KEY)
    except SettingsError:
        return ""


def newest_key(below: Path = SERVER_RUNS) -> Path:
    """Of the server that was started last from here and has not been stopped."""
    found = []
    for path in below.glob(f"*/{OPERATOR_KEY}"):
        with contextlib.suppress(OSError):  # its server is stopping
            found.append((path.stat().st_mtime, path))
    if not found:
        raise SettingsError(
            f"there is no {OPERATOR_KEY} below {below}: run this where `weft serve` was started, or give --operator-key FILE "
            f"({_WHERE})"
        )
    return max(found)[1]
