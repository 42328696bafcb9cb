"""Many seeds in several worlds: plays, compares, shortens what fails, and lets the review judge what was recorded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from weft.host.recording.runs import find_runs, open_run
from weft.model.json_types import Json
from weft.prove.compare import Difference, first_difference
from weft.prove.interlude import masked, with_interlude, without_interlude
from weft.prove.proof import Played, Stage, judged, shrunk
from weft.prove.script import Script, ScriptedCall
from weft.prove.signatures import is_as_of
from weft.prove.words import ModelWords
from weft.prove.world import World
from weft.prove.worlds import Embedded

MakeWorld = Callable[[Path | None], World]
"""Of a folder for recordings; None: nothing is recorded."""
BATCH = 50  # seeds, until worlds are started anew and what was recorded is judged
IN_TURN = "in turn"
_SETTINGS = ("", "timed", "regulating")


@dataclass(frozen=True)
class Finding:
    seed: int
    world: str
    what: str
    script: str = ""  # that shows it, shortened


@dataclass
class CampaignOutcome:
    seeds: int = 0
    plays: int = 0
    calls: int = 0
    callbacks: int = 0
    as_of: int = 0  # of the calls: as of a time, and carried out …
    as_of_refused: int = 0  # … or refused
    restored: int = 0  # seeds that were saved and restored in the middle
    runs: int = 0  # recorded and judged
    findings: list[Finding] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        return self.seeds > 0 and not self.findings

    def plain(self) -> dict[str, Json]:
        return {"proven": self.proven, **asdict(self)}


class Campaign:
    """`worlds` beside the embedded node, which comes first and is what others are compared with."""

    def __init__(
        self,
        words: ModelWords,
        worlds: Sequence[MakeWorld],
        steps: int = 120,
        federates: int = 0,
        record: bool = True,
        progress: Callable[[int, CampaignOutcome], None] = lambda seed, outcome: None,
        tries: int = 300,
        declarations: str = "",
    ) -> None:
        """`declarations`: "timed" or "regulating", if scripts are to have calls as of a time; worlds have that setting
        (docs/explanation/ddm-sync.md).  `IN_TURN`: a third of the seeds each, the first of them without.
        """
        self.words = words
        self.outcome = CampaignOutcome()
        self._makers: list[MakeWorld] = [Embedded, *worlds]
        self._steps = steps
        self._federates = federates
        self._record = record
        self._progress = progress
        self._tries = tries
        self._declarations = declarations
        self._setting = ""  # of the worlds that there are
        self._stage = Stage(words)
        self._worlds: list[World] = []
        self._folders: list[Path] = []
        self._of_federation: dict[tuple[Path, str], tuple[int, Script]] = {}

    def run(self, seeds: Iterable[int]) -> CampaignOutcome:
        waiting = list(seeds)
        while waiting:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            for setting in _SETTINGS:
                self._prove_all([seed for seed in batch if self._setting_of(seed) == setting], setting)
        return self.outcome

    def _setting_of(self, seed: int) -> str:
        return _SETTINGS[seed % len(_SETTINGS)] if self._declarations == IN_TURN else self._declarations

    def _prove_all(self, seeds: list[int], setting: str) -> None:
        if not seeds:
            return
        with self._judged_worlds(setting):
            for seed in seeds:
                self._prove(seed)
                self.outcome.seeds += 1
                self._progress(seed, self.outcome)

    def replay(self, *scripts: Script) -> CampaignOutcome:
        """Scripts that somebody has, as they are."""
        for setting in dict.fromkeys(script.declarations for script in scripts):
            with self._judged_worlds(setting):
                for script in scripts:
                    if script.declarations == setting:
                        self._compare(script.seed, self._played(script, 0))
                        self.outcome.seeds += 1
        return self.outcome

    # --- worlds -----------------------------------------------------------------------------------------------

    @contextmanager
    def _judged_worlds(self, declarations: str) -> Iterator[None]:
        """They are there meanwhile, with that setting; then what they have recorded is judged."""
        self._setting = declarations
        with tempfile.TemporaryDirectory(prefix="weft-prove-", ignore_cleanup_errors=True) as folder:
            self._of_federation.clear()
            self._folders = [Path(folder, str(number)) for number in range(len(self._makers))]
            try:
                for number in range(len(self._makers)):
                    self._start(number)
                yield
            finally:
                for world in self._worlds:
                    world.stop()
                self._worlds.clear()
            self._judge()

    def _start(self, number: int) -> None:
        if self._record:
            self._folders[number].mkdir(parents=True, exist_ok=True)
        world = self._makers[number](self._folders[number] if self._record else None)
        world.declarations = self._setting
        world.start()
        self._worlds[number : number + 1] = [world]

    def _renew(self, number: int) -> None:
        """After trouble nobody knows what state a world is in; what it recorded is no run without faults."""
        self._worlds[number].stop()
        shutil.rmtree(self._folders[number], ignore_errors=True)
        for key in [key for key in self._of_federation if key[0] == self._folders[number]]:
            del self._of_federation[key]
        self._start(number)

    # --- a seed -----------------------------------------------------------------------------------------------

    def _prove(self, seed: int) -> None:
        federates = self._federates or 3 + seed % 2
        written = self._count(
            self._stage.write(seed, self._worlds[0], federates, self._steps, self._setting), 0
        )
        if not self._compare(seed, written):
            self._interlude(seed, written)

    def _count(self, played: Played, number: int) -> Played:
        outcome = self.outcome
        outcome.plays += 1
        outcome.calls += played.calls
        outcome.callbacks += played.callbacks
        timed = [seen.error for seen in played.seen if is_as_of(seen.step)]
        outcome.as_of += timed.count("")
        outcome.as_of_refused += len(timed) - timed.count("")
        for name in ("F", "G"):
            self._of_federation[self._folders[number], f"{played.federation}-{name}"] = (
                played.script.seed,
                played.script,
            )
        return played

    def _played(self, script: Script, number: int) -> Played:
        return self._count(self._stage.play(script, self._worlds[number]), number)

    def _compare(self, seed: int, written: Played) -> bool:
        """Is something wrong, in any world?"""
        wrong = judged(written, written)
        if wrong is not None:
            self._found(seed, 0, written.script, wrong)
            return True
        found = False
        for number in range(1, len(self._worlds)):
            wrong = judged(written, self._played(written.script, number))
            if wrong is not None:
                found = True
                self._found(seed, number, written.script, wrong)
        return found

    def _found(self, seed: int, number: int, script: Script, wrong: Difference) -> None:
        world = self._worlds[number].name
        steps = list(script.steps[: wrong.number + 1])
        if wrong.kind == "trouble":
            self._renew(number)

        def fails(some: Sequence[ScriptedCall]) -> bool:
            again = self._difference(script.with_steps(tuple(some)), number)
            if again is not None and again.kind == "trouble":
                self._renew(number)
            return again is not None and again.kind == wrong.kind

        # A call that hangs costs minutes at each try.
        short = steps if "no end within" in wrong.what else shrunk(steps, fails, self._tries)
        shown = self._difference(script.with_steps(tuple(short)), number) or wrong
        self.outcome.findings.append(Finding(seed, world, str(shown), script.with_steps(tuple(short)).text()))
        self._renew(number)

    def _difference(self, script: Script, number: int) -> Difference | None:
        expected = self._stage.play(script, self._worlds[0])
        return judged(expected, expected if number == 0 else self._stage.play(script, self._worlds[number]))

    # --- the middle -------------------------------------------------------------------------------------------

    def _interlude(self, seed: int, written: Played) -> None:
        """The script with a save and a restore in the middle, in one of the worlds in turn."""
        number = seed % len(self._worlds)
        made = with_interlude(written.script, written.seen, seed)
        if made is None:
            return
        script, at, count = made
        played = self._played(script, number)
        name = f"{played.world}, saved and restored after step {at}"
        if played.troubles:
            self.outcome.findings.append(Finding(seed, name, played.troubles[0], script.text()))
            self._renew(number)
            return
        rest = without_interlude(played.seen, at, count)
        if rest is None:
            return
        self.outcome.restored += 1
        before, after = [*written.all_seen], [*rest, *played.end]
        wrong = first_difference(masked(before, at), masked(after, at), name, played.one_place)
        if wrong is not None:
            self.outcome.findings.append(Finding(seed, name, str(wrong), script.text()))

    # --- the judge --------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        if not self._record:
            return
        from weft.review import judge

        for folder in self._folders:
            wanted = []
            for path in find_runs(folder):
                federation = open_run(path).federation
                if (folder, federation) in self._of_federation:
                    wanted.append((path, self._of_federation[folder, federation]))
            for (path, (seed, script)), verdict in zip(
                wanted, judge([path for path, _ in wanted], orders=("CO", "CT")), strict=True
            ):
                self.outcome.runs += 1
                if not verdict.clean:
                    self.outcome.findings.append(
                        Finding(seed, f"the review of {path.name}", str(verdict), script.text())
                    )
