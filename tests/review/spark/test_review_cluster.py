"""Issue 21, 9: a cluster whose workers have nothing but Python reviews what is reviewed here, and finds the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from review.checks import faulty_run
from review.lake.nights import night
from review.lake.results import current
from review.simulation import write
from support.object_store import credentials, object_store, stored
from support.spark_cluster import (
    StandaloneCluster,
    bare_python,
    connect_server,
    further_worker,
    standalone,
    wait_for,
)
from weft.cli import main
from weft.host.storage import Place, place_of
from weft.review.lake.delta import lake_at
from weft.review.many.finding import look, runs_below
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import review_many

pytestmark = [pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("package") / "weft-package.tar.gz"
    assert main(["package", "--out", str(made)]) == 0
    return made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def weft(*words: object, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since a process has one Java."""
    command = [sys.executable, "-m", "weft", *map(str, words)]
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def tables(lake: Place) -> dict[str, list[dict[str, Any]]]:
    return current(lake_at(lake, ""))


def reviewed_here(top: Place, lake: Place) -> dict[str, list[dict[str, Any]]]:
    """Without Spark."""
    review_many([look(run) for run in runs_below([top.address])], lake_at(lake, "parquet"), ReviewOptions())
    return tables(lake)


@pytest.mark.soak
def test_workers_without_weft_make_the_same_tables(
    cluster: StandaloneCluster, package: Path, tmp_path: Path
) -> None:
    """Of a folder of runs, three of which have a planted fault, named by a path that means nothing where the workers are."""
    night(tmp_path / "runs")
    here = reviewed_here(place_of(tmp_path / "runs"), place_of(tmp_path / "here"))
    options = ["--package", package, "--conf", "spark.executor.memory=512m"]
    done = weft("review", "runs", "--lake", "there", "--master", cluster.master, *options, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert tables(place_of(tmp_path / "there")) == here
    assert sum(row["violations"] for row in here["run"]) > 0


@pytest.mark.soak
def test_one_run_by_all_that_starts_spark(cluster: StandaloneCluster, package: Path, tmp_path: Path) -> None:
    """Audits, advice, a report, tuning and SQL say there what they say here."""
    run = write(tmp_path / "runs" / "run", faulty_run(seed=4, commands=True))
    there = ["--master", cluster.master, "--package", package]
    asked = ["review", run.name, "--json", "--witnesses", "1000", "--html", "report.html"]
    one, other = (weft(*asked, *where, folder=run.parent) for where in (["--master", "local[2]"], there))
    assert (one.returncode, other.returncode) == (1, 1), other.stderr
    assert json.loads(other.stdout) == json.loads(one.stdout)
    by_settings = ["--master", cluster.master, "--conf", f"spark.archives={package}#weft-package"]
    by_settings += ["--conf", "spark.pyspark.python=./weft-package/bin/python"]  # as on YARN
    tuned = [weft("tune", run, "--json", "--out", tmp_path / "here")]
    tuned.append(weft("tune", run, "--json", "--out", tmp_path / "there", *by_settings))
    advice = [json.loads(done.stdout)["advice"] for done in tuned]
    assert advice[0] == advice[1]
    assert weft("review", run, run, "--lake", "lake", folder=tmp_path).returncode == 1
    query = ["sql", "select audit, violations from audit order by audit", "--lake", "lake", "--json"]
    one, other = (
        weft(*query, "--engine", engine, *where, folder=tmp_path)
        for engine, where in (("duckdb", []), ("spark", there))
    )
    assert other.stdout == one.stdout != "", other.stderr


@pytest.mark.parametrize("alone", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["many", "alone"])
def test_workers_without_weft_read_runs_in_a_store(
    cluster: StandaloneCluster, package: Path, tmp_path: Path, alone: bool
) -> None:
    """They are given what they need for it; lake and runs are both there.  Three of the runs have a planted fault."""
    night(tmp_path / "runs")
    with pytest.MonkeyPatch.context() as patch, object_store() as store:
        for name, value in credentials().items():
            patch.setenv(name, value)
        top = stored(tmp_path / "runs", place_of(store.address("lake/runs")))
        here = reviewed_here(top, place_of(tmp_path / "here"))
        lake = place_of(store.address("lake/results"))
        wanted = [
            word
            for name, value in credentials().items()
            for word in ("--conf", f"spark.executorEnv.{name}={value}")
        ]
        where = ["--master", cluster.master, "--package", package, *wanted]
        if alone:
            (run, *_) = runs_below([top.address])
            one, other = (weft("review", run.address, "--json", *words) for words in ([], where))
            assert json.loads(other.stdout) == json.loads(one.stdout), other.stderr
            return
        done = weft("review", top.address, "--lake", lake.address, *where)
        assert done.returncode == 1, done.stderr
        assert tables(lake) == here
        assert sum(row["violations"] for row in here["run"]) > 0


@pytest.mark.soak
def test_what_workers_lack_is_said(cluster: StandaloneCluster, package: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "runs" / "run", faulty_run(seed=4, commands=True))
    lake = tmp_path / "lake"

    def told(*words: object) -> str:
        done = weft("review", run, run, "--lake", lake, "--master", cluster.master, *words)
        assert done.returncode == 2, done.stderr
        assert not lake.exists()  # nothing is held against the run
        return done.stderr.splitlines()[-1]

    said = told("--conf", f"spark.pyspark.python={cluster.python}")
    assert "Python of Spark's workers has no pyarrow; `weft package -o weft-package.tar.gz`" in said
    assert "have no /no/python: name their Python" in told("--conf", "spark.pyspark.python=/no/python")
    assert "/no/python does not run" in told(
        "--package", package, "--conf", "spark.pyspark.python=/no/python"
    )
    assert "--conf spark.executor.memory=lots: " in told("--conf", "spark.executor.memory=lots")


@pytest.mark.soak
def test_nobody_takes_the_job(cluster: StandaloneCluster, tmp_path: Path) -> None:
    """No worker has so much memory: that is told, with where to look, and it waits until somebody stops it."""
    run = write(tmp_path / "runs" / "run", faulty_run(seed=4, commands=True))
    words = ["review", str(run), "--master", cluster.master, "--conf", "spark.executor.memory=64g"]
    waiting = subprocess.Popen([sys.executable, "-m", "weft", *words], stderr=subprocess.PIPE, text=True)
    try:
        assert waiting.stderr is not None
        line = next(line for line in waiting.stderr if "no executor" in line)
        assert "nobody takes the job: on the web page of the master" in line
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(240) == 130
    finally:
        waiting.kill()
        waiting.communicate()


@pytest.mark.soak
def test_workers_are_lost(package: Path, tmp_path: Path) -> None:
    """After they were there: it is told that nobody takes the job, and one that comes goes on with it."""
    night(tmp_path / "runs", 8, 400)
    here = reviewed_here(place_of(tmp_path / "runs"), place_of(tmp_path / "here"))
    with standalone(tmp_path / "cluster", 1) as cluster:
        (worker,) = cluster.workers
        words = ["review", "runs", "--lake", "there", "--master", cluster.master, "--package", str(package)]
        reviewing = subprocess.Popen(
            [sys.executable, "-m", "weft", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        try:
            assert reviewing.stderr is not None
            wait_for(worker, r"Asked to launch (executor)")
            worker.process.kill()
            worker.process.wait()
            assert "nobody takes the job" in next(line for line in reviewing.stderr if "no executor" in line)
            with further_worker(tmp_path / "another", cluster):
                reviewing.communicate(timeout=900)
                assert reviewing.returncode == 1
        finally:
            reviewing.kill()
            reviewing.communicate()
    assert tables(place_of(tmp_path / "there")) == here


@pytest.mark.soak
def test_over_spark_connect(package: Path, tmp_path: Path) -> None:
    """A server without Weft, to which the package goes; and what cannot be done over Connect is told first."""
    night(tmp_path / "runs")
    here = reviewed_here(place_of(tmp_path / "runs"), place_of(tmp_path / "here"))
    with connect_server(tmp_path / "server", bare_python(tmp_path / "python")) as address:
        there = ["--master", address, "--package", package]
        done = weft("review", "runs", "--lake", "there", *there, folder=tmp_path)
        assert done.returncode == 1, done.stderr
        assert tables(place_of(tmp_path / "there")) == here
        (run, *_) = runs_below([str(tmp_path / "runs")])
        one, other = (weft("review", run.address, "--json", *words) for words in ([], there))
        assert json.loads(other.stdout) == json.loads(one.stdout), other.stderr
        said = weft("review", run.address, "--master", address).stderr
        assert "Python of Spark's workers has no pyarrow; `weft package -o weft-package.tar.gz`" in said
        said = weft("review", run.address, *there, "--conf", "spark.executor.memory=2g").stderr
        assert "--conf spark.executor.memory=2g: the Spark Connect server" in said
        assert "set it where the server is started" in said
