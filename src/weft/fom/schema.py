"""Which elements OMT XML has, 2010 and 2025 together.

`KEPT` names the children that are read, per element, in the order of the schema; `IGNORED` those that are
known and say nothing to a run-time infrastructure (prose, points of contact, notes).  Anything else is a
warning, and so is a wrong order, an element of the other edition, or no text where the schema wants some.
The same tag may mean two things in two places ("dimension", "enumerator"); the table holds both.
"""

from __future__ import annotations

NAMESPACES = {
    "http://standards.ieee.org/IEEE1516-2025": "2025",
    "http://standards.ieee.org/IEEE1516-2010": "2010",
    "http://www.sisostds.org/schemas/IEEE1516-2010": "2010",
    "": "",
}
NAMESPACE_2025 = "http://standards.ieee.org/IEEE1516-2025"


def _row(text: str) -> dict[str, int]:
    return {tag: position for position, tag in enumerate(text.split())}


TAGS = _row(
    "updateReflectTag sendReceiveTag deleteRemoveTag divestitureRequestTag divestitureCompletionTag"
    " acquisitionRequestTag requestUpdateTag"
)
SWITCHES = _row(
    "autoProvide conveyRegionDesignatorSets conveyProducingFederate attributeScopeAdvisory"
    " attributeRelevanceAdvisory objectClassRelevanceAdvisory interactionRelevanceAdvisory serviceReporting"
    " exceptionReporting delaySubscriptionEvaluation nonRegulatedGrant automaticResignAction allowRelaxedDDM"
    " advisoriesUseKnownClass sendServiceReportsToFile"
)
_TIME_2025 = {"logicalTime": "time_stamp", "logicalTimeInterval": "lookahead"}
_TIME_2010 = {"timeStamp": "time_stamp", "lookahead": "lookahead"}
TIMES = _TIME_2025 | _TIME_2010

_TYPE_TABLES = {
    "basicDataRepresentations": "basicData",
    "simpleDataTypes": "simpleData",
    "referenceDataTypes": "referenceDataType",
    "enumeratedDataTypes": "enumeratedData",
    "arrayDataTypes": "arrayData",
    "fixedRecordDataTypes": "fixedRecordData",
    "variantRecordDataTypes": "variantRecordData",
}

KEPT: dict[str, dict[str, int]] = {
    "objectModel": _row(
        "modelIdentification objects interactions dimensions time tags synchronizations transportations"
        " switches updateRates dataTypes"
    ),
    "modelIdentification": _row(
        "name type version modificationDate securityClassification copyright releaseRestriction purpose"
        " applicationDomain description useLimitation useHistory keyword poc reference other glyph"
    ),
    "poc": _row("pocType pocName pocOrg pocTelephone pocEmail"),
    "objects": _row("objectClass"),
    "objectClass": _row("name sharing directedInteraction dimensions attribute objectClass"),
    "directedInteraction": _row("name sharing"),
    "attribute": _row(
        "name dataType updateType updateCondition valueRequired ownership sharing dimensions"
        " transportation order"
    ),
    "interactions": _row("interactionClass"),
    "interactionClass": _row("name sharing dimensions transportation order parameter interactionClass"),
    "parameter": _row("name dataType"),
    "dimensions": _row("dimension"),
    "dimension": _row("name dataType inputDataTypes upperBound normalization value"),
    "inputDataTypes": _row("dataType"),
    "time": _row(" ".join(TIMES)),
    "tags": TAGS,
    "synchronizations": _row("synchronizationPoint synchronization"),
    "synchronizationPoint": _row("label dataType capability"),
    "synchronization": _row("label dataType capability"),
    "transportations": _row("transportation"),
    "transportation": _row("name reliable"),
    "switches": SWITCHES,
    "updateRates": _row("updateRate"),
    "updateRate": _row("name rate"),
    "dataTypes": _row(" ".join(_TYPE_TABLES)),
    "basicData": _row("name size interpretation endian encoding"),
    "simpleData": _row("name representation units resolution accuracy"),
    "referenceDataType": _row("name representation referenceClass referencedClass referencedAttribute"),
    "enumeratedData": _row("name representation enumerator"),
    "enumerator": _row("name value"),
    "arrayData": _row("name dataType cardinality encoding"),
    "fixedRecordData": _row("name encoding include field"),
    "field": _row("name dataType version"),
    "variantRecordData": _row("name discriminant dataType alternative encoding"),
    "alternative": _row("enumerator name dataType"),
}
KEPT |= {table: _row(row) for table, row in _TYPE_TABLES.items()}
KEPT |= {tag: _row("dataType") for tag in (*TAGS, *TIMES)}

IGNORED: dict[str, dict[str, int]] = {tag: _row("semantics") for tag in KEPT}
IGNORED |= {
    "objectModel": _row("serviceUtilization notes"),
    "dimension": _row("inputDataDescription outputDataSemantics"),
    "keyword": _row("taxonomy keywordValue"),
    "reference": _row("type identification"),
}

ONLY_2025 = {
    "modelIdentification": "copyright",
    "objectClass": "directedInteraction dimensions",
    "attribute": "valueRequired",
    "dimension": "inputDataTypes",
    "time": "logicalTime logicalTimeInterval",
    "switches": "nonRegulatedGrant allowRelaxedDDM advisoriesUseKnownClass sendServiceReportsToFile",
    "dataTypes": "referenceDataTypes",
}
ONLY_2010 = {
    "attribute": "dimensions",
    "dimension": "dataType",
    "time": "timeStamp lookahead",
    "switches": "conveyProducingFederate",
    "synchronizations": "synchronization",
}
FOREIGN = {
    edition: frozenset((parent, tag) for parent, tags in others.items() for tag in tags.split())
    for edition, others in (("2010", ONLY_2025), ("2025", ONLY_2010))
}
"""Per edition, what only the other one has, as (parent, tag)."""
INSTEAD = {
    ("attribute", "dimensions"): "name them in the <dimensions> of the <objectClass>",
    (
        "dimension",
        "dataType",
    ): "write <inputDataTypes><dataType>…</dataType></inputDataTypes>, or leave it out",
    ("time", "timeStamp"): "call it <logicalTime>",
    ("time", "lookahead"): "call it <logicalTimeInterval>",
    ("synchronizations", "synchronization"): "call it <synchronizationPoint>",
    ("dimension", "inputDataTypes"): "write <dataType>…</dataType>",
    ("time", "logicalTime"): "call it <timeStamp>",
    ("time", "logicalTimeInterval"): "call it <lookahead>",
    ("objectClass", "dimensions"): "name them in the <dimensions> of each <attribute>",
}
"""What to do about these; the rest is to be left out."""

NEVER_EMPTY = {
    tag: _row("name label pocType units resolution accuracy cardinality encoding") for tag in (*KEPT, "poc")
}
NEVER_EMPTY["modelIdentification"] = _row("name applicationDomain")
