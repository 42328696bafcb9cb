"""Pieces: rows of one node that follow one another, as they lie in a file.

A node's files hold its rows in order, and a task reads a part of a file from front to back.  So whoever must look at rows in
order needs no shuffle and no sort: it judges each piece by itself, tells in a few numbers what the rows behind must be
compared with, and these are carried from piece to piece.  Pieces are cut by position and never by federate, so it does
not matter if one federate has nearly all rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Number: TypeAlias = np.int64 | np.float64
"""A logical time, of either kind."""


def split(seq: Array) -> Iterator[slice]:
    """The pieces of a batch: a number that does not grow begins another."""
    cuts = np.flatnonzero(seq[1:] <= seq[:-1]) + 1
    for begin, end in itertools.pairwise([0, *cuts.tolist(), len(seq)]):
        if begin < end:
            yield slice(begin, end)


def by_value(values: Array) -> Iterator[tuple[int, Array]]:
    """Each of these whole numbers with its places, in order."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    cuts = np.flatnonzero(sorted_values[1:] != sorted_values[:-1]) + 1
    for places in np.split(order, cuts):
        if len(places):
            yield int(values[places[0]]), places


def first_of_each(*columns: Array) -> Array:
    """Where a row stands for the first time: duplicates behind it are False."""
    order = np.lexsort(columns[::-1])
    same = np.ones(len(order), bool)
    for column in columns:
        inside = column[order]
        same[1:] &= inside[1:] == inside[:-1]
    first = np.zeros(len(order), bool)
    if len(order):
        same[0] = False
        first[order[~same]] = True  # lexsort is stable, so the first of equals is the earliest
    return first
