"""Issue 8: the same review on `local[2]` and on a standalone master with two workers finds the same rows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from review.checks import faulty_run
from review.simulation import write

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster from the pip package, gone at the end."""
    import pyspark

    from weft.review.spark.java import java_home

    start = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {
        **os.environ,
        "JAVA_HOME": java_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(weft.__file__).parent.parent),  # as if Weft were installed there
    }
    started: list[subprocess.Popen[bytes]] = []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def begin(log: Path, name: str, *arguments: str) -> None:
        with log.open("wb") as out:
            command = [str(start), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *arguments]
            started.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=elsewhere))

    try:
        log = tmp_path / "master.log"
        begin(log, "master.Master", "--port", "0", "--webui-port", "0")
        address = wait_for(log, r"Starting Spark master at (spark://\S+)")
        for number in (1, 2):
            worker = tmp_path / f"worker{number}.log"
            begin(worker, "worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", address)
            wait_for(worker, r"Successfully registered with (master)")
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(240)


def wait_for(log: Path, pattern: str, seconds: float = 300) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text()) if log.exists() else None
        if found:
            return found[1]
        time.sleep(0.2)
    raise AssertionError(f"{pattern} is not in {log}:\n{log.read_text()}")


def reviewed(run: Path, master: str, folder: Path | None = None) -> dict[str, Any]:
    """The command in a process of its own, since a process has one Java; `folder`: where it is called."""
    command = [
        sys.executable,
        "-m",
        "weft.cli",
        "review",
        str(run),
        "--json",
        "--witnesses",
        "1000",
        "--master",
        master,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 1, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_same_rows_here_and_on_a_cluster(master: str, tmp_path: Path) -> None:
    """Also if the run is named by a relative path, which means nothing where the workers are."""
    run = write(tmp_path / "runs" / "run", faulty_run(seed=4, commands=True))
    here = reviewed(run, "local[2]")
    assert reviewed(run, master) == here
    assert reviewed(Path(run.name), master, run.parent) == here
