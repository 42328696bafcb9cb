"""Save and restore for a `Federate`: it saves and comes back with the others, and says so to whoever wants to hear."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.federate.things import LocalObject, RemoteObject
from weft.federate.vocabulary import short
from weft.model.errors import RTIexception
from weft.model.handles import ObjectInstanceHandle

if TYPE_CHECKING:
    from weft.federate.federate import Federate


class Stay:
    """What a federate has heard of its federation: what it needs to know again after a restore."""

    def __init__(self, federate: Federate) -> None:
        self._objects = {handle: _copied(one) for handle, one in federate.objects.items()}
        self._announced = set(federate._meeting.announced)
        self._achieved = set(federate._meeting.achieved)
        self._regions = federate._regions.kept()
        self._sent = federate._state.kept()

    def come_back(self, federate: Federate) -> None:
        federate.objects.update({handle: _copied(one) for handle, one in self._objects.items()})
        federate._meeting.announced.update(self._announced)
        federate._meeting.achieved.update(self._achieved)
        federate._regions.restored(*self._regions)
        federate._state.restored(self._sent)


def _copied(one: RemoteObject) -> RemoteObject:
    made = copy.copy(one)
    made.values, made._encoded, made.owners = dict(one.values), dict(one._encoded), dict(one.owners)
    return made


class Pauses:
    """The saves and restores of one federate."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate
        self.savers: list[Callable[[str], object]] = []
        self.restorers: list[Callable[[str], object]] = []
        self.outcome: bool | None = None  # of the last save or restore; None while it is under way
        self._stays: dict[str, Stay] = {}  # by label; a restore in another process begins with none
        self._restoring = ("", "")  # label, and the name the federate will have

    def wait(self, ask: Callable[[str], None], label: str, seconds: float) -> bool:
        self.outcome = None
        ask(label)
        self._federate.run_until(lambda: self.outcome is not None, seconds)
        return self.outcome is True

    def save(self, label: str) -> None:
        rti = self._federate.rti
        self._stays[label] = Stay(self._federate)
        rti.federate_save_begun()
        self._do(self.savers, label, rti.federate_save_complete, rti.federate_save_not_complete)

    def restore(self, label: str, name: str) -> None:
        rti = self._federate.rti
        self._restoring = (label, name)
        self._do(self.restorers, label, rti.federate_restore_complete, rti.federate_restore_not_complete)

    def _do(
        self,
        handlers: list[Callable[[str], object]],
        label: str,
        well: Callable[[], None],
        badly: Callable[[], None],
    ) -> None:
        try:
            for handler in handlers:
                handler(label)
        except BaseException:
            badly()
            raise
        well()

    def restored(self) -> None:
        federate = self._federate
        label, federate.name = self._restoring
        federate._forget()
        federate._regions.restored({}, {})
        stay = self._stays.get(label)
        if stay is not None:
            stay.come_back(federate)
        federate._clock.restored()
        self.outcome = True

    def known(self, handle: ObjectInstanceHandle) -> RemoteObject | None:
        """An object that was discovered before a save that this process knows nothing of."""
        if not self._restoring[0]:
            return None
        rti = self._federate.rti
        try:
            object_class = rti.get_known_object_class_handle(handle)
            full = rti.get_object_class_name(object_class)
            name = rti.get_object_instance_name(handle)
        except RTIexception:
            return None
        found = RemoteObject(name, short(full), "", handle, object_class, full)
        self._federate.objects[handle] = found
        return found

    def recall(self, name: str) -> LocalObject:
        federate = self._federate
        handle = federate.rti.get_object_instance_handle(name)
        object_class = federate.rti.get_known_object_class_handle(handle)
        full = federate.rti.get_object_class_name(object_class)
        return LocalObject(federate, full, handle, name)
