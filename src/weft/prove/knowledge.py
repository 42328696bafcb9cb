"""What an author knows of each federate, from what its calls returned and what it heard.

Light on purpose: it decides only which call is worth making next.  Where it is wrong, the refusal is a result like any other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from weft.fom import PRIVILEGE_TO_DELETE
from weft.model.json_types import Json
from weft.prove.player import CallRecord
from weft.prove.script import HeardCallback
from weft.prove.signatures import ADVANCES

_SENDING = (
    "update_attribute_values",
    "send_interaction",
    "send_directed_interaction",
    "send_interaction_with_regions",
)
_ASKING = (
    "request_attribute_ownership_release",
    "request_divestiture_confirmation",
    "request_attribute_ownership_assumption",
)


@dataclass
class Insight:
    """About one federate."""

    name: str = ""
    connected: bool = True
    joined: bool = False
    published: dict[str, set[str]] = field(default_factory=dict)
    subscribed: dict[str, set[str]] = field(default_factory=dict)
    sends: set[str] = field(default_factory=set)
    hears: set[str] = field(default_factory=set)
    directs: set[str] = field(default_factory=set)
    knows: dict[str, str] = field(default_factory=dict)  # instance: known class
    owns: dict[str, set[str]] = field(default_factory=dict)
    regions: dict[str, list[str]] = field(default_factory=dict)  # with their dimensions
    reserved: set[str] = field(default_factory=set)
    points: set[str] = field(default_factory=set)
    regulating: bool = False
    constrained: bool = False
    time: float = 0
    lookahead: float = 0
    advancing: bool = False
    retractions: list[str] = field(default_factory=list)
    acquiring: dict[str, set[str]] = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)  # to release, to assume or to confirm
    save: str = ""  # "initiated", "begun", "complete"
    restore: str = ""  # "begun", "initiated", "complete"

    def left(self) -> None:
        kept = (self.name, self.connected)
        self.__init__()  # type: ignore[misc]
        self.name, self.connected = kept


class AuthorKnowledge:
    def __init__(self, federates: int) -> None:
        self.of = [Insight(f"f{number}") for number in range(federates)]
        self.classes: dict[str, str] = {}  # of instances
        self.exists = False
        self.saves: dict[str, list[Insight]] = {}
        self.label = ""
        self.numbers = 0

    def new(self, letter: str) -> str:
        self.numbers += 1
        return f"{letter}{self.numbers}"

    def joined(self) -> list[int]:
        return [number for number, one in enumerate(self.of) if one.joined]

    def is_saving(self) -> bool:
        return any(one.save for one in self.of)

    def is_restoring(self) -> bool:
        return any(one.restore for one in self.of)

    # --- what was seen ----------------------------------------------------------------------------------------

    def saw(self, seen: CallRecord) -> None:
        if not seen.error:
            one, call = self.of[seen.step.federate], (seen.step.call, *seen.step.arguments)
            self._saw_federation(one, call)
            self._saw_declaration(one, call)
            self._saw_object(one, call, seen)
            self._saw_ownership(one, call, seen.result)
            self._saw_time(one, call)
        for who, heard in seen.heard.items():
            for callback in heard:
                self._heard_of_others(self.of[who], callback)
                self._heard_of_time(self.of[who], callback)
                self._heard_of_saves(who, callback)

    def _saw_federation(self, one: Insight, call: tuple[Json, ...]) -> None:
        match call:
            case ("connect",):
                one.connected = True
            case ("disconnect",):
                one.connected = False
            case ("create_federation_execution", "F", *_):
                self.exists = True
            case ("destroy_federation_execution", "F"):
                self.exists = False
                self.saves.clear()
            case ("join_federation_execution", str(name), *_):
                one.left()
                one.name = name
                one.joined = True
            case ("resign_federation_execution", _):
                one.left()
            case ("synchronization_point_achieved", str(label), *_):
                one.points.discard(label)
            case ("federate_save_begun",):
                one.save = "begun"
            case ("federate_save_complete" | "federate_save_not_complete",) if one.save:
                one.save = "complete"
            case ("federate_restore_complete" | "federate_restore_not_complete",) if one.restore:
                one.restore = "complete"

    def _saw_declaration(self, one: Insight, call: tuple[Json, ...]) -> None:
        match call:
            case ("publish_object_class_attributes", str(cls), list(names), *_):
                one.published.setdefault(cls, set()).update(map(str, names))
            case ("unpublish_object_class", str(cls), *_):
                one.published.pop(cls, None)
                self._lose(one, cls, None)
            case ("unpublish_object_class_attributes", str(cls), list(names), *_):
                gone = set(map(str, names))
                left = one.published.pop(cls, set()) - gone
                if left:
                    one.published[cls] = left
                self._lose(one, cls, gone)
            case ("subscribe_object_class_attributes", str(cls), list(names), *_):
                one.subscribed.setdefault(cls, set()).update(map(str, names))
            case ("unsubscribe_object_class", str(cls), *_):
                one.subscribed.pop(cls, None)
            case ("publish_interaction_class", str(name), *_):
                one.sends.add(name)
            case ("unpublish_interaction_class", str(name), *_):
                one.sends.discard(name)
            case ("subscribe_interaction_class", str(name), *_):
                one.hears.add(name)
            case ("unsubscribe_interaction_class", str(name), *_):
                one.hears.discard(name)
            case ("publish_object_class_directed_interactions", _, list(names), *_):
                one.directs.update(map(str, names))

    def _lose(self, one: Insight, cls: str, names: set[str] | None) -> None:
        for instance, owned in list(one.owns.items()):
            if self.classes.get(instance) == cls:
                one.owns[instance] = set() if names is None else owned - names

    def _saw_object(self, one: Insight, call: tuple[Json, ...], seen: CallRecord) -> None:
        made, result = seen.step.name, seen.result
        match call:
            case ("register_object_instance" | "register_object_instance_with_regions", str(cls), *_):
                self.classes[made] = cls
                one.knows[made] = cls
                one.owns[made] = {*one.published.get(cls, set()), PRIVILEGE_TO_DELETE}
            case ("delete_object_instance", str(instance), *_) if result is None:
                self._gone(one, instance)
            case ("local_delete_object_instance", str(instance)):
                self._gone(one, instance)
            case ("create_region", list(dimensions)):
                one.regions[made] = list(map(str, dimensions))
            case ("delete_region", str(region)):
                one.regions.pop(region, None)
            case (str(service), *_) if service in _SENDING:
                if made and isinstance(result, list) and result[0]:
                    one.retractions.append(made)

    def _gone(self, one: Insight, instance: str) -> None:
        for known in (one.knows, one.owns, one.acquiring, one.asked):
            known.pop(instance, None)

    def _saw_ownership(self, one: Insight, call: tuple[Json, ...], result: Json) -> None:
        match call:
            case ("unconditional_attribute_ownership_divestiture", str(instance), list(names), _):
                one.owns.get(instance, set()).difference_update(map(str, names))
            case ("confirm_divestiture", str(instance), list(names), _):
                one.owns.get(instance, set()).difference_update(map(str, names))
                one.asked.pop(instance, None)
            case ("attribute_ownership_divestiture_if_wanted", str(instance), *_):
                given = result if isinstance(result, list) else []
                one.owns.get(instance, set()).difference_update(map(str, given))
                one.asked.pop(instance, None)
            case ("attribute_ownership_release_denied", str(instance), *_):
                one.asked.pop(instance, None)
            case ("attribute_ownership_acquisition", str(instance), list(names), _):
                one.acquiring.setdefault(instance, set()).update(map(str, names))

    def _saw_time(self, one: Insight, call: tuple[Json, ...]) -> None:
        match call:
            case ("enable_time_regulation" | "modify_lookahead", (int() | float()) as lookahead):
                one.lookahead = lookahead
            case ("disable_time_regulation",):
                one.regulating = False
            case ("disable_time_constrained",):
                one.constrained = False
            case (str(service), _) if service in ADVANCES:
                one.advancing = True

    # --- what was heard ---------------------------------------------------------------------------------------

    def _heard_of_others(self, one: Insight, callback: HeardCallback) -> None:
        match callback:
            case ["federate_resigned", _]:
                one.left()
            case ["connection_lost", _]:
                one.left()
                one.connected = False
            case ["discover_object_instance", str(instance), str(cls), *_]:
                one.knows[instance] = cls
            case ["remove_object_instance", str(instance), *_]:
                self._gone(one, instance)
            case ["object_instance_name_reservation_succeeded", str(name)]:
                one.reserved.add(name)
            case ["multiple_object_instance_name_reservation_succeeded", list(names)]:
                one.reserved.update(map(str, names))
            case ["announce_synchronization_point", str(label), _]:
                one.points.add(label)
            case ["attribute_ownership_acquisition_notification", str(instance), list(names), _]:
                one.owns.setdefault(instance, set()).update(map(str, names))
                one.acquiring.get(instance, set()).difference_update(map(str, names))
            case ["confirm_attribute_ownership_acquisition_cancellation", str(instance), list(names)]:
                one.acquiring.get(instance, set()).difference_update(map(str, names))
            case [str(method), str(instance), list(names), _] if method in _ASKING:
                one.asked.setdefault(instance, set()).update(map(str, names))

    def _heard_of_time(self, one: Insight, callback: HeardCallback) -> None:
        match callback:
            case ["time_regulation_enabled", (int() | float()) as time]:
                one.regulating = True
                one.time = time
            case ["time_constrained_enabled", (int() | float()) as time]:
                one.constrained = True
                one.time = time
            case ["time_advance_grant" | "flush_queue_grant", (int() | float()) as time, *_]:
                one.time = time
                one.advancing = False

    def _heard_of_saves(self, who: int, callback: HeardCallback) -> None:
        one = self.of[who]
        match callback:
            case ["initiate_federate_save", str(label), *_]:
                one.save = "initiated"
                self.label = label
            case ["federation_saved"]:
                if self.label:
                    kept = copy.deepcopy(self.of)
                    for each in kept:
                        each.save = ""
                    self.saves[self.label] = kept
                    self.label = ""
                one.save = ""
            case ["federation_not_saved", _]:
                one.save = ""
                self.label = ""
            case ["federation_restore_begun"]:
                one.restore = "begun"
            case ["initiate_federate_restore", str(label), *_]:
                one.restore = "initiated"
                self.label = label
            case ["federation_restored"]:
                saved = self.saves.get(self.label)
                if saved is not None:
                    self.of[who] = copy.deepcopy(saved[who])
                self.of[who].restore = ""
            case ["federation_not_restored", _]:
                one.restore = ""
