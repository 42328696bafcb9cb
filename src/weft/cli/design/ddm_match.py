"""`weft ddm match`: files of boxes in, overlapping pairs out.

A file of boxes has, for each dimension D, the columns D_lower and D_upper with whole numbers; a column `id` may name the
boxes, otherwise they are numbered by row from 0.  Other columns are left alone.  Pairs have the columns update and
subscription.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.cli.arguments import add_out
from weft.interest.matching import match
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    from weft.interest.matching.sweep import Boxes, Pairs

PARQUET = (".parquet", ".pq")
SUFFIXES = ("_lower", "_upper")


class BoxFile(NamedTuple):
    name: str
    dimensions: list[str]
    boxes: Boxes
    ids: Any  # a column of names, or None where boxes are numbered


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"{parser.description}\n\n{(__doc__ or '').partition(chr(10) * 2)[2].strip()}"
    parser.add_argument("updates", metavar="UPDATES", help="boxes of updates (.parquet, otherwise CSV)")
    parser.add_argument("subscriptions", metavar="SUBSCRIPTIONS", help="boxes of subscriptions (likewise)")
    parser.add_argument("--closed", action="store_true", help="upper bounds are part of the boxes (HLA 1.3)")
    add_out(parser, "FILE", "write the pairs there (.parquet, otherwise CSV)")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with the counts, and no pairs"
    )


def run(arguments: argparse.Namespace) -> int:
    updates, subscriptions = read_boxes(arguments.updates), read_boxes(arguments.subscriptions)
    if sorted(updates.dimensions) != sorted(subscriptions.dimensions):
        raise SettingsError(
            f"{updates.name} has the dimensions {', '.join(updates.dimensions)}, "
            f"but {subscriptions.name} has {', '.join(subscriptions.dimensions)}"
        )
    found = match(updates.boxes, subscriptions.boxes, arguments.closed)
    if arguments.out:
        _write(_table(updates, subscriptions, found), arguments.out)
    if arguments.json:
        counts = {"updates": len(updates.boxes), "subscriptions": len(subscriptions.boxes)}
        print(json.dumps({**counts, "pairs": len(found.updates)}))
    elif not arguments.out:
        sys.stdout.write(_csv(_table(updates, subscriptions, found)).decode())
    return 0


# Reading


def read_boxes(name: str) -> BoxFile:
    """Dimensions in alphabetical order, so that files need not agree on the order of their columns."""
    import numpy as np

    from weft.interest.matching.sweep import Boxes

    table = _read(name)
    columns = table.column_names
    dimensions = sorted(column.removesuffix("_lower") for column in columns if column.endswith("_lower"))
    uppers = sorted(column.removesuffix("_upper") for column in columns if column.endswith("_upper"))
    if not dimensions or dimensions != uppers:
        raise SettingsError(
            f"{name}: expected columns D_lower and D_upper for each dimension D, found {', '.join(columns) or 'none'}"
        )
    lowers, tops = (np.stack([_numbers(table, d + s, name) for d in dimensions]) for s in SUFFIXES)
    ids = table["id"] if "id" in columns else None
    return BoxFile(name, dimensions, Boxes(lowers, tops), ids)


def _read(name: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        return (
            parquet.ParquetFile(name).read() if Path(name).suffix.lower() in PARQUET else csv.read_csv(name)
        )
    except OSError as error:
        raise SettingsError(f"{name}: cannot be read: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise SettingsError(f"{name}: cannot be read: {' '.join(str(error).split())}") from None


def _numbers(table: Any, column: str, name: str) -> Any:
    import pyarrow as pa

    values = table[column]
    if len(values) == 0:
        values = values.cast(pa.int64())
    if not pa.types.is_integer(values.type):
        raise SettingsError(f"{name}: column {column} must hold whole numbers of 64 bits, not {values.type}")
    if values.null_count:
        missing = next(place for place, value in enumerate(values) if not value.is_valid)
        raise SettingsError(f"{name}: column {column} has no number in row {missing}")
    try:
        return values.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        raise SettingsError(f"{name}: column {column} must hold whole numbers of 64 bits") from None


# Writing


def _table(updates: BoxFile, subscriptions: BoxFile, found: Pairs) -> Any:
    import numpy as np
    import pyarrow as pa

    order = np.lexsort((found.subscriptions, found.updates))
    sides = ((updates, found.updates), (subscriptions, found.subscriptions))
    columns = []
    for file, places in sides:
        sorted_places = pa.array(places[order].astype(np.int64))
        columns.append(sorted_places if file.ids is None else file.ids.take(sorted_places))
    return pa.table({"update": columns[0], "subscription": columns[1]})


def _write(table: Any, name: str) -> None:
    from pyarrow import parquet

    try:
        if Path(name).suffix.lower() in PARQUET:
            parquet.write_table(table, name)
        else:
            Path(name).write_bytes(_csv(table))
    except OSError as error:
        raise SettingsError(f"{name}: cannot be written: {error.strerror or error}") from None


def _csv(table: Any) -> bytes:
    """Text in quotes, numbers and the names of the columns without."""
    import pyarrow as pa
    from pyarrow import csv

    rows = pa.BufferOutputStream()
    csv.write_csv(table, rows, csv.WriteOptions(include_header=False))
    text: bytes = rows.getvalue().to_pybytes()
    return ",".join(table.column_names).encode() + b"\n" + text
