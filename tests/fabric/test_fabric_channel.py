"""The channel and its host: what is saved, when it leaves, and what a restart finds (S1-3, S1-5 … S1-8)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fabric.drive import Wires
from fabric.topologies import CHAIN, FIGURE_2, of
from weft.fabric import Changes, Channel, Packet, Saved, Topology, decode_packet, encode_packet, encode_stamp
from weft.model.errors import FabricError

FLAT = of("abc")
A, B, C = range(3)


def test_saved_sent_received_saved_acknowledged_removed() -> None:
    """S1-7: the six steps, in this order, each visible in the journals."""
    wires = Wires(of("ab"))
    channel = wires.channels["a"]
    channel.send([B], b"m")
    batch = channel.take_batch()
    assert list(batch.changes.out) == [(0, 1, 1)]  # to be saved …
    assert [one.peer for one in batch.transmit] == [B]  # … before it is sent
    wires.journals["a"].apply(batch.changes)
    wires.channels["b"].receive(A, batch.transmit[0].packet)
    (delivery,) = wires.channels["b"].take_deliveries()
    received = wires.channels["b"].take_batch()
    assert received.changes.inbox == {1: (A, b"m")}  # received and saved …
    (ack,) = received.acknowledge  # … before it is acknowledged
    assert (ack.peer, ack.domain, ack.number) == (A, 0, 1)
    assert channel.backlog(B) == 1
    channel.acknowledged(B, 0, 1)
    assert channel.take_batch().changes.out_removed == [(0, 1, 1)]  # removed
    assert channel.backlog(B) == 0
    wires.channels["b"].consumed(delivery.number)
    assert wires.channels["b"].take_batch().changes.inbox_removed == [1]


def test_many_stimuli_one_commit() -> None:
    """S1-8: group commit; what comes and goes between two commits is never written."""
    wires = Wires(FLAT)
    for text in (b"1", b"2", b"3"):
        wires.send("a", "b", text)
    receiver = wires.channels["b"]
    third, second, first = (wires.under_way["a", "b"].pop() for _ in range(3))
    for packet in (second, third, first):
        receiver.receive(A, packet)
    assert receiver.counts.waited == 2
    for delivery in receiver.take_deliveries():
        receiver.consumed(delivery.number)
    batch = receiver.take_batch()
    changes = batch.changes
    assert not any((changes.waiting, changes.waiting_removed, changes.inbox, changes.inbox_removed))
    assert len(batch.acknowledge) == 3
    assert [(cell, value) for _, cell, value, _, _ in changes.cells] == [(1, 3)]
    assert not receiver.take_batch().changes


def test_a_packet_out_of_order_waits_and_survives_a_restart() -> None:
    """S1-3, S1-8: WAIT is saved too, for it has been acknowledged."""
    wires = Wires(FLAT)
    wires.send("a", "b", b"1")
    wires.send("a", "b", b"2")
    wires.carry("a", "b", at=1)
    assert wires.channels["b"].waiting() == 1
    wires.restart("b")
    assert wires.channels["b"].waiting() == 1
    wires.carry("a", "b")
    assert wires.got["b"] == [b"1", b"2"]
    assert not wires.journals["b"].waiting


def test_a_duplicate_is_acknowledged_again_and_delivered_once() -> None:
    """S1-3: ALREADY_DELIVERED, and the same for what still waits."""
    wires = Wires(FLAT)
    wires.send("a", "b", b"1")
    wires.send("a", "b", b"2")
    early = wires.carry("a", "b", at=1)
    wires.channels["b"].receive(A, early)
    packet = wires.carry("a", "b")
    wires.channels["b"].receive(A, packet)
    wires.settle("b")
    assert wires.got["b"] == [b"1", b"2"]
    assert [number for *_, number in wires.acknowledgements] == [2, 2, 1, 1]
    assert wires.channels["b"].counts.duplicates == 2
    wires.acknowledge_all()
    assert wires.channels["a"].backlog(B) == 0


def test_committed_but_never_transmitted() -> None:
    """S1-8: a crash between commit and transmission; the restart transmits."""
    wires = Wires(of("ab"))
    wires.channels["a"].send([B], b"m")
    wires.journals["a"].apply(wires.channels["a"].take_batch().changes)
    wires.restart("a")
    assert not wires.channels["a"].take_batch().transmit
    wires.channels["a"].reconnected(B)
    wires.settle("a")
    wires.carry("a", "b")
    assert wires.got["b"] == [b"m"]


def test_reconnection_repeats_in_order_and_only_once() -> None:
    wires = Wires(of("ab"))
    wires.channels["a"].send([B], b"1")
    wires.channels["a"].send([B], b"2")
    wires.channels["a"].reconnected(B)
    assert [one.packet.number for one in wires.channels["a"].take_batch().transmit] == [1, 2]


def test_a_delivery_that_was_not_consumed_comes_again_after_a_restart() -> None:
    wires = Wires(of("ab"))
    wires.send("a", "b", b"m")
    channel = wires.channels["b"]
    channel.receive(A, wires.under_way["a", "b"].pop())
    wires.journals["b"].apply(channel.take_batch().changes)
    wires.restart("b")
    wires.settle("b")
    assert wires.got["b"] == [b"m"]
    wires.restart("b")
    assert wires.channels["b"].take_deliveries() == []


def test_figure_2_hop_by_hop() -> None:
    """S1-6, S1-11: each hop is stamped in its own domain; the agents see neither hops nor domains."""
    wires = Wires(FIGURE_2)
    wires.send("S5", "S8", b"m")
    seen = []
    for hop in FIGURE_2.route("S5", "S8"):
        packet = wires.carry(hop.sender, hop.receiver)
        seen.append((hop.sender, list(FIGURE_2.domains)[packet.domain], packet.number))
        assert packet.origin == FIGURE_2.numbers["S5"]
    assert seen == [("S5", "B", 1), ("S4", "E", 1), ("S1", "A", 1), ("S3", "D", 1), ("S6", "C", 1)]
    assert wires.got["S8"] == [b"m"]
    assert sum(map(len, wires.got.values())) == 1


def test_one_packet_serves_all_destinations_behind_a_router() -> None:
    wires = Wires(FIGURE_2)
    wires.send("S2", "S2 S3 S6 S7 S8", b"m")
    assert wires.got["S2"] == [b"m"]
    assert list(wires.under_way) == [("S2", "S3")]
    for hop in (("S2", "S3"), ("S3", "S6"), ("S6", "S8"), ("S6", "S7")):
        wires.carry(*hop)
    assert [name for name, got in wires.got.items() if got] == ["S2", "S3", "S6", "S7", "S8"]
    assert not any(wires.under_way.values())


def test_the_answer_to_a_multicast_never_overtakes_it() -> None:
    """All receivers are counted before the first stamp: b's answer tells c of what a sent it."""
    wires = Wires(FLAT)
    wires.send("a", "b c", b"question")
    wires.carry("a", "b")
    wires.send("b", "c", b"answer")
    wires.carry("b", "c")
    assert wires.got["c"] == []
    wires.carry("a", "c")
    assert wires.got["c"] == [b"question", b"answer"]


