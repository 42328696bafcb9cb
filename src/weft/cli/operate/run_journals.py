"""Journals of a mesh whose domains have changed, before `weft run` starts its nodes.

A journal belongs to its domains: its clocks and queues count their members.  With other domains all servers begin with empty
ones (docs/explanation/domains.md).  Here all are at hand, so that is done if nothing is lost by it: no message under
way, no state of an agent.  Else it is for the user to say.
"""

from __future__ import annotations

from pathlib import Path

from weft.cli.operate.journal import JournalFacts, look
from weft.fabric import Topology
from weft.host.mesh.journal import SUFFIX, set_aside
from weft.model.errors import FabricError


def make_way(home: Path, topology: Topology, anew: bool) -> list[str]:
    """What to tell of it.  `anew`: empty journals, whatever they hold."""
    paths = [home / f"{name}{SUFFIX}" for name in topology.servers]
    found = {path: look(path) for path in paths if path.is_file()}
    if not anew:
        if all(one["fingerprint"] == topology.fingerprint for one in found.values()):
            return []
        for path, one in found.items():
            if held := _held(one):
                raise FabricError(
                    f"{path} was written under other domains and holds {held}; end that with the domains file it was"
                    " written under, or run with --new-journal, which sets all journals aside, or with --journal DIR"
                )
    moved = [str(aside) for path in found if (aside := set_aside(path))]
    if not moved:
        return []
    why = "as asked" if anew else "the domains have changed, and nothing was under way"
    return [f"nodes begin with empty journals ({why}); the old ones are {', '.join(moved)}"]


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
