"""How many cells of a terminal a text takes: wide letters and pictures two, accents that stand on another letter none.

Where rich is installed it is rich that counts, since it draws `weft top`, and knows pictures made of several letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width


def plain_cell_len(text: str) -> int:
    """Return how many cells the text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def plain_set_cell_size(text: str, size: int) -> str:
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


if TYPE_CHECKING:
    cell_len, set_cell_size = plain_cell_len, plain_set_cell_size
else:
    try:
        from rich.cells import cell_len, set_cell_size
    except ImportError:
        cell_len, set_cell_size = plain_cell_len, plain_set_cell_size
