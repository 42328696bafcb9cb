"""The same tests with `CausalRTIambassador` in place of `RTIambassador`: the only change to a federate (S0-8)."""

from __future__ import annotations

from weft import CausalRTIambassador, RTIambassador
from weft.host import NodeHost

in_place = False
"""Whether federates are to use it now."""


def ambassador(host: NodeHost | None) -> RTIambassador:
    return CausalRTIambassador(host) if in_place else RTIambassador(host)
