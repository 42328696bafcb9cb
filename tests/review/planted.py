"""Faults planted in really recorded runs: what is changed in the rows or files, and what a review must then say, and no more.

A damage takes the rows of a run (a list for each file, as dicts) or its folder, and says what is to be found: audit, what, and
whose fault it is.  A fault in the rows is one that an RTI could make, so rows are numbered again as it would have written them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from support.manifests import list_anew
from weft.host.recording.files import arrow_schema
from weft.host.recording.manifest import FOLDER

Row = dict[str, Any]
Found = set[tuple[str, str, int]]
"""Audit, what, and the federate whose fault it is."""
BLAMED = {"below promise": "source", "sent twice": "source", "late": "federate"}
SECOND = 1_000_000_000


class NoPlace(Exception):
    """The run has no place for this fault."""


class Rows:
    """The rows of a run, node by node in order; each remembers its file."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.meta: dict[Path, Any] = {}
        self.nodes: dict[str, list[Row]] = {}
        for path in sorted((run / "rows").glob("*/*.parquet")):
            table = read(path)
            self.meta[path] = table.schema.metadata
            node = path.parent.name.removeprefix("node=")
            for row in table.to_pylist():
                self.nodes.setdefault(node, []).append(row | {"node": node, "_file": path})
        self.messages: dict[tuple[int, int], list[Row]] = {}
        for row in self.all():
            self.messages.setdefault((row["source"], row["message"]), []).append(row)
        self.time = "time_float" if any(r["time_float"] is not None for r in self.all()) else "time_int"
        self.look = self.time.replace("time", "lookahead")
        self.home = {r["federate"]: r["node"] for r in self.all("join")}

    def all(self, *kinds: str, **wanted: Any) -> list[Row]:
        return [
            row
            for rows in self.nodes.values()
            for row in rows
            if (not kinds or row["kind"] in kinds)
            and all(row[name] == value for name, value in wanted.items())
        ]

    def of(self, row: Row, *kinds: str, **wanted: Any) -> list[Row]:
        """Rows of the same message."""
        return [
            other
            for other in self.messages[row["source"], row["message"]]
            if (not kinds or other["kind"] in kinds)
            and all(other[name] == value for name, value in wanted.items())
        ]

    def send(self, row: Row) -> Row:
        return self.of(row, "send")[0]

    def place(self, row: Row) -> tuple[list[Row], int]:
        rows = self.nodes[row["node"]]
        return rows, next(place for place, other in enumerate(rows) if other is row)

    def remove(self, *gone: Row) -> None:
        for row in gone:
            for rows in (self.nodes[row["node"]], self.messages[row["source"], row["message"]]):
                del rows[next(place for place, other in enumerate(rows) if other is row)]

    def insert(self, behind: Row, row: Row) -> Row:
        """As the next thing that happens at that node."""
        rows, place = self.place(behind)
        made = row | {name: behind[name] for name in ("node", "_file", "epoch_ns", "mono_ns", "command")}
        rows.insert(place + 1, made)
        self.messages.setdefault((made["source"], made["message"]), []).append(made)
        return made

    def move(self, row: Row, behind: Row) -> None:
        self.remove(row)
        self.insert(behind, row)

    def command(self, at: int) -> int:
        """All nodes carry out one more command at that time of their clocks; its number, those of later ones grow."""
        number: int = 1 + self.latest(at)
        for row in self.all():
            is_next = row["command"] == number - 1 and row["mono_ns"] >= at
            row["command"] += is_next or row["command"] >= number
        return number

    def latest(self, at: int) -> int:
        """The number of the last command before that time."""
        acts = [row for node in self.nodes for row in self.acts(node) if row["mono_ns"] < at]
        return max(int(row["command"]) for row in acts)

    def acts(self, node: str) -> list[Row]:
        """What federates did; the node's own rows go by another clock where time is virtual."""
        return [row for row in self.nodes[node] if row["kind"] not in ("start", "stop")]

    def change(self, like: Row, at: int, **more: Any) -> None:
        """Its federate changes what it wants at that time."""
        number = self.command(at)
        behind = [row for row in self.acts(like["node"]) if row["mono_ns"] < at][-1]
        made = self.insert(behind, like | more)
        made |= {"mono_ns": at, "epoch_ns": behind["epoch_ns"] + at - behind["mono_ns"], "command": number}

    def write(self) -> None:
        schema = arrow_schema()
        for node, rows in self.nodes.items():
            for number, row in enumerate(rows, 1):
                row["seq"] = number
            told = self.run / "nodes" / f"{node}.json"
            told.write_text(json.dumps(json.loads(told.read_text()) | {"rows": len(rows)}))
            for path in self.meta:
                if path.parent.name == f"node={node}":
                    mine = [
                        {k: v for k, v in row.items() if k not in ("node", "_file")}
                        for row in rows
                        if row["_file"] == path
                    ]
                    table = pa.Table.from_pylist(mine, schema=schema.with_metadata(self.meta[path]))
                    pq.write_table(table, path)
        relist(self.run)


