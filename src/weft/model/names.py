"""Which names federations, federates, objects, synchronization points and saves may have.

A name is shown in logs, on pages and in file names, and sent to every federate.  So it is neither empty nor endless, and has no
characters that cannot be shown.
"""

from __future__ import annotations

import unicodedata

LONGEST = 1024
"""Characters of a name; of labels and class names likewise."""
_UNSEEN = frozenset(["Cc", "Cs", "Zl", "Zp"])  # control characters, halves of characters, breaks of lines


def fault_of(name: str) -> str:
    """What is wrong with a name; nothing if it can be used."""
    if not name:
        return "it is empty"
    if len(name) > LONGEST:
        return f"it has {len(name)} characters, and a name has {LONGEST} at most"
    if name.isascii() and name.isprintable():
        return ""
    for place, character in enumerate(name):
        if unicodedata.category(character) in _UNSEEN:
            return f"character {place + 1} is {character!a}, which cannot be shown"
    return ""


def shown(name: str) -> str:
    """A name as it is quoted in a message: no longer than a line."""
    text = ascii(name) if fault_of(name) else repr(name)
    return text if len(text) <= 60 else f"{text[:57]}…{text[0]}"
