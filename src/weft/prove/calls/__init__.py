"""Calls that a script may make: which, when they make sense, and how often."""

from weft.prove.calls import federation, objects, regions, support, time

CHOICES = (
    *federation.CHOICES,
    *objects.CHOICES,
    *time.CHOICES,
    *regions.CHOICES,
    *support.CHOICES,
)
"""All that an author may choose from."""
