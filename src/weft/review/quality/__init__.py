"""Data quality: what is wrong with the data of a run, found before anything is judged by it, and named (docs/how-to/review.md).

What can be put right is (a file that is there twice is read once, one with another name is read in its place); for the rest,
`Doubt.nodes` says whose rows are not all there, or are not to be trusted.  Findings that lean on these are unsure, and
never violations.
"""

from weft.review.quality.clocks import clocks
from weft.review.quality.doubts import CLOCK, FIGURE, GAP, NOTE, WRONG, Doubt, altered, damaged, known
from weft.review.quality.files import inspect

__all__ = [
    "CLOCK",
    "FIGURE",
    "GAP",
    "NOTE",
    "WRONG",
    "Doubt",
    "altered",
    "clocks",
    "damaged",
    "inspect",
    "known",
]
