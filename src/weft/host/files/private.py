"""Folders and files for their owner's eyes only: what federates sent is theirs, and an operator key lies among it.

Only what is made here gets these modes; whoever wants others to read along opens a folder to them once, and it stays open.
"""

from __future__ import annotations

import os
from pathlib import Path


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