def relist(run: Path) -> None:
    """What an RTI or a machine does wrong is recorded as it is: the files are as they were written."""
    if (run / FOLDER).is_dir():
        list_anew(run)


def read(path: Path) -> Any:
    """A file, with what it says of itself."""
    said = pq.read_metadata(path).metadata
    own = {key: value for key, value in said.items() if key.startswith(b"weft.")}
    return pq.read_table(path, partitioning=None).replace_schema_metadata(own)


class Damage(NamedTuple):
    name: str
    do: Callable[[Rows], Found]


DAMAGES: list[Damage] = []


def damage(do: Callable[[Rows], Found]) -> Callable[[Rows], Found]:
    DAMAGES.append(Damage(do.__name__.replace("_", " "), do))
    return do


def first(rows: Iterator[Row] | list[Row]) -> Row:
    found = next(iter(rows), None)
    if found is None:
        raise NoPlace
    return found


# --- deliveries -----------------------------------------------------------------------------------------------------


def delivered(rows: Rows, order: str, away: bool = True, **wanted: Any) -> Iterator[Row]:
    """First deliveries of reliable messages in that order, `away`: sent at another node; the last ones first."""
    for row in reversed(rows.all("deliver", transport="reliable", **wanted)):
        if row["source"] and len(rows.of(row, "deliver", federate=row["federate"])) == 1:
            send = rows.of(row, "send")
            if send and send[0]["order"] == order and send[0]["transport"] == "reliable":
                if (send[0]["node"] != row["node"]) == away:
                    yield row


def lose(rows: Rows, row: Row) -> None:
    rows.remove(row, *rows.of(row, "release", federate=row["federate"]))


@damage
def lost_in_receive_order(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "RO") if "interaction" in r["service"])
    lose(rows, row)
    return {("delivery", "lost", row["federate"])}


@damage
def lost_at_the_sender_s_own_node(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "RO", away=False))
    lose(rows, row)
    return {("delivery", "lost", row["federate"])}


@damage
def lost_in_causal_order_by_one_who_resigns(rows: Rows) -> Found:
    row = first(delivered(rows, "CO"))
    lose(rows, row)
    return {("delivery", "lost", row["federate"])}


@damage
def lost_in_total_order_by_one_who_resigns(rows: Rows) -> Found:
    row = first(delivered(rows, "CT"))
    lose(rows, row)
    return {("delivery", "lost", row["federate"])}


@damage
def lost_on_its_way(rows: Rows) -> Found:
    """Nothing of it reached the node, and a later one of the same sender did."""
    for row in delivered(rows, "CO"):
        alone = len(rows.of(row, "deliver", node=row["node"])) == 1
        later = [
            r
            for r in delivered(rows, "CO", federate=row["federate"], source=row["source"])
            if r["message"] > row["message"]
        ]
        if alone and later:
            rows.remove(*rows.of(row, node=row["node"]))
            return {("delivery", "lost", row["federate"])}
    raise NoPlace


@damage
def lost_in_time_stamp_order(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "TSO") if r["order"] == "TSO" and not_the_grants(rows, r))
    lose(rows, row)
    return {("delivery", "lost", row["federate"]), ("time", "lost", row["federate"])}


def not_the_grants(rows: Rows, row: Row) -> bool:
    """Is the federate granted something beyond it by Time Advance Request?"""
    request, grant = around(rows, row)
    return (
        request["service"] == "time_advance_request"
        and grant is not None
        and grant[rows.time] > row[rows.time]
    )


def around(rows: Rows, row: Row) -> tuple[Row, Row | None]:
    """The request before a row, and the grant behind it."""
    mine, place = rows.place(row)
    asked = [
        r
        for r in mine[:place]
        if r["federate"] == row["federate"] and r["kind"] == "request" and r[rows.time] is not None
    ]
    granted = [r for r in mine[place:] if r["federate"] == row["federate"] and r["kind"] == "grant"]
    return asked[-1], granted[0] if granted else None


@damage
def lost_though_its_receiver_moved_to_where_it_still_wants_it(rows: Rows) -> Found:
    """A change of a region within a second excuses nothing if the message is wanted before and after it."""
    regions = {r["region"] for r in rows.all("declare") if r["region"]}
    for row in delivered(rows, "RO"):
        send = rows.send(row)
        mine = [
            r for r in rows.all("region", federate=row["federate"]) if r["region"] in regions and r["lower"]
        ]
        mine = [r for r in mine if r["epoch_ns"] < send["epoch_ns"] - 2 * SECOND]
        if send["lower"] and mine and "reflect" in row["service"]:
            (arrival,) = rows.of(row, "arrive", node=row["node"])
            before, _ = rows.place(arrival)
            rows.insert(before[rows.place(arrival)[1] - 1], mine[-1] | {"lower": [0], "upper": [16]})
            lose(rows, row)
            back = rows.insert(arrival, dict(mine[-1]))
            back["epoch_ns"] += 5000
            return {("delivery", "lost", row["federate"])}
    raise NoPlace


