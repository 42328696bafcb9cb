"""Folders and files for their owner's eyes only: what federates sent is theirs, and an operator key lies among it.

What must survive a crash is written beside its place, under a name that begins with a dot, brought to the disk, and renamed into
its place: there is the old one or the new one, never a part.

Only what is made here gets these modes; whoever wants others to read along opens a folder to them once, and it stays open.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO


def make_private(folder: Path, exist_ok: bool = True) -> None:
    """The folder and those above it that are missing: 700."""
    missing = [folder, *folder.parents]
    while len(missing) > 1 and missing[-1].exists():
        missing.pop()
    for one in reversed(missing[1:]):
        one.mkdir(0o700, exist_ok=True)  # another process may be faster
    folder.mkdir(0o700, exist_ok=exist_ok)


def private(path: str, flags: int) -> int:
    """An opener, for `open`: a file that does not exist yet is made as 600."""
    return os.open(path, flags, 0o600)


def write_whole(path: Path, data: bytes) -> None:
    """Raises OSError."""
    write_by(path, lambda file: file.write(data))


def write_by(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """The same, by whoever can write to a file."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb", opener=private) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
