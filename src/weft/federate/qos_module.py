"""The object model module by which the MOM tells of missed deadlines: a report, and the request for it
(docs/reference/mom.md)."""

from __future__ import annotations

from typing import Final

from weft.model.records import Source

_TEXT: Final = """<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>Weft deadlines</name><type>FOM</type><version>1.0</version>
<securityClassification>unclassified</securityClassification>
<description>What the RTI tells of callbacks that federates did not deal with in time</description>
</modelIdentification>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>HLAmanager</name><interactionClass><name>HLAfederate</name>
<interactionClass><name>HLArequest</name>
<interactionClass><name>WeftRequestDeadlineMisses</name><sharing>Subscribe</sharing>
<dimensions><dimension>HLAfederate</dimension></dimensions>
<transportation>HLAreliable</transportation><order>Receive</order>
<semantics>Answered by a report for each class of which a deadline was missed, or one without a class</semantics>
</interactionClass></interactionClass>
<interactionClass><name>HLAreport</name>
<interactionClass><name>WeftReportDeadlineMisses</name><sharing>Publish</sharing>
<dimensions><dimension>HLAfederate</dimension></dimensions>
<transportation>HLAreliable</transportation><order>Receive</order>
<semantics>Sent at each miss, and when asked for; times in microseconds, 0 when asked for</semantics>
<parameter><name>WeftClass</name><dataType>HLAunicodeString</dataType></parameter>
<parameter><name>WeftSender</name><dataType>HLAunicodeString</dataType></parameter>
<parameter><name>WeftDeadline</name><dataType>HLAcount</dataType></parameter>
<parameter><name>WeftLate</name><dataType>HLAcount</dataType></parameter>
<parameter><name>WeftMisses</name><dataType>HLAcount</dataType></parameter>
<parameter><name>WeftMissesInAll</name><dataType>HLAcount</dataType></parameter>
</interactionClass></interactionClass>
</interactionClass></interactionClass></interactionClass></interactions>
</objectModel>
"""

QOS_MODULE: Final = Source("WeftDeadlines.xml", _TEXT.encode())
