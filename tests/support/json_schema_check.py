"""Does a value fit a JSON Schema?  As much of it as the console's description uses; anything else in a schema is an error."""

from __future__ import annotations

from typing import Any

KNOWN = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "oneOf",
    "minimum",
    "maximum",
    "$ref",
    "description",
}
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def faults(value: Any, schema: Any, root: dict[str, Any], at: str = "$") -> list[str]:
    if isinstance(schema, bool):
        return [] if schema else [f"{at} must not be there"]
    assert set(schema) <= KNOWN, f"this validator does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return faults(value, found, root, at)
    said = []
    if "type" in schema:
        kind = TYPES[schema["type"]]
        if not isinstance(value, kind) or (isinstance(value, bool) and schema["type"] != "boolean"):
            return [f"{at} is {value!r}, not of type {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        said.append(f"{at} is {value!r}, none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        said.append(f"{at} is {value!r}, not {schema['const']!r}")
    if "oneOf" in schema and sum(not faults(value, one, root, at) for one in schema["oneOf"]) != 1:
        said.append(f"{at} fits not exactly one")
    if "minimum" in schema and value < schema["minimum"]:
        said.append(f"{at} is less than {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        said.append(f"{at} is more than {schema['maximum']}")
    if isinstance(value, dict):
        said += [f"{at} lacks {name}" for name in schema.get("required", ()) if name not in value]
        known = schema.get("properties", {})
        for name, inner in value.items():
            said += faults(
                inner, known.get(name, schema.get("additionalProperties", True)), root, f"{at}.{name}"
            )
    if isinstance(value, list):
        for number, inner in enumerate(value):
            said += faults(inner, schema.get("items", True), root, f"{at}[{number}]")
    return said
