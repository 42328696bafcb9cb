"""`weft console ADDRESS…`: the console of nodes that run already.  Also what `weft serve` and `weft run` need to have one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from weft.cli.arguments import Commands, add_operator_key, add_server, servers_of, whole
from weft.cli.operate.run_nodes import Child
from weft.cli.terminal.asking import NodeAccess, advice, ask_all
from weft.console.child import NEEDS, ConsoleChild, guard_of, is_installed, listen, start_of
from weft.host.operator_keys import key_of_run, read_key
from weft.host.recording.files import DEFAULT_DIRECTORY
from weft.host.settings import Settings, load_settings
from weft.model.errors import ConnectionFailed
from weft.model.extras import install, require


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "console",
        help="web pages that show what running nodes do",
        description="Web pages that show what running nodes do. `weft serve` and `weft run` have one already.",
    )
    add_server(parser, many=True)
    add_operator_key(parser, "operator.key of the nodes' run directory: without it one may only look")
    parser.add_argument("--wait", action="store_true", help="start also if no node answers yet")
    parser.add_argument("--port", type=whole(0), help="its port (default: any that is free)")
    parser.add_argument("--host", help="its address (default 127.0.0.1, this machine only)")
    parser.add_argument("--cert", metavar="FILE", help="certificate chain, PEM: TLS")
    parser.add_argument("--cert-key", metavar="FILE", help="private key of the certificate, PEM")
    parser.add_argument("--insecure", action="store_true", help="listen for other machines without TLS")
    parser.add_argument(
        "--runs",
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="where runs are recorded (default %(default)s)",
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    require("the console", "console", *NEEDS)
    from weft.console.process import report_to, serve

    flags = {
        "console.on": True,
        "console.host": arguments.host,
        "console.port": arguments.port,
        "console.cert": arguments.cert,
        "console.key": arguments.cert_key,
        "console.insecure": True if arguments.insecure else None,
    }
    settings = load_settings(flags, os.environ).console
    key = read_key(arguments.operator_key, "--operator-key") if arguments.operator_key else ""
    addresses = servers_of(arguments)
    if not arguments.wait:
        _look_for(addresses, NodeAccess(operator_key=arguments.operator_key))
    with listen(settings) as listening:
        guard = guard_of(settings, listening)
        print(
            f"console   {guard.url(guard.tokens.operator)}\nto look   {guard.url(guard.tokens.reader)}",
            flush=True,
        )
        nodes = [{"address": address, "key": key} for address in addresses]
        serve(start_of(settings, guard, arguments.runs, nodes), listening, None, report_to())
    return 0


def _look_for(addresses: Sequence[str], door: NodeAccess) -> None:
    """A console of nobody is a mistake; of several nodes some may come later."""
    answers = ask_all(addresses, door, ("server",))
    silent = [f"{answer.why}{advice(answer.why, with_password=False)}" for answer in answers if answer.why]
    if len(silent) == len(answers):
        raise ConnectionFailed(
            f"no node answers: {'; '.join(silent)}; --wait starts the console all the same"
        )
    for why in silent:
        print(f"weft: {why}; the console goes on asking", file=sys.stderr)


def console_for(
    settings: Settings, report: Callable[[str], None], log: Path
) -> tuple[ConsoleChild | None, Sequence[str]]:
    """One that listens, if there is to be one, and what to say of it."""
    if not settings.console.on:
        return None, ()
    if not is_installed():
        return None, [f"  console   not installed: {install('console')} (--no-console: not wanted)"]
    child = ConsoleChild(settings.console, report, log)
    return child, child.greeting


def reachable(listeners: list[tuple[str, str, int]]) -> str:
    """The address by which this machine reaches what listens everywhere."""
    _, host, port = listeners[0]
    here = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"[{here}]:{port}" if ":" in here else f"{here}:{port}"


def tell_of(console: ConsoleChild, children: Sequence[Child]) -> None:
    """The nodes of `weft run`: where they are reached once they are, and what became of those that died."""
    for child in children:
        if child.state.startswith(("died", "ended", "stopped")):
            console.tell(child.name, state="down", why=f"{child.state}; see {child.log}")
        elif "federates" in child.status:
            key = key_of_run(Path(child.status["run_directory"]))
            console.tell(child.name, address=child.status["federates"], key=key)
        else:
            console.tell(child.name, state="starting")
