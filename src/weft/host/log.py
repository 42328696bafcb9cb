"""The log of a node, for people (a line of text) or for programs (a JSON object for each line; docs/how-to/logs.md).

Whoever reports hands over a text; where it is a `LogText`, JSON also has its event, level and whom it concerns.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

from weft.model.log_text import INFO, OTHER, LogText

TEXT: Final = "text"
JSON: Final = "json"
FORMS: Final = (TEXT, JSON)


class Log:
    """Called with a text, it writes a line to all its files at once; a thread may do so while another does."""

    def __init__(self, node: str, form: str, *files: TextIO, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._form = form
        self._files = files
        self._clock = clock

    def __call__(self, text: str) -> None:
        self._write(self._text(text) if self._form == TEXT else self._json(text))

    def detail(self, text: str) -> None:
        """What would be too much for people to read, and is not for programs."""
        if self._form == JSON:
            self._write(self._json(text))

    def _text(self, text: str) -> str:
        return f"{time.strftime('%H:%M:%S', time.localtime(self._clock()))} {text}"

    def _json(self, text: str) -> str:
        level, event, about = INFO, OTHER, dict[str, str]()
        if isinstance(text, LogText):
            level, event, about = text.level, text.event, text.about
        when = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        return json.dumps(
            {
                "time": when.replace("+00:00", "Z"),
                "level": level,
                "node": self._node,
                **about,
                "event": event,
                "text": str(text),
            },
            ensure_ascii=False,
        )

    def _write(self, line: str) -> None:
        """In one piece, so that lines of several threads do not mix; a lone surrogate in a name is no reason to fail."""
        whole = line.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"
        for file in self._files:
            file.write(whole)
            file.flush()
