"""What should change before the next run: each advice with its file and what it is predicted to gain (docs/how-to/tuning.md).

The numbers come from `advice.jobs`, what follows from them from the plain modules `advice.grid`, `advice.domains`,
`advice.schedule` and `advice.orders`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from weft.channel import SchedulePlan, write_schedule
from weft.fabric import Domains, Topology, parse_domains
from weft.fom import parse_rid
from weft.host.recording.runs import Run
from weft.interest.ddm_settings import EXACT, GRID, MULTICAST, SPACE, DdmSettings, read_ddm_settings
from weft.model.errors import DomainsError
from weft.model.records import Source
from weft.review.advice import domains as advice_domains
from weft.review.advice import jobs
from weft.review.advice import orders as advice_orders
from weft.review.advice import schedule as advice_schedule
from weft.review.advice.batches import OUTSIDE, Model, More, model_spaces
from weft.review.advice.domains import NodeTraffic, write_domains_file
from weft.review.advice.grid import TrafficCounts, partitions
from weft.review.advice.rid import (
    EFFORT,
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
from weft.review.advice.rows import AdviceRows
from weft.review.advice.schedule import Measured
from weft.review.advice.told import (
    AdviceData,
    DomainsData,
    GridData,
    NoAdvice,
    OrderData,
    ScheduleData,
    SettingData,
)
from weft.review.errors import ReviewError, reason

RID_FILE, DOMAINS_FILE, SCHEDULE_FILE = "weft.rid", "domains.toml", "schedule.toml"
Made = TypeVar("Made")
Say = Callable[[str], None]
"""Hears what is being worked at."""


@dataclass(frozen=True)
class Inputs:
    """Besides the rows: what the run was set up with, from its folder or from the command line."""

    model: Model = ()
    rid: Source | None = None
    domains: Source | None = None
    multicast: bool = False
    home: str = ""
    nodes: tuple[str, ...] = ()


def inputs_of(
    run: Run,
    fom: Sequence[Source] = (),
    rid: Source | None = None,
    domains: Source | None = None,
    multicast: bool = False,
) -> Inputs:
    """What is given counts; what is not is looked for in the run's folder."""
    modules = run.info.get("modules") or ()
    model = tuple(fom) or tuple(_kept(run, one["file"], one["name"]) for one in modules)
    kept = run.info.get("rid")
    if rid is None and kept:
        rid = _kept(run, kept, str(kept))
    return replace(without_model(run), model=model, rid=rid, domains=domains, multicast=multicast)


def without_model(run: Run) -> Inputs:
    """What is known of a run without its files."""
    nodes = tuple(dict.fromkeys([*run.nodes, *(file.node for file in run.files)]))
    return Inputs(home=_home(run, nodes), nodes=nodes)


def _kept(run: Run, file: str, name: str) -> Source:
    try:
        return Source(name, (run.path / file).read())
    except OSError as error:
        raise ReviewError(
            f"{run.path / file}: {error.strerror or error}; the run names it as part of its set-up: "
            "give the object model with --fom and the RID file with --rid instead"
        ) from error


def _home(run: Run, nodes: Sequence[str]) -> str:
    execution = str(run.info.get("execution", ""))
    fitting = [node for node in nodes if execution.startswith(f"{node}/")]
    return max(fitting, key=len, default=str(run.info.get("node", nodes[0] if nodes else "")))


# --- grid -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GridAdvice:
    old: Tried
    new: Tried
    tried: tuple[Tried, ...]
    old_counts: TrafficCounts
    new_counts: TrafficCounts
    names: Mapping[int, str]
    outside: int
    text: str
    changes: int

    def data(self, model: Model) -> GridData:
        spaces = model_spaces(model)

        def shown(one: Tried) -> SettingData:
            totals = one.totals
            return {
                "setting": describe(one.setting, spaces),
                "partitions": one.partitions,
                "sent": totals["sent"],
                "copies": totals["copies"],
                "casts": totals["casts"],
                "received": totals["received"],
                "wanted": totals["wanted"],
                "unwanted": totals["unwanted"],
            }

        return {
            "file": RID_FILE,
            "old": shown(self.old),
            "new": shown(self.new),
            "saved": self.old.cost() - self.new.cost(),
            "tried": [shown(one) for one in self.tried],
            "federates": self._by_federate(),
            "not_by_channels": self.outside,
            "changes_of_listening": self.changes,
        }

    def _by_federate(self) -> dict[str, dict[str, int]]:
        made: dict[str, dict[str, int]] = {}
        for federate, name in sorted(self.names.items()):
            made[name] = {}
            for when, one in (("old", self.old_counts), ("new", self.new_counts)):
                wanted = one.wanted.get(federate, 0)
                made[name][f"{when}_sent"] = one.copies.get(federate, 0)
                made[name][f"{when}_wanted"] = wanted
                made[name][f"{when}_unwanted"] = one.received.get(federate, 0) - wanted
        return made


