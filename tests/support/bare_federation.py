"""A federation of the small object model with members, and no node around it: for functions of the kernel by themselves."""

from __future__ import annotations

from support.small_fom import fom
from weft.kernel.federation.founding import found
from weft.kernel.federation.membership import join
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn

HERE = "here"


def bare(*nodes: str, time: str = "HLAinteger64Time") -> tuple[Federation, list[Member]]:
    """A member for each of the nodes, where it lives; they have the names A, B, …"""
    federation = found("range", "range/1", HERE, ((fom(),), None, time, None))
    step = step_of(federation, federation.rti)
    members = [
        join(step, node, number, "kind", chr(ord("A") + number), None) for number, node in enumerate(nodes)
    ]
    return federation, members


def step_of(federation: Federation, member: Member, now: float = 0.0) -> Step:
    return Step(Turn(HERE, now), federation, member)
