"""State for late joiners: who subscribes asks for the values there are, and objects answer with what they sent last.

An answer is an update like any other, so it comes to all who subscribe.  It has a tag of its own, by which those who have
these values already know it and are not told again.  Other vendors' federates see an update.

Values that were sent with a logical time are answered at once, without one, for who has none yet; whoever has some hears of
changes in time stamp order and leaves the answer alone, which may be ahead of that.  What was sent for a time to come is
answered with that time.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Set
from typing import TYPE_CHECKING

from weft.federate.regions import Chosen, handles
from weft.federate.things import LocalObject, RemoteObject
from weft.fom.classes import HLAobjectRoot
from weft.model.errors import AttributeNotOwned, ObjectInstanceNotKnown
from weft.model.handles import AttributeHandle, ObjectClassHandle, ObjectInstanceHandle
from weft.model.time import AnyTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate

ANSWER = b"weft:state"
"""The tag of questions and answers."""

TIMED_ANSWER = b"weft:state of a time"
"""Likewise, of values that had a logical time."""

Sent = tuple[LocalObject, dict[str, object], dict[str, AnyTime]]
"""An object, and what was sent of it last, with times."""


class LastValues:
    """Of one `Federate`."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate
        self.own: dict[ObjectInstanceHandle, LocalObject] = {}
        self.answerers: dict[
            str, list[Callable[..., object]]
        ] = {}  # functions that answer instead (`on_request`)
        self._of_dataclass: dict[int, LocalObject] = {}  # by the identity of what they were registered with

    def add(self, one: LocalObject) -> None:
        self.own[one.handle] = one

    def remove(self, one: LocalObject) -> None:
        self.own.pop(one.handle, None)
        self._of_dataclass.pop(id(one._dataclass), None)

    def forget(self) -> None:
        self.own.clear()
        self._of_dataclass.clear()

    def bind(self, one: LocalObject, given: HLAobjectRoot) -> None:
        """What changes in a dataclass is sent for that object."""
        object.__setattr__(one, "_dataclass", given)
        self._of_dataclass[id(given)] = one

    def registered(self, given: HLAobjectRoot) -> LocalObject | None:
        return self._of_dataclass.get(id(given))

    def ask(
        self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle], where: Chosen | None
    ) -> None:
        """For the values of all objects of the class."""
        rti, wanted = self._federate.rti, set(attributes)
        if where is None:
            rti.request_attribute_value_update(object_class, wanted, ANSWER)
        else:
            rti.request_attribute_value_update_with_regions(object_class, [(wanted, handles(where))], ANSWER)

    def answer(self, handle: ObjectInstanceHandle, attributes: Set[AttributeHandle], tag: bytes) -> None:
        """With what was sent last, as of its time or the next that this federate may send."""
        federate = self._federate
        found = self.own.get(handle) or federate.objects.get(handle)
        if found is None:
            return
        if isinstance(found, LocalObject) and self._answered(found, attributes, tag):
            return
        full = found._full_kind if isinstance(found, LocalObject) else found.full_kind
        object_class = found._class if isinstance(found, LocalObject) else found.object_class
        answers: dict[tuple[AnyTime | None, bytes], dict[AttributeHandle, bytes]] = defaultdict(dict)
        for attribute in attributes:
            name = federate._name(federate.rti.get_attribute_name, object_class, attribute)
            if name in found.values:
                data = federate._vocabulary.encode("attribute", full, name, found.values[name])
                answers[self._manner(found, name, tag)][attribute] = data
        for (time, as_what), values in answers.items():
            # Meanwhile it may have been deleted, or another may own it.
            with contextlib.suppress(AttributeNotOwned, ObjectInstanceNotKnown):
                federate.rti.update_attribute_values(handle, values, as_what, time)

    def _answered(self, one: LocalObject, attributes: Set[AttributeHandle], tag: bytes) -> bool:
        """Has a function of the federate answered?"""
        federate = self._federate
        full, names = one._full_kind, federate._ownership.names(one, attributes)
        while full:
            for answerer in self.answerers.get(full, ()):
                answer = answerer(one, names)
                if answer is not None:
                    with contextlib.suppress(AttributeNotOwned, ObjectInstanceNotKnown):
                        one._send_answer(answer, names, tag)
                    return True
            full = full.rpartition(".")[0]
        return False

    def _manner(
        self, found: LocalObject | RemoteObject, name: str, tag: bytes
    ) -> tuple[AnyTime | None, bytes]:
        """With which time and tag a value is answered."""
        sent = found._times.get(name) if isinstance(found, LocalObject) else None
        if sent is None:
            return None, tag
        if (sent if isinstance(sent, int | float) else sent.value) >= self._federate.earliest:
            return sent, tag
        return None, TIMED_ANSWER if tag == ANSWER else tag

    def news(self, found: RemoteObject, values: dict[str, object], tag: bytes) -> dict[str, object]:
        """What of an answer is to be told."""
        known, timed = found.values, tag == TIMED_ANSWER
        return {
            name: value
            for name, value in values.items()
            if name not in known or (not timed and known[name] != value)
        }

    def kept(self) -> list[Sent]:
        """What is to be known again after a restore."""
        return [(one, dict(one.values), dict(one._times)) for one in self.own.values()]

    def restored(self, kept: list[Sent]) -> None:
        """What was registered or sent since the save was not."""
        self.forget()
        for one, values, times in kept:
            one._sent_last(values, times)
            self.add(one)
            if one._dataclass is not None:
                self.bind(one, one._dataclass)
