"""A save and a restore in the middle of a script: what follows must be as if there had been none.

The law: a federation that was restored behaves as the one that was saved.  Between the two everybody does something that the
restore has to undo.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence

from weft.prove.compare import reflected
from weft.prove.knowledge import AuthorKnowledge
from weft.prove.player import CallRecord
from weft.prove.script import HeardCallback, Script, ScriptedCall

LABEL = "middle"
_TOLD = ("federation_saved", "federation_restored")
# What the MOM says of saves is different afterwards, as it should be; and who is time-constrained may hear of it late.
_OF_SAVES = frozenset(
    ["HLAlastSaveName", "HLAlastSaveTime", "HLAnextSaveName", "HLAnextSaveTime", "HLAfederateState"]
)


def places(script: Script, seen: Sequence[CallRecord]) -> list[tuple[int, list[int]]]:
    """Before which steps it can stand, with who is joined then."""
    known = AuthorKnowledge(script.federates)
    found = []
    scheduled = False  # a save at a time, which a further request would take the place of
    for number, one in enumerate(seen):
        known.saw(one)
        if one.step.call == "request_federation_save" and not one.error:
            scheduled = len(one.step.arguments) > 1
        joined = known.joined()
        scheduled = scheduled and not known.is_saving()
        calm = not (scheduled or known.is_saving() or known.is_restoring() or one.step.hurry)
        if calm and joined and all(known.of[who].connected for who in joined):
            found.append((number + 1, joined))
    return found


def with_interlude(script: Script, seen: Sequence[CallRecord], seed: int) -> tuple[Script, int, int] | None:
    """The script with a save and a restore in it, where that begins and how many steps it has."""
    chance = random.Random(seed)
    found = [place for place in places(script, seen) if len(place[1]) > 1]
    if not found:
        return None
    at, joined = chance.choice(found)
    steps = [ScriptedCall(chance.choice(joined), "request_federation_save", (LABEL,))]
    steps += [ScriptedCall(who, "federate_save_begun") for who in chance.sample(joined, len(joined))]
    steps += [ScriptedCall(who, "federate_save_complete") for who in chance.sample(joined, len(joined))]
    steps += _deeds(chance, seen[:at], joined)
    steps += [ScriptedCall(chance.choice(joined), "request_federation_restore", (LABEL,))]
    steps += [ScriptedCall(who, "federate_restore_complete") for who in chance.sample(joined, len(joined))]
    return script.with_steps((*script.steps[:at], *steps, *script.steps[at:])), at, len(steps)


def _deeds(chance: random.Random, seen: Sequence[CallRecord], joined: list[int]) -> list[ScriptedCall]:
    """Steps of before, made again by whoever is there; none that changes who is."""
    kept = [
        one.step
        for one in seen
        if one.step.federate in joined
        and not one.step.hurry
        and not one.error
        and one.step.call.startswith(_AGAIN)
    ]
    return [
        ScriptedCall(step.federate, step.call, step.arguments, f"undone{number}" if step.name else "")
        for number, step in enumerate(chance.sample(kept, min(len(kept), 6)))
    ]


_AGAIN = (
    "register_object_instance", "update_attribute_values", "delete_object", "publish", "unpublish", "subscribe", "unsubscribe",
    "send_directed", "enable_time", "time_advance", "set_", "commit", "change", "unconditional", "attribute_ownership",
)  # fmt: skip


def without_interlude(seen: Sequence[CallRecord], at: int, count: int) -> list[CallRecord] | None:
    """What was seen of the script itself; None if the save or the restore did not come about."""
    inside = seen[at : at + count]
    for wanted in _TOLD:
        if not any(
            callback[0] == wanted for one in inside for heard in one.heard.values() for callback in heard
        ):
            return None
    return [*seen[:at], *seen[at + count :]]


def masked(seen: Sequence[CallRecord], at: int) -> list[CallRecord]:
    """Without what must differ after that step: there was a save, and the MOM says so (11.2)."""
    made = list(seen[:at])
    for one in seen[at:]:
        again = copy.copy(one)
        again.heard = {who: kept for who, heard in one.heard.items() if (kept := _masked(heard))}
        made.append(again)
    return made


def _masked(heard: list[HeardCallback]) -> list[HeardCallback]:
    made: list[HeardCallback] = []
    for callback in heard:
        values = reflected(callback) if callback[0] == "reflect_attribute_values" else {}
        if not _OF_SAVES.intersection(values):
            made.append(callback)
        elif not _OF_SAVES.issuperset(values):
            kept = {name: "…" if name in _OF_SAVES else value for name, value in values.items()}
            made.append([*callback[:2], kept, *callback[3:]])
    return made
