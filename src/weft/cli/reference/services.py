"""`weft services`: every service of IEEE 1516.1-2025, under the name it has here; docs/reference/services.md is its `--markdown`.

Nothing is listed by hand: the services are the methods of the two ambassadors, with the clause in their docstrings.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from typing import NamedTuple

from weft.cli.arguments import Commands, add_command
from weft.federate import FederateAmbassador, RTIambassador

GROUPS = {
    4: "Federation management",
    5: "Declaration management",
    6: "Object management",
    7: "Ownership management",
    8: "Time management",
    9: "Data distribution management",
    10: "Support services",
}

_HEAD = """# Services

Every service of IEEE 1516.1-2025 by clause, under the name it has in Weft. Services with several forms in the standard
(with and without a time, a name, an update rate) are one method with optional arguments. All of them are carried out. This
page is the output of `weft services --markdown`. `weft errors SERVICE` says what
one may raise; [Exceptions](exceptions.md) has all.
"""


class ServiceLine(NamedTuple):
    clause: str
    name: str
    callback: bool


def register(commands: Commands) -> None:
    parser = add_command(commands, "services", run, "list the HLA services and their names in Weft")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.add_argument(
        "--markdown", action="store_true", help="print the list as docs/reference/services.md has it"
    )


def run(arguments: argparse.Namespace) -> int:
    lines = all_services()
    if arguments.json:
        print(json.dumps([line._asdict() for line in lines], indent=2))
    elif arguments.markdown:
        print(markdown(lines), end="")
    else:
        for line in lines:
            print(f"{line.clause:>5}  {line.name}{'  (callback)' if line.callback else ''}")
    return 0


def all_services() -> list[ServiceLine]:
    found = []
    for ambassador, callback in ((RTIambassador, False), (FederateAmbassador, True)):
        for name, method in inspect.getmembers(ambassador, inspect.isfunction):
            if clause := re.match(r"Clause (\d+\.\d+)", method.__doc__ or ""):
                found.append(ServiceLine(clause[1], name, callback))
    return sorted(found, key=lambda line: (*map(int, line.clause.split(".")), line.callback, line.name))


def markdown(lines: list[ServiceLine]) -> str:
    text = [_HEAD]
    for group, title in GROUPS.items():
        of_group = [line for line in lines if line.clause.split(".")[0] == str(group)]
        text.append(f"\n## {title} ({len(of_group)})\n\n| clause | service | |\n|---|---|---|\n")
        for line in of_group:
            kind = "callback" if line.callback else "call"
            text.append(f"| {line.clause} | `{line.name}` | {kind} |\n")
    return "".join(text)
