"""The Python way to write a federate.

    with weft.join("Range", "Observer", fom="range.xml") as observer:

        @observer.on_interaction("Fire")
        def seen(shot):
            print(shot.sender, "fires at", shot["Target"])

        observer.run(10)

`join` connects, creates the federation if nobody has, and joins; leaving the block resigns, destroys the federation if nobody
is left, and disconnects.  Saying what one wants to hear subscribes to it; sending and registering publish.  Values are
Python values, encoded and decoded by the object model.  `federate.rti` is the ambassador below, with every service of
the standard.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Self, TypeVar

from weft.channel import Dependency, Urgency
from weft.federate.ambassador import RTIambassador
from weft.federate.attentive import Attention, Happened
from weft.federate.causal import CausalRTIambassador
from weft.federate.clock import LogicalClock, Number, steps, time_choice
from weft.federate.ears import Ears
from weft.federate.entering import Invitation, Patience, connect, credentials_of, invitation, say_how_to_join
from weft.federate.meeting import Meeting, Who
from weft.federate.pausing import Pauses
from weft.federate.regions import Chosen, LocalRegion, Regions, Where, handles
from weft.federate.state import LastValues
from weft.federate.things import (
    KnownObjects,
    LocalObject,
    ReceivedInteraction,
    ReceivedUpdate,
    RemoteObject,
    Undecoded,
    all_values,
    retraction_of,
)
from weft.federate.vocabulary import Vocabulary
from weft.host import Designator, NodeHost, load_fom
from weft.host.files.modules import read_sources
from weft.model.enums import CallbackModel, ResignAction
from weft.model.errors import (
    FederateNotExecutionMember,
    FederatesCurrentlyJoined,
    FederationExecutionAlreadyExists,
    FederationExecutionDoesNotExist,
    InvalidMessageRetractionHandle,
    NotConnected,
    RTIexception,
    Unauthorized,
)
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectClassHandle,
)
from weft.model.records import Blocking, Credentials, DeadlineMiss, RtiConfiguration
from weft.model.time import AnyTime

Handler = TypeVar("Handler", bound=Callable[..., object])

_TRIES = 10
_UNDECODED = 1000


class Federate:
    """A federate of one federation, for a `with` block; see the head of this module.

    `rti` is the address of a server ("host:port", "tls://host:port", "ws://…"), or the server of a domains file that this process
    itself is ("mesh://S3@domains.toml"); without one that of WEFT_ADDRESS in the environment, else the RTI is inside this process
    and alone.
    Without a federation, all that is not said comes from the environment: `weft run` tells it what a federation file has
    (docs/how-to/run-file.md), so that `weft.join()` is enough there.
    `user` and `password`: for a server with a password file (docs/how-to/tls.md); or `credentials` of any type, as
    `connect` takes them.
    `wait`: for so many seconds a server is waited for that does not run yet, or a node of the mesh that was taken for gone, so
    that the order of starting does not matter.
    `time`: a number is the federate's lookahead; it then regulates and is constrained, and counts in whole numbers or in
    fractions as that number is (`steps`, `advance`).  Or "float64" or "integer64", and `lookahead`, `regulating` and
    `constrained` by themselves.  Without any of these the federate takes no part in logical time.
    `causal`: messages come in causal order, of all federates that ask for it (docs/explanation/ordering.md, "As middleware").
    """

    def __init__(
        self,
        federation: str = "",
        name: str | None = None,
        *,
        fom: Designator | Iterable[Designator] | None = None,
        kind: str | None = None,
        time: str | Number = "",
        lookahead: Number | None = None,
        regulating: bool | None = None,
        constrained: bool | None = None,
        callbacks: CallbackModel = CallbackModel.EVOKED,
        rti: str | RtiConfiguration | None = None,
        user: str = "",
        password: str = "",
        credentials: Credentials | None = None,
        host: NodeHost | None = None,
        causal: bool = False,
        wait: float = 10.0,
    ) -> None:
        if isinstance(host, str):
            raise TypeError(f"`host` is a node of this process; the address of a server goes in rti={host!r}")
        told = Invitation(federation, name or "", kind or "", fom, time, rti or "")
        # Who brings a node says where it joins.
        told = invitation(told, "" if host is not None and rti is None else rti, os.environ)
        self._wait = wait
        self.federation = told.federation
        self.name = told.name
        self.rti: RTIambassador = CausalRTIambassador(host) if causal else RTIambassador(host)
        self._below: RTIambassador = getattr(self.rti, "_rti", self.rti)
        self.objects = KnownObjects(lambda name: self._vocabulary.object_class(name))
        self._kind = told.kind or told.name or type(self).__name__
        self._sources = read_sources(told.fom or ())
        self._callbacks = callbacks
        self._address = told.rti
        self._credentials = credentials_of(user, password, credentials)
        self._vocabulary = Vocabulary(load_fom(*self._sources))
        self._hears: dict[str, list[Callable[[ReceivedInteraction], object]]] = {}
        self._discovers: dict[str, list[Callable[[RemoteObject], object]]] = {}
        self._reflects: dict[str, list[Callable[[RemoteObject, ReceivedUpdate], object]]] = {}
        self._removes: dict[str, list[Callable[[RemoteObject], object]]] = {}
        self._subscriptions: list[Callable[[], None]] = []
        self.undecoded: deque[Undecoded] = deque(maxlen=_UNDECODED)
        """Values that came and are not of their data types: the last of them (`on_undecoded`)."""
        self._complainers: list[Callable[[Undecoded], object]] = []
        self._complained: set[tuple[str, str, str]] = set()
        say_how_to_join(self.rti)
        self._ears = Ears(self)
        self._pauses = Pauses(self)
        self._regions = Regions(self)
        self._attention = Attention(self)
        self._meeting = Meeting(self)
        self._state = LastValues(self)
        self._clock = LogicalClock(self, time_choice(told.time, lookahead, regulating, constrained))
        self._news = threading.Condition()  # with IMMEDIATE callbacks: notified after each
        # Of one stay in the federation, and forgotten with the next.
        self._federate_names: dict[FederateHandle, str] = {}
        self._names: dict[tuple[Handle, ...], str] = {}
        self._published: dict[InteractionClassHandle | ObjectClassHandle, set[str]] = {}  # which attributes

    # --- joining and leaving ----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.join()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.resign()
        except (NotConnected, FederateNotExecutionMember):
            pass  # the RTI has ended, or has resigned this federate: it is out already
        except RTIexception:
            if error is None:  # otherwise the error in the block is the one to report
                raise

    def join(self) -> None:
        """Connect, create the federation if nobody has, join it; handlers that there are already subscribe anew."""
        patience = Patience(self._wait)
        patience.until_done(
            lambda: connect(self.rti, self._ears, self._callbacks, self._address, self._credentials)
        )
        self._forget()
        try:
            handle = patience.until_done(lambda: self._create_and_join(_TRIES))
            self.name = self.rti.get_federate_name(handle)
            self._clock.begin()
            self._regions.come_again()
            for subscribe in self._subscriptions:
                subscribe()
            self._attention.come_again()
        except BaseException:
            self.rti.leave()
            raise

    def resign(self) -> None:
        """Resign and delete what was registered, destroy the federation if nobody is left, disconnect."""
        try:
            self.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
            # Others may still be in it, another was the last to leave, or this user may not.
            with contextlib.suppress(FederatesCurrentlyJoined, FederationExecutionDoesNotExist, Unauthorized):
                self.rti.destroy_federation_execution(self.federation)
        finally:
            self.rti.leave()

    def _forget(self) -> None:
        """What was heard in an earlier stay means nothing in this one."""
        self.objects.clear()
        self._meeting.forget()
        self._state.own.clear()
        self._federate_names.clear()
        self._names.clear()
        self._published.clear()

    def _create_and_join(self, tries: int) -> FederateHandle:
        refused = None  # who may not create may join what others have created
        try:
            with contextlib.suppress(FederationExecutionAlreadyExists):
                self.rti.create_federation_execution(
                    self.federation, self._sources, self._clock.chosen.implementation
                )
        except Unauthorized as error:
            refused = error
        try:
            return self._join()
        except FederationExecutionDoesNotExist:
            if refused is not None:
                raise Unauthorized(
                    f"{refused}, and nobody has created {self.federation!r} yet: join after somebody who may"
                ) from refused
            if tries == 1:
                raise
            return self._create_and_join(tries - 1)  # between the two calls the last one in it left

    def _join(self) -> FederateHandle:
        # The same modules again change nothing; if another federate created the federation, they add what it lacks.
        if self.name:
            return self.rti.join_federation_execution(self.name, self._kind, self.federation, self._sources)
        return self.rti.join_federation_execution(self._kind, self.federation, self._sources)

    # --- sending ----------------------------------------------------------------------------------------------

    def publish(self, name: str, *attributes: str) -> None:
        """Publish a class: an interaction class, or attributes of an object class (all of them if none is named)."""
        if self._vocabulary.is_interaction(name):
            interaction_class = self._interaction_class(name)
            self.rti.publish_interaction_class(interaction_class)
            self._published[interaction_class] = set()
        else:
            object_class = self._object_class(name)
            self.rti.publish_object_class_attributes(object_class, self._attributes(object_class, attributes))
            names = self._vocabulary.attributes(self._vocabulary.object_class(name), attributes)
            self._published.setdefault(object_class, set()).update(names)

    def subscribe(
        self,
        name: str,
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
        if self._vocabulary.is_interaction(name):
            interaction_class = self._interaction_class(name)
            if where is None:
                self.rti.subscribe_interaction_class(interaction_class, time=time)
            else:
                regions = handles(where)
                self.rti.subscribe_interaction_class_with_regions(interaction_class, regions, time=time)
        elif where is None:
            object_class = self._object_class(name)
            full = self._vocabulary.object_class(name)
            chosen = self._attributes(object_class, self._vocabulary.heard_attributes(full, attributes))
            self.rti.subscribe_object_class_attributes(object_class, chosen, rate or None, time=time)
            self._state.ask(object_class, chosen, None)
        else:
            object_class = self._object_class(name)
            names = attributes or self._regions.attributes(self._vocabulary.object_class(name), where)
            pairs = [(self._attributes(object_class, names), handles(where))]
            self.rti.subscribe_object_class_attributes_with_regions(
                object_class, pairs, rate or None, time=time
            )
            self._state.ask(object_class, pairs[0][0], where)

    def send(
        self,
        name: str,
        /,
        tag: bytes = b"",
        *,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        time: AnyTime | None = None,
        **parameters: object,
    ) -> MessageRetractionHandle | None:
        """Send an interaction, to those who subscribe there or to all; its class is published first if it is not yet.

        With a logical `time` it comes to those who are constrained when they have advanced so far; `retract` takes back what is
        returned.

        Parameters go by their names, `send("Fire", Target="T1")`, or in a dict, which takes any name:
        `send("Note", values={"tag": "x", "where": "here"})`.
        """
        where = self._regions.chosen(where)
        full = self._vocabulary.interaction_class(name, 'register("…") and its update')
        interaction_class = self._interaction_class(full)
        given = all_values(values, parameters, self._vocabulary.has_parameter(full, "values"))
        encoded = {}
        for parameter, value in given.items():
            data = self._vocabulary.encode("parameter", full, parameter, value)
            encoded[self.rti.get_parameter_handle(interaction_class, parameter)] = data
        if interaction_class not in self._published:
            self.publish(full)
        stamp = None
        if time is not None:
            stamp = self._clock.stamp(time)
            self._clock.order(interaction_class)
        if where is None:
            return retraction_of(self.rti.send_interaction(interaction_class, encoded, tag, stamp))
        regions = handles(where)
        return retraction_of(
            self.rti.send_interaction_with_regions(interaction_class, encoded, regions, tag, stamp)
        )

    def register(
        self, name: str, instance_name: str | None = None, *, where: Where | None = None
    ) -> LocalObject:
        """Register an object; all attributes of its class are published first if none is yet.

        `where` it is updated at first: those attributes that have the regions' dimensions (`LocalObject.place`).
        """
        where = self._regions.chosen(where)
        full = self._vocabulary.object_class(name, f"send({name!r}, …)")
        object_class = self._object_class(full)
        if object_class not in self._published:
            self.publish(full)
        placed: set[AttributeHandle] = set()
        if where is not None:
            published = sorted(self._published[object_class])
            placed = self._attributes(object_class, self._regions.attributes(full, where, published))
        if instance_name is not None:
            # The RTI has decided when the call returns.  The callback that says so is not awaited, since this may be within one.
            self.rti._reserve_at_once(instance_name)
        if where is None:
            handle = self.rti.register_object_instance(object_class, instance_name)
        else:
            pairs = [(placed, handles(where))]
            handle = self.rti.register_object_instance_with_regions(object_class, pairs, instance_name)
            self._regions.placed(handle, placed, where)
        return LocalObject(self, full, handle, self.rti.get_object_instance_name(handle))

    # --- regions ----------------------------------------------------------------------------------------------

    def region(self, space: str = "", /, **ranges: tuple[int, int]) -> LocalRegion:
        """A region: for each of its dimensions the numbers from the first up to, and without, the second.

        Dimensions may be named by any ending of their names that fits only one: `region(lane=(0, 10))`.  Those of a
        routing space of a FED file go by their names in it: `region("Ground", x=(0, 10))`; `region("Ground")` is all of it.
        """
        return self._regions.make(space, ranges)

    def moving(self, *, time: AnyTime | None = None) -> contextlib.AbstractContextManager[None]:
        """A block at whose end all regions that move in it do so at once; if it fails, none does.

        `time`: as of that logical time (docs/explanation/ddm-sync.md).
        """
        return self._regions.moving(time)

    # --- hearing ----------------------------------------------------------------------------------------------

    def on_interaction(
        self,
        name: str,
        *,
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Handler], Handler]:
        """Call the function with each interaction of this class (and of those below it); subscribes to it."""
        full = self._vocabulary.interaction_class(name, f"on_update({name!r})")
        regions = self._regions.chosen(where)

        def subscribe() -> None:
            self.subscribe(full, where=regions, urgency=urgency, deadline=deadline)

        return self._heard(self._hears, full, subscribe)

    def on_update(
        self,
        name: str,
        *attributes: str,
        rate: str = "",
        where: Where | None = None,
        urgency: int | Urgency | None = None,
        deadline: float = 0.0,
    ) -> Callable[[Handler], Handler]:
        """Call the function with an object and its changed values; subscribes to the attributes (all if none is named).

        The values are a mapping, which also has their `time`, `tag` and `sender`.  Those of objects that are there already are
        asked for.
        """
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        regions = self._regions.chosen(where)

        def subscribe() -> None:
            self.subscribe(full, *attributes, rate=rate, where=regions, urgency=urgency, deadline=deadline)

        return self._heard(self._reflects, full, subscribe)

    def on_discovery(self, name: str, *, where: Where | None = None) -> Callable[[Handler], Handler]:
        """Call the function with each object that is discovered as this class or one below it."""
        full = self._vocabulary.object_class(name, f"on_interaction({name!r})")
        regions = self._regions.chosen(where)
        return self._heard(self._discovers, full, lambda: self._subscribe_if_new(full, regions))

    def on_removal(self, name: str) -> Callable[[Handler], Handler]:
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
        self, table: dict[str, list[Callable[..., object]]], full: str, subscribe: Callable[[], None]
    ) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            subscribe()
            table.setdefault(full, []).append(handler)
            self._subscriptions.append(subscribe)
            self._attention.handlers_changed()
            return handler

        return keep

    def _subscribe_if_new(self, full: str, where: Chosen | None) -> None:
        if where is not None or full not in self._reflects:
            self.subscribe(full, where=where)

    # --- how urgently -----------------------------------------------------------------------------------------

    def qos(self, name: str, urgency: int | Urgency | None = None, deadline: float = 0.0) -> None:
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

    # --- logical time -----------------------------------------------------------------------------------------

    @property
    def now(self) -> Number:
        """The logical time that this federate was granted last."""
        return self._clock.now

    @property
    def earliest(self) -> Number:
        """The earliest time of a message that is sent now: that of the federate, or that it has asked for, plus its lookahead."""
        return self._clock.earliest

    @property
    def behind(self) -> float:
        """By how many seconds the last step of `steps(…, pace=…)` began too late."""
        return self._clock.behind

    def steps(self, step: Number, until: Number = math.inf, pace: float | None = None) -> Iterator[Number]:
        """Go through logical time: `for t in federate.steps(0.1, until=10)` asks for 0.1, 0.2 … 10.0, from where it is now.

        In the block all messages up to `t` have come.  `pace`: so many seconds of logical time pass in one second; what one step
        takes too long the next ones take less.
        """
        return steps([self], step, until, pace)

    def advance(self, to: AnyTime, *, available: bool = False) -> Number:
        """Wait until the federation has come to that time, and handle messages meanwhile; returns the time.

        That is Time Advance Request, or Time Advance Request Available, after which more messages of just that time may come.
        """
        rti = self.rti
        ask = rti.time_advance_request_available if available else rti.time_advance_request
        return self._clock.advance(ask, to)

    def next_message(self, until: AnyTime = math.inf, *, available: bool = False) -> Number:
        """Wait until the time of the next message, or that one if none comes; returns the time (Next Message Request)."""
        rti = self.rti
        ask = rti.next_message_request_available if available else rti.next_message_request
        return self._clock.advance(ask, until)

    def flush(self, until: AnyTime = math.inf) -> Number:
        """Take all messages there are, also those of later times; returns the time (Flush Queue Request)."""
        return self._clock.advance(self.rti.flush_queue_request, until)

    def request(self, to: AnyTime) -> None:
        """Ask for that time and do not wait; `wait` does, or it comes while callbacks are handled."""
        self._clock.request(self.rti.time_advance_request, to)

    def wait(self) -> Number:
        """Handle messages until the time that was asked for is granted; returns it."""
        return self._clock.wait()

    def retract(self, message: MessageRetractionHandle | None) -> None:
        """Take back a message that was sent with a time; None, which one without a time returns, is refused."""
        if message is None:
            raise InvalidMessageRetractionHandle(
                "only a message with a logical time, sent in time stamp order, can be taken back"
            )
        self.rti.retract(message)

    def on_blocked(self, handler: Callable[[Blocking], object]) -> Callable[[Blocking], object]:
        """Call the function, every few seconds, with whom this federate waits for; without one that is logged."""
        self._clock.watchers.append(handler)
        return handler

    # --- letting things happen --------------------------------------------------------------------------------

    def poll(self) -> bool:
        """Handle what has arrived, without waiting; True if more came in meanwhile."""
        if self._callbacks is CallbackModel.IMMEDIATE:
            return self.rti.connection.pending()
        return self.rti.evoke_multiple_callbacks(0.0, 0.1)

    def run(self, seconds: float) -> None:
        """Handle what arrives for so long."""
        if self._callbacks is CallbackModel.IMMEDIATE:
            self.run_until(lambda: False, seconds)
        else:
            self.rti.evoke_multiple_callbacks(seconds, seconds)

    def run_until(self, condition: Callable[[], object], seconds: float = 10.0) -> bool:
        """Handle what arrives until the condition holds, at most so long; says whether it holds."""
        connection = self.rti.connection
        if self._callbacks is CallbackModel.IMMEDIATE:
            self.rti._refuse_within_callback("run_until")
            with self._news:
                return bool(self._news.wait_for(condition, seconds))
        deadline = connection.now() + seconds
        while not condition():
            left = deadline - connection.now()
            if left <= 0:
                return False
            self.rti.evoke_callback(left)
        return True

    def wait_for(self, federates: Who, seconds: float = 60.0) -> None:
        """Until so many federates have joined (this one is one of them), or those of these names.

        If they do not come in time NotInTime is raised, which names who is missing.
        """
        self._meeting.wait_for(federates, seconds)

    def synchronize(self, label: str, seconds: float = 60.0, *, federates: Who | None = None) -> bool:
        """Meet all other federates at a synchronization point: register it if nobody has, achieve it, wait for the rest.

        That are those who have joined by then: who comes first and alone passes alone.  So say how many there will be, or their
        names: `synchronize("ready", federates=8)` waits for these first.  If others do not come in time NotInTime is raised,
        which names who is missing.
        """
        self._meeting.synchronize(label, seconds, federates)
        return True

    # --- save and restore -------------------------------------------------------------------------------------

    def save(self, label: str, seconds: float | None = None, *, time: AnyTime | None = None) -> bool:
        """Save the federation under this label, and wait until that is over, a minute at most; says whether it is saved.

        With a logical `time` it is saved when all federates have come there, this one too; so that is not waited for unless
        `seconds` says so.  `on_save` hears of it.
        """
        if seconds is None:
            seconds = 60.0 if time is None else 0.0
        stamp = None if time is None else self._clock.stamp(time)
        return self._pauses.wait(lambda name: self.rti.request_federation_save(name, stamp), label, seconds)

    def restore(self, label: str, seconds: float = 60.0) -> bool:
        """Bring the federation back to that save, and wait until that is over; says whether it is restored."""
        return self._pauses.wait(self.rti.request_federation_restore, label, seconds)

    @property
    def paused(self) -> bool:
        """Is the federation being saved or restored?  Then sending and the like raise SaveInProgress or RestoreInProgress."""
        return self.rti._paused is not None

    def on_save(self, handler: Handler) -> Handler:
        """Call the function with the label whenever the federation is saved, to save this federate's own state."""
        self._pauses.savers.append(handler)
        return handler

    def on_restore(self, handler: Handler) -> Handler:
        """Call the function with the label whenever the federation is restored, to take that state back."""
        self._pauses.restorers.append(handler)
        return handler

    def recall(self, instance_name: str) -> LocalObject:
        """An object of one's own by its name: after a restore, that of the save."""
        return self._pauses.recall(instance_name)

    # --- names ------------------------------------------------------------------------------------------------

    def _interaction_class(self, name: str) -> InteractionClassHandle:
        return self.rti.get_interaction_class_handle(self._vocabulary.interaction_class(name))

    def _object_class(self, name: str) -> ObjectClassHandle:
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


join = Federate
"""As it reads in a `with` block."""
