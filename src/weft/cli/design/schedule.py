"""`weft schedule`: priorities from what is known of operations, whether all deadlines are met, and why."""

from __future__ import annotations

import argparse
import json
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

from weft.channel import SchedulePlan, plan, write_schedule
from weft.channel.scheduling.analysis import NANO, Delay
from weft.channel.scheduling.explanation import (
    Explanation,
    analysis_text,
    duration,
    explained,
)
from weft.channel.scheduling.graph import schedule_graph
from weft.channel.scheduling.schedule import POLICIES, RATE_MONOTONIC, Scheduled, analysed
from weft.channel.scheduling.schedule_file import ScheduleDraft, parse_draft
from weft.cli.arguments import Commands, add_command, add_out, read_input, write_text
from weft.drawing import Graphic, style, svg
from weft.model.errors import SettingsError


class _Kind(NamedTuple):
    """Of dispatchers: what they have in common for an analysis."""

    preemptive: bool
    in_order: bool
    about: str


_KINDS = {
    "preemptive": _Kind(True, True, "Preemptive"),
    "one-thread": _Kind(False, True, "OneThread, SingleThreaded"),
    "cooperative": _Kind(
        False, True, "OneThread and Cooperative: as one-thread, since nobody knows how long a consumer goes without yielding"
    ),
    "threads": _Kind(True, False, "ThreadPerConsumer, ThreadPools: in any order"),
}  # fmt: skip
_POLICIES = {name.replace(" ", "-"): name for name in POLICIES}  # as shells complete them
_OWN = {True: "preemptive", False: "one-thread"}


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "schedule", help="priorities for operations of an event channel, and whether deadlines are met"
    )
    actions = parser.add_subparsers(dest="schedule_command", metavar="COMMAND", required=True)
    made = add_command(actions, "plan", run_plan, "compute priorities, and write a schedule file with them")
    _file(made, "a schedule file (TOML), with or without priorities; - for standard input")
    made.add_argument("--policy", choices=_POLICIES, help="how to rank (default: as the file says)")
    _dispatcher(made)
    add_out(made, "FILE", "the schedule file to write; standard output if left out")

    check = add_command(
        actions, "check", run_check, "say whether all deadlines are met, and by which analysis"
    )
    _file(check)
    _dispatcher(check)
    check.add_argument("--json", action="store_true", help="print one JSON object")

    graph = add_command(
        actions, "graph", run_graph, "draw which operations trigger which, with their priorities"
    )
    _file(graph)
    _dispatcher(graph)
    add_out(
        graph, "FILE", "the picture (.svg) or page (.html) to write (default %(default)s)", "schedule.svg"
    )

    why = add_command(
        actions, "explain", run_explain, "say why an operation has its priority and its response time"
    )
    _file(why)
    why.add_argument("operation", metavar="OPERATION", help="its name in the file")
    _dispatcher(why)
    why.add_argument("--json", action="store_true", help="print one JSON object")


def _file(
    parser: argparse.ArgumentParser,
    text: str = "a schedule file (TOML); one without priorities is planned first; - for standard input",
) -> None:
    parser.add_argument("file", metavar="FILE", help=text)


def _dispatcher(parser: argparse.ArgumentParser) -> None:
    kinds = "; ".join(f"{name}: {kind.about}" for name, kind in _KINDS.items())
    parser.add_argument(
        "--dispatcher", choices=_KINDS,
        help=f"who runs the consumers (default: as `preemptive` of the file says). {kinds}",
    )  # fmt: skip


# Reading


def _draft(name: str) -> ScheduleDraft:
    source = read_input(name)
    draft = parse_draft(source)
    if not draft.infos:
        raise SettingsError(
            f"{source.name}: there are no operations in it; each is a table [operations.NAME] with its worst time and period"
        )
    return draft


class _Judged(NamedTuple):
    """A schedule, and the dispatcher it was analysed for."""

    made: SchedulePlan
    dispatcher: str
    kind: _Kind


def _judged(arguments: argparse.Namespace) -> _Judged:
    """With the priorities of the file, whoever wrote them, or those that its policy gives."""
    draft = _draft(arguments.file)
    dispatcher = arguments.dispatcher or _OWN[draft.preemptive]
    kind = _KINDS[dispatcher]
    decided = draft.decided or plan(draft.infos, draft.policy, kind.preemptive)
    return _Judged(analysed(decided, kind.preemptive, kind.in_order), dispatcher, kind)


# plan


def run_plan(arguments: argparse.Namespace) -> int:
    draft = _draft(arguments.file)
    dispatcher = arguments.dispatcher or _OWN[draft.preemptive]
    kind = _KINDS[dispatcher]
    policy = _POLICIES[arguments.policy] if arguments.policy else draft.policy
    made = plan(draft.infos, policy, kind.preemptive)
    made = analysed(made, kind.preemptive, kind.in_order)
    write_text(write_schedule(made), arguments.out)
    where = sys.stdout if arguments.out else sys.stderr
    print(_verdict(_Judged(made, dispatcher, kind)), file=where)
    return 0


# check


def run_check(arguments: argparse.Namespace) -> int:
    judged = _judged(arguments)
    if arguments.json:
        print(json.dumps(_report(judged), indent=2))
    else:
        _print_check(judged)
    return 0 if judged.made.schedulable else 1


def _report(judged: _Judged) -> dict[str, object]:
    made = judged.made
    return {
        "policy": made.policy,
        "dispatcher": judged.dispatcher,
        "analysis": analysis_text(made, judged.kind.in_order),
        "schedulable": made.schedulable,
        "utilisation": made.utilisation,
        "withinLiuLayland": made.within_liu_layland,
        "withinHyperbolic": made.within_hyperbolic,
        "operations": [_operation(one) for one in made.operations],
    }


