"""A process with an event channel that is joined to others; it tells what its consumer gets, and does what it is told.

python -m support.event_channel_process ADDRESS [PEER …]

push N          push an event with that number
end             close the channel, and end
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import weft
from weft.channel import Event, on

KIND = 16
PATIENCE = 240.0


def say(text: str) -> None:
    """In one piece, whichever thread it is that speaks."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(address: str, *peers: str) -> None:
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    channel = weft.open_channel("test", address, peers=peers or None)
    supplier = channel.supply((1, KIND), name="peer")
    channel.consume(lambda events: say(f"got {events[0].origin} {events[0].payload}"), on(KIND))
    say("ready")
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "end":
            break
        supplier.push(Event(KIND, 1, int(rest[0])))
    channel.close()
    weft.stop_node()


class Peer:
    """Such a process, as a test sees it."""

    def __init__(self, folder: Path, name: str, *peers: str) -> None:
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        settings = {"WEFT_FABRIC_LOST_SECONDS": "1", "WEFT_FABRIC_RETRY_SECONDS": "0.02"}
        self.name = name
        self.said: list[str] = []
        self._heard = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.event_channel_process", f"mesh://{name}@domains.toml", *peers],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._heard:
                self.said.append(line.strip())
                self._heard.notify_all()
        with self._heard:
            self._heard.notify_all()

    def until(self, condition: Callable[[list[str]], bool], what: str) -> None:
        with self._heard:
            done = self._heard.wait_for(lambda: condition(self.said), PATIENCE)
        assert done, f"{self.name}: not within {PATIENCE:g} s: {what}; it said {self.said}"

    def has(self, text: str) -> None:
        self.until(lambda said: any(text in one for one in said), text)

    def got(self) -> list[str]:
        return [one.removeprefix("got ") for one in self.said if one.startswith("got ")]

    def hears(self, what: str, seconds: float) -> bool:
        with self._heard:
            return self._heard.wait_for(lambda: what in self.got(), seconds)

    def push(self, number: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"push {number}\n")
        self._process.stdin.flush()

    def push_until(self, number: int, others: list[Peer]) -> None:
        """Again and again, until it has arrived: what is wanted may not be known yet."""
        deadline = time.monotonic() + PATIENCE
        for attempt in range(number, number + 10_000):
            self.push(attempt)
            for other in others:
                other.hears(f"{self.name} {attempt}", 0.2)
            if all(f"{self.name} {attempt}" in other.got() for other in others):
                return
            assert time.monotonic() < deadline, (
                f"{self.name} reaches {[other.said for other in others]} never"
            )

    def kill(self) -> None:
        """As kill -9 does."""
        self._process.kill()
        self._gone()

    def end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._gone()

    def _gone(self) -> None:
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
