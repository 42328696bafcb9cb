"""`weft serve`: a node for federates in any language, over the Federate Protocol."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import weft
from weft.cli.arguments import (
    Commands,
    add_command,
    add_console,
    add_log,
    add_record,
    console_flags,
    log_flags,
    old_name,
    real,
    record_flags,
)
from weft.cli.operate.console import console_for, reachable
from weft.fabric import Domains
from weft.host.files.private import make_private, private
from weft.host.log import JSON, Log
from weft.host.mesh.agents import load_agent
from weft.host.mesh.change import change_over, old_domains
from weft.host.mesh.journal import set_aside
from weft.host.mesh.node import FabricNode, read_domains
from weft.host.observing.call_watch import CallWatch, WatchedCall, log_call
from weft.host.observing.tracing import flush, provider_of, span_sink
from weft.host.operator_keys import key_of_run
from weft.host.recording.recording import is_recorded, local_runs, recorded_words
from weft.host.server.server import Server, run_loop
from weft.host.settings import FabricSettings, MeshDdmSettings, Settings, load_settings
from weft.model.errors import SettingsError
from weft.model.log_text import LogText


def register(commands: Commands) -> None:
    parser = add_command(commands, "serve", run, "run a node that federates join over the Federate Protocol")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=int, metavar="PORT", help="TCP port (default 15164)")
    parser.add_argument(
        "--tls-port", type=int, metavar="PORT", help="TLS 1.3 port; needs --cert and --cert-key"
    )
    parser.add_argument("--ws-port", type=int, metavar="PORT", help="WebSocket port")
    parser.add_argument(
        "--wss-port", type=int, metavar="PORT", help="WebSocket port with TLS; needs --cert and --cert-key"
    )
    parser.add_argument("--cert", metavar="FILE", help="certificate chain, PEM")
    old_name(
        parser,
        parser.add_argument("--cert-key", metavar="FILE", help="private key of the certificate, PEM"),
        "--key",
    )
    parser.add_argument("--password-file", metavar="FILE", help="admit only who is in it (see `weft passwd`)")
    parser.add_argument("--save-dir", metavar="DIR", help="where federation saves go (default runs/saves)")
    parser.add_argument(
        "--modules",
        metavar="DIR",
        help="object models for federates that send only an address, by the last name in it (default: none)",
    )
    parser.add_argument(
        "--rid",
        metavar="FILE",
        help="how federations created here distribute data (see docs/explanation/ddm.md)",
    )
    parser.add_argument(
        "--schedule",
        metavar="FILE",
        help="how urgent classes are for federates that join here (see docs/explanation/urgency.md)",
    )
    add_record(parser)
    add_console(parser)
    add_log(parser)
    parser.add_argument(
        "--settings", metavar="FILE", help="settings file (TOML; see docs/reference/settings.md)"
    )
    node = parser.add_argument_group("a node of a fabric (see docs/explanation/domains.md)")
    node.add_argument("--node", metavar="NAME", help="the server of the domains file that this is")
    node.add_argument("--domains", metavar="FILE", help="the domains file")
    node.add_argument(
        "--agents",
        action="append",
        default=[],
        metavar="[NAME=]MODULE:CLASS",
        help="an agent that lives on this node, besides those of the domains file; may be given again",
    )
    node.add_argument("--journal", metavar="DIR", help="where the node's journal is (default runs/journal)")
    node.add_argument(
        "--no-journal", action="store_true", help="keep nothing: faster, and a crash loses messages"
    )
    node.add_argument(
        "--new-journal", action="store_true", help="begin with an empty journal; what it held is set aside"
    )
    parser.add_argument("--status", type=real(0.1), metavar="SECONDS", help="print a line of JSON so often")


def run(arguments: argparse.Namespace) -> int:
    flags = {
        "serve.host": arguments.host,
        "serve.port": arguments.port,
        "serve.tls_port": arguments.tls_port,
        "serve.ws_port": arguments.ws_port,
        "serve.wss_port": arguments.wss_port,
        "serve.cert": arguments.cert,
        "serve.key": arguments.cert_key,
        "serve.save_directory": arguments.save_dir,
        "serve.module_directory": arguments.modules,
        "security.password_file": arguments.password_file,
        "ddm.rid": arguments.rid,
        "channel.schedule": arguments.schedule,
        **log_flags(arguments),
        **record_flags(arguments),
        **console_flags(arguments),
    }
    settings = settings_from(flags, arguments.settings)
    return int(run_loop(_serve(settings, node_plan(arguments, settings), arguments.status)))


def settings_from(flags: Mapping[str, object], file: str | None) -> Settings:
    text = ""
    if file:
        try:
            text = Path(file).read_text()
        except OSError as error:
            raise SettingsError(f"{file}: {error.strerror or error}") from error
    return load_settings(flags, os.environ, text, file or "")


async def _serve(settings: Settings, plan: NodePlan | None, status: float | None = None) -> int:
    recording = is_recorded(settings)
    run_directory = new_run_directory(settings.serve.run_directory, "server")
    name = "server" if plan is None else plan.name
    provider = provider_of(name) if settings.serve.otel else None
    with open(run_directory / "server.log", "a", encoding="utf-8", opener=private) as file:
        report = Log(name, settings.serve.log, sys.stderr, file)
        if plan is not None and not await plan.change_over(report):
            return 0
        node = None if plan is None else plan.make(report)
        server = Server(
            settings,
            report,
            run_directory=str(run_directory.absolute()),
            fabric=node,
            record=recording,
        )
        console, consoles = console_for(settings, report, run_directory / "console.log")
        sinks: list[Callable[[WatchedCall], None]] = []
        if settings.serve.log == JSON:
            sinks.append(lambda call: log_call(report, call))
        if provider is not None:
            sinks.append(span_sink(provider, name, weft.__version__))
        if sinks:
            server.board.watch = CallWatch(server.board.node, sinks)
        listeners = await server.start()
        for kind, host, port in listeners:
            report.detail(LogText(f"listens: {kind} {host}:{port}", "listening", address=f"{host}:{port}"))
        if node is not None:
            await node.start()
        stopping = stopped_by_signals()
        # Only now: who has read it may end us, and that is to be in order.
        recorded = recorded_words(settings)
        print(greeting(listeners, run_directory, settings.serve.saves, recorded, consoles), flush=True)
        if console is not None:
            here = {"address": reachable(listeners), "key": key_of_run(run_directory)}
            await console.start([here], local_runs(settings))
        code = 0
        if plan is None or node is None:
            await _wait_alone(server, stopping, status, listeners, run_directory)
        else:
            code = await plan.attend(node, stopping, listeners, run_directory, partial(_joined, server))
        report(LogText("stopping: resigning who is still joined", "stopping"))
        await server.stop()
        if node is not None:
            await node.stop()
        if console is not None:
            await console.stop()
        board = server.board
        text = (
            f"stopped after {board.messages} updates and interactions ({board.spliced} spliced as they came); "
            f"{board.frames} frames went out in {board.writes} writes"
        )
        report(LogText(text, "stopped"))
    if provider is not None:
        flush(provider)
    return code


async def _wait_alone(
    server: Server,
    stopping: asyncio.Event,
    seconds: float | None,
    listeners: list[tuple[str, str, int]],
    run_directory: Path,
) -> None:
    """Of a node by itself: as `NodePlan.attend`, without links."""
    while not stopping.is_set():
        if seconds is not None:
            links = {"links": 0, "neighbours": 0, "packets": 0, "stamp_bytes": 0, "backlog": 0}
            counts = {"sent": server.board.messages, "received": server.board.messages}
            _print_status({**links, **counts}, listeners, run_directory, _joined(server))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), seconds)


def _print_status(
    status: Mapping[str, str | int], listeners: list[tuple[str, str, int]], run_directory: Path, joined: int
) -> None:
    _, host, port = listeners[0]
    place = {"federates": f"{host}:{port}", "run_directory": str(run_directory.absolute())}
    told = {**status, "pid": os.getpid(), "joined": joined, **place}
    print(json.dumps({"status": told}), flush=True)


def _joined(server: Server) -> int:
    return sum(session.member is not None for session in server.board.node.sessions.values())


def stopped_by_signals() -> asyncio.Event:
    """Set by SIGTERM and Ctrl-C, where the system lets a loop hear of them."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    return stopping


