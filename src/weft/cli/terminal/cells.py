"""How many cells of a terminal a text takes: wide letters and pictures two, accents that stand on another letter none."""

from __future__ import annotations

from unicodedata import category, east_asian_width


def cell_len(text: str) -> int:
    """Return how many cells the text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def set_cell_size(text: str, size: int) -> str:
    """Return the text in exactly `size` cells: cut, or with blanks behind; half a letter is a blank."""
    taken = 0
    for place, one in enumerate(text):
        taken += _cells(one)
        if taken > size:
            return text[:place] + " " * (size - taken + _cells(one))
    return text + " " * (size - taken)


def _cells(one: str) -> int:
    if category(one) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(one) in "WF" else 1