@damage
def delivered_twice(rows: Rows) -> Found:
    row = first(delivered(rows, "RO"))
    rows.insert(row, dict(row))
    return {("delivery", "duplicate", row["federate"])}


@damage
def delivered_twice_in_time_stamp_order(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "TSO") if r["order"] == "TSO")
    rows.insert(row, dict(row))
    return {("delivery", "duplicate", row["federate"])}


@damage
def delivered_and_never_sent(rows: Rows) -> Found:
    row = first(delivered(rows, "RO"))
    rows.insert(row, row | {"message": 999_999})
    return {("delivery", "unsent", row["federate"])}


@damage
def one_number_for_two_messages(rows: Rows) -> Found:
    row = rows.send(first(delivered(rows, "RO")))
    rows.insert(row, dict(row))
    return {("delivery", "sent twice", row["source"])}


@damage
def one_number_for_two_messages_to_nobody(rows: Rows) -> Found:
    row = first(r for r in reversed(rows.all("send", order="RO", service="send_interaction")) if r["source"])
    unheard = {
        "destinations": [],
        "class": "HLAinteractionRoot.Unheard",
        "items": [],
        "message": row["message"] + 100_000,
    }
    rows.insert(row, row | unheard)
    rows.insert(row, row | unheard)
    return {("delivery", "sent twice", row["source"])}


@damage
def delivered_after_resignation(rows: Rows) -> Found:
    gone = rows.all("resign")[0]
    row = first(r for r in delivered(rows, "RO", federate=gone["federate"]))
    rows.move(row, gone)
    return {("time", "after resignation", gone["federate"])}


# --- logical time ---------------------------------------------------------------------------------------------------


@damage
def another_time_than_it_was_sent_with(rows: Rows) -> Found:
    """To one who is not constrained, so that no order is broken."""
    row = first(r for r in delivered(rows, "TSO") if r["order"] == "RO" and r[rows.time] is not None)
    row[rows.time] += 1
    return {("time", "other time", row["federate"])}


@damage
def another_time_within_the_order(rows: Rows) -> Found:
    for row in delivered(rows, "TSO"):
        if row["order"] == "TSO" and not_the_grants(rows, row):
            _, grant = around(rows, row)
            mine, place = rows.place(row)
            between = [
                r
                for r in mine[place + 1 : rows.place(grant or row)[1]]
                if r["federate"] == row["federate"] and r["kind"] == "deliver" and r["order"] == "TSO"
            ]
            if not between and grant is not None:
                row[rows.time] = grant[rows.time]
                return {("time", "other time", row["federate"])}
    raise NoPlace


@damage
def against_time_stamp_order(rows: Rows) -> Found:
    for row in rows.all("deliver", order="TSO"):
        mine, place = rows.place(row)
        later = [
            r
            for r in mine[place + 1 :]
            if r["federate"] == row["federate"] and r["kind"] in ("deliver", "grant")
        ]
        if (
            later
            and later[0]["kind"] == "deliver"
            and later[0]["order"] == "TSO"
            and later[0][rows.time] > row[rows.time]
        ):
            if around(rows, row)[0]["service"] == "time_advance_request":
                rows.move(row, later[0])
                return {("time", "decreasing", row["federate"])}
    raise NoPlace


@damage
def after_a_grant_beyond_it(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "TSO") if r["order"] == "TSO" and not_the_grants(rows, r))
    _, grant = around(rows, row)
    assert grant is not None
    rows.move(row, grant)
    return {("time", "past", row["federate"])}


@damage
def beyond_what_was_asked_for(rows: Rows) -> Found:
    """The first message after a request comes before it, when less was asked for."""
    for row in rows.all("deliver", order="TSO"):
        mine, place = rows.place(row)
        request, _ = around(rows, row)
        before = [
            r
            for r in mine[: rows.place(request)[1]]
            if r["federate"] == row["federate"]
            and r["kind"] == "grant"
            and r["service"] == "time_advance_grant"
        ]
        behind = [
            r
            for r in mine[rows.place(request)[1] : place]
            if r["federate"] == row["federate"] and r["kind"] == "deliver" and r["order"] == "TSO"
        ]
        if (
            before
            and not behind
            and request["service"].startswith("time_advance")
            and before[-1][rows.time] < row[rows.time]
        ):
            earlier, _ = around(rows, before[-1])
            if earlier["service"].startswith("time_advance"):
                rows.move(row, mine[rows.place(before[-1])[1] - 1])
                return {("time", "beyond request", row["federate"])}
    raise NoPlace


