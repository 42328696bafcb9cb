"""The tables of the lake as data (issue 21, item 5): what is written has these columns, and documents say all of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.cli import main
from weft.review.kernels import arrow, flows
from weft.review.lake.schema import KEY, TABLES, spark_words, table_schema
from weft.review.query.views import VIEWS

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_every_table_begins_with_the_same_columns() -> None:
    """By these a row is of one review of one run; and no name is there twice."""
    for name, table in TABLES.items():
        assert table.name == name
        assert table.columns[: len(KEY)] == KEY
        columns = [column.name for column in table.columns]
        assert len(set(columns)) == len(columns)
        assert table_schema(name).names == columns
        assert [word.split()[0].strip("`") for word in spark_words(name).split(", ")] == columns


def test_units_and_names_agree() -> None:
    """A column whose name ends with a unit is in it."""
    for table in TABLES.values():
        for column in table.columns:
            ending = column.name.rpartition("_")[2]
            if ending in ("ns", "ms", "s"):
                assert column.unit == ending, column
            assert column.meaning
            assert column.meaning[-1] not in ".;"


def test_what_is_measured_has_columns() -> None:
    """Whatever the kernels give is in the tables, in the same types."""
    for name, words in (("traffic", flows.TRAFFIC), ("latency", flows.LATENCY)):
        schema = table_schema(name)
        for field in pa.schema([schema.field(column) for column in arrow.names_of(words)]):
            kernel = arrow.schema_of(words).field(field.name)
            assert field.type == kernel.type


def test_the_reference_says_all(capsys: Any) -> None:
    """docs/reference/lake.md (as the site has it) and `weft sql` have every table, column and view."""
    page = (DOCS / "reference" / "lake.md").read_text()
    assert "<!-- generated: lake -->" in page
    reference = _reference()
    text = reference.PAGES["lake"]()
    assert main(["sql"]) == 0
    said = capsys.readouterr().out
    for name, table in TABLES.items():
        assert f"\n### {name}\n" in text
        assert f"{name}: {table.a_row}" in said
        for column in table.columns:
            assert f"| `{column.name}` | {column.type} | {column.unit} |" in text
            assert column.meaning in said
    for view in VIEWS:
        assert f"| `{view.name}` | {' '.join(view.question.split())}" in text
        assert view.question in said
        assert f"`{view.name}`" in (DOCS / "how-to" / "lake.md").read_text()


def _reference() -> Any:
    spec = importlib.util.spec_from_file_location("lake_reference", DOCS / "_ext" / "weft_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lake_reference"] = module
    spec.loader.exec_module(module)
    return module
