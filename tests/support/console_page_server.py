"""A console without nodes: it serves the pages, feeds them pictures as a test says, and keeps what they ask for."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

STATIC = Path(str(files("weft.console"))) / "static"
CSRF = "the-token-of-this-page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""That of the console; plotly sets attributes of style."""
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
PATIENCE = 240.0

Json = dict[str, Any]


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, as it stands there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


class Stage:
    """What a test does with the console: `show` a whole picture, `change` it, cut the connection, look at what was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.picture: Json = {}
        self.posted: list[tuple[str, str, Json | None, str | None]] = []
        """Method, path, body and token of changing requests."""
        self.looks: list[Json] = []
        self.answer: tuple[int, Json] = (200, {"ok": True})
        self.deaf = False
        self.loop: asyncio.AbstractEventLoop
        self._pages: set[WebSocket] = set()
        self._number = 0

    # From the test's thread

    def show(self, picture: Json) -> None:
        self._do(self._show(picture))

    def change(self, patch: Json) -> None:
        self._do(self._change(patch))

    def cut(self) -> None:
        """Every connection is lost, and none comes again before `mend`."""
        self._do(self._cut())

    def mend(self) -> None:
        self.deaf = False

    def _do(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    # In the server's thread

    async def _show(self, picture: Json) -> None:
        self.picture = picture
        await self._tell({"type": "full", "picture": picture})

    async def _change(self, patch: Json) -> None:
        self.picture = merged(self.picture, patch)
        await self._tell({"type": "delta", "patch": patch})

    async def _cut(self) -> None:
        self.deaf = True
        for page in list(self._pages):
            await page.close()

    async def _tell(self, message: Json) -> None:
        self._number += 1
        for page in list(self._pages):
            await page.send_text(json.dumps({**message, "seq": self._number}))

    async def page(self, request: Request) -> Response:
        text = (STATIC / "index.html").read_text(encoding="utf-8").replace("{{csrf}}", CSRF)
        return HTMLResponse(text, headers={"content-security-policy": POLICY})

    async def static(self, request: Request) -> Response:
        name = Path(request.path_params["name"]).name
        path = _plotly() if name == "plotly.min.js" else STATIC / name
        return FileResponse(path, media_type=TYPES.get(path.suffix))

    async def told(self, request: Request) -> Response:
        return JSONResponse(self.picture)

    async def changing(self, request: Request) -> Response:
        body = await request.body()
        self.posted.append(
            (
                request.method,
                request.url.path,
                json.loads(body) if body else None,
                request.headers.get("x-weft-token"),
            )
        )
        status, found = self.answer
        return JSONResponse(found, status)

    async def report(self, request: Request) -> Response:
        return HTMLResponse("<!DOCTYPE html><title>Report</title>")

    async def socket(self, page: WebSocket) -> None:
        if self.deaf:
            await page.close()
            return
        await page.accept()
        await page.send_text(json.dumps({"type": "full", "seq": self._number, "picture": self.picture}))
        self._pages.add(page)
        try:
            while True:
                self.looks.append(await page.receive_json())
        except WebSocketDisconnect:
            pass
        finally:
            self._pages.discard(page)


def _plotly() -> Path:
    return Path(str(files("plotly"))) / "package_data" / "plotly.min.js"


@contextmanager
def staged(picture: Json) -> Iterator[Stage]:
    """A console on a free port of this machine, until the block ends."""
    stage = Stage()
    stage.picture = picture
    routes = [
        Route("/", stage.page),
        Route("/static/{name}", stage.static),
        Route("/api/picture", stage.told),
        Route("/api/steer", stage.changing, methods=["POST"]),
        Route("/api/runs/{run}/review", stage.changing, methods=["POST", "DELETE"]),
        Route("/runs/{run}/report.html", stage.report),
        WebSocketRoute("/ws", stage.socket),
    ]
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    stage.url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    settings = uvicorn.Config(
        Starlette(routes=routes), log_config=None, lifespan="off", ws="websockets-sansio", loop="asyncio"
    )
    server = uvicorn.Server(settings)
    ready = threading.Event()

    async def serve() -> None:
        stage.loop = asyncio.get_running_loop()
        ready.set()
        await server.serve([listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="console", daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield stage
    finally:
        stage.cut()
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
