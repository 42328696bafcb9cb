"""`weft prove`: random scripts of calls, the same in several worlds, compared and judged (docs/how-to/proving.md)."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from weft.cli.arguments import Commands, whole
from weft.host.files.modules import read_sources
from weft.model.errors import SettingsError
from weft.prove import (
    IN_TURN,
    AtAddress,
    AtServer,
    Campaign,
    CampaignOutcome,
    MakeWorld,
    MeshedServers,
    OwnNodes,
    Script,
    ServerCertificate,
    Simulated,
    proving_model,
    read_script,
    words_of,
)

WORLDS = ("server", "async", "websocket", "tls", "mesh", "mesh-async", "nodes", "simulated")
_USUAL = ("server", "async", "mesh", "nodes", "simulated")


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "prove",
        help="try the RTI with random calls of all service groups, and compare worlds; exit 1 if they differ",
        description="Write scripts of random calls by several federates, of all service groups, and run each of them at an "
        "embedded node and in other worlds: at a server, over three nodes, after a save and a restore. Results, exceptions and "
        "callbacks must be the same. A script that fails is made short and printed.",
    )
    parser.add_argument(
        "server",
        nargs="?",
        metavar="HOST[:PORT]",
        help="a running server to try, instead of worlds inside this process",
    )
    parser.add_argument(
        "--seeds", type=whole(1), default=20, metavar="N", help="how many scripts (default %(default)s)"
    )
    parser.add_argument(
        "--first", type=whole(0), default=1, metavar="SEED", help="the first seed (default %(default)s)"
    )
    parser.add_argument(
        "--calls", type=whole(10), default=120, metavar="N", help="of each script (default %(default)s)"
    )
    parser.add_argument(
        "--federates", type=whole(2), default=0, metavar="N", help="how many (default 3 and 4 in turn)"
    )
    parser.add_argument(
        "--fom",
        action="append",
        default=[],
        metavar="FILE",
        help="an object model to use the classes of; may be given again",
    )
    parser.add_argument(
        "--world",
        action="append",
        choices=WORLDS,
        metavar="WORLD",
        help=f"one of {', '.join(WORLDS)}; may be given again (default {', '.join(_USUAL)})",
    )
    parser.add_argument(
        "--declarations",
        choices=("none", "timed", "regulating"),
        help="make calls as of a time, too, in federations with this setting of ddm.declarations; none: make no such calls "
        "(default: each in turn, by the seed; none for a server that is named, which must have been started with the setting)",
    )
    parser.add_argument("--script", metavar="FILE", help="run this script instead, as one was printed")
    parser.add_argument(
        "--review",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="record what happens in worlds of this process, and let the review judge it (default: yes)",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    words = words_of(read_sources(arguments.fom) if arguments.fom else (proving_model(),))
    with tempfile.TemporaryDirectory(prefix="weft-prove-") as folder:
        names = arguments.world or _USUAL
        if arguments.server:
            if arguments.world:
                raise SettingsError("weft prove: name a server or worlds, not both")
            makers: list[MakeWorld] = [lambda record: AtAddress(arguments.server)]
            names = (arguments.server,)
        else:
            makers = [_maker(name, Path(folder)) for name in names]
        campaign = Campaign(
            words,
            makers,
            arguments.calls,
            arguments.federates,
            arguments.review,
            _progress(arguments.seeds),
            declarations=_declarations(arguments),
        )
        if arguments.script:
            outcome = campaign.replay(_script(arguments.script))
        else:
            outcome = campaign.run(range(arguments.first, arguments.first + arguments.seeds))
    print(json.dumps(outcome.plain(), indent=2) if arguments.json else _text(outcome, ("embedded", *names)))
    return 0 if outcome.proven else 1


def _declarations(arguments: argparse.Namespace) -> str:
    given = arguments.declarations or ("none" if arguments.server else IN_TURN)
    return "" if given == "none" else str(given)


def _script(path: str) -> Script:
    try:
        return read_script(Path(path).read_text(), path)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


def _maker(name: str, folder: Path) -> MakeWorld:
    if name == "nodes":
        return OwnNodes
    if name == "simulated":
        return Simulated
    if name in ("mesh", "mesh-async"):
        return lambda record: MeshedServers(name == "mesh", record)
    if name == "tls":
        certificate = _certificate(folder)
        return lambda record: AtServer("tls", record=record, certificate=certificate)
    kind = "ws" if name == "websocket" else "tcp"
    return lambda record: AtServer(kind, name != "async", record)


def _certificate(folder: Path) -> ServerCertificate:
    """For this machine's loopback, and only for this run."""
    program = shutil.which("openssl")
    if program is None:
        raise SettingsError(
            "the world tls needs the command openssl, to make a certificate; leave it out, or install openssl"
        )
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = subprocess.run(
        [
            program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", str(key), "-out", str(cert),
        ],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if made.returncode != 0:
        raise SettingsError(
            f"openssl made no certificate for the world tls: {made.stderr.strip().splitlines()[-1:]}"
        )
    return ServerCertificate(str(cert), str(key))


def _progress(seeds: int) -> Callable[[int, CampaignOutcome], None]:
    def show(seed: int, outcome: CampaignOutcome) -> None:
        if not sys.stderr.isatty():
            return
        found = f", {len(outcome.findings)} differences" if outcome.findings else ""
        end = "\n" if outcome.seeds == seeds else ""
        text = f"\rseed {seed}: {outcome.seeds} of {seeds}, {outcome.calls} calls, {outcome.callbacks} callbacks{found} "
        print(text, end=end, file=sys.stderr, flush=True)

    return show


def _text(outcome: CampaignOutcome, worlds: tuple[str, ...]) -> str:
    lines = []
    for number, finding in enumerate(outcome.findings, 1):
        lines += [f"{number}. seed {finding.seed}, {finding.world}", f"   {finding.what}", ""]
        if finding.script:
            lines += ["   This script shows it (weft prove --script FILE):", finding.script]
    lines += [
        f"worlds     {', '.join(worlds)}",
        f"scripts    {outcome.seeds}, played {outcome.plays} times",
        f"calls      {outcome.calls}",
        f"as of      {outcome.as_of} calls as of a time, and {outcome.as_of_refused} that were refused",
        f"callbacks  {outcome.callbacks}",
        f"restored   {outcome.restored} in the middle",
        f"reviewed   {outcome.runs} recorded runs",
        "",
    ]
    lines.append(
        "Proven: all worlds agree." if outcome.proven else f"Not proven: {len(outcome.findings)} differences."
    )
    return "\n".join(lines)
