"""The console's application: routes, WebSocket, and what it does in the background while somebody looks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

import weft
from weft.console import metrics, security
from weft.console.answers import answer, bounded_json, problem, steering_of
from weft.console.asking import Asking, NodeConnection, NodeLink
from weft.console.door import Door, caller_of
from weft.console.lake import ResultsReader
from weft.console.openapi import description
from weft.console.pages import INTERVAL, MOST, Page, ShownPicture
from weft.console.picture import SECTIONS, Look, Painter, look_of, sections_of, view
from weft.console.runs import Reviews, Shelf
from weft.console.static import Files
from weft.console.surveys import section
from weft.model.errors import WeftError
from weft.model.json_types import JsonObject

RUNS_SECONDS = 2.0  # from one look at the recorded runs to the next
FRESH_SECONDS = 2.5  # a request for the picture waits so long for nodes to answer
STEER_SECONDS = 10.0
BODY_BYTES = 16 << 10
LISTEN_SECONDS = 0.02  # a page is listened to so often at most


class RunningConsole:
    """All that one console is, behind its routes."""

    def __init__(
        self,
        guard: security.ConsoleGuard,
        recordings: str = "",
        report: Callable[[str], None] = lambda text: None,
        connect: Callable[[str, str], NodeConnection] = NodeLink,
        reviews: Callable[[Shelf], Reviews] = Reviews,
    ) -> None:
        self.guard = guard
        self.painter = Painter()
        self.pages: set[Page] = set()
        self._report = report
        self._connect = connect
        self._shelf = Shelf(recordings)
        self._reviews = reviews(self._shelf)
        self._lake = ResultsReader(recordings)
        self._files = Files()
        self._numbered = 0
        self._seen = asyncio.Event()
        self._looked = float("-inf")
        self._waiting_news: list[JsonObject] = []
        self.asking: Asking | None = None

    def told(self, news: JsonObject) -> None:
        """Of a node, in the thread of the loop; before the loop runs it is kept."""
        if self.asking is None:
            self._waiting_news.append(news)
        else:
            self.asking.told(news)

    # --- in the background ------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def living(self, _: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def post(what: Callable[[], object]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(what)

        self.asking = Asking(self.painter, post, self._connect)
        for news in self._waiting_news:
            self.asking.told(news)
        beating = loop.create_task(self._beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.wait([beating])
            self.asking.close()
            await self._reviews.close()
            await self._lake.close()

    async def _beat(self) -> None:
        while True:
            await self._seen.wait()
            began = time.monotonic()
            try:
                await self._publish()
            except Exception as error:
                self._report(f"internal error, please report it: {error!r}")
            await asyncio.sleep(max(0.0, began + INTERVAL - time.monotonic()))

    async def _publish(self) -> None:
        """To whoever looks."""
        if not self.pages:
            self._seen.clear()
            return
        self._ask(sections_of(page.look for page in self.pages))
        await self._look_at_runs()
        self._numbered += 1
        publication = ShownPicture(self._numbered, self.picture())
        for page in self.pages:
            page.offer(publication)

    def _ask(self, sections: frozenset[str]) -> None:
        assert self.asking is not None
        self.asking.want(sections)

    async def _look_at_runs(self) -> None:
        """Files take their time, so it is not this thread that reads them."""
        now = time.monotonic()
        if now - self._looked >= RUNS_SECONDS:
            self._looked = now
            await asyncio.to_thread(self._shelf.look)

    def picture(self) -> JsonObject:
        painted = self.painter.paint(time.monotonic())
        return {
            **painted,
            "runs": self._reviews.shown(),
            "console": {"version": weft.__version__, "pages": len(self.pages)},
        }

    async def fresh(self, sections: frozenset[str]) -> JsonObject:
        """A picture of now: every node has answered since, or failed to, or had its time."""
        assert self.asking is not None
        began = time.monotonic()
        self._ask(sections | sections_of(page.look for page in self.pages))
        await self._look_at_runs()
        while time.monotonic() < began + FRESH_SECONDS:
            if all(self.painter.settled(place) >= began for place in self.asking.places):
                break
            await asyncio.sleep(0.02)
        return self.picture()

    # --- routes -----------------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        role = caller_of(request.scope).role
        return self._files.index(self.guard.tokens.csrf(role))

    async def static(self, request: Request) -> Response:
        return self._files.answer(request.path_params["name"], request.headers.get("if-none-match", ""))

    async def get_picture(self, request: Request) -> Response:
        chosen = request.query_params.get("sections")
        sections = frozenset(SECTIONS if chosen is None else filter(None, chosen.split(",")))
        if not sections <= frozenset(SECTIONS):
            raise security.Refused(400, f"sections are of {', '.join(SECTIONS)}")
        look = Look(request.query_params.get("federation"), sections)
        picture = view(await self.fresh(sections_of([look])), look)
        console = {**section(picture, "console"), "may_steer": caller_of(request.scope).may_steer}
        return answer({**picture, "console": console})

    async def get_description(self, request: Request) -> Response:
        return answer(description(self.guard.url().rstrip("/")))

    async def get_metrics(self, request: Request) -> Response:
        text = metrics.exposition(await self.fresh(sections_of([])))
        return Response(text, headers={"content-type": metrics.CONTENT_TYPE})

    async def steer(self, request: Request) -> Response:
        wanted = steering_of(await bounded_json(request, BODY_BYTES))
        place = self.painter.place_of(wanted.federation, time.monotonic())
        if place is None:
            await self.fresh(sections_of([]))
            place = self.painter.place_of(wanted.federation, time.monotonic())
        if place is None or self.asking is None or place not in self.asking.places:
            raise security.Refused(
                404, f"no node that answers knows a federation {wanted.federation[:100]!r}"
            )
        self._report(f"the operator asks: {wanted}")
        job = self.asking.do(place, lambda link: link.steer(wanted.action, wanted.federation, wanted.target))
        try:
            done = await asyncio.wait_for(asyncio.wrap_future(job), STEER_SECONDS)
        except TimeoutError:
            raise security.Refused(
                504, f"{place} did not answer within {STEER_SECONDS:g} s; look at what became of it"
            ) from None
        except WeftError as error:
            raise security.Refused(409, str(error)) from error
        return answer({**done, "ok": True})

    async def start_review(self, request: Request) -> Response:
        await self._look_at_runs()
        shown = await self._reviews.start(request.path_params["run"])
        self._report(f"the operator starts a review of {request.path_params['run']!r}")
        return answer(shown, 202)

    async def stop_review(self, request: Request) -> Response:
        await self._look_at_runs()
        return answer(await self._reviews.stop(request.path_params["run"]))

    async def report_page(self, request: Request) -> Response:
        await self._look_at_runs()
        path = self._reviews.report(request.path_params["run"])
        own = {"content-security-policy": security.REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
        return FileResponse(path, headers=own, media_type="text/html")

    async def lake_runs(self, request: Request) -> Response:
        return answer(await self._lake.runs())

    async def lake_trend(self, request: Request) -> Response:
        return answer(await self._lake.trend(request.query_params))

    async def lake_compare(self, request: Request) -> Response:
        return answer(await self._lake.compare(request.query_params))

    async def page(self, websocket: WebSocket) -> None:
        if len(self.pages) >= MOST:
            await websocket.send_denial_response(problem(503, f"{MOST} pages are open already; close one"))
            return
        await websocket.accept()
        page = Page(caller_of(websocket.scope).may_steer)
        self.pages.add(page)
        self._seen.set()
        tasks = [
            asyncio.ensure_future(page.show(websocket.send_text)),
            asyncio.ensure_future(_listen(page, websocket)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.pages.discard(page)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled():
                    task.exception()
            with contextlib.suppress(Exception):
                await websocket.close()


async def _listen(page: Page, websocket: WebSocket) -> None:
    """What it looks at; a page that says something else is told so once, and let go."""
    while True:
        try:
            page.looks_at(look_of(await websocket.receive_json()))
        except ValueError as error:
            await websocket.close(1003, str(error)[:120])
            return
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes instead of text
            return
        await asyncio.sleep(LISTEN_SECONDS)


async def _said(request: Request, error: Exception) -> Response:
    assert isinstance(error, security.Refused)
    return problem(error.status, error.reason)


async def _unknown(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    reason = "there is no such page" if status == 404 else f"{request.method} is not for this page"
    return problem(status, f"{request.url.path[:100]!r}: {reason}; /api/openapi.json says what there is")


async def _broken(request: Request, error: Exception) -> Response:
    return problem(500, "internal error, please report it; the console's log says more")


def application(console: RunningConsole) -> ASGIApp:
    routes = [
        Route("/", console.index),
        Route("/static/{name}", console.static),
        Route("/api/picture", console.get_picture),
        Route("/api/openapi.json", console.get_description),
        Route("/metrics", console.get_metrics),
        Route("/api/steer", console.steer, methods=["POST"]),
        Route("/api/runs/{run}/review", console.start_review, methods=["POST"]),
        Route("/api/runs/{run}/review", console.stop_review, methods=["DELETE"]),
        Route("/runs/{run}/report.html", console.report_page),
        Route("/api/lake", console.lake_runs),
        Route("/api/lake/trend", console.lake_trend),
        Route("/api/lake/compare", console.lake_compare),
        WebSocketRoute("/ws", console.page),
    ]
    inner = Starlette(
        routes=routes,
        lifespan=console.living,
        exception_handlers={security.Refused: _said, 404: _unknown, 405: _unknown, 500: _broken},
    )
    return Door(inner, console.guard)
