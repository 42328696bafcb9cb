"""The console's API as it is described, its metrics, and its pages (issue 9: console, metrics, OpenAPI)."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route, WebSocketRoute

from support.console_in_thread import WAIT, Answer, FakeNode, Running, console_of, federate, received
from support.console_page_server import merged
from support.json_schema_check import faults
from weft.console import pages
from weft.console.metrics import METRICS, exposition, markdown
from weft.console.security import READER
from weft.model.errors import ConnectionFailed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def node() -> FakeNode:
    return FakeNode()


@pytest.fixture
def running(node: FakeNode) -> Iterator[Running]:
    with console_of(node) as one:
        yield one


def eventually(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- the description ------------------------------------------------------------------------------------------


@pytest.fixture
def described(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = running.ask("GET", "/api/openapi.json", running.bearer(READER)).json
    return found


def fits(described: dict[str, Any], path: str, method: str, found: Answer) -> Answer:
    """An answer of the application, held against its description."""
    responses = described["paths"][path][method]["responses"]
    assert str(found.status) in responses, f"{method} {path}: {found.status} is not described"
    content = responses[str(found.status)].get("content", {})
    if content and found.status != 304:
        kind = found.headers["content-type"].partition(";")[0]
        assert kind in content or kind == "text/css", f"{method} {path}: {kind}"
        if kind == "application/json":
            assert faults(found.json, content[kind]["schema"], described) == []
    return found


def test_every_route_is_described_and_every_path_is_a_route(
    running: Running, described: dict[str, Any]
) -> None:
    routes: set[tuple[str, str]] = set()
    for route in running.console_routes():
        if isinstance(route, Route):
            routes |= {(route.path, method.lower()) for method in route.methods or () if method != "HEAD"}
        elif isinstance(route, WebSocketRoute):
            routes.add((route.path, "get"))
    described_routes = {(path, method) for path, methods in described["paths"].items() for method in methods}
    assert routes == described_routes
    assert described["openapi"] == "3.1.0"
    for path, methods in described["paths"].items():
        for operation in methods.values():
            named = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))


def test_answers_are_as_described(running: Running, described: dict[str, Any]) -> None:
    ask = running.ask
    for given in (running.cookie(), {}, {"Host": "evil"}):
        for path, real in {
            "/": "/",
            "/static/{name}": "/static/plotly.min.js",
            "/api/picture": "/api/picture",
            "/metrics": "/metrics",
            "/api/openapi.json": "/api/openapi.json",
            "/runs/{run}/report.html": "/runs/x/report.html",
            "/api/lake": "/api/lake",
            "/api/lake/trend": "/api/lake/trend?runs=x",
            "/api/lake/compare": "/api/lake/compare",
        }.items():
            fits(described, path, "get", ask("GET", real, given))
    fits(described, "/", "get", ask("GET", f"/?token={running.reader}"))
    fits(described, "/static/{name}", "get", ask("GET", "/static/nothing.js", running.cookie()))
    fits(described, "/api/picture", "get", ask("GET", "/api/picture?sections=nothing", running.cookie()))

    def steer(given: dict[str, str], **what: Any) -> Answer:
        return fits(described, "/api/steer", "post", running.steer(given, **what))

    good = running.changing()
    assert steer(good, action="step", federation="Harbour", target=3).json["ok"] is True
    assert steer(good, action="pause", federation="Elsewhere").status == 404
    assert steer(good, action="dance", federation="Harbour").status == 400
    assert steer(running.changing(READER), action="pause", federation="Harbour").status == 403
    assert steer({**good, "Content-Type": "text/plain"}).status == 415
    assert steer(good, action="x" * 20_000).status == 413
    for method in ("post", "delete"):
        path = "/api/runs/{run}/review"
        assert (
            fits(described, path, method, ask(method.upper(), "/api/runs/x/review", good, b"")).status == 404
        )
        assert fits(described, path, method, ask(method.upper(), "/api/runs/x/review", {}, b"")).status == 401


def test_the_picture_validates_and_the_validator_can_tell(
    running: Running, described: dict[str, Any]
) -> None:
    picture = running.ask("GET", "/api/picture", running.cookie()).json
    schema = described["components"]["schemas"]["Picture"]
    assert faults(picture, schema, described) == []
    changes: tuple[dict[str, Any], ...] = (
        {"nodes": {"S1": {"state": "well"}}},
        {"console": {}},
        {"more": 1},
        {"runs": {"r": {"path": 1}}},
    )
    for change in changes:
        assert faults({**picture, **change}, schema, described)


def test_what_a_node_refuses_is_said(running: Running, node: FakeNode, described: dict[str, Any]) -> None:
    survey = node.survey
    assert isinstance(survey, dict)
    survey["federations"]["Nobody"] = {"home": "server", "federates": {}}
    found = fits(
        described,
        "/api/steer",
        "post",
        running.steer(running.changing(), action="pause", federation="Nobody"),
    )
    assert (found.status, found.json) == (409, {"error": "there is no such federation"})


def test_files_are_asked_for_once(running: Running) -> None:
    first = running.ask("GET", "/static/plotly.min.js", running.cookie())
    assert (first.status, first.headers["content-type"].partition(";")[0]) == (200, "text/javascript")
    assert len(first.body) > 1_000_000
    again = running.ask(
        "GET", "/static/plotly.min.js", {**running.cookie(), "If-None-Match": first.headers["etag"]}
    )
    assert (again.status, again.body) == (304, b"")


# --- pages ----------------------------------------------------------------------------------------------------


def test_a_page_gets_the_picture_then_changes_at_most_twice_a_second(
    running: Running, node: FakeNode
) -> None:
    began = time.monotonic()
    with running.page() as page:
        said = received(page)
        assert (said["type"], said["seq"]) == ("full", 1)
        picture = said["picture"]
        for number in range(2, 5):
            said = received(page)
            assert (said["type"], said["seq"]) == ("delta", number)
            picture = merged(picture, said["patch"])
        assert picture["nodes"]["server"]["state"] == "up"
        assert picture["nodes"]["server"]["server"]["messages_rate"] == 0.0
        assert picture["federations"]["Harbour"]["federates"]["tug"]["state"] == "joined"
        assert picture["console"] == {"may_steer": True, "version": "0.1.0", "pages": 1}
        assert 2 * (time.monotonic() - began) + 1 >= 4
    eventually(lambda: not running.console.pages)
    assert len(node.at) <= 2 * (time.monotonic() - began) + 1


def test_nodes_are_asked_for_what_somebody_looks_at_and_only_then(running: Running, node: FakeNode) -> None:
    assert node.asked == []
    survey = node.survey
    assert isinstance(survey, dict)
    survey["federations"]["Harbour"]["classes"] = {"C": {"publishers": []}}
    with running.page() as page, running.page(READER) as other:
        assert "classes" not in received(page)["picture"]["federations"].get("Harbour", {})
        received(other)
        assert not any("classes" in one for one in node.asked)
        page.send(json.dumps({"type": "look", "federation": "Harbour", "sections": ["classes"]}))
        picture: Any = {}
        while "classes" not in picture.get("federations", {}).get("Harbour", {}):
            picture = merged(picture, received(page).get("patch", {}))
        eventually(lambda: any("classes" in one for one in node.asked))
        assert all("regions" not in one for one in node.asked)
        for _ in range(2):
            assert "classes" not in json.dumps(received(other))


def test_a_slow_page_is_skipped_and_not_queued_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes nothing while a hundred pictures come: then it gets the newest, and none of those between."""
    monkeypatch.setattr(pages, "INTERVAL", 0.0)
    taken: list[dict[str, Any]] = []

    async def look() -> None:
        page, takes, came = pages.Page(may_steer=False), asyncio.Event(), asyncio.Event()

        async def send(text: str) -> None:
            taken.append(json.loads(text))
            came.set()
            await takes.wait()

        showing = asyncio.ensure_future(page.show(send))
        for number in range(1, 101):
            page.offer(pages.ShownPicture(number, {"federations": {}, "number": number}))
            if number == 1:
                await came.wait()
                came.clear()
        takes.set()
        await came.wait()
        showing.cancel()

    asyncio.run(look())
    assert [one["type"] for one in taken] == ["full", "delta"]
    assert taken[1]["patch"] == {"number": 100}


