"""A folder of really recorded runs of every kind: of the proving ground, with planted faults, with files that are damaged."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from review.lake.nights import describe
from review.planted import BadFile, Damage, NoPlace, Rows
from support import recorded_runs
from weft.prove import Simulated, proving_model, words_of
from weft.prove.proof import Stage
from weft.prove.worlds import Embedded


def prove(top: Path, seeds: Iterable[int], steps: int = 60) -> None:
    """What the proving ground records: a script of each seed, by one node and by three."""
    stage = Stage(words_of([proving_model()]))
    worlds = (Embedded(top), Simulated(top))
    for world in worlds:
        world.start()
    try:
        for seed in seeds:
            written = stage.write(seed, worlds[0], 3 + seed % 2, steps)
            played = stage.play(written.script, worlds[1])
            assert not written.troubles + played.troubles
    finally:
        for world in worlds:
            world.stop()


def record(folder: Path) -> tuple[Path, Path]:
    """Three nodes and five federates, once with each logical time."""
    return (
        recorded_runs.over_nodes(folder / "mesh", 6, steps=200, parade=True),
        recorded_runs.over_nodes(
            folder / "fabric", 4, steps=200, time="HLAfloat64Time", fabric=True, parade=True
        ),
    )


def plant(top: Path, runs: Sequence[Path], damages: Iterable[Damage], files: Iterable[BadFile]) -> None:
    """A copy for each fault, which is a federation of its own: in one of the runs, or the next if that has no place for it."""
    for number, fault in enumerate(damages):
        for turn in range(len(runs)):
            run = _copied(top, runs[(number + turn) % len(runs)], fault.name)
            with contextlib.suppress(NoPlace):
                rows = Rows(run)
                fault.do(rows)
                rows.write()
                break
            shutil.rmtree(run.parent)
        else:
            raise NoPlace(fault.name)
    for number, bad in enumerate(files):
        bad.do(_copied(top, runs[number % len(runs)], bad.name))


def _copied(top: Path, run: Path, name: str) -> Path:
    made = Path(shutil.copytree(run, top / name.replace(" ", "-") / run.name))
    describe(made, federation=made.parent.name)
    return made
