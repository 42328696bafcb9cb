"""Causal order above any RTI: an RTI ambassador to use in place of `RTIambassador` (S0-7 … S0-14).

    rti = weft.CausalRTIambassador()      # the only change to a federate

Interactions, directed interactions, updates and deletions without a time stamp carry a stamp in front of the user's tag; who gets
one before its causes gets it when they have come.  All else passes through.  See docs/explanation/ordering.md, "As middleware".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from weft.channel import Dependency
from weft.federate.ambassador import RTIambassador, joining
from weft.federate.callbacks import FederateAmbassador
from weft.federate.causal.middle import CausalFederateAmbassador
from weft.federate.causal.module import CAUSAL_MODULE
from weft.federate.causal.seat import Seat
from weft.federate.causal.services import SENDING, CausalServices
from weft.host import Connection
from weft.model.enums import CallbackModel, ResignAction
from weft.model.errors import (
    CouldNotOpenFOM,
    ErrorReadingFOM,
    InconsistentFOM,
    InvalidFOM,
    NameNotFound,
    RTIexception,
    RTIinternalError,
)
from weft.model.handles import FederateHandle
from weft.model.records import ConfigurationResult, Credentials, RtiConfiguration


@dataclass(frozen=True, slots=True)
class CausalCounts:
    """What causal order has cost this federate since it joined."""

    messages: int = 0  # sent with a stamp
    stamp_bytes: int = 0
    notices: int = 0  # sent to the other members, notes above all
    notice_bytes: int = 0
    delivered: int = 0  # in causal order
    noted: int = 0  # messages of others that were not for this federate
    waited: int = 0  # how many of those delivered had to wait
    held: int = 0  # how many wait now
    held_most: int = 0
    longest_wait: float = 0.0  # seconds
    late: int = 0  # delivered without order: best effort or paced, and overtaken
    refused: int = 0  # of crashed federates, too late
    dropped: int = 0  # about instances that were removed while they waited


class CausalRTIambassador(CausalServices):
    """`host` as for `RTIambassador`; or `above`: any other ambassador with the same services.

    `destinations`: every message counts for "all", or for those named by "tables" of subscriptions, as in the paper; all members
    choose the same.  `carrier`: stamps in front of the "tag", or in an "envelope", an interaction ahead of the message.
    `text`: stamps as text with ampersands instead of binary.  `classes`: only messages of these classes and of those below
    them are put in order; names as in the object model, or endings of them.
    """

    @property
    def counts(self) -> CausalCounts:
        seat = self._last
        if seat is None:
            return CausalCounts()
        group, sent = seat.party.group, seat.counts
        got = group.counts
        return CausalCounts(
            messages=sent.messages,
            stamp_bytes=sent.stamp_bytes,
            notices=sent.notices,
            notice_bytes=sent.notice_bytes,
            delivered=got.delivered,
            noted=got.noted,
            waited=got.waited,
            held=group.held,
            held_most=got.held_most,
            longest_wait=sent.longest_wait,
            late=got.late,
            refused=got.refused,
            dropped=sent.dropped,
        )

    # --- connecting and joining -------------------------------------------------------------------------------

    def connect(
        self,
        federate_ambassador: FederateAmbassador,
        callback_model: CallbackModel,
        configuration: RtiConfiguration | Credentials | str | None = None,
        credentials: Credentials | None = None,
    ) -> ConfigurationResult:
        middle = CausalFederateAmbassador(self._hear, federate_ambassador)
        before, self._user = self._user, federate_ambassador
        given = [one for one in (configuration, credentials) if one is not None]
        try:
            result = self._rti.connect(middle, callback_model, *given)  # type: ignore[arg-type]
        except BaseException:
            self._user = before
            raise
        self._immediate = callback_model is CallbackModel.IMMEDIATE
        self._open_for_callbacks = True
        self._ready.clear()
        return result

    def join_federation_execution(self, *positional: object, **named: object) -> FederateHandle:
        name, kind, federation, given = joining(positional, named)
        join: Callable[..., FederateHandle] = self._rti.join_federation_execution
        who = (kind, federation) if name is None else (name, kind, federation)
        with self._lock:
            try:
                handle = join(*who, [*given, CAUSAL_MODULE])
            except (CouldNotOpenFOM, ErrorReadingFOM, InvalidFOM, InconsistentFOM) as error:
                handle = join(*who, given)  # the fault may be in those given
                self._take_seat(handle, error)
            else:
                self._take_seat(handle, None)
        return handle

    def _take_seat(self, handle: FederateHandle, refusal: RTIexception | None) -> None:
        """Without our module only if the federation was created with it."""
        try:
            seat = Seat(self._rti, handle, self._now, self._tables)
            self._seat = self._last = seat
            self._chosen.clear()
            seat.start()
        except NameNotFound as error:
            self._give_up_seat()
            raise InconsistentFOM(
                f"causal order needs its own classes in the object model ({error}), and the RTI refused to add them: {refusal}; "
                "create the federation with weft.CAUSAL_MODULE among its modules"
            ) from refusal
        except BaseException:
            self._give_up_seat()
            raise

    def _give_up_seat(self) -> None:
        self._seat = None
        self._rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)

    def resign_federation_execution(self, resign_action: ResignAction) -> None:
        with self._lock:
            seat = self._seat
            left = seat is not None and self._say_farewell(seat)
            try:
                self._rti.resign_federation_execution(resign_action)
            except RTIexception:
                if seat is not None and left:
                    seat.come_back()
                raise
            self._seat = None
            self._ready.clear()

    def _say_farewell(self, seat: Seat) -> bool:
        try:
            self._rti_refuses_within_callback()
            seat.leave()
        except RTIexception:
            return False  # during a save, say; then the others take it for a crash
        return True

    def _rti_refuses_within_callback(self) -> None:
        """Resigning within a callback is refused; that is known before anything is said."""
        refuse = getattr(self._rti, "_refuse_within_callback", None)
        if refuse is not None:
            refuse("resign_federation_execution")

    def correlate(self, dependency: Dependency, singly: bool = False, number: int = 0) -> int:
        """Refused: the RTI would make up groups before causal order is known here."""
        raise RTIinternalError(
            "correlate: groups are made at the RTI, which knows nothing of the causal order of this ambassador; "
            "use RTIambassador, and OrderType.CAUSAL for the classes"
        )

    def leave(self) -> None:
        with self._lock:
            if self._seat is not None:
                self._say_farewell(self._seat)
                self._seat = None
        self._rti.leave()

    def _lose_connection(self) -> None:
        self._seat = None
        self._rti._lose_connection()

    @property
    def connection(self) -> Connection:
        return self._rti.connection


def _forward(name: str) -> Callable[..., object]:
    @wraps(getattr(RTIambassador, name))
    def call(self: CausalRTIambassador, *arguments: object, **named: object) -> object:
        return getattr(self._rti, name)(*arguments, **named)

    return call


for _name in dir(RTIambassador):
    _own = _name.startswith("_") or _name in SENDING
    if not _own and getattr(CausalRTIambassador, _name) is getattr(RTIambassador, _name):
        setattr(CausalRTIambassador, _name, _forward(_name))