def recorded_settings(given: Inputs) -> DdmSettings:
    """What the run was set up with; without a RID file nothing is sent that nobody wants."""
    if given.rid is None:
        return DdmSettings(strategy=EXACT)
    found = read_ddm_settings(parse_rid(given.rid), model_spaces(given.model))
    # Where the partitions of others lay when is not recorded: they are counted as one for each space.
    return found if found.strategy in EFFORT else replace(found, strategy=SPACE, options={})


def more_counts(given: Inputs, *settings: DdmSettings) -> More:
    """The partitions of these grids, for which cells have to be cut as well."""
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for setting in settings:
        if setting.strategy == GRID:
            for space in model_spaces(given.model).all:
                for at, count in enumerate(setting.partitions_of(space)):
                    key = (space.number, at)
                    found[key] = (*found.get(key, ()), count)
    return tuple(sorted(found.items()))


def grid_advice(rows: AdviceRows, given: Inputs) -> GridAdvice | None:
    """None where nothing went by channels from one node to another."""
    model, spaces = given.model, model_spaces(given.model)
    old = recorded_settings(given)
    base = replace(old, best_effort=MULTICAST) if given.multicast else old
    more = more_counts(given, old)
    listening = jobs.listening_of(rows, model, more)
    grouped = jobs.grouped_sends(rows, model, more, listening).persist()
    try:
        layouts = jobs.layouts_of(grouped)
        used = jobs.spaces_used(layouts)
        alike = candidates(spaces, base)
        single = one_by_one(base, spaces, used)
        flat = [setting for tried in single.values() for _, setting in tried]
        counts = jobs.counts_of(rows, grouped, model, more, listening, [old, *alike, *flat])
        if not counts[0].sent:
            return None
        results = [_tried(one, found, given) for one, found in zip([old, *alike, *flat], counts, strict=True)]
        rest = iter(results[1 + len(alike) :])
        chosen = {
            space: best_shape([(shape, next(rest)) for shape, _ in tried]) for space, tried in single.items()
        }
        combined = with_shapes(base, spaces, chosen)
        (together,) = jobs.counts_of(rows, grouped, model, more, listening, [combined])
        tried = [*results[1 : 1 + len(alike)], _tried(combined, together, given)]
        if not any(one.cost() for one in tried):
            return None
        new = better(results[0], best(tried))
        if new is results[0]:
            new_counts = counts[0]
        else:
            new_counts = together if new is tried[-1] else counts[1 + tried.index(new)]
        left_out = layouts[OUTSIDE]
    finally:
        grouped.unpersist()
    names = {one.federate: one.name for one in listening.listeners}
    words = [
        f"{describe(new.setting, spaces)}: predicted are {_numbers(new)}",
        f"recorded with {describe(results[0].setting, spaces)}: {_numbers(results[0])}",
    ]
    text = write_rid(new.setting, spaces, words)
    changes = max(0, len(listening.moments) - 1)
    return GridAdvice(results[0], new, tuple(tried), counts[0], new_counts, names, left_out, text, changes)


def _tried(setting: DdmSettings, counts: TrafficCounts, given: Inputs) -> Tried:
    return Tried(setting, counts.totals(), partitions(setting, model_spaces(given.model)))


def _numbers(one: Tried) -> str:
    return f"{one.totals['copies']:,} messages between nodes, {one.totals['unwanted']:,} receptions unwanted"


# --- domains ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DomainsAdvice:
    traffic: NodeTraffic
    costs: Mapping[str, int]
    old: Topology
    new: Topology
    messages: int
    commands: int
    text: str
    kept_because: str = ""

    def data(self) -> DomainsData:
        made: DomainsData = {
            "file": DOMAINS_FILE if self.text else None,
            "servers": len(self.new.servers),
            "messages": self.messages,
            "commands": self.commands,
            "costs": dict(self.costs),
            "saved": self.costs["old"] - self.costs["new"],
            "domains": {name: list(members) for name, members in self.new.domains.items()},
            "routers": list(self.new.routers()),
        }
        if self.kept_because:
            made["kept_because"] = self.kept_because
        return made


