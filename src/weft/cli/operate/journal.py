"""`weft journal FILE`: what a node's journal holds: queues, the states of agents, events that were set aside."""

from __future__ import annotations

import argparse
import json
import sqlite3
from pathlib import Path
from typing import TypedDict

from weft.host.files.cbor import decode
from weft.host.mesh.journal import APPLICATION
from weft.model.errors import FabricError

QUEUES = {
    "out": "to be acknowledged",
    "waiting": "waiting for others",
    "inbox": "to be reacted to",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "journal", help="show what the journal of a node holds (of a node that does not run)"
    )
    parser.add_argument("file", metavar="FILE", help="the journal, like runs/journal/S1.journal")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(func=run)


class KeptDeadLetter(TypedDict):
    """An event that an agent could not react to."""

    value: object
    sender: str
    agent: str
    error: str


class JournalFacts(TypedDict):
    """What a journal holds; messages under way by queue, the states of agents by name."""

    node: str
    fingerprint: str
    queues: dict[str, int]
    agents: dict[str, object]
    dead_letters: list[KeptDeadLetter]


def run(arguments: argparse.Namespace) -> int:
    found = look(Path(arguments.file))
    print(json.dumps(found, default=_shown) if arguments.json else as_text(found))
    return 0


def look(path: Path) -> JournalFacts:
    """Reads only: nothing of the file changes."""
    if not path.is_file():
        raise FabricError(f"{path}: there is no such journal")
    try:
        base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            if base.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise FabricError(f"{path}: this is no journal of Weft")
            kept = dict(base.execute("SELECT key, value FROM kept ORDER BY key"))
            counts = {name: base.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in QUEUES}
            about = dict(base.execute("SELECT key, value FROM meta"))
        finally:
            base.close()
    except sqlite3.Error as error:
        raise FabricError(f"{path}: the journal cannot be read: {error}; does its node run?") from error
    return {
        "node": about["node"],
        "fingerprint": about["fingerprint"],
        "queues": counts,
        "agents": {key[6:]: decode(value) for key, value in kept.items() if key.startswith("agent/")},
        "dead_letters": [decode(value) for key, value in kept.items() if key.startswith("dead/")],
    }


def as_text(found: JournalFacts) -> str:
    lines = [f"node {found['node']}"]
    lines += [f"  {found['queues'][name]} messages {said}" for name, said in QUEUES.items()]
    for name, state in found["agents"].items():
        lines.append(f"agent {name}: {json.dumps(state, default=_shown)}")
    for letter in found["dead_letters"]:
        value = json.dumps(letter["value"], default=_shown)
        lines.append(f"set aside: {value} from {letter['sender']} to {letter['agent']}: {letter['error']}")
    return "\n".join(lines)


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else repr(value)