def granted(
    rows: Rows, service: str = "time_advance_request", constrained: bool = True
) -> Iterator[tuple[Row, Row]]:
    """Requests and their grants, the last ones first."""
    bound = {r["federate"] for r in rows.all("grant", service="time_constrained_enabled")}
    for grant in reversed(rows.all("grant", service="time_advance_grant")):
        request, _ = around(rows, grant)
        if request["service"] == service and (grant["federate"] in bound) == constrained:
            yield request, grant


def grants_before(rows: Rows, grant: Row) -> list[Row]:
    mine, place = rows.place(grant)
    return [r for r in mine[:place] if r["kind"] == "grant" and r["federate"] == grant["federate"]]


@damage
def granted_less_than_asked_for(rows: Rows) -> Found:
    for request, grant in granted(rows, constrained=False):
        before = grants_before(rows, grant)
        if before and request[rows.time] > before[-1][rows.time]:
            grant_instead(rows, grant, before[-1][rows.time])
            return {("time", "grant not as requested", grant["federate"])}
    raise NoPlace


@damage
def granted_more_than_asked_for(rows: Rows) -> Found:
    """By no more than it asks for next."""
    _, grant = first_pair(granted(rows, constrained=False))
    grant_instead(rows, grant, grant[rows.time] + (1 if rows.time == "time_int" else 0.5))
    return {("time", "grant not as requested", grant["federate"])}


def grant_instead(rows: Rows, grant: Row, time: Any) -> None:
    """What it promises stays, or it sent below that, or others were granted too much."""
    if grant[rows.look] is not None:
        grant[rows.look] += grant[rows.time] - time
    grant[rows.time] = time


def first_pair(pairs: Iterator[tuple[Row, Row]]) -> tuple[Row, Row]:
    found = next(pairs, None)
    if found is None:
        raise NoPlace
    return found


@damage
def granted_without_asking(rows: Rows) -> Found:
    _, grant = first_pair(granted(rows, constrained=False))
    rows.insert(grant, dict(grant))
    return {("time", "grant not as requested", grant["federate"])}


@damage
def a_grant_that_goes_back(rows: Rows) -> Found:
    _, grant = first_pair(granted(rows, constrained=False))
    grant_instead(rows, grant, grants_before(rows, grant)[-1][rows.time] - 1)
    return {("time", "grant goes back", grant["federate"])}


@damage
def a_grant_above_the_lbts(rows: Rows) -> Found:
    return promised_less(rows, 0)


@damage
def a_grant_above_the_lbts_after_somebody_else_resigned(rows: Rows) -> Found:
    """That one has left excuses no grant above what another promises."""
    gone = {r["federate"] for r in rows.all("grant", service="time_regulation_enabled")}
    resigned = first(r for r in rows.all("resign") if r["federate"] in gone)
    return promised_less(rows, resigned["command"])


@damage
def a_grant_above_what_somebody_promised_who_resigns_later(rows: Rows) -> Found:
    """Its node grants more by the clock after that, and has not carried the resignation out."""
    bound = {r["federate"] for r in rows.all("grant", service="time_constrained_enabled")}
    for gone in rows.all("resign"):
        told = [
            r
            for r in rows.all("request", "grant", "call", federate=gone["federate"])
            if r[rows.time] is not None or r["service"] in ("modify_lookahead", "disable_time_regulation")
        ]
        last = max(told, key=lambda row: row["seq"], default=gone)
        if last[rows.look] is None or last[rows.time] is None:
            continue
        early = [
            r
            for r in rows.all("grant")
            if r["epoch_ns"] > gone["epoch_ns"]
            and r["service"] in ("time_advance_grant", "flush_queue_grant")
            and r["federate"] in bound
            and r[rows.time] > last[rows.time] + last[rows.look]
        ]
        if early:
            gone["command"] = 2 + max(r["command"] for r in early)
            return {("time", "grant above LBTS", r["federate"]) for r in early}
    raise NoPlace


@damage
def a_grant_above_what_somebody_promised_who_resigns_at_once(rows: Rows) -> Found:
    """By the next command, within a second: but the grant is one of the home, or the home did something else before that."""
    bound = {r["federate"] for r in rows.all("grant", service="time_constrained_enabled")}
    home = json.loads((rows.run / "run.json").read_text())["home"]
    for gone in rows.all("resign"):
        own = [r for r in rows.all("request", "grant", federate=gone["federate"]) if r[rows.time] is not None]
        *_, before, request, grant = sorted(own, key=lambda row: row["seq"])
        early = [
            r
            for r in rows.all("grant", service="time_advance_grant")
            if r["epoch_ns"] >= request["epoch_ns"]
            and r["command"] < gone["command"]
            and r["federate"] in bound - {gone["federate"]}
            and r[rows.time] > before[rows.time]
        ]
        last = max(r["epoch_ns"] for r in rows.acts(home) if r["command"] < gone["command"])
        sure = {r["federate"] for r in early if r["node"] == home or r["epoch_ns"] < last}
        at_once = gone["epoch_ns"] - request["epoch_ns"] < SECOND
        if sure and at_once and all(r["command"] == gone["command"] - 1 for r in early):
            for row in (request, grant):
                row[rows.look] = before[rows.time] - row[rows.time]
            return {("time", "grant above LBTS", who) for who in sure}
    raise NoPlace


