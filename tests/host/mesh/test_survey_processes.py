"""Surveys of a mesh of processes: each node tells of its own federates, and together they tell everything (issue 9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host.mesh.test_mesh_federation import PLACES, settled
from host.server.test_survey_served import FIRE, watcher
from support.node_processes import NodeProcess, ended, write_file
from support.server_in_thread import Talker, eventually
from support.surveys import asked
from weft import HLAfloat64Time, RTIambassador


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[dict[str, tuple[str, RTIambassador]]]:
    """Where federates connect, and one who only looks, by node."""
    write_file(tmp_path, PLACES)
    nodes = {name: NodeProcess(tmp_path, name) for name in PLACES.servers}
    with ended(list(nodes.values())):
        for node in nodes.values():
            node.start()
        places = {name: settled(node) for name, node in nodes.items()}
        made = {name: (place, watcher(place)) for name, place in places.items()}
        yield made
        for _, rti in made.values():
            rti.disconnect()


def test_a_mesh_is_known_by_asking_all_its_nodes(looks: dict[str, tuple[str, RTIambassador]]) -> None:
    home, far = Talker(looks["S1"][0]), Talker(looks["S3"][0])
    for number in range(20):
        home.say(b"%d" % number)
    assert len(far.listen(20)) == 20

    def surveys() -> dict[str, dict[str, Any]]:
        return {name: asked(rti) for name, (_, rti) in looks.items()}

    found = surveys()
    assert [one["node"] for one in found.values()] == list(PLACES.servers)
    assert found["S2"]["federations"] == {}  # it only passes messages on
    assert found["S2"]["fabric"]["links"]["S3"]["sent"] >= 20
    assert found["S3"]["fabric"]["links"]["S2"]["received"] >= 20
    here, there = (found[name]["federations"]["F"] for name in ("S1", "S3"))
    assert (here["home"], there["home"]) == ("S1", "S1")
    first, second = here["federates"]
    assert [one["node"] for one in there["federates"].values()] == ["S1", "S3"]
    assert "calls" in here["federates"][first]
    assert "calls" not in there["federates"][first]
    assert there["federates"][second]["callbacks"] >= 20
    assert (here["classes"][FIRE]["sent"], here["classes"][FIRE]["received"]) == (20, 0)
    assert (there["classes"][FIRE]["sent"], there["classes"][FIRE]["received"]) == (0, 20)
    assert here["classes"][FIRE]["subscribers"] == there["classes"][FIRE]["subscribers"] == [first, second]
    assert there["channels"]["0"]["received"] == 20
    for one in found.values():
        assert one["recording"] == {"on": False}
        assert one["fabric"]["unreachable"] == {}
    for talker in (home, far):
        talker.take_part_in_time()
    assert eventually(
        lambda: (
            not any(
                "pending" in one
                for survey in surveys().values()
                for federation in survey["federations"].values()
                for one in federation["federates"].values()
            )
        )
    )
    far.rti.time_advance_request(HLAfloat64Time(5.0))

    def blocked(node: str) -> Any:
        return surveys()[node]["federations"]["F"]["federates"][second].get("blocked_by")

    # Its own node and the home know whom it waits for.
    assert eventually(lambda: blocked("S3") == [first])
    assert eventually(lambda: blocked("S1") == [first])
    home.rti.leave()
    far.rti.leave()
