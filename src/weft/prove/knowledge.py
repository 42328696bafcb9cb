"""What an author knows of each federate, from what its calls returned and what it heard.

Light on purpose: it decides only which call is worth making next.  Where it is wrong, the refusal is a result like any other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from weft.fom import PRIVILEGE_TO_DELETE
from weft.model.json_types import Json
from weft.prove.player import CallRecord


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
        step = seen.step
        if not seen.error:
            method = getattr(self, f"_{step.call}", None)
            if method is not None:
                method(self.of[step.federate], seen, *step.arguments)
        for who, heard in seen.heard.items():
            for callback in heard:
                method = getattr(self, f"_on_{callback[0]}", None)
                if method is not None:
                    method(self.of[who], *callback[1:])

    def _connect(self, one: Insight, seen: CallRecord) -> None:
        one.connected = True

    def _disconnect(self, one: Insight, seen: CallRecord) -> None:
        one.connected = False

    def _create_federation_execution(self, one: Insight, seen: CallRecord, name: str, *_: Json) -> None:
        if name == "F":
            self.exists = True

    def _destroy_federation_execution(self, one: Insight, seen: CallRecord, name: str) -> None:
        if name == "F":
            self.exists = False
            self.saves.clear()

    def _join_federation_execution(self, one: Insight, seen: CallRecord, name: str, *_: Json) -> None:
        one.left()
        one.name = name
        one.joined = True

    def _resign_federation_execution(self, one: Insight, seen: CallRecord, action: str) -> None:
        one.left()

    def _publish_object_class_attributes(
        self, one: Insight, seen: CallRecord, cls: str, names: list[str]
    ) -> None:
        one.published.setdefault(cls, set()).update(names)

    def _unpublish_object_class(self, one: Insight, seen: CallRecord, cls: str) -> None:
        one.published.pop(cls, None)
        self._lose(one, cls, None)

    def _unpublish_object_class_attributes(
        self, one: Insight, seen: CallRecord, cls: str, names: list[str]
    ) -> None:
        left = one.published.get(cls, set()) - set(names)
        one.published.pop(cls, None)
        if left:
            one.published[cls] = left
        self._lose(one, cls, set(names))

    def _lose(self, one: Insight, cls: str, names: set[str] | None) -> None:
        for instance, owned in list(one.owns.items()):
            if self.classes.get(instance) == cls:
                one.owns[instance] = set() if names is None else owned - names

    def _subscribe_object_class_attributes(
        self, one: Insight, seen: CallRecord, cls: str, names: list[str], *_: Json
    ) -> None:
        one.subscribed.setdefault(cls, set()).update(names)

    def _unsubscribe_object_class(self, one: Insight, seen: CallRecord, cls: str) -> None:
        one.subscribed.pop(cls, None)

    def _publish_interaction_class(self, one: Insight, seen: CallRecord, name: str) -> None:
        one.sends.add(name)

    def _unpublish_interaction_class(self, one: Insight, seen: CallRecord, name: str) -> None:
        one.sends.discard(name)

    def _subscribe_interaction_class(self, one: Insight, seen: CallRecord, name: str) -> None:
        one.hears.add(name)

    def _unsubscribe_interaction_class(self, one: Insight, seen: CallRecord, name: str) -> None:
        one.hears.discard(name)

    def _publish_object_class_directed_interactions(
        self, one: Insight, seen: CallRecord, cls: str, names: list[str]
    ) -> None:
        one.directs.update(names)

    def _register_object_instance(self, one: Insight, seen: CallRecord, cls: str, *_: Json) -> None:
        self.classes[seen.step.name] = cls
        one.knows[seen.step.name] = cls
        one.owns[seen.step.name] = {*one.published.get(cls, set()), PRIVILEGE_TO_DELETE}

    def _register_object_instance_with_regions(
        self, one: Insight, seen: CallRecord, cls: str, *_: Json
    ) -> None:
        self._register_object_instance(one, seen, cls)

    def _delete_object_instance(
        self, one: Insight, seen: CallRecord, instance: str, tag: str, time: Json = None, *_: Json
    ) -> None:
        if seen.result is None:
            self._gone(one, instance)

    def _local_delete_object_instance(self, one: Insight, seen: CallRecord, instance: str) -> None:
        self._gone(one, instance)

    def _gone(self, one: Insight, instance: str) -> None:
        for known in (one.knows, one.owns, one.acquiring, one.asked):
            known.pop(instance, None)

    def _unconditional_attribute_ownership_divestiture(
        self, one: Insight, seen: CallRecord, instance: str, names: list[str], tag: str
    ) -> None:
        one.owns.get(instance, set()).difference_update(names)

    def _confirm_divestiture(
        self, one: Insight, seen: CallRecord, instance: str, names: list[str], tag: str
    ) -> None:
        one.owns.get(instance, set()).difference_update(names)
        one.asked.pop(instance, None)

    def _attribute_ownership_divestiture_if_wanted(
        self, one: Insight, seen: CallRecord, instance: str, names: list[str], tag: str
    ) -> None:
        one.owns.get(instance, set()).difference_update(seen.result if isinstance(seen.result, list) else ())
        one.asked.pop(instance, None)

    def _attribute_ownership_release_denied(
        self, one: Insight, seen: CallRecord, instance: str, names: list[str], tag: str
    ) -> None:
        one.asked.pop(instance, None)

    def _attribute_ownership_acquisition(
        self, one: Insight, seen: CallRecord, instance: str, names: list[str], tag: str
    ) -> None:
        one.acquiring.setdefault(instance, set()).update(names)

    def _create_region(self, one: Insight, seen: CallRecord, dimensions: list[str]) -> None:
        one.regions[seen.step.name] = list(dimensions)

    def _delete_region(self, one: Insight, seen: CallRecord, region: str) -> None:
        one.regions.pop(region, None)

    def _enable_time_regulation(self, one: Insight, seen: CallRecord, lookahead: float) -> None:
        one.lookahead = lookahead

    def _modify_lookahead(self, one: Insight, seen: CallRecord, lookahead: float) -> None:
        one.lookahead = lookahead

    def _disable_time_regulation(self, one: Insight, seen: CallRecord) -> None:
        one.regulating = False

    def _disable_time_constrained(self, one: Insight, seen: CallRecord) -> None:
        one.constrained = False

    def _advances(self, one: Insight, seen: CallRecord, time: float) -> None:
        one.advancing = True

    _time_advance_request = _time_advance_request_available = _advances
    _next_message_request = _next_message_request_available = _flush_queue_request = _advances

    def _sent(self, one: Insight, seen: CallRecord, *_: Json) -> None:
        if seen.step.name and isinstance(seen.result, list) and seen.result[0]:
            one.retractions.append(seen.step.name)

    _update_attribute_values = _send_interaction = _send_directed_interaction = _sent
    _send_interaction_with_regions = _sent

    def _synchronization_point_achieved(self, one: Insight, seen: CallRecord, label: str, *_: Json) -> None:
        one.points.discard(label)

    def _federate_save_begun(self, one: Insight, seen: CallRecord) -> None:
        one.save = "begun"

    def _federate_save_complete(self, one: Insight, seen: CallRecord) -> None:
        if one.save:
            one.save = "complete"

    _federate_save_not_complete = _federate_save_complete

    def _federate_restore_complete(self, one: Insight, seen: CallRecord) -> None:
        if one.restore:
            one.restore = "complete"

    _federate_restore_not_complete = _federate_restore_complete

    # --- what was heard ---------------------------------------------------------------------------------------

    def _on_federate_resigned(self, one: Insight, why: str) -> None:
        one.left()

    def _on_connection_lost(self, one: Insight, why: str) -> None:
        one.left()
        one.connected = False

    def _on_discover_object_instance(self, one: Insight, instance: str, cls: str, *_: Json) -> None:
        one.knows[instance] = cls

    def _on_remove_object_instance(self, one: Insight, instance: str, *_: Json) -> None:
        self._gone(one, instance)

    def _on_object_instance_name_reservation_succeeded(self, one: Insight, name: str) -> None:
        one.reserved.add(name)

    def _on_multiple_object_instance_name_reservation_succeeded(self, one: Insight, names: list[str]) -> None:
        one.reserved.update(names)

    def _on_announce_synchronization_point(self, one: Insight, label: str, tag: str) -> None:
        one.points.add(label)

    def _on_attribute_ownership_acquisition_notification(
        self, one: Insight, instance: str, names: list[str], tag: str
    ) -> None:
        one.owns.setdefault(instance, set()).update(names)
        one.acquiring.get(instance, set()).difference_update(names)

    def _on_confirm_attribute_ownership_acquisition_cancellation(
        self, one: Insight, instance: str, names: list[str]
    ) -> None:
        one.acquiring.get(instance, set()).difference_update(names)

    def _asks(self, one: Insight, instance: str, names: list[str], tag: str) -> None:
        one.asked.setdefault(instance, set()).update(names)

    _on_request_attribute_ownership_release = _on_request_divestiture_confirmation = _asks
    _on_request_attribute_ownership_assumption = _asks

    def _on_time_regulation_enabled(self, one: Insight, time: float) -> None:
        one.regulating = True
        one.time = time

    def _on_time_constrained_enabled(self, one: Insight, time: float) -> None:
        one.constrained = True
        one.time = time

    def _on_time_advance_grant(self, one: Insight, time: float, *_: Json) -> None:
        one.time = time
        one.advancing = False

    _on_flush_queue_grant = _on_time_advance_grant

    def _on_initiate_federate_save(self, one: Insight, label: str, *_: Json) -> None:
        one.save = "initiated"
        self.label = label

    def _on_federation_saved(self, one: Insight) -> None:
        if self.label:
            kept = copy.deepcopy(self.of)
            for each in kept:
                each.save = ""
            self.saves[self.label] = kept
            self.label = ""
        one.save = ""

    def _on_federation_not_saved(self, one: Insight, why: str) -> None:
        one.save = ""
        self.label = ""

    def _on_federation_restore_begun(self, one: Insight) -> None:
        one.restore = "begun"

    def _on_initiate_federate_restore(self, one: Insight, label: str, name: str, handle: Json) -> None:
        one.restore = "initiated"
        self.label = label

    def _on_federation_restored(self, one: Insight) -> None:
        kept = self.saves.get(self.label)
        number = next(i for i, each in enumerate(self.of) if each is one)
        if kept is not None and len(kept) > number:
            self.of[number] = copy.deepcopy(kept[number])
        self.of[number].restore = ""

    def _on_federation_not_restored(self, one: Insight, why: str) -> None:
        one.restore = ""
