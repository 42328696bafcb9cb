"""A folder of files that are one thing, like a table that many tasks write: all of it is there, or nothing.

Tasks write into a draft beside its place, whose name begins with `_`, which Spark, Arrow and most others pass over; each file is
whole or not there.  At the end the draft takes the folder's place: on this machine by being renamed; in a store, which cannot
rename, file by file, copied within the store.  A file `_SUCCESS` comes last, as Hadoop and Spark have it: in a store it
says that the folder is whole.

Whoever was killed leaves a draft, which the next one that writes there removes.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from weft.host.storage.place import Place, StorageError

DRAFT, OLD, WHOLE = "_draft-", "_old-", "_SUCCESS"
_PART = re.compile(r"part-[^/]*\.parquet")


def part_name(*numbers: int | str) -> str:
    """Of a file in such a folder."""
    return f"part-{'-'.join(str(one) if isinstance(one, str) else f'{one:05d}' for one in numbers)}.parquet"


def draft_of(folder: Place) -> Place:
    """Where its files are written."""
    return folder.with_name(DRAFT + folder.name)


def begin_folder(folder: Place) -> Place:
    """An empty draft of it; raises StorageError where something else lies."""
    _check_ours(folder)
    draft = draft_of(folder)
    draft.remove()
    folder.with_name(OLD + folder.name).remove()
    return draft


def _check_ours(folder: Place) -> None:
    others = [
        name
        for entry in (folder.files() if folder.is_folder() else [])
        if (name := entry.place.below(folder)) != WHOLE and not _PART.fullmatch(name)
    ]
    if others:
        raise StorageError(
            f"{folder}: this folder has other files in it ({', '.join(sorted(others)[:3])} …), and would be replaced as a whole; "
            "name another"
        )


def finish_folder(folder: Place, names: Collection[str]) -> None:
    """The draft becomes the folder, in place of the one that was there.  `names`: the files that were written."""
    draft = draft_of(folder)
    there = {entry.place.name for entry in draft.files()}
    missing = sorted(set(names) - there)
    if missing:
        raise StorageError(
            f"{draft}: {missing[0]} was written and is not there any more; did something else write to {folder} meanwhile?"
        )
    for name in there - set(names):  # of an attempt that another one of the same work has overtaken
        (draft / name).remove()
    if draft.local is not None:
        _rename(draft, folder)
    else:
        _copy(draft, folder, names)


def _rename(draft: Place, folder: Place) -> None:
    (draft / WHOLE).write(b"")
    here, there = folder.local, draft.local
    assert here is not None
    assert there is not None
    old = folder.with_name(OLD + folder.name)
    if here.exists():
        assert old.local is not None
        here.rename(old.local)
    there.rename(here)
    old.remove()


def _copy(draft: Place, folder: Place, names: Collection[str]) -> None:
    (folder / WHOLE).remove()
    folder.remove()
    for name in sorted(names):
        (draft / name).copy_to(folder / name)
    (folder / WHOLE).write(b"")
    draft.remove()


def is_whole(folder: Place) -> bool:
    return (folder / WHOLE).is_file()
