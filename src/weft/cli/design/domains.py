"""`weft domains`: check a domains file, show routes and costs in it, draw it, and plan one."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence

from weft.cli.arguments import Commands, add_command, add_out, complain, read_input, write_text
from weft.cli.design import domains_plan
from weft.drawing import svg
from weft.fabric import (
    Cost,
    DomainsFindings,
    Hop,
    Topology,
    cost,
    examine_domains,
    plan,
    write_domains,
)
from weft.fabric.picture import domain_picture
from weft.model.errors import SettingsError


def register(commands: Commands) -> None:
    parser = commands.add_parser("domains", help="check, plan and explore domains of causality")
    actions = parser.add_subparsers(dest="domains_command", metavar="COMMAND", required=True)
    check = add_command(
        actions, "check", run_check, "say whether a domains file keeps causal order, and what to repair"
    )
    _file(check)
    check.add_argument("--json", action="store_true", help="print one JSON object")

    route = add_command(actions, "route", run_route, "show the hops of a message from one server to another")
    _file(route)
    route.add_argument("start", metavar="FROM", help="the server that sends")
    route.add_argument("destination", metavar="TO", help="the server that receives")
    route.add_argument("--json", action="store_true", help="print one JSON object")

    made = add_command(
        actions,
        "plan",
        run_plan,
        "write a domains file: for the traffic you expect, or of a ready-made topology",
    )
    domains_plan.add_arguments(made)

    spent = add_command(
        actions, "cost", run_cost, "what messages cost in these domains, and what they would without any"
    )
    _file(spent)
    spent.add_argument("--json", action="store_true", help="print one JSON object")

    drawn = add_command(actions, "draw", run_draw, "draw servers and domains as an SVG picture")
    _file(drawn)
    add_out(drawn, "FILE", "the file to write; standard output if left out")


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the domains file (TOML); - for standard input")


# Reading


def _accepted(name: str) -> Topology | None:
    """The topology of the file, or None after saying on standard error why there is none."""
    findings = examine_domains(read_input(name))
    complain(findings.errors)
    return findings.domains.topology if findings.domains else None


# check


def run_check(args: argparse.Namespace) -> int:
    findings = examine_domains(read_input(args.file))
    if args.json:
        print(json.dumps(_report(findings), indent=2))
    else:
        _print_check(findings)
        complain(findings.errors)
    return 1 if findings.errors else 0


def _report(findings: DomainsFindings) -> dict[str, object]:
    topology = findings.domains.topology if findings.domains else None
    return {
        "servers": len(topology.servers) if topology else 0,
        "domains": len(topology.domains) if topology else 0,
        "routers": list(topology.routers()) if topology else [],
        "warnings": len(findings.warnings),
        "errors": len(findings.errors),
        "warningTexts": list(findings.warnings),
        "errorTexts": [str(error) for error in findings.errors],
    }


def _print_check(findings: DomainsFindings) -> None:
    if findings.domains:
        topology = findings.domains.topology
        print(f"{len(topology.servers)} servers in {len(topology.domains)} domains keep causal order")
        print(f"routers: {', '.join(topology.routers()) or 'none'}")
    for warning in findings.warnings:
        print(f"warning: {warning}")


# route


def run_route(args: argparse.Namespace) -> int:
    topology = _accepted(args.file)
    if topology is None:
        return 2
    hops = topology.route(args.start, args.destination)
    if args.json:
        print(json.dumps({"hops": hops}))
    else:
        print(_way(args.start, hops))
    return 0


def _way(start: str, hops: Sequence[Hop]) -> str:
    return start + "".join(f" -({hop.domain})-> {hop.receiver}" for hop in hops)


# plan


def run_plan(args: argparse.Namespace) -> int:
    if domains_plan.is_for_traffic(args):
        return domains_plan.run(args)
    if args.servers is None or args.topology is None:
        raise SettingsError(
            "either --servers and --topology say what to write, or --traffic, or --fom with --placement, what to plan for"
        )
    made = plan(args.servers, args.topology, args.domain_size)
    text = write_domains(made, f"{args.topology} of {args.servers} servers in {len(made.domains)} domains")
    write_text(text, args.out)
    return 0


# cost


def run_cost(args: argparse.Namespace) -> int:
    topology = _accepted(args.file)
    if topology is None:
        return 2
    found = cost(topology)
    if args.json:
        words = (name.split("_") for name in dataclasses.asdict(found))
        keys = [first + "".join(word.capitalize() for word in rest) for first, *rest in words]
        print(json.dumps(dict(zip(keys, dataclasses.astuple(found), strict=True)), indent=2))
    else:
        _print_cost(found)
    return 0


def _print_cost(found: Cost) -> None:
    rows = [
        ("servers, domains, routers", f"{found.servers}, {found.domains}, {found.routers}"),
        ("hops of a message, mean", f"{found.mean_hops:.2f}"),
        ("cost of a message, mean", f"{found.mean_cost:.1f}"),
        ("cost of a message, most", f"{found.worst_cost}"),
        ("… in one domain of all", f"{found.flat_cost}"),
        ("clock of a server, largest", f"{found.largest_clock} entries"),
        ("clocks of all servers", f"{found.all_clocks} entries"),
        ("… in one domain of all", f"{found.flat_clocks} entries"),
    ]
    for name, value in rows:
        print(f"{name:<28}{value}")
    if found.worst:
        print(f"{'a way that costs most':<28}{_way(found.worst[0].sender, found.worst)}")


# draw


def run_draw(args: argparse.Namespace) -> int:
    topology = _accepted(args.file)
    if topology is None:
        return 2
    title = f"{len(topology.servers)} servers in {len(topology.domains)} domains"
    write_text(svg(domain_picture(topology, title), standing_alone=True) + "\n", args.out)
    return 0
