"""Release rules: what may not leave one domain for another, or cross one link.

A rule keeps back object classes, attributes and interaction classes, by their qualified names; a class stands for all below it.
A rule from domain A to domain B holds at the one server the two share, for messages that came by A and for that server's own.
A rule for a link holds for what its first server sends to its second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ROOTS = ("HLAobjectRoot", "HLAinteractionRoot")


@dataclass(frozen=True)
class ReleaseRule:
    """Domains are named in a rule for a boundary, servers in a rule for a link; the others are empty."""

    keep: frozenset[str]
    from_domain: str = ""
    to_domain: str = ""
    from_server: str = ""
    to_server: str = ""

    def holds(self, came_by: str, sender: str, goes_by: str, receiver: str) -> bool:
        """For this hop?  `came_by` is empty for a message of the sender's own."""
        if self.from_server:
            return (sender, receiver) == (self.from_server, self.to_server)
        return goes_by == self.to_domain and came_by in ("", self.from_domain)


def kept_back(names: frozenset[str], class_name: str, member: str = "") -> bool:
    """Is the class, or its attribute or parameter, among what is kept back?  Class names are qualified."""
    at = class_name
    while at:
        if at in names or (member and f"{at}.{member}" in names):
            return True
        at = at.rpartition(".")[0]
    return False


def kept_names(
    rules: Iterable[ReleaseRule], came_by: str, sender: str, goes_by: str, receiver: str
) -> frozenset[str]:
    """All that the rules keep back on one hop."""
    found: frozenset[str] = frozenset()
    for rule in rules:
        if rule.holds(came_by, sender, goes_by, receiver):
            found |= rule.keep
    return found
