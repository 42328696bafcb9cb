"""`weft top`: nodes and federations, live in a terminal (docs/how-to/status.md).

Each node is asked by a thread of its own, twice a second, so that one that hangs holds up nobody; the main thread waits for keys,
answers and changes of the window's size at once, and draws.  Without a terminal of POSIX there is one plain frame.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self

from weft.cli.arguments import Commands, servers_of
from weft.cli.observe.status import add_nodes, door_of
from weft.cli.observe.status import run as run_status
from weft.cli.observe.top_view import TopView, frame
from weft.cli.terminal.asking import SHORT, Asker
from weft.cli.terminal.facts import SurveyAnswer, picture_of
from weft.cli.terminal.facts_lines import ScreenLine
from weft.cli.terminal.keyboard import Keyboard
from weft.console.surveys import SurveyPicture

if TYPE_CHECKING:
    from rich.text import Text

PERIOD = 0.5  # seconds from one question to the next, and between two frames that no key has asked for
_ESCAPE = 0.05  # seconds in which the rest of an escape sequence comes


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "top",
        help="watch running nodes and their federations, live",
        description="Watch running nodes and their federations, live: who blocks whom, times, rates, queues. "
        "Keys: q quit, ? help. Where standard output is no terminal, one plain frame is printed.",
    )
    add_nodes(parser)
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    if not sys.stdout.isatty() or os.name != "posix":
        return run_status(argparse.Namespace(**vars(arguments), json=False, check=False, patience=0.0))
    credentials = door_of(arguments).credentials()
    askers = [Asker(address, credentials) for address in servers_of(arguments)]
    with Wake() as wake, Watch(askers, wake) as watch:
        return _show(watch, wake)


class Wake:
    """Ends the main thread's wait: for another thread, or for a signal."""

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe()
        os.set_blocking(self._writes, False)
        os.set_blocking(self.reads, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.reads)
        os.close(self._writes)

    def up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full: there is enough to wake for
            os.write(self._writes, b".")

    def take(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.reads, 4096):
                pass


class Watch:
    """Asks all nodes again and again, and has the latest answers."""

    def __init__(self, askers: Sequence[Asker], wake: Wake) -> None:
        self._askers = askers
        self._wake = wake
        self._lock = threading.Lock()
        self._answers: dict[int, SurveyAnswer] = {}
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._attend, args=(place, asker), name=f"ask {asker.address}", daemon=True
            )
            for place, asker in enumerate(askers)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Who hangs in a question is not waited for: the process ends."""
        self._stop.set()
        for thread in self._threads:
            thread.join(0.2)

    def _attend(self, place: int, asker: Asker) -> None:
        while not self._stop.is_set():
            answer = asker.ask(SHORT)
            if self._stop.is_set():
                break
            with self._lock:
                self._answers[place] = answer
            self._wake.up()
            self._stop.wait(PERIOD)
        asker.close()

    def picture(self) -> SurveyPicture:
        with self._lock:
            found = [self._answers[place] for place in sorted(self._answers)]
            waiting = [one for place, one in enumerate(self._askers) if place not in self._answers]
        picture = picture_of(found)
        for asker in waiting:
            picture["nodes"].setdefault(
                asker.address, {"state": "starting", "why": "has not answered yet", "address": asker.address}
            )
        return picture


@contextlib.contextmanager
def _signals(wake: Wake) -> Iterator[list[int]]:
    """The list gets the signals that end us; a window that changes its size only wakes."""
    asked: list[int] = []

    def end(number: int, _: object) -> None:
        asked.append(number)
        wake.up()

    wanted = ((signal.SIGTERM, end), (signal.SIGHUP, end), (signal.SIGWINCH, lambda *_: wake.up()))
    before = {number: signal.signal(number, handler) for number, handler in wanted}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(watch: Watch, wake: Wake) -> int:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False, markup=False)
    view = TopView()
    with (
        _signals(wake) as ended,
        Keyboard() as keyboard,
        Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live,
    ):
        while True:
            picture = watch.picture()
            width, height = console.size
            shown = frame(picture, view, width, height, time.strftime("%H:%M:%S"))
            live.update(_as_rich(shown), refresh=True)
            for key in _wait(keyboard, wake, drawn=time.monotonic()):
                view = view.press(key, picture)
            if view.quit or ended:
                return 128 + ended[0] if ended else 0


def _wait(keyboard: Keyboard, wake: Wake, drawn: float) -> list[str]:
    """Until a key is there, or something new that may be drawn: frames that no key asks for are PERIOD apart."""
    news = False
    while True:
        left = drawn + PERIOD - time.monotonic()
        if news and left <= 0:
            return []
        sources = [] if keyboard.descriptor < 0 else [keyboard.descriptor]
        timeout: float | None = left if news else None
        if keyboard.is_unsure:
            timeout = _ESCAPE
        if not news:
            sources.append(wake.reads)
        ready, _, _ = select.select(sources, [], [], timeout)
        if wake.reads in ready:
            wake.take()
            news = True
        if keyboard.descriptor in ready:
            keys = keyboard.read()
            if keys:
                return keys
        elif keyboard.is_unsure:
            return keyboard.settle()


def _as_rich(lines: Sequence[ScreenLine]) -> Text:
    from rich.text import Text

    made = Text(no_wrap=True, end="")
    for place, one in enumerate(lines):
        if place:
            made.append("\n")
        for text, style in one.spans:
            made.append(text, style or None)
    return made