def granted_too_much_at_one_node(rows: Rows, ends: bool) -> Found:
    """While somebody there promises less than it seemed; `ends`: just after it, that one regulates no more.

    Grants at other nodes may rest on what it promises next, if clocks differ by a second.
    """
    bound = {r["federate"] for r in rows.all("grant", service="time_constrained_enabled")}
    grants = [r for r in rows.all("grant", service="time_advance_grant") if r["federate"] in bound]
    for row in rows.all("request", "grant"):
        mine, place = rows.place(row)
        own = [r for r in mine[place + 1 :] if r["federate"] == row["federate"] and r[rows.time] is not None]
        own = [r for r in own if r["kind"] in ("request", "grant")]
        if row[rows.look] is None or row[rows.time] is None or not own:
            continue
        begin, end = row["epoch_ns"], own[0]["epoch_ns"]
        others = [
            r for r in grants if begin - SECOND <= r["epoch_ns"] < end and r["federate"] != row["federate"]
        ]
        here = [r for r in others if r["node"] == row["node"] and r["epoch_ns"] > begin]
        least = min((r[rows.time] for r in here), default=0) - 1
        excused = all(
            end <= r["epoch_ns"] + SECOND and own[0]["command"] <= r["command"] + 1
            for r in others
            if r[rows.time] > least and r["node"] != row["node"]
        )
        if here and excused and end - here[-1]["epoch_ns"] < SECOND:
            row[rows.look] = least - row[rows.time]
            if ends:
                service = {"kind": "call", "service": "disable_time_regulation", "federate": row["federate"]}
                rows.insert(here[-1], dict.fromkeys(row) | service)["epoch_ns"] += 1
            return {("time", "grant above LBTS", r["federate"]) for r in here}
    raise NoPlace


def promised_less(rows: Rows, since: int) -> Found:
    """Somebody promised less than it seemed: whoever was granted more meanwhile had it too early.  `since`: a command."""
    bound = {r["federate"] for r in rows.all("grant", service="time_constrained_enabled")}
    for row in rows.all("request", "grant"):
        if row[rows.look] is None or row[rows.time] is None or row["command"] < since:
            continue
        own = [
            r
            for r in rows.all("request", "grant", "resign", federate=row["federate"])
            if r["epoch_ns"] > row["epoch_ns"]
        ]
        until = min((r["epoch_ns"] for r in own), default=0)
        early = {
            r["federate"] for r in rows.all("grant")
            if row["epoch_ns"] < r["epoch_ns"] < until and r["service"] in ("time_advance_grant", "flush_queue_grant")
            and r["federate"] in bound - {row["federate"]} and r[rows.time] > row[rows.time]
        }  # fmt: skip
        if early:
            row[rows.look] *= 0
            return {("time", "grant above LBTS", who) for who in early}
    raise NoPlace


@damage
def a_time_stamp_below_the_sender_s_promise(rows: Rows) -> Found:
    """It had promised more than it kept."""
    for send in rows.all("send", order="TSO"):
        mine, place = rows.place(send)
        told = [
            r
            for r in mine[:place]
            if r["federate"] == send["source"]
            and r["kind"] in ("request", "grant")
            and r[rows.look] is not None
        ]
        if told and told[-1]["kind"] == "grant":
            told[-1][rows.look] += 1000
            return {("time", "below promise", send["source"])}
    raise NoPlace


# --- interest -------------------------------------------------------------------------------------------------------


def stranger(rows: Rows, send: Row) -> int | None:
    """Somebody who never subscribed to the class of an interaction, nor to one above, and was there all the time."""
    wanted = {
        r["federate"] for r in rows.all("declare")
        if "subscribe" in r["service"] and r["class"] and (send["class"] + ".").startswith(r["class"] + ".")
    }  # fmt: skip
    left = {r["federate"]: r["epoch_ns"] for r in rows.all("resign")}
    came = {r["federate"]: r["epoch_ns"] for r in rows.all("join")}
    fit = [
        f
        for f in rows.home
        if f not in wanted
        and f != send["source"]
        and came[f] < send["epoch_ns"] - 5 * SECOND
        and send["epoch_ns"] < left[f] - 5 * SECOND
    ]
    return fit[0] if fit else None


