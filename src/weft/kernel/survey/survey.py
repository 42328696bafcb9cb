"""What a node knows of its federations just now, as plain data: the own call `survey` (docs/reference/survey.md has every key).

What this node does not know is left out: of a federate that lives elsewhere there is its name and place and, at the home, what
it last reported.  Whoever asks several nodes takes each federate's facts from its own node.

Nothing is counted for this on the way of a message but what is counted anyway (`Federation.count_up`).  A survey costs a look at
each federate; sections that are not asked for cost nothing.

    weft.kernel.survey.federates    each federate, where it is in time, and whom it waits for
    weft.kernel.survey.progress     synchronization points, a save or restore that is under way
    weft.kernel.survey.classes      classes: who publishes and subscribes, how much was sent and received
    weft.kernel.survey.regions      regions, the partitions of the strategy, channels
    weft.kernel.survey.consumers    federates with deadlines
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.kernel.federation import operator
from weft.kernel.mom.mom_objects import VERSION
from weft.kernel.state.federation import Federation
from weft.kernel.survey import classes, consumers, federates, progress, regions
from weft.model.errors import RTIinternalError
from weft.model.json_types import JsonObject

SECTIONS: Final = ("federates", "classes", "regions", "consumers", "fabric", "server", "recording")
"""What may be asked for; `federates` is always in the answer."""


class Surroundings:
    """What the host of a node adds.  Each host has one of its own; without one there is only what the kernel knows."""

    def of_node(self, sections: frozenset[str], now: float) -> JsonObject:
        """Beside the federations: `wall`, and the sections `server`, `fabric`, `recording`."""
        return {}

    def of_sessions(self, now: float) -> Mapping[int, JsonObject]:
        """Of the federates that are connected here, by the kernel's number of their session."""
        return {}


def survey(
    federations: Mapping[str, Federation],
    node: str,
    asked: object,
    now: float,
    surroundings: Surroundings | None,
) -> JsonObject:
    sections = chosen(asked)
    around = Surroundings() if surroundings is None else surroundings
    sessions = around.of_sessions(now)
    return {
        "node": node,
        "version": VERSION.removeprefix("Weft "),
        "now": now,
        **around.of_node(sections, now),
        "federations": {
            name: _federation(federation, node, sections, now, sessions)
            for name, federation in federations.items()
        },
    }


def chosen(asked: object) -> frozenset[str]:
    """The sections of a question; none named: all."""
    if not isinstance(asked, (list, tuple)) or not all(isinstance(one, str) for one in asked):
        raise RTIinternalError(f"the sections of a survey are a list of names, not {asked!r}")
    unknown = [one for one in asked if one not in SECTIONS]
    if unknown:
        raise RTIinternalError(
            f"a survey has no section {', '.join(map(repr, unknown))}; there are {', '.join(SECTIONS)}"
        )
    return frozenset(asked or SECTIONS)


def _federation(
    federation: Federation,
    node: str,
    sections: frozenset[str],
    now: float,
    sessions: Mapping[int, JsonObject],
) -> JsonObject:
    federation.count_up()
    found: JsonObject = {
        "home": federation.home,
        "instances": classes.instances(federation),
        "strategy": federation.channels.name,
        "time_type": federation.time.name,
        "ordered": federates.ordered(federation),
        "regions_in_time": federates.regions_in_time(federation),
        "synchronization": progress.points(federation),
        **progress.save(federation, node),
        **progress.restore(federation),
        "federates": federates.federates(federation, node, now, sessions),
    }
    paused = operator.paused_facts(federation, now)
    if paused is not None:
        found["paused"] = paused
    if "classes" in sections:
        found["classes"] = classes.classes(federation, node)
    if "regions" in sections:
        found.update(regions.regions(federation))
        found["channels"] = regions.channels(federation, node)
    if "consumers" in sections:
        found["consumers"] = consumers.consumers(federation)
    return found
