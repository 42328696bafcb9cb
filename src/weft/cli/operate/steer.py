"""`weft steer`: pause a federation of a running server, let it go on step by step, resume it, or resign a federate."""

from __future__ import annotations

import argparse
import sys
from typing import Required, TypedDict, cast

from weft.cli.arguments import Commands, add_command, add_operator_key, add_server
from weft.cli.terminal.asking import advice
from weft.console.surveys import PauseFacts
from weft.federate import FederateAmbassador, RTIambassador
from weft.host.operator_keys import SERVER_RUNS, newest_key, operator_credentials
from weft.host.server.guard import OPERATOR_KEY
from weft.kernel.federation.operator import ACTIONS
from weft.model.enums import CallbackModel
from weft.model.errors import ConnectionFailed, SettingsError
from weft.model.records import Credentials, RtiConfiguration


def register(commands: Commands) -> None:
    parser = add_command(commands, "steer", run, "pause, step and resume a federation, or resign a federate")
    parser.add_argument(
        "action",
        choices=ACTIONS,
        help="stop logical time, let it go on, let so many times through, or resign a federate as if it were lost",
    )
    parser.add_argument("federation", metavar="FEDERATION", help="the name of the federation")
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="of step: how many logical times (default 1); of resign: the name of the federate",
    )
    add_server(parser)
    add_operator_key(
        parser, f"{OPERATOR_KEY} of that server's run directory (default: the newest below {SERVER_RUNS})"
    )


def run(arguments: argparse.Namespace) -> int:
    target = _target(arguments.action, arguments.target)
    if arguments.operator_key:
        credentials = operator_credentials(arguments.operator_key, "--operator-key")
    else:
        path = newest_key()
        print(f"operator key: {path}", file=sys.stderr)
        credentials = operator_credentials(path)
    answer = steer(arguments.server, credentials, arguments.action, arguments.federation, target)
    print(in_words(answer, target))
    return 0


def _target(action: str, given: str | None) -> str | int | None:
    if action == "step":
        if given is None:
            return 1
        if not given.isdecimal() or int(given) < 1:
            raise SettingsError(f"weft steer step: the number of steps is 1 or more, not {given!r}")
        return int(given)
    if action == "resign" and given is None:
        raise SettingsError("weft steer resign: say which federate: weft steer resign FEDERATION FEDERATE")
    if action in ("pause", "resume") and given is not None:
        raise SettingsError(f"weft steer {action} concerns the whole federation; leave {given!r} away")
    return given


class SteerAnswer(TypedDict, total=False):
    """What a node answers an operator; without `paused` time advances."""

    action: Required[str]
    federation: Required[str]
    paused: PauseFacts


def steer(
    server: str, credentials: Credentials, action: str, federation: str, target: str | int | None
) -> SteerAnswer:
    rti = RTIambassador()
    configuration = RtiConfiguration(rti_address=server)
    try:
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED, configuration, credentials)
    except ConnectionFailed as error:
        raise ConnectionFailed(f"{error}{advice(str(error))}") from error
    try:
        return cast("SteerAnswer", rti.steer(action, federation, target))
    finally:
        rti.disconnect()


def in_words(answer: SteerAnswer, target: str | int | None) -> str:
    name = answer["federation"]
    if answer["action"] == "resign":
        return f"{name}: {target!r} is resigned"
    return f"{name}: {paused_in_words(answer.get('paused'))}"


def paused_in_words(facts: PauseFacts | None) -> str:
    if facts is None:
        return "time advances"
    text = f"paused by the {facts['by']} for {facts['since']} s"
    if "at" in facts:
        text += f", let through up to {facts['at']}"
    if facts["steps"]:
        text += f", {facts['steps']} step{'' if facts['steps'] == 1 else 's'} to come"
    if facts.get("waits_for"):
        text += (
            f" when {', '.join(facts['waits_for'])} ask{'s' if len(facts['waits_for']) == 1 else ''} for time"
        )
    return text