def test_a_router_forwards_in_the_order_of_delivery() -> None:
    """S1-7: no crossover."""
    wires = Wires(of("ab", "bc"))
    wires.send("a", "c", b"1")
    wires.send("a", "b", b"2")
    wires.send("a", "c", b"3")
    wires.carry("a", "b", at=2)
    assert ("b", "c") not in wires.under_way
    wires.carry("a", "b")
    wires.carry("a", "b")
    assert [packet.payload for packet in wires.under_way["b", "c"]] == [b"1", b"3"]


def test_what_is_refused() -> None:
    """Errors say who and what to do, and change nothing."""
    lonely = Channel(Topology(("a", "b", "c"), {"D": ("a", "b")}), A)
    with pytest.raises(FabricError, match="a cannot reach c: no chain of domains joins them"):
        lonely.send([B, C], b"")
    with pytest.raises(FabricError, match="no server with the number 7"):
        lonely.send([7], b"")
    assert lonely.take_batch().transmit == []
    one = Wires(CHAIN).channels["b"]
    numbers = CHAIN.numbers
    good = encode_stamp(1, [], [])
    for peer, packet, said in [
        ("e", Packet(0, 0, [1], 1, good, b""), "b: e speaks of domain D1, which the two do not share"),
        ("a", Packet(9, 0, [1], 1, good, b""), "b: a speaks of domain number 9"),
        (
            "a",
            Packet(0, 0, [1], 1, good + b"x", b""),
            "b: a sends a packet that cannot be read: 1 bytes follow",
        ),
        ("a", Packet(0, 0, [1], 1, encode_stamp(1, [4], [1]), b""), "cell 4 in a domain of 4"),
        (
            "a",
            Packet(0, 0, [0], 1, good, b""),
            "server number 0, which is not this way; are the domains files",
        ),
        ("a", Packet(0, 0, [], 1, good, b""), "a packet for nobody"),
        (
            "a",
            Packet(0, 0, [1], 1, encode_stamp(1, [2], [5]), b""),
            "a knows of more packets from b than b; was a",
        ),
    ]:
        with pytest.raises(FabricError, match=said):
            one.receive(numbers[peer], packet)
    with pytest.raises(FabricError, match="which the two do not share"):
        one.acknowledged(numbers["e"], 0, 1)
    batch = one.take_batch()
    assert not batch.changes
    assert not batch.transmit
    assert not batch.acknowledge


def test_a_journal_of_other_domains_is_refused() -> None:
    wires = Wires(FLAT)
    wires.send("a", "b", b"m")
    with pytest.raises(FabricError, match="the journal of a was written under other domains"):
        Channel(of("abcd"), A, wires.journals["a"])


