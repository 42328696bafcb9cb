"""`weft journal FILE`: what a node's journal holds: queues, the states of agents, events that were set aside."""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from weft.cli.arguments import Commands, add_command
from weft.fabric import Topology
from weft.fabric.change import check_change
from weft.host.files.cbor import decode
from weft.host.mesh.journal import APPLICATION, SUFFIX, set_aside, topology_of
from weft.model.errors import FabricError

QUEUES = {
    "out": "to be acknowledged",
    "waiting": "waiting for others",
    "inbox": "to be reacted to",
}


def register(commands: Commands) -> None:
    parser = add_command(
        commands, "journal", run, "show what the journal of a node holds (of a node that does not run)"
    )
    parser.add_argument("file", metavar="FILE", help="the journal, like runs/journal/S1.journal")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


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


# Journals of a mesh whose domains have changed, before `weft run` starts its nodes
#
# A journal belongs to its domains: its clocks and queues count their members.  If nothing is in any of them, no message under way
# and no state of an agent, all servers begin with empty ones.  Else each node finishes the old domains first
# (`weft.host.mesh.change`), for which all of them have to be there.


def make_way(home: Path, topology: Topology, anew: bool) -> list[str]:
    """What to tell of it.  `anew`: empty journals, whatever they hold."""
    paths = [home / f"{name}{SUFFIX}" for name in topology.servers]
    found = {path: look(path) for path in paths if path.is_file()}
    if not anew:
        if all(one["fingerprint"] == topology.fingerprint for one in found.values()):
            return []
        held = {path: said for path, one in found.items() if (said := _held(one))}
        if held:
            _check_whole(home, topology, held)
            those = "; ".join(f"{path.name}: {said}" for path, said in held.items())
            return [f"the domains have changed; nodes finish the old ones first ({those})"]
    moved = [str(aside) for path in found if (aside := set_aside(path))]
    if not moved:
        return []
    why = "as asked" if anew else "the domains have changed, and nothing was under way"
    return [f"nodes begin with empty journals ({why}); the old ones are {', '.join(moved)}"]


def _check_whole(home: Path, topology: Topology, held: Mapping[Path, str]) -> None:
    """Can the nodes finish?  All servers of the old domains have to take part, each with its journal."""
    for path, said in held.items():
        fingerprint, old = topology_of(path) or ("", None)
        if fingerprint == topology.fingerprint:
            continue
        try:
            if old is None:
                raise FabricError("an older Weft wrote it, and does not say under which domains")
            check_change(old, topology)
            for name in old.servers:
                if old.memberships[name] and not (home / f"{name}{SUFFIX}").is_file():
                    raise FabricError(f"{name}, in the same domains, has no journal in {home}")
        except FabricError as error:
            raise FabricError(
                f"{path} was written under other domains and holds {said}, which cannot be finished now: {error}. Or run with"
                " --new-journal, which sets all journals aside, or with --journal DIR"
            ) from None


def _held(found: JournalFacts) -> str:
    """What would be lost."""
    said = []
    if messages := sum(found["queues"].values()):
        said.append(f"{messages:,} messages under way")
    if found["agents"]:
        said.append(f"the states of agents ({', '.join(found['agents'])})")
    if found["dead_letters"]:
        said.append(f"{len(found['dead_letters']):,} events set aside")
    return ", ".join(said)
