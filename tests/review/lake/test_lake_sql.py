"""The lake asked in SQL (issue 21, item 5): DuckDB and Spark give the same, and what plain Python finds in the rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from review.lake.nights import night
from review.lake.results import batch, results
from weft.cli import main
from weft.host.storage import place_of
from weft.review import sql
from weft.review.errors import ReviewError
from weft.review.lake.schema import TABLES, table_schema
from weft.review.lake.store import ParquetLake
from weft.review.many.finding import look, runs_below
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import review_many
from weft.review.query.engines import NAMES, opened, register_lake
from weft.review.query.views import VIEWS

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> ParquetLake:
    """Of a night's runs, reviewed twice: there are rows that do not count."""
    top = tmp_path_factory.mktemp("night")
    night(top, 4)
    made = ParquetLake(place_of(top / "lake"))
    runs = [look(place) for place in runs_below([str(top)])]
    for turn in range(2):
        review_many(runs[turn:], made, ReviewOptions(), again=True)
    return made


def rows(table: pa.Table) -> Counter[str]:
    """Without regard to their order; floats as far as both engines sum alike."""
    return Counter(
        repr([round(value, 6) if isinstance(value, float) else value for value in row.values()])
        for row in table.to_pylist()
    )


QUERIES = (
    *(f"select * from {name}" for name in NAMES),
    "select federation, run, count(*) as n from latency where what = 'deliver' group by federation, run",
    "select federate_name, max(p99_ms) as worst from worst_latency where federation = 'Range' group by federate_name",
    'select "order", count(*) as n from violation where "date" > \'2001-09-09\' group by "order"',
)


def test_both_engines_give_the_same(lake: ParquetLake, spark: Any) -> None:
    """All tables and views, and some questions with filters."""
    with opened(lake.place, "duckdb") as one, opened(lake.place, "spark", session=spark) as other:
        for query in QUERIES:
            assert rows(one.ask(query)) == rows(other.ask(query)), query


def test_tables_are_the_rows_that_count(lake: ParquetLake) -> None:
    """What SQL sees is what a snapshot reads."""
    snapshot = lake.snapshot()
    for name in TABLES:
        there = snapshot.read(name)
        assert rows(sql(f"select * from {name}", str(lake.place), "duckdb")) == rows(there)
        assert len(lake.dataset_of(name, lake.files(name)).to_table()) > len(there) or not len(there)


def test_what_views_answer(lake: ParquetLake) -> None:
    """Each against a few lines of Python over the tables."""
    tables = {name: lake.snapshot().read(name).to_pylist() for name in TABLES}
    asked = {view.name: sql(f"select * from {view.name}", str(lake.place)).to_pylist() for view in VIEWS}
    assert {(row["run"], row["audit"]) for row in asked["violated_runs"]} == {
        (row["run"], row["audit"]) for row in tables["audit"] if row["violations"]
    }
    late = [row for row in tables["violation"] if row["audit"] == "causal"]
    assert len(asked["late_messages"]) == len(late) > 0
    misses = [row for row in tables["deadline"] if row["misses"]]
    assert sum(row["misses"] for row in asked["missed_deadlines"]) == sum(row["misses"] for row in misses) > 0
    for side, column in (("sent", "sent"), ("received", "delivered")):
        mine = [row for row in tables["traffic"] if row["side"] == side]
        assert sum(row[column] for row in asked["traffic_by_class"]) == sum(r["messages"] for r in mine) > 0
    spans = [row for row in tables["latency"] if row["what"] == "deliver" and row["span"] == "run"]
    assert sum(row["deliveries"] for row in asked["latency_by_class"]) == sum(row["count"] for row in spans)
    for row in asked["latency_by_class"]:
        key = ("run", "class", "order")
        mine = [one for one in spans if all(one[name] == row[name] for name in key)]
        mean = sum(one["count"] * one["mean_ms"] for one in mine) / row["deliveries"]
        assert row["mean_ms"] == pytest.approx(mean)
        assert row["max_ms"] == max(one["max_ms"] for one in mine)
    newest = {row["federation"]: row["start_ns"] for row in asked["newest"]}
    for row in tables["run"]:
        assert newest[row["federation"]] >= row["start_ns"]


