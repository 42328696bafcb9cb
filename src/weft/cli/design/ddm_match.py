"""`weft ddm match`: boxes in, overlapping pairs out.

Boxes come from a Parquet or CSV file, or from a folder of Parquet files, here or in a store.  For each dimension D there are the
columns D_lower and D_upper with whole numbers; a column `id` may name the boxes, otherwise they are numbered by row from 0.
Other columns are left alone.  Pairs have the columns update and subscription.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.arguments import MASTER_HELP, add_master, add_out, asks_for_spark, cluster_of, complain, say
from weft.host.box_files import PARQUET, BoxBatch, BoxSource, open_boxes
from weft.host.storage import place_of
from weft.interest.matching import match
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.interest.matching.sweep import Pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"{parser.description}\n\n{(__doc__ or '').partition(chr(10) * 2)[2].strip()}"
    parser.add_argument(
        "updates", metavar="UPDATES", help="boxes of updates (.parquet, a folder, otherwise CSV)"
    )
    parser.add_argument("subscriptions", metavar="SUBSCRIPTIONS", help="boxes of subscriptions (likewise)")
    parser.add_argument("--closed", action="store_true", help="upper bounds are part of the boxes (HLA 1.3)")
    add_out(
        parser,
        "PLACE",
        "write the pairs there (.parquet, otherwise CSV; with --master a folder of Parquet files)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with the counts, and no pairs"
    )
    add_master(
        parser, None, f"tile by tile on Spark, for more boxes than one process can hold: {MASTER_HELP}"
    )


def run(arguments: argparse.Namespace) -> int:
    updates, subscriptions = open_boxes(arguments.updates), open_boxes(arguments.subscriptions)
    if updates.dimensions != subscriptions.dimensions:
        raise SettingsError(
            f"{updates.name} has the dimensions {', '.join(updates.dimensions)}, "
            f"but {subscriptions.name} has {', '.join(subscriptions.dimensions)}"
        )
    if asks_for_spark(arguments):
        return _by_spark(arguments, updates, subscriptions)
    sides = updates.read(), subscriptions.read()
    found = match(sides[0].boxes, sides[1].boxes, arguments.closed)
    if arguments.out:
        _write(_table(*sides, found), arguments.out)
    if arguments.json:
        counts = {"updates": len(sides[0].boxes), "subscriptions": len(sides[1].boxes)}
        print(json.dumps({**counts, "pairs": len(found.updates)}))
    elif not arguments.out:
        sys.stdout.write(_csv(_table(*sides, found)).decode())
    return 0


def _by_spark(arguments: argparse.Namespace, updates: BoxSource, subscriptions: BoxSource) -> int:
    from weft.review.matching import match_on_spark

    if not arguments.out and not arguments.json:
        raise SettingsError(
            "--master: say with --out FOLDER where the pairs go, or with --json that you want counts"
        )
    out = place_of(arguments.out) if arguments.out else None
    found = match_on_spark(updates, subscriptions, out, arguments.closed, cluster_of(arguments), say=say)
    say("")
    if arguments.json:
        print(json.dumps(found.as_data()))
    else:
        complain([found.told])
    return 0


# Writing


def _table(updates: BoxBatch, subscriptions: BoxBatch, found: Pairs) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    order = np.lexsort((found.subscriptions, found.updates))
    sides = ((updates, found.updates), (subscriptions, found.subscriptions))
    columns = [side.ids.take(pa.array(places[order].astype(np.int64))) for side, places in sides]
    return pa.table({"update": columns[0], "subscription": columns[1]})


def _write(table: pa.Table, name: str) -> None:
    from pyarrow import parquet

    place = place_of(name)
    is_parquet = place.suffix.lower() in PARQUET
    try:
        if place.local is None:
            place.write_by(partial(parquet.write_table, table)) if is_parquet else place.write(_csv(table))
        elif is_parquet:
            parquet.write_table(table, name)
        else:
            Path(name).write_bytes(_csv(table))
    except OSError as error:
        raise SettingsError(f"{name}: cannot be written: {error.strerror or error}") from None


def _csv(table: pa.Table) -> bytes:
    """Text in quotes, numbers and the names of the columns without."""
    import pyarrow as pa
    from pyarrow import csv

    rows = pa.BufferOutputStream()
    csv.write_csv(table, rows, csv.WriteOptions(include_header=False))
    text: bytes = rows.getvalue().to_pybytes()
    return ",".join(table.column_names).encode() + b"\n" + text
