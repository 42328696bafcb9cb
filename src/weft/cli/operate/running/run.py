"""A federation file, run: nodes first, then programs as the course says, until that says that all is over; then all are ended."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from weft.cli.arguments import complain, console_flags
from weft.cli.operate.console import console_for, tell_of
from weft.cli.operate.run_logs import end_of
from weft.cli.operate.run_nodes import ChildProcess
from weft.cli.operate.running.checking import check_here, describe
from weft.cli.operate.running.course import DONE, Course, StartProgram
from weft.cli.operate.running.places import address_for, called, elsewhere, nodes_of
from weft.cli.operate.running.plan import NOTHING, FederationPlan, MeshPlan, Program
from weft.cli.operate.running.programs import ProgramProcess, ended_in_time, environment_of
from weft.cli.operate.running.reading import examine_federation_file, read_federation_file
from weft.cli.operate.running.view import RunView, entry_of, failed
from weft.cli.operate.running.watching import RunWatch
from weft.cli.operate.serve import new_run_directory, settings_from, stopped_by_signals
from weft.console.child import ConsoleChild
from weft.host.recording.recording import local_runs
from weft.host.server.server import run_loop
from weft.host.settings import Settings
from weft.model.errors import WeftError
from weft.model.log_text import ERROR, LogText
from weft.model.records import Source

PATIENCE = 10.0  # seconds that a process has to end
LOOK = 0.1  # seconds from one look at what has happened to the next
INTERRUPTED = 130


def run_federation_file(source: Source, arguments: argparse.Namespace) -> int:
    if arguments.check:
        return _check(source, arguments.host)
    plan = read_federation_file(source)
    recorded = False if arguments.no_record else arguments.record
    if recorded is not None:
        options = replace(plan.nodes.options, record=recorded)
        plan = replace(plan, nodes=replace(plan.nodes, options=options))
    check_here(plan, arguments.host)
    flags = {
        **console_flags(arguments),
        "console.on": False if arguments.no_console else plan.nodes.options.console,
    }
    settings = settings_from(flags, plan.nodes.options.settings or None)
    folder = new_run_directory(settings.serve.run_directory, "federation")
    return int(run_loop(_FederationRun(plan, arguments, settings, folder).run()))


def _check(source: Source, host: str) -> int:
    """What would be started, or all that is wrong."""
    plan, errors = examine_federation_file(source)
    if plan is not None:
        try:
            check_here(plan, host)
        except WeftError as error:
            print(f"weft: {error}", file=sys.stderr)
            return 1
    complain(errors)
    if plan is None:
        return 1
    print("\n".join(describe(plan, host)))
    return 0


class _FederationRun:
    def __init__(
        self, plan: FederationPlan, arguments: argparse.Namespace, settings: Settings, folder: Path
    ) -> None:
        self._plan = plan
        self._host: str = arguments.host
        self._settings = settings
        self._folder = folder
        self._seconds: float | None = arguments.seconds
        self._with_input: bool = arguments.until_input_ends
        self._programs = {one.name: one for one in plan.programs_of(self._host)}
        self._children = nodes_of(plan, self._host, folder)
        self._other = elsewhere(plan, self._host)
        others = _others(plan, self._host) if self._children else ()
        self._course = Course(
            list(self._programs.values()), plan.timeout, others, isinstance(plan.nodes, MeshPlan)
        )
        self._view = RunView(
            [*[called(one.name) for one in self._children], *self._programs], arguments.log, arguments.plain
        )
        conditions = [each for one in self._programs.values() for each in one.after]
        self._watch = RunWatch(plan.name, conditions, self._view)
        self._running: dict[str, ProgramProcess] = {}
        self._ended: list[tuple[str, int, str]] = []
        self._told: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._began = time.monotonic()
        self._ready = False

    async def run(self) -> int:
        stopping = stopped_by_signals()
        if self._seconds is not None:
            asyncio.get_running_loop().call_later(self._seconds, stopping.set)
        input_ends = asyncio.ensure_future(self._watch_input(stopping)) if self._with_input else None
        ending = asyncio.Event()  # of the nodes
        node_tasks = [
            asyncio.ensure_future(one.attend(_restarts(self._plan), ending)) for one in self._children
        ]
        logs = {name: self._log(name) for name in self._programs}
        self._watch.begin(self._children, logs, self._other)
        self._view.say(
            LogText(
                f"{self._plan.name}: logs in {self._folder}", "run-started", file=str(self._folder.absolute())
            )
        )
        console = await self._console()
        try:
            while not stopping.is_set() and not self._course.over and not self._nodes_failed():
                self._step()
                if console is not None:
                    tell_of(console, self._children)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), LOOK)
        finally:
            was_interrupted = stopping.is_set()
            running = [one for one in self._running.values() if not one.has_ended]
            await ended_in_time(self._tasks, list(running), PATIENCE)
            ending.set()
            await ended_in_time(node_tasks, list[ChildProcess](self._children), PATIENCE)
            await self._watch.stop()
            if console is not None:
                await console.stop()
            if input_ends is not None:
                input_ends.cancel()
            self._watch.look(last=True)
        return self._conclude(was_interrupted)

    def _log(self, name: str) -> Path:
        return self._folder / f"federate-{name}.log"

    # --- while it goes on -------------------------------------------------------------------------------------

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _step(self) -> None:
        """Ends are taken before logs are read: what a program did before it ended has then happened before."""
        if not self._ready:
            self._course.unready = self._who_is_not_ready()
            if not self._course.unready:
                self._ready = True
                self._begin()
        ended, self._ended = self._ended, []
        found = self._watch.look()
        now = self._now()
        for fact in found.facts:
            self._course.happened(fact, now)
        for name in found.left:
            self._course.left(name, now)
        for name, code, said in ended:
            self._course.ended(name, code, said, now)
            if self._course.state(name) == DONE:
                self._view.say(LogText(f"{name} has ended", "program-ended", peer=name))
        for action in self._course.due(now):
            if isinstance(action, StartProgram):
                self._start(self._programs[action.name])
            else:
                process = self._running[action.name]
                process.terminate()
                asyncio.get_running_loop().call_later(PATIENCE, process.kill)
        self._tell_failures()

    def _who_is_not_ready(self) -> str:
        """In words; nothing if all are."""
        late = [
            f"{called(one.name)} is {one.state}"
            for one in self._children
            if not one.is_ready.is_set() or one.state != "running"
        ]
        if not self._watch.is_reached:
            late.append(
                f"the server on {self._other} does not answer: {self._watch.why_unreached or 'no answer yet'}"
            )
        return ", ".join(late)

    def _begin(self) -> None:
        self._course.begin(self._now())
        for child in self._children:
            where = str(child.status["federates"])
            self._view.say(
                LogText(
                    f"{called(child.name)}: federates join at {where}",
                    "node-ready",
                    peer=child.name,
                    address=where,
                )
            )
        if isinstance(self._plan.nodes, MeshPlan) and self._host and self._children:
            self._watch.ask(str(self._children[0].status["federates"]))
        self._view.say(LogText(f"{self._plan.name}: ready", "run-ready"))

    def _start(self, program: Program) -> None:
        address = address_for(self._plan, program, {one.name: one for one in self._children})
        environment = environment_of(self._plan, program, address)
        process = ProgramProcess(program, address, environment, self._log(program.name))
        self._running[program.name] = process
        self._tasks.append(asyncio.ensure_future(self._attend(process)))

    async def _attend(self, process: ProgramProcess) -> None:
        name = process.program.name
        try:
            code, said = await process.attend(partial(self._say_started, name))
        except OSError as error:
            self._course.failed(name, process.why_not_started(error))
        else:
            self._ended.append((name, code, said))
        finally:
            process.has_ended = True

    def _say_started(self, name: str, pid: int) -> None:
        again = self._course.restarts(name)
        once_more = f" again (restart {again} of {self._programs[name].restart})" if again else ""
        self._view.say(LogText(f"{name} starts{once_more} (process {pid})", "program-started", peer=name))

    def _tell_failures(self) -> None:
        for name, why in self._course.failures.items():
            if name in self._told:
                continue
            self._told.add(name)
            if not name:
                self._view.fail(LogText(why, "time-out", ERROR))
                continue
            log = self._log(name)
            tail = end_of(log) if name in self._running else ""
            command = shlex.join(self._programs[name].command)
            self._view.fail(failed(f"federate {name} ({command}) {why}{tail}", name, str(log)))

    def _nodes_failed(self) -> bool:
        return any(one.failure and one.has_ended for one in self._children)

    async def _console(self) -> ConsoleChild | None:
        if not self._children:
            return None
        console, greeting = console_for(self._settings, self._view.say, self._folder / "console.log")
        for line in greeting:
            self._view.say(line.strip())
        if console is not None:
            await console.start([{"node": one.name} for one in self._children], local_runs(self._settings))
        return console

    async def _watch_input(self, stopping: asyncio.Event) -> None:
        """Whoever has started this is gone when its end of the pipe is."""
        reader = asyncio.StreamReader()
        with contextlib.suppress(ValueError):  # a file, or nothing at all: that has ended already
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
            )
            while await reader.read(4096):
                pass
        stopping.set()

    # --- at the end -------------------------------------------------------------------------------------------

    def _conclude(self, was_interrupted: bool) -> int:
        self._tell_failures()
        for child in self._children:
            if child.failure:
                text = f"{called(child.name)} {child.failure}{_end_of_node(child.log)}"
                self._view.fail(LogText(text, "node-died", ERROR, peer=child.name, file=str(child.log)))
        code = 1 if self._course.failures or any(one.failure for one in self._children) else 0
        unfinished = self._course.unfinished()
        if was_interrupted and not code and unfinished and self._seconds is None:
            code = INTERRUPTED
        why = self._course.over or ("stopped" if was_interrupted else "a node has died")
        if was_interrupted and unfinished:
            why += "; " + ", ".join(self._course.words(name) for name in unfinished)
        self._view.say(LogText(f"{self._plan.name}: {why}; exit code {code}", "run-ended"))
        return code


def _restarts(plan: FederationPlan) -> bool:
    return isinstance(plan.nodes, MeshPlan) and plan.nodes.restart


def _others(plan: FederationPlan, host: str) -> tuple[str, ...]:
    """Federates of other machines that somebody waits for."""
    if not host:
        return ()
    there = [one for one in plan.programs if one.host != host and one.ends != NOTHING]
    return tuple(name for one in there for name in one.joins)


def _end_of_node(log: Path) -> str:
    """What a node said last, of which its log has JSON."""
    said = []
    with contextlib.suppress(OSError):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]:
            entry = entry_of(line)
            said.append(line if entry is None else str(entry.get("text", "")))
    return "; it said last:\n" + "\n".join(f"    {line}" for line in said) if said else "; it said nothing"
