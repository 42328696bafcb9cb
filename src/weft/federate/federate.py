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
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from weft.federate.ambassador import RTIambassador
from weft.federate.attentive import Attention
from weft.federate.callbacks import FederateAmbassador
from weft.federate.causal import CausalRTIambassador
from weft.federate.clock import LogicalClock, Number, time_choice
from weft.federate.ears import Ears
from weft.federate.easy.owning import OwningPart
from weft.federate.easy.saving import SavingPart
from weft.federate.easy.sending import SendingPart
from weft.federate.easy.timing import TimingPart
from weft.federate.entering import Invitation, Patience, connect, credentials_of, invitation, say_how_to_join
from weft.federate.meeting import Meeting, Who
from weft.federate.objects.ownership import Ownership
from weft.federate.pausing import Pauses
from weft.federate.regions import LocalRegion, Regions
from weft.federate.state import LastValues
from weft.federate.things import KnownObjects
from weft.federate.vocabulary import Vocabulary
from weft.host import Designator, NodeHost, load_fom
from weft.host.files.modules import read_sources
from weft.model.enums import CallbackModel, ResignAction
from weft.model.errors import (
    FederateNotExecutionMember,
    FederatesCurrentlyJoined,
    FederationExecutionAlreadyExists,
    FederationExecutionDoesNotExist,
    NotConnected,
    NotInTime,
    RTIexception,
    Unauthorized,
)
from weft.model.handles import FederateHandle
from weft.model.records import Credentials, RtiConfiguration
from weft.model.time import AnyTime

_TRIES = 10
_UNDECODED = 1000


class Federate(SendingPart, OwningPart, TimingPart, SavingPart):
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
        self.rti = CausalRTIambassador(host) if causal else RTIambassador(host)
        self._below = getattr(self.rti, "_rti", self.rti)
        self.objects = KnownObjects(lambda kind: self._vocabulary.object_class(kind))
        self._kind = told.kind or told.name or type(self).__name__
        self._sources = read_sources(told.fom or ())
        self._callbacks = callbacks
        self._address = told.rti
        self._credentials = credentials_of(user, password, credentials)
        self._vocabulary = Vocabulary(load_fom(*self._sources))
        self._hears, self._discovers, self._reflects, self._removes = {}, {}, {}, {}
        self._subscriptions, self._complainers, self._directed = [], [], {}
        self.undecoded = deque(maxlen=_UNDECODED)
        self._complained: set[tuple[str, str, str]] = set()
        say_how_to_join(self.rti)
        self._ears = Ears(self)
        self._hearing: FederateAmbassador = self._ears  # what the RTI calls
        self._abandoned = False
        self._pauses = Pauses(self)
        self._regions = Regions(self)
        self._attention = Attention(self)
        self._meeting = Meeting(self)
        self._state = LastValues(self)
        self._ownership = Ownership(self)
        self._clock = LogicalClock(self, time_choice(told.time, lookahead, regulating, constrained))
        self._news = threading.Condition()  # with IMMEDIATE callbacks: notified after each
        self._federate_names, self._names, self._published, self._published_directed = {}, {}, {}, set()
        self._class_handles, self._parameter_handles = {}, {}

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
        patience = Patience(self._wait, lambda: self._abandoned)
        patience.until_done(
            lambda: connect(self.rti, self._hearing, self._callbacks, self._address, self._credentials)
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
        self._state.forget()
        self._federate_names.clear()
        self._names.clear()
        self._class_handles.clear()
        self._parameter_handles.clear()
        self._published.clear()
        self._published_directed.clear()

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
            self._below._refuse_within_callback("run_until")
            with self._news:
                found = bool(self._news.wait_for(lambda: self._abandoned or condition(), seconds))
            if self._abandoned:
                raise NotInTime("nobody waits for it any more")
            return found
        deadline = connection.now() + seconds
        while not condition():
            left = deadline - connection.now()
            if left <= 0:
                return False
            self.rti.evoke_callback(left)
        return True

    def _abandon(self, abandoned: bool) -> None:
        """With IMMEDIATE callbacks: what another thread waits for is not waited for any more."""
        with self._news:
            self._abandoned = abandoned
            self._news.notify_all()

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


join = Federate
"""As it reads in a `with` block."""