def deliver_to(rows: Rows, send: Row, who: int) -> None:
    node = rows.home[who]
    own = [r for r in rows.nodes[node] if r["kind"] not in ("start", "stop")]
    behind = [r for r in own if r["epoch_ns"] <= send["epoch_ns"] + 10_000_000][-1]
    names = ("source", "message", "class", "items", "object", "transport")
    empty = dict.fromkeys(send)
    rows.insert(
        behind,
        empty
        | {"kind": "deliver", "federate": who, "order": "RO", "service": "receive_interaction"}
        | {n: send[n] for n in names},
    )


@damage
def addressed_and_delivered_to_one_who_did_not_subscribe(rows: Rows) -> Found:
    for send in rows.all("send", order="RO", service="send_interaction"):
        who = stranger(rows, send)
        if who is not None:
            send["destinations"] = sorted([*send["destinations"], who])
            deliver_to(rows, send, who)
            return {("interest", "extra", who)}
    raise NoPlace


@damage
def delivered_to_one_who_was_not_addressed(rows: Rows) -> Found:
    for send in rows.all("send", order="RO", service="send_interaction"):
        who = stranger(rows, send)
        if who is not None:
            deliver_to(rows, send, who)
            return {("interest", "extra", who)}
    raise NoPlace


@damage
def not_addressed_though_subscribed(rows: Rows) -> Found:
    """Well after its subscription, and before it changes again."""
    for row in delivered(rows, "RO"):
        send = rows.send(row)
        near = [
            r
            for r in rows.all("declare", "region", "join", "resign", federate=row["federate"])
            if abs(r["epoch_ns"] - send["epoch_ns"]) < 3 * SECOND
        ]
        if not near and "interaction" in row["service"]:
            send["destinations"] = [f for f in send["destinations"] if f != row["federate"]]
            rows.remove(row)
            return {("interest", "missed", row["federate"])}
    raise NoPlace


MOMENT = 10_000_000  # ns


def subscription(rows: Rows, row: Row) -> Row | None:
    """By which an interaction was delivered, if it was the federate's only one for that, and the last change of it."""
    sent = rows.send(row)["class"] + "."
    mine = [
        r
        for r in rows.all("declare", federate=row["federate"])
        if "subscribe" in r["service"] and r["class"] and sent.startswith(r["class"] + ".")
    ]
    return mine[0] if [r["service"] for r in mine] == ["subscribe_interaction_class"] else None


def overtaken(rows: Rows) -> Iterator[Row]:
    """Deliveries in receive order behind which another of the same source came."""
    for row in delivered(rows, "RO"):
        later = rows.all("deliver", federate=row["federate"], source=row["source"], order="RO")
        if any(r["message"] > row["message"] and rows.send(r)["order"] == "RO" for r in later):
            yield row


def wavering(rows: Rows, later: int = -MOMENT) -> Row:
    """A delivery, the only one at its node, whose receiver unsubscribed and subscribed again, so much after it was sent."""
    for row in overtaken(rows):
        if len(rows.of(row, "deliver", node=row["node"])) > 1:
            continue
        send, told = rows.send(row), subscription(rows, row)
        at = send["mono_ns"] + later
        early = told is not None and told["mono_ns"] < at - 2 * SECOND
        if told is not None and early and (later > 0 or send["command"] >= rows.latest(at)):
            rows.change(told, at, service="unsubscribe_interaction_class")
            rows.change(told, at + 1)
            return row
    raise NoPlace


def moving(rows: Rows) -> Row:
    """The same for a region, which was elsewhere for a moment."""
    regions = {r["region"] for r in rows.all("declare") if r["region"]}
    for row in overtaken(rows):
        send = rows.send(row)
        at = send["mono_ns"] - MOMENT
        moves = rows.all("region", service="commit_region_modifications", federate=row["federate"])
        mine = [r for r in moves if r["region"] in regions and r["mono_ns"] < at]
        moved = any(at <= r["mono_ns"] <= row["mono_ns"] for r in moves)
        if send["lower"] and mine and not moved and send["command"] >= rows.latest(at):
            low = 0 if send["lower"][0] > 1 else send["upper"][0]
            rows.change(mine[-1], at, lower=[low], upper=[low + 1])
            rows.change(mine[-1], at + 1)
            return row
    raise NoPlace


def miss(rows: Rows, row: Row) -> Found:
    send = rows.send(row)
    send["destinations"] = [f for f in send["destinations"] if f != row["federate"]]
    alone = len(rows.of(row, "deliver", node=row["node"])) == 1
    rows.remove(*(rows.of(row, node=row["node"]) if alone else [row]))
    return {("interest", "missed", row["federate"])}


@damage
def not_addressed_just_after_its_receiver_subscribed_again(rows: Rows) -> Found:
    return miss(rows, wavering(rows))


@damage
def not_addressed_just_after_its_receiver_s_region_was_back(rows: Rows) -> Found:
    return miss(rows, moving(rows))


@damage
def lost_on_its_way_while_its_receiver_subscribed_again(rows: Rows) -> Found:
    row = wavering(rows, MOMENT)
    rows.remove(*rows.of(row, node=row["node"]))
    return {("delivery", "lost", row["federate"])}


