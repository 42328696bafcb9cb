"""`weft domains plan`: for the traffic that is expected, before the first run (S1-16)."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from weft.cli.arguments import add_out, real, whole, write_text
from weft.fabric import TOPOLOGIES, Domains, Topology, cost, parse_domains
from weft.fom import merge, parse_module
from weft.host.files.modules import read_source
from weft.model.errors import SettingsError

if TYPE_CHECKING:  # numpy takes its time, and no other command here needs it
    from weft.review.advice.domains import NodeTraffic
    from weft.review.advice.expected import Expected

_ENTRY_US = 1.0
_HOP_US = 100.0  # to save, send and acknowledge a packet, whatever its clock; without it pairs in long chains would be best


def add_arguments(parser: argparse.ArgumentParser) -> None:
    ready = parser.add_argument_group("a ready-made topology")
    ready.add_argument("--servers", type=whole(1), metavar="N", help="how many servers")
    ready.add_argument("--topology", choices=TOPOLOGIES, help="how domains are joined")
    ready.add_argument(
        "--domain-size",
        type=whole(2),
        metavar="S",
        help="servers in a domain (default: as the number of servers suggests)",
    )
    wanted = parser.add_argument_group("for the traffic you expect")
    wanted.add_argument("--traffic", metavar="FILE", help="rows of: from, to, messages")
    wanted.add_argument("--latency", metavar="FILE", help="rows of: from, to, milliseconds")
    wanted.add_argument(
        "--fom", metavar="FILE", action="append", default=[], help="the object model; may be repeated"
    )
    wanted.add_argument(
        "--placement",
        metavar="FILE",
        help="rows of: server, publishes, class, messages; and of: server, subscribes, class",
    )
    wanted.add_argument(
        "--entry-us",
        type=real(0.001),
        default=_ENTRY_US,
        metavar="US",
        help="what an entry of a clock costs, in microseconds (default %(default)s)",
    )
    wanted.add_argument(
        "--hop-us",
        type=real(0.0),
        default=_HOP_US,
        metavar="US",
        help="what a hop costs by itself; 0 as in the paper's model (default %(default)s)",
    )
    wanted.add_argument(
        "--domains", metavar="FILE", help="a domains file with the servers, whose addresses are kept"
    )
    wanted.add_argument("--json", action="store_true", help="print what is planned as one JSON object")
    add_out(parser, "FILE", "the file to write; standard output if left out")


def is_for_traffic(args: argparse.Namespace) -> bool:
    asked = args.traffic is not None or args.placement is not None
    if asked and (args.servers is not None or args.topology is not None or args.domain_size is not None):
        raise SettingsError("--servers, --topology and --domain-size are for a ready-made topology")
    if (args.placement is not None) != bool(args.fom):
        raise SettingsError(
            "--fom and --placement belong together: classes, and who publishes and subscribes"
        )
    if args.latency is not None and not asked:
        raise SettingsError("--latency needs --traffic, or --fom with --placement")
    return asked


def run(args: argparse.Namespace) -> int:
    from weft.review.advice import domains as planner

    old = parse_domains(read_source(args.domains)) if args.domains else None
    traffic = _traffic(args, old)
    if not traffic.messages.any():
        raise SettingsError("there is no message from one server to another in this; nothing to plan for")
    planned = planner.as_topology(traffic.servers, planner.best_tree(traffic, _say))
    shapes = {
        "planned": planned,
        **({} if old is None else {"as in the file": old.topology}),
        **{name: planner.ready_made(traffic.servers, name) for name in planner.PLANS},
    }
    costs = {name: planner.topology_cost(traffic, one) for name, one in shapes.items()}
    _say("")
    words = [f"for {int(traffic.messages.sum()):,} messages between {len(traffic.servers)} servers"]
    words += [f"cost {costs['planned']:,} by the model, {costs['flat']:,} in one domain of all"]
    text = planner.write_domains_file(planned, old, words)
    if args.json:
        if args.out is not None:
            write_text(text, args.out)
        print(json.dumps(_report(traffic, planned, costs), indent=2))
        return 0
    write_text(text, args.out)
    # The file may be what is wanted on standard output.
    print(_as_text(traffic, planned, costs, args.out), file=sys.stderr if args.out is None else sys.stdout)
    return 0


def _traffic(args: argparse.Namespace, old: Domains | None) -> NodeTraffic:
    from weft.review.advice.domains import NodeTraffic
    from weft.review.advice.expected import read_latency

    known = old.topology.servers if old is not None else ()
    parts = list(_expected(args, known))
    servers = tuple(dict.fromkeys(name for part in parts for name in part.servers))
    counts: dict[tuple[str, str], int] = {}
    for part in parts:
        for pair, count in part.messages.items():
            counts[pair] = counts.get(pair, 0) + count
    latency = None
    if args.latency is not None:
        found = read_latency(read_source(args.latency), servers)
        latency = {pair: round(value * 1000 / args.entry_us) for pair, value in found.items()}
    return NodeTraffic.of(servers, counts, latency, round(args.hop_us / args.entry_us))


def _expected(args: argparse.Namespace, known: tuple[str, ...]) -> list[Expected]:
    from weft.review.advice.expected import read_placement, read_traffic

    found: list[Expected] = []
    if args.traffic is not None:
        found.append(read_traffic(read_source(args.traffic), known))
    if args.placement is not None:
        model = merge([parse_module(read_source(name)) for name in args.fom])
        found.append(read_placement(read_source(args.placement), model, known))
    return found


def _report(traffic: NodeTraffic, planned: Topology, costs: dict[str, int]) -> dict[str, object]:
    return {
        "servers": list(planned.servers),
        "messages": int(traffic.messages.sum()),
        "domains": {name: list(members) for name, members in planned.domains.items()},
        "routers": list(planned.routers()),
        "costs": costs,
        "largestClock": cost(planned).largest_clock,
        "flatClock": len(planned.servers) ** 2,
    }


def _as_text(traffic: NodeTraffic, planned: Topology, costs: dict[str, int], out: str | None) -> str:
    count = len(planned.servers)
    lines = [f"{count} servers in {len(planned.domains)} domains keep causal order"]
    lines.append(f"routers: {', '.join(planned.routers()) or 'none'}")
    lines += [f"  {name:<6}{' '.join(members)}" for name, members in planned.domains.items()]
    lines.append(f"cost of {int(traffic.messages.sum()):,} messages, by the model")
    least = max(1, costs["planned"])
    for name, spent in costs.items():
        times = "" if name == "planned" else f"   {spent / least:.2f} times the plan"
        lines.append(f"  {name:<16}{spent:>16,}{times}")
    clock = f"clock of a server, largest: {cost(planned).largest_clock:,} entries"
    lines.append(f"{clock}; in one domain of all {count**2:,}")
    return "\n".join(lines + ([] if out is None else [f"wrote {out}"]))


def _say(text: str) -> None:
    """How far a long search is, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