def domains_advice(rows: AdviceRows, given: Inputs) -> DomainsAdvice | None:
    """None where there is one node only."""
    domains = None if given.domains is None else parse_domains(given.domains)
    nodes = jobs.federate_nodes(rows)
    servers = servers_of(domains, given, nodes)
    if len(servers) < 2:
        return None
    messages = jobs.message_graph(rows, nodes)
    commands = command_graph(jobs.commands_by_node(rows), given.home, servers)
    both = {pair: messages.get(pair, 0) + commands.get(pair, 0) for pair in (*messages, *commands)}
    traffic = NodeTraffic.of(servers, both)
    old = advice_domains.ready_made(servers, "flat") if domains is None else domains.topology
    found = advice_domains.as_topology(servers, advice_domains.best_tree(traffic))
    ready = {name: advice_domains.ready_made(servers, name) for name in advice_domains.PLANS}
    costs = {name: advice_domains.topology_cost(traffic, one) for name, one in (*ready.items(), ("old", old))}
    found_cost = advice_domains.topology_cost(traffic, found)
    why = why_kept(domains, found_cost, costs["old"])
    new = old if why else found
    costs["new"] = costs["old"] if why else found_cost
    words = [f"cost of the recorded traffic: {costs['new']:,} predicted, {costs['old']:,} as it was"]
    text = "" if why else write_domains_file(new, domains, words)
    try:
        if text:
            parse_domains(Source(DOMAINS_FILE, text.encode()))
    except DomainsError as error:
        text, why = "", f"these nodes cannot stand in a domains file: {error}"
    return DomainsAdvice(traffic, costs, old, new, sum(messages.values()), sum(commands.values()), text, why)


def servers_of(domains: Domains | None, given: Inputs, nodes: Mapping[int, str]) -> tuple[str, ...]:
    if domains is not None:
        return domains.topology.servers
    first = [given.home] if given.home else []
    return tuple(dict.fromkeys([*first, *given.nodes, *sorted(set(nodes.values()))]))


def command_graph(
    by_node: Mapping[str, int], home: str, servers: Sequence[str]
) -> dict[tuple[str, str], int]:
    """To the home, and from there to all others."""
    everything = sum(by_node.values())
    found = {(home, other): everything for other in servers if other != home}
    for node, count in by_node.items():
        if node != home:
            found[node, home] = found.get((node, home), 0) + count
    return found


def why_kept(domains: Domains | None, found: int, old: int) -> str:
    if domains is not None and domains.releases:
        return "its release rules hold at the borders of domains, so these are not changed"
    if domains is not None and found >= old:
        return "no other domains cost less"
    return ""


PREEMPTIVE = "Preemptive()"  # of weft.host.dispatch


# --- schedule ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScheduleAdvice:
    plan: SchedulePlan
    operations: Sequence[Measured]
    recorded: Mapping[str, tuple[float | None, bool]]
    by_node: Mapping[str, bool]
    text: str
    preemptive: bool = True
    """Does the dispatcher that was used interrupt?  All is planned for that one."""
    interrupted: SchedulePlan | None = None
    """The plan for one that does, where the one that was used does not."""

    @property
    def misses(self) -> int:
        return sum(one.misses for one in self.operations)

    @property
    def dispatcher(self) -> str:
        """The dispatcher that should be used instead, if another one would help."""
        late = sum(not one.meets_deadline for one in self.plan.operations)
        if self.interrupted is None or not (late or self.misses):
            return ""
        left = sum(not one.meets_deadline for one in self.interrupted.operations)
        return PREEMPTIVE if left < late or (self.misses and not left) else ""

    def data(self) -> ScheduleData:
        known = {one.operation: one for one in self.operations}
        return {
            "file": SCHEDULE_FILE,
            "utilisation": self.plan.utilisation,
            "schedulable": self.plan.schedulable,
            "misses_recorded": self.misses,
            "dispatcher_interrupts": self.preemptive,
            "dispatcher": self.dispatcher,
            "schedulable_by_node": dict(self.by_node),
            "late_as_recorded": sum(not meets for _, meets in self.recorded.values()),
            "late_as_planned": sum(not one.meets_deadline for one in self.plan.operations),
            "operations": [
                {
                    "name": one.info.name,
                    "priority": one.priority,
                    "sub_priority": one.sub_priority,
                    "period_s": one.period,
                    "worst_s": one.info.worst,
                    "typical_s": one.info.typical,
                    "response_s": one.response,
                    "meets_deadline": one.meets_deadline,
                    "old_priority": known[one.info.name].priority,
                    "old_response_s": self.recorded.get(one.info.name, (None, True))[0],
                    "misses_recorded": known[one.info.name].misses,
                }
                for one in self.plan.operations
            ],
        }


