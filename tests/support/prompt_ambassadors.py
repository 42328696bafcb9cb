"""Ambassadors for tests: one that takes what waits for it, and the same below the causal middleware, which is the only change
to a federate (S0-8)."""

from __future__ import annotations

from typing import Literal

from weft import CallbackModel, CausalRTIambassador, RTIambassador
from weft.federate.awaited import Awaited
from weft.host import NodeHost


class PromptAmbassador(RTIambassador):
    """Takes the callbacks that wait for it before it asks for something, as a federate does that evokes now and then.

    What it asked for before is then pending only if the RTI has not decided (`federate/test_pending.py` has all else).
    """

    def _pending(self) -> Awaited:
        take_all(self)
        return super()._pending()


def take_all(rti: RTIambassador) -> None:
    evokes = rti._connection is not None and rti._model is CallbackModel.EVOKED and not rti._calling_back
    while evokes and rti._connection is not None and rti.evoke_callback(0.0):
        pass


def causal_ambassador(host: NodeHost | None, destinations: Literal["all", "tables"] = "all") -> RTIambassador:
    return CausalRTIambassador(above=PromptAmbassador(host), destinations=destinations)
