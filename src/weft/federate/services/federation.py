"""The RTI ambassador's services of federation management."""

from __future__ import annotations

from collections.abc import Set

from weft.federate.services.calls import Calls, with_last
from weft.federate.services.kinds import as_set
from weft.model.handles import FederateHandle
from weft.model.time import AnyTime


class FederationManagement(Calls):
    def register_federation_synchronization_point(
        self,
        synchronization_point_label: str,
        user_supplied_tag: bytes,
        synchronization_set: Set[FederateHandle] | None = None,
    ) -> None:
        """Clause 4.14."""
        chosen = None if synchronization_set is None else as_set(synchronization_set)
        arguments = with_last((synchronization_point_label, user_supplied_tag), chosen)
        self._call("register_federation_synchronization_point", arguments)

    def synchronization_point_achieved(
        self, synchronization_point_label: str, successfully: bool | None = None
    ) -> None:
        """Clause 4.17."""
        self._call("synchronization_point_achieved", with_last((synchronization_point_label,), successfully))

    def request_federation_save(self, label: str, time: AnyTime | None = None) -> None:
        """Clause 4.19."""
        self._call("request_federation_save", with_last((label,), time))

    def federate_save_begun(self) -> None:
        """Clause 4.21."""
        self._call("federate_save_begun", ())

    def federate_save_complete(self) -> None:
        """Clause 4.22."""
        self._call("federate_save_complete", ())

    def federate_save_not_complete(self) -> None:
        """Clause 4.22."""
        self._call("federate_save_not_complete", ())

    def abort_federation_save(self) -> None:
        """Clause 4.24."""
        self._call("abort_federation_save", ())

    def query_federation_save_status(self) -> None:
        """Clause 4.25."""
        self._call("query_federation_save_status", ())

    def request_federation_restore(self, label: str) -> None:
        """Clause 4.27."""
        self._call("request_federation_restore", (label,))

    def federate_restore_complete(self) -> None:
        """Clause 4.31."""
        self._call("federate_restore_complete", ())

    def federate_restore_not_complete(self) -> None:
        """Clause 4.31."""
        self._call("federate_restore_not_complete", ())

    def abort_federation_restore(self) -> None:
        """Clause 4.33."""
        self._call("abort_federation_restore", ())

    def query_federation_restore_status(self) -> None:
        """Clause 4.34."""
        self._call("query_federation_restore_status", ())
