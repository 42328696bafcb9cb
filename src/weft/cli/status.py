"""`weft status`: what a running server's federations are doing, and who blocks whom in logical time."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.steer import paused_in_words
from weft.federate import FederateAmbassador, RTIambassador
from weft.host.guard import PLAIN_PASSWORD
from weft.model.enums import CallbackModel
from weft.model.records import Credentials, RtiConfiguration


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "status", help="show the federations of a running server, and who blocks whom"
    )
    parser.add_argument(
        "address", nargs="?", default="127.0.0.1", help="HOST[:PORT] of the server (default 127.0.0.1:15164)"
    )
    parser.add_argument("--password", metavar="NAME:PASSWORD", help="if the server asks for one")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    found = ask(arguments.address, arguments.password)
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for line in lines(found):
            print(line)
    return 0


def ask(address: str, password: str | None) -> list[dict[str, Any]]:
    rti = RTIambassador()
    credentials = None if password is None else Credentials(PLAIN_PASSWORD, _text(password))
    rti.connect(
        FederateAmbassador(), CallbackModel.EVOKED, RtiConfiguration(rti_address=address), credentials
    )
    try:
        return rti.query_status()
    finally:
        rti.disconnect()


def _text(text: str) -> bytes:
    """An HLAunicodeString."""
    data = text.encode("utf-16-be")
    return (len(data) // 2).to_bytes(4, "big") + data


def lines(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["no federations"]
    out = []
    for federation in found:
        count = len(federation["federates"])
        plural = "" if count == 1 else "s"
        paused = f", {paused_in_words(federation['paused'])}" if "paused" in federation else ""
        out.append(
            f"{federation['federation']}: {count} federate{plural}, {federation['instances']} instances, "
            f"home {federation['home']}{paused}"
        )
        out.extend(f"  {line}" for line in _table(federation["federates"]))
    return out


def _table(federates: list[dict[str, Any]]) -> list[str]:
    rows = [("federate", "type", "node", "time", "lookahead", "state")]
    for one in federates:
        time = one.get("time")
        role = "/".join(word for word in ("regulating", "constrained") if one[word]) or "no time"
        rows.append(
            (
                one["name"],
                one["type"],
                one["node"],
                "" if time is None else str(time),
                str(one["lookahead"]) if time is not None and one["regulating"] else "",
                f"{role}{_waits(one)}{_misses(one)}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return [
        "  ".join([cell.ljust(width) for cell, width in zip(row[:5], widths, strict=True)] + [row[5]])
        for row in rows
    ]


def _misses(one: dict[str, Any]) -> str:
    """Of federates that have deadlines."""
    if not one.get("deadlines"):
        return ""
    by_class = ", ".join(f"{count} {name.rpartition('.')[2]}" for name, count in one["misses"].items())
    return f", missed {sum(one['misses'].values())} of {one['deadlines']} deadlines" + (
        f" ({by_class})" if by_class else ""
    )


def _waits(one: dict[str, Any]) -> str:
    if not one.get("asks"):
        return ""
    long = f" for {one['seconds']} s" if "seconds" in one else ""
    by = ", ".join(one.get("blocked_by", ())) or "nobody (no federate regulates)"
    return f", waits{long} for {one['requested']} ({one['asks']}), blocked by {by}"
