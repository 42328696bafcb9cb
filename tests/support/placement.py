"""Where the federates of a test are: at one embedded node, spread over several nodes, or above the causal middleware.

A test of services takes the fixture `placement` and hands it to the federation that it makes; tests/federate/conftest.py
runs the test once in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from support import own_nodes, prompt_ambassadors, simulated_nodes
from weft import RTIambassador
from weft.host import NodeHost


class Placement:
    """All federates of a federation at one embedded node of their own."""

    name = "embedded"

    def sites(self, count: int) -> Sequence[NodeHost] | None:
        """Where so many federates connect; None: at the federation's embedded node."""
        return None

    def ambassador(self, host: NodeHost | None) -> RTIambassador:
        return prompt_ambassadors.PromptAmbassador(host)

    def close(self) -> None:
        """Stop what `sites` has started."""


class OverSimulatedNodes(Placement):
    name = "three nodes of two domains"

    def sites(self, count: int) -> Sequence[NodeHost]:
        return simulated_nodes.sites(count)


class OverOwnNodes(Placement):
    """Real nodes, inside the process of the tests."""

    name = "three nodes inside this process"

    def __init__(self) -> None:
        self._running = ExitStack()

    def sites(self, count: int) -> Sequence[NodeHost]:
        return self._running.enter_context(own_nodes.sites(count))

    def close(self) -> None:
        self._running.close()


class AboveMiddleware(Placement):
    """At one embedded node, with the causal middleware between federate and node."""

    name = "causal middleware"

    def ambassador(self, host: NodeHost | None) -> RTIambassador:
        return prompt_ambassadors.causal_ambassador(host)


class AboveTables(Placement):
    """The same with destinations from tables."""

    name = "causal middleware by tables"

    def ambassador(self, host: NodeHost | None) -> RTIambassador:
        return prompt_ambassadors.causal_ambassador(host, "tables")


EMBEDDED = Placement()
PLACEMENTS = {
    one.name: one for one in (Placement, OverSimulatedNodes, OverOwnNodes, AboveMiddleware, AboveTables)
}
