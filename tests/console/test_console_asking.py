"""How nodes are asked: how often, for how long, and over TLS (issue 9, console)."""

from __future__ import annotations

import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.console_in_thread import WAIT, FakeNode, console_of
from weft.console import asking
from weft.console.asking import INTERVAL, MOST_INTERVAL, Asking, next_time
from weft.console.picture import Painter

SECONDS = st.floats(0.0, 100.0)


@given(SECONDS, SECONDS)
def test_a_node_is_asked_at_most_twice_a_second_and_less_often_if_it_takes_long(
    began: float, took: float
) -> None:
    answered = began + took
    following = next_time(began, answered)
    assert following >= began + INTERVAL
    assert following <= max(began + INTERVAL, answered + MOST_INTERVAL)
    if took <= MOST_INTERVAL / 15:
        assert answered - began <= (following - began) / 15 + 1e-9  # most of its time is its own


def eventually(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_nobody_is_asked_while_nobody_looks_and_the_connection_is_closed_then(monkeypatch: Any) -> None:
    monkeypatch.setattr(asking, "LINGER", 0.05)
    node, painter, lock = FakeNode(), Painter(), threading.Lock()
    closed = threading.Event()

    def post(what: Callable[[], object]) -> None:
        with lock:
            what()

    def connect(address: str, key: str) -> Any:
        link = node.link(address, key)
        link.close = closed.set  # type: ignore[method-assign]
        assert (address, key) == ("here", "k")
        return link

    asks = Asking(painter, post, connect)
    asks.told({"address": "here", "key": "k"})
    asks.told({"address": "here", "key": "k"})  # said again is not another
    assert node.connections == 0
    asks.want(frozenset(["server"]), 0.01)
    assert closed.wait(WAIT)
    assert (len(node.asked), node.connections) == (1, 1)
    asks.want(frozenset(["classes"]), 0.01)
    eventually(lambda: len(node.asked) == 2)
    assert node.asked == [("server",), ("classes",)]  # nobody looks at the server any more
    asks.close()


def test_what_a_node_was_asked_before_it_was_dropped_is_not_heard(monkeypatch: Any) -> None:
    node, painter, posted = FakeNode(), Painter(), list[Callable[[], object]]()
    asks = Asking(painter, posted.append, node.link)
    asks.told({"node": "S1", "address": "here"})
    asks.want(frozenset(["server"]))
    eventually(lambda: len(posted) >= 2)
    asks.told({"node": "S1", "state": "down", "why": "killed"})
    for late in posted:
        late()
    picture: Any = painter.paint(time.monotonic())
    assert picture["nodes"]["S1"]["why"] == "killed"
    asks.close()


def test_the_console_over_tls(tmp_path: Path) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", "key.pem", "-out", "cert.pem", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *files], cwd=tmp_path, check=True, capture_output=True)
    with console_of(FakeNode(), certificate=tmp_path) as running:
        running.tls = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        assert running.guard.url().startswith("https://127.0.0.1:")
        visit = running.ask("GET", f"/?token={running.operator}")
        cookie = visit.headers["set-cookie"]
        assert cookie.startswith("__Host-weft-console-")
        assert "secure" in cookie.lower()
        assert running.ask("GET", "/api/picture", running.cookie()).json["nodes"]["server"]["state"] == "up"
        assert running.steer(running.changing(), action="pause", federation="Harbour").status == 200
        cleartext = running.steer(
            running.changing(Origin=f"http://{running.host}"), action="pause", federation="Harbour"
        )
        assert cleartext.status == 403
