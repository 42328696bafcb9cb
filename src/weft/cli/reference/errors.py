"""`weft errors`: what an exception means, what leads to it, what to do, and which services raise it;
docs/reference/exceptions.md is its `--markdown`.

Meaning and remedy are the exception's docstring, the services come from `weft.federate.refusals`, the causes are written by hand
(`data/exceptions.toml`).
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import textwrap
import tomllib
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from typing import Final, NamedTuple

from weft.cli.arguments import Commands, add_command
from weft.federate.refusals import COMMON, SERVICES, UNCONNECTED, UNJOINED, errors_of, services_that_raise
from weft.model.errors import RTIexception, SettingsError

_ELSEWHERE: Final = {
    "Misfit": "weft.fom.encoding.misfit",
    "ParcelError": "weft.host.parcels.plain",
    "ProtocolError": "weft.wire.errors",
    "RecordingError": "weft.host.recording.files",
    "SaveError": "weft.host.files.saves",
    "SessionMisuse": "weft.wire.session.state",
    "StorageError": "weft.host.storage.place",
    "SnapshotError": "weft.kernel.federation.plain",
    "WireError": "weft.wire.protobuf",
}
"""Where those are that `weft.errors` has not."""
_LINK: Final = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")
"""From one page of the reference to a page of another kind; a terminal shows the file's name."""
_ALL_BUT: Final = 12
"""Of what nearly all services raise, those that do not are listed, if they are no more than these."""

_HEAD = """# Exceptions

What each means, what leads to it in practice, what to do, and which services raise it. This page is the output of
`weft errors --markdown`; `weft errors NAME` says the same in a terminal, also for a service: `weft errors retract`. How
messages read, exit codes, and what servers and reviews refuse are in [Errors](errors.md).

In Python all are in `weft.errors` but where another module is named; in C++ and Java the standard's have the same names.
"""


class Family(NamedTuple):
    """Exceptions about the same thing: title, what is to be said of all, and what leads to each in practice, by name."""

    title: str
    about: str
    causes: dict[str, str]


class ExceptionEntry(NamedTuple):
    """All there is to say of an exception."""

    name: str
    family: str
    module: str
    meaning: str
    cause: str
    remedy: str
    services: tuple[str, ...]


def register(commands: Commands) -> None:
    text = "what an exception means, what leads to it, what to do; or what a service raises"
    parser = add_command(commands, "errors", run, text)
    parser.add_argument("name", nargs="?", help="an exception or a service (default: list all exceptions)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print all of it as JSON")
    how.add_argument(
        "--markdown", action="store_true", help="print all as docs/reference/exceptions.md has it"
    )


def run(arguments: argparse.Namespace) -> int:
    told = all_errors()
    if arguments.name is not None:
        if arguments.markdown:
            raise SettingsError("weft errors --markdown prints all; leave the name away")
        told = _asked(told, arguments.name)
    if arguments.json:
        print(json.dumps([one._asdict() for one in told], indent=2, ensure_ascii=False))
    elif arguments.markdown:
        print(markdown(told), end="")
    elif arguments.name in {one.name for one in told}:
        print(_in_full(told[0]))
    else:
        width = max(len(one.name) for one in told)
        print("\n".join(f"{one.name:<{width}}  {one.meaning}" for one in told))
    return 0


def families() -> list[Family]:
    """In the order of the page."""
    read = tomllib.loads(files("weft.cli.data").joinpath("exceptions.toml").read_text(encoding="utf-8"))
    found = []
    for one in read["family"]:
        causes = {name: " ".join(text.split()) for name, text in one["causes"].items()}
        found.append(Family(one["title"], " ".join(one["about"].split()), causes))
    return found


def all_errors() -> list[ExceptionEntry]:
    return [
        _told(name, family.title, cause) for family in families() for name, cause in family.causes.items()
    ]


def _told(name: str, family: str, cause: str) -> ExceptionEntry:
    module = _ELSEWHERE.get(name, "weft.errors")
    kind = getattr(import_module(_ELSEWHERE.get(name, "weft.model.errors")), name)
    meaning, stop, remedy = " ".join((kind.__doc__ or "").split()).partition(". ")
    services = services_that_raise(name) if issubclass(kind, RTIexception) else ()
    return ExceptionEntry(name, family, module, meaning + stop.strip(), cause, remedy, services)


def _asked(told: list[ExceptionEntry], name: str) -> list[ExceptionEntry]:
    if name in SERVICES:
        raised = errors_of(name)
        return [one for one in told if one.name in raised]
    found = [one for one in told if one.name == name]
    if not found:
        known = [*(one.name for one in told), *SERVICES]
        near = difflib.get_close_matches(name, known, 3)
        hint = f"; is it {' or '.join(near)}?" if near else "; `weft errors` lists all"
        raise SettingsError(f"there is no exception or service {name!r}{hint}")
    return found


# --- in words ----------------------------------------------------------------------------------------------------


def raisers(one: ExceptionEntry) -> str:
    """In words: those that raise it, or those that do not where that is shorter."""
    rest = sorted({*SERVICES} - {*one.services})
    if one.name in COMMON and len(rest) <= _ALL_BUT:
        return f"every service but {_listed(rest)}"
    if one.name == "FederateNotExecutionMember":
        return "every service of a joined federate"
    if one.name in ("SaveInProgress", "RestoreInProgress"):
        free = [name for name in rest if name not in UNCONNECTED | UNJOINED]
        shown = [name for name in free if not name.startswith(("get_", "normalize_"))]
        return (
            f"`join_federation_execution`, and by every service of a joined federate but {_listed(shown)} "
            "and those that look up handles, names and rates"
        )
    return _listed(one.services)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _in_full(one: ExceptionEntry) -> str:
    parts = [f"{one.module}.{one.name}: {one.meaning}"]
    parts += [f"In practice: {one.cause}"] if one.cause else []
    parts += [f"What to do: {one.remedy}"] if one.remedy else []
    parts += [f"Raised by {raisers(one)}."] if one.services else []
    plain = (_LINK.sub(r"\1 (docs/\2)", part).replace("`", "") for part in parts)
    return "\n".join(textwrap.fill(part, 100, subsequent_indent="  ") for part in plain)


def markdown(told: list[ExceptionEntry]) -> str:
    """The index by name, then what they are about, one after the other."""
    letters: dict[str, list[str]] = {}
    for name in sorted((one.name for one in told), key=str.lower):
        letters.setdefault(name[0], []).append(f"[{name}](#{name.lower()})")
    text = [_HEAD, "\n## By name\n\n", *(f"* {', '.join(links)}\n" for links in letters.values())]
    for family in families():
        text.append(f"\n## {family.title}\n")
        text.append(f"\n{family.about}\n" if family.about else "")
        text.extend(_entry(one) for one in told if one.family == family.title)
    return "".join(text)


def _entry(one: ExceptionEntry) -> str:
    where = "" if one.module == "weft.errors" else f" In `{one.module}`."
    text = f"\n### {one.name}\n\n{one.meaning}{where}\n\n* In practice: {one.cause}\n"
    text += f"* What to do: {one.remedy}\n" if one.remedy else ""
    return text + (f"* Raised by {raisers(one)}.\n" if one.services else "")
