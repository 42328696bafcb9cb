"""What a `Federate` owns, gives away and acquires, and what it answers who asks for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, overload

from weft.federate.easy.hearing import HearingPart
from weft.federate.objects.ownership import OwnershipHandlers, SomeObject, class_of
from weft.federate.objects.typed import of_directed, require_handler
from weft.federate.things import LocalObject, ReceivedInteraction
from weft.federate.vocabulary import InteractionKind, ObjectKind
from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot

Handler = TypeVar("Handler", bound=Callable[..., object])
Answerer = TypeVar(
    "Answerer", bound=Callable[[LocalObject, list[str]], Mapping[str, object] | HLAobjectRoot | None]
)
Owning = TypeVar("Owning", bound=Callable[[LocalObject, list[str]], object])
Seeing = TypeVar("Seeing", bound=Callable[[SomeObject, list[str]], object])
I = TypeVar("I", bound=HLAinteractionRoot)  # noqa: E741
R = TypeVar("R")


class OwningPart(HearingPart):
    """Ownership of attributes, directed interactions, requests for values."""

    _directed: dict[str, list[Callable[..., object]]]

    # --- ownership --------------------------------------------------------------------------------------------

    def acquire(self, one: SomeObject, *attributes: str, available: bool = False, tag: bytes = b"") -> None:
        """Ask for attributes of an object (all if none is named); `on_acquired` hears when they are this federate's.

        Who owns them is asked to release them (`on_requested`).  `available`: only if nobody owns them; otherwise
        `on_unavailable` hears of it.  They are published first.
        """
        handle, _ = class_of(one)
        wanted = self._ownership.attributes(one, attributes)
        # `_published` does not know: `register` publishes all the same what it needs.
        self.rti.publish_object_class_attributes(handle, wanted)
        if available:
            self.rti.attribute_ownership_acquisition_if_available(one.handle, wanted, tag)
        else:
            self.rti.attribute_ownership_acquisition(one.handle, wanted, tag)

    def offer(self, one: SomeObject, *attributes: str, tag: bytes = b"") -> None:
        """Offer attributes (all of one's own if none is named) to whoever takes them (`on_offered`).

        They are this federate's until somebody does; then they are given away, and `on_released` hears of it.
        """
        offered = self._ownership.own(one, attributes)
        self.rti.negotiated_attribute_ownership_divestiture(one.handle, offered, tag)

    def divest(self, one: SomeObject, *attributes: str, tag: bytes = b"") -> None:
        """Give attributes up at once (all of one's own if none is named), whether somebody wants them or not."""
        given_up = self._ownership.own(one, attributes)
        self.rti.unconditional_attribute_ownership_divestiture(one.handle, given_up, tag)

    def release(self, one: SomeObject, *attributes: str, tag: bytes = b"") -> list[str]:
        """Give attributes to whoever has asked for them (`on_requested`); returns those that somebody wanted."""
        released = self._ownership.own(one, attributes)
        given = self.rti.attribute_ownership_divestiture_if_wanted(one.handle, released, tag)
        return self._ownership.names(one, given)

    def deny(self, one: SomeObject, *attributes: str, tag: bytes = b"") -> None:
        """Keep attributes that another has asked for (`on_requested`); it hears that they are unavailable."""
        kept = self._ownership.own(one, attributes)
        self.rti.attribute_ownership_release_denied(one.handle, kept, tag)

    def owns(self, one: SomeObject, attribute: str) -> bool:
        """Is this attribute of the object this federate's?"""
        (handle,) = self._ownership.attributes(one, [attribute])
        return self.rti.is_attribute_owned_by_federate(one.handle, handle)

    def owners(self, one: SomeObject, seconds: float = 10.0) -> dict[str, str]:
        """Ask the RTI who owns each attribute: names of federates, "" for nobody."""
        return self._ownership.ask(one, seconds)

    def on_acquired(self, name: ObjectKind) -> Callable[[Owning], Owning]:
        """Call the function with an object, by which it is updated from now on, and the attributes that this federate got."""
        return self._owning(self._ownership.acquired, name)

    def on_unavailable(self, name: ObjectKind) -> Callable[[Seeing], Seeing]:
        """Call the function with an object and the attributes that it asked for and does not get."""
        return self._owning(self._ownership.unavailable, name)

    def on_requested(self, name: ObjectKind) -> Callable[[Owning], Owning]:
        """Call the function with an object and those of its attributes that another asks for: `release` or `deny` them.

        Without either the other waits until they are offered.
        """
        return self._owning(self._ownership.requested, name)

    def on_released(self, name: ObjectKind) -> Callable[[Owning], Owning]:
        """Call the function with an object and the attributes that were offered and another has taken."""
        return self._owning(self._ownership.released, name)

    def on_offered(self, name: ObjectKind, *attributes: str) -> Callable[[Seeing], Seeing]:
        """Call the function with an object and attributes that somebody offers or nobody owns: `acquire` takes them.

        Publishes the attributes (all if none is named), and subscribes to the class if it is not yet.
        """
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")

        def declare() -> None:
            handle = self._object_class(full)
            self.rti.publish_object_class_attributes(handle, self._attributes(handle, attributes))
            self._subscribe_if_new(full, None)

        return self._heard(self._ownership.offered, full, declare)

    def _owning(self, table: OwnershipHandlers, name: ObjectKind) -> Callable[[Handler], Handler]:
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        return self._heard(table, full, lambda: None)

    # --- requests for values ----------------------------------------------------------------------------------

    def on_request(self, name: ObjectKind) -> Callable[[Answerer], Answerer]:
        """Call the function when somebody asks for values of an object, with the object and the attributes' names.

        What it returns is sent, a dict or a dataclass; None: what was sent last, as without such a function.
        """
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        return self._heard(self._state.answerers, full, lambda: None)

    # --- directed interactions --------------------------------------------------------------------------------

    @overload
    def on_directed(
        self, name: str, target: ObjectKind, *, universally: bool = False
    ) -> Callable[[Handler], Handler]: ...
    @overload
    def on_directed(
        self, name: type[I], target: ObjectKind, *, universally: bool = False
    ) -> Callable[
        [Callable[[SomeObject, I, ReceivedInteraction], R]], Callable[[SomeObject, I, ReceivedInteraction], R]
    ]: ...

    def on_directed(
        self, name: InteractionKind, target: ObjectKind, *, universally: bool = False
    ) -> Callable[[Handler], Handler]:
        """Call the function with an object of this federate, and an interaction of that class that is sent to it.

        Those objects count of which it owns an attribute; `universally`: all that it knows.  Of a class of Python the function is
        called with the object, one of that class, and the `Interaction`.
        """
        full = self._vocabulary.interaction_class(name, f"on_update({name!r})")
        whose = self._vocabulary.object_class(target, f"on_interaction({target!r})")

        def subscribe() -> None:
            handle, classes = self._object_class(whose), {self._interaction_class(full)}
            if universally:
                self.rti.subscribe_object_class_directed_interactions_universally(handle, classes)
            else:
                self.rti.subscribe_object_class_directed_interactions(handle, classes)

        def keep(handler: Handler) -> Handler:
            heard: Callable[..., object] = handler
            if not isinstance(name, str):
                require_handler(handler, name, "how it came", "the object, ")
                heard = of_directed(name, handler, self._ears)

            def of_target(one: SomeObject, message: ReceivedInteraction) -> None:
                _, known = class_of(one)
                if f"{known}.".startswith(f"{whose}."):
                    heard(one, message)

            self._heard(self._directed, full, subscribe)(of_target)
            return handler

        return keep
