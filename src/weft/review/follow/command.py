"""Following a run until it has ended, and then reviewing it; or all runs below some folders, until somebody stops that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.host.recording.runs import check_run, open_run
from weft.host.storage import Place, place_of
from weft.review.audits.context import Context, Result, plain
from weft.review.errors import ReviewError
from weft.review.follow.query import RunStanding, Streaming
from weft.review.kernels.records import Violation
from weft.review.review import AUDITS, Review, review
from weft.review.spark.cluster import LOCAL, AnyMaster, cluster_of
from weft.review.spark.reading import notes_of
from weft.review.spark.session import Profile, given_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINE = 10.0  # seconds between two lines of progress that stay

Say = Callable[[str], None]


def follow(
    path: str | Path | Place,
    master: AnyMaster = LOCAL,
    say: Say = lambda text: None,
    tell: Callable[[list[Violation]], None] = lambda findings: None,
    witnesses: int = 20,
    orders: Sequence[str] = Context.orders,
    session: SparkSession | None = None,
    advice: bool = True,
    evidence: bool = False,
    checkpoint: Path | None = None,
) -> Review:
    """Follow a run until it has ended, then review it; until Ctrl-C, and then what was found so far.

    `tell` is given findings: what a witness says, and `audit`.  `advice` and `evidence` are for the review at the end.
    """
    check_follow(master, checkpoint)
    run = check_run(path)
    rows = 0
    with given_session(session, Profile(master), say) as spark:
        streaming = Streaming(spark, [run], orders, lambda _, found: tell(found), checkpoint)
        try:
            with streaming:
                watch(streaming, say, [run.address])
        except KeyboardInterrupt:
            say("stopped\n")
            return _so_far(run, streaming.standings().get(run.address), witnesses)
        rows = streaming.standings()[run.address].told.rows
        say(f"the run has ended, after {rows:,} rows; reviewing the whole of it\n")
        return review(run, master, say, witnesses, orders, spark, advice, evidence)


def follow_all(
    places: Iterable[str | Path | Place],
    master: AnyMaster = LOCAL,
    say: Say = lambda text: None,
    tell: Callable[[str, list[Violation]], None] = lambda run, findings: None,
    ended: Callable[[str], None] = lambda run: None,
    orders: Sequence[str] = Context.orders,
    session: SparkSession | None = None,
    checkpoint: Path | None = None,
) -> dict[str, RunStanding]:
    """Follow all runs below these folders that are being recorded, or will be, until Ctrl-C; returns how far each came.

    `tell` and `ended` are given the address of the run; `ended` once, when all of its nodes have ended and were judged.
    """
    check_follow(master, checkpoint)
    with given_session(session, Profile(master), say) as spark:
        streaming = Streaming(spark, list(map(place_of, places)), orders, tell, checkpoint, True)
        try:
            with streaming:
                watch(streaming, say, None, ended)
        except KeyboardInterrupt:
            say("stopped\n")
    return streaming.standings()


def check_follow(master: AnyMaster, checkpoint: Path | None) -> None:
    cluster = cluster_of(master)
    if cluster.is_connect:
        raise ReviewError(
            f"--follow hands what it finds to this process, so it does not run over Spark Connect ({cluster.master}); review "
            "the run when it has ended, or name the master of the cluster itself (spark://…, yarn, k8s://…)"
        )
    if checkpoint is None and not cluster.is_near:
        raise ReviewError(
            f"--follow with --master {cluster.master} needs --checkpoint FOLDER, in a folder that all machines of the cluster "
            "share: there they keep what they know of each run"
        )


def watch(
    streaming: Streaming,
    say: Say,
    until: Sequence[str] | None,
    ended: Callable[[str], None] = lambda run: None,
) -> None:
    """Until these runs have ended; None: for ever."""
    began, lines = time.monotonic(), 1
    over: set[str] = set()
    while until is None or not over.issuperset(until):
        streaming.wait()
        standings = streaming.standings()
        for run, one in standings.items():
            if one.told.over and run not in over:
                over.add(run)
                ended(run)
        seconds = time.monotonic() - began
        stays = seconds >= lines * LINE
        lines += stays
        say(standing(standings, seconds) + "\n" * stays)


def standing(standings: dict[str, RunStanding], seconds: float) -> str:
    """A line of progress."""
    told = [one.told for one in standings.values()]
    rows = sum(one.rows for one in told)
    if not rows:
        return f"waiting for rows, {seconds:.0f} s"
    going_on = [one for one in standings.values() if not one.told.over]
    lag = max((one.lag_s for one in going_on or standings.values()), default=0.0)
    parts = [f"{rows:,} rows", f"lag {lag:.1f} s", f"{sum(one.waiting for one in told):,} kept"]
    if len(told) > 1:
        parts.insert(0, f"{len(told)} runs, {len(told) - len(going_on)} ended")
    found = sum(sum(one.violations.values()) for one in told)
    parts.append(f"{found:,} violations" if found else "nothing wrong")
    silent = sorted({node for one in told for node in one.silent if not one.over})
    if silent:
        parts.append(f"silent, or crashed: {', '.join(silent)}")
    return ", ".join(parts)


def _so_far(run: Place, known: RunStanding | None, witnesses: int) -> Review:
    """What was found, for one who does not wait for the end."""
    opened = open_run(run)
    rows = 0 if known is None else known.told.rows
    stopped = (
        f"stopped while it was being written, after {rows:,} rows; "
        "`weft review` without --follow looks at all that is there"
    )
    found = Review(str(run), rows, opened.dropped, (*notes_of(opened), stopped))
    for name in AUDITS:
        shown = [] if known is None else known.shown.get(name, [])
        told = [plain(one, "audit") for one in shown[:witnesses]]
        unsure = known.told.unsure if known is not None and name == "delivery" else 0
        count = 0 if known is None else known.told.violations.get(name, 0)
        found.audits[name] = Result(count, told, unsure)
    return found
