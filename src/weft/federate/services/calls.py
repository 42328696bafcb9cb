"""What every group of services stands on: a way to make a call."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Final, NoReturn

from weft.federate.services.kinds import FLOAT, Kind, Times, misfit, refusal
from weft.federate.services.refused import TABLE
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
