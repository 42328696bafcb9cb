"""Who gets it: what federates declared, and who is therefore concerned."""

from weft.interest.declarations import Declarations, Declared, Wish

__all__ = ["Declarations", "Declared", "Wish"]
