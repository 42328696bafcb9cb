"""Following runs that are being written (docs/how-to/review.md, "Following")."""

from weft.review.follow.command import follow, follow_all

__all__ = ["follow", "follow_all"]
