"""`weft` commands that have a console, as users run them."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.console_in_thread import WAIT


class Command:
    """A `weft` process that has said where its console is."""

    def __init__(self, folder: Path, *arguments: str, console: str = "1") -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "WEFT_CONSOLE_ON": console}
        self.errors = folder / f"errors of {arguments[0]}"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "weft.cli", *arguments],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.said: list[str] = []
        self.url = self.find(r"console\s+(http\S+)")
        self.looking = self.find(r"to look\s+(http\S+)")

    def find(self, pattern: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if match := re.search(pattern, line):
                return match[1]
        raise AssertionError(f"it did not say {pattern}: {''.join(self.said)}")

    def address(self) -> str:
        return next(line.split()[1] for line in self.said if line.startswith("  tcp"))

    def picture(self) -> dict[str, Any]:
        return self.get("/api/picture")

    def get(self, path: str) -> dict[str, Any]:
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.netloc, timeout=WAIT)
        try:
            token = place.query.removeprefix("token=")
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            found: dict[str, Any] = json.loads(connection.getresponse().read())
            return found
        finally:
            connection.close()

    def consoles(self) -> list[int]:
        """The processes that this one has started for its console."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(")")[2].split()[1])
                words = (status.parent / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if parent == self.process.pid and b"weft.console" in words:
                found.append(int(status.parent.name))
        return found


@contextmanager
def command(folder: Path, *arguments: str) -> Iterator[Command]:
    one = Command(folder, *arguments)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait(WAIT)
        assert one.process.stdout is not None
        one.process.stdout.close()
