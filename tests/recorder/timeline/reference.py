"""The rules of a time line, read literally: every row is compared with every other."""

from __future__ import annotations

from dataclasses import dataclass

from weft.recorder.timeline import Row


@dataclass(eq=False)
class Run:
    """What belongs together; rows that were not written are None."""

    dispatch: Row | None
    done: Row | None
    miss: bool = False
    overrun: bool = False

    @property
    def said(self) -> list[Row]:
        return [row for row in (self.dispatch, self.done) if row is not None]

    @property
    def begin(self) -> int | None:
        return None if self.dispatch is None else self.dispatch.mono_ns

    @property
    def end(self) -> int | None:
        return None if self.done is None else self.done.mono_ns

    @property
    def first(self) -> int:
        return self.said[0].mono_ns

    @property
    def deadline(self) -> int | None:
        return next((row.deadline_ns for row in self.said if row.deadline_ns is not None), None)

    def fits(self, row: Row) -> bool:
        first = self.said[0]
        return all(
            one in ("", None) or other in ("", None) or one == other
            for one, other in (
                (first.operation, row.operation),
                (first.priority, row.priority),
                (self.deadline, row.deadline_ns),
            )
        )

    def late(self, until: int) -> bool:
        return self.deadline is not None and self.deadline < (until if self.end is None else self.end)


@dataclass
class Expected:
    runs: list[Run]
    lone_misses: int
    overruns: int
    until: int

    def misses(self) -> int:
        return self.lone_misses + sum(run.miss or run.late(self.until) for run in self.runs)

    def laxities(self) -> list[int]:
        return [
            run.deadline - run.end for run in self.runs if run.deadline is not None and run.end is not None
        ]


def expected(rows: list[Row], node: str, name: str) -> Expected:
    ordered = sorted(rows, key=lambda row: (row.mono_ns, row.seq))
    until = max(row.mono_ns for row in rows if row.node == node)
    mine = [row for row in ordered if (row.node, row.name) == (node, name)]
    runs: list[Run] = []
    for row in mine:
        if row.kind == "dispatch":
            runs.append(Run(row, None))
        elif row.kind == "done":
            able = [run for run in runs if run.done is None and run.dispatch is not None and run.fits(row)]
            if able:
                able[-1].done = row
            else:
                runs.append(Run(None, row))
    runs.sort(key=lambda run: run.first)
    lone = 0
    for row in mine:
        if row.kind in ("miss", "overrun"):
            mark = row.kind
            free = [run for run in runs if not getattr(run, mark) and run.fits(row)]
            if row.deadline_ns is None:
                free = [run for run in free if run.first <= row.mono_ns][::-1]
            else:
                same = [run for run in free if run.deadline == row.deadline_ns]
                free = sorted(same, key=lambda run: not (run.miss or run.late(until)))
            if free:
                setattr(free[0], mark, True)
            elif mark == "miss":
                lone += 1
    return Expected(runs, lone, sum(row.kind == "overrun" for row in mine), until)
