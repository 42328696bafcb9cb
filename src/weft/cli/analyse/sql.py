"""`weft sql "select …"`: the lake of results asked in SQL (docs/how-to/lake.md)."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import TYPE_CHECKING

from weft.cli.arguments import Commands, add_master, cluster_of, say
from weft.cli.terminal.facts_lines import clean
from weft.host.recording.files import DEFAULT_DIRECTORY
from weft.host.storage import place_of
from weft.model.extras import EXTRAS, require

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_LAKE = f"{DEFAULT_DIRECTORY}/lake"
WIDEST = 60  # letters of a column for people


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "sql",
        help="ask the lake of results in SQL; without a query: its tables and columns",
        description=(
            "Ask the lake of results, which `weft review FOLDER` fills, in SQL. Without a query it lists tables, views for "
            "questions that are often asked, and their columns."
        ),
    )
    parser.add_argument(
        "query", nargs="?", metavar="QUERY", help='like "select * from worst_latency limit 10"'
    )
    add_lake(parser)
    parser.add_argument(
        "--engine",
        choices=("duckdb", "spark"),
        help="by what (default: DuckDB where it is installed and the lake is small, else Spark)",
    )
    add_master(parser)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--csv", action="store_true", help="print the answer as CSV")
    either.add_argument("--json", action="store_true", help="print the answer as JSON, a line a row")
    parser.set_defaults(func=run)


def add_lake(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lake",
        default=DEFAULT_LAKE,
        metavar="PLACE",
        help="the lake: a folder or s3://… (default %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    require("weft sql", "lake", *EXTRAS["record"])
    from weft.review.query.engines import opened

    if arguments.query is None:
        print(json.dumps(contents()) if arguments.json else "\n".join(lines()))
        return 0
    with opened(place_of(arguments.lake), arguments.engine or "", cluster_of(arguments), None, say) as engine:
        found = engine.ask(arguments.query)
    if arguments.csv:
        written = csv.writer(sys.stdout, lineterminator="\n")
        written.writerow(found.column_names)
        written.writerows(row.values() for row in found.to_pylist())
    elif arguments.json:
        for row in found.to_pylist():
            print(json.dumps(row, default=str, ensure_ascii=False))
    else:
        print("\n".join(as_text(found)))
    return 0


def as_text(found: pa.Table) -> list[str]:
    """Columns as wide as what is in them; numbers to the right."""
    rows = [[_shown(value) for value in row.values()] for row in found.to_pylist()]
    count = f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"
    names = found.column_names
    widths = [
        min(WIDEST, max(len(name), *(len(row[place]) for row in rows), 0)) for place, name in enumerate(names)
    ]
    right = [_is_number(str(field.type)) for field in found.schema]

    def line(cells: list[str]) -> str:
        shown = (
            cell[:width].rjust(width) if number else cell[:width].ljust(width)
            for cell, width, number in zip(cells, widths, right, strict=True)
        )
        return "  ".join(shown).rstrip()

    return [line(names), line(["-" * width for width in widths]), *map(line, rows), count]


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return clean(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _is_number(kind: str) -> bool:
    return kind.startswith(("int", "uint", "double", "float", "decimal"))


# What there is to ask


def contents() -> dict[str, dict[str, object]]:
    from weft.review.lake.schema import TABLES
    from weft.review.query.views import VIEWS

    tables: dict[str, object] = {
        table.name: {
            "row": table.a_row,
            "columns": {
                column.name: {"type": column.type, "unit": column.unit, "meaning": column.meaning}
                for column in table.columns
            },
        }
        for table in TABLES.values()
    }
    return {"tables": tables, "views": {view.name: view.question for view in VIEWS}}


def lines() -> list[str]:
    from weft.review.lake.schema import TABLES
    from weft.review.query.views import VIEWS

    told: list[str] = []
    for table in TABLES.values():
        told.append(f"{table.name}: {table.a_row}")
        told += [
            f"    {column.name:<18}{column.type:<9}{f'{column.meaning} ({column.unit})' if column.unit else column.meaning}"
            for column in table.columns
        ]
    return [*told, "", "views:", *(f"    {view.name:<18}{view.question}" for view in VIEWS)]