def test_counts() -> None:
    """Entries and bytes of stamps, bytes of clocks."""
    wires = Wires(FLAT)
    wires.send("a", "b", b"1")
    wires.send("a", "c", b"2")
    wires.carry("a", "c")
    counts = wires.channels["a"].counts
    assert (counts.stamped, counts.stamp_entries, counts.stamp_bytes) == (2, 3, 2 + 4)
    assert wires.channels["c"].counts.delivered == 1
    assert wires.channels["a"].clock_bytes() == 9 * 24
    assert wires.channels["a"].counts.cells_saved == 2


def test_without_a_journal_nothing_is_to_be_saved() -> None:
    channel = Channel(FLAT, A, durable=False)
    channel.send([A, B], object())
    assert [type(one.payload) for one in channel.take_deliveries()] == [object]
    batch = channel.take_batch()
    assert not batch.changes
    channel.acknowledged(B, 0, 1)
    assert len(batch.transmit) == 1
    assert not channel.take_batch().changes


# A journal as a host will have it


class Sqlite:
    """The tables of weft.fabric.journal in SQLite."""

    SCHEMA = """
        create table meta (fingerprint text);
        create table clocks (domain integer primary key, now integer);
        create table told (domain, peer, told, primary key (domain, peer));
        create table cells (domain, cell, value, changed, source, primary key (domain, cell));
        create table out (domain, peer, number, packet blob, primary key (domain, peer, number));
        create table waiting (domain, peer, number, packet blob, primary key (domain, peer, number));
        create table inbox (number integer primary key, origin integer, payload blob);
    """

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        if not self.connection.execute("select count(*) from sqlite_master").fetchone()[0]:
            self.connection.executescript(self.SCHEMA)

    def commit(self, changes: Changes) -> None:
        run = self.connection.executemany
        with self.connection:
            self.connection.execute("delete from meta")
            run("insert into meta values (?)", [(changes.fingerprint,)])
            run("insert or replace into clocks values (?, ?)", changes.clocks)
            run("insert or replace into told values (?, ?, ?)", changes.told)
            run("insert or replace into cells values (?, ?, ?, ?, ?)", changes.cells)
            run("delete from out where (domain, peer, number) = (?, ?, ?)", changes.out_removed)
            run("delete from waiting where (domain, peer, number) = (?, ?, ?)", changes.waiting_removed)
            run("delete from inbox where number = ?", [(number,) for number in changes.inbox_removed])
            run(
                "insert into out values (?, ?, ?, ?)",
                [(*k, encode_packet(p)) for k, p in changes.out.items()],
            )
            run(
                "insert into waiting values (?, ?, ?, ?)",
                [(*k, encode_packet(p)) for k, p in changes.waiting.items()],
            )
            run("insert into inbox values (?, ?, ?)", [(n, *row) for n, row in changes.inbox.items()])

    def saved(self) -> Saved:
        rows = self.connection.execute
        found = Saved(next(iter(rows("select * from meta")), ("",))[0])
        found.clocks = dict(rows("select * from clocks"))
        found.told = {(domain, peer): told for domain, peer, told in rows("select * from told")}
        found.cells = {(d, c): (v, changed, s) for d, c, v, changed, s in rows("select * from cells")}
        found.out = {(d, p, n): decode_packet(packet) for d, p, n, packet in rows("select * from out")}
        found.waiting = {
            (d, p, n): decode_packet(packet) for d, p, n, packet in rows("select * from waiting")
        }
        found.inbox = {number: (origin, payload) for number, origin, payload in rows("select * from inbox")}
        return found


def test_the_tables_fit_sqlite(tmp_path: Path) -> None:
    """S1-8: a server that restarts from SQLite after every single stimulus, with queues of every kind in use."""
    wires = Wires(CHAIN)
    journal = Sqlite(tmp_path / "b.db")
    expected = []
    for round_ in range(10):
        for name in "acd":
            text = f"{name}{round_}".encode()
            wires.send(name, "b h", text)
            expected.append(text)
        for name in "adc":
            channel = Channel(CHAIN, CHAIN.numbers["b"], journal.saved())
            channel.reconnected(CHAIN.numbers["c"])
            queue = wires.under_way[name, "b"]
            channel.receive(CHAIN.numbers[name], queue.pop(-1 if len(queue) > 1 else 0))
            for delivery in channel.take_deliveries():
                wires.got["b"].append(delivery.payload)
                channel.consumed(delivery.number)
            journal.commit(channel.take_batch().changes)
    channel = Channel(CHAIN, CHAIN.numbers["b"], journal.saved())
    assert sorted(wires.got["b"]) == sorted(expected)  # type: ignore[type-var]
    assert channel.backlog(CHAIN.numbers["d"]) == 10  # what goes on to h, unacknowledged
