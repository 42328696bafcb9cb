"""The journal of a node: one SQLite file (WAL) with the tables of `weft.fabric.journal`, and values by key (S1-7, S1-8).

A node has more than one causal channel (`mesh.causal_channels`): the first column of the tables, `port`, says whose a row is.

A batch of each channel is one transaction, together with the values that were kept meanwhile.  A process that is killed at any
instant finds, at its next start, all of it or nothing.

`synchronous` is SQLite's: NORMAL survives the end of the process, however it comes; FULL survives the loss of power as well, at
the price of a flush to the disk for each commit.

The file is locked as long as it is open, so that two processes never write one journal.

A journal belongs to its domains, which it names.  For other ones its node first finishes what is left (`mesh.change`): then it is
opened as `finishing`, and for nothing else from that moment until `leave` has made it one of the new domains.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.fabric import Beyond, Changes, Packet, Portion, Saved, Topology, decode_packet, encode_packet
from weft.fabric.change import carried_over
from weft.host.carrier import Port
from weft.host.files.private import make_private
from weft.model.errors import FabricError

SUFFIX = ".journal"
APPLICATION = 0x57454654  # "WEFT"
VERSION = 2  # 1: one channel for federations and agents
SYNCHRONOUS = ("NORMAL", "FULL")
LOCK_SECONDS = 2.0
TOPOLOGY, FINISHING, LEFT = "topology", "finishing", "left"  # keys of meta

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE clocks (port INTEGER, domain INTEGER, now INTEGER NOT NULL, PRIMARY KEY (port, domain)) WITHOUT ROWID;
CREATE TABLE told (port INTEGER, domain INTEGER, peer INTEGER, told INTEGER NOT NULL,
                   PRIMARY KEY (port, domain, peer)) WITHOUT ROWID;
CREATE TABLE cells (port INTEGER, domain INTEGER, cell INTEGER, value INTEGER NOT NULL, changed INTEGER NOT NULL,
                    source INTEGER NOT NULL, PRIMARY KEY (port, domain, cell)) WITHOUT ROWID;
CREATE TABLE missing (port INTEGER, domain INTEGER, peer INTEGER, missing INTEGER NOT NULL,
                      PRIMARY KEY (port, domain, peer)) WITHOUT ROWID;
CREATE TABLE out (port INTEGER, domain INTEGER, peer INTEGER, number INTEGER, packet BLOB NOT NULL,
                  PRIMARY KEY (port, domain, peer, number)) WITHOUT ROWID;
CREATE TABLE waiting (port INTEGER, domain INTEGER, peer INTEGER, number INTEGER, packet BLOB NOT NULL,
                      PRIMARY KEY (port, domain, peer, number)) WITHOUT ROWID;
CREATE TABLE inbox (port INTEGER, number INTEGER, origin INTEGER NOT NULL, payload BLOB NOT NULL,
                    PRIMARY KEY (port, number)) WITHOUT ROWID;
CREATE TABLE kept (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""


class _Statements:
    """What is written for one channel; its number stands in the text, for the rows do not have it."""

    def __init__(self, port: int) -> None:
        packet = f"WHERE port = {port} AND domain = ? AND peer = ? AND number = ?"
        self.clocks = f"REPLACE INTO clocks VALUES ({port}, ?, ?)"
        self.told = f"REPLACE INTO told VALUES ({port}, ?, ?, ?)"
        self.cells = f"REPLACE INTO cells VALUES ({port}, ?, ?, ?, ?, ?)"
        self.missing = f"REPLACE INTO missing VALUES ({port}, ?, ?, ?)"
        self.out = f"INSERT INTO out VALUES ({port}, ?, ?, ?, ?)"
        self.waiting = f"INSERT INTO waiting VALUES ({port}, ?, ?, ?, ?)"
        self.inbox = f"INSERT INTO inbox VALUES ({port}, ?, ?, ?)"
        self.out_removed = f"DELETE FROM out {packet}"
        self.waiting_removed = f"DELETE FROM waiting {packet}"
        self.inbox_removed = f"DELETE FROM inbox WHERE port = {port} AND number = ?"


class Journal:
    """Open it, take what it holds with `saved` and `kept`, then `commit` batch after batch."""

    def __init__(
        self,
        path: str | Path,
        node: str,
        fingerprint: str,
        synchronous: str = "NORMAL",
        topology: Topology | None = None,
        finishing: bool = False,
    ) -> None:
        """`topology`: what the fingerprint is of, for a later change."""
        self.path = Path(path)
        self.node = node
        self.fingerprint = fingerprint
        self.left: frozenset[str] = frozenset()  # fingerprints of domains that it was of before
        self.commits = 0
        self._topology = topology
        self._finishing = finishing
        self._statements = {int(port): _Statements(int(port)) for port in Port}
        if synchronous not in SYNCHRONOUS:
            raise FabricError(f"a journal is synchronous {' or '.join(SYNCHRONOUS)}, not {synchronous!r}")
        try:
            make_private(self.path.parent)
            self.path.touch(0o600)  # what SQLite keeps beside it gets the same mode
            # One thread at a time, and its host sees to that; in a federate's process not always the same one.
            self._base = sqlite3.connect(
                self.path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise FabricError(f"{self.path}: the journal cannot be opened: {error}") from error
        try:
            self._prepare(synchronous)
        except sqlite3.DatabaseError as error:
            self._base.close()
            raise self._refusal(error) from error
        except FabricError:
            self._base.close()
            raise

    # Opening

    def _prepare(self, synchronous: str) -> None:
        run = self._base.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {synchronous}")
        run("BEGIN EXCLUSIVE")  # Takes the lock, which the locking mode then keeps.
        application = run("PRAGMA application_id").fetchone()[0]
        version = run("PRAGMA user_version").fetchone()[0]
        if application == 0 and version == 0 and not run("SELECT 1 FROM sqlite_master").fetchone():
            self._make()
        else:
            self._check(application, version)
        self._note()
        run("COMMIT")

    def _note(self) -> None:
        about = dict(self._base.execute("SELECT key, value FROM meta"))
        self.left = frozenset(about.get(LEFT, "").split())
        if self._topology is not None and TOPOLOGY not in about:
            self._set_meta(TOPOLOGY, _as_text(self._topology))
        if self._finishing and FINISHING not in about:
            self._set_meta(FINISHING, "yes")

    def _set_meta(self, key: str, value: str) -> None:
        self._base.execute("REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _make(self) -> None:
        for statement in _TABLES.split(";"):
            self._base.execute(statement)
        about = {"node": self.node, "fingerprint": self.fingerprint}
        self._base.executemany("INSERT INTO meta VALUES (?, ?)", about.items())
        self._base.execute(f"PRAGMA application_id = {APPLICATION}")
        self._base.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self, application: int, version: int) -> None:
        if application != APPLICATION:
            raise FabricError(f"{self.path}: this is a database, but no journal of Weft; name another file")
        if version != VERSION:
            raise FabricError(
                f"{self.path}: the journal has version {version} and this Weft writes version {VERSION}; use the Weft that"
                " wrote it, or, when all its queues are empty (`weft journal` of that Weft), start with empty journals on"
                " all servers"
            )
        whole = self._base.execute("PRAGMA quick_check(1)").fetchone()[0]
        if whole != "ok":
            raise FabricError(f"{self.path}: the journal is damaged ({whole}); put a sound copy in its place")
        about = dict(self._base.execute("SELECT key, value FROM meta"))
        if about.get("node") != self.node:
            raise FabricError(
                f"{self.path}: this is the journal of {about.get('node')}, not of {self.node}; name another file"
            )
        if about.get("fingerprint") != self.fingerprint:
            raise FabricError(
                f"{self.path}: this journal was written under other domains; `weft serve --node {self.node}` with the new file"
                " finishes what is left under the old ones and changes over (all servers have to), --new-journal sets it aside"
            )
        if FINISHING in about and not self._finishing:
            raise FabricError(
                f"{self.path}: {self.node} has begun to finish these domains and sends nothing more under them; start it with"
                " the new domains file"
            )

    def _refusal(self, error: sqlite3.DatabaseError) -> FabricError:
        if "locked" in str(error):
            return FabricError(
                f"{self.path}: another process has this journal open; is node {self.node} running already?"
            )
        return FabricError(
            f"{self.path}: this is no journal, or a damaged one ({error}); name another file, or put a sound copy in its place"
        )

    # What an earlier process left

    def saved(self, port: int, in_memory: int = 0) -> Saved:
        """The tables of one channel; of the packets out at most `in_memory` for each neighbour, 0 for all."""
        found = Saved(self.fingerprint)
        found.clocks = dict(self._rows("domain, now FROM clocks", port))
        found.told = {row[:2]: row[2] for row in self._rows("domain, peer, told FROM told", port)}
        found.cells = {
            row[:2]: row[2:] for row in self._rows("domain, cell, value, changed, source FROM cells", port)
        }
        found.missing = {row[:2]: row[2] for row in self._rows("domain, peer, missing FROM missing", port)}
        for domain, peer, count in self._rows(
            "domain, peer, count(*) FROM out", port, "GROUP BY domain, peer"
        ):
            self._saved_out(found, port, Portion(domain, peer, 0, in_memory or count), count)
        found.waiting = {
            row[:3]: decode_packet(row[3])
            for row in self._rows("domain, peer, number, packet FROM waiting", port)
        }
        found.inbox = {row[0]: row[1:] for row in self._rows("number, origin, payload FROM inbox", port)}
        return found

    def _rows(self, what: str, port: int, rest: str = "") -> Iterator[tuple[Any, ...]]:
        # Names of tables and columns are those above, none comes from outside.
        return self._base.execute(f"SELECT {what} WHERE port = ? {rest}", (port,))

    def _saved_out(self, found: Saved, port: int, portion: Portion, count: int) -> None:
        domain, peer = portion.domain, portion.place
        last = 0
        for packet in self.portion(port, portion):
            last = packet.number
            found.out[domain, peer, last] = packet
        if count > portion.most:
            (size,) = self._base.execute(
                "SELECT sum(length(packet)) FROM out WHERE port = ? AND domain = ? AND peer = ? AND number > ?",
                (port, domain, peer, last),
            ).fetchone()
            found.beyond[domain, peer] = Beyond(count - portion.most, size)

    def portion(self, port: int, portion: Portion) -> list[Packet]:
        """The next packets of a long queue."""
        rows = self._base.execute(
            "SELECT packet FROM out WHERE port = ? AND domain = ? AND peer = ? AND number > ? ORDER BY number LIMIT ?",
            (port, portion.domain, portion.place, portion.after, portion.most),
        )
        return [decode_packet(row[0]) for row in rows]

    def kept(self, prefix: str = "") -> dict[str, bytes]:
        rows = self._base.execute(
            "SELECT key, value FROM kept WHERE substr(key, 1, ?) = ? ORDER BY key", (len(prefix), prefix)
        )
        return dict(rows)

    # Commits

    def commit(
        self,
        changes: Mapping[int, Changes],
        kept: Mapping[str, bytes | None] | None = None,
        encoded: dict[int, bytes] | None = None,
    ) -> None:
        """One transaction, of the changes of each channel.

        `encoded` gets the bytes of the packets that were written, by id, for whoever sends them next.
        """
        base = self._base
        try:
            base.execute("BEGIN IMMEDIATE")
            for port, those in changes.items():
                self._write(port, those, {} if encoded is None else encoded)
            if kept:
                self._write_kept(kept)
            base.execute("COMMIT")
        except sqlite3.Error as error:
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise FabricError(
                f"{self.path}: the journal cannot be written: {error}; nothing of it was sent, so the node can be started"
                " again once there is room"
            ) from error
        self.commits += 1

    def _write(self, port: int, changes: Changes, encoded: dict[int, bytes]) -> None:
        many = self._base.executemany
        said = self._statements[port]
        if changes.clocks:
            many(said.clocks, changes.clocks)
            many(said.told, changes.told)
            many(said.cells, changes.cells)
        if changes.missing:
            many(said.missing, changes.missing)
        if changes.out_removed:
            many(said.out_removed, changes.out_removed)
        if changes.waiting_removed:
            many(said.waiting_removed, changes.waiting_removed)
        if changes.inbox_removed:
            many(said.inbox_removed, ((number,) for number in changes.inbox_removed))
        if changes.out:
            many(said.out, _rows(changes.out.items(), encoded))
        if changes.waiting:
            many(said.waiting, _rows(changes.waiting.items(), encoded))
        if changes.inbox:
            many(
                said.inbox,
                ((number, origin, payload) for number, (origin, payload) in changes.inbox.items()),
            )

    def _write_kept(self, kept: Mapping[str, bytes | None]) -> None:
        many = self._base.executemany
        many("REPLACE INTO kept VALUES (?, ?)", ((k, v) for k, v in kept.items() if v is not None))
        many("DELETE FROM kept WHERE key = ?", ((k,) for k, v in kept.items() if v is None))

    # From old domains to new ones

    def leave(self, old: Topology, new: Topology) -> None:
        """One transaction: clocks and queues are forgotten, the inbox is kept, and the journal is that of the new domains."""
        inboxes = {int(port): carried_over(self.saved(port, 1), old, new).inbox for port in Port}
        # It may come back to domains that it was of before.
        left = (self.left | {self.fingerprint}) - {new.fingerprint}
        about = {"fingerprint": new.fingerprint, TOPOLOGY: _as_text(new), LEFT: " ".join(sorted(left))}
        try:
            with self._base as base:  # commits, or takes all of it back
                base.execute("BEGIN IMMEDIATE")
                for table in ("clocks", "told", "cells", "missing", "out", "waiting"):
                    base.execute(f"DELETE FROM {table}")
                for port, inbox in inboxes.items():
                    rows = [(origin, port, number) for number, (origin, _) in inbox.items()]
                    base.executemany("UPDATE inbox SET origin = ? WHERE port = ? AND number = ?", rows)
                for key, value in about.items():
                    self._set_meta(key, value)
                base.execute("DELETE FROM meta WHERE key = ?", (FINISHING,))
        except sqlite3.Error as error:
            raise FabricError(
                f"{self.path}: the journal cannot be written: {error}; it is as before, so start the node again"
            ) from error
        self.left = left
        self.fingerprint = new.fingerprint

    def close(self) -> None:
        """What was committed stays; the lock is given up."""
        self._base.close()


def topology_of(path: Path) -> tuple[str, Topology | None] | None:
    """The fingerprint of a journal's domains, and what they are if it says so (older ones do not); None: there is no journal."""
    if not path.is_file():
        return None
    try:
        with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_SECONDS) as base:
            about = dict(base.execute("SELECT key, value FROM meta"))
        base.close()
    except sqlite3.Error:
        return None  # whoever opens it says what is wrong
    text = about.get(TOPOLOGY)
    return str(about.get("fingerprint", "")), None if text is None else _from_text(text)


