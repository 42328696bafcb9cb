"""Reading recorded runs (`recording.files` says how they lie), on this machine or in a store.

A run may still be written, have been cut off by a crash, or be there only in part.  What is whole is read; what is not is
told in `Run.troubles`, and nothing is ever removed.  Only rows of a newer schema are refused.

What manifests list is taken from them: nothing is opened (`recording.listing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from weft.host.recording.files import RUN_FILE, RecordingError
from weft.host.recording.listing import add_files, look_over, plan
from weft.host.recording.row_files import RowFile as RowFile
from weft.host.recording.row_files import file_place as file_place
from weft.host.recording.row_files import newer_schema as newer_schema
from weft.host.recording.row_files import read_rows as read_rows
from weft.host.recording.run import Run as Run
from weft.host.storage import Place, place_of

Given = str | PathLike[str] | Place


def find_runs(directory: Given) -> list[Place]:
    """The folders of all runs in or below a folder: a run, the runs of a federation, or those of all."""
    top = place_of(directory)
    if (top / RUN_FILE).is_file():
        return [top]
    found = []
    for below in _folders(top):
        inside = [below] if (below / RUN_FILE).is_file() else _folders(below)
        found += [place for place in inside if place is below or (place / RUN_FILE).is_file()]
    return sorted(found)


def _folders(place: Place) -> list[Place]:
    return [entry.place for entry in place.entries() if entry.is_folder]


def check_run(path: Given) -> Place:
    """Is there a run?  What its files say is asked of each when it is read."""
    found = place_of(path)
    if (found / RUN_FILE).is_file() or (found / "rows").is_folder():
        return found
    if not found.is_folder():
        raise RecordingError(f"{found}: there is no such run; `weft runs` lists those there are")
    raise RecordingError(
        f"{found} is no recorded run: it has neither {RUN_FILE} nor rows; `weft runs` lists those there are"
    )


def open_run(path: Given, known: Mapping[Place, RowFile] | None = None, checked: bool = False) -> Run:
    """What is there of a run; raises RecordingError where it is none, or of a newer schema.

    `checked`: also compare what its manifests list with what lies there; `Run.files` are then those that are.
    """
    run, unlisted = plan(check_run(path))
    add_files(run, unlisted, known or {})
    if checked:
        run.troubles += [one.text for one in look_over(run)]
    _find_missing(run)
    return run


def _find_missing(run: Run) -> None:
    """Nodes that others have spoken of, and of which nothing is here."""
    have = {file.node for file in run.files} | set(run.nodes) | {one.node for one in run.manifests}
    for name, data in sorted(run.nodes.items()):
        for other in data.get("others", ()):
            if other not in have:
                have.add(other)
                run.troubles.append(
                    f"nothing of node {other!r} is here, which took part (says {name!r}): it did not record, or did so "
                    f"elsewhere; copy its files into {run.path}"
                )