@damage
def addressed_and_delivered_just_after_its_receiver_unsubscribed(rows: Rows) -> Found:
    for row in delivered(rows, "RO"):
        send, told = rows.send(row), subscription(rows, row)
        at, end = send["mono_ns"] - MOMENT, row["mono_ns"] + 1
        if told is None or send["command"] < rows.latest(at):
            continue
        others = [
            r
            for r in rows.all("send")
            if row["federate"] in r["destinations"] and r["class"].startswith(told["class"])
        ]
        if not any(r is not send and at - SECOND <= r["mono_ns"] <= end for r in others):
            rows.change(told, at, service="unsubscribe_interaction_class")
            rows.change(told, end)
            return {("interest", "extra", row["federate"])}
    raise NoPlace


@damage
def an_attribute_is_missing(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "RO") if len(r["items"]) > 1 and "reflect" in r["service"])
    row["items"] = row["items"][1:]
    return {("interest", "items missing", row["federate"])}


@damage
def an_attribute_too_much(rows: Rows) -> Found:
    row = first(r for r in delivered(rows, "RO") if "reflect" in r["service"])
    row["items"] = [*row["items"], "Armour"]
    return {("interest", "items extra", row["federate"])}


@damage
def a_parameter_is_missing(rows: Rows) -> Found:
    row = first(
        r
        for r in delivered(rows, "RO")
        if r["items"] and "interaction" in r["service"] and rows.send(r)["class"] == r["class"]
    )
    row["items"] = []
    return {("interest", "items missing", row["federate"])}


@damage
def another_class_than_the_most_specific_subscribed_one(rows: Rows) -> Found:
    row = first(
        r
        for r in reversed(rows.all("deliver", service="receive_interaction"))
        if r["class"].endswith("Event.Fire")
    )
    row["class"] = row["class"].removesuffix(".Fire")
    return {("interest", "other class", row["federate"])}


# --- causal order ---------------------------------------------------------------------------------------------------


def turned(rows: Rows, order: str) -> Found:
    """Two messages of one sender, of which the later is released first."""
    for row in rows.all("release", order=order):
        mine, place = rows.place(row)
        later = [
            r
            for r in mine[place + 1 :]
            if r["kind"] == "release"
            and r["order"] == order
            and r["federate"] == row["federate"]
            and r["source"] == row["source"]
        ]
        if later:
            rows.move(row, later[0])
            return {("causal", "late", row["federate"])}
    raise NoPlace


@damage
def late_in_causal_order(rows: Rows) -> Found:
    return turned(rows, "CO")


@damage
def late_in_total_order(rows: Rows) -> Found:
    return turned(rows, "CT")


# --- files ----------------------------------------------------------------------------------------------------------


class BadFile(NamedTuple):
    """`status`, and what a note must name; `unsure`: whether findings may be."""

    name: str
    do: Callable[[Path], str]
    status: str


FILES: list[BadFile] = []


def bad_file(status: str) -> Callable[[Callable[[Path], str]], Callable[[Path], str]]:
    def keep(do: Callable[[Path], str]) -> Callable[[Path], str]:
        FILES.append(BadFile(do.__name__.replace("_", " "), do, status))
        return do

    return keep


def files_of(run: Path, node: int = 1) -> list[Path]:
    folder = sorted((run / "rows").iterdir())[node]
    return sorted(folder.glob("*.parquet"))


def numbered(path: Path, number: int) -> Path:
    """The name its recorder would give the file of that number."""
    return path.with_name(f"{path.stem.rpartition('-')[0]}-{number:06}.parquet")


def node_of(run: Path, node: int = 1) -> Path:
    return sorted((run / "nodes").glob("*.json"))[node]


def rows_missing(path: Path) -> str:
    """As a note names them."""
    seq = read(path)["seq"].to_pylist()
    return f"rows {seq[0]} to {seq[-1]} of node {path.parent.name.removeprefix('node=')!r} are missing"


@bad_file("inconclusive")
def a_file_is_missing(run: Path) -> str:
    gone = files_of(run)[2]
    named = rows_missing(gone)
    gone.unlink()
    return named


@bad_file("inconclusive")
def the_first_file_is_missing(run: Path) -> str:
    gone = files_of(run)[0]
    named = rows_missing(gone)
    gone.unlink()
    return named


@bad_file("inconclusive")
def the_last_files_are_missing(run: Path) -> str:
    for gone in files_of(run)[-2:]:
        gone.unlink()
    return str(gone.parent)


@bad_file("inconclusive")
def a_file_is_torn(run: Path) -> str:
    path = files_of(run)[2]
    path.write_bytes(path.read_bytes()[:-100])
    return str(path)


@bad_file("inconclusive")
def a_file_is_empty(run: Path) -> str:
    path = files_of(run)[2]
    path.write_bytes(b"")
    return str(path)


