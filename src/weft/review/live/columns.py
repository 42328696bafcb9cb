"""Tables that are sorted by one number and looked up by it, and other things that state is kept in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array


class Sorted:
    """Rows of several columns, sorted by `key`, each key once."""

    def __init__(self, **kinds: npt.DTypeLike) -> None:
        self.kinds = {name: np.dtype(kind) for name, kind in kinds.items()}
        self.key = np.empty(0, np.int64)
        self.columns = {name: np.empty(0, kind) for name, kind in self.kinds.items()}

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def find(self, keys: Array) -> tuple[Array, Array]:
        """Places, and whether they are there; a place of what is not there means nothing."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        places = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return places, self.key[places] == keys

    def add(self, keys: Array, columns: Mapping[str, Array], rows: Array) -> None:
        """Those of the rows (a mask) whose keys are not there; of equal ones the first.  Columns that are not given are 0."""
        keys, first = np.unique(keys[rows], return_index=True)
        places = np.searchsorted(self.key, keys)
        self.key = np.insert(self.key, places, keys)
        for name, kind in self.kinds.items():
            given = columns.get(name)
            values = np.zeros(len(keys), kind) if given is None else np.asarray(given)[rows][first]
            self.columns[name] = np.insert(self.columns[name], places, values)

    def keep(self, rows: Array) -> None:
        """Only those (a mask)."""
        if not rows.all():
            self.key = self.key[rows]
            self.columns = {name: column[rows] for name, column in self.columns.items()}


class Words:
    """Numbers for texts, of which there are few; 0 is null."""

    def __init__(self) -> None:
        self.texts: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def number(self, text: str | None) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found

    def numbers(self, table: pa.Table, name: str) -> Array:
        codes, texts = arrow.words(table, name)
        known = np.array([0, *(self.number(text) for text in texts)], np.int32)
        return known[np.asarray(codes, np.int64) + 1]


class WaitingRows:
    """Rows that are not looked at before everything up to their time has been read."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []

    @property
    def rows(self) -> int:
        return sum(len(table) for table in self._tables)

    def add(self, table: pa.Table) -> None:
        if len(table):
            self._tables.append(table)

    def take(self, column: str, before: int) -> pa.Table | None:
        """Those whose time is less, or None."""
        if not self._tables:
            return None
        table = pa.concat_tables(self._tables)
        due = pc.less(table.column(column), before)
        ready = table.filter(due)
        rest = table.filter(pc.invert(due))
        self._tables = [rest.combine_chunks()] if len(rest) else []
        return ready if len(ready) else None
