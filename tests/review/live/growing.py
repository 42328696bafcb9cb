"""Runs whose manifests get one line after the other, as recorders write them."""

from __future__ import annotations

import random
from pathlib import Path

from review.simulation import Row, write
from support.manifests import list_anew
from weft.host.recording.manifest import FOLDER


class Growing:
    """One run; it grows when it is asked to."""

    def __init__(self, run: Path, rows: list[Row], seed: int = 0, closed: bool = True) -> None:
        self.run = list_anew(write(run, rows), closed)
        self._dice = random.Random(seed)
        self._left: dict[Path, list[str]] = {}
        for path in sorted((self.run / FOLDER).iterdir()):
            lines = path.read_text().splitlines(keepends=True)
            path.write_text(lines[0])
            self._left[path] = lines[1:]

    def grow(self) -> bool:
        """A line or two of each node; returns whether there are more."""
        for path, lines in self._left.items():
            for _ in range(self._dice.randint(1, 2)):
                if lines:
                    with path.open("a") as file:
                        file.write(lines.pop(0))
        return any(self._left.values())
