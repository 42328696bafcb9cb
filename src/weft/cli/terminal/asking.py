"""Asking nodes for their surveys, for `weft status` and `weft top`.

An `Asker` keeps its connection between questions and makes a new one when that is gone, so a node that goes away and comes
back is found again.  A node that does not know the survey is asked for its older status.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from weft.cli.terminal.facts import SurveyAnswer, survey_of_status
from weft.console.rates import rated
from weft.federate import FederateAmbassador, RTIambassador
from weft.host.operator_keys import operator_credentials
from weft.model.enums import CallbackModel
from weft.model.errors import RTIexception
from weft.model.json_types import JsonObject
from weft.model.records import Credentials, RtiConfiguration

SHORT = ("federates", "server", "fabric", "recording")
"""The sections that a person is shown; the rest is for programs."""
# A question is not worth waiting minutes for, as a federate's session is.
HASTE = "FedPro.connect.timeout=3,FedPro.FED_TIMEOUT_RECONNECT=0.1,FedPro.FED_TIMEOUT_HEART=5,FedPro.FED_INT_HEART=2"


@dataclass(frozen=True)
class NodeAccess:
    """How nodes are entered that do not let everybody in."""

    password: str | None = None  # NAME:PASSWORD
    operator_key: str | None = None  # a file

    def credentials(self) -> Credentials | None:
        if self.operator_key is not None:
            return operator_credentials(self.operator_key, "--operator-key")
        if self.password is not None:
            name, _, password = self.password.partition(":")
            return Credentials.password(name, password)
        return None


class Asker:
    """One address.  To be used by one thread at a time."""

    def __init__(
        self,
        address: str,
        credentials: Credentials | None = None,
        clock: Callable[[], float] = time.monotonic,
        make: Callable[[], RTIambassador] = RTIambassador,
    ) -> None:
        self.address = address
        self._credentials = credentials
        self._clock = clock
        self._make = make
        self._rti: RTIambassador | None = None
        self._node = ""
        self._answered = clock()
        self._knows_surveys = True
        self._before: JsonObject = {}

    def ask(self, sections: Sequence[str]) -> SurveyAnswer:
        """Never raises for what the other side does: that is what the answer tells."""
        try:
            survey = self._survey(sections)
        except RTIexception as error:
            self.close()
            return SurveyAnswer(self.address, {}, str(error), self._node, self._clock() - self._answered)
        self._node = str(survey.get("node") or self.address)
        self._answered = self._clock()
        before, self._before = self._before, survey
        return SurveyAnswer(
            self.address, {**rated(survey, before or None), "node": self._node}, node=self._node
        )

    def _survey(self, sections: Sequence[str]) -> JsonObject:
        if self._rti is None:
            rti = self._make()
            where = RtiConfiguration(rti_address=self.address, additional_settings=HASTE)
            rti.connect(FederateAmbassador(), CallbackModel.EVOKED, where, self._credentials)
            self._rti = rti
            self._knows_surveys = True
        if self._knows_surveys:
            try:
                return self._rti.query_survey(tuple(sections))
            except RTIexception as error:
                if "does not know" not in str(
                    error
                ):  # as an older Weft says of own calls that it does not know
                    raise
                self._knows_surveys = False
        return survey_of_status(self._rti.query_status())

    def close(self) -> None:
        rti, self._rti = self._rti, None
        if rti is not None:
            with contextlib.suppress(RTIexception):
                rti.leave()


_PASSWORD = "--password NAME:PASSWORD, or "
_KEY = "--operator-key with the operator.key of its run directory"
_ADVICE = {
    "refused": "is `weft serve` running there? It names its port when it starts, 15164 unless told otherwise",
    "not known": "is the name of the machine right?",
    "timed out": "is `weft serve` running there, at that port, and does a firewall let it through?",
    "HLAplainTextPassword": f"give {_PASSWORD}{_KEY}",
    "without TLS": f"or give {_KEY}",
}


def advice(why: str, with_password: bool = True) -> str:
    """What to do about an answer that is none; nothing where the text has said it already."""
    if "`weft serve`" in why:
        return ""
    for words, right in _ADVICE.items():
        if words in why:
            return f" ({right if with_password else right.replace(_PASSWORD, '')})"
    return ""


def ask_all(
    addresses: Sequence[str],
    door: NodeAccess,
    sections: Sequence[str],
    make: Callable[[], RTIambassador] = RTIambassador,
) -> list[SurveyAnswer]:
    """All at the same time: one that does not answer must not hold up the others."""
    credentials = door.credentials()

    def ask(address: str) -> SurveyAnswer:
        asker = Asker(address, credentials, make=make)
        try:
            return asker.ask(sections)
        finally:
            asker.close()

    with ThreadPoolExecutor(min(16, len(addresses))) as pool:
        return list(pool.map(ask, addresses))
