"""Who is in a federation, and which of its synchronization points are pending: asked of a node, without being in it.

For what another machine's part of a federation does.  Members are told by the standard's own service, which reaches over a mesh;
points by the node's survey.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Set
from typing import Final, NamedTuple

from weft.cli.terminal.asking import HASTE
from weft.console.surveys import objects, section
from weft.federate import FederateAmbassador, RTIambassador
from weft.model.enums import CallbackModel
from weft.model.errors import RTIexception
from weft.model.records import FederationExecutionMemberInformation, RtiConfiguration

_ANSWER: Final = 5.0  # seconds that the node may take


class Observed(NamedTuple):
    members: frozenset[str]
    points: frozenset[str]


class FederationObserver:
    """To be used by one thread at a time; it keeps its connection from one question to the next."""

    def __init__(self, address: str, federation: str) -> None:
        self._where = RtiConfiguration(rti_address=address, additional_settings=HASTE)
        self._federation = federation
        self._listed = _Listed()
        self._rti: RTIambassador | None = None
        self.why = ""
        """Why the last question had no answer."""

    def ask(self) -> Observed | None:
        """None: there is no answer."""
        try:
            observed = self._ask()
        except RTIexception as error:
            self.why = str(error)
            self.close()
            return None
        self.why = ""
        return observed

    def _ask(self) -> Observed | None:
        if self._rti is None:
            rti = RTIambassador()
            rti.connect(self._listed, CallbackModel.EVOKED, self._where)
            self._rti = rti
        self._listed.members.clear()
        self._rti.list_federation_execution_members(self._federation)
        deadline = time.monotonic() + _ANSWER
        while not self._listed.members:
            if time.monotonic() > deadline:
                return None
            self._rti.evoke_callback(0.1)
        survey = self._rti.query_survey(("federates",))
        found = section(section(survey, "federations"), self._federation)
        points = frozenset(label for label, _ in objects(found, "synchronization"))
        return Observed(self._listed.members[-1], points)

    def close(self) -> None:
        rti, self._rti = self._rti, None
        if rti is not None:
            with contextlib.suppress(RTIexception):
                rti.leave()


class _Listed(FederateAmbassador):
    def __init__(self) -> None:
        super().__init__()
        self.members: list[frozenset[str]] = []
        """One entry, once the answer is there."""

    def report_federation_execution_members(
        self, federation_name: str, report: Set[FederationExecutionMemberInformation]
    ) -> None:
        self.members.append(frozenset(one.federate_name for one in report))

    def report_federation_execution_does_not_exist(self, federation_name: str) -> None:
        self.members.append(frozenset())