def _operation(one: Scheduled) -> dict[str, object]:
    return {
        "name": one.info.name,
        "worst": one.info.worst,
        "period": one.period or None,
        "priority": one.priority,
        "subPriority": one.sub_priority,
        "response": one.response,
        "meetsDeadline": one.meets_deadline,
    }


def _print_check(judged: _Judged) -> None:
    made = judged.made
    rows: list[tuple[str, ...]] = [("operation", "priority", "period", "worst", "share", "ends within", "")]
    rows += [_row(one) for one in made.operations]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:6], widths[1:6], strict=True)),
        ]
        print("  ".join([*cells, row[6]]).rstrip())
    print(f"analysis: {analysis_text(made, judged.kind.in_order)}")
    bounds = {"Liu and Layland": made.within_liu_layland, "the hyperbolic bound": made.within_hyperbolic}
    if judged.kind.in_order and judged.kind.preemptive and made.policy == RATE_MONOTONIC:
        print("; ".join(f"{name}: {'within' if holds else 'exceeded'}" for name, holds in bounds.items()))
    print(_verdict(judged))


def _row(one: Scheduled) -> tuple[str, ...]:
    if not one.period:
        return (
            one.info.name,
            f"{one.priority}.{one.sub_priority}",
            "never",
            duration(one.info.worst),
            "-",
            "-",
            "",
        )
    known = one.period if one.response is None and one.meets_deadline else one.response
    ends = "-" if known is None else duration(known)
    return (
        one.info.name, f"{one.priority}.{one.sub_priority}", duration(one.period), duration(one.info.worst),
        f"{one.info.worst / one.period:.1%}", ends, "" if one.meets_deadline else "too late",
    )  # fmt: skip


def _verdict(judged: _Judged) -> str:
    made = judged.made
    said = f"{made.policy}, {judged.dispatcher}: {made.utilisation:.1%} of the processor"
    misses = [one.info.name for one in made.operations if not one.meets_deadline]
    if not misses:
        return f"{said}, all deadlines are met"
    return (
        f"{said}, {len(misses)} of {len(made.operations)} operations can miss deadlines: {', '.join(misses)}"
    )


# graph


def run_graph(arguments: argparse.Namespace) -> int:
    judged = _judged(arguments)
    picture = schedule_graph(judged.made)
    kind = Path(arguments.out).suffix.lower()
    if kind not in (".svg", ".html"):
        raise SettingsError(f"{arguments.out}: a picture is .svg and a page is .html; name one of these")
    write_text(svg(picture, standing_alone=True) if kind == ".svg" else _page(judged, picture), arguments.out)
    print(f"{arguments.out}: {_verdict(judged)}")
    return 0


def _page(judged: _Judged, picture: Graphic) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _row(one)) + "</tr>"
        for one in judged.made.operations
    )
    heads = "".join(
        f"<th>{head}</th>"
        for head in ("operation", "priority", "period", "worst", "share", "ends within", "")
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Schedule</title>'
        f"<style>{style()}body{{font:15px system-ui,sans-serif;margin:2rem;background:var(--back);color:var(--text)}}"
        "td,th{padding:.2rem .8rem .2rem 0;text-align:left}td:nth-child(7){color:var(--bad)}</style>"
        f"<h1>Schedule</h1><p>{escape(_verdict(judged))}</p>{svg(picture)}"
        f"<table><tr>{heads}</tr>{rows}</table><p>{escape(analysis_text(judged.made, judged.kind.in_order))}</p></html>\n"
    )


# explain


def run_explain(arguments: argparse.Namespace) -> int:
    judged = _judged(arguments)
    found = explained(judged.made, arguments.operation, judged.kind.in_order)
    if arguments.json:
        print(json.dumps(_explanation(judged, found), indent=2))
        return 0
    one = found.operation
    period = f"every {duration(one.period)}, " if one.period else ""
    print(f"{one.info.name}: runs {period}{found.triggers}, {duration(one.info.worst)} at most")
    for line in found.ranks:
        print(f"  {line}")
    print(f"  {found.verdict}")
    if found.delay is not None:
        _print_delay(found.delay)
    print(f"  found out by {analysis_text(judged.made, judged.kind.in_order)}")
    return 0


def _print_delay(delay: Delay) -> None:
    rows = [(delay.own, "its own work")] if delay.own else []
    rows += (
        [(delay.blocked, f"{delay.blocker}, which may have begun and is not interrupted")]
        if delay.blocked
        else []
    )
    rows += [(one.nanoseconds, f"{one.times} × {one.name}") for one in delay.interferences if one.nanoseconds]
    for nanoseconds, what in rows:
        print(f"    {duration(nanoseconds / NANO):>9}  {what}")


def _explanation(judged: _Judged, found: Explanation) -> dict[str, object]:
    delay = found.delay
    told: dict[str, object] = {
        **_operation(found.operation),
        "policy": judged.made.policy,
        "dispatcher": judged.dispatcher,
        "triggers": found.triggers,
        "ranks": list(found.ranks),
        "verdict": found.verdict,
        "delay": None,
    }
    if delay is not None:
        told["delay"] = {
            "response": None if delay.response is None else delay.response / NANO,
            "own": delay.own / NANO,
            "blocked": delay.blocked / NANO,
            "blocker": delay.blocker or None,
            "interferences": [
                {"name": one.name, "times": one.times, "seconds": one.nanoseconds / NANO}
                for one in delay.interferences
            ],
        }
    return told
