"""Attacks on the console (issue 9, security): refused, escaped, bounded."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from support.console_in_thread import WAIT, FakeNode, Running, console_of, federate, received
from weft.console import connections
from weft.console.connections import BoundedProtocol
from weft.console.security import OPERATOR, READER, ConsoleGuard, Refused, Tokens

PAUSE = {"action": "pause", "federation": "Harbour"}
SECRET = "what nobody is to read"


@pytest.fixture(scope="module")
def node() -> FakeNode:
    return FakeNode()


@pytest.fixture(scope="module")
def running(node: FakeNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("console")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "runs").mkdir()
    with console_of(node, recordings=str(folder / "runs")) as one:
        yield one


def test_what_a_page_sends_is_accepted(running: Running, node: FakeNode) -> None:
    """So that the refusals below are for their reasons."""
    assert running.steer(running.changing(), **PAUSE).json == {"ok": True, "action": "pause"}
    assert node.steered[-1] == ("pause", "Harbour", None)
    assert running.steer(running.bearer() | {"Content-Type": "application/json"}, **PAUSE).status == 200


PATHS = [
    "/",
    "/static/plotly.min.js",
    "/api/picture",
    "/api/openapi.json",
    "/metrics",
    "/runs/x/report.html",
    "/api/lake",
    "/api/lake/trend?runs=x",
    "/api/lake/compare?before=x&after=y",
    "/nothing",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "given", [{}, {"Cookie": "weft-console-1=x"}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}]
)
def test_without_the_token_there_is_nothing(running: Running, path: str, given: dict[str, str]) -> None:
    found = running.ask("GET", path, given)
    assert found.status == 401
    assert set(found.json) == {"error"}


def test_a_wrong_token_gets_no_cookie(running: Running) -> None:
    for token in ("", "x", running.operator[:-1], running.operator + "x", "%00", "%ff"):
        found = running.ask("GET", f"/?token={token}")
        assert found.status == 401
        assert "set-cookie" not in found.headers


def test_the_token_of_the_address_becomes_a_cookie_that_scripts_cannot_read(running: Running) -> None:
    for role in (OPERATOR, READER):
        found = running.ask("GET", f"/?token={running.guard.tokens.of(role)}")
        assert (found.status, found.headers["location"]) == (303, "/")
        cookie = found.headers["set-cookie"]
        assert cookie.startswith(f"weft-console-{running.guard.port}=")
        for word in ("httponly", "samesite=strict", "path=/"):
            assert word in cookie.lower()
        page = running.ask("GET", "/", {"Cookie": cookie.partition(";")[0]})
        assert page.status == 200
        assert f'<meta name="weft-csrf" content="{running.guard.tokens.csrf(role)}">' in page.body.decode()
        assert running.guard.tokens.of(role).encode() not in page.body


HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.0.0.1.evil.example:{port}",
    "",
    "[::1",
    "a:b:{port}",
    "127.0.0.1:{port}@evil.example",
    "127.evil.example:{port}",
    "127.0.0.1:{port}x",
]


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_is_refused_though_the_token_is_right(running: Running, host: str) -> None:
    """DNS rebinding: the browser of somebody who has the cookie asks this machine by the name of another site."""
    given = {**running.changing(), "Host": host.format(port=running.guard.port)}
    assert running.ask("GET", "/api/picture", given).status == 421
    assert running.steer(given, **PAUSE).status == 421
    assert running.ask("GET", f"/?token={running.operator}", given).status == 421


def test_names_of_this_machine_are_its_hosts(running: Running) -> None:
    for name in ("localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2", "[::1]"):
        assert (
            running.ask(
                "GET", "/static/nothing", {**running.cookie(), "Host": f"{name}:{running.guard.port}"}
            ).status
            == 404
        )


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", "/api/steer"),
        ("POST", "/api/runs/x/review"),
        ("DELETE", "/api/runs/x/review"),
        ("PUT", "/api/steer"),
        ("OPTIONS", "/api/steer"),
    ],
)
def test_changing_requests_of_another_site_are_refused(
    running: Running, node: FakeNode, method: str, path: str
) -> None:
    """A browser adds the cookie (were it not for SameSite) and its own Origin; the value of the page it cannot know."""
    before = len(node.steered)
    good = running.changing()
    body = json.dumps(PAUSE).encode()
    for change in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{running.guard.port + 1}"},
        {"Origin": f"https://{running.host}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Weft-Token": "x"},
        {"X-Weft-Token": running.guard.tokens.csrf(READER)},
        {"X-Weft-Token": running.operator},
    ):
        found = running.ask(method, path, {**good, **change}, body)
        assert (found.status, set(found.json)) == (403, {"error"})
    for name in ("Origin", "X-Weft-Token"):
        assert running.ask(method, path, {n: v for n, v in good.items() if n != name}, body).status == 403
    assert len(node.steered) == before


def test_who_may_only_look_may_not_steer(running: Running, node: FakeNode) -> None:
    before = len(node.steered)
    for given in (running.changing(READER), running.bearer(READER)):
        for method, path in (
            ("POST", "/api/steer"),
            ("POST", "/api/runs/x/review"),
            ("DELETE", "/api/runs/x/review"),
        ):
            found = running.ask(
                method, path, {"Content-Type": "application/json", **given}, json.dumps(PAUSE).encode()
            )
            assert found.status == 403
            assert "may only look" in found.json["error"]
    assert running.ask("GET", "/api/picture", running.cookie(READER)).json["console"]["may_steer"] is False
    assert len(node.steered) == before


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", None])
def test_a_websocket_of_another_origin_is_refused(running: Running, origin: Any) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://{running.host}/ws", origin=origin, additional_headers=running.cookie(), open_timeout=WAIT
        )
    assert refused.value.response.status_code == 403


def test_a_websocket_without_the_token_or_with_another_host_is_refused(running: Running) -> None:
    for host, headers, status in ((running.host, {}, 401), ("evil.example", running.cookie(), 421)):
        with socket.create_connection(("127.0.0.1", running.guard.port), WAIT) as line:
            lines = [
                "GET /ws HTTP/1.1",
                f"Host: {host}",
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                f"Origin: http://{host}",
                *(f"{n}: {v}" for n, v in headers.items()),
            ]
            line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            assert line.recv(1000).startswith(f"HTTP/1.1 {status}".encode())


TRAVERSALS = [
    "/static/../security.py",
    "/static/..%2fsecurity.py",
    "/static/%2e%2e/security.py",
    "/static/..%5csecurity.py",
    "/static//etc/passwd",
    "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fsecret.txt",
    "/static/index.html",
    "/static/",
    "/static/.",
    "/static/%00",
    "/runs/../secret.txt/report.html",
    "/runs/..%2fsecret.txt/report.html",
    "/runs/%2e%2e/report.html",
    "/runs/..%2f..%2f/report.html",
    "/runs/%2fetc/report.html",
    "/runs/.../report.html",
    "/runs/%00/report.html",
    "/static/..%252fsecurity.py",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out(running: Running, path: str) -> None:
    found = running.ask("GET", path, running.cookie())
    assert found.status == 404
    assert SECRET.encode() not in found.body
    assert b"import" not in found.body


def test_no_name_of_a_run_leads_out(running: Running) -> None:
    for name in ("..%2f", "%2e%2e", "..%2fsecret.txt", "%2fetc"):
        for method in ("POST", "DELETE"):
            assert running.ask(method, f"/api/runs/{name}/review", running.changing(), b"").status == 404
    assert not (Path(running.console._shelf.directory).parent / "review").exists()


def test_a_script_in_a_name_stays_a_text(running: Running, node: FakeNode) -> None:
    """In JSON, in metrics, and in pages, which escape it once more; no answer can be taken for a page."""
    evil = '</script><script>alert(1)</script>&"\\\n'
    before = node.survey
    assert isinstance(before, dict)
    try:
        node.survey = {
            **before,
            "federations": {evil: {"home": "server", "federates": {evil: federate(evil)}}},
        }
        found = running.ask("GET", "/api/picture", running.cookie())
        assert list(found.json["federations"]) == [evil]
        with running.page() as page:
            text = page.recv(timeout=WAIT)
            while "alert" not in text:
                text = page.recv(timeout=WAIT)
        metrics = running.ask("GET", "/metrics", running.bearer(READER))
        assert metrics.headers["content-type"].startswith("text/plain")
        assert b'federation="</script><script>alert(1)</script>&\\"\\\\\\n"' in metrics.body
        for said in (found.body.decode(), str(text)):
            assert "<" not in said
        assert found.headers["content-type"] == "application/json"
        error = running.steer(running.changing(), action="pause", federation=evil[:50] + "x")
        assert b"<script" not in error.body
    finally:
        node.survey = before


def test_every_answer_forbids_what_a_page_does_not_need(running: Running) -> None:
    for given in (running.cookie(), {}, {"Host": "evil.example"}):
        for path in PATHS:
            found = running.ask("GET", path, given).headers
            policy = dict(part.strip().split(" ", 1) for part in found["content-security-policy"].split(";"))
            assert policy["default-src"] == "'none'"
            assert policy["script-src"] == "'self'"
            assert policy["frame-ancestors"] == "'none'"
            assert "unsafe" not in policy["script-src"] + policy["style-src"]
            assert (found["x-frame-options"], found["x-content-type-options"]) == ("DENY", "nosniff")
            assert found["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in found


def test_bodies_that_are_too_long_or_no_json_are_refused(running: Running) -> None:
    good = running.changing()
    assert running.ask("POST", "/api/steer", good, b"{" + b" " * 20_000).status == 413
    assert running.ask("POST", "/api/steer", {**good, "Content-Length": "99999999999"}, b"{}").status == 413
    chunked = running.ask(
        "POST", "/api/steer", {**good, "Transfer-Encoding": "chunked", "Content-Length": "0"}, b"0\r\n\r\n"
    )
    assert chunked.status == 400
    for body in (
        b"",
        b"[",
        b"[" * 16_000,
        b'"pause"',
        b"\xff",
        b"{}",
        b'{"action": "stop"}',
        b'{"action": "pause"}',
    ):
        assert running.ask("POST", "/api/steer", good, body).status == 400
    assert running.ask("POST", "/api/steer", {**good, "Content-Type": "text/plain"}, b"{}").status == 415


@pytest.mark.parametrize(
    "what",
    [
        {"action": "step", "federation": "F", "target": 0},
        {"action": "step", "federation": "F", "target": True},
        {"action": "step", "federation": "F", "target": "2"},
        {"action": "resign", "federation": "F"},
        {"action": "resign", "federation": "F", "target": 3},
        {"action": "pause", "federation": "F", "target": "x"},
        {"action": ["pause"], "federation": "F"},
        {"action": "pause", "federation": ["F"]},
    ],
)
def test_what_cannot_be_meant_is_refused(running: Running, what: dict[str, Any]) -> None:
    assert running.steer(running.changing(), **what).status == 400


def test_a_body_in_pieces_is_counted_as_it_comes(running: Running) -> None:
    """A head that promises nothing, and a body without an end."""
    with socket.create_connection(("127.0.0.1", running.guard.port), WAIT) as line:
        head = {**running.changing(), "Host": running.host, "Transfer-Encoding": "chunked"}
        line.sendall(
            (
                "POST /api/steer HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in head.items()) + "\r\n"
            ).encode()
        )
        for _ in range(20):
            line.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")
        assert line.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_page_that_says_too_much_or_nonsense_is_let_go(running: Running) -> None:
    for said in ("x" * 100_000, "nonsense", b"bytes", '{"type": "look", "sections": ["everything"]}'):
        with running.page() as page:
            page.send(said)
            with pytest.raises(ConnectionClosed):
                _read_on(page)


def _read_on(page: ClientConnection) -> None:
    while True:
        page.recv(timeout=WAIT)


def test_a_request_that_takes_too_long_is_cut(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow loris: a letter now and then, in the head or in the body, does not keep a connection."""
    monkeypatch.setattr(BoundedProtocol, "patience", 0.3)
    head = "".join(
        f"{n}: {v}\r\n" for n, v in running.changing(Host=running.host, Content_Length="100").items()
    )
    lines = []
    for begun in (b"", b"GET / HTTP/1.1\r\n", f"POST /api/steer HTTP/1.1\r\n{head}\r\n{{".encode()):
        lines.append(socket.create_connection(("127.0.0.1", running.guard.port), WAIT))
        lines[-1].sendall(begun)
    for line in lines:
        with line:
            line.settimeout(0.05)
            assert _is_cut(line)
    assert running.ask("GET", "/static/nothing", running.cookie()).status == 404


