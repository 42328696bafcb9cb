"""Small random runs, as rows: federates that subscribe, move regions, send, advance time and handle events, with nothing wrong.

Deliveries follow one order of all sends, so causal order holds; grants are conservative, so time stamp order holds;
destinations are whoever is subscribed when a message is sent.  `plant` then makes one thing wrong.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.host.recording.files import NodeFiles
from weft.recorder import COLUMNS, VERSION
from weft.review.kernels.interest import GRACE

Row = dict[str, Any]
NAMES = [column.name for column in COLUMNS]
START = 10**18
NOTE, BELOW, TICK, TANK = "R.Note", "R.Note.Below", "R.Tick", "O.Tank"
FAULTS = (
    "late",
    "loss",
    "duplicate",
    "past",
    "extra",
    "missed",
    "deadline",
    "decreasing",
    "early grant",
    "unsent",
)


class Simulation:
    """One run; `rows` are in the order of the clock."""

    def __init__(
        self, seed: int, steps: int = 120, federates: int = 4, nodes: int = 2, stamped: bool = True
    ) -> None:
        self.random = random.Random(seed)
        self.stamped = stamped
        self.nodes = [f"node {number}" for number in range(nodes)]
        self.federates = list(range(1, federates + 1))
        self.rows: list[Row] = []
        self.now = START
        self.numbers = dict.fromkeys(self.federates, 0)
        self.vectors = {f: dict.fromkeys(self.federates, 0) for f in self.federates}
        self.queues: dict[int, list[Row]] = {f: [] for f in self.federates}
        self.held: dict[int, list[Row]] = {f: [] for f in self.federates}
        self.granted = dict.fromkeys(self.federates, 0)
        self.asked: dict[int, int | None] = dict.fromkeys(self.federates)
        self.wants: set[tuple[int, str, str]] = set()
        self.wished: dict[tuple[int, int], dict[int, list[str]]] = {}
        self.boxes: dict[int, tuple[int, int] | None] = dict.fromkeys(self.federates)
        self._begin()
        for _ in range(steps):
            self._step()
        self._end()

    def node_of(self, federate: int) -> str:
        return self.nodes[federate % len(self.nodes)]

    def add(self, kind: str, federate: int, **columns: Any) -> Row:
        self.now += self.random.choice((10, 10_000, 400_000_000))
        row: Row = dict.fromkeys(NAMES)
        row |= {"kind": kind, "federate": federate, "node": self.node_of(federate), "epoch_ns": self.now}
        row |= {"mono_ns": self.now - START, **columns}
        self.rows.append(row)
        return row

    def _begin(self) -> None:
        for federate in self.federates:
            self.add("join", federate)
            for service in ("time_regulation_enabled", "time_constrained_enabled"):
                self.add("grant", federate, service=service, time_int=0, lookahead_int=2)
            for class_name in (NOTE, TICK, TANK):
                if self.random.random() < 0.7:
                    self._subscribe(federate, class_name)

    def _step(self) -> None:
        federate = self.random.choice(self.federates)
        self.random.choices(
            (self._send, self._take, self._ask, self._grant, self._redeclare, self._move, self._handle),
            (6, 8, 2, 3, 1, 1, 1),
        )[0](federate)

    def _end(self) -> None:
        for federate in self.federates:
            while self.queues[federate]:
                self._take(federate)
        for federate in self.federates:
            self.add("request", federate, service="time_advance_request", time_int=10**6, lookahead_int=2)
        for federate in self.federates:
            self._advance(federate, 10**6)

    # Declarations

    def _subscribe(self, federate: int, class_name: str) -> None:
        if class_name == TANK:
            self._move(federate)
            self.add("declare", federate, service="subscribe_object_class_attributes_with_regions", region=federate,
                     items=["A", "B"], **{"class": class_name})  # fmt: skip
            self.wants |= {(federate, class_name, "A"), (federate, class_name, "B")}
        else:
            self.add("declare", federate, service="subscribe_interaction_class", **{"class": class_name})
            self.wants.add((federate, class_name, ""))

    def _redeclare(self, federate: int) -> None:
        class_name = self.random.choice((NOTE, TANK))
        if not any(want[:2] == (federate, class_name) for want in self.wants):
            self._subscribe(federate, class_name)
        elif class_name == NOTE:
            self.add("declare", federate, service="unsubscribe_interaction_class", **{"class": class_name})
            self.wants.discard((federate, class_name, ""))
        else:
            self.add("declare", federate, service="unsubscribe_object_class_attributes_with_regions", region=federate,
                     items=["A"], **{"class": class_name})  # fmt: skip
            self.wants.discard((federate, class_name, "A"))

    def _move(self, federate: int) -> None:
        lower = self.random.randrange(0, 60)
        self.boxes[federate] = (lower, lower + 40)
        self.add("region", federate, service="commit_region_modifications", region=federate,
                 dimensions=["x"], lower=[lower], upper=[lower + 40])  # fmt: skip

    # Messages

    def _send(self, federate: int) -> None:
        class_name = self.random.choice((NOTE, BELOW, TICK, TANK))
        self.numbers[federate] += 1
        number = self.numbers[federate]
        columns: Row = {
            "source": federate,
            "message": number,
            "class": class_name,
            "transport": "reliable",
            "order": "RO",
        }
        if class_name == TANK:
            at = self.random.randrange(100)
            items = self.random.choice((["A"], ["B"], ["A", "B"]))
            columns |= {
                "items": items,
                "object": federate,
                "dimensions": ["x"],
                "lower": [at],
                "upper": [at + 5],
            }
        elif class_name == TICK:
            columns |= {"order": "TSO", "time_int": max(self.granted[federate], self.asked[federate] or 0)
                        + 2 + self.random.randrange(3)}  # fmt: skip
        else:
            columns["order"] = self.random.choice(("RO", "CO"))
        if columns["order"] == "CO" and self.stamped:
            self.vectors[federate][federate] = number
            columns |= {"vector_of": list(self.federates), "vector": list(self.vectors[federate].values())}
        to = [other for other in self.federates if other != federate and self._wants(other, columns)]
        service = "update_attribute_values" if class_name == TANK else "send_interaction"
        self.add("send", federate, service=service, destinations=to, **columns)
        self.wished[federate, number] = {
            other: [item for item in columns["items"] if (other, TANK, item) in self.wants] for other in to
        } if class_name == TANK else {}  # fmt: skip
        for other in to:
            (self.held if class_name == TICK else self.queues)[other].append(columns)

    def _wants(self, federate: int, message: Row) -> bool:
        class_name = message["class"]
        if class_name == TANK:
            box = self.boxes[federate]
            inside = box is not None and message["lower"][0] < box[1] and message["upper"][0] > box[0]
            return inside and any((federate, TANK, item) in self.wants for item in message["items"])
        return any((federate, name, "") in self.wants for name in (class_name, class_name.rpartition(".")[0]))

    def kept(self, federate: int, message: Row) -> list[str]:
        """Items that it had asked for when the message was sent."""
        return self.wished[message["source"], message["message"]][federate]

    def _take(self, federate: int) -> None:
        if self.queues[federate]:
            self._deliver(federate, self.queues[federate].pop(0))

    def _deliver(self, federate: int, message: Row) -> None:
        told = {
            name: value
            for name, value in message.items()
            if name not in ("dimensions", "lower", "upper", "object")
        }
        if message["class"] == BELOW:  # received at the class that is subscribed to
            told["class"] = NOTE
        if message["class"] == TANK:
            told["items"] = self.kept(federate, message)
        self.add("deliver", federate, **told)
        if message.get("vector"):
            mine = self.vectors[federate]
            for process, value in zip(message["vector_of"], message["vector"], strict=True):
                mine[process] = max(mine[process], value)

    # Time

    def _ask(self, federate: int) -> None:
        if self.asked[federate] is None:
            self.asked[federate] = self.granted[federate] + self.random.randrange(1, 4)
            self.add(
                "request",
                federate,
                service="time_advance_request",
                time_int=self.asked[federate],
                lookahead_int=2,
            )

    def _grant(self, federate: int) -> None:
        asked = self.asked[federate]
        others = [max(self.granted[o], self.asked[o] or 0) + 2 for o in self.federates if o != federate]
        if asked is not None and asked <= min(others):
            self._advance(federate, asked)

    def _advance(self, federate: int, time: int) -> None:
        due = sorted((m for m in self.held[federate] if m["time_int"] <= time), key=lambda m: m["time_int"])
        self.held[federate] = [m for m in self.held[federate] if m["time_int"] > time]
        for message in due:
            self._deliver(federate, message)
        self.add("grant", federate, service="time_advance_grant", time_int=time, lookahead_int=2)
        self.granted[federate], self.asked[federate] = time, None

    def _handle(self, federate: int) -> None:
        event = {"name": f"consumer {federate}", "operation": "handle", "priority": federate % 2,
                 "deadline_ns": self.now - START + 2_000_000_000}  # fmt: skip
        self.add("dispatch", federate, **event)
        self.add("done", federate, **event)


def plant(rows: list[Row], fault: str, chance: random.Random) -> Row | None:
    """Make one thing wrong; the row it is about, or None if this run has no place for it."""
    return getattr(_Planter(rows, chance), "plant_" + fault.replace(" ", "_"))()  # type: ignore[no-any-return]


class _Planter:
    def __init__(self, rows: list[Row], chance: random.Random) -> None:
        self.rows = rows
        self.chance = chance

    def pick(self, kind: str, **wanted: Any) -> Row | None:
        found = [
            r
            for r in self.rows
            if r["kind"] == kind and all(r[name] == value for name, value in wanted.items())
        ]
        return self.chance.choice(found) if found else None

    def remove(self, row: Row) -> None:
        del self.rows[next(place for place, other in enumerate(self.rows) if other is row)]

    def move(self, row: Row, behind: Row) -> None:
        """The row happens just after another one, of the same federate."""
        self.remove(row)
        self.rows.insert(next(place for place, other in enumerate(self.rows) if other is behind) + 1, row)
        row["epoch_ns"], row["mono_ns"] = behind["epoch_ns"] + 1, behind["mono_ns"] + 1

    def plant_late(self) -> Row | None:
        """Two messages of one source in causal order, the later delivered first."""
        for first in self.chance.sample(self.rows, len(self.rows)):
            if first["kind"] == "deliver" and first["order"] == "CO":
                for second in self.rows:
                    alike = all(
                        second[name] == first[name] for name in ("kind", "order", "federate", "source")
                    )
                    if alike and second["message"] > first["message"]:
                        self.move(first, second)
                        return first
        return None

    def plant_loss(self) -> Row | None:
        row = self.pick("deliver")
        if row is not None:
            self.remove(row)
        return row

    def plant_duplicate(self) -> Row | None:
        row = self.pick("deliver", order="RO")
        if row is not None:
            again = dict(row) | {"epoch_ns": row["epoch_ns"] + 1}
            self.rows.insert(next(n for n, r in enumerate(self.rows) if r is row) + 1, again)
        return row

    def plant_past(self) -> Row | None:
        """A message comes after a grant beyond its time stamp."""
        row = self.pick("deliver", order="TSO")
        if row is None:
            return None
        later = [r for r in self.rows if r["kind"] == "grant" and r["federate"] == row["federate"]
                 and r["time_int"] > row["time_int"]]  # fmt: skip
        if not later:
            return None
        self.move(row, later[0])
        return row

    def plant_decreasing(self) -> Row | None:
        row = self.pick("deliver", order="TSO")
        if row is not None:
            row["time_int"] += 50
        return row

    def plant_early_grant(self) -> Row | None:
        row = self.pick("grant", service="time_advance_grant")
        if row is not None:
            row["time_int"] += 10_000_000
        return row

    def plant_extra(self) -> Row | None:
        """A federate is addressed and gets what it never asked for, nor just before or after.

        It would overtake what is rightly under way to it, and by the clock nobody could tell.
        """
        sends = [r for r in self.rows if r["kind"] == "send" and r["order"] == "RO"]
        for sent in self.chance.sample(sends, len(sends)):
            federates = {r["federate"] for r in self.rows} - {sent["source"], *sent["destinations"]}
            federates -= {
                row["federate"]
                for row in self.rows
                if row["kind"] in ("declare", "region") and abs(row["epoch_ns"] - sent["epoch_ns"]) <= GRACE
            }
            if federates and len(sent["destinations"]) <= 2:
                return self._deliver_to(sent, self.chance.choice(sorted(federates)))
        return None

    def _deliver_to(self, sent: Row, who: int) -> Row:
        nodes = {r["federate"]: r["node"] for r in self.rows}
        sent["destinations"] = [*sent["destinations"], who]
        told = {name: sent[name] for name in ("source", "message", "class", "order", "transport", "items")}
        row: Row = dict.fromkeys(NAMES)
        row |= {"kind": "deliver", "federate": who, "node": nodes[who], "epoch_ns": sent["epoch_ns"] + 1}
        row |= {"mono_ns": sent["mono_ns"] + 1, **told}
        self.rows.insert(next(n for n, r in enumerate(self.rows) if r is sent) + 1, row)
        return row

    def plant_missed(self) -> Row | None:
        """A federate that should have been addressed was not."""
        row = self.pick("deliver", order="RO")
        if row is None:
            return None
        key = ("send", row["source"], row["message"])
        sends = [r for r in self.rows if (r["kind"], r["source"], r["message"]) == key]
        if not sends:
            return None
        sent = sends[0]
        sent["destinations"] = [f for f in sent["destinations"] if f != row["federate"]]
        self.remove(row)
        return row

    def plant_deadline(self) -> Row | None:
        row = self.pick("done")
        if row is not None:
            row["deadline_ns"] = row["mono_ns"] - 5
        return row

    def plant_unsent(self) -> Row | None:
        row = self.pick("deliver", order="RO")
        if row is not None:
            row["message"] += 10_000
        return row


def number(rows: list[Row], commands: bool = False) -> list[Row]:
    """Rows with their numbers in their nodes; `commands`: and those of the last command, which all nodes know at once."""
    counts: dict[str, int] = {}
    last = 0
    for row in rows:
        last += row["kind"] in ("join", "declare", "region")
        row["command"] = last if commands else None
        counts[row["node"]] = counts.get(row["node"], 0) + 1
        row["seq"] = counts[row["node"]]
    return rows


def write(folder: Path, rows: list[Row], rows_per_file: int = 50, **node_info: Any) -> Path:
    """The rows as a run on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted({row["node"] for row in rows})
    info = {
        "federation": "small",
        "id": "0",
        "start_ns": START,
        "time": "HLAinteger64Time",
        "schema": VERSION,
    }
    for name in names:
        files = NodeFiles(folder, name, START, info)
        mine = [row for row in rows if row["node"] == name]
        for begin in range(0, len(mine), rows_per_file):
            part = [
                {k: v for k, v in row.items() if k != "node"} for row in mine[begin : begin + rows_per_file]
            ]
            files.write_rows(pa.Table.from_pylist(part, schema=files.schema))
        others = [other for other in names if other != name]
        told = {
            "node": name,
            "began_ns": START,
            "ended_ns": START + 1,
            "rows": len(mine),
            "dropped": 0,
            "others": others,
        }
        files.write_node(told | node_info)
    return folder
