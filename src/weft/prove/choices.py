"""All calls an author may choose from."""

from __future__ import annotations

from weft.prove import (
    choices_federation,
    choices_objects,
    choices_regions,
    choices_support,
    choices_time,
)

CHOICES = (
    *choices_federation.CHOICES,
    *choices_objects.CHOICES,
    *choices_time.CHOICES,
    *choices_regions.CHOICES,
    *choices_support.CHOICES,
)
GROUPS = tuple(dict.fromkeys(choice.group for choice in CHOICES))
