"""Errors of the RTI's own: whoever waits is answered all the same, and whoever runs the node reads where it was."""

from __future__ import annotations

from typing import Final

from weft.kernel.state.effects import Notice
from weft.model.errors import RTIinternalError
from weft.model.log_text import ERROR, LogText

INTERNAL_ERROR: Final = "internal-error"
"""The event in the log."""


def trace_of(error: BaseException) -> str:
    """Where it happened, in one line."""
    steps = []
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        steps.append(f"{code.co_name} ({code.co_filename}:{at.tb_lineno})")
        at = at.tb_next
    return " < ".join(reversed(steps))


def fault(error: BaseException, doing: str, **about: str) -> Notice:
    """For the log: an error in `doing` this."""
    text = f"internal error in {doing}, please report it: {error!r} in {trace_of(error)}"
    return Notice(LogText(text, INTERNAL_ERROR, ERROR, **about))


def refusal(error: BaseException, doing: str, node: str) -> RTIinternalError:
    """For the federate whose call it was."""
    made = RTIinternalError(
        f"an error of the RTI's own at node {node!r}, in {doing}: {error!r}; the log of that node says where"
    )
    made.__cause__ = error
    return made


def wrong_type(service: str, misfit: Exception) -> RTIinternalError:
    """An argument of a wrong type.  Compiled code notices at the first function, pure Python where it does not fit."""
    refusal = RTIinternalError(f"{service} was given an argument of a wrong type: {misfit}")
    refusal.__cause__ = misfit
    return refusal
