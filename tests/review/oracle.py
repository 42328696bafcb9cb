"""What the audits must find, by brute force over rows: everything is compared with everything."""

from __future__ import annotations

from typing import Any

from weft.review.kernels.interest import GRACE, TIE

Row = dict[str, Any]
Key = tuple[Any, ...]


def in_log_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["epoch_ns"], row["node"], row["seq"]))


def of_kind(rows: list[Row], *kinds: str) -> list[Row]:
    return [row for row in rows if row["kind"] in kinds]


def deliveries_at(rows: list[Row], federate: int, orders: tuple[str, ...]) -> list[Row]:
    """First deliveries, in order."""
    seen = set()
    found = []
    for row in sorted(of_kind(rows, "deliver"), key=lambda row: row["seq"]):
        key = (row["source"], row["message"])
        if row["federate"] == federate and row["order"] in orders and key not in seen:
            seen.add(key)
            found.append(row)
    return found


def late(rows: list[Row], orders: tuple[str, ...] = ("RO", "CO", "CT")) -> set[Key]:
    """(federate, source, message) that somebody got after a message that it happened before."""
    past = pasts(rows, orders)
    found = set()
    for federate in {row["federate"] for row in rows}:
        before: list[Key] = []
        for row in deliveries_at(rows, federate, orders):
            key = (row["source"], row["message"])
            if key in past and any(key in past[other] for other in before):
                found.add((federate, *key))
            if key in past:
                before.append(key)
    return found


def pasts(rows: list[Row], orders: tuple[str, ...]) -> dict[Key, set[Key]]:
    """Of each message all that happened before it: by induction over the log."""
    past: dict[Key, set[Key]] = {}
    known: dict[int, set[Key]] = {}
    for row in in_log_order(of_kind(rows, "send", "deliver")):
        key = (row["source"], row["message"])
        mine = known.setdefault(row["federate"], set())
        if row["order"] not in orders:
            continue
        if row["kind"] == "send":
            past[key] = set(mine)
            mine.add(key)
        elif key in past:
            mine |= past[key] | {key}
    return past


def out_of_order(rows: list[Row]) -> set[Key]:
    """(what, federate, node, seq)."""
    found = set()
    for federate in {row["federate"] for row in rows}:
        granted = most = None
        for row in sorted((r for r in rows if r["federate"] == federate), key=lambda row: row["seq"]):
            time = row["time_int"]
            if row["kind"] == "grant" and row["service"] in ("time_advance_grant", "flush_queue_grant"):
                granted = time
                if row["service"] == "flush_queue_grant":
                    most = None
            elif row["kind"] == "deliver" and row["order"] == "TSO":
                if granted is not None and time < granted:
                    found.add(("past", federate, row["node"], row["seq"]))
                elif most is not None and time < most:
                    found.add(("decreasing", federate, row["node"], row["seq"]))
                most = time if most is None else max(most, time)
    return found


def early_grants(rows: list[Row], home: str = "", slack: int = 0) -> set[Key]:
    """Who left counts no more where the command of that number had been carried out; without numbers, by the clock.

    Clocks of nodes may differ by `slack`; at the home nothing comes before the command that it rests on.
    """
    found = set()
    left: dict[int, tuple[int, int]] = {}
    for row in of_kind(rows, "resign", "lost"):
        if row["command"] is not None:
            when = (row["command"], row["epoch_ns"])
            left[row["federate"]] = min(when, left.get(row["federate"], when))
    log = in_log_order(rows)
    for grant in of_kind(log, "grant"):
        if grant["service"] not in ("time_advance_grant", "flush_queue_grant"):
            continue
        bounds = []
        for other in {row["federate"] for row in rows} - {grant["federate"]}:
            if other in left:
                number, at = left[other]
                near = grant["node"] != home and at - 1_000_000_000 <= grant["epoch_ns"] + slack
                if number <= grant["command"] + near:
                    continue
            told = [
                row
                for row in of_kind(log, "request", "grant", "resign", "lost")
                if row["federate"] == other and may_be_behind(row, grant, slack)
                and (row["kind"] in ("request", "grant") or row["command"] is None)
            ]  # fmt: skip
            if told and told[-1]["lookahead_int"] is not None:
                bounds.append(told[-1]["time_int"] + told[-1]["lookahead_int"])
        if bounds and grant["time_int"] > min(bounds):
            found.add(("grant above LBTS", grant["federate"], grant["node"], grant["seq"]))
    return found


def may_be_behind(row: Row, grant: Row, slack: int) -> bool:
    """May the grant rest on that row?"""
    if None not in (row["command"], grant["command"]) and row["command"] > grant["command"] + 1:
        return False
    return bool(row["epoch_ns"] <= grant["epoch_ns"] + (0 if row["node"] == grant["node"] else slack))


