"""One Spark session for a command, with settings for a machine of any size, and how far Spark has come.

Nothing here is imported before somebody reviews: pyspark is an extra, and to load it takes a second.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from weft.model.extras import require
from weft.review.errors import ReviewError
from weft.review.spark.cluster import (
    JAVA_OPTIONS,
    LOCAL,
    LOOPBACK,
    PYTHON,
    TASKS_PYTHON,
    UNPACKED,
    AnyMaster,
    Cluster,
    check_cluster,
    cluster_of,
    guilty,
    knock,
    wished,
)
from weft.review.spark.java import java_home
from weft.review.spark.package import check_package
from weft.review.spark.workers import Shortage, examine

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

ROWS_PER_BATCH = 1 << 16  # an Arrow batch: what a kernel is given at once
ROWS_PER_SHUFFLE_PARTITION = 5_000_000  # little of them is shuffled
SMALL_RUN = 2_000_000  # rows of which little enough is shuffled for one partition
LONGEST_FOLDER = 50  # of socket files: their paths may have 100 characters or so
INTERVAL = 0.2  # seconds between two looks at the progress

# What goes wrong comes as an exception.  Spark tells of levels that it sets, where its own differs from the root's.
LOGGING = """rootLogger.level = fatal
logger.quiet.name = org.apache
logger.quiet.level = fatal
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %m%n
"""


class Profile(NamedTuple):
    """What the settings depend on."""

    master: AnyMaster = LOCAL
    rows: int = 0
    memory: str | None = None

    @property
    def cluster(self) -> Cluster:
        return cluster_of(self.master)


def require_pyspark() -> None:
    require("the review runs on Spark: it", "review", "pyspark", "pandas")


def settings(profile: Profile, logging_file: str) -> dict[str, str]:
    """Of the session, by Spark's own names."""
    java = [f"-Dlog4j2.configurationFile={logging_file}"]
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        "spark.sql.session.timeZone": "UTC",
        # How long Java and Python wait for one another; 15 s, as it is, is not always enough beside other work.
        "spark.python.authenticate.socketTimeout": "300s",
    }
    cluster = profile.cluster
    if cluster.is_near:
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if cluster.is_local:
        small = profile.rows <= SMALL_RUN
        # Nearly all is done in Python: Java's optimizing compiler costs more than it gains.
        # A stream that is stopped within a batch looks for what went wrong by a pattern that takes a deep stack.
        java += ["-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        partitions = max(1 + profile.rows // ROWS_PER_SHUFFLE_PARTITION, _cores(cluster.master))
        chosen |= {
            "spark.sql.shuffle.partitions": "1" if small else str(partitions),
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.memory": profile.memory or _half_of_memory(),
        }
        chosen |= _by_files()
    else:
        chosen["spark.sql.adaptive.enabled"] = "true"
        if profile.memory:
            chosen["spark.executor.memory"] = profile.memory
    return wished(cluster, chosen | {JAVA_OPTIONS: " ".join(java)})


@functools.cache
def _socket_folder() -> str:
    """Java stays as long as this process, whatever sessions there are; so do the files by which it is talked to."""
    folder = tempfile.mkdtemp(prefix="weft-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _by_files() -> dict[str, str]:
    """Java and its Python workers talk through socket files, as far as such a name may be long: by TCP each task waits 40 ms for
    an acknowledgement that is sent late."""
    if sys.platform == "win32" or len(tempfile.gettempdir()) > LONGEST_FOLDER:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": _socket_folder(),
    }


def _cores(master: str) -> int:
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    return int(inside) if inside.isdigit() else (os.cpu_count() or 1) if inside else 1


def _half_of_memory() -> str:
    """Of what the machine has, at least 1 and at most 8 GiB."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        there = 4 << 30
    return f"{min(max(there // 2 >> 20, 1024), 8192)}m"


@contextlib.contextmanager
def spark_session(profile: Profile, say: Callable[[str], None] = lambda text: None) -> Iterator[SparkSession]:
    """A session, stopped at the end; of a cluster it is known that its workers can do what is asked of them."""
    require_pyspark()
    cluster = profile.cluster
    check_cluster(cluster)
    if cluster.package:
        check_package(Path(cluster.package))
    with tempfile.TemporaryDirectory(prefix="weft-review-") as folder:
        session = _connect(cluster) if cluster.is_connect else _start(profile, Path(folder))
        try:
            if cluster.is_connect:
                _set_up(session, profile)
            if not cluster.is_local:
                with progress(session, "workers", say):
                    examine(session, cluster)
            yield session
        finally:
            session.stop()


@contextlib.contextmanager
def given_session(
    given: SparkSession | None, profile: Profile, say: Callable[[str], None]
) -> Iterator[SparkSession]:
    """One that is already there and stays, or a new one."""
    if given is not None:
        yield given
        return
    say("starting Spark")
    with spark_session(profile, say) as session:
        yield session


def _start(profile: Profile, folder: Path) -> SparkSession:
    cluster = profile.cluster
    logging_file = folder / "log4j2.properties"
    logging_file.write_text(LOGGING)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    knock(cluster)
    if cluster.is_near:
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["JAVA_HOME"] = java_home()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("weft review").master(cluster.master)
    for name, value in settings(profile, str(logging_file)).items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # whatever Java says comes as one of many classes
        raise ReviewError(
            f"Spark does not start with --master {cluster.master}: {guilty(cluster, str(error))}{_first_line(error)}"
        ) from error
    session.sparkContext.setLogLevel("FATAL")
    return session


def _connect(cluster: Cluster) -> SparkSession:
    from pyspark.sql import SparkSession

    knock(cluster)
    try:
        return SparkSession.builder.remote(cluster.master).getOrCreate()
    except Exception as error:
        raise ReviewError(
            f"no Spark Connect server at {cluster.master}: {_first_line(error)} "
            "(the client needs `pip install 'pyspark[connect]'`)"
        ) from error


def _set_up(session: SparkSession, profile: Profile) -> None:
    """What a session may change on a Spark Connect server, and the package, which is this session's alone."""
    cluster = profile.cluster
    asked = {TASKS_PYTHON if name == PYTHON else name for name, _ in cluster.conf}
    for name, value in settings(profile, "").items():
        if name.startswith("spark.sql.") or name in asked:
            try:
                session.conf.set(name, value)
            except Exception as error:  # some are fixed when the server starts
                if name in asked:
                    raise ReviewError(
                        f"--conf {name}={value}: the Spark Connect server at {cluster.master} does not let it be set "
                        f"({_first_line(error)}); set it where the server is started"
                    ) from error
    if cluster.package:
        session.addArtifacts(f"{cluster.package}#{UNPACKED}", archive=True)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class Stages(NamedTuple):
    done: int
    total: int

    def __str__(self) -> str:
        return f"{self.done}/{self.total} stages"


class Idle:
    """For whoever works under `progress` to say why Spark had nothing to do, should it turn out so."""

    def __init__(self) -> None:
        self.because = ""


@contextlib.contextmanager
def progress(session: SparkSession | None, title: str, say: Callable[[str], None]) -> Iterator[Idle]:
    """Tells of what Spark does until the block ends, as "title: 3/7 stages, 2.1 s"; or why there was nothing to do."""
    context = _context(session)
    began = time.monotonic()
    idle = Idle()
    if context is None:
        say(f"{title} …")
        yield idle
        say(f"{title}: {idle.because or _since(began)}\n")
        return
    # A session may do several reviews, and Spark keeps the jobs of all: each has a group of its own.
    group = f"weft review: {title} ({secrets.token_hex(4)})"
    context.setJobGroup(group, f"weft review: {title}")
    ended = threading.Event()
    shortage = Shortage(context)

    def watch() -> None:
        while not ended.wait(INTERVAL):
            if told := shortage.look(time.monotonic()):
                say(f"{told}\n")
            say(f"{title}: {stages(context, group)}, {_since(began)}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    all_of_it = False
    try:
        yield idle
        all_of_it = True
    finally:
        ended.set()
        watcher.join()
        counted = stages(context, group)
        if all_of_it:  # Spark's account of its stages may lag behind their results
            counted = Stages(counted.total, counted.total)
        needed_none = not counted.total and idle.because
        say(f"{title}: {idle.because if needed_none else f'{counted}, {_since(began)}'}\n")


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"


def _context(session: SparkSession | None) -> SparkContext | None:
    """None with Spark Connect, which has none, and without Spark."""
    if session is None:
        return None
    try:
        return session.sparkContext
    except Exception:
        return None


def stages(context: SparkContext, group: str) -> Stages:
    """Of all jobs of a group: stages that are over (or were not needed), and all."""
    tracker = context.statusTracker()
    done = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        if info is None:
            continue
        total += len(info.stageIds)
        if info.status != "RUNNING":
            done += len(info.stageIds)
            continue
        for stage in info.stageIds:
            found = tracker.getStageInfo(stage)
            done += found is not None and 0 < found.numTasks == found.numCompletedTasks
    return Stages(done, total)
