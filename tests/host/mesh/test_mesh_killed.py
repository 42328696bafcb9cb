"""Real processes, killed at random: no loss, no duplicate, no reorder, from the agents' own logs (S1-7, S1-8)."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.node_processes import NodeProcess, ended, wait_until, write_file
from weft.fabric import Topology
from weft.host.carrier import Port
from weft.host.files.cbor import decode
from weft.host.mesh.journal import Journal

SERVERS = ("S1", "S2", "S3", "S4", "S5", "S6")
MESSAGES = 30
TOPOLOGY = Topology(SERVERS, {"A": ("S1", "S2", "S3"), "B": ("S3", "S4"), "C": ("S4", "S5", "S6")})


def _quiet(nodes: list[NodeProcess]) -> bool:
    return all(node.status and not node.status["backlog"] and not node.status["waiting"] for node in nodes)


def _busy(nodes: list[NodeProcess]) -> bool:
    """Each has got a good number of messages since it was started."""
    return all(node.status and node.status["received"] >= MESSAGES for node in nodes)


def _heard_at_rest(nodes: list[NodeProcess]) -> list[int]:
    """Once each has told anew that it has nothing left to do: how many messages each has received."""
    seen = [node.statuses for node in nodes]
    wait_until(
        lambda: _quiet(nodes) and all(n.statuses > was + 1 for n, was in zip(nodes, seen, strict=True)),
        "everything has arrived",
    )
    return [node.status["received"] for node in nodes]


def _logs(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for server in SERVERS:
        journal = Journal(folder / "journal" / f"{server}.journal", server, TOPOLOGY.fingerprint)
        for port in Port:
            saved = journal.saved(port)
            assert not saved.out, f"{server} still has to send"
            assert not saved.inbox, f"{server} still has to react"
            assert not saved.waiting, f"{server} still waits"
        assert not journal.kept("dead/")
        found[f"Walker@{server}"] = decode(journal.kept("agent/")["agent/Walker"])
        journal.close()
    return found


def _run(folder: Path, rounds: int, seed: int) -> None:
    write_file(folder, TOPOLOGY)
    chance = random.Random(seed)
    enough = folder / "enough"
    environment = {"WALK_UNTIL": str(enough), "WALK_PEERS": ",".join(SERVERS)}
    more = ("--agents", "support.checking_agents:Walker", "--journal", "journal")
    nodes = [NodeProcess(folder, name, *more, environment=environment) for name in SERVERS]
    kills = 0
    with ended(nodes):
        for node in nodes:
            node.start()
        wait_until(lambda: all(node.status for node in nodes), "all nodes run")
        for _ in range(rounds):
            victims = chance.sample(nodes, chance.choice((1, 1, 2)))
            wait_until(partial(_busy, victims), "the victims are at work")
            for node in victims:
                node.kill()
                kills += 1
            for node in victims:
                node.start()
        wait_until(partial(_busy, nodes), "all nodes are at work again")
        enough.touch()
        # Nodes tell of themselves one after the other, and a message may pass between: rest is when nothing came meanwhile.
        heard_before: list[int] = []
        while (heard_now := _heard_at_rest(nodes)) != heard_before:
            heard_before = heard_now
        assert [node.stop() for node in nodes] == [0] * len(nodes)
    logs = _logs(folder)
    heard = 0
    for name, log in logs.items():
        assert log["wrong"] == []
        for peer, count in log["sent"].items():
            assert logs[peer]["heard"].get(name, 0) == count, f"{name} to {peer}"
            heard += count
    assert kills >= rounds
    assert heard >= MESSAGES * len(SERVERS)
    print(f"{heard} messages, {kills} kills")


def test_six_nodes_killed_at_random(tmp_path: Path) -> None:
    """A mesh of six nodes under load while nodes are killed and restarted."""
    _run(tmp_path, 4, 1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_six_nodes_killed_again_and_again(tmp_path: Path) -> None:
    """A mesh of six nodes under load while nodes are killed with SIGKILL and restarted, forty times and more."""
    _run(tmp_path, 40, 2)