def _as_text(topology: Topology) -> str:
    return json.dumps([topology.servers, topology.domains])


def _from_text(text: str) -> Topology:
    servers, domains = json.loads(text)
    return Topology(tuple(servers), {name: tuple(members) for name, members in domains.items()})


def set_aside(path: Path) -> Path | None:
    """Rename a journal of which no process has need, so that its node begins with an empty one; where it is now."""
    if not path.exists():
        return None
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(path.stat().st_mtime))
    aside = path.with_name(f"{path.name}.{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.{stamp}-{number}")
    try:
        with sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None) as base:
            # Nobody has it open; what lies beside it goes into it when it is closed.
            base.execute("BEGIN EXCLUSIVE")
            base.execute("COMMIT")
        base.close()
        path.rename(aside)
    except sqlite3.Error as error:
        raise FabricError(f"{path}: the journal cannot be set aside: {error}; does its node run?") from error
    except OSError as error:
        raise FabricError(f"{path}: the journal cannot be set aside: {error.strerror or error}") from error
    return aside


def _rows(
    packets: Iterable[tuple[tuple[int, int, int], Packet]], encoded: dict[int, bytes]
) -> list[tuple[int, int, int, bytes]]:
    rows: list[tuple[int, int, int, bytes]] = []
    for (domain, peer, number), packet in packets:
        data = encoded[id(packet)] = encode_packet(packet)
        rows.append((domain, peer, number, data))
    return rows
