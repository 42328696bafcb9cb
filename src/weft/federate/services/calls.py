"""What every group of services stands on: a way to make a call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Any, Final, NoReturn

from weft.federate.awaited import Awaited
from weft.federate.services.kinds import FLOAT, Kind, Times, misfit, refusal
from weft.federate.services.refused import TABLE
from weft.host.client.connection import RemoteConnection
from weft.host.connection import Connection
from weft.model.errors import NotConnected, RTIexception
from weft.model.handles import AttributeHandle, RegionHandle

AttributeRegions = Sequence[tuple[Set[AttributeHandle], Set[RegionHandle]]]

NOT_CONNECTED = "not connected to an RTI; call connect first"
_UNTIMED: Final = {"send_interaction": 3, "update_attribute_values": 3}
"""What is called most: while there is no time among so many arguments, they are looked at only if the call fails."""


class Calls:
    """Holds the connection; `_call` is the one way by which services reach the RTI."""

    _connection: Connection | None = None
    _absent = NOT_CONNECTED  # why there is none
    _times: Times = FLOAT  # the federation's kinds of time and interval
    _paused: type[RTIexception] | None = None  # what calls are refused with, while saving or restoring
    _awaited: Awaited

    def _call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        connection = self._connection
        if connection is None:
            raise NotConnected(self._absent)
        if len(arguments) == _UNTIMED.get(service):
            try:
                return connection.call(service, arguments)
            except RTIexception:
                self._look_at(service, arguments)
                raise
        self._look_at(service, arguments)
        return connection.call(service, arguments)

    def _look_at(self, service: str, arguments: tuple[Any, ...]) -> None:
        """Refuse the call if an argument is not of the kind that the service takes."""
        found = misfit(service, arguments, self._times)
        if found is not None:
            self._refuse(service, *found)

    def _refuse(self, service: str, kind: Kind, value: object) -> NoReturn:
        """With what the standard lists for the service, if it lists something that fits."""
        raised = {error for error, services in TABLE.items() if service in services.split()}
        raise refusal(service, kind, value, raised, self._times)

    def _pending(self) -> Awaited | None:
        """What this federate has asked for and not been told; None if the RTI is to say what is wrong with any call."""
        connection = self._connection
        if connection is None or self._paused is not None:
            return None
        if self._awaited.grant and isinstance(connection, RemoteConnection) and connection.advance_refused():
            self._awaited.grant = False
            complaint = connection.complaint()  # unless another call has told of it
            if complaint is not None:
                raise complaint
        return self._awaited

    def _require_told(self, names: object) -> None:
        """Names whose reservation was asked for are reserved once this federate has been told so."""
        pending = self._pending()
        if pending is not None and isinstance(names, Iterable):
            pending.refuse_names(names)

    def _call_once(
        self,
        service: str,
        arguments: tuple[Any, ...],
        kept: set[Hashable],
        asked: Iterable[Hashable],
        refusal: tuple[type[RTIexception], str] | None = None,
    ) -> None:
        """A call whose outcome is told by a callback: until then these are kept, and asked for again they are refused."""
        if self._connection is None:
            raise NotConnected(self._absent)
        self._look_at(service, arguments)
        new = [one for one in asked if one not in kept]
        if refusal is not None and self._pending() is not None:
            for one in asked:
                if one in kept:
                    kind, why = refusal
                    raise kind(f"{one!r}: {why}")
        kept.update(new)
        try:
            self._call(service, arguments)
        except BaseException:
            kept.difference_update(new)
            raise
