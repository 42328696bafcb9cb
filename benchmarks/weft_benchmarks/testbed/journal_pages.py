"""What a journal really writes, by what it is for (S1-19).

SQLite writes whole pages, to a log beside the file (WAL).  Each page belongs to one table, and the tables of the clock are not
those of the queues.  While this looks, nothing of the log is put into the file itself, so that every page that was written is
still there to be counted.  Putting it there later writes each changed page once more, however often it was written to the log.
"""

from __future__ import annotations

import struct
from pathlib import Path

from weft.host.mesh.journal import Journal

CLOCK = ("clocks", "told", "cells", "missing")
_HEADER = 32
_FRAME = 24


class JournalPages:
    """Counts from where it was made on."""

    def __init__(self, journal: Journal) -> None:
        self._base = journal._base
        self._log = Path(f"{journal.path}-wal")
        self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._base.execute("PRAGMA wal_autocheckpoint = 0")

    def written(self) -> dict[str, int]:
        """Bytes for the clock, and for all else."""
        data = self._log.read_bytes() if self._log.exists() else b""
        found = {"clock": 0, "other": 0}
        if len(data) < _HEADER:
            return found
        owners = {page: name for name, page in self._base.execute("SELECT name, pageno FROM dbstat")}
        size, salt = struct.unpack_from(">I", data, 8)[0], data[16:24]
        for at in range(_HEADER, len(data) - _FRAME - size + 1, _FRAME + size):
            if data[at + 8 : at + 16] != salt:
                break  # left over from before
            (page,) = struct.unpack_from(">I", data, at)
            found["clock" if owners.get(page) in CLOCK else "other"] += _FRAME + size
        return found
