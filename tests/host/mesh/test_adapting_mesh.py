"""Partitions that change in a mesh of real servers (S2-23): by its clocks, links and parcels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.mesh_of_servers import serving_mesh
from support.server_in_thread import eventually
from support.small_fom import DIMENSION, fom
from weft import CallbackModel, FederateAmbassador, RangeBounds, ResignAction, RTIambassador, RtiConfiguration
from weft.fabric import Topology
from weft.host.settings import MeshDdmSettings

THREE = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2", "S3")})
RID = """(RTI (DataDistribution (StrategyToUse AdaptivePartitioned)
  (AdaptivePartitionedStrategyOptions (ReportInterval 0.05) (MinimumMessages 30))))"""
HALT = "HLAinteractionRoot.Command.Halt"  # reliable


class Gunner(FederateAmbassador):
    """Fires in one lane, and hears of shots in the next."""

    def __init__(self, address: str, number: int) -> None:
        self.heard: list[bytes] = []
        self.rti = RTIambassador()
        self.rti.connect(self, CallbackModel.IMMEDIATE, RtiConfiguration("", address))
        if number == 0:
            self.rti.create_federation_execution("Range", [fom()])
        self.rti.join_federation_execution(f"gunner {number}", "gunner", "Range")
        self.fire = self.rti.get_interaction_class_handle(HALT)
        self.rti.publish_interaction_class(self.fire)
        self.lane = self._region(number)
        self.rti.subscribe_interaction_class_with_regions(self.fire, {self._region((number + 1) % 3)})

    def _region(self, number: int) -> Any:
        lane = self.rti.get_dimension_handle(DIMENSION)
        region = self.rti.create_region({lane})
        self.rti.set_range_bounds(region, lane, RangeBounds(5 * number, 5 * number + 5))
        self.rti.commit_region_modifications({region})
        return region

    def receive_interaction(self, *arguments: Any, **_: Any) -> None:
        self.heard.append(arguments[2])

    def shoot(self, tag: bytes) -> None:
        self.rti.send_interaction_with_regions(self.fire, {}, {self.lane}, tag)


def test_partitions_change_under_way(tmp_path: Path) -> None:
    """S2-23: a message went to two nodes, then to the one that wants it; each is heard once, whenever it was sent."""
    (tmp_path / "adaptive.rid").write_text(RID)
    with serving_mesh(THREE, ddm=MeshDdmSettings(rid=str(tmp_path / "adaptive.rid"))) as servers:
        gunners = [Gunner(servers[name].address(), number) for number, name in enumerate(servers)]
        sent: list[list[bytes]] = [[], [], []]

        def fired() -> dict[str, Any]:
            """All fire; what the home says of its partitions."""
            for number, gunner in enumerate(gunners):
                tag = b"%d" % len(sent[number])
                gunner.shoot(tag)
                sent[number].append(tag)
            (told,) = gunners[0].rti.query_survey()["federations"].values()
            return dict(told["adaptation"])

        assert eventually(lambda: fired()["changes"] == 1)
        assert eventually(lambda: "obtained" in fired())
        facts = fired()
        assert facts["predicted"]["before"] == 2.0
        assert facts["predicted"]["after"] == facts["obtained"]["after"] == 1.0
        assert eventually(lambda: all(len(g.heard) >= len(sent[(n + 1) % 3]) for n, g in enumerate(gunners)))
        for number, gunner in enumerate(gunners):
            assert gunner.heard == sent[(number + 1) % 3]
            gunner.rti.resign_federation_execution(ResignAction.NO_ACTION)
            gunner.rti.disconnect()
