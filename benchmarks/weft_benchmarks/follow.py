"""What `weft bench review --part follow` measures: how long after something happened a follower has judged it.

A process writes a made-up run at a given rate, each node's files a second apart, as a recorder does.  Some events miss their
deadlines; the follower has to tell all of them and nothing else.  The floor is the time that rows wait to be written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft_benchmarks.review import Meter
from weft_benchmarks.runner import environment

Array = npt.NDArray[Any]
INTERVAL = 1.0  # seconds between two files of a node
# In ns, when the made-up machine started: so that its monotonic clock can be told from the wall clock.
BOOT = 10**18
PRELUDE = 500  # rows of each node that are there before time counts: so long Spark takes for its first batch
MISSES_PER_S = 5


def measure_follow(session: Any, rate: int, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Lags in seconds: of rows, and of findings, from when they happened to when they were told."""
    from weft_benchmarks.testbed.synthetic import SyntheticPlan, make_run

    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        say(f"making {rate * seconds:,.0f} rows")
        made = make_run(Path(name) / "made", SyntheticPlan(rows=int(rate * seconds), each=3))
        run = Path(name) / "run"
        code = "from weft_benchmarks.follow import writer; writer()"
        with subprocess.Popen(
            [sys.executable, "-c", code, str(made), str(run), str(rate)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
        ) as process:  # fmt: skip
            try:
                found = _follow(process, run, session, say)
            except BaseException:
                process.kill()
                raise
        return found


def _follow(process: Any, run: Path, session: Any, say: Callable[[str], None]) -> dict[str, Any]:
    from weft.host.storage import place_of
    from weft.review.follow.query import Streaming

    _heard(process, "ready")
    told: list[tuple[Any, int]] = []

    def tell(_: str, findings: Sequence[Any]) -> None:
        told.extend((one, time.time_ns()) for one in findings)

    place = place_of(run)
    most = 0
    with Streaming(session, [place], ("RO", "CO", "CT"), tell) as streaming:
        while place.address not in streaming.standings():
            streaming.wait()
        before = len(streaming.standings()[place.address].steps)
        start = time.time_ns()
        process.stdin.write("go\n")
        process.stdin.flush()
        with Meter() as meter:
            while not (standing := streaming.standings()[place.address]).told.over:
                streaming.wait()
                most = max(most, standing.told.waiting)
                say(f"following: {standing.told.rows:,} rows, lag {standing.lag_s:.1f} s")
    written = json.loads(_heard(process, "{"))
    strange = [one for one, _ in told if one["audit"] != "deadlines"]
    if strange or len(told) != written["misses"]:
        raise RuntimeError(
            f"{len(told)} findings in a run with {written['misses']} misses; strange: {strange[:3]}"
        )
    lags = np.concatenate([_lags(step, start) for step in list(standing.steps)[before:]])
    findings = np.array([at - (one["at_ns"] + BOOT) for one, at in told]) / 1e9
    return {
        "rows": int(standing.told.rows),
        "rows_per_s": round(written["rows"] / written["seconds"]),
        "batches": len(standing.steps) - before,
        "lag_s": _figures(lags),
        "finding_lag_s": _figures(findings),
        "floor_s": _figures(np.array(written["waited"])),
        "kept": most,
        **meter.figures(),
    }


def _heard(process: Any, begin: str) -> str:
    line = str(process.stdout.readline())
    if not line.startswith(begin):
        raise RuntimeError(f"the writer said {line!r} and not {begin}")
    return line


def _lags(step: tuple[int, int, int, int], start: int) -> Array:
    """Of the rows of a batch, which lie evenly between its first and last; nothing was between the prelude and the start."""
    rows, first, last, judged = step
    return (judged - np.linspace(min(last, max(first, start)), last, rows)) / 1e9


def _figures(values: Array) -> dict[str, float]:
    if not len(values):
        return {}
    shares = {"median": 0.5, "p99": 0.99, "max": 1.0}
    return {name: round(float(np.quantile(values, share)), 3) for name, share in shares.items()}


# The writer, a process of its own


def writer() -> None:
    """`made run rate`: write the rows of one run as if they happened now, when somebody says so."""
    made, run, rate = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    _Writer(made, run, rate).work()


class _Writer:
    def __init__(self, made: Path, run: Path, rate: float) -> None:
        from weft.host.recording.files import NodeFiles
        from weft.host.recording.manifest import ManifestWriter
        from weft.host.recording.runs import open_run
        from weft.recorder import VERSION

        there = open_run(made)
        info = dict(there.info)
        run.mkdir(parents=True)
        rows = there.read()
        epoch = rows.column("epoch_ns").to_numpy()
        self._first = int(epoch.min())
        self._scale = len(rows) / rate * 1e9 / (int(epoch.max()) - self._first)
        self._tables, self._files, self._at = [], [], []
        self._manifests: list[ManifestWriter] = []
        for node in sorted(there.nodes):
            mask = np.asarray(rows.column("node").to_numpy(zero_copy_only=False) == node)
            self._tables.append(rows.filter(mask).drop_columns(["node"]))
            self._at.append((epoch[mask] - self._first) * self._scale)
            began = time.time_ns()
            self._files.append(NodeFiles(run, node, began, info))
            self._manifests.append(ManifestWriter(run, run.name, node, began, VERSION))
        self._done = [0] * len(self._files)
        self.waited: list[float] = []
        self.misses = 0

    def work(self) -> None:
        self._began = time.time_ns()
        for node in range(len(self._files)):
            self._write(node, PRELUDE, self._began - int(self._at[node][PRELUDE]) - 1)
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        rows = sum(len(table) for table in self._tables) - PRELUDE * len(self._files)
        start = min(at[PRELUDE] for at in self._at)
        self._began = time.time_ns() - int(start)
        turn = 0
        while any(done < len(at) for done, at in zip(self._done, self._at, strict=True)):
            node = turn % len(self._files)
            turn += 1
            due = began + turn * INTERVAL / len(self._files)
            time.sleep(max(0.0, due - time.monotonic()))
            now = time.time_ns() - self._began
            self._write(node, int(np.searchsorted(self._at[node], now)), self._began)
        seconds = time.monotonic() - began
        for node in range(len(self._files)):
            self._end(node)
        told = {"rows": rows, "seconds": seconds, "misses": self.misses, "waited": self.waited[::10]}
        print(json.dumps(told), flush=True)

    def _write(self, node: int, until: int, began: int) -> None:
        """Rows up to there, as they happened since `began`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        first = self._done[node]
        if until <= first:
            return
        table = self._tables[node].slice(first, until - first)
        epoch = (began + self._at[node][first:until]).astype(np.int64)
        mono = epoch - BOOT
        deadline = pc.add(pa.array(mono), 10**9)
        late = self._late(table, epoch, first)
        deadline = pc.if_else(pa.array(late), pa.array(mono - 1), deadline)
        has = table.column("deadline_ns").is_valid()
        columns = {
            "epoch_ns": pa.array(epoch),
            "mono_ns": pa.array(mono),
            "deadline_ns": pc.if_else(has, deadline, None),
        }
        for name, column in columns.items():
            table = table.set_column(table.column_names.index(name), name, column)
        files = self._files[node]
        self._put(node, table.cast(files.schema))
        self._done[node] = until
        if first:
            self.waited += ((time.time_ns() - epoch) / 1e9).tolist()

    def _late(self, table: Any, epoch: Array, first: int) -> Array:
        """Some events that end too late; none before time counts."""
        done = np.flatnonzero(np.asarray(table.column("kind").to_pylist()) == "done")
        late = np.zeros(len(epoch), bool)
        if first and len(done):
            share = max(1, len(done) // MISSES_PER_S)
            late[done[::share]] = True
            self.misses += int(late.sum())
        return late

    def _put(self, node: int, table: Any) -> None:
        """One more file, and its line in the manifest."""
        import pyarrow.compute as pc

        from weft.host.recording.manifest import ListedFile, checksum
        from weft.recorder import VERSION

        files = self._files[node]
        path = files.write_rows(table)
        data = path.read_bytes()
        seq, epoch = (pc.min_max(table[name]).as_py() for name in ("seq", "epoch_ns"))
        spans = (seq["min"], seq["max"], epoch["min"], epoch["max"])
        name = path.relative_to(files.folder).as_posix()
        self._manifests[node].add(
            ListedFile(name, len(table), *spans, len(data), checksum([data]), VERSION, 0)
        )

    def _end(self, node: int) -> None:
        import pyarrow as pa

        from weft.host.recording.manifest import ManifestEnd

        files = self._files[node]
        row = dict.fromkeys(files.schema.names)
        now = time.time_ns()
        last = self._tables[node].column("seq")[-1].as_py()
        row |= {"kind": "stop", "federate": 0, "seq": last + 1, "epoch_ns": now, "mono_ns": now - BOOT}
        self._put(node, pa.Table.from_pylist([row], schema=files.schema))
        self._manifests[node].end(ManifestEnd(now, files.files, last + 1, 0))
        files.write_node({"node": files.node, "began_ns": self._began, "ended_ns": now, "rows": last + 1,
                          "dropped": 0, "others": []})  # fmt: skip
