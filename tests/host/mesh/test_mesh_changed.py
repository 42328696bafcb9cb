"""Real processes that change over to other domains while their agents' messages are under way (S1-20)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from support.node_processes import NodeProcess, ended, loopback, wait_until, write_file
from weft.fabric import Channel, Topology
from weft.fabric.change import carried_over
from weft.host.carrier import Port
from weft.host.files.cbor import decode
from weft.host.mesh.change import change_over, old_domains
from weft.host.mesh.journal import Journal, topology_of
from weft.host.settings import FabricSettings
from weft.model.errors import FabricError

SERVERS = ("S1", "S2", "S3", "S4")
OLD = Topology(SERVERS, {"A": ("S1", "S2"), "B": ("S2", "S3"), "C": ("S3", "S4")})
NEW = Topology(SERVERS, {"X": ("S4", "S1", "S3"), "Y": ("S2", "S4")})
SETTINGS = FabricSettings(lost_seconds=5.0, retry_seconds=0.02, retry_most_seconds=0.1)


def _busy(nodes: list[NodeProcess]) -> bool:
    """All run, and messages go round; who gets most of them is up to the walkers."""
    return all(node.status for node in nodes) and sum(node.status["received"] for node in nodes) >= 80


def _quiet(nodes: list[NodeProcess]) -> bool:
    return all(node.status and not node.status["backlog"] and not node.status["waiting"] for node in nodes)


def _heard_at_rest(nodes: list[NodeProcess]) -> list[int]:
    seen = [node.statuses for node in nodes]
    wait_until(
        lambda: _quiet(nodes) and all(n.statuses > was + 1 for n, was in zip(nodes, seen, strict=True)),
        "everything has arrived",
    )
    return [node.status["received"] for node in nodes]


def _finishes(node: NodeProcess) -> bool:
    return "finishes its old domains first" in node.log


def _check_logs(folder: Path) -> None:
    """Everything that an agent sent was heard, once and in causal order, over the change."""
    logs = {}
    for server in SERVERS:
        journal = Journal(folder / "journal" / f"{server}.journal", server, NEW.fingerprint)
        assert journal.left == {OLD.fingerprint}
        assert not any(journal.saved(port).inbox or journal.saved(port).out for port in Port)
        assert not journal.kept("dead/")
        logs[f"Walker@{server}"] = decode(journal.kept("agent/")["agent/Walker"])
        journal.close()
    for name, log in logs.items():
        assert log["wrong"] == []
        for peer, count in log["sent"].items():
            assert logs[peer]["heard"].get(name, 0) == count, f"{name} to {peer}"


@pytest.mark.timeout(600)
def test_nodes_change_over_one_by_one_and_are_killed_meanwhile(tmp_path: Path) -> None:
    """S1-20: killed at work, started with the new file, killed again while they finish; the others come later."""
    path = write_file(tmp_path, OLD)
    enough = tmp_path / "enough"
    environment = {"WALK_UNTIL": str(enough), "WALK_PEERS": ",".join(SERVERS)}
    more = ("--agents", "support.checking_agents:Walker", "--journal", "journal", "--no-console")
    nodes = [NodeProcess(tmp_path, name, *more, environment=environment) for name in SERVERS]
    first, second, third, fourth = nodes
    with ended(nodes):
        for node in nodes:
            node.start()
        wait_until(partial(_busy, nodes), "all nodes are at work")
        first.kill()
        third.kill()
        text = path.read_text().partition("[domains]")[0]
        domains = "\n".join(f"{name} = {json.dumps(members)}" for name, members in NEW.domains.items())
        path.write_text(f"{text}[domains]\n{domains}\n")
        first.start()
        third.start()
        for node in (first, third):
            wait_until(partial(_finishes, node), "it has begun to finish")
        first.kill()
        first.start()
        assert third.stop() == 0  # asked to, it stops before it has finished, and goes on where it was
        third.start()
        assert second.stop() == 0
        second.start()
        fourth.kill()
        fourth.start()
        wait_until(lambda: all(node.status for node in nodes), "all nodes run under the new domains")
        wait_until(partial(_busy, nodes), "all nodes are at work again")
        enough.touch()
        before: list[int] = []
        while (now := _heard_at_rest(nodes)) != before:
            before = now
        assert [node.stop() for node in nodes] == [0] * len(nodes)
    _check_logs(tmp_path)


# --- one loop ---------------------------------------------------------------------------------------------------------


def _left_over(folder: Path, topology: Topology) -> None:
    """As servers leave it that were killed before anything was transmitted: a message from the first to the last."""
    for name in topology.servers:
        journal = Journal(folder / f"{name}.journal", name, topology.fingerprint, "NORMAL", topology)
        channel = Channel(topology, topology.numbers[name])
        if name == topology.servers[0]:
            channel.send([len(topology.servers) - 1], b"under way")
            journal.commit({Port.AGENTS: channel.take_batch().changes})
        journal.close()


async def _change(folder: Path, names: tuple[str, ...], new: Topology, stopping: asyncio.Event) -> list[bool]:
    domains = replace(loopback(new))
    reports: list[str] = []
    one = [
        change_over(domains, name, reports.append, SETTINGS, folder / f"{name}.journal", folder, stopping)
        for name in names
    ]
    return list(await asyncio.gather(*one))


def test_what_was_under_way_is_in_the_inbox(tmp_path: Path) -> None:
    """S1-20: three hops under the old domains, then the journals are those of the new ones."""
    _left_over(tmp_path, OLD)
    assert asyncio.run(asyncio.wait_for(_change(tmp_path, SERVERS, NEW, asyncio.Event()), 200)) == [True] * 4
    for name in SERVERS:
        journal = Journal(tmp_path / f"{name}.journal", name, NEW.fingerprint)
        saved = journal.saved(Port.AGENTS)
        assert journal.left == {OLD.fingerprint}
        assert (saved.clocks, saved.cells, saved.out, saved.waiting) == ({}, {}, {}, {})
        assert saved.inbox == ({1: (NEW.numbers["S1"], b"under way")} if name == "S4" else {})
        journal.close()


def test_there_and_back(tmp_path: Path) -> None:
    """S1-20: a domain that moves may come back; whoever is in those domains again has not left them."""
    _left_over(tmp_path, OLD)

    async def story() -> None:
        for new in (NEW, OLD):
            assert await _change(tmp_path, SERVERS, new, asyncio.Event()) == [True] * 4

    asyncio.run(asyncio.wait_for(story(), 200))
    journal = Journal(tmp_path / "S4.journal", "S4", OLD.fingerprint)
    assert journal.left == {NEW.fingerprint}
    assert journal.saved(Port.AGENTS).inbox == {1: (OLD.numbers["S1"], b"under way")}
    journal.close()


def test_nobody_leaves_before_all_take_part_and_who_has_left_says_so(tmp_path: Path) -> None:
    """S1-20: S4 comes late; the first try of the others is stopped, and begun again."""
    _left_over(tmp_path, OLD)

    async def story() -> None:
        stopping = asyncio.Event()
        others = asyncio.ensure_future(_change(tmp_path, SERVERS[:3], NEW, stopping))
        done, _ = await asyncio.wait([others], timeout=1.0)
        assert not done
        stopping.set()
        assert await others == [False] * 3
        with pytest.raises(FabricError, match="S1 has begun to finish these domains"):
            Journal(tmp_path / "S1.journal", "S1", OLD.fingerprint)
        assert await _change(tmp_path, SERVERS, NEW, asyncio.Event()) == [True] * 4

    asyncio.run(asyncio.wait_for(story(), 200))
    assert old_domains(tmp_path / "S1.journal", loopback(NEW)) is None


def test_who_was_killed_just_before_it_left_asks_the_others(tmp_path: Path) -> None:
    """S1-20: all but S2 have left.  It is a neighbour that S1 dials, and S1 dials no more: S2 asks."""
    for name in SERVERS:
        journal = Journal(tmp_path / f"{name}.journal", name, OLD.fingerprint, "NORMAL", OLD, finishing=True)
        if name != "S2":
            journal.leave(OLD, NEW)
        journal.close()

    async def story() -> None:
        from weft.host.mesh.mesh import Mesh

        domains = loopback(NEW)
        left = [
            Mesh(domains, name, lambda text: None, SETTINGS, tmp_path / f"{name}.journal")
            for name in ("S1", "S3")
        ]
        for mesh in left:
            await mesh.start()
        journal = tmp_path / "S2.journal"
        assert await change_over(
            domains, "S2", lambda text: None, SETTINGS, journal, tmp_path, asyncio.Event()
        )
        for mesh in left:
            await mesh.stop()

    asyncio.run(asyncio.wait_for(story(), 200))
    found = topology_of(tmp_path / "S2.journal")
    assert found == (NEW.fingerprint, NEW)


def test_a_journal_that_does_not_say_its_domains(tmp_path: Path) -> None:
    """Of an older Weft: named, with what to do; the next start under its own domains writes them down."""
    path = tmp_path / "S1.journal"
    Journal(path, "S1", OLD.fingerprint).close()
    with pytest.raises(FabricError, match="start its node once with the domains file it was written under"):
        old_domains(path, loopback(NEW))
    Journal(path, "S1", OLD.fingerprint, "NORMAL", OLD).close()
    assert old_domains(path, loopback(NEW)) == OLD
    with pytest.raises(
        FabricError, match="written under other domains; `weft serve --node S1` with the new file"
    ):
        Journal(path, "S1", NEW.fingerprint)
    fewer = Topology(SERVERS[:3], {"A": SERVERS[:3]})
    with pytest.raises(FabricError, match="lacks S4"):
        old_domains(path, loopback(fewer))


def test_the_journal_keeps_what_the_tables_in_memory_keep(tmp_path: Path) -> None:
    """`leave` and `carried_over` agree; what agents keep stays."""
    turned = Topology(SERVERS[::-1], NEW.domains)
    journal = Journal(tmp_path / "S4.journal", "S4", OLD.fingerprint, "NORMAL", OLD)
    channel = Channel(OLD, 3)
    channel.send([3], b"to myself")
    journal.commit({Port.AGENTS: channel.take_batch().changes}, {"agent/a": b"state"})
    expected = carried_over(journal.saved(Port.AGENTS), OLD, turned)
    journal.leave(OLD, turned)
    assert journal.saved(Port.AGENTS).inbox == expected.inbox == {1: (0, b"to myself")}
    assert journal.kept() == {"agent/a": b"state"}
    journal.close()
