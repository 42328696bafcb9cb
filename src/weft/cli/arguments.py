"""Numbers on the command line: out of range is an error of usage, said by argparse in one line."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def whole(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{value} is less than {minimum}")
        return value

    return number


def real(minimum: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or value < minimum:
            raise argparse.ArgumentTypeError(f"{text} is not a number of at least {minimum:g}")
        return value

    return number
