"""One grid, one set of domains and one schedule for many runs.

Chosen is by `total`: what all runs together cost least with; or by `worst`: with which the run that costs most costs least.
The first is what a night costs, the second what a machine has to be sized for.  Of one run both are the same, and what is chosen
is what `weft tune` chooses for it alone: candidates, costs and the preference for less effort are those of `advice.rid`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from weft.channel import After, SchedulePlan, plan, write_schedule
from weft.fabric import Topology, parse_domains
from weft.interest.ddm_settings import MULTICAST, DdmSettings
from weft.model.errors import DomainsError
from weft.model.records import Source
from weft.review.advice import domains as advice_domains
from weft.review.advice import schedule as advice_schedule
from weft.review.advice.advice import (
    DOMAINS_FILE,
    Inputs,
    command_graph,
    recorded_settings,
    servers_of,
    why_kept,
    worst_of,
)
from weft.review.advice.batches import model_spaces
from weft.review.advice.domains import NodeTraffic, topology_cost, write_domains_file
from weft.review.advice.grid import partitions
from weft.review.advice.many.runs import Costs, RunTold
from weft.review.advice.many.summary import total
from weft.review.advice.rid import (
    Tried,
    best,
    best_shape,
    better,
    candidates,
    describe,
    one_by_one,
    with_shapes,
    write_rid,
)
from weft.review.advice.schedule import Measured

TOTAL, WORST = "total", "worst"
CHOSEN_BY = (TOTAL, WORST)

Ask = Callable[[Sequence[int], Sequence[DdmSettings | None]], Mapping[int, list[Costs]]]
"""Of runs, by number, what settings cost; None stands for the setting that a run had."""


class Spread(NamedTuple):
    """Of one figure of many runs."""

    total: float
    least: float
    median: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        ordered = sorted(values)
        middle = len(ordered) // 2
        median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
        return cls(sum(ordered), ordered[0], median, ordered[-1])

    def by(self, how: str) -> float:
        return self.total if how == TOTAL else self.most


# --- grid -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GridCandidate:
    """A setting: what it costs each run, and the runs that would cost more with it than they did."""

    tried: Tried
    """With the sums of all runs, or with those of the run that costs most."""
    totals: Costs
    """Sums of all runs."""
    costs: Mapping[int, int]
    """By number of the run."""
    bad_for: tuple[int, ...] = ()

    @property
    def spread(self) -> Spread:
        return Spread.of(list(self.costs.values()))


@dataclass(frozen=True)
class ManyGrid:
    recorded: GridCandidate
    """Each run with what it had."""
    old: DdmSettings | None
    """What all runs had, if it was the same."""
    new: GridCandidate
    tried: tuple[GridCandidate, ...]
    runs: tuple[int, ...]
    text: str


def choose_grid(runs: Mapping[int, RunTold], ask: Ask, how: str, multicast: bool) -> ManyGrid | None:
    """None where nothing went by channels from one node to another."""
    sending = [number for number, run in runs.items() if run.sent]
    if not sending:
        return None
    given = runs[sending[0]].given
    spaces = model_spaces(given.model)
    old, base = _base([runs[number].given for number in sending], multicast)
    used = sorted({space for number in sending for space in runs[number].spaces})
    choice = _GridChoice(sending, ask, how, given)
    alike = candidates(spaces, base)
    single = one_by_one(base, spaces, used)
    flat = [setting for tried in single.values() for _, setting in tried]
    recorded, *results = choice.costs([*alike, *flat])
    rest = iter(results[len(alike) :])
    shapes = {
        space: best_shape([(shape, next(rest).tried) for shape, _ in tried])
        for space, tried in single.items()
    }
    (_, together) = choice.costs([with_shapes(base, spaces, shapes)])
    tried = [*results[: len(alike)], together]
    if not any(one.tried.cost() for one in tried):
        return None
    chosen = best([one.tried for one in tried])
    new = next(one for one in tried if one.tried is chosen)
    if old is not None:
        was = replace(
            recorded, tried=replace(recorded.tried, setting=old, partitions=partitions(old, spaces))
        )
        if better(was.tried, chosen) is was.tried:
            new = was
    text = write_rid(new.tried.setting, spaces, _grid_words(new, recorded, how))
    return ManyGrid(recorded, old, new, tuple(tried), tuple(sending), text)


def _base(given: Sequence[Inputs], multicast: bool) -> tuple[DdmSettings | None, DdmSettings]:
    """What all runs had, if it is the same; and what candidates have in common with most of them."""
    settings = [recorded_settings(one) for one in given]
    texts = [write_rid(one, model_spaces(given[0].model)) for one in settings]
    most, count = Counter(texts).most_common(1)[0]
    base = settings[texts.index(most)]
    old = base if count == len(texts) else None
    return old, replace(base, best_effort=MULTICAST) if multicast else base


@dataclass(frozen=True)
class _GridChoice:
    runs: Sequence[int]
    ask: Ask
    how: str
    given: Inputs

    def costs(self, settings: Sequence[DdmSettings]) -> list[GridCandidate]:
        """Of what was recorded, and of all settings."""
        found = self.ask(self.runs, [None, *settings])
        spaces = model_spaces(self.given.model)
        old = recorded_settings(self.given)
        recorded = self._candidate(old, 0, [found[number][0] for number in self.runs])
        made = [recorded]
        for at, setting in enumerate(settings, 1):
            one = self._candidate(
                setting, partitions(setting, spaces), [found[number][at] for number in self.runs]
            )
            worse = [number for number in self.runs if one.costs[number] > recorded.costs[number]]
            made.append(replace(one, bad_for=tuple(worse)))
        return made

    def _candidate(self, setting: DdmSettings, count: int, totals: Sequence[Costs]) -> GridCandidate:
        each = [Tried(setting, one, count) for one in totals]
        sums = {name: sum(one[name] for one in totals) for name in totals[0]}
        worst = max(each, key=Tried.cost)
        costs = {number: one.cost() for number, one in zip(self.runs, each, strict=True)}
        return GridCandidate(Tried(setting, sums, count) if self.how == TOTAL else worst, sums, costs)


def _grid_words(new: GridCandidate, recorded: GridCandidate, how: str) -> list[str]:
    one, other = new.spread, recorded.spread
    return [
        f"of {len(new.costs)} runs, chosen by the {how}: {one.total:,.0f} predicted in all, {other.total:,.0f} as recorded",
        f"a run: {one.least:,.0f} to {one.most:,.0f}, in the median {one.median:,.0f}",
    ]


# --- domains ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ManyDomains:
    costs: Mapping[str, Mapping[int, int]]
    """Of each candidate, by number of the run; old: as they were, new: as advised."""
    old: Topology
    new: Topology
    bad_for: tuple[int, ...]
    left_out: Mapping[int, str]
    text: str
    kept_because: str = ""

    def spread(self, name: str) -> Spread:
        return Spread.of(list(self.costs[name].values()))


def choose_domains(runs: Mapping[int, RunTold], how: str) -> ManyDomains | None:
    """None where there is one node only."""
    by_run = {number: _run_servers(run) for number, run in runs.items()}
    several = {number: servers for number, servers in by_run.items() if len(servers) > 1}
    if not several:
        return None
    most = Counter(frozenset(servers) for servers in several.values()).most_common(1)[0][0]
    servers = next(servers for servers in several.values() if frozenset(servers) == most)
    chosen = {number: run for number, run in runs.items() if frozenset(by_run[number]) == most}
    left_out = {
        number: f"it had the servers {', '.join(sorted(by_run[number])) or 'of nobody'}"
        for number in runs
        if number not in chosen
    }
    traffic = {number: _traffic(run, servers) for number, run in chosen.items()}
    given = next(iter(chosen.values())).given
    domains = None if given.domains is None else parse_domains(given.domains)
    topologies = {name: advice_domains.ready_made(servers, name) for name in advice_domains.PLANS}
    old = topologies["flat"] if domains is None else domains.topology
    everything = NodeTraffic.of(servers, total(_pairs(run, servers) for run in chosen.values()))
    topologies["old"] = old
    topologies["found"] = advice_domains.as_topology(servers, advice_domains.best_tree(everything))
    costs = {
        name: {number: topology_cost(one, topology) for number, one in traffic.items()}
        for name, topology in topologies.items()
    }
    spreads = {name: Spread.of(list(one.values())).by(how) for name, one in costs.items()}
    found = "found" if how == TOTAL else min(topologies, key=lambda name: (spreads[name], name != "found"))
    why = why_kept(domains, int(spreads[found]), int(spreads["old"]))
    new = old if why else topologies[found]
    costs["new"] = costs["old"] if why else costs[found]
    del costs["found"]
    bad = tuple(number for number in chosen if costs["new"][number] > costs["old"][number])
    words = (
        f"of {len(chosen)} runs, chosen by the {how}: cost {sum(costs['new'].values()):,} predicted in all, "
    )
    words += f"{sum(costs['old'].values()):,} as they were"
    text = "" if why else write_domains_file(new, domains, [words])
    try:
        if text:
            parse_domains(Source(DOMAINS_FILE, text.encode()))
    except DomainsError as error:
        text, why = "", f"these nodes cannot stand in a domains file: {error}"
    return ManyDomains(costs, old, new, bad, left_out, text, why)


def _run_servers(run: RunTold) -> tuple[str, ...]:
    domains = None if run.given.domains is None else parse_domains(run.given.domains)
    return servers_of(domains, run.given, run.summary.nodes)


def _pairs(run: RunTold, servers: Sequence[str]) -> dict[tuple[str, str], int]:
    commands = command_graph(run.summary.commands, run.given.home, servers)
    return total([run.summary.messages, commands])


def _traffic(run: RunTold, servers: Sequence[str]) -> NodeTraffic:
    return NodeTraffic.of(servers, _pairs(run, servers))


# --- schedule ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ManySchedule:
    plan: SchedulePlan
    operations: Sequence[Measured]
    late: Mapping[str, Mapping[int, int]]
    """`recorded` and `planned`: by number of the run how many operations can be late, with the times of that run."""
    utilisation: Mapping[int, float]
    misses: Mapping[int, int]
    preemptive: bool
    text: str

    @property
    def bad_for(self) -> tuple[int, ...]:
        return tuple(
            number for number, late in self.late["planned"].items() if late > self.late["recorded"][number]
        )


def choose_schedule(runs: Mapping[int, RunTold]) -> ManySchedule | None:
    """The longest of all times and the shortest of all periods, so that it is right for the worst run; None if none ran."""
    having = {number: run for number, run in runs.items() if run.summary.operations}
    if not having:
        return None
    own = {number: worst_of(run.summary.operations) for number, run in having.items()}
    # Interrupting is only counted on where every run has shown it.
    preemptive = all(run.summary.interrupts for run in having.values())
    after = {
        number: advice_schedule.dependencies(own[number], run.summary.causes)
        for number, run in having.items()
    }
    operations = worst_of({str(number): those for number, those in own.items()})
    agreed = _agreed(after)
    made = plan(advice_schedule.rt_infos(operations, agreed), preemptive=preemptive)
    ranks = {one.info.name: (one.priority, one.sub_priority) for one in made.operations}
    late: dict[str, dict[int, int]] = {"recorded": {}, "planned": {}}
    utilisation = {}
    for number, those in own.items():
        planned = plan(advice_schedule.rt_infos(those, after[number]), preemptive=preemptive)
        utilisation[number] = planned.utilisation
        ranked = [
            replace(one, priority=ranks[one.operation][0], sub_priority=ranks[one.operation][1])
            for one in those
        ]
        for name, measured in (("recorded", those), ("planned", ranked)):
            responses = advice_schedule.as_recorded(measured, planned, preemptive)
            late[name][number] = sum(not meets for _, meets in responses.values())
    misses = {number: sum(one.misses for one in those) for number, those in own.items()}
    return ManySchedule(made, operations, late, utilisation, misses, preemptive, write_schedule(made))


def _agreed(after: Mapping[int, advice_schedule.Dependencies]) -> advice_schedule.Dependencies:
    """An operation is triggered by others if every run in which it ran says so, and in the same way."""
    found: dict[str, tuple[After, ...]] = {}
    for told in after.values():
        for name, triggers in told.items():
            found[name] = triggers if found.get(name, triggers) == triggers else ()
    return advice_schedule.without_circles(found)


def described(setting: DdmSettings, given: Inputs) -> str:
    return describe(setting, model_spaces(given.model))
