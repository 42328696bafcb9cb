"""All calls an author may choose from."""

from __future__ import annotations

from weft.prove.calls import federation, objects, regions, support, time

CHOICES = (
    *federation.CHOICES,
    *objects.CHOICES,
    *time.CHOICES,
    *regions.CHOICES,
    *support.CHOICES,
)
GROUPS = tuple(dict.fromkeys(choice.group for choice in CHOICES))