def undelivered(rows: list[Row], any_change: bool = False) -> set[Key]:
    """(what, source, message, federate): lost, duplicate, unsent.  For runs that ended in order, and nobody left."""
    sent = {(r["source"], r["message"]): r for r in of_kind(rows, "send")}
    granted: dict[int, int] = {}
    for row in of_kind(rows, "grant"):
        granted[row["federate"]] = max(granted.get(row["federate"], -1), row["time_int"])
    got: dict[Key, int] = {}
    for row in of_kind(rows, "deliver"):
        delivery = (row["source"], row["message"], row["federate"])
        got[delivery] = got.get(delivery, 0) + 1
    found = {("duplicate", *key) for key, times in got.items() if times > 1}
    found |= {("unsent", *key) for key in got if key[:2] not in sent}
    for (source, message), row in sent.items():
        key = (source, message)
        for federate in row["destinations"]:
            due = row["order"] != "TSO" or row["time_int"] < granted.get(federate, -1)
            if (*key, federate) not in got and due and not unwanted_by_then(rows, row, federate, any_change):
                found.add(("lost", *key, federate))
    return found


def unwanted_by_then(rows: list[Row], sent: Row, federate: int, any_change: bool) -> bool:
    """At another node: did it not want the message for a moment while that was under way?

    `any_change`: it is enough that it moved its regions or took back its subscription, whatever came of it.
    Where commands are numbered it counts only once it has arrived there, which no row here says.
    """
    if sent["command"] is not None and not any_change:
        return False
    changes = [
        row
        for row in of_kind(rows, "region", "declare")
        if sent["epoch_ns"] <= row["epoch_ns"] <= sent["epoch_ns"] + GRACE
        and row["federate"] == federate
        and row["node"] != sent["node"]
    ]
    if not any_change:
        return any(not wanted_at(rows, federate, sent, row["epoch_ns"]) for row in changes)
    for row in changes:
        if row["kind"] == "region" and sent["dimensions"]:
            return True
        if row["kind"] == "declare" and row["service"].startswith("un"):
            if sent["class"] == row["class"] or sent["class"].startswith(row["class"] + "."):
                return True
    return False


def misdirected(rows: list[Row]) -> set[Key]:
    """(what, source, message, federate): missed, extra."""
    nodes = {row["federate"]: row["node"] for row in rows}
    got = {(r["source"], r["message"], r["federate"]) for r in of_kind(rows, "deliver")}
    found = set()
    for row in of_kind(rows, "send"):
        for federate in nodes:
            key = (row["source"], row["message"], federate)
            if federate == row["source"]:
                continue
            grace = TIE if nodes[federate] == row["node"] else GRACE
            answers = {
                wanted_at(rows, federate, row, at) for at in moments(rows, federate, row["epoch_ns"], grace)
            }
            if row["command"] is not None:
                answers = {wanted_at(rows, federate, row, row["command"], "command")}
            addressed = federate in row["destinations"]
            if answers == {True} and not addressed and key not in got:
                found.add(("missed", *key))
            if answers == {False} and key in got:
                found.add(("extra", *key))
    return found


def moments(rows: list[Row], federate: int, wall: int, grace: int) -> list[int]:
    """All that may differ in [wall - grace, wall + grace): its beginning, and each change within."""
    changes = [row["epoch_ns"] for row in of_kind(rows, "declare", "region") if row["federate"] == federate]
    return [wall - grace] + [at for at in changes if wall - grace < at < wall + grace]


def wanted_at(rows: list[Row], federate: int, message: Row, at: int, column: str = "epoch_ns") -> bool:
    wishes: set[Key] = set()
    boxes: dict[int, Key] = {}
    for row in in_log_order(of_kind(rows, "declare", "region")):
        if row["federate"] != federate or row[column] > at:
            continue
        if row["kind"] == "region":
            boxes[row["region"]] = (row["lower"], row["upper"])
            continue
        for item in row["items"] or [""]:
            key = (row["class"], item, row["region"])
            (wishes.discard if row["service"].startswith("un") else wishes.add)(key)
    for class_name, item, region in wishes:
        if message["class"] != class_name and not message["class"].startswith(class_name + "."):
            continue
        if item and item not in (message["items"] or ()):
            continue
        if region is None or not message["lower"]:
            return True
        sides = zip(*boxes[region], message["lower"], message["upper"], strict=True)
        if all(low < upper and up > lower for lower, upper, low, up in sides):
            return True
    return False


def missed_deadlines(rows: list[Row]) -> set[Key]:
    """(node, name, seq) of what ended late."""
    return {
        (row["node"], row["name"], row["seq"])
        for row in of_kind(rows, "done")
        if row["deadline_ns"] and row["mono_ns"] > row["deadline_ns"]
    }
