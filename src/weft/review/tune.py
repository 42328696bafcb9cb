"""`weft tune`: advice as files, beside what is there already, and the check of what they are predicted to gain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from weft.host.storage import Place
from weft.model.json_types import JsonObject
from weft.model.records import Source
from weft.review.advice.advice import RunAdvice, Say, advise, inputs_of
from weft.review.advice.check import MESSAGES, check
from weft.review.advice.rows import AdviceRows
from weft.review.errors import ReviewError
from weft.review.spark.cluster import LOCAL, AnyMaster
from weft.review.spark.reading import open_for_review, read_rows
from weft.review.spark.session import Profile, given_session, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITTEN = "written by weft tune"


@dataclass(frozen=True)
class Tuned:
    """What came of it; `files` are those that were written."""

    run: str
    rows: int
    dropped_rows: int
    notes: tuple[str, ...]
    advice: RunAdvice
    files: Mapping[str, Path]
    replay: JsonObject | None = None

    def as_data(self) -> dict[str, object]:
        made: dict[str, object] = {
            "run": self.run,
            "rows": self.rows,
            "dropped_rows": self.dropped_rows,
            "notes": list(self.notes),
            "files": {name: str(path) for name, path in self.files.items()},
            "advice": self.advice.data(),
        }
        if self.replay is not None:
            made["replay"] = dict(self.replay)
        return made


def tune(
    path: str | PathLike[str] | Place,
    out: str | Path = ".",
    master: AnyMaster = LOCAL,
    fom: Sequence[Source] = (),
    rid: Source | None = None,
    domains: Source | None = None,
    multicast: bool = False,
    force: bool = False,
    replay: bool = False,
    messages: int = MESSAGES,
    say: Say = lambda text: None,
    session: SparkSession | None = None,
) -> Tuned:
    """`session` is a Spark session that is already there and stays."""
    opened = open_for_review(path)
    given = inputs_of(opened.run, fom, rid, domains, multicast)
    folder = Path(out)
    if not force:
        refuse_others(folder, ("weft.rid", "domains.toml", "schedule.toml"))
    run = opened.run
    with given_session(session, Profile(master, run.rows), say) as spark:
        rows = AdviceRows.of(spark, opened)
        with progress(spark, "advice", say):
            advice = advise(rows, given)
        found = check(read_rows(spark, opened), rows, advice, messages, say) if replay else None
    files = write_files(folder, advice.files(), str(run.path), force)
    return Tuned(str(run.path), run.rows, run.dropped, opened.notes, advice, files, found)


# --- files ------------------------------------------------------------------------------------------------------------


def write_files(folder: Path, texts: Mapping[str, str], run: str, force: bool) -> dict[str, Path]:
    """All or none: what somebody else wrote, or has changed since, stays unless `force`."""
    if not force:
        refuse_others(folder, tuple(texts))
    made = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            made[name] = folder / name
            made[name].write_text(marked(name, text, run), encoding="utf-8")
    except OSError as error:
        raise ReviewError(
            f"{error.filename or folder}: cannot be written: {error.strerror or error}"
        ) from error
    return made


def refuse_others(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        path = folder / name
        if path.exists() and not is_ours(path):
            raise ReviewError(
                f"{path} was written, or changed, by hand: say --force to replace it, or another folder with --out"
            )


def marked(name: str, text: str, run: str) -> str:
    """With a first line that says where it comes from, and by which a change is seen."""
    start = ";;" if name.endswith(".rid") else "#"
    return f"{start} {WRITTEN} from {Path(run).name}, sum {_sum(text)}\n{text}"


def is_ours(path: Path) -> bool:
    try:
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return WRITTEN in first and first.endswith(f"sum {_sum(rest)}")


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
