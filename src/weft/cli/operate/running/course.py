"""The course of a run, decided: what happens goes in, with the time, and who is to be started or stopped comes out.

1. A program starts when the nodes are ready, all that it waits for has happened, and its `seconds` have passed since the last
   of it.
2. It fails if that has not happened `within` its time, or cannot happen any more, because who should do it has failed or ended.
3. It fails if it runs longer than its `timeout`, or ends with another exit code than expected and may not be restarted.
4. The run is over when a program has failed whose end is not to end nothing, when one has ended whose end is the run's, when all
   have ended that somebody waits for, or after the run's own time-out.  On a machine with nodes those of other machines count,
   too: they have joined, and have been gone for a while.  In a mesh a short visit elsewhere may not be seen; there it is enough
   that its own have ended and nobody has been in the federation for longer.

No process, file or clock is touched here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from weft.cli.operate.running.plan import ENDED, JOINED, LOG, NOTHING, RUN, Program, StartCondition

WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "ended"
FAILED: Final = "failed"
RESTART_SECONDS: Final = 0.5
GONE_SECONDS: Final = 2.0
"""After so long one that has left from another machine does not come again."""
EMPTY_SECONDS: Final = 10.0
"""After so long without anybody nobody comes any more."""


class StartProgram(NamedTuple):
    name: str


class StopProgram(NamedTuple):
    name: str


class _ProgramState:
    """How far a program has come."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.state = WAITING
        self.started = 0.0
        self.not_before = 0.0
        self.restarts = 0