def test_regressions_since_the_run_before(tmp_path: Path) -> None:
    """Each run is compared with the one that began before it in its federation, whatever lies between in the lake."""
    lake = ParquetLake(place_of(tmp_path))
    figures = {"one": (0, 10.0), "two": (2, 10.4), "three": (2, 40.0), "four": (0, 30.0)}
    for place, (run, (violations, p99)) in enumerate(figures.items()):
        made = results("Range", run, 0, rows=0)
        key = {"run": run, "federation": "Range", "date": "2026-11-18"}
        made["run"] = _table("run", key | {"start_ns": place, "status": "ok"})
        made["audit"] = _table("audit", key | {"audit": "time", "violations": violations})
        latency = {"what": "deliver", "span": "run", "class": "A", "order": "RO", "p99_ms": p99, "count": 9}
        made["latency"] = _table("latency", key | latency)
        lake.write(batch(made))
        lake.write(results("Sea", run, place))
    found = sql("select * from regressions_since where federation = 'Range'", str(lake.place)).to_pylist()
    assert {(row["run"], row["run_before"], row["what"], row["subject"]) for row in found} == {
        ("two", "one", "violations", "time"),
        ("three", "two", "p99_ms", "A RO"),
    }


def _table(name: str, row: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([row], schema=table_schema(name))


def test_spark_reads_a_table_by_itself(lake: ParquetLake, spark: Any) -> None:
    """By the source, with filters that leave partitions out; and views of a session by their names."""
    register_lake(spark, lake.place)
    read = spark.read.format("weft").option("table", "run")
    found = read.load(str(lake.place)).where("federation = 'Range'")
    assert {row["federation"] for row in found.collect()} == {"Range"}
    assert spark.sql("select * from newest").count() == 2
    with pytest.raises(Exception, match="'violatoin' is none of rows, notes, decoded, run, audit"):
        spark.read.format("weft").option("table", "violatoin").load(str(lake.place)).count()
    with pytest.raises(Exception, match="no lake of results"):
        read.load(str(lake.place / "nowhere")).count()
    stream = spark.readStream.format("weft").option("table", "run").load(str(lake.place))
    with pytest.raises(Exception, match="cannot be streamed"):
        stream.writeStream.format("noop").start().processAllAvailable()


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_what_is_misspelt_is_told_with_what_there_is(lake: ParquetLake, spark: Any, engine: str) -> None:
    """Errors say what to do."""
    with opened(lake.place, engine, session=spark) as asked:
        with pytest.raises(
            ReviewError, match=r"no table 'violatoin' \(did you mean violation\?\); there are run, audit"
        ):
            asked.ask("select * from violatoin")
        with pytest.raises(
            ReviewError, match=r"no column 'federate_nam' \(did you mean federate_name\?\); violation has run"
        ):
            asked.ask("select federate_nam from violation")
        with pytest.raises(ReviewError, match=r"the query cannot be answered: .*[Ss]yntax error"):
            asked.ask("selec 1")


def test_the_command(lake: ParquetLake, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Text, CSV and JSON; no lake is an error that says how one comes about."""
    query = "select federation, count(*) as runs from run group by federation order by federation"
    place = ["--lake", str(lake.place)]
    assert main(["sql", query, *place]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 rows"
    assert main(["sql", query, *place, "--csv"]) == 0
    assert capsys.readouterr().out == "federation,runs\nHarbour / west,2\nRange,2\n"
    assert main(["sql", query, *place, "--json"]) == 0
    assert [json.loads(line)["runs"] for line in capsys.readouterr().out.splitlines()] == [2, 2]
    assert main(["sql", query, "--lake", str(tmp_path / "nowhere")]) == 2
    assert "there is no lake of results; `weft review FOLDER` makes one" in capsys.readouterr().err
    assert main(["sql", "select * from run where status = 'none'", *place]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 rows"
