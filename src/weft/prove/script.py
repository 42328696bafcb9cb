"""A script: calls that several federates make one after another, as plain data.

The text form has one JSON object a line, so that anything that can read lines can carry one out:

    {"weft": "script", "seed": 7, "federates": 3, "time": "HLAinteger64Time"}
    {"federate": 0, "call": "register_object_instance", "with": ["HLAobjectRoot.Ship"], "as": "o1"}
    {"federate": 0, "call": "update_attribute_values", "with": ["o1", {"Name": "x"}, "tag"], "hurry": true}

Handles stand under names: classes and the like under their own, what a call returns under the one that `as` gives it.
After each call everybody rests until nothing more comes; `hurry` leaves that out, and the next call follows at once.
`"declarations": "timed"` in the first line: worlds are started with this setting (`ddm.declarations`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TypeAlias

from weft.model.errors import SettingsError
from weft.model.json_types import Json

HeardCallback: TypeAlias = list[Json]
"""A callback in names: its method, then what it has."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    federate: int
    call: str
    arguments: tuple[Json, ...] = ()
    name: str = ""  # by which later steps call what this one returns
    hurry: bool = False

    def text(self) -> str:
        line: dict[str, Json] = {"federate": self.federate, "call": self.call, "with": list(self.arguments)}
        if self.name:
            line["as"] = self.name
        if self.hurry:
            line["hurry"] = True
        return json.dumps(line)


@dataclass(frozen=True, slots=True)
class Script:
    seed: int
    federates: int
    time: str
    steps: tuple[ScriptedCall, ...] = ()
    declarations: str = ""  # which go by logical time: "timed", "regulating", or only those with dimensions

    def text(self) -> str:
        head: dict[str, Json] = {
            "weft": "script", "seed": self.seed, "federates": self.federates, "time": self.time,
        }  # fmt: skip
        if self.declarations:
            head["declarations"] = self.declarations
        return "\n".join([json.dumps(head), *(step.text() for step in self.steps)]) + "\n"

    def with_steps(self, steps: list[ScriptedCall] | tuple[ScriptedCall, ...]) -> Script:
        return replace(self, steps=tuple(steps))


def read_script(text: str, name: str = "the script") -> Script:
    """Of its text form; empty lines and those that begin with # are passed over."""
    found: list[ScriptedCall] = []
    head: Script | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            one = json.loads(line)
            if head is None:
                if one["weft"] != "script":
                    raise KeyError("weft")
                head = Script(
                    int(one["seed"]),
                    int(one["federates"]),
                    str(one["time"]),
                    declarations=str(one.get("declarations", "")),
                )
            else:
                found.append(
                    ScriptedCall(
                        int(one["federate"]),
                        str(one["call"]),
                        tuple(one.get("with", ())),
                        one.get("as", ""),
                        bool(one.get("hurry", False)),
                    )
                )
        except (ValueError, KeyError, TypeError) as error:
            raise SettingsError(f"{name}, line {number}: this is no step of a script ({error!r})") from None
    if head is None:
        raise SettingsError(
            f'{name} is empty; its first line is {{"weft": "script", "seed": …, "federates": …, "time": …}}'
        )
    return head.with_steps(found)