# --- nodes that fail -----------------------------------------------------------------------------------------


def test_a_node_that_dies_is_down_with_why_and_up_again_when_it_is_back(
    running: Running, node: FakeNode
) -> None:

    def state() -> Any:
        return running.ask("GET", "/api/picture", running.cookie()).json["nodes"]["server"]

    assert state()["state"] == "up"
    survey, node.survey = node.survey, ConnectionFailed("tcp://fake:0: connection refused")
    down = state()
    assert (down["state"], down["why"]) == ("down", "tcp://fake:0: connection refused")
    picture = running.ask("GET", "/api/picture", running.cookie()).json
    assert picture["federations"]["Harbour"]["federates"]["tug"]["state"] == "unreachable"
    before = node.connections
    node.survey = survey
    assert state()["state"] == "up"
    assert node.connections > before


def test_a_node_that_hangs_is_down_after_three_seconds(running: Running, node: FakeNode) -> None:
    """The clock of the painter is moved on instead of waiting."""
    assert running.ask("GET", "/api/picture", running.cookie()).json["nodes"]["server"]["state"] == "up"
    node.hangs.set()
    with running.page() as page:
        received(page)
        asked = len(node.at)
        eventually(lambda: len(node.at) > asked or node.hangs.is_set())
        eventually(lambda: running.do(lambda: running.console.painter._nodes["fake:0"].asked) is not None)
        paint = running.console.painter.paint
        later = running.do(lambda: paint(time.monotonic() + 3.0))["nodes"]["server"]
        assert later["state"] == "down"
        assert later["why"].startswith("no answer for 3 s")
        node.hangs.clear()
        node.goes_on.set()


