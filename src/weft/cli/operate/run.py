"""`weft run FILE`: a federation by its file (`running`), or a whole mesh on one machine, one process for each node, with a table
of what they do.

Which of the two is seen by the file's content.  Nodes of a mesh are `weft serve --node` processes; what they report goes to files
of the run directory.  On a terminal the table lives; elsewhere there is a line for each change.  Ctrl-C or SIGTERM stops all:
agents are saved, federates resigned, processes ended by their ids.  A node whose `weft run` is gone ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from weft.cli.arguments import (
    Commands,
    add_command,
    add_console,
    add_log,
    add_record,
    complain,
    console_flags,
    log_flags,
    read_input,
    real,
    record_flags,
    whole,
)
from weft.cli.operate.console import console_for, tell_of
from weft.cli.operate.journal import make_way
from weft.cli.operate.run_logs import NodeLogs
from weft.cli.operate.run_nodes import Child, FederateProgram
from weft.cli.operate.run_table import LiveTable, PlainLines, Shown
from weft.cli.operate.running.reading import is_federation_file
from weft.cli.operate.running.run import run_federation_file
from weft.cli.operate.serve import new_run_directory, settings_from, stopped_by_signals
from weft.host.mesh.node import read_domains
from weft.host.recording.recording import is_recorded, local_runs, recorded_words
from weft.host.server.server import run_loop
from weft.host.settings import Settings
from weft.model.errors import SettingsError

PATIENCE = 10.0  # seconds that a node has to stop


def register(commands: Commands) -> None:
    parser = add_command(
        commands, "run", run, "run a federation by its file, or all nodes of a domains file on this machine"
    )
    parser.add_argument(
        "file", metavar="FILE", help="a federation file (see docs/how-to/run-file.md), or a domains file"
    )
    _add_federation_file(parser)
    parser.add_argument("--agents", action="append", default=[], metavar="[NAME=]MODULE:CLASS",
                        help="an agent for every node, besides those of the domains file; may be given again")  # fmt: skip
    parser.add_argument("--federate", action="append", default=[], metavar="NODE=COMMAND",
                        help="a program to run with a node, whose address is in WEFT_ADDRESS; may be given again")  # fmt: skip
    parser.add_argument("--first-port", type=whole(0), default=0, metavar="PORT",
                        help="federates join the first node here, the second one up … (default: any free ports)")  # fmt: skip
    parser.add_argument("--journal", metavar="DIR", help="where the journals are (default runs/journal)")
    parser.add_argument(
        "--no-journal", action="store_true", help="keep nothing: faster, and a crash loses messages"
    )
    parser.add_argument(
        "--new-journal", action="store_true", help="begin with empty journals; what they held is set aside"
    )
    parser.add_argument("--restart", action="store_true", help="start a node again that has died")
    parser.add_argument(
        "--rid", metavar="FILE", help="how federations distribute data (see docs/explanation/ddm.md)"
    )
    parser.add_argument(
        "--modules",
        metavar="DIR",
        help="object models for federates that send only an address, by the last name in it (default: none)",
    )
    parser.add_argument(
        "--schedule", metavar="FILE", help="how urgent classes are (see docs/explanation/urgency.md)"
    )
    add_record(parser)
    add_console(parser)
    add_log(parser, "; here it also shows what all nodes report")
    parser.add_argument(
        "--settings",
        metavar="FILE",
        help="settings file for all nodes (TOML; see docs/reference/settings.md)",
    )
    parser.add_argument("--seconds", type=real(0.1), metavar="SECONDS", help="stop after so long")
    parser.add_argument("--quiet", type=real(0.1), metavar="SECONDS",
                        help="stop when all nodes are linked and no message has gone anywhere for so long")  # fmt: skip
    parser.add_argument(
        "--plain", action="store_true", help="lines instead of the table, and no colours, also on a terminal"
    )


def _add_federation_file(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("with a federation file")
    group.add_argument(
        "--check", action="store_true", help="only print what would be started, or what is wrong"
    )
    group.add_argument(
        "--host",
        default="",
        metavar="NAME",
        help="start only what is on this one of [hosts] (default: all, here)",
    )
    group.add_argument(
        "--until-input-ends", action="store_true",
        help="stop when standard input ends: for programs that start it, and may be killed",
    )  # fmt: skip


_OF_FEDERATION_FILES = ("check", "host", "until_input_ends")
_OF_DOMAINS_FILES = (
    "agents", "federate", "first_port", "journal", "no_journal", "new_journal", "restart", "rid", "modules", "schedule",
    "otel", "settings", "quiet",
)  # fmt: skip


def _refuse(arguments: argparse.Namespace, names: Sequence[str], why: str) -> None:
    for name in names:
        if getattr(arguments, name):
            raise SettingsError(f"--{name.replace('_', '-')}: {arguments.file} is {why}")


def run(arguments: argparse.Namespace) -> int:
    source = read_input(arguments.file)
    if is_federation_file(source.data):
        _refuse(
            arguments,
            _OF_DOMAINS_FILES,
            "a federation file, which says that itself (docs/how-to/run-file.md)",
        )
        return run_federation_file(source, arguments)
    _refuse(
        arguments,
        _OF_FEDERATION_FILES,
        "a domains file; that is for federation files, with a table [federation]",
    )
    return _run_mesh(arguments)


def _run_mesh(arguments: argparse.Namespace) -> int:
    domains, _ = read_domains(arguments.file)
    servers = domains.topology.servers
    flags = {**record_flags(arguments), **console_flags(arguments), **log_flags(arguments)}
    settings = settings_from(flags, arguments.settings)
    if settings.record.on and not is_recorded(settings):
        complain([recorded_words(settings)])
    if not arguments.no_journal:
        home = arguments.journal or Path(settings.serve.run_directory) / "journal"
        complain(make_way(Path(home), domains.topology, arguments.new_journal))
    folder = new_run_directory(os.environ.get("WEFT_SERVE_RUN_DIRECTORY", "runs"), "mesh")
    extra = ["--no-console"]
    for one in arguments.agents:
        extra += ["--agents", one]
    for flag in ("journal", "settings", "rid", "modules", "schedule", "record", "log"):
        if value := getattr(arguments, flag):
            extra += [f"--{flag}", value]
    for flag in ("no-journal", "no-record", "otel"):
        if getattr(arguments, flag.replace("-", "_")):
            extra.append(f"--{flag}")
    children: list[Child] = []
    for place, name in enumerate(servers):
        port = arguments.first_port + place if arguments.first_port else 0
        command = [sys.executable, "-m", "weft.cli", "serve", "--node", name, "--domains", arguments.file]
        command += ["--port", str(port), "--status", "1", *extra]
        children.append(Child(name, command, folder / f"{name}.log"))
    commands = _commands(arguments.federate, children, folder)
    logs = NodeLogs(children, arguments.log)
    shown: Shown = PlainLines()
    # Lines of a log on the same terminal would tear the table.
    torn = arguments.log is not None and sys.stderr.isatty()
    if sys.stdout.isatty() and not arguments.plain and not torn:
        with contextlib.suppress(ImportError):
            shown = LiveTable(
                f"{len(servers)} nodes in {len(domains.topology.domains)} domains; logs in {folder}"
            )
    return int(run_loop(_run(children, commands, shown, logs, arguments, settings)))


def moved(children: list[Child]) -> int:
    """All messages so far; -1 while something is still to come.  Nobody waits for a node that has died for good."""
    living = [child for child in children if not child.has_ended]
    fit = ("running",) if len(living) == len(children) else ("running", "linking")
    if any(child.state not in fit for child in living):
        return -1
    if len(living) == len(children) and any(child.status.get("backlog") for child in children):
        return -1
    return sum(child.status["sent"] + child.status["received"] for child in living)


def _commands(wanted: list[str], children: list[Child], folder: Path) -> list[FederateProgram]:
    by_name = {child.name: child for child in children}
    found: list[FederateProgram] = []
    for number, text in enumerate(wanted, 1):
        node, _, command = text.partition("=")
        if node not in by_name or not command.strip():
            raise SettingsError(
                f"--federate {text!r}: say it as NODE=COMMAND; nodes are {', '.join(by_name)}"
            )
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise SettingsError(f"--federate {text!r}: {error}") from error
        found.append(FederateProgram(number, by_name[node], words, folder / f"federate-{number}.log"))
    return found


async def _run(
    children: list[Child],
    commands: list[FederateProgram],
    shown: Shown,
    logs: NodeLogs,
    arguments: argparse.Namespace,
    settings: Settings,
) -> int:
    loop = asyncio.get_running_loop()
    stopping = stopped_by_signals()
    if arguments.seconds is not None:
        loop.call_later(arguments.seconds, stopping.set)
    console, consoles = console_for(settings, logs.say, children[0].log.parent / "console.log")
    if consoles:
        print("\n".join(consoles), flush=True)
    if console is not None:
        await console.start([{"node": child.name} for child in children], local_runs(settings))
    with contextlib.closing(shown):
        tasks = [loop.create_task(child.attend(arguments.restart, stopping)) for child in children]
        tasks += [loop.create_task(command.attend(stopping)) for command in commands]
        calm = _Calm(children, commands, arguments.quiet)
        while not stopping.is_set():
            shown.show(children)
            logs.show()
            if console is not None:
                tell_of(console, children)
            _tell_failures(logs, children, commands)
            if calm.has_lasted() or all(child.has_ended for child in children):
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), 0.25)
        stopping.set()
        await _ended(tasks, [*children, *commands])
        if console is not None:
            await console.stop()
        shown.show(children)
        logs.show(last=True)
    _tell_failures(logs, children, commands)
    for command in commands:
        if command.was_stopped:
            logs.say(f"federate {command.number} ({shlex.join(command.command)}) still ran and was ended")
    print(
        f"what nodes{' and programs' if commands else ''} have said is in {children[0].log.parent}",
        flush=True,
    )
    return 1 if any(one.failure for one in [*children, *commands]) else 0


class _Calm:
    """Whether no message has gone anywhere for `quiet` seconds; never, if that is None."""

    def __init__(self, children: list[Child], commands: list[FederateProgram], quiet: float | None) -> None:
        self._children = children
        self._commands = commands
        self._quiet = quiet
        self._moved_at, self._total = time.monotonic(), -1

    def has_lasted(self) -> bool:
        now = moved(self._children)
        if now != self._total or now < 0 or any(command.is_starting for command in self._commands):
            self._moved_at, self._total = time.monotonic(), now
            return False
        # Nodes tell of themselves once a second.
        return self._quiet is not None and time.monotonic() - self._moved_at > self._quiet + 1.0


async def _ended(tasks: list[asyncio.Task[None]], processes: Sequence[Child | FederateProgram]) -> None:
    """Let all end, and kill those that do not."""
    for one in processes:
        one.terminate()
    _, late = await asyncio.wait(tasks, timeout=PATIENCE)
    if late:
        for one in processes:
            one.kill()
        await asyncio.wait(late, timeout=PATIENCE)


def _tell_failures(logs: NodeLogs, children: list[Child], commands: list[FederateProgram]) -> None:
    """Each once, as soon as it is known."""
    for child in children:
        if child.failure:
            logs.failed(child)
    for command in commands:
        if command.failure:
            logs.federate_failed(command)