def _is_cut(line: socket.socket) -> bool:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        try:
            line.sendall(b"x")
            if not line.recv(1000):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def test_a_page_is_no_request_that_takes_too_long(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "patience", 0.2)
    with running.page() as page:
        began = time.monotonic()
        while time.monotonic() < began + 1.0:
            received(page)


def test_ten_thousand_connections_are_bounded_and_a_person_still_gets_in(
    running: Running, node: FakeNode
) -> None:
    """Each is opened and held for as long as the console lets it; the page that looked before goes on looking."""
    most = min(600, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3)
    with running.page() as page:
        received(page)
        held: deque[socket.socket] = deque()
        try:
            for number in range(10_000):
                held.append(socket.create_connection(("127.0.0.1", running.guard.port), WAIT))
                if number % 200 == 199:
                    assert running.do(lambda: _open_here(running)) <= connections.MOST
                if number % 2_000 == 999:
                    assert running.ask("GET", "/static/nothing", running.cookie()).status == 404
                if len(held) >= most:
                    held.popleft().close()
            asked = len(node.at)
            while len(node.at) < asked + 2:
                received(page)
        finally:
            for line in held:
                line.close()


def _open_here(running: Running) -> int:
    """Connections that were accepted and not closed."""
    return sum(not one.transport.is_closing() for one in running.server.server_state.connections)