def schedule_advice(rows: AdviceRows) -> ScheduleAdvice | None:
    """None where nothing was dispatched by RT_Info."""
    by_node = jobs.measured_operations(rows)
    if not by_node:
        return None
    causes = jobs.operation_causes(rows)
    operations = worst_of(by_node)
    preemptive = jobs.interrupts(rows)
    made = advice_schedule.advise(operations, causes, preemptive)
    fits = {
        node: advice_schedule.advise(those, causes, preemptive).schedulable for node, those in by_node.items()
    }
    return ScheduleAdvice(
        made,
        operations,
        advice_schedule.as_recorded(operations, made, preemptive),
        fits,
        write_schedule(made),
        preemptive,
        None if preemptive else advice_schedule.advise(operations, causes),
    )


def worst_of(by_node: Mapping[str, Sequence[Measured]]) -> list[Measured]:
    """One for each operation: where it ran at several nodes, the longest time and the shortest period."""
    found: dict[str, Measured] = {}
    for one in (one for those in by_node.values() for one in those):
        other = found.get(one.operation)
        if other is None:
            found[one.operation] = one
            continue
        quicker = one if (one.period_ns or float("inf")) < (other.period_ns or float("inf")) else other
        found[one.operation] = replace(
            quicker,
            worst_ns=max(one.worst_ns, other.worst_ns),
            typical_ns=max(one.typical_ns, other.typical_ns),
            misses=one.misses + other.misses,
        )
    return list(found.values())


# --- orders -----------------------------------------------------------------------------------------------------------


def orders_advice(rows: AdviceRows) -> list[OrderData]:
    return advice_orders.advise(jobs.class_traffic(rows), jobs.class_causes(rows))


# --- all --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunAdvice:
    given: Inputs
    grid: GridAdvice | None = None
    domains: DomainsAdvice | None = None
    schedule: ScheduleAdvice | None = None
    orders: Sequence[OrderData] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Advice there is none of, and why."""

    def files(self) -> dict[str, str]:
        parts = {
            RID_FILE: self.grid.text if self.grid else "",
            DOMAINS_FILE: self.domains.text if self.domains else "",
            SCHEDULE_FILE: self.schedule.text if self.schedule else "",
        }
        return {name: text for name, text in parts.items() if text}

    def data(self) -> AdviceData:
        none = {name: NoAdvice(none_because=why) for name, why in self.missing.items()}
        told = {
            "grid": self.grid and self.grid.data(self.given.model),
            "domains": self.domains and self.domains.data(),
            "schedule": self.schedule and self.schedule.data(),
            "orders": list(self.orders),
        }
        made = {name: none.get(name, data) for name, data in told.items()}
        return cast("AdviceData", {name: data for name, data in made.items() if data is not None})


def advise(rows: AdviceRows, given: Inputs, failed: Mapping[str, str] | None = None) -> RunAdvice:
    """`failed`: advice that fails is missing, and why is said, in place of an error; its entries are missing from the outset."""
    missing: dict[str, str] = dict(failed or {})
    strict = failed is None

    def part(name: str, none: str, make: Callable[[], Made | None]) -> Made | None:
        if name in missing:
            return None
        try:
            made = make()
        except Exception as error:
            if strict:
                raise
            missing[name] = f"it failed: {reason(error)}"
            return None
        if made is None:
            missing[name] = none
        return made

    no_grid = (
        "no message went by channels from one node to another"
        if given.model
        else "the run has no object model in it; give it with --fom"
    )
    grid = part("grid", no_grid, lambda: grid_advice(rows, given) if given.model else None)
    domains = part("domains", "the run had one node", lambda: domains_advice(rows, given))
    schedule = part("schedule", "no operation with an RT_Info was dispatched", lambda: schedule_advice(rows))
    orders = part("orders", "", lambda: orders_advice(rows))
    return RunAdvice(given, grid, domains, schedule, orders or (), missing)


def advise_run(rows: AdviceRows, run: Run) -> AdviceData:
    """What the review says under "advice"; where one fails, why is said there, and the others are there all the same."""
    failed = {}
    try:
        given = inputs_of(run)
    except ReviewError as error:  # the object model of the run cannot be read
        given = without_model(run)
        failed["grid"] = f"it failed: {reason(error)}"
    return advise(rows, given, failed).data()
