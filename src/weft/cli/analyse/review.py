"""`weft review RUN`: was the run right?  Exit 0 if so, 1 if something was violated, 2 if it could not be reviewed at all, 3 if it
cannot be told.  Of several runs (`review_many`) the worst counts, in the order 1, 2, 3, 0."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from weft.cli.analyse import review_follow, review_many
from weft.cli.analyse.run_reviews import keep_result
from weft.cli.analyse.tune import advice_lines
from weft.cli.arguments import RUN_HELP, Commands, add_master, cluster_of, say, whole
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    from weft.review import Review
    from weft.review.spark.cluster import Cluster

EXITS = {"ok": 0, "violated": 1, "inconclusive": 3}
KNOWN_ORDERS = ("RO", "CO", "CT", "TSO", "PO")
INCONCLUSIVE = (
    "inconclusive: nothing is violated as far as can be told, but not everything could be judged (see above)"
)


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "review",
        help="audit recorded runs on Spark; exit 1 if something was violated",
        description=(
            "Audit a recorded run on Spark: causal order, logical time, interest, deliveries, deadlines. Of several runs, or of "
            "a folder of runs, those that are new since the last time are audited, and results go into a lake of tables. "
            "Exit 0: nothing is violated; 1: something is; 2: the run could not be reviewed; 3: nothing is violated as far as "
            "can be told, but rows are missing or an audit failed. Of several runs, also those reviewed before, the worst counts."
        ),
    )
    parser.add_argument(
        "run",
        nargs="*",
        metavar="RUN",
        help=f"{RUN_HELP}; or a folder of runs; may be several",
    )
    add_master(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--witnesses",
        type=whole(0),
        default=20,
        metavar="N",
        help="show so many of each audit (default %(default)s)",
    )
    parser.add_argument(
        "--orders",
        type=_orders,
        default=("RO", "CO", "CT"),
        metavar="ORDER[,…]",
        help="messages that the causal audit looks at (default RO,CO,CT; CO,CT are those whose order is promised)",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="also write the report as one HTML file, with space-time diagrams"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="first compare the checksum of each file with the run's manifest",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="print the steps of all audits instead (also with --json); needs no RUN",
    )
    parser.add_argument("--no-advice", action="store_true", help="leave out what should change (weft tune)")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="while the run is being written: tell what is found as it comes, until the run ends or Ctrl-C",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="with --follow: where it is kept how far it has come, so that the same command goes on there (default: nowhere)",
    )
    review_many.add_flags(parser)
    parser.set_defaults(func=run)


def _orders(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    for order in chosen:
        if order not in KNOWN_ORDERS:
            raise argparse.ArgumentTypeError(f"{order!r} is none of {', '.join(KNOWN_ORDERS)}")
    return chosen


def run(arguments: argparse.Namespace) -> int:
    if arguments.plan:
        return show_plan(arguments.json)
    if not arguments.run:
        raise SettingsError("weft review: name the folder of a run (`weft runs` lists them)")
    cluster = cluster_of(arguments)
    if arguments.follow and arguments.verify:
        raise SettingsError("--verify is for a run that has ended: leave out --follow")
    if arguments.html is not None:
        check_writable(arguments.html)
    if not review_many.is_one_run(arguments):
        return (
            review_follow.follow_many(arguments, cluster)
            if arguments.follow
            else review_many.run_many(arguments, cluster)
        )
    return run_one(arguments, arguments.run[0], cluster)


def run_one(arguments: argparse.Namespace, path: str, cluster: Cluster) -> int:
    from weft.review import review

    whole = {"advice": not arguments.no_advice, "evidence": arguments.html is not None}
    if arguments.follow:
        found = followed(arguments, path, cluster, whole)
    else:
        also = review_many.keeper(arguments)
        found = review(
            path,
            cluster,
            say,
            arguments.witnesses,
            arguments.orders,
            checksums=arguments.verify,
            also=also,
            **whole,
        )
    keep_result(path, found.as_data())
    if arguments.html is not None:
        write_report(arguments.html, found)
    indent = None if arguments.follow else 2  # behind the findings, a line each
    print(json.dumps(found.as_data(), indent=indent) if arguments.json else as_text(found))
    return EXITS[found.status]


def show_plan(as_json: bool) -> int:
    """What the audits do, step by step."""
    from weft.review.review import STEPS
    from weft.review.steps import plan_data, plan_text

    print(json.dumps(plan_data(STEPS), indent=2) if as_json else plan_text(STEPS))
    return 0


def check_writable(path: str) -> None:
    """Before Spark works for minutes."""
    target = Path(path)
    if target.is_dir():
        raise SettingsError(
            f"--html {path}: that is a folder; name a file in it, like {target / 'review.html'}"
        )
    if not target.parent.is_dir():
        raise SettingsError(f"--html {path}: there is no folder {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise SettingsError(f"--html {path}: cannot be written")


def write_report(path: str | Path, found: Review) -> None:
    from weft.review.report import html_report

    try:
        Path(path).write_text(html_report(found), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror or error}") from None
    say(f"the report is in {path}\n")


def as_text(found: Review) -> str:
    lines = [f"note: {note}" for note in found.notes]
    lines += [f"{found.run}: {found.rows:,} rows", ""]
    for name, result in found.audits.items():
        unsure = f", {result.unsure:,} unsure (rows are missing)" if result.unsure else ""
        verdict = "ok" if not result.violations else f"{result.violations:,} violations"
        lines.append(f"{name:<10} {verdict}{unsure}")
        lines += [f"    {witness_text(witness)}" for witness in result.witnesses]
        hidden = result.violations - len(result.witnesses)
        if hidden > 0:
            lines.append(f"    … and {hidden:,} more")
        if name == "deadlines":
            lines += _consumers(result.figures.get("consumers", []))
    lines += [f"{name:<10} failed: {why}" for name, why in found.failures.items()]
    if found.status == "inconclusive":
        lines += ["", INCONCLUSIVE]
    if found.advice:
        lines += ["", *advice_lines(found.advice)]
    return "\n".join(lines)


def witness_text(witness: Mapping[str, object]) -> str:
    """As `what: name value, name value`."""
    rest = ", ".join(f"{name} {value}" for name, value in witness.items() if name != "what")
    return f"{witness['what']}: {rest}" if "what" in witness else rest


class ConsumerFigures(TypedDict):
    """How a consumer kept its deadlines, of the figures of the audit of deadlines."""

    name: str | None
    priority: int | None
    events: int
    misses: int
    laxity_ms: dict[str, float] | None
    utilisation: float | None


def _consumers(consumers: Sequence[ConsumerFigures]) -> list[str]:
    if not consumers:
        return []
    lines = [
        (
            f"    {'consumer':<24}{'priority':>9}{'events':>10}{'misses':>8}"
            f"{'laxity ms: min':>16}{'p50':>10}{'max':>10}{'used':>8}"
        )
    ]
    for row in consumers:
        laxity = row["laxity_ms"] or {}
        figures = "".join(
            f"{'' if laxity.get(name) is None else format(laxity[name], '.3f'):>{width}}"
            for name, width in (("min", 16), ("p50", 10), ("max", 10))
        )
        used = "" if row["utilisation"] is None else f"{row['utilisation']:.1%}"
        priority = "" if row["priority"] is None else row["priority"]
        lines.append(
            f"    {row['name'] or '':<24}{priority:>9}{row['events']:>10,}{row['misses']:>8,}{figures}{used:>8}"
        )
    return lines


# While the run is being written


def followed(arguments: argparse.Namespace, path: str, cluster: Cluster, whole: dict[str, bool]) -> Review:
    """What is found is told as it comes, a line each.  `whole`: what the review at the end is to have."""
    from weft.review import follow
    from weft.review.many.followed import FollowedTables

    def tell(findings: Sequence[Mapping[str, object]]) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        lines = map(json.dumps, findings) if arguments.json else as_lines(findings, arguments.witnesses)
        print("\n".join(lines), flush=True)

    checkpoint = review_follow.checkpoint_of(arguments)
    lake = review_many.lake_of_one(arguments)
    tables = FollowedTables(lambda run: lake, review_many.wanted_of(arguments))
    return follow(
        path,
        cluster,
        say,
        tell,
        arguments.witnesses,
        arguments.orders,
        checkpoint=checkpoint,
        note=tables.note,
        keeper=lambda: review_many.keeper(arguments),
        **whole,
    )


def as_lines(findings: Sequence[Mapping[str, object]], most: int) -> list[str]:
    """Of each audit at most so many at once, and how many more there are."""
    now = time.strftime("%H:%M:%S")
    lines = []
    for audit in dict.fromkeys(finding["audit"] for finding in findings):
        mine = [finding for finding in findings if finding["audit"] == audit]
        for finding in mine[:most]:
            told = {name: value for name, value in finding.items() if name != "audit"}
            lines.append(f"{now} {audit:<10} {witness_text(told)}")
        if len(mine) > most:
            lines.append(f"{now} {audit:<10} … and {len(mine) - most:,} more")
    return lines
