"""Line numbers for a TOML document.

tomllib says where a text is not TOML, but not where a value stands.  This reads a text that tomllib has accepted once more, only
to find the line of every key and of every element of an array, by its path: ("domains", "A", 2).  Tables, dotted keys, inline
tables, arrays of tables and all four kinds of strings count.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from itertools import count

Path = tuple[str | int, ...]


def places(text: str) -> dict[Path, int]:
    """The line, from 1, of every key, table and array element of a valid document."""
    return _Reader(text.replace("\r\n", "\n")).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ends = [at for at, letter in enumerate(text) if letter == "\n"]
        self.lines: dict[Path, int] = {}
        self.array_tables: dict[Path, int] = {}

    def read(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip():
            if self._peek("["):
                table = self._header()
            else:
                self._pair(table)
        return self.lines

    # Position

    def _peek(self, start: str) -> bool:
        return self.text.startswith(start, self.at)

    def _line(self) -> int:
        return bisect_left(self.ends, self.at) + 1

    def _skip(self, stop_at_line_end: bool = False) -> bool:
        """Past white space, line ends and comments; is anything left?"""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "#":
                self.at = self.text.find("\n", self.at) % (len(self.text) + 1)
            elif letter in " \t" or (letter == "\n" and not stop_at_line_end):
                self.at += 1
            else:
                return True
        return False

    def _mark(self, path: Path) -> None:
        self.lines.setdefault(path, self._line())

    # Structure

    def _header(self) -> Path:
        """[a.b] or [[a.b]]; within an array of tables the path has the number of the element."""
        double = self._peek("[[")
        line_at = self.at
        self.at += 2 if double else 1
        keys = self._keys()
        self._skip()
        self.at += 2 if double else 1
        here, self.at = self.at, line_at
        path: Path = ()
        for place, key in enumerate(keys):
            path = (*path, key)
            self._mark(path)
            if path in self.array_tables and not (double and place == len(keys) - 1):
                path = (*path, self.array_tables[path])
        if double:
            self.array_tables[path] = self.array_tables.get(path, -1) + 1
            path = (*path, self.array_tables[path])
            self._mark(path)
        self.at = here
        return path

    def _pair(self, table: Path) -> None:
        line_at = self.at
        path: Path = table
        keys = self._keys()
        here, self.at = self.at, line_at
        for key in keys:
            path = (*path, key)
            self._mark(path)
        self.at = here
        self._skip()
        self.at += 1  # =
        self._skip()
        self._value(path)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip()
            keys.append(self._key())
            self._skip(stop_at_line_end=True)
            if not self._peek("."):
                return keys
            self.at += 1

    def _key(self) -> str:
        start = self.at
        if self.text[start] in "\"'":
            self._string()
            parsed: dict[str, object] = tomllib.loads(f"{self.text[start : self.at]} = 0")
            return next(iter(parsed))
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_-"):
            self.at += 1
        return self.text[start : self.at]

    def _value(self, path: Path) -> None:
        if self._peek("["):
            for number in self._members("]"):
                self._mark((*path, number))
                self._value((*path, number))
        elif self._peek("{"):
            for _ in self._members("}"):
                self._pair(path)
        elif self.text[self.at] in "\"'":
            self._string()
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}\n#":
                self.at += 1

    def _members(self, end: str) -> Iterator[int]:
        """At each member of an array or of an inline table in turn, with its number; whoever asks reads it."""
        self.at += 1
        for number in count():
            if not self._skip() or self._peek(end):
                break
            yield number
            self._skip()
            if self._peek(","):
                self.at += 1
        self.at += 1

    def _string(self) -> None:
        quote = self.text[self.at]
        if self._peek(quote * 3):
            self.at = self._end_of(quote * 3, self.at + 3, quote == '"')
            while self._peek(quote):  # a text may end with one or two quotes of its own
                self.at += 1
        else:
            self.at = self._end_of(quote, self.at + 1, quote == '"')

    def _end_of(self, quote: str, at: int, escapes: bool) -> int:
        while not self.text.startswith(quote, at):
            at += 2 if escapes and self.text[at] == "\\" else 1
        return at + len(quote)
