"""`weft tune RUN…`: what should change before the next run; settings files that the runtime loads, and what they are to gain."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from weft.cli.analyse import tune_many
from weft.cli.arguments import RUN_HELP, Commands, add_master, add_out, cluster_of, say, whole
from weft.host.files.modules import read_source

if TYPE_CHECKING:
    from weft.review.tune import Tuned


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        help="advice from a recorded run: RID, domains and schedule files, with what they are predicted to gain",
        description=(
            "Work out on Spark what should change before the next run, write it as files that the runtime loads as they are, "
            "and say what each is predicted to gain."
        ),
    )
    parser.add_argument(
        "run",
        nargs="+",
        metavar="RUN",
        help=f"{RUN_HELP}; or several, a folder of runs, or a federation of the lake",
    )
    add_out(parser, "DIR", "where the files go (default: here)", ".")
    parser.add_argument(
        "--force", action="store_true", help="replace files that were written or changed by hand"
    )
    parser.add_argument(
        "--replay", action="store_true",
        help="send the recorded messages again on a simulated network, with old and new settings, and compare",
    )  # fmt: skip
    parser.add_argument(
        "--messages", type=whole(1), default=20_000, metavar="N",
        help="how many of them are replayed (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--fom", metavar="FILE", action="append", default=[],
        help="the object model, in place of the one kept with the run; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--rid", metavar="FILE", help="the RID file of the run, in place of the one kept with it"
    )
    parser.add_argument("--domains", metavar="FILE", help="the domains file of the run (default: one domain)")
    parser.add_argument(
        "--multicast", action="store_true", help="advise for multicast groups (BestEffortChannelType)"
    )
    add_master(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    tune_many.add_flags(parser)
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    from weft.review.advice.advice import Inputs
    from weft.review.tune import tune

    cluster = cluster_of(arguments)
    given = Inputs(
        tuple(read_source(name) for name in arguments.fom),
        read_source(arguments.rid) if arguments.rid else None,
        read_source(arguments.domains) if arguments.domains else None,
        arguments.multicast,
    )
    if not tune_many.is_one_run(arguments.run):
        return tune_many.run_many(arguments, given, cluster)
    found = tune(
        arguments.run[0],
        arguments.out,
        cluster,
        given.model,
        given.rid,
        given.domains,
        given.multicast,
        arguments.force,
        arguments.replay,
        arguments.messages,
        say,
    )
    print(json.dumps(found.as_data(), indent=2) if arguments.json else as_text(found))
    return 0


# Text


def as_text(found: Tuned) -> str:
    told: Mapping[str, Any] = found.advice.data()
    lines = [f"note: {note}" for note in found.notes]
    lines.append(f"{found.run}: {found.rows:,} rows")
    for name, write in (("grid", _grid), ("domains", _domains), ("schedule", _schedule)):
        advice = told.get(name, {})
        none = [f"{name}: none, {advice['none_because']}"] if "none_because" in advice else None
        lines += ["", *(none or write(advice))]
    lines += ["", *_orders(told["orders"])]
    if found.replay is not None:
        lines += ["", *replay_lines(found.replay)]
    lines += ["", *(f"wrote {path}" for path in found.files.values())]
    return "\n".join(lines)


def advice_lines(advice: Mapping[str, Any]) -> Iterator[str]:
    """A line or two for each, for a review: what is predicted to be gained."""
    yield "advice (`weft tune RUN` writes it as files, --replay checks it)"
    for name, say_gain in (("grid", _grid_gain), ("domains", _domains_gain), ("schedule", _schedule_gain)):
        one = advice.get(name, {})
        told = f"none, {one['none_because']}" if "none_because" in one else say_gain(one)
        yield f"    {name:<10}{told}"
    orders = advice.get("orders", [])
    if isinstance(orders, Mapping):
        yield f"    {'orders':<10}none, {orders['none_because']}"
        return
    could = [row["class"] for row in orders if row["could_use_RO"]]
    saved = sum(row["saved_bytes"] for row in orders if row["could_use_RO"])
    told = (
        "every class has receive order"
        if not orders
        else f"{len(could)} of {len(orders)} classes could use RO"
    )
    yield f"    {'orders':<10}{told}{f', saving {saved:,} bytes: ' + ', '.join(could[:5]) if could else ''}"


def _grid_gain(advice: Mapping[str, Any]) -> str:
    return f"{advice['new']['setting']}: {_traffic(advice['old'], advice['new'])}"


def _traffic(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    messages = f"messages between nodes {old['copies']:,} → {new['copies']:,}"
    return f"{messages}, unwanted receptions {old['unwanted']:,} → {new['unwanted']:,}"


def _domains_gain(advice: Mapping[str, Any]) -> str:
    old, new = advice["costs"]["old"], advice["costs"]["new"]
    return f"{len(advice['domains'])} domains: cost {old:,} → {new:,} ({_share(new, old)})"


def _schedule_gain(advice: Mapping[str, Any]) -> str:
    late = f"operations that can be late {advice['late_as_recorded']} → {advice['late_as_planned']}"
    missed = f"{advice['misses_recorded']} deadlines missed, " if advice["misses_recorded"] else ""
    instead = f", use {advice['dispatcher']}" if advice["dispatcher"] else ""
    return f"{len(advice['operations'])} operations: {missed}{late}, {advice['utilisation']:.0%} of a processor{instead}"


def _grid(advice: Mapping[str, Any]) -> Iterator[str]:
    old, new = advice["old"], advice["new"]
    yield f"grid: {new['setting']}, recorded with {old['setting']}"
    yield f"    {_traffic(old, new)}"
    if advice["not_by_channels"]:
        yield f"    {advice['not_by_channels']:,} messages go by no channel: their regions are asked as of their time"
    heads = ("partitions", "on channels", "messages", "wanted", "unwanted")
    yield f"    {'tried':<44}" + "".join(f"{one:>12}" for one in heads)
    for row in advice["tried"]:
        numbers = (row["partitions"], row["sent"], row["copies"], row["wanted"], row["unwanted"])
        yield f"    {row['setting'][:43]:<44}" + "".join(f"{number:>12,}" for number in numbers)


def _domains(advice: Mapping[str, Any]) -> Iterator[str]:
    costs = advice["costs"]
    yield f"domains: {advice['messages']:,} messages and {advice['commands']:,} commands between {advice['servers']} servers"
    yield f"    cost {costs['old']:,} → {costs['new']:,} ({_share(costs['new'], costs['old'])})"
    shown = ", ".join(f"{name} {costs[name]:,}" for name in ("flat", "bus", "daisy", "tree"))
    yield f"    ready-made: {shown}"
    if advice.get("kept_because"):
        yield f"    as it was: {advice['kept_because']}"
        return
    for name, members in advice["domains"].items():
        yield f"    {name}: {', '.join(members)}"


def _share(new: int, old: int) -> str:
    return f"{new / old:.0%} of it" if old else "nothing to save"


def _schedule(advice: Mapping[str, Any]) -> Iterator[str]:
    late = advice["late_as_planned"]
    verdict = (
        f"{late} operations can be late with these priorities"
        if late
        else "all deadlines are met with these priorities"
    )
    used = f"{advice['utilisation']:.0%} of a processor"
    yield f"schedule: {used}, {advice['misses_recorded']} deadlines were missed as recorded; {verdict}"
    if not advice["dispatcher_interrupts"]:
        yield "    planned for the dispatcher that was used, which lets every consumer run to its end"
    if advice["dispatcher"]:
        yield f"    use the dispatcher {advice['dispatcher']} instead: it interrupts, and then less is late"
    elif advice["misses_recorded"] and not late and not advice["late_as_recorded"]:
        yield "    the times measured do not explain the misses: events came in bursts, or something else used the processor"
    yield f"    {'operation':<28}{'priority':>9}{'was':>5}{'Hz':>9}{'worst ms':>10}{'response ms':>13}{'was':>9}{'misses':>8}"
    for row in advice["operations"]:
        rate = f"{1 / row['period_s']:.1f}" if row["period_s"] else ""
        was = "" if row["old_priority"] is None else row["old_priority"]
        yield (
            f"    {row['name'][:27]:<28}{row['priority']:>9}{was:>5}{rate:>9}{row['worst_s'] * 1e3:>10.3f}"
            f"{_ms(row['response_s']):>13}{_ms(row['old_response_s']):>9}{row['misses_recorded']:>8}"
        )


def _ms(seconds: float | None) -> str:
    return "late" if seconds is None else f"{seconds * 1e3:.3f}"


def _orders(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "orders: every class has receive order"
        return
    yield "orders:"
    for row in rows:
        cost = f"{row['control_bytes_per_message']:.1f} bytes of control for {row['payload_bytes_per_message']:.1f} of values"
        if row["held"]:
            cost += f", {row['held']:,} waited for {row['held_ms']:.2f} ms on average"
        verdict = "could use RO" if row["could_use_RO"] else f"needs {row['order']}"
        why = "; ".join(f"{pair['cause']} before {pair['effect']}" for pair in row["pairs"][:3])
        saved = f", saving {row['saved_bytes']:,} bytes" if row["could_use_RO"] else ""
        yield f"    {row['class']}: {verdict}{saved} ({row['messages']:,} in {row['order']}, {cost}{'; ' + why if why else ''})"


def replay_lines(replay: Mapping[str, Any]) -> Iterator[str]:
    yield f"replay of {replay['messages']:,} messages: predicted, obtained"
    for when, both in replay.get("grid", {}).items():
        for name in both["predicted"]:
            yield f"    {when + ' grid, ' + name:<32}{both['predicted'][name]:>14,}{both['obtained'][name]:>14,}"
    for when, both in replay.get("domains", {}).items():
        obtained = f"{both['obtained']:>14,}" if "obtained" in both else ""
        yield f"    {when + ' domains, cost':<32}{both['predicted']:>14,}{obtained}"
    for operation, sides in replay.get("schedule", {}).items():
        for when, both in sides.items():
            yield f"    {when + ' ' + operation[:20] + ', ms':<32}{_ms(both['predicted']):>14}{_ms(both['obtained']):>14}"
