"""What the review raises."""

from __future__ import annotations

from weft.model.errors import WeftError


class ReviewError(WeftError):
    """A run cannot be reviewed here; the message says what is missing or wrong, and what to do."""


def reason(error: Exception) -> str:
    """Of what Java and Python say, the last line of the innermost trace, or the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    inner = [line for line in lines if line[:1].isalpha() and "Error:" in line and "org.apache" not in line]
    return (inner or lines or [type(error).__name__])[-1 if inner else 0]
