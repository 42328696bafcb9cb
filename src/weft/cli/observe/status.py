"""`weft status`: what running nodes and their federations do, and who blocks whom; once (docs/how-to/status.md)."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Mapping, Sequence

from weft.cli.arguments import Commands, add_operator_key, add_server, complain, real, servers_of
from weft.cli.terminal.asking import SHORT, NodeAccess, advice, ask_all
from weft.cli.terminal.facts import (
    SurveyAnswer,
    blocks,
    picture_of,
    survey_of_status,
    troubles,
    wall_of,
)
from weft.cli.terminal.facts_lines import WIDTH, headline, status_lines, terminal_width
from weft.console.surveys import SurveyPicture
from weft.model.errors import ConnectionFailed
from weft.model.json_types import Json


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "status",
        help="show running nodes and their federations, and who blocks whom",
        description="Show running nodes and their federations: federates, their times, who blocks whom, "
        "synchronization points, saves, recording. Several nodes are merged into one picture.",
    )
    add_nodes(parser)
    parser.add_argument("--json", action="store_true", help="print JSON (docs/how-to/status.md has its keys)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit 1 if a node is down or somebody has waited too long; says why on standard error",
    )
    parser.add_argument(
        "--patience",
        type=real(0.0),
        default=10.0,
        metavar="SECONDS",
        help="with --check: how long somebody may wait (default %(default)g)",
    )
    parser.set_defaults(func=run)


def add_nodes(parser: argparse.ArgumentParser) -> None:
    """Which nodes, and how they are entered: for all commands that look at nodes."""
    add_server(parser, many=True)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--password", metavar="NAME:PASSWORD", help="if the nodes ask for one")
    add_operator_key(either, "operator.key of a server's run directory, instead of a password")


def door_of(arguments: argparse.Namespace) -> NodeAccess:
    return NodeAccess(arguments.password, arguments.operator_key)


def run(arguments: argparse.Namespace) -> int:
    answers = ask_all(servers_of(arguments), door_of(arguments), () if arguments.json else SHORT)
    if not arguments.check and all(answer.why for answer in answers):
        raise ConnectionFailed("; ".join(f"{answer.why}{advice(answer.why)}" for answer in answers))
    picture = picture_of(answers)
    if arguments.json:
        print(json.dumps(as_data(picture), indent=2, ensure_ascii=False))
    else:
        print("\n".join(texts(picture, terminal_width())))
    if not arguments.check:
        return 0
    found = troubles(picture, arguments.patience)
    complain(found)
    return 1 if found else 0


def as_data(picture: SurveyPicture) -> Mapping[str, object]:
    """The picture, and what follows from it."""
    wall = wall_of(picture)
    return {
        "headline": headline(picture),
        "blocking": [block.as_data(wall) for block in blocks(picture)],
        **picture,
    }


def texts(picture: SurveyPicture, width: int) -> list[str]:
    first, *rest = status_lines(picture, width)
    return [*textwrap.wrap(first.text, width), *[one.text for one in rest]]


def lines(found: Sequence[Mapping[str, Json]], width: int = WIDTH) -> list[str]:
    """What `RTIambassador.query_status` gives, as `weft status` shows it."""
    survey = survey_of_status(found)
    return texts(picture_of([SurveyAnswer("here", {**survey, "node": survey["node"] or "here"})]), width)
