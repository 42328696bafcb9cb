"""`weft serve`: a node for federates in any language, over the Federate Protocol."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from pathlib import Path

import weft
from weft.host.server import Server, run_loop
from weft.host.settings import Settings, load_settings
from weft.model.errors import SettingsError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("serve", help="run a node that federates join over the Federate Protocol")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=int, help="TCP port (default 15164)")
    parser.add_argument("--tls-port", type=int, help="TLS 1.3 port; needs --cert and --key")
    parser.add_argument("--ws-port", type=int, help="WebSocket port")
    parser.add_argument("--wss-port", type=int, help="WebSocket port with TLS; needs --cert and --key")
    parser.add_argument("--cert", help="certificate chain, PEM")
    parser.add_argument("--key", help="private key of the certificate, PEM")
    parser.add_argument("--password-file", help="admit only who is in it (see `weft passwd`)")
    parser.add_argument("--save-dir", help="where federation saves go (default runs/saves)")
    parser.add_argument("--settings", help="settings file (TOML)")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    return int(run_loop(_serve(settings)))


def settings_of(arguments: argparse.Namespace) -> Settings:
    flags = {
        "serve.host": arguments.host,
        "serve.port": arguments.port,
        "serve.tls_port": arguments.tls_port,
        "serve.ws_port": arguments.ws_port,
        "serve.wss_port": arguments.wss_port,
        "serve.cert": arguments.cert,
        "serve.key": arguments.key,
        "serve.save_directory": arguments.save_dir,
        "security.password_file": arguments.password_file,
    }
    text = ""
    if arguments.settings:
        try:
            text = Path(arguments.settings).read_text()
        except OSError as error:
            raise SettingsError(f"{arguments.settings}: {error.strerror or error}") from error
    return load_settings(flags, os.environ, text, arguments.settings or "")


async def _serve(settings: Settings) -> int:
    run_directory = _run_directory(settings)
    with (run_directory / "server.log").open("a") as log:

        def report(text: str) -> None:
            line = f"{time.strftime('%H:%M:%S')} {text}"
            print(line, file=sys.stderr, flush=True)
            print(line, file=log, flush=True)

        server = Server(settings, report, run_directory=str(run_directory.absolute()))
        listeners = await server.start()
        print(greeting(listeners, run_directory, settings.serve.saves), flush=True)
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, stopping.set)
        await stopping.wait()
        report("stopping: resigning who is still joined")
        await server.stop()
        board = server.board
        report(
            f"stopped after {board.messages} updates and interactions ({board.spliced} spliced as they came); "
            f"{board.frames} frames went out in {board.writes} writes"
        )
    return 0


def _run_directory(settings: Settings) -> Path:
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    made = Path(settings.serve.run_directory) / "server" / name
    try:
        made.mkdir(parents=True)
    except OSError as error:
        raise SettingsError(f"{made}: {error.strerror or error} (serve.run_directory)") from error
    return made


def greeting(listeners: list[tuple[str, str, int]], run_directory: Path, saves: Path) -> str:
    lines = [f"weft {weft.__version__} serves"]
    for kind, host, port in listeners:
        lines.append(f"  {kind:<4} {host}:{port}")
    _, host, port = listeners[0]
    lines += [
        f"  run directory {run_directory}, saves in {saves}",
        "",
        "Point a federate at it:",
        f'  Python   rti.connect(ambassador, CallbackModel.EVOKED, "{host}:{port}")',
        f'  C++      connect(ambassador, HLA_EVOKED, RtiConfiguration::createConfiguration().withRtiAddress(L"{host}:{port}"))',
        f'  Java     connect(ambassador, HLA_EVOKED, RtiConfiguration.createConfiguration().withRtiAddress("{host}:{port}"))',
        f'  2010     connect(ambassador, HLA_EVOKED, "crcAddress={host}:{port}")',
    ]
    return "\n".join(lines)
