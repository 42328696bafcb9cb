"""Following runs that are being written (docs/how-to/review.md, "Following")."""

from weft.review.follow.command import follow

__all__ = ["follow"]
