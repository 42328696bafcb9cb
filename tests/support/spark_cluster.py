"""Real clusters of Spark on loopback, from pyspark's own package: a standalone master with workers, and a Connect server.

Their Python is a bare one, of this version: it has neither Weft nor numpy nor pyarrow.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

REGISTERED = r"Successfully registered with (master)"
PATIENCE = 900.0  # seconds for something to start on a busy machine


class SparkProcess(NamedTuple):
    process: subprocess.Popen[bytes]
    log: Path


class StandaloneCluster(NamedTuple):
    master: str
    python: Path
    """That of the workers."""
    workers: tuple[SparkProcess, ...]


def bare_python(folder: Path) -> Path:
    """Of this version, with nothing but its standard library; it is shown that there is no more."""
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for name in ("weft", "numpy", "pyarrow"):
        done = subprocess.run(
            [python, "-c", f"import {name}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={"PATH": os.defpath},
        )
        assert f"No module named '{name}'" in done.stderr
    return python


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[StandaloneCluster]:
    python = bare_python(folder / "python")
    with contextlib.ExitStack() as ending:
        arguments = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = _begun(folder / "master", "deploy.master.Master", arguments, _environment(python), ending)
        address = wait_for(master, r"Starting Spark master at (spark://\S+)")
        starting = [_worker(folder / f"worker{number}", address, python, ending) for number in range(workers)]
        for worker in starting:
            wait_for(worker, REGISTERED)
        yield StandaloneCluster(address, python, tuple(starting))


@contextlib.contextmanager
def further_worker(folder: Path, cluster: StandaloneCluster) -> Iterator[SparkProcess]:
    with contextlib.ExitStack() as ending:
        worker = _worker(folder, cluster.master, cluster.python, ending)
        wait_for(worker, REGISTERED)
        yield worker


def _worker(folder: Path, master: str, python: Path, ending: contextlib.ExitStack) -> SparkProcess:
    own = ["--work-dir", str(folder / "work"), "--memory", "1g", "--cores", "1"]
    arguments = ["--host", "127.0.0.1", "--webui-port", "0", *own, master]
    return _begun(folder, "deploy.worker.Worker", arguments, _environment(python), ending)


@contextlib.contextmanager
def connect_server(folder: Path, python: Path, settings: Mapping[str, str] = {}) -> Iterator[str]:
    """Its address, as `--master` takes it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chosen = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        **settings,
    }
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    words = [word for key, value in chosen.items() for word in ("--conf", f"{key}={value}")]
    with contextlib.ExitStack() as ending:
        server = _begun(
            folder,
            "deploy.SparkSubmit",
            [*words, "--class", name, "spark-internal"],
            _environment(python),
            ending,
        )
        wait_for(server, r"Spark Connect server (started) at")
        yield f"sc://127.0.0.1:{port}"


def _environment(python: Path) -> dict[str, str]:
    """Nothing of this process by which Python would find more."""
    from weft.review.spark.java import java_home

    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))
    }
    return {
        **kept,
        "PATH": f"{python.parent}{os.pathsep}{os.defpath}",
        "JAVA_HOME": java_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python),
    }


def _begun(
    folder: Path, name: str, arguments: list[str], environment: dict[str, str], ending: contextlib.ExitStack
) -> SparkProcess:
    import pyspark

    folder.mkdir(parents=True)
    log = folder / "log"
    start = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(start), f"org.apache.spark.{name}", *arguments],
            env=environment,
            stdout=out,
            stderr=out,
            cwd=folder,
        )
    ending.callback(_ended, process)
    return SparkProcess(process, log)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(running: SparkProcess, pattern: str) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and running.process.poll() is None:
        if found := re.search(pattern, running.log.read_text()):
            return found[1]
        time.sleep(0.2)  # between two looks
    raise AssertionError(f"{pattern} is not in {running.log}:\n{running.log.read_text()}")
