"""Pictures for the pages of the console: a federation that hangs, a mesh of domains, and a crowd."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
SHOT = "HLAinteractionRoot.Fire"


def federate(node: str = "S1", **facts: Any) -> Json:
    return {
        "node": node, "type": "vehicle", "state": "joined", "regulating": True, "constrained": True, "lookahead": 5,
        "queued": 0, "bytes_in_rate": 1200.0, "bytes_out_rate": 5400.0, "calls_rate": 14.0, "callbacks_rate": 41.0,
        "last_callback": {"name": "reflectAttributeValues", "ago": 0.2}, "address": "127.0.0.1:40312", **facts,
    }  # fmt: skip


def waiting(node: str, time: int, requested: int, seconds: float, *blockers: str, **facts: Any) -> Json:
    return federate(
        node, time=time, requested=requested, asks="TAR", seconds=seconds, blocked_by=list(blockers), **facts
    )


def federates() -> Json:
    return {
        "tank": waiting("S1", 20, 30, 12.3, "radar", handle=1, queued=14, galt=25),
        "lance": waiting("S2", 22, 30, 11.8, "radar", handle=2, queued=3, galt=25),
        "observer": waiting("S3", 18, 40, 9.4, "tank", "lance", handle=3, regulating=False, type="viewer"),
        "radar": federate(
            "S2", time=20, handle=4, type="sensor", last_callback={"name": "timeAdvanceGrant", "ago": 12.6}
        ),
        "weather": federate("S3", time=60, lookahead=60, handle=5, type="environment", slow=True, backlog_bytes=1_240_000),
    }  # fmt: skip


def a_class(kind: str, publishers: str, subscribers: str, rates: tuple[float, float], **facts: Any) -> Json:
    sent, received = rates
    return {
        "kind": kind, "publishers": publishers.split(), "subscribers": subscribers.split(),
        "sent_rate": sent, "received_rate": received, **facts,
    }  # fmt: skip


def classes() -> Json:
    root = "HLAobjectRoot"
    stamped: Json = {"order": "TimeStamp"}
    return {
        root: a_class("object", "", "", (0, 0), instances=0),
        f"{root}.Vehicle": a_class("object", "", "observer", (0, 118), instances=0, **stamped),
        f"{root}.Vehicle.Tank": a_class("object", "tank lance", "radar", (118, 236), instances=42, **stamped),
        f"{root}.Vehicle.Aircraft": a_class("object", "", "radar", (0, 0), instances=0, **stamped),
        f"{root}.Cloud": a_class("object", "weather", "", (3.4, 0), instances=12, order="Receive"),
        "HLAinteractionRoot": a_class("interaction", "", "", (0, 0)),
        SHOT: a_class("interaction", "tank", "observer radar lance", (0.6, 1.8), order="CAUSAL"),
        "HLAinteractionRoot.Hit": a_class(
            "interaction", "lance tank", "observer", (0.2, 0.2), order="CAUSAL"
        ),
    }


def region(
    owner: str, x: list[int], y: list[int], *, publishes: bool = False, subscribes: bool = False
) -> Json:
    found: Json = {"owner": owner, "node": "S1", "ranges": {"X": x, "Y": y}}
    if publishes:
        found["publishes"] = ["HLAobjectRoot.Vehicle.Tank"]
    if subscribes:
        found["subscribes"] = ["HLAobjectRoot.Vehicle.Tank"]
    return found


def space() -> Json:
    return {
        "strategy": "StaticSpacePartitioned",
        "dimensions": {"X": 1000, "Y": 800, "Height": 12000},
        "cells": {"X": [250, 500, 750], "Y": [200, 400, 600]},
        "regions": {
            "tank/1": region("tank", [120, 240], [180, 300], publishes=True),
            "lance/1": region("lance", [560, 700], [420, 560], publishes=True),
            "radar/1": region("radar", [60, 420], [80, 460], subscribes=True),
            "observer/1": region("observer", [480, 940], [360, 760], subscribes=True),
            "weather/1": region("weather", [300, 620], [520, 700], publishes=True, subscribes=True),
        },
        "channels": {
            "1": carried(2210, 390, 120),
            "2": carried(320, 880, 0),
            "3": carried(1298, 12, 40),
            "7": carried(150, 10, 6),
        },
    }


def carried(wanted: int, unwanted: int, spared: int) -> Json:
    return {
        "received": wanted + unwanted, "wanted": wanted, "filtered_at_receiver": unwanted, "filtered_at_sender": spared,
        "wanted_rate": wanted / 50, "filtered_at_receiver_rate": unwanted / 50, "filtered_at_sender_rate": spared / 50,
    }  # fmt: skip


def consumers(now: float = 1000.0) -> Json:
    def recent(every: float, long: float, late: int) -> list[list[Any]]:
        count = int(9 / every)
        return [
            [now - at * every - long, now - at * every, SHOT, at % late == late - 1]
            for at in range(min(count, 100))
        ]

    def urgent(priority: int, handed: int, missed: int = 0, **facts: Any) -> Json:
        return {"priority": priority, "handed": handed, "missed": missed, **facts}

    return {
        "radar": urgent(0, 4210, queue=0, recent=recent(0.4, 0.05, 1000), classes={
            SHOT: urgent(0, 210, deadline=0.01, laxity=0.0062),
            "HLAobjectRoot.Vehicle.Tank": urgent(2, 4000, deadline=0.1, laxity=0.071),
        }),
        "lance": urgent(1, 388, 7, queue=2, recent=recent(0.7, 0.2, 5), classes={
            SHOT: urgent(1, 388, 7, deadline=0.05, laxity=-0.012),
        }),
        "observer": urgent(5, 9120, queue=31, recent=recent(0.15, 0.04, 1000), classes={
            "HLAobjectRoot.Vehicle": urgent(5, 9120),
        }),
    }  # fmt: skip


def link(up: bool = True, why: str = "", **facts: Any) -> Json:
    return {
        "up": up, "why": why, "since": 384.0, "sent": 4100, "received": 3900, "sent_rate": 61.0, "received_rate": 58.5,
        "bytes_out": 812_000, "bytes_in": 790_500, "backlog": 0, "held": 0, "stamp_bytes": 49_200, "packets": 4100, **facts,
    }  # fmt: skip


DOMAINS = {"west": ["S1", "S2", "S3"], "core": ["S3", "S4"], "east": ["S4", "S5", "S6"]}


def nodes() -> Json:
    found: Json = {}
    for name in sorted({one for members in DOMAINS.values() for one in members}):
        near = sorted({one for members in DOMAINS.values() if name in members for one in members} - {name})
        number = int(name[1:])
        found[name] = {
            "state": "up", "address": f"127.0.0.1:1516{number}", "age": 0.3,
            "server": {"sessions": number, "messages_rate": 310.5 * number, "bytes_in_rate": 4e5, "bytes_out_rate": 9e5,
                       "cpu": 0.07 * number, "resident_bytes": 61e6 + 4e6 * number, "address": f"127.0.0.1:1516{number}"},
            "fabric": {"domains": DOMAINS, "routers": ["S3", "S4"], "unreachable": {}, "stamp_bytes": 98_400 * number,
                       "links": {one: link(held=2 if one == "S4" else 0) for one in near}},
        }  # fmt: skip
    return found


def killed(name: str) -> Json:
    """A patch: a node was killed, and its neighbours have noticed."""
    why = "the connection was closed by the other side"
    near = {one for members in DOMAINS.values() if name in members for one in members} - {name}
    return {
        "nodes": {
            name: {"state": "down", "why": "no answer for 2 s from 127.0.0.1:15166", "age": 2.4},
            **{
                one: {
                    "fabric": {
                        "links": {name: {"up": False, "why": why, "sent_rate": 0, "received_rate": 0}},
                        "unreachable": {name: f"there is no link to {name}"},
                    }
                }
                for one in sorted(near)
            },
        }
    }


def a_run(name: str, federations: str, started: int, rows: int, kind: str, **review: Any) -> tuple[str, Json]:
    return name, {
        "path": f"runs/{name}", "federations": federations.split(), "started": started, "rows": rows, "bytes": 40 * rows,
        "state": kind, "review": {"state": "none", **review},
    }  # fmt: skip


def runs() -> Json:
    def report(name: str) -> str:
        return f"/runs/{name}/report.html"

    third, fourth = "2026-11-15T11-02-55", "2026-11-14T08-30-00"
    done: Json = {"state": "done"}
    going: Json = {"state": "running", "progress": 0.42, "stage": "causal order"}
    failed: Json = {"state": "failed", "error": "there is no Java"}
    return dict([
        a_run("2026-11-16T09-12-03", "Range", 1794820323, 1_204_331, "recording"),
        a_run("2026-11-15T17-40-11", "Range", 1794764411, 8_120_004, "complete", **going),
        a_run(third, "Range Harbour", 1794740575, 92_118, "complete", violations=3, report=report(third), **done),
        a_run(fourth, "Harbour", 1794645000, 812, "interrupted", violations=0, report=report(fourth), **done),
        a_run("2026-11-13T15-00-41", "Harbour", 1794582041, 51_200, "complete", **failed),
    ])  # fmt: skip


def federation(**facts: Any) -> Json:
    return {
        "home": "S1", "instances": 54, "time_type": "HLAinteger64Time",
        "federates": federates(), "classes": classes(), "consumers": consumers(), **space(),
        "synchronization": {
            "ReadyToRun": {"waits_for": ["weather"], "achieved": ["tank", "lance", "radar", "observer"]},
            "MapLoaded": {"waits_for": ["radar", "lance", "weather", "tank", "observer"], "achieved": []},
        },
        **facts,
    }  # fmt: skip


def picture(**federations: Json) -> Json:
    """A mesh of six nodes, with a federation that hangs."""
    return {
        "nodes": nodes(),
        "federations": federations or {"Range": federation()},
        "runs": runs(),
        "console": {"may_steer": True, "version": "0.1.0", "pages": 1},
    }


def empty() -> Json:
    one = {
        "state": "up",
        "address": "127.0.0.1:15164",
        "age": 0.1,
        "server": {"sessions": 0, "address": "127.0.0.1:15164"},
    }
    return {
        "nodes": {"server": one},
        "federations": {},
        "runs": {},
        "console": {"may_steer": True, "version": "0.1.0"},
    }


def crowd(number: int, time: int = 0) -> Json:
    """Many federates that all wait for one."""
    many = {f"unit{place:04}": waiting("S1", time, time + 10, 4.0, "slowest") for place in range(number - 1)}
    return federation(federates={**many, "slowest": federate("S2", time=time)}, synchronization={})
