"""Nodes of real processes that use multicast groups, in a network of the test's own (S2-5)."""

from __future__ import annotations

import json
from pathlib import Path

from support.network_namespace import run_apart

PROGRAM = """
import json, sys, time
from pathlib import Path
import weft
from weft import CallbackModel, FederateAmbassador, RTIambassador, RtiConfiguration
from weft.host.in_process import mesh_nodes
from support.strategy_federates import FED

folder = Path(sys.argv[1])

class Ears(FederateAmbassador):
    def __init__(self):
        self.heard = []
    def reflect_attribute_values(self, instance, values, tag, *rest, **more):
        self.heard.append(tag.decode())

def joined(server):
    rti, ears = RTIambassador(), Ears()
    extra = f"Weft.settings={folder / 'settings.toml'}\\nWeft.journal=none"
    address = f"mesh://{server}@{folder / 'domains.toml'}"
    rti.connect(ears, CallbackModel.EVOKED, RtiConfiguration(rti_address=address, additional_settings=extra))
    if server == "S1":
        rti.create_federation_execution("paper", [FED])
    rti.join_federation_execution(server, "test", "paper")
    return rti, ears

made = [joined(server) for server in ("S1", "S2", "S3")]

def until(condition, what):
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end, what
        for rti, _ in made:
            rti.evoke_multiple_callbacks(0.001, 0.01)

(one, ears_one), (two, ears_two), (three, ears_three) = made
cls = three.get_object_class_handle("C")
attribute = three.get_attribute_handle(cls, "x")
dimensions = [three.get_dimension_handle(f"3D.{name}") for name in "xyz"]
half = 1 << 31

def region(rti, lower, upper):
    handle = rti.create_region(set(dimensions))
    for dimension in dimensions:
        rti.set_range_bounds(handle, dimension, weft.RangeBounds(lower, upper))
    rti.commit_region_modifications({handle})
    return handle

one.subscribe_object_class_attributes_with_regions(cls, [({attribute}, {region(one, 0, half)})])
two.subscribe_object_class_attributes_with_regions(cls, [({attribute}, {region(two, half, 2 * half - 1)})])
three.publish_object_class_attributes(cls, {attribute})
low = three.register_object_instance_with_regions(cls, [({attribute}, {region(three, 0, half)})])
both = three.register_object_instance(cls)
nodes = {key[0]: node for key, (_, node) in mesh_nodes._nodes.items()}
groups = lambda node: node._mesh._casting._groups.listening()
nodes = {node.name: node for _, node in mesh_nodes._nodes.values()}
until(lambda: len(groups(nodes["S1"])) == 2 and len(groups(nodes["S2"])) == 2, "groups")
for number in range(20):
    three.update_attribute_values(low, {attribute: b"v"}, b"low %d" % number)
    three.update_attribute_values(both, {attribute: b"v"}, b"both %d" % number)
until(lambda: "both 19" in ears_one.heard and "both 19" in ears_two.heard, "updates")
big = bytes(2000)
three.update_attribute_values(low, {attribute: big}, b"big")
until(lambda: "big" in ears_one.heard, "a value that fits into no datagram")
print(json.dumps({
    "groups": {name: groups(node) for name, node in nodes.items()},
    "heard": [sorted(ears_one.heard), sorted(ears_two.heard)],
    "sent": [rti.query_survey(["fabric"])["fabric"] for rti, _ in made],
}))
for rti, _ in made:
    rti.resign_federation_execution(weft.ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
weft.stop_node()
"""

DOMAINS = """
[servers]
S1 = "127.0.0.1:9501"
S2 = "127.0.0.1:9502"
S3 = "127.0.0.1:9503"
[domains]
D = ["S1", "S2", "S3"]
"""

RID = """
(RTI
  (DataDistribution
    (StrategyToUse StaticGridPartitioned)
    (NumPartitionsPerDimension 2)
    (BestEffortChannelType UDPmulticast))
  (Networking (MulticastOptions (BaseAddress 239.7.0.0) (MaxAddress 239.7.0.255))))
"""


def test_three_nodes_and_their_groups(tmp_path: Path) -> None:
    """S2-5, S2-9, S2-14: whoever listens to a channel gets it, once; nobody else; what does not fit goes another way."""
    (tmp_path / "domains.toml").write_text(DOMAINS)
    (tmp_path / "grid.rid").write_text(RID)
    settings = f'[serve]\nrun_directory = "{tmp_path}"\n[ddm]\nrid = "{tmp_path / "grid.rid"}"\nmulticast_port = 9600\n'
    (tmp_path / "settings.toml").write_text(settings)
    result = json.loads(run_apart(PROGRAM, str(tmp_path)).splitlines()[-1])
    assert result["groups"] == {
        "S1": ["239.7.0.0", "239.7.0.7"],
        "S2": ["239.7.0.0", "239.7.0.14"],
        "S3": ["239.7.0.0"],
    }
    one, two = result["heard"]
    assert one == sorted(["big", *(f"{kind} {n}" for kind in ("both", "low") for n in range(20))])
    assert two == sorted(f"both {n}" for n in range(20))
    counted = [(one["group_datagrams"], one["group_bytes"]) for one in result["sent"]]
    assert counted[:2] == [(0, 0), (0, 0)]
    datagrams, sent_bytes = counted[2]
    assert 40 <= datagrams <= 20 + 20 * 8  # one for each group that is listened to
    assert sent_bytes > 22 * datagrams  # at least the head
