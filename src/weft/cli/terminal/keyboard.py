"""Keys of a terminal, without waiting for a whole line: what bytes mean (pure), and how they are read.

termios is imported only where a terminal is read: not every system has it.
"""

from __future__ import annotations

import os
import sys
from typing import Self

_SEQUENCES = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"\x1b[B": "down", b"\x1bOB": "down",
    b"\x1b[5~": "page up", b"\x1b[6~": "page down",
    b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home", b"\x1b[F": "end", b"\x1bOF": "end", b"\x1b[4~": "end",
}  # fmt: skip


class Keys:
    """Bytes in, names of keys out.  An escape sequence may come in pieces; what it is, is known when it is whole."""

    def __init__(self) -> None:
        self._left = b""

    @property
    def is_unsure(self) -> bool:
        """Is there the beginning of a sequence?  If nothing follows soon, it was the escape key: see `settle`."""
        return bool(self._left)

    def feed(self, data: bytes) -> list[str]:
        data = self._left + data
        self._left = b""
        found = []
        while data:
            if data[0] != 0x1B:
                if data[0] < 0x80:
                    found.append(chr(data[0]))
                data = data[1:]
                continue
            end = _end(data)
            if end == 0:
                self._left = data
                break
            name = _SEQUENCES.get(data[:end])
            found += [name] if name else ["escape"] if end == 1 else []
            data = data[end:]
        return found

    def settle(self) -> list[str]:
        left, self._left = self._left, b""
        return ["escape"] if left else []


def _end(data: bytes) -> int:
    """How long the sequence is that the data begins with; 0 if its end has not come."""
    if len(data) == 1:
        return 0
    if data[1:2] == b"O":
        return 3 if len(data) > 2 else 0
    if data[1:2] != b"[":
        return 1
    for at in range(2, len(data)):
        if 0x40 <= data[at] <= 0x7E:
            return at + 1
    return 0


class Keyboard:
    """Standard input as keys, if it is a terminal; it is left as it was found."""

    def __init__(self) -> None:
        self.descriptor = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else -1
        self._before: list[int | list[bytes | int]] = []
        self._keys = Keys()

    def __enter__(self) -> Self:
        if self.descriptor >= 0:
            import termios
            import tty

            self._before = termios.tcgetattr(self.descriptor)
            tty.setcbreak(self.descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            import termios

            termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self._before)

    @property
    def is_unsure(self) -> bool:
        return self._keys.is_unsure

    def read(self) -> list[str]:
        """To be called when there is something to read."""
        data = os.read(self.descriptor, 1024)
        if not data:  # the terminal is gone
            self.descriptor = -1
            return ["q"]
        return self._keys.feed(data)

    def settle(self) -> list[str]:
        return self._keys.settle()
