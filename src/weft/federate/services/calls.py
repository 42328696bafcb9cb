"""What every group of services stands on: a way to make a call."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence, Set
from typing import Final, NoReturn, TypeVar

from weft.federate.awaited import GRANT, Awaited, pairs
from weft.federate.services.kinds import FLOAT, Kind, Times, misfit, refusal, with_times
from weft.federate.services.refused import TABLE
from weft.host.client.connection import RemoteConnection
from weft.host.connection import Connection
from weft.model.enums import OrderType
from weft.model.errors import NotConnected, RTIexception, RTIinternalError
from weft.model.handles import AttributeHandle, Handle, RegionHandle
from weft.model.records import MessageRetractionReturn
from weft.model.time import AnyTime

AttributeRegions = Sequence[tuple[Set[AttributeHandle], Set[RegionHandle]]]

NOT_CONNECTED = "not connected to an RTI; call connect first"

_NOTHING: Final = Awaited()
"""What is pending for who is not asked to wait; never changed."""

Answer = TypeVar("Answer")
Kept = TypeVar("Kept", bound=Hashable)
SomeHandle = TypeVar("SomeHandle", bound=Handle)


class Calls:
    """Holds the connection; `_call`, `_call_once` and `_send_most` are the ways by which services reach the RTI."""

    _connection: Connection | None = None
    _absent = NOT_CONNECTED  # why there is none
    _times: Times = FLOAT  # the federation's kinds of time and interval
    _paused: type[RTIexception] | None = None  # what calls are refused with, while saving or restoring
    _awaited: Awaited

    def _require_connection(self) -> Connection:
        if self._connection is None:
            raise NotConnected(self._absent)
        return self._connection

    def _call(self, service: str, arguments: tuple[object, ...]) -> object:
        connection = self._connection
        if connection is None:
            raise NotConnected(self._absent)
        return connection.call(service, self._look_at(service, arguments))

    def _ask(self, kind: type[Answer], service: str, *arguments: object) -> Answer:
        """A call that answers with one of that kind."""
        found = self._call(service, arguments)
        if not isinstance(found, kind):
            raise _unexpected(service, found)
        return found

    def _ask_handles(self, kind: type[SomeHandle], service: str, *arguments: object) -> frozenset[SomeHandle]:
        """A call that answers with a set of handles."""
        found = self._ask(frozenset, service, *arguments)
        if not all(isinstance(each, kind) for each in found):
            raise _unexpected(service, found)
        return found

    def _send_message(
        self, service: str, arguments: tuple[object, ...], time: AnyTime | None, order: OrderType | None
    ) -> MessageRetractionReturn | None:
        """A message, with a time stamp, in an order of its own, both or neither."""
        arguments = with_last(arguments, time) if order is None else (*arguments, time, order)
        found = self._call(service, arguments)
        if found is None or isinstance(found, MessageRetractionReturn):
            return found
        raise _unexpected(service, found)

    def _send_most(self, service: str, arguments: tuple[object, ...]) -> MessageRetractionReturn | None:
        """A message without time stamp or order of its own, as most are: its arguments are looked at only if the call fails."""
        connection = self._connection
        if connection is None:
            raise NotConnected(self._absent)
        try:
            found = connection.call(service, arguments)
        except RTIexception:
            self._look_at(service, arguments)
            raise
        if found is None or isinstance(found, MessageRetractionReturn):
            return found
        raise _unexpected(service, found)

    def _look_at(self, service: str, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """Refuse the call if an argument is not of the kind that the service takes.

        Returns the arguments, with logical times in place of plain numbers.
        """
        found = misfit(service, arguments, self._times)
        if found is not None:
            arguments = with_times(service, arguments, self._times)
            found = misfit(service, arguments, self._times)
            if found is not None:
                self._refuse(service, *found)
        return arguments

    def _refuse(self, service: str, kind: Kind, value: object) -> NoReturn:
        """With what the standard lists for the service, if it lists something that fits."""
        raised = {error for error, services in TABLE.items() if service in services.split()}
        raise refusal(service, kind, value, raised, self._times)

    def _pending(self) -> Awaited:
        """What this federate has asked for and not been told; nothing if the RTI is to say what is wrong with any call."""
        connection = self._connection
        if connection is None or self._paused is not None:
            return _NOTHING
        if self._advance_was_refused() and isinstance(connection, RemoteConnection):
            complaint = connection.complaint()  # unless another call has told of it
            if complaint is not None:
                raise complaint
        return self._awaited

    def _advance_was_refused(self) -> bool:
        """An advance that nobody waited for, and that was refused, is asked for no more; told once."""
        asked = self._awaited.time_states
        connection = self._connection
        if GRANT in asked and isinstance(connection, RemoteConnection) and connection.advance_refused():
            asked.discard(GRANT)
            return True
        return False

    def _refuse_unowned(self, service: str, arguments: tuple[object, ...], attributes: object) -> None:
        """Attributes of the first argument are owned once this federate has been told so."""
        if not self._awaited.wanted:
            return
        pending = self._pending()
        if pending.wanted:
            self._look_at(service, arguments)
            pending.refuse_unowned(pairs(arguments[0], attributes))

    def _call_owner(self, service: str, *arguments: object) -> object:
        """A call that only the owner of attributes may make; the first two arguments are the instance and these."""
        self._refuse_unowned(service, arguments, arguments[1])
        return self._call(service, arguments)

    def _require_told(self, names: object) -> None:
        """Names whose reservation was asked for are reserved once this federate has been told so."""
        if isinstance(names, Iterable):
            self._pending().refuse_names(names)

    def _told_names(self, name: str | None) -> tuple[str, ...]:
        """The name as arguments of a registration: none, or one whose reservation this federate has been told of."""
        if name is None:
            return ()
        self._require_told((name,))
        return (name,)

    def _call_once(
        self,
        service: str,
        arguments: tuple[object, ...],
        kept: set[Kept],
        asked: Collection[Kept],
        refusal: tuple[type[RTIexception], str] | None = None,
    ) -> None:
        """A call whose outcome is told by a callback: until then these are kept, and asked for again they are refused."""
        connection = self._connection
        if connection is None:
            raise NotConnected(self._absent)
        arguments = self._look_at(service, arguments)
        new = [one for one in asked if one not in kept]
        if refusal is not None and self._pending() is self._awaited:
            for one in asked:
                if one in kept:
                    kind, why = refusal
                    raise kind(f"{one!r}: {why}")
        kept.update(new)
        try:
            connection.call(service, arguments)
        except BaseException:
            kept.difference_update(new)
            raise


def with_last(arguments: tuple[object, ...], last: object) -> tuple[object, ...]:
    """These arguments and one more, unless that is left out."""
    return arguments if last is None else (*arguments, last)


def _unexpected(service: str, found: object) -> RTIinternalError:
    return RTIinternalError(f"{service}: the RTI answered with {found!r}, which is no answer to that")
