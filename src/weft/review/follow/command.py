"""Following a run until it has ended, and then reviewing it; or all runs below some folders, until somebody stops that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.host.recording.manifest import manifests_of
from weft.host.recording.runs import check_run, find_runs, open_run
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
Note = Callable[[Mapping[str, RunStanding]], None]
"""Of all runs, by address, how far each has come; again and again."""
Keeper = Callable[[], Callable[[Context, Review], None]]
"""When a run has ended: what is to be done with its review."""


def _keep_nothing() -> Callable[[Context, Review], None]:
    return lambda context, found: None


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
    note: Note = lambda standings: None,
    keeper: Keeper = _keep_nothing,
) -> Review:
    """Follow a run until it has ended, then review it; until Ctrl-C, and then what was found so far.

    `tell` is given findings: what a witness says, and `audit`.  `advice` and `evidence` are for the review at the end.
    """
    check_follow(master, checkpoint)
    run = check_run(path)
    check_manifests(run)
    with given_session(session, Profile(master), say) as spark:
        streaming = Streaming(
            spark, [run], orders, lambda _, found: tell(found), checkpoint, witnesses=witnesses
        )
        try:
            with streaming:
                watch(streaming, say, [run.address], note=note)
        except KeyboardInterrupt:
            say("stopped\n")
            return _so_far(run, streaming.standings().get(run.address), witnesses)
        rows = streaming.standings()[run.address].told.rows
        say(f"the run has ended, after {rows:,} rows; reviewing the whole of it\n")
        return review(run, master, say, witnesses, orders, spark, advice, evidence, also=keeper())


def follow_all(
    places: Iterable[str | Path | Place],
    master: AnyMaster = LOCAL,
    say: Say = lambda text: None,
    tell: Callable[[str, list[Violation]], None] = lambda run, findings: None,
    ended: Callable[[str], None] = lambda run: None,
    orders: Sequence[str] = Context.orders,
    session: SparkSession | None = None,
    checkpoint: Path | None = None,
    note: Note = lambda standings: None,
    witnesses: int = 20,
) -> dict[str, RunStanding]:
    """Follow all runs below these folders that are being recorded, or will be, until Ctrl-C; returns how far each came.

    `tell` and `ended` are given the address of the run; `ended` when all of its nodes have ended and were judged, and once more
    if one of them began again and has ended again.
    """
    check_follow(master, checkpoint)
    tops = list(map(place_of, places))
    _check_folders(tops)
    with given_session(session, Profile(master), say) as spark:
        streaming = Streaming(spark, tops, orders, tell, checkpoint, True, witnesses)
        try:
            with streaming:
                watch(streaming, say, None, ended, note, _PassedOver(tops, say).look)
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


def _check_folders(tops: Sequence[Place]) -> None:
    """In a store a folder is there as soon as a file is, and not before."""
    for top in tops:
        if top.local is not None and not top.is_folder():
            raise ReviewError(f"{top}: there is no such folder; `weft runs` lists what is recorded")


def check_manifests(run: Place) -> None:
    """Raises an error of a run that nobody can follow."""
    from weft.review.spark.manifest_stream import without_manifests

    if without_manifests(run):
        raise ReviewError(
            f"{run} has no manifests, so it cannot be followed: an earlier version of Weft records it, or they were not copied "
            f"with it. When it has ended, review it: weft review {run}"
        )


class _PassedOver:
    """Runs without manifests are named, each once."""

    def __init__(self, tops: Sequence[Place], say: Say) -> None:
        self._tops, self._say = tops, say
        self._looked: set[Place] = set()

    def look(self) -> None:
        from weft.review.spark.manifest_stream import without_manifests

        for run in (run for top in self._tops for run in find_runs(top) if run not in self._looked):
            if manifests_of(run):
                self._looked.add(run)
            elif without_manifests(run):
                self._looked.add(run)
                self._say(
                    f"not followed: {run} has no manifests; `weft review` looks at it when it has ended\n"
                )


def watch(
    streaming: Streaming,
    say: Say,
    until: Sequence[str] | None,
    ended: Callable[[str], None] = lambda run: None,
    note: Note = lambda standings: None,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Until these runs have ended; None: for ever.  `look` is called now and then."""
    began, lines = time.monotonic(), 0
    over: set[str] = set()
    while until is None or not over.issuperset(until):
        streaming.wait()
        standings = streaming.standings()
        note(standings)
        for run, one in standings.items():
            if not one.told.over:
                over.discard(run)
            elif run not in over:
                over.add(run)
                ended(run)
        seconds = time.monotonic() - began
        stays = seconds >= lines * LINE
        if stays:
            look()
            lines += 1
        say(standing(standings, seconds) + "\n" * (stays and lines > 1))


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
        shown = [] if known is None else known.told.shown.get(name, [])
        told = [plain(one, "audit") for one in shown[:witnesses]]
        unsure = known.told.unsure if known is not None and name == "delivery" else 0
        count = 0 if known is None else known.told.violations.get(name, 0)
        found.audits[name] = Result(count, told, unsure)
    return found