def test_nodes_that_are_told_of_as_they_come_and_go() -> None:
    """As `weft run` does: named, reached, dead, started again."""
    node = FakeNode("S1")
    with console_of() as running:
        running.console.asking._connect = node.link  # type: ignore[union-attr]

        def told(**news: str) -> None:
            running.do(lambda: running.console.told({"node": "S1", **news}))

        def state() -> Any:
            return running.ask("GET", "/api/picture", running.cookie()).json["nodes"]["S1"]

        told()
        assert state() == {"state": "starting"}
        told(address="here:1", key="k")
        assert state()["state"] == "up"
        told(state="down", why="died (SIGKILL)")
        assert (state()["state"], state()["why"]) == ("down", "died (SIGKILL)")
        told(state="starting")
        assert state()["state"] == "starting"
        told(address="here:2", key="k")
        assert (state()["state"], state()["address"]) == ("up", "here:2")


# --- metrics --------------------------------------------------------------------------------------------------

SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)'
)
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> tuple[Samples, dict[str, str]]:
    """By the rules of the text exposition format: HELP and TYPE once, before the samples, which stand together."""
    samples: Samples = {}
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    current = ""
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in helped
            helped.add(current)
            assert len(line.split(" ", 3)[3]) > 5
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            assert name not in kinds
            assert kind in ("counter", "gauge")
            kinds[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] == current
            assert current in kinds
            labels = tuple(
                (name, re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value))
                for name, value in LABEL.findall(match[2] or "")
            )
            assert (current, labels) not in samples
            samples[current, labels] = float(match[3])
    return samples, kinds


def whole_picture(name: str) -> dict[str, Any]:
    counted = ("sessions", "slow", "messages", "frames", "writes", "bytes_in", "bytes_out")
    numbers = dict.fromkeys((*counted, "cpu_seconds", "resident_bytes"), 7)
    link = dict.fromkeys(("sent", "received", "bytes_in", "bytes_out", "backlog", "held"), 3)
    fabric = dict.fromkeys(("sent", "received", "packets", "stamp_bytes", "backlog", "waiting"), 4)
    node = {
        "state": "up",
        "version": "1",
        "server": numbers,
        "fabric": {**fabric, "links": {"S2": {"up": True, **link}}},
        "recording": {"rows": 1, "dropped": 0, "queue_bytes": 0},
    }
    facts = federate(
        name,
        "S1",
        time="12.5",
        asks="TAR",
        seconds=4.5,
        blocked_by=["x"],
        queued=1,
        backlog_bytes=2,
        calls=3,
        callbacks=4,
        bytes_in=5,
        bytes_out=6,
        deadlines=7,
        misses={"C": 2, "D": 1},
    )
    federation = {"home": "S1", "instances": 2, "paused": {"since": 1}, "federates": {name: facts}}
    return {
        "nodes": {"S1": node, "S2": {"state": "down"}},
        "federations": {name: federation},
        "console": {"pages": 1},
    }


@pytest.mark.parametrize("name", ["tug", 'quo"te', "back\\slash", "new\nline", "\\n", "{a=b} 1", "ünï"])
def test_metrics_are_as_prometheus_reads_them(name: str) -> None:
    samples, kinds = parsed(exposition(whole_picture(name)))
    assert set(kinds) == {metric.name for metric in METRICS}  # nothing is left out that is known
    here = (("federation", name), ("federate", name), ("node", "S1"))
    assert samples["weft_federate_missed_deadlines_total", here] == 3
    assert samples["weft_federate_logical_time", here] == 12.5
    assert samples["weft_federate_wait_seconds", here] == 4.5
    assert samples["weft_node_up", (("node", "S2"),)] == 0
    assert samples["weft_link_up", (("node", "S1"), ("peer", "S2"))] == 1


def test_names_of_metrics_follow_the_conventions() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert re.fullmatch(r"weft_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        base = metric.name.removesuffix("_total")
        for unit in ("milliseconds", "ms", "kilobytes", "percent", "minutes"):
            assert not base.endswith(f"_{unit}")
        if "bytes" in base or "seconds" in base:
            assert base.endswith(("_bytes", "_seconds"))
        assert set(metric.labels) <= {"node", "federation", "federate", "peer", "version"}
        assert metric.help.endswith(".")


def test_metrics_of_a_running_console_with_the_token_that_may_only_look(running: Running) -> None:
    found = running.ask("GET", "/metrics", running.bearer(READER))
    assert found.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples, _ = parsed(found.body.decode())
    assert samples["weft_node_messages_total", (("node", "server"),)] == 100
    assert samples["weft_federation_federates", (("federation", "Harbour"),)] == 1


def test_the_table_of_metrics_is_the_code() -> None:
    assert markdown() in (ROOT / "docs" / "reference" / "metrics.md").read_text()
