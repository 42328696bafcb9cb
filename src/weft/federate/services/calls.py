"""What every group of services stands on: a way to make a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeVar

from weft.host.connection import Connection
from weft.model.errors import NotConnected
from weft.model.handles import AttributeHandle, RegionHandle

AttributeRegions = Sequence[tuple[Set[AttributeHandle], Set[RegionHandle]]]

K = TypeVar("K")
NOT_CONNECTED = "not connected to an RTI; call connect first"


def as_dict(values: Mapping[K, bytes]) -> dict[K, bytes]:
    return values if type(values) is dict else dict(values)


class Calls:
    """Holds the connection; `_call` is the one way by which services reach the RTI."""

    _connection: Connection | None = None
    _absent = NOT_CONNECTED  # why there is none

    def _call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        connection = self._connection
        if connection is None:
            raise NotConnected(self._absent)
        return connection.call(service, arguments)
