"""Files as the recorder writes them, read by Spark's own reader: the same rows as Arrow finds (issue 8, items 1 and 4)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from weft.host.recording.files import NodeFiles
from weft.host.recording.runs import open_run
from weft.host.recording.writers import Part, Writer
from weft.recorder import COLUMNS, Book


def fill(book: Book, seed: int, entries: int) -> None:
    """Messages and other things, with and without everything that a row may have."""
    chance = random.Random(seed)
    shapes = []
    for number in range(chance.choice([1, 4, 300])):
        items = tuple(f"P{place}" for place in range(chance.randrange(4)))
        first = (("kind", "send"), ("federate", number), ("items", items), ("class", f"C{number}"))
        others = tuple(chance.sample(range(1, 9), chance.randrange(4)))
        rows = [(*first, ("destinations", others))] + [
            (("kind", "deliver"), ("federate", one)) for one in others
        ]
        shapes.append((book.learn(number, tuple(rows)), items))
    for message in range(1, entries + 1):
        shape, items = chance.choice(shapes)
        values = {item: chance.randbytes(chance.randrange(20)) for item in items}
        thing = chance.choice([-1, chance.randrange(2**40)])
        book.enter(shape, message * 0.001, message, thing, values, chance.randbytes(chance.randrange(3)))
        if chance.random() < 0.3:
            time = chance.choice([None, chance.random(), chance.randrange(10**6)])
            more = {"vector": (message, 2), "detail": f"text {message}", "queue": 3, "rate": 0.5, "cells": ()}
            book.add(1, message, time, chance.randrange(2), more if chance.random() < 0.5 else None)
        if chance.random() < 0.1:
            book.enter_packed(shape, message * 0.001, message, -1, chance.randbytes(9))


@pytest.mark.parametrize(("seed", "entries"), [(1, 1), (2, 40), (3, 700), (4, 5000)])
def test_spark_reads_what_the_recorder_writes(spark: Any, tmp_path: Path, seed: int, entries: int) -> None:
    files = NodeFiles(tmp_path / "run", "A", 1, {"federation": "F", "start_ns": 1})
    book, sequence = Book(), 1
    for part in range(2):
        fill(book, seed + 10 * part, entries)
        batch = book.take()
        assert batch is not None
        book = Book()
        Writer().write(files.next_path(), files.metadata, [Part(batch, sequence)], 10**18)
        sequence += batch.rows
    files.write_node(
        {"node": "A", "began_ns": 1, "ended_ns": 2, "rows": sequence - 1, "dropped": 0, "others": []}
    )
    expected = open_run(tmp_path / "run").read().sort_by("seq")
    found = spark.read.parquet(str(tmp_path / "run" / "rows")).orderBy("seq").toArrow()
    assert found.num_rows == expected.num_rows == sequence - 1
    for column in COLUMNS:
        assert found.column(column.name).to_pylist() == expected.column(column.name).to_pylist(), column.name