class Course:
    def __init__(
        self,
        programs: Sequence[Program],
        timeout: float | None = None,
        others: Collection[str] = (),
        may_miss: bool = False,
    ) -> None:
        """`others`: federates of other machines that are waited for; `may_miss`: some may have come and gone unseen."""
        self._standings = {one.name: _ProgramState(one) for one in programs}
        self._owners = {name: one.name for one in programs for name in one.joins}
        self._timeout = timeout
        self._others = frozenset(others)
        self._may_miss = may_miss
        self._begun: float | None = None
        self._facts: dict[StartCondition, float] = {}
        self._present: set[str] = set()
        self._changed = 0.0  # when somebody joined or left, or a program ended
        self.failures: dict[str, str] = {}
        """Of a program, or of the run ("") by its time-out."""
        self.over = ""
        """Why the run is over."""
        self.unready = ""
        """What is waited for before the run begins, in words."""

    # --- what happens -----------------------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """The nodes are ready."""
        self._begun = now

    def happened(self, fact: StartCondition, now: float) -> None:
        self._facts.setdefault(fact, now)
        if fact.kind == JOINED:
            self._present.add(fact.what)
            self._changed = now

    def left(self, federate: str, now: float) -> None:
        if federate in self._present:
            self._present.remove(federate)
            self._changed = now

    def ended(self, name: str, code: int, said: str, now: float) -> None:
        """`said`: the exit code, or the signal, in words."""
        one = self._standings[name]
        if one.state != RUNNING:
            return
        self._changed = now
        if code == one.program.expect:
            one.state = DONE
            self.happened(StartCondition(ENDED, name), now)
        elif one.restarts < one.program.restart:
            one.restarts += 1
            one.state = WAITING
            one.not_before = now + RESTART_SECONDS
        else:
            wanted = f", not {one.program.expect}" if one.program.expect else ""
            again = f" after {one.restarts} restart{'s' * (one.restarts > 1)}" if one.restarts else ""
            self.failed(name, f"ended with {said}{wanted}{again}")

    def failed(self, name: str, why: str) -> None:
        self._standings[name].state = FAILED
        self.failures[name] = why

    # --- what is to be done -----------------------------------------------------------------------------------

    def due(self, now: float) -> list[StartProgram | StopProgram]:
        if self._begun is None:
            self._look_at_time(now)
            return []
        self._conclude(now)
        actions: list[StartProgram | StopProgram] = []
        for name, one in self._standings.items() if not self.over else ():
            timeout = one.program.timeout
            if one.state == WAITING:
                if self._may_start(one, now):
                    one.state, one.started = RUNNING, now
                    actions.append(StartProgram(name))
            elif one.state == RUNNING and timeout is not None and now - one.started >= timeout:
                self.failed(name, f"did not end within {timeout:g} s: {self.words(name)}")
                actions.append(StopProgram(name))
        self._conclude(now)
        return actions

    def state(self, name: str) -> str:
        return self._standings[name].state

    def restarts(self, name: str) -> int:
        return self._standings[name].restarts

    def unfinished(self) -> list[str]:
        """Who still waits or runs, of those that somebody waits for."""
        return [one.program.name for one in self._awaited() if one.state in (WAITING, RUNNING)]

    def _may_start(self, one: _ProgramState, now: float) -> bool:
        """If it never may any more, it has failed."""
        program = one.program
        missing = [each for each in program.after if each not in self._facts]
        begun = self._begun or 0.0
        if not missing:
            since = max([begun, *(self._facts[each] for each in program.after)])
            return now >= max(since + program.seconds, one.not_before)
        for each in missing:
            if why := self._in_vain(each):
                self.failed(program.name, f"waits in vain for {each}: {why}")
                return False
        if program.within is not None and now - begun >= program.within:
            waited = ", ".join(map(str, missing))
            self.failed(program.name, f"was not started: within {program.within:g} s it waited for {waited}")
        return False

    def _in_vain(self, condition: StartCondition) -> str:
        """Who should have done it and will not."""
        owner = self._owners.get(condition.what, "") if condition.kind == JOINED else condition.what
        if condition.kind not in (JOINED, ENDED, LOG) or owner not in self._standings:
            return ""
        state = self.state(owner)
        return f"{owner} has {state}" if state in (DONE, FAILED) else ""

    def _awaited(self) -> list[_ProgramState]:
        """Those whose end means something; all, if none does."""
        every = list(self._standings.values())
        return [one for one in every if one.program.ends != NOTHING] or every

    def _conclude(self, now: float) -> None:
        if self.over:
            return
        for name, one in self._standings.items():
            if one.state == FAILED and one.program.ends != NOTHING:
                self.over = f"{name} has failed"
                return
            if one.state == DONE and one.program.ends == RUN:
                self.over = f"{name} has ended"
                return
        awaited = self._awaited()
        if (awaited or self._others) and not self.unfinished() and self._have_others_gone(now):
            self.over = "all have ended"
            return
        self._look_at_time(now)

    def _have_others_gone(self, now: float) -> bool:
        if not self._others:
            return True
        quiet = now - self._changed
        if self._may_miss and self._standings and not self._present and quiet >= EMPTY_SECONDS:
            return True
        have_come = all(StartCondition(JOINED, name) in self._facts for name in self._others)
        return have_come and not self._others & self._present and quiet >= GONE_SECONDS

    def _look_at_time(self, now: float) -> None:
        """The time of the run counts from 0, when it was started."""
        if self._timeout is None or now < self._timeout or self.over:
            return
        if self._begun is None:
            left = self.unready or "the nodes were not ready"
        else:
            told = [self.words(name) for name in self.unfinished()]
            absent = sorted(each for each in self._others if StartCondition(JOINED, each) not in self._facts)
            told += [f"{each}, of another machine, has not joined" for each in absent]
            told += [
                f"{each}, of another machine, has not left" for each in sorted(self._others & self._present)
            ]
            left = "; ".join(told) or "nobody was waited for"
        self.over = f"the run took longer than {self._timeout:g} s"
        self.failures[""] = f"{self.over}: {left}"

    def words(self, name: str) -> str:
        """What a program has not done yet."""
        one = self._standings[name]
        if one.state == WAITING:
            missing = [str(each) for each in one.program.after if each not in self._facts]
            return f"{name} waits for {', '.join(missing) or 'its time to start'}"
        joins = [each for each in one.program.joins if StartCondition(JOINED, each) not in self._facts]
        if not joins:
            return f"{name} has joined and has not ended"
        return f"{name} runs and has not joined" + ("" if joins == [name] else f" as {', '.join(joins)}")
