"""What several commands share: how they are registered, what they take (numbers out of range are an error of usage, said by
argparse in one line), how they write files and say what is wrong."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from weft.model.errors import SettingsError
from weft.model.records import Source

if TYPE_CHECKING:
    from weft.review.spark.cluster import Cluster

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
LOCAL = "127.0.0.1:15164"


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    text: str,
) -> argparse.ArgumentParser:
    """A command of which one sentence says what it does (`weft.cli.examples` has its examples)."""
    made = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    made.set_defaults(func=run)
    return made


def old_name(parser: argparse._ActionsContainer, action: argparse.Action, *names: str) -> None:
    """Further names of a flag, of earlier versions or of habit; no help shows them."""
    parser.add_argument(
        *names, dest=action.dest, metavar=action.metavar, default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )


def add_server(parser: argparse.ArgumentParser, many: bool = False) -> None:
    """Which node is asked; with `many` also as arguments without a flag."""
    if not many:
        parser.add_argument(
            "--server",
            default=LOCAL,
            metavar="HOST[:PORT]",
            help="the server, or any node of its mesh (default %(default)s)",
        )
        return
    parser.add_argument(
        "address",
        nargs="*",
        metavar="HOST[:PORT]",
        help=f"a running node (default {LOCAL}); may be several of one fabric",
    )
    parser.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="the same, as in other commands; may be given again",
    )


def servers_of(arguments: argparse.Namespace) -> list[str]:
    return [*arguments.address, *arguments.server] or [LOCAL]


def add_out(parser: argparse.ArgumentParser, metavar: str, text: str, default: str | None = None) -> None:
    """What is written, and where: the same flag in all commands that write."""
    shown = parser.add_argument("-o", "--out", metavar=metavar, default=default, help=text)
    old_name(parser, shown, "--output")


def read_input(name: str) -> Source:
    """The file of that name, or standard input for -."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise SettingsError(f"{name}: cannot be read: {error.strerror or error}") from error
    return Source("standard input" if name == "-" else name, data)


def write_text(text: str, file: str | None) -> None:
    """To the file that was named, or to standard output."""
    if file is None:
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: cannot be written: {error.strerror or error}") from error


def say(text: str) -> None:
    """On a terminal one line that changes; elsewhere a line for each thing that is done."""
    if sys.stderr.isatty():
        print(f"\r\x1b[Kweft: {text}", end="", file=sys.stderr, flush=True)
    elif text.endswith("\n"):
        print(f"weft: {text}", end="", file=sys.stderr, flush=True)


def complain(errors: Iterable[object]) -> None:
    for error in errors:
        print(f"weft: {error}", file=sys.stderr)


RUN_HELP = (
    "a recorded run: its folder, or its address in a store, like s3://bucket/runs/… (`weft runs` lists them)"
)


MASTER_HELP = "where Spark runs: local[N], spark://…, yarn, k8s://…, sc://…"


def add_master(
    parser: argparse.ArgumentParser,
    default: str | None = "local[*]",
    text: str = f"{MASTER_HELP} (default %(default)s)",
) -> None:
    """Where Spark runs, for every command that starts it; `cluster_of` makes a value of it (docs/how-to/cluster.md)."""
    group = parser.add_argument_group("Spark (see docs/how-to/cluster.md)")
    group.add_argument("--master", default=default, metavar="URL", help=text)
    group.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark, like spark.executor.memory=4g; may be repeated",
    )
    group.add_argument(
        "--package",
        default="",
        metavar="FILE",
        help="what `weft package` made, for workers on which Weft is not installed",
    )


def asks_for_spark(arguments: argparse.Namespace) -> bool:
    """Of a command that can do without."""
    return bool(arguments.master or arguments.conf or arguments.package)


def cluster_of(arguments: argparse.Namespace) -> Cluster:
    """Raises an error if that cannot be, before anything is done."""
    from weft.review.spark.cluster import Cluster, check_cluster, setting_of
    from weft.review.spark.package import check_package

    settings = []
    for text in arguments.conf:
        try:
            settings.append(setting_of(text))
        except ValueError as error:
            raise SettingsError(f"--conf {text}: {error}") from None
    package = str(Path(arguments.package).absolute()) if arguments.package else ""
    made = Cluster(arguments.master or "local[*]", tuple(settings), package)
    check_cluster(made)
    if package:
        check_package(Path(package))
    return made


def add_operator_key(parser: argparse._ActionsContainer, text: str) -> None:
    old_name(parser, parser.add_argument("--operator-key", metavar="FILE", help=text), "--key")


def whole(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{value} is less than {minimum}")
        return value

    return number


def real(minimum: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or value < minimum:
            raise argparse.ArgumentTypeError(f"{text} is not a number of at least {minimum:g}")
        return value

    return number


def add_record(parser: argparse.ArgumentParser) -> None:
    """Whether runs are recorded, and where (docs/how-to/recording.md)."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--record",
        metavar="PLACE",
        help="where runs are recorded: a folder, or an address like s3://bucket/runs (default runs)",
    )
    either.add_argument("--no-record", action="store_true", help="do not record runs")


def record_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """As settings take it: who names a folder wants it recorded."""
    return {
        "record.on": False if arguments.no_record else True if arguments.record else None,
        "record.directory": arguments.record,
    }


def add_log(parser: argparse.ArgumentParser, shown: str = "") -> None:
    """How the log is written, and spans of calls (docs/how-to/logs.md).  `shown`: what else the form does."""
    from weft.host.log import FORMS  # which commands that have no log need not wait for

    parser.add_argument(
        "--log",
        choices=FORMS,
        help=f"how the log is written: text, or json for programs{shown} (docs/how-to/logs.md)",
    )
    parser.add_argument(
        "--otel",
        action="store_true",
        help="spans of calls for OpenTelemetry (docs/how-to/logs.md); needs weft-rti[otel]",
    )


def log_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """As settings take it."""
    return {"serve.log": arguments.log, "serve.otel": True if arguments.otel else None}


def add_console(parser: argparse.ArgumentParser) -> None:
    """Whether there is a console, and where (docs/how-to/console.md)."""
    group = parser.add_argument_group("the console (see docs/how-to/console.md)")
    group.add_argument("--no-console", action="store_true", help="do not start it")
    group.add_argument(
        "--console-port", type=whole(0), metavar="PORT", help="its port (default: any that is free)"
    )
    group.add_argument(
        "--console-host", metavar="HOST", help="its address (default 127.0.0.1, this machine only)"
    )
    group.add_argument(
        "--console-insecure",
        action="store_true",
        help="let it listen for other machines without TLS (console.cert)",
    )


def console_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """As settings take it."""
    return {
        "console.on": False if arguments.no_console else None,
        "console.port": arguments.console_port,
        "console.host": arguments.console_host,
        "console.insecure": True if arguments.console_insecure else None,
    }
