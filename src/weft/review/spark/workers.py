"""Spark's workers on other machines: have they what the review needs, and is there any of them?

Asked first, by one small job, so that what is missing is said in words before the first audit, and once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import weft
from weft.review.errors import PACKAGE, ReviewError, reason
from weft.review.spark.cluster import Cluster

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

TASKS = 64
"""At most so many ask, of as many cores."""
PATIENCE_S = 30.0
"""So long there may be no executor before that is told."""
AGAIN_S = 60.0
"""Until it is told again."""


def examine(session: SparkSession, cluster: Cluster) -> None:
    """Raises ReviewError if tasks cannot run there, or would be done by another Weft."""
    try:
        count = min(TASKS, _cores(session))
        found = session.range(0, count, 1, count).mapInArrow(look_function(), "told string").toArrow()
    except Exception as error:  # whatever Java says comes as one of many classes
        raise ReviewError(f"workers of {cluster.master} cannot run the review: {reason(error)}") from error
    for told in sorted(set(found["told"].to_pylist())):
        _judge(json.loads(told), cluster)


def _judge(told: dict[str, str], cluster: Cluster) -> None:
    at = f"Python {told['python']} ({told['executable']}) of worker {told['host']}"
    if told["missing"]:
        raise ReviewError(f"{at}: it cannot import {told['missing']}; {PACKAGE}")
    if told["weft"] != weft.__version__:
        raise ReviewError(
            f"{at}: it has Weft {told['weft']}, and this is {weft.__version__}; install the same there; or {PACKAGE}"
        )


def look_function() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Made here, so that Spark sends the function itself: one of a module would be looked for in Weft, which may not be there."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import json
        import platform
        import sys

        import pyarrow as pa

        missing, version = "", ""
        for name in ("numpy", "weft", "weft.review.spark.tasks"):
            try:
                module = importlib.import_module(name)
                version = module.__version__ if name == "weft" else version
            except Exception as error:
                missing = f"{name} ({error})"
                break
        told = {
            "python": platform.python_version(),
            "executable": sys.executable,
            "host": platform.node(),
            "weft": version,
            "missing": missing,
        }
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"told": [json.dumps(told, sort_keys=True)]})

    return look


def _cores(session: SparkSession) -> int:
    try:
        return int(session.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return 1


class Shortage:
    """Is there nobody to take the work?  Spark would wait for ever, and say nothing."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._since: float | None = None
        self._next = PATIENCE_S

    def look(self, now: float) -> str:
        """What is to be said now, if anything."""
        if self._executors():
            self._since, self._next = None, PATIENCE_S
            return ""
        self._since = now if self._since is None else self._since
        waited = now - self._since
        if waited < self._next:
            return ""
        self._next = waited + AGAIN_S
        context = self._context
        return (
            f"no executor has been there for {waited:.0f} s, so nobody takes the job: "
            f"{where_to_look(context.master, context.applicationId)}; waiting goes on (Ctrl-C ends it)"
        )

    def _executors(self) -> int:
        """Without the driver; of Spark within this process one, which is always there."""
        try:
            if self._context.master.startswith("local"):
                return 1
            infos = self._context._jsc.sc().statusTracker().getExecutorInfos()
        except Exception:  # a context that knows no executors
            return 1
        return len(infos) - 1


def where_to_look(master: str, application: str) -> str:
    kind = master.partition(":")[0]
    if kind == "yarn":
        return (
            f"ask `yarn application -status {application}`, and whether its queue has free memory and cores"
        )
    if kind == "k8s":
        return f"see `kubectl get pods -l spark-app-selector={application}`, and `kubectl describe pod` of one that is pending"
    return (
        f"on the web page of the master (port 8080 unless set), are workers alive, with free cores, and as much memory as "
        f"spark.executor.memory (1g unless set)?  Or executors end at once: see work/{application}/*/stderr on the workers; "
        "they must reach this machine (spark.driver.host)"
    )


def is_alive(session: SparkSession) -> bool:
    """Does Spark still take work?"""
    try:
        context = session.sparkContext
    except Exception:  # Spark Connect has no context
        return not session.is_stopped
    java = context._jsc
    return java is not None and not java.sc().isStopped()