def test_pages_are_bounded(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.console.app.MOST", 2)
    with running.page(), running.page():
        with pytest.raises(InvalidStatus) as refused:
            running.page()
        assert refused.value.response.status_code == 503


def test_nothing_secret_is_written_anywhere(running: Running) -> None:
    """The console's words go to a file; tokens, the operator's key and values of pages are not among them."""
    running.steer(running.changing(), **PAUSE)
    running.ask("GET", f"/?token={running.operator}x")
    text = "\n".join(running.reports) + repr(running.guard) + repr(running.guard.tokens)
    assert "pause in federation 'Harbour'" in text
    for secret in (running.operator, running.reader, running.guard.tokens.csrf(OPERATOR), "secret"):
        assert secret not in text


# --- off this machine ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host, names, good, bad",
    [
        (
            "0.0.0.0",
            ["lab.example"],
            ["10.0.0.7:99", "lab.example:99", "localhost:99", "[fe80::1]:99"],
            ["evil.example:99", "10.0.0.7:98"],
        ),
        ("10.0.0.7", [], ["10.0.0.7:99"], ["127.0.0.1:99", "localhost:99", "10.0.0.8:99"]),
        ("::1", [], ["[::1]:99", "localhost:99"], ["::1:99", "[::2]:99"]),
    ],
)
def test_hosts_of_consoles_that_listen_elsewhere(
    host: str, names: list[str], good: list[str], bad: list[str]
) -> None:
    guard = ConsoleGuard(Tokens.make(), host, 99, names=frozenset(names))
    for one in good:
        guard.check_host({"host": one})
    for one in bad:
        with pytest.raises(Refused):
            guard.check_host({"host": one})


def test_with_tls_the_cookie_is_for_tls_alone() -> None:
    guard = ConsoleGuard(Tokens.make(), "10.0.0.7", 443, tls=True)
    assert guard.cookie == "__Host-weft-console-443"
    guard.check_host({"host": "10.0.0.7"})
    guard.check_origin({"host": "10.0.0.7", "origin": "https://10.0.0.7"}, required=True)
    with pytest.raises(Refused):
        guard.check_origin({"host": "10.0.0.7", "origin": "http://10.0.0.7"}, required=True)