def new_run_directory(top: str, kind: str) -> Path:
    made = Path(top) / kind / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    try:
        make_private(made, exist_ok=False)
    except OSError as error:
        raise SettingsError(f"{made}: {error.strerror or error} (serve.run_directory)") from error
    return made


def greeting(
    listeners: list[tuple[str, str, int]],
    run_directory: Path,
    saves: Path,
    recorded: str,
    console: Sequence[str] = (),
) -> str:
    lines = [f"weft {weft.__version__} serves"]
    for kind, host, port in listeners:
        lines.append(f"  {kind:<4} {host}:{port}")
    lines += console
    _, host, port = listeners[0]
    lines += [
        f"  run directory {run_directory}, saves in {saves}, {recorded}",
        "",
        "Point a federate at it:",
        f'  Python   rti.connect(ambassador, CallbackModel.EVOKED, "{host}:{port}")',
        f'  C++      connect(ambassador, HLA_EVOKED, RtiConfiguration::createConfiguration().withRtiAddress(L"{host}:{port}"))',
        f'  Java     connect(ambassador, HLA_EVOKED, RtiConfiguration.createConfiguration().withRtiAddress("{host}:{port}"))',
        f'  2010     connect(ambassador, HLA_EVOKED, "crcAddress={host}:{port}")',
    ]
    return "\n".join(lines)


