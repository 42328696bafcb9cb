"""The files of the pages: a closed table of names, so that no name leads anywhere else."""

from __future__ import annotations

import importlib.util
import mimetypes
import re
from pathlib import Path

from starlette.responses import FileResponse, Response

from weft.console.security import Refused

PLOTLY = "plotly.min.js"
_FOLDER = Path(__file__).parent / "static"
_META = re.compile(r'<meta\s+name="weft-csrf"[^>]*>')
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Files:
    def __init__(self, folder: Path = _FOLDER) -> None:
        self._folder = folder
        self._table = {
            path.name: path for path in folder.iterdir() if path.is_file() and path.name != "index.html"
        }
        plotly = _plotly()
        if plotly is not None:
            self._table[PLOTLY] = plotly

    def index(self, csrf: str) -> Response:
        text = (self._folder / "index.html").read_text(encoding="utf-8")
        text = _META.sub(f'<meta name="weft-csrf" content="{csrf}">', text)
        return Response(text, media_type="text/html")

    def answer(self, name: str, known: str) -> Response:
        """`known`: the version that the browser has."""
        path = self._table.get(name)
        if path is None:
            raise Refused(404, f"there is no file {name[:100]!r}")
        found = path.stat()
        version = f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
        own = {"etag": version, "cache-control": "no-cache"}
        if version in known:
            return Response(status_code=304, headers=own)
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return FileResponse(path, headers=own, media_type=kind)


def _plotly() -> Path | None:
    """The JavaScript in plotly's wheel, without importing plotly."""
    found = importlib.util.find_spec("plotly")
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        path = Path(place) / "package_data" / PLOTLY
        if path.is_file():
            return path
    return None
