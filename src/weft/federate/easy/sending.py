"""What a `Federate` publishes, sends, registers and updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast, overload

from weft.federate.easy.base import FederatePart
from weft.federate.objects.ownership import SomeObject, class_of
from weft.federate.regions import Chosen, Where, handles
from weft.federate.things import LocalObject, all_values, retraction_of
from weft.federate.vocabulary import AnyKind, InteractionKind, ObjectKind
from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot
from weft.model.errors import InvalidRegionContext, ObjectInstanceNameInUse, ObjectInstanceNotKnown
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ParameterHandle,
)
from weft.model.time import AnyTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


class SendingPart(FederatePart):
    """Interactions, and objects of one's own."""

    def publish(self, name: AnyKind, *attributes: str) -> None:
        """Publish a class: an interaction class, or attributes of an object class (all of them if none is named)."""
        full = self._vocabulary.name(name)
        if self._vocabulary.is_interaction(full):
            interaction_class = self._interaction_class(full)
            self.rti.publish_interaction_class(interaction_class)
            self._published[interaction_class] = set()
        else:
            object_class = self._object_class(full)
            self.rti.publish_object_class_attributes(object_class, self._attributes(object_class, attributes))
            names = self._vocabulary.attributes(self._vocabulary.object_class(full), attributes)
            self._published.setdefault(object_class, set()).update(names)

    @overload
    def send(
        self,
        message: HLAinteractionRoot,
        /,
        tag: bytes = b"",
        *,
        where: Where | None = None,
        to: SomeObject | None = None,
        time: AnyTime | None = None,
    ) -> MessageRetractionHandle | None: ...
    @overload
    def send(
        self,
        name: InteractionKind,
        /,
        tag: bytes = b"",
        *,
        where: Where | None = None,
        to: SomeObject | None = None,
        values: Mapping[str, object] | None = None,
        time: AnyTime | None = None,
        **parameters: object,
    ) -> MessageRetractionHandle | None: ...

    def send(
        self,
        message: HLAinteractionRoot | InteractionKind,
        /,
        tag: bytes = b"",
        *,
        where: Where | None = None,
        to: SomeObject | None = None,
        values: Mapping[str, object] | None = None,
        time: AnyTime | None = None,
        **parameters: object,
    ) -> MessageRetractionHandle | None:
        """Send an interaction, to those who subscribe there or to all; its class is published first if it is not yet.

        With a logical `time` it comes to those who are constrained when they have advanced so far; `retract` takes back what is
        returned.

        Parameters go by their names, `send("Fire", Target="T1")`, or in a dict, which takes any name:
        `send("Note", values={"tag": "x", "where": "here"})`.  Or all in a dataclass: `send(Fire(Target="T1"))`.

        `to` an object it goes to those who own some of it (`on_directed`); its class names the interaction as one for it.
        """
        where = self._regions.chosen(where)
        if isinstance(message, HLAinteractionRoot):
            full = self._vocabulary.interaction_class(type(message))
            data = message.encode()
        else:
            full = self._vocabulary.interaction_class(message, 'register("…") and its update')
            given = all_values(values, parameters, self._vocabulary.has_parameter(full, "values"))
            encode = self._vocabulary.encode
            data = {name: encode("parameter", full, name, value) for name, value in given.items()}
        interaction_class = self._interaction_class(full)
        encoded = {self._parameter(interaction_class, name): value for name, value in data.items()}
        if to is None and interaction_class not in self._published:
            self.publish(full)
        stamp = None
        if time is not None:
            stamp = self._clock.stamp(time)
            self._clock.order(interaction_class)
        if to is not None:
            return self._send_to(to, interaction_class, encoded, tag, where, stamp)
        if where is None:
            return retraction_of(self.rti.send_interaction(interaction_class, encoded, tag, stamp))
        regions = handles(where)
        return retraction_of(
            self.rti.send_interaction_with_regions(interaction_class, encoded, regions, tag, stamp)
        )

    def _send_to(
        self,
        to: SomeObject,
        interaction_class: InteractionClassHandle,
        encoded: dict[ParameterHandle, bytes],
        tag: bytes,
        where: Chosen | None,
        stamp: AnyTime | None,
    ) -> MessageRetractionHandle | None:
        if where is not None:
            raise InvalidRegionContext(
                "an interaction that is sent to an object has no regions; leave out where="
            )
        object_class, _ = class_of(to)
        if (object_class, interaction_class) not in self._published_directed:
            self.rti.publish_object_class_directed_interactions(object_class, {interaction_class})
            self._published_directed.add((object_class, interaction_class))
        return retraction_of(
            self.rti.send_directed_interaction(interaction_class, to.handle, encoded, tag, stamp)
        )

    def register(
        self,
        what: ObjectKind | HLAobjectRoot,
        instance_name: str | None = None,
        *,
        where: Where | None = None,
    ) -> LocalObject:
        """Register an object; all attributes of its class are published first if none is yet.

        Of a dataclass, `tug = Tug(Speed=3.0)` and `register(tug)`, the values are sent that are not None.  What changes in it
        later is sent by `update(tug)`, or by `commit` of the object.

        `where` it is updated at first: those attributes that have the regions' dimensions (`LocalObject.place`).
        """
        where = self._regions.chosen(where)
        given = what if isinstance(what, HLAobjectRoot) else None
        if given is not None and self._state.registered(given) is not None:
            raise ObjectInstanceNameInUse(
                f"{given!r} is registered already, as {self.registered(given).name!r}"
            )
        if not isinstance(what, HLAobjectRoot):
            full = self._vocabulary.object_class(what, f"send({what!r}, …)")
        else:
            full = self._vocabulary.object_class(type(what))
            what.encode()  # first: what is refused has changed nothing
        object_class = self._object_class(full)
        if object_class not in self._published:
            self.publish(full)
        placed: set[AttributeHandle] = set()
        if where is not None:
            published = sorted(self._published[object_class])
            placed = self._attributes(object_class, self._regions.attributes(full, where, published))
        if instance_name is not None:
            # The RTI has decided when the call returns.  The callback that says so is not awaited, since this may be within one.
            self._below._reserve_at_once(instance_name)
        if where is None:
            handle = self.rti.register_object_instance(object_class, instance_name)
        else:
            pairs = [(placed, handles(where))]
            handle = self.rti.register_object_instance_with_regions(object_class, pairs, instance_name)
            self._regions.placed(handle, placed, where)
        made = LocalObject(cast("Federate", self), full, handle, self.rti.get_object_instance_name(handle))
        if given is not None:
            self._state.bind(made, given)
            made.commit()
        return made

    def update(
        self, given: HLAobjectRoot, /, tag: bytes = b"", *, time: AnyTime | None = None
    ) -> MessageRetractionHandle | None:
        """Send what has changed in a dataclass since it was registered or updated last; nothing if nothing has."""
        return self.registered(given).commit(tag, time=time)

    def registered(self, given: HLAobjectRoot) -> LocalObject:
        """The object that was registered with this dataclass."""
        found = self._state.registered(given)
        if found is None:
            raise ObjectInstanceNotKnown(
                f"no object is registered with this very {type(given).__qualname__}: register it first; "
                "other values are sent for an object by object.update(…)"
            )
        return found
