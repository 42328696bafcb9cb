"""What a `Federate` wants to hear of, and how urgently."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar, overload

from weft.channel import Dependency, Urgency
from weft.federate.attentive import Happened
from weft.federate.easy.base import FederatePart
from weft.federate.objects.typed import missing, of_interactions, of_updates, require_handler
from weft.federate.regions import Chosen, Where, handles
from weft.federate.things import ReceivedInteraction, ReceivedUpdate, RemoteObject, Undecoded
from weft.federate.vocabulary import AnyKind, ObjectKind
from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot
from weft.model.errors import NameNotFound
from weft.model.records import DeadlineMiss
from weft.model.time import AnyTime

if TYPE_CHECKING:
    from weft.federate.ears import Ears

I = TypeVar("I", bound=HLAinteractionRoot)  # noqa: E741
O = TypeVar("O", bound=HLAobjectRoot)  # noqa: E741
R = TypeVar("R")
Handler = TypeVar("Handler", bound=Callable[..., object])


class HearingPart(FederatePart):
    """Subscriptions and handlers."""

    undecoded: deque[Undecoded]
    """Values that came and are not of their data types: the last of them (`on_undecoded`)."""
    _hears: dict[str, list[Callable[..., object]]]
    _discovers: dict[str, list[Callable[[RemoteObject], object]]]
    _reflects: dict[str, list[Callable[..., object]]]
    _removes: dict[str, list[Callable[[RemoteObject], object]]]
    _subscriptions: list[Callable[[], None]]
    _complainers: list[Callable[[Undecoded], object]]

    def subscribe(
        self,
        name: AnyKind,
        *attributes: str,
        rate: str = "",
        where: Where | None = None,
        time: AnyTime | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> None:
        """Subscribe to a class: an interaction class, or attributes of an object class (all if none is named).

        `rate` is an update rate of the object model: of each attribute no more values come than that, and the newest always.
        `where`: only to what is sent there; of an object class to those attributes that have the regions' dimensions.
        `time`: as of that logical time (docs/explanation/ddm-sync.md).
        `urgency` and `deadline`: as for `qos`.
        """
        if urgency is not None or deadline:
            self.qos(name, urgency, deadline)
        where = self._regions.chosen(where)
        full = self._vocabulary.name(name)
        if self._vocabulary.is_interaction(full):
            interaction_class = self._interaction_class(full)
            if where is None:
                self.rti.subscribe_interaction_class(interaction_class, time=time)
            else:
                regions = handles(where)
                self.rti.subscribe_interaction_class_with_regions(interaction_class, regions, time=time)
        elif where is None:
            object_class = self._object_class(full)
            full = self._vocabulary.object_class(full)
            chosen = self._attributes(object_class, self._vocabulary.heard_attributes(full, attributes))
            self.rti.subscribe_object_class_attributes(object_class, chosen, rate or None, time=time)
            self._state.ask(object_class, chosen, None)
        else:
            object_class = self._object_class(full)
            names = attributes or self._regions.attributes(self._vocabulary.object_class(full), where)
            pairs = [(self._attributes(object_class, names), handles(where))]
            self.rti.subscribe_object_class_attributes_with_regions(
                object_class, pairs, rate or None, time=time
            )
            self._state.ask(object_class, pairs[0][0], where)

    @overload
    def on_interaction(
        self,
        name: str,
        *,
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Handler], Handler]: ...
    @overload
    def on_interaction(
        self,
        name: type[I],
        *,
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Callable[[I, ReceivedInteraction], R]], Callable[[I, ReceivedInteraction], R]]: ...

    def on_interaction(
        self,
        name: str | type[HLAinteractionRoot],
        *,
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Handler], Handler]:
        """Call the function with each interaction of this class (and of those below it); subscribes to it.

        Of a class of Python it is called with one of that class, and with the `Interaction`, which says who sent it, and when.
        """
        full = self._vocabulary.interaction_class(name, f"on_update({name!r})")
        regions = self._regions.chosen(where)

        def subscribe() -> None:
            self.subscribe(full, where=regions, urgency=urgency, deadline=deadline)

        if isinstance(name, str):
            return self._heard(self._hears, full, subscribe)
        return self._heard(self._hears, full, subscribe, partial(of_interactions, name), name)

    @overload
    def on_update(
        self,
        name: str,
        *attributes: str,
        rate: str = "",
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Handler], Handler]: ...
    @overload
    def on_update(
        self,
        name: type[O],
        *attributes: str,
        rate: str = "",
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Callable[[O, ReceivedUpdate], R]], Callable[[O, ReceivedUpdate], R]]: ...

    def on_update(
        self,
        name: str | type[HLAobjectRoot],
        *attributes: str,
        rate: str = "",
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Handler], Handler]:
        """Call the function with an object and its changed values; subscribes to the attributes (all if none is named).

        The values are a mapping, which also has their `time`, `tag` and `sender`.  Those of objects that are there already are
        asked for.

        Of a class of Python it is called with one of that class instead of the object: the object's last values, as soon as all
        are there that have no default in the class.
        """
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        if attributes and not isinstance(name, str) and (wanting := missing(name, attributes)):
            raise NameNotFound(
                f"without {', '.join(wanting)} there is no {name.__qualname__}: subscribe to it, too, or give it a default"
            )
        regions = self._regions.chosen(where)

        def subscribe() -> None:
            self.subscribe(full, *attributes, rate=rate, where=regions, urgency=urgency, deadline=deadline)

        if isinstance(name, str):
            return self._heard(self._reflects, full, subscribe)
        return self._heard(self._reflects, full, subscribe, partial(of_updates, name), name)

    def on_discovery(self, name: ObjectKind, *, where: Where | None = None) -> Callable[[Handler], Handler]:
        """Call the function with each object that is discovered as this class or one below it."""
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        regions = self._regions.chosen(where)
        return self._heard(self._discovers, full, lambda: self._subscribe_if_new(full, regions))

    def on_removal(self, name: ObjectKind) -> Callable[[Handler], Handler]:
        """Call the function with each object of this class that is gone."""
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        return self._heard(self._removes, full, lambda: None)

    def on_undecoded(self, handler: Callable[[Undecoded], object]) -> Callable[[Undecoded], object]:
        """Call the function with each value that came and is not of its data type; without one they are logged.

        All else of the same message is handed over as usual.  `federate.undecoded` has the last of them.
        """
        self._complainers.append(handler)
        return handler

    def _heard(
        self,
        table: dict[str, list[Callable[..., object]]],
        full: str,
        subscribe: Callable[[], None],
        typed: Callable[[Callable[..., object], Ears], Callable[..., object]] | None = None,
        kind: type = object,
    ) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            if typed is not None:
                require_handler(handler, kind, "how it came")
            subscribe()
            table.setdefault(full, []).append(handler if typed is None else typed(handler, self._ears))
            self._subscriptions.append(subscribe)
            self._attention.handlers_changed()
            return handler

        return keep

    def _subscribe_if_new(self, full: str, where: Chosen | None) -> None:
        if where is not None or full not in self._reflects:
            self.subscribe(full, where=where)

    def qos(self, name: AnyKind, urgency: int | Urgency | None = None, deadline: float = 0.0) -> None:
        """How urgent a class is for this federate, and by when it should have dealt with each message of it
        (docs/explanation/urgency.md).

        `urgency`: 0 is the most urgent, None less urgent than all numbers.  `deadline` is in seconds; 0: none.
        """
        self._attention.set(name, urgency, deadline)

    def on_miss(self, handler: Callable[[DeadlineMiss], object]) -> Callable[[DeadlineMiss], object]:
        """Call the function with each deadline that this federate has missed."""
        self._attention.misses.append(handler)
        self.rti.query_qos()
        return handler

    def correlate(self, dependency: Dependency, handler: Callable[[list[Happened]], object]) -> None:
        """Call the function with several interactions and updates at once; subscribes to them.

        `all_of(heard("Fire"), heard("Tank", "Position"))`, for example; docs/explanation/urgency.md has the rules.
        """
        self._attention.correlate(dependency, handler)

    def uncorrelate(self, handler: Callable[[list[Happened]], object]) -> None:
        """Do not call it any more; what its group has so far is dropped."""
        self._attention.cancel(handler)
