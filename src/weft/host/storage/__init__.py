"""Files and folders, on this machine or in a store of objects: `place_of` takes a path or an address (docs/how-to/storage.md)."""

from weft.host.storage.place import Entry, Place, StorageError, named_place, place_of

__all__ = ["Entry", "Place", "StorageError", "named_place", "place_of"]