# As a node of a fabric: `--node S3 --domains FILE`


@dataclass(frozen=True)
class NodePlan:
    """What the command line asked of a node of a fabric."""

    name: str
    domains: Domains
    folder: Path
    settings: FabricSettings
    ddm: MeshDdmSettings
    journal: Path | None
    agents: tuple[str, ...]
    status: float | None

    def make(self, report: Callable[[str], None]) -> FabricNode:
        agents = dict(load_agent(one) for one in self.agents)
        return FabricNode(
            self.domains, self.name, report, self.settings, self.journal, self.folder, agents, self.ddm
        )

    async def change_over(self, report: Callable[[str], None]) -> bool:
        """Finish the domains that the journal is of, if these are others.  False if the node was stopped meanwhile."""
        if self.journal is None or old_domains(self.journal, self.domains) is None:
            return True
        stopping = stopped_by_signals()
        return await change_over(
            self.domains, self.name, report, self.settings, self.journal, self.folder, stopping
        )

    async def attend(
        self,
        node: FabricNode,
        stopping: asyncio.Event,
        listeners: list[tuple[str, str, int]],
        run_directory: Path,
        joined: Callable[[], int],
    ) -> int:
        """Until it is to stop, or cannot go on; the exit code.  `joined`: how many federates are, here."""
        failed = node.mesh.failed
        assert failed is not None
        asked = asyncio.ensure_future(stopping.wait())
        while True:
            if self.status is not None:
                _print_status(node.status(), listeners, run_directory, joined())
            both: list[asyncio.Future[Literal[True]] | asyncio.Future[str]] = [asked, failed]
            await asyncio.wait(both, timeout=self.status, return_when=asyncio.FIRST_COMPLETED)
            if failed.done() or asked.done():
                asked.cancel()
                return 1 if failed.done() else 0


def node_plan(arguments: argparse.Namespace, settings: Settings) -> NodePlan | None:
    """None without --node: a node by itself."""
    if arguments.node is None and arguments.domains is None:
        if any((arguments.agents, arguments.journal, arguments.no_journal, arguments.new_journal)):
            raise SettingsError(
                "--agents, --journal, --no-journal and --new-journal need --node and --domains"
            )
        return None
    if arguments.node is None or arguments.domains is None:
        raise SettingsError("a node of a fabric needs both: --node NAME and --domains FILE")
    domains, folder = read_domains(arguments.domains)
    if arguments.node not in domains.topology.numbers:
        known = ", ".join(domains.topology.servers)
        raise SettingsError(f"{arguments.domains}: there is no server {arguments.node!r}; there are {known}")
    journal = None
    if not arguments.no_journal:
        home = Path(arguments.journal or Path(settings.serve.run_directory) / "journal")
        journal = home / f"{arguments.node}.journal"
        if arguments.new_journal:
            set_aside(journal)
    return NodePlan(
        arguments.node,
        domains,
        folder,
        settings.fabric,
        settings.ddm,
        journal,
        tuple(arguments.agents),
        arguments.status,
    )
