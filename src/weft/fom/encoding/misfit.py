"""How an encoding error finds its path.

The fast code knows nothing of paths.  What goes wrong deep inside becomes a `Misfit`; each record and array it
passes on its way out adds one step (`inside`), and the codec that was called turns it into the `EncodingError`
a user sees (`finished`).  So a value that fits pays nothing for the messages.
"""

from __future__ import annotations

from reprlib import repr as brief

from weft.model.errors import EncodingError

Step = str | int
"""A field name or an array index."""

# A hostile input can nest as deep as the interpreter allows; nobody reads more steps than this.
_SHOWN_STEPS = 12


class Misfit(EncodingError):
    """A value that does not fit its type, or bytes that do not, with the path to them."""

    def __init__(self, reason: str, *path: Step) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outward: list[Step] = list(reversed(path))

    def describe(self, root: str) -> str:
        inward = self.outward[::-1]
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in inward[:_SHOWN_STEPS]]
        text = root + "".join(steps)
        if len(inward) > _SHOWN_STEPS:
            text += "…"
        return f"{text}: {self.reason}"


class Mismatch(Exception):
    """Raised by generated code where the shape is wrong; whoever catches it works out what to say."""


def inside(error: Exception, step: Step) -> Exception:
    """The error as seen from one level further out."""
    if isinstance(error, Misfit):
        error.outward.append(step)
        return error
    if isinstance(error, RecursionError | MemoryError):
        return error
    return Misfit(_reason(error), step)


def finished(error: Exception, root: str) -> EncodingError:
    """The error as the caller of a codec sees it; `root` is the name of the data type."""
    if isinstance(error, Misfit):
        return EncodingError(error.describe(root))
    if isinstance(error, RecursionError):
        return EncodingError(f"{root}: nested too deeply")
    return EncodingError(f"{root}: {_reason(error)}")


def wanted(what: str, value: object) -> Misfit:
    return Misfit(f"expected {what}, got {shown(value)}")


def shown(value: object) -> str:
    """A value for a message: short, and safe even if its repr is not."""
    try:
        return brief(value)
    except Exception:
        return f"a {type(value).__name__}"


def short_of(needed: int, left: int) -> Misfit:
    return Misfit(f"needs {octets(needed)}, {max(left, 0)} left")


def octets(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
