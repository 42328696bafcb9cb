"""Service reports in files of the run directory: one file for each federate, a JSON object for each line.

A file is made when its first line comes, and ends with a word about it when it has grown to its limit.  A disk that is full
stops the reports, never the federation.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from weft.host.files.private import make_private
from weft.model.log_text import ERROR, WARNING, LogText

LIMIT = 64 << 20  # bytes for each file


class ReportFiles:
    def __init__(self, report: Callable[[str], None], limit: int = LIMIT) -> None:
        self._report = report
        self._limit = limit
        self._files: dict[str, TextIO | None] = {}  # None: no more is written there
        self._sizes: dict[str, int] = {}

    def write(self, name: str, line: str) -> None:
        try:
            if name not in self._files:
                self._open(name)
            file = self._files[name]
            if file is not None:
                self._append(name, file, line)
        except OSError as error:
            self._stop(name)
            text = f"no more service reports to {name}: {error.strerror or error}"
            self._report(LogText(text, "service-reports-ended", ERROR, file=name))

    def _open(self, name: str) -> None:
        self._files[name] = None
        path = Path(name)
        make_private(path.parent)
        self._sizes[name] = path.stat().st_size if path.exists() else 0
        path.touch(0o600)
        self._files[name] = path.open("a", encoding="utf-8")

    def _append(self, name: str, file: TextIO, line: str) -> None:
        self._sizes[name] += len(line.encode()) + 1
        if self._sizes[name] > self._limit:
            file.write('{"end": "the file has reached its limit; later services are not reported here"}\n')
            self._stop(name)
            text = f"no more service reports to {name}: it has reached {self._limit} bytes"
            self._report(LogText(text, "service-reports-ended", WARNING, file=name))
        else:
            file.write(line + "\n")
            file.flush()

    def _stop(self, name: str) -> None:
        file = self._files.get(name)
        self._files[name] = None
        if file is not None:
            file.close()

    def close(self) -> None:
        """What is open; it may be gone on with later."""
        for name in [name for name, file in self._files.items() if file is not None]:
            self._stop(name)
            del self._files[name]
