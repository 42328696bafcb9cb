"""Where Spark runs: its master, what the person who asks wants set there, and the package that brings Weft to the workers."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from weft.review.errors import ReviewError

LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
CONNECT = "sc://"
CONNECT_PORT = 15002
KNOCK_S = 20.0
"""So long an address may take to answer."""

PYTHON = "spark.pyspark.python"
TASKS_PYTHON = "spark.sql.execution.pyspark.python"
"""What Spark runs tasks by, and nothing else: Python in the driver stays the one of this process."""
PACKAGE_PYTHON = "spark.executorEnv.WEFT_PYTHON"
ARCHIVES = "spark.archives"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
UNPACKED = "weft-package"
"""The folder in which workers unpack the package."""

OF_WEFT = {
    "spark.master": "say --master",
    "spark.remote": "say --master sc://…",
    "spark.submit.deployMode": "the driver is this command, so that is client",
    "spark.pyspark.driver.python": "the driver is this command",
    TASKS_PYTHON: f"say {PYTHON}",
    PACKAGE_PYTHON: f"say {PYTHON}",
    "spark.sql.session.timeZone": "Weft counts in UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "names of nodes are words, also if they look like numbers",
}
"""Settings that are not anybody else's, and why."""


class Cluster(NamedTuple):
    """Of Spark: all functions that start it take one, or just a master."""

    master: str = LOCAL
    conf: tuple[tuple[str, str], ...] = ()
    """Settings by Spark's own names."""
    package: str = ""
    """A file of `weft package`, which workers unpack; empty: they have Weft."""

    @property
    def is_local(self) -> bool:
        """Are the tasks in processes of this command's own?"""
        return re.match(r"local($|\[)", self.master) is not None

    @property
    def is_near(self) -> bool:
        """Is all of Spark on this machine?"""
        at = urlsplit(self.master).hostname if "://" in self.master else None
        return self.master.startswith("local") or at in (LOOPBACK, "localhost", "::1")

    @property
    def is_connect(self) -> bool:
        return self.master.startswith(CONNECT)


AnyMaster: TypeAlias = str | Cluster


def cluster_of(master: AnyMaster) -> Cluster:
    return master if isinstance(master, Cluster) else Cluster(master)


def setting_of(text: str) -> tuple[str, str]:
    """Of KEY=VALUE; raises ValueError."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise ValueError(f"{text!r} is no KEY=VALUE, like spark.executor.memory=4g")
    if not name.startswith("spark."):
        raise ValueError(
            f"{name!r} is no setting of Spark: their names begin with spark., like spark.executor.memory"
        )
    return name, value


def check_cluster(cluster: Cluster) -> None:
    """What cannot be, before anything is started."""
    if not cluster.master:
        raise ReviewError(f"--master must not be empty; {LOCAL} is this machine")
    given: dict[str, str] = {}
    for name, value in cluster.conf:
        if name in OF_WEFT:
            raise ReviewError(f"--conf {name}: that is not yours to set here: {OF_WEFT[name]}")
        if given.setdefault(name, value) != value:
            raise ReviewError(f"--conf {name} is given twice, as {given[name]} and as {value}; leave out one")
    if cluster.package and cluster.is_local:
        raise ReviewError(
            f"--package is for workers elsewhere; with --master {cluster.master} tasks have the Python of this command. "
            "Leave it out, or name a cluster"
        )
    if set(cluster.package) & set(",#"):
        raise ReviewError(f"--package {cluster.package}: Spark takes , and # for ends of a path; rename it")
    if cluster.package and cluster.is_connect and PYTHON in given:
        raise ReviewError(
            f"--conf {PYTHON}: over Spark Connect the package runs by the Python that fits on the server's machines; "
            "leave it out, or leave out --package if the one that is named has Weft"
        )


def wished(cluster: Cluster, chosen: Mapping[str, str]) -> dict[str, str]:
    """What Weft chose, and then what was asked for, which wins; options of Java and archives are added to."""
    made = dict(chosen)
    for name, value in cluster.conf:
        if name == PYTHON:
            made[PACKAGE_PYTHON if cluster.package else TASKS_PYTHON] = value
        elif name == JAVA_OPTIONS and name in made:
            made[name] = f"{made[name]} {value}"
        else:
            made[name] = value
    if cluster.package:
        archive = f"{cluster.package}#{UNPACKED}"
        made[ARCHIVES] = f"{made[ARCHIVES]},{archive}" if ARCHIVES in made else archive
        made[TASKS_PYTHON] = f"./{UNPACKED}/bin/python"
    return made


def guilty(cluster: Cluster, text: str) -> str:
    """The settings that Spark complains of: what it names, or all that were asked for if Java did not even begin."""
    named = [one for one in cluster.conf if one[0] in text]
    if not named and "gateway" in text.lower():
        named = list(cluster.conf)
    return "".join(f"--conf {name}={value}: " for name, value in named)


# Does anybody answer?  Spark itself finds out after a minute, or ten.


def knock(cluster: Cluster) -> None:
    """Raises ReviewError if nobody is where the master should be."""
    if cluster.master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & set(os.environ):
        raise ReviewError(
            "--master yarn: set HADOOP_CONF_DIR to the folder that says where YARN and HDFS are"
        )
    addresses = list(_addresses(cluster.master))
    whys = []
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), KNOCK_S):
                return
        except OSError as error:
            whys.append(f"{host}:{port}: {error.strerror or error}")
    if addresses:
        what = "Spark Connect server" if cluster.is_connect else "master of Spark"
        raise ReviewError(f"--master {cluster.master}: no {what} answers there ({'; '.join(whys)})")


def _addresses(master: str) -> Iterable[tuple[str, int]]:
    kind, _, rest = master.partition("://")
    if kind not in ("spark", "sc"):
        return
    for one in rest.partition("/")[0].split(","):
        try:
            parts = urlsplit(f"//{one}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if kind == "sc":
            port = port or CONNECT_PORT
        if not host or not port:
            raise ReviewError(f"--master {master}: {one!r} is no HOST:PORT, like spark://node1:7077")
        yield host, port
