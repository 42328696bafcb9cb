"""What stands before a fragment: the page shows a few lines, and a reader knows what the names in them are."""

from __future__ import annotations

HARBOUR = """
import json
from pathlib import Path

import weft
from weft import *
from weft import CallbackModel, OrderType

state = {"fuel": 3}
"""

JOINED = (
    HARBOUR
    + """
ambassador = FederateAmbassador()
rti = RTIambassador()
"""
)

SAVING = (
    HARBOUR
    + """
tugboat = weft.join("Saving", "tugboat", fom="harbour.xml", host=weft.EmbeddedNode(save_directory="saves"))
tugboat.join()
tugboat.register("Tug", "Bollard")
"""
)

TIMED = """
from importlib.resources import files

from weft import *
from weft import CallbackModel, OrderType

model = str(files("weft.cli.data") / "range.xml")
node = EmbeddedNode()
rti, other = RTIambassador(node), RTIambassador(node)
for name, one in (("fast", rti), ("slow", other)):
    one.connect(FederateAmbassador(), CallbackModel.EVOKED)
    if one is rti:
        one.create_federation_execution("Timed", [model], "HLAfloat64Time")
    one.join_federation_execution(name, "test", "Timed")
fire = rti.get_interaction_class_handle("HLAinteractionRoot.Fire")
rti.publish_interaction_class(fire)
values = {}
"""

REGULATING = (
    TIMED
    + """
for one in (rti, other):
    one.enable_time_regulation(HLAfloat64Interval(1.0))
    one.enable_time_constrained()
    one.evoke_multiple_callbacks(0.0, 1.0)
"""
)

WAITING = REGULATING + "\nrti.time_advance_request(HLAfloat64Time(5.0))\n"

AREAS = """
import weft
from weft import *
from weft import CallbackModel
from weft.model.records import RangeBounds

CLASSES = '''<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <modelIdentification><name>Areas</name><type>FOM</type></modelIdentification>
  <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Tank</name><sharing>PublishSubscribe</sharing>
    <attribute><name>Position</name><dataType>HLAASCIIstring</dataType><dimensions><dimension>X</dimension></dimensions>
      <transportation>HLAreliable</transportation><order>TimeStamp</order></attribute></objectClass></objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Fire</name>
    <sharing>PublishSubscribe</sharing><dimensions><dimension>X</dimension></dimensions>
    <transportation>HLAreliable</transportation><order>TimeStamp</order></interactionClass></interactionClass></interactions>
  <dimensions><dimension><name>X</name><dataType>HLAinteger32BE</dataType><upperBound>100</upperBound>
    <value>Excluded</value></dimension></dimensions>
</objectModel>'''
rti = RTIambassador(EmbeddedNode())
rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
rti.create_federation_execution("Areas", [Source("areas.xml", CLASSES.encode())], "HLAinteger64Time")
rti.join_federation_execution("radar", "test", "Areas")
rti.enable_time_regulation(HLAinteger64Interval(1))
rti.evoke_multiple_callbacks(0.0, 1.0)
tank, fire = rti.get_object_class_handle("Tank"), rti.get_interaction_class_handle("Fire")
position = rti.get_attribute_handle(tank, "Position")
x = rti.get_dimension_handle("X")
sight = rti.create_region({x})
rti.set_range_bounds(sight, x, RangeBounds(0, 10))
rti.commit_region_modifications({sight})
rti.subscribe_interaction_class_with_regions(fire, {sight})
"""

DECLARED = (
    AREAS.replace("EmbeddedNode()", 'EmbeddedNode(declarations="timed")')
    + "signal, beacon, light = fire, tank, position\n"
)

ABOVE = """
from importlib.resources import files

import weft
from weft import CallbackModel, FederateAmbassador, RTIambassador

first = RTIambassador()
first.connect(FederateAmbassador(), CallbackModel.EVOKED, "rti.example.org:15164")
first.create_federation_execution("range", [str(files("weft.cli.data") / "range.xml")])
my_federate_ambassador = FederateAmbassador()
"""

ALONE_ON_A_MESH = """
import sys
from pathlib import Path

sys.argv = ["federate.py", "S1"]
Path("domains.toml").write_text('''[servers]
S1 = "127.0.0.1:PORT1"
S2 = "127.0.0.1:PORT2"

[domains]
A = ["S1", "S2"]
''')
"""

FRAGMENTS = {
    ("docs/explanation/ddm-sync.md", "rti.set_range_bounds(sight, x, RangeBounds(35, 45))"): AREAS,
    (
        "docs/explanation/ddm-sync.md",
        "rti.subscribe_interaction_class(signal, time=HLAinteger64Time(10))",
    ): DECLARED,
    (
        "docs/explanation/ordering.md",
        "rti = weft.CausalRTIambassador()  # instead of weft.RTIambassador()",
    ): ABOVE,
    ("docs/how-to/serving.md", 'rti.connect(ambassador, CallbackModel.EVOKED, "127.0.0.1:15164")'): JOINED,
    ("docs/how-to/serving.md", "import sys, weft"): ALONE_ON_A_MESH,
    ("docs/how-to/serving.md", "import weft"): "",
    ("docs/how-to/serving.md", "@tugboat.on_save"): SAVING,
    (
        "docs/explanation/time.md",
        "rti.enable_time_regulation(HLAfloat64Interval(0.1))  # callback: time_regulation_enabled",
    ): TIMED,
    ("docs/explanation/time.md", "print(rti.query_blocking())"): WAITING,
    ("docs/explanation/time.md", 'rti.request_federation_save("noon", HLAfloat64Time(10.0))'): REGULATING,
}
"""By document and first line of the block."""
