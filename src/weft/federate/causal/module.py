"""The object model module of the middleware: one interaction class and one object class of its own."""

from __future__ import annotations

from typing import Final

from weft.model.records import Source

INTERACTION: Final = "HLAinteractionRoot.WeftCausalOrder"
PARAMETER: Final = "Notice"
OBJECT: Final = "HLAobjectRoot.WeftCausalMember"
ATTRIBUTE: Final = "Identity"
FEDERATE: Final = "HLAobjectRoot.HLAmanager.HLAfederate"
FEDERATE_ATTRIBUTE: Final = "HLAfederateHandle"

_TEXT: Final = """<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>Weft causal order</name><type>FOM</type><version>1.0</version>
<securityClassification>unclassified</securityClassification>
<description>What the members of a causal group tell one another; no federate has to know of it</description>
</modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>WeftCausalMember</name><sharing>PublishSubscribe</sharing>
<semantics>One for each member; the tag of its deletion says how many messages there were</semantics>
<attribute><name>Identity</name><dataType>HLAopaqueData</dataType><updateType>Static</updateType>
<updateCondition>NA</updateCondition><ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing>
<transportation>HLAreliable</transportation><order>Receive</order></attribute>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>WeftCausalOrder</name><sharing>PublishSubscribe</sharing>
<transportation>HLAreliable</transportation><order>Receive</order>
<semantics>A notice to all members: who joins, and which messages were sent</semantics>
<parameter><name>Notice</name><dataType>HLAopaqueData</dataType></parameter>
</interactionClass></interactionClass></interactions>
</objectModel>
"""

CAUSAL_MODULE: Final = Source("WeftCausalOrder.xml", _TEXT.encode())
