"""Locks on files that go with the process that holds them, whatever ends it: several may share one, or one has it alone.

Where files have locks of their own (`system.FILE_LOCKS`) it is these, elsewhere those of SQLite, which locks a file on every
system.  All who lock a file must do it in the same way, as all on one machine do.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from weft.host import system
from weft.host.files.private import private


class FileLock(Protocol):
    """A lock, until it is closed."""

    def close(self) -> None: ...


def share(path: Path) -> FileLock | None:
    """Wait for nobody to have it alone, and hold it with others; None if the file was removed meanwhile."""
    if not system.FILE_LOCKS:
        return _share_by_sqlite(path)
    import fcntl

    held = open(path, "ab", opener=private)  # noqa: SIM115 - closed by whoever holds it
    fcntl.flock(held, fcntl.LOCK_SH)
    if os.fstat(held.fileno()).st_nlink:
        return held
    held.close()
    return None


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Whether nobody else holds it, who is then kept out as long as this lasts."""
    if not system.FILE_LOCKS:
        with _claimed_by_sqlite(path) as mine:
            yield mine
        return
    import fcntl

    with open(path, "ab", opener=private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = True
        except BlockingIOError:
            mine = False
        yield mine


def _share_by_sqlite(path: Path) -> FileLock | None:
    held = _connection(path, timeout=3600.0)
    held.execute("BEGIN")
    held.execute("SELECT count(*) FROM sqlite_master")  # whoever reads shares, until the transaction ends
    if path.exists():
        return held
    held.close()
    return None


@contextlib.contextmanager
def _claimed_by_sqlite(path: Path) -> Iterator[bool]:
    with contextlib.closing(_connection(path, timeout=0.0)) as file:
        try:
            file.execute("BEGIN EXCLUSIVE")
            mine = True
        except sqlite3.OperationalError:
            mine = False
        yield mine


def _connection(path: Path, timeout: float) -> sqlite3.Connection:
    """Closed by another thread than the one that made it, as the recording's are."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return sqlite3.connect(path, timeout, isolation_level=None, check_same_thread=False)
