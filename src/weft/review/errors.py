"""What the review raises."""

from __future__ import annotations

from weft.model.errors import WeftError


class ReviewError(WeftError):
    """A run cannot be reviewed here; the message says what is missing or wrong, and what to do."""
