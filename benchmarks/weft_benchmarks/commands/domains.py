"""`weft bench domains`: what causal order costs in one domain of all servers and in domains on a bus."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from typing import Any

from weft.cli.arguments import whole
from weft.model.errors import SettingsError
from weft_benchmarks import domains, fedpro
from weft_benchmarks.runner import load, say

SIZES = (9, 16, 36, 64, 100, 144)
SIMULATED_BUS = (*SIZES, 256, 400, 625, 1000)
KINDS = ("flat", "bus")

AIMS = {"durable_per_s": 5_000.0, "plain_per_s": 30_000.0, "bus ÷ flat at 144": 1 / 30, "r2": 0.98}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("domains", help="causal order: hops, round trips and stamps, flat and on a bus")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--servers", type=whole(0), default=144, metavar="N",
                        help="the most real processes; 0 for none (default %(default)s, which takes 24 MB each)")  # fmt: skip
    parser.add_argument("--simulated", type=whole(0), default=1000, metavar="N",
                        help="the most simulated servers (default %(default)s; flat ends at 144)")  # fmt: skip
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="hops to take the median of (default %(default)s)"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.servers, arguments.simulated, arguments.repeats)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(servers: int, simulated: int, repeats: int) -> dict[str, Any]:
    results: dict[str, Any] = {"benchmark": "domains", "machine": load(), "aims": AIMS}
    say("floors")
    with tempfile.TemporaryDirectory() as folder:
        floor = fedpro.measure_floor(folder)
    results["floor"] = {"sqlite_rows_per_s": round(domains.measure_sqlite())}
    if floor:
        results["floor"]["relay_us"] = round(floor["relay_us"], 1)
    for name, durable in (("durable", True), ("plain", False)):
        rounds = []
        for number in range(1, repeats + 1):
            say(f"hop, {name}: {number}/{repeats}")
            rounds.append(domains.measure_hop(durable))
        results[f"hop_{name}"] = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    results["round_trips"] = []
    for size in [size for size in SIZES if size <= servers]:
        for kind in KINDS:
            say(f"round trips: {size} processes, {kind}")
            results["round_trips"].append(domains.measure_round_trips(size, kind))
    results["stamps"] = []
    for kind, sizes in (("flat", SIZES), ("bus", SIMULATED_BUS)):
        for size in [size for size in sizes if size <= simulated]:
            say(f"stamps: {size} servers simulated, {kind}")
            results["stamps"].append(domains.simulate(size, kind))
    say("")
    results["fits"] = fits(results)
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def fits(results: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for where, field in (("stamps", "stamp_entries_per_message"), ("round_trips", "broadcast_us")):
        for kind, power in (("flat", 2), ("bus", 1)):
            points = [(row["servers"], row[field]) for row in results[where] if row["topology"] == kind]
            if len(points) >= 3:
                found[f"{field}, {kind}"] = domains.fit(points, power)
    at = {
        row["topology"]: row["stamp_entries_per_message"]
        for row in results["stamps"]
        if row["servers"] == 144
    }
    if len(at) == 2:
        found["bus ÷ flat at 144"] = round(at["bus"] / at["flat"], 4)
    return found


def as_text(results: dict[str, Any]) -> str:
    if "hop_durable" not in results:
        raise SettingsError("these are no results of weft bench domains")
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [f"{machine['cores']} cores, {loads}, Python {machine['python']}", ""]
    lines.append("floor: " + ", ".join(f"{name} {value:g}" for name, value in results["floor"].items()))
    for name in ("durable", "plain"):
        hop = results[f"hop_{name}"]
        lines.append(
            f"causal hop, {name:<8}{hop['per_s']:>10,.0f} messages/s (aim {AIMS[f'{name}_per_s']:,.0f}); "
            f"CPU {hop['sender_us']:.1f} µs at the sender, {hop['receiver_us']:.1f} µs at the receiver"
        )
    if results["round_trips"]:
        lines += ["", "round trips of agents with journals, in µs; a process for each server"]
        lines.append(
            f"{'servers':>8}{'':>6}{'local':>10}{'remote':>10}{'broadcast':>12}{'entries':>10}{'bytes':>10}{'clock':>12}"
        )
        lines += [
            f"{row['servers']:>8}{row['topology']:>6}{row['local_us']:>10,.0f}{row['remote_us']:>10,.0f}{row['broadcast_us']:>12,.0f}"
            f"{row['stamp_entries_per_packet']:>10,.1f}{row['stamp_bytes_per_packet']:>10,.1f}{row['clock_bytes_per_node']:>12,}"
            for row in results["round_trips"]
        ]
    if results["stamps"]:
        lines += ["", "stamps of a message over all its hops, uniform traffic, simulated"]
        lines.append(f"{'servers':>8}{'':>6}{'entries':>12}{'bytes':>12}{'clock bytes/node':>18}")
        lines += [
            f"{row['servers']:>8}{row['topology']:>6}{row['stamp_entries_per_message']:>12,.1f}"
            f"{row['stamp_bytes_per_message']:>12,.1f}{row['clock_bytes_per_node']:>18,}"
            for row in results["stamps"]
        ]
    lines.append("")
    for name, found in results["fits"].items():
        if isinstance(found, dict):
            power = "n²" if found["power"] == 2 else "n"
            lines.append(f"{name}: {found['a']:g}·{power} + {found['b']:g}, R² {found['r2']:.4f}")
        else:
            lines.append(f"{name}: {found:g} (aim at most {AIMS[name]:.4f})")
    return "\n".join(lines)
