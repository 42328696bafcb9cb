"""Who owns which attributes of an object: what a federate is asked, told and does.

Whoever acquires attributes of another's object gets a `LocalObject` for them, by which it updates them; whoever gave some away
sees them in `federate.objects`, as it sees those of objects that others registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import TYPE_CHECKING

from weft.federate.things import LocalObject, RemoteObject
from weft.federate.vocabulary import short
from weft.model.errors import NotInTime
from weft.model.handles import AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle

if TYPE_CHECKING:
    from weft.federate.federate import Federate

SomeObject = LocalObject | RemoteObject
"""One that this federate registered or has acquired attributes of, or one that it discovered."""

NOBODY = ""
OF_RTI = "the RTI"

OwnershipHandlers = dict[str, list[Callable[..., object]]]


def class_of(one: SomeObject) -> tuple[ObjectClassHandle, str]:
    """The class that a federate knows it as."""
    return (one._class, one._full_kind) if isinstance(one, LocalObject) else (one.object_class, one.full_kind)


class Ownership:
    """Of one `Federate`."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate
        self.acquired: OwnershipHandlers = {}
        self.unavailable: OwnershipHandlers = {}
        self.offered: OwnershipHandlers = {}
        self.requested: OwnershipHandlers = {}
        self.released: OwnershipHandlers = {}
        self._answers: dict[tuple[ObjectInstanceHandle, AttributeHandle], str] = {}

    # --- asking -----------------------------------------------------------------------------------------------

    def attributes(self, one: SomeObject, names: Iterable[str]) -> frozenset[AttributeHandle]:
        """These attributes of an object, or all."""
        federate = self._federate
        handle, full = class_of(one)
        known = federate._vocabulary.attributes(full, names)
        return frozenset(federate.rti.get_attribute_handle(handle, name) for name in known)

    def own(self, one: SomeObject, names: Iterable[str]) -> frozenset[AttributeHandle]:
        """These attributes, or all that this federate owns."""
        names = list(names)
        found = self.attributes(one, names)
        if names:
            return found
        owns = self._federate.rti.is_attribute_owned_by_federate
        return frozenset(each for each in found if owns(one.handle, each))

    def names(self, one: SomeObject, attributes: Iterable[AttributeHandle]) -> list[str]:
        federate = self._federate
        handle, _ = class_of(one)
        return sorted(federate._name(federate.rti.get_attribute_name, handle, each) for each in attributes)

    def ask(self, one: SomeObject, seconds: float) -> dict[str, str]:
        """Who owns each attribute, by a question to the RTI."""
        federate = self._federate
        attributes = self.attributes(one, ())
        asked = {(one.handle, each) for each in attributes}
        for pair in asked:
            self._answers.pop(pair, None)
        federate.rti.query_attribute_ownership(one.handle, attributes)
        if not federate.run_until(lambda: asked <= self._answers.keys(), seconds):
            raise NotInTime(f"the RTI has not said within {seconds:g} s who owns {one.name!r}")
        found = {self.names(one, [each])[0]: self._answers[one.handle, each] for each in attributes}
        owners = dict(sorted(found.items()))
        if isinstance(one, RemoteObject):
            one.owners.update(owners)
        return owners

    # --- hearing ----------------------------------------------------------------------------------------------

    def told(self, handle: ObjectInstanceHandle, attributes: Set[AttributeHandle], owner: str) -> None:
        self._answers.update({(handle, each): owner for each in attributes})

    def told_owner(
        self, handle: ObjectInstanceHandle, attributes: Set[AttributeHandle], owner: FederateHandle
    ) -> None:
        self.told(handle, attributes, self._federate._federate_name(owner))

    def hear(
        self, handlers: OwnershipHandlers, handle: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """Tell the handlers of the object's class and of those above it."""
        found = self.find(handle)
        if found is not None:
            _, full = class_of(found)
            self._federate._ears.tell(handlers, full, found, self.names(found, attributes))

    def find(self, handle: ObjectInstanceHandle) -> SomeObject | None:
        federate = self._federate
        return federate._state.own.get(handle) or federate.objects.get(handle)

    def has_acquired(self, handle: ObjectInstanceHandle, attributes: Set[AttributeHandle]) -> None:
        """It is one's own as far as these go; what others sent of them last is what is answered to who asks."""
        federate = self._federate
        seen = federate.objects.get(handle)
        mine = federate._state.own.get(handle)
        if mine is None:
            if seen is None:
                return
            mine = LocalObject(federate, seen.full_kind, handle, seen.name)
        names = self.names(mine, attributes)
        if seen is not None:
            mine.values.update({name: seen.values[name] for name in names if name in seen.values})
            seen.owners.update(dict.fromkeys(names, federate.name))
        federate._ears.tell(self.acquired, mine._full_kind, mine, names)

    def confirm(self, handle: ObjectInstanceHandle, attributes: Set[AttributeHandle], tag: bytes) -> None:
        """Somebody takes what was offered."""
        self._federate.rti.confirm_divestiture(handle, attributes, tag)
        self.hear(self.released, handle, attributes)

    def seen(self, handle: ObjectInstanceHandle) -> RemoteObject | None:
        """One's own object of which another owns some attributes by now, as others see it."""
        federate = self._federate
        mine = federate._state.own.get(handle)
        if mine is None:
            return None
        found = RemoteObject(
            mine.name, short(mine._full_kind), federate.name, handle, mine._class, mine._full_kind
        )
        federate.objects[handle] = found
        return found