@bad_file("inconclusive")
def a_file_is_corrupt(run: Path) -> str:
    """Its end is whole."""
    path = files_of(run)[2]
    data = bytearray(path.read_bytes())
    for place in range(40, len(data) // 2, 7):
        data[place] ^= 0x5A
    path.write_bytes(bytes(data))
    return str(path)


@bad_file("inconclusive")
def a_file_of_something_else(run: Path) -> str:
    path = files_of(run)[2]
    pq.write_table(pa.table({"a": [1, 2]}), path)
    return str(path)


@bad_file("ok")
def a_file_is_there_twice(run: Path) -> str:
    path = files_of(run)[2]
    twin = numbered(path, 99)
    shutil.copy(path, twin)
    return str(twin)


@bad_file("ok")
def a_file_is_there_twice_under_a_name_of_its_own(run: Path) -> str:
    path = files_of(run)[2]
    twin = path.with_name(f"copy of {path.name}")
    shutil.copy(path, twin)
    return str(twin)


@bad_file("ok")
def a_file_has_the_name_of_a_later_one(run: Path) -> str:
    """Two are behind it, so that it is the one that is out of place, and not the last."""
    path = files_of(run)[-3]
    return str(path.rename(numbered(path, 99)))


@bad_file("ok")
def a_file_has_a_name_of_its_own(run: Path) -> str:
    path = files_of(run)[2]
    return str(path.rename(path.with_name("part of it.parquet")))


@bad_file("ok")
def two_files_have_each_other_s_name(run: Path) -> str:
    one, other = files_of(run)[2:4]
    draft = one.rename(one.with_name("x"))
    other.rename(one)
    draft.rename(other)
    return "has another name than its rows"


@bad_file("ok")
def a_file_is_in_the_folder_of_another_node(run: Path) -> str:
    path = files_of(run)[2]
    return str(path.rename(files_of(run, 0)[0].parent / path.name))


@bad_file("ok")
def files_without_description(run: Path) -> str:
    path = node_of(run)
    path.unlink()
    return str(path)


@bad_file("ok")
def a_description_that_cannot_be_read(run: Path) -> str:
    path = node_of(run)
    path.write_text("{")
    return str(path)


@bad_file("inconclusive")
def a_description_without_files(run: Path) -> str:
    folder = files_of(run)[0].parent
    shutil.rmtree(folder)
    return str(folder)


@bad_file("inconclusive")
def a_node_of_which_nothing_is_there(run: Path) -> str:
    name = files_of(run)[0].parent.name.removeprefix("node=")
    shutil.rmtree(files_of(run)[0].parent)
    (run / "nodes" / f"{name}.json").unlink()
    for path in (run / FOLDER).glob(f"{name}-*"):
        path.unlink()
    return f"nothing of node {name!r}"


@bad_file("ok")
def the_run_has_no_description(run: Path) -> str:
    (run / "run.json").unlink()
    return str(run / "run.json")


@bad_file("ok")
def the_description_of_the_run_is_torn(run: Path) -> str:
    (run / "run.json").write_text('{"federation": "li')
    return str(run / "run.json")


@bad_file("ok")
def a_file_that_was_never_finished(run: Path) -> str:
    path = files_of(run)[2].with_name(".draft.parquet.tmp")
    path.write_bytes(b"PAR1")
    return str(path)


def clock(run: Path, seconds: float) -> str:
    """The clock of one node's machine is wrong."""
    for path in files_of(run):
        table = read(path)
        moved = pa.array([at + int(seconds * SECOND) for at in table["epoch_ns"].to_pylist()], pa.int64())
        pq.write_table(table.set_column(table.column_names.index("epoch_ns"), "epoch_ns", moved), path)
    relist(run)
    return f"the clock of node {files_of(run)[0].parent.name.removeprefix('node=')!r} was 3.0 s"


@bad_file("ok")
def a_clock_is_three_seconds_ahead(run: Path) -> str:
    return clock(run, 3.0) + " ahead"


@bad_file("ok")
def a_clock_is_three_seconds_behind(run: Path) -> str:
    return clock(run, -3.0) + " behind"


@bad_file("inconclusive")
def nearly_all_rows_were_dropped(run: Path) -> str:
    """The disk was full: what is left of a node is its first and its last file."""
    files = files_of(run)
    rows = sum(pq.read_metadata(path).num_rows for path in files[1:-1])
    for path in files[1:-1]:
        path.unlink()
    path = node_of(run)
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"rows": told["rows"] - rows, "dropped": rows}))
    return f"{rows} rows were dropped"


@bad_file("ok")
def a_file_of_another_run(run: Path) -> str:
    path = files_of(run)[2]
    table = read(path)
    other = numbered(path, 98)
    pq.write_table(
        table.replace_schema_metadata({**table.schema.metadata, b"weft.run": b"20200101T000000Z-0"}), other
    )
    return str(other)
