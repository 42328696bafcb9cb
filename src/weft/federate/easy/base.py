"""What all parts of a `Federate` stand on: the ambassador, the words of the object model, and what is kept of one stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from weft.federate.ambassador import RTIambassador
from weft.federate.vocabulary import InteractionKind, ObjectKind, Vocabulary
from weft.model.enums import CallbackModel
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
    ParameterHandle,
)

if TYPE_CHECKING:
    from weft.federate.attentive import Attention
    from weft.federate.clock import LogicalClock
    from weft.federate.ears import Ears
    from weft.federate.objects.ownership import Ownership
    from weft.federate.pausing import Pauses
    from weft.federate.regions import Regions
    from weft.federate.state import LastValues
    from weft.federate.things import KnownObjects


class FederatePart:
    """`Federate` makes what is named here."""

    rti: RTIambassador
    objects: KnownObjects
    _below: RTIambassador
    _callbacks: CallbackModel
    _vocabulary: Vocabulary
    _ears: Ears
    _pauses: Pauses
    _regions: Regions
    _attention: Attention
    _state: LastValues
    _ownership: Ownership
    _clock: LogicalClock
    # Of one stay in the federation, and forgotten with the next.
    _federate_names: dict[FederateHandle, str]
    _names: dict[tuple[Handle, ...], str]
    _class_handles: dict[str, InteractionClassHandle]
    _parameter_handles: dict[tuple[InteractionClassHandle, str], ParameterHandle]
    _published: dict[InteractionClassHandle | ObjectClassHandle, set[str]]  # which attributes
    _published_directed: set[tuple[ObjectClassHandle, InteractionClassHandle]]

    def _interaction_class(self, name: InteractionKind) -> InteractionClassHandle:
        full = self._vocabulary.interaction_class(name)
        found = self._class_handles.get(full)
        if found is None:
            found = self._class_handles[full] = self.rti.get_interaction_class_handle(full)
        return found

    def _parameter(self, interaction_class: InteractionClassHandle, name: str) -> ParameterHandle:
        found = self._parameter_handles.get((interaction_class, name))
        if found is None:
            found = self.rti.get_parameter_handle(interaction_class, name)
            self._parameter_handles[interaction_class, name] = found
        return found

    def _object_class(self, name: ObjectKind) -> ObjectClassHandle:
        return self.rti.get_object_class_handle(self._vocabulary.object_class(name))

    def _attributes(self, object_class: ObjectClassHandle, names: Iterable[str]) -> set[AttributeHandle]:
        chosen = self._vocabulary.attributes(self.rti.get_object_class_name(object_class), names)
        return {self.rti.get_attribute_handle(object_class, name) for name in chosen}

    def _name(self, look_up: Callable[..., str], *handles: Handle) -> str:
        """A name that never changes is asked for once."""
        found = self._names.get(handles)
        if found is None:
            found = self._names[handles] = look_up(*handles)
        return found

    def _federate_name(self, handle: FederateHandle) -> str:
        if handle not in self._federate_names:
            try:
                self._federate_names[handle] = self.rti.get_federate_name(handle)
            except RTIexception:
                return f"a federate that has left ({handle!r})"
        return self._federate_names[handle]
