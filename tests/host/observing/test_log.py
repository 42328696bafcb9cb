"""Logs in JSON and spans of OpenTelemetry (issue 9, 3): what they hold, that text stays as it was, and that nothing is lost."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.server_in_thread import Talker, eventually, serving
from weft import CallbackModel, FederateAmbassador, HLAinteger64Time, RTIambassador, RtiConfiguration
from weft.cli.data import object_model
from weft.host.log import JSON, TEXT, Log
from weft.host.observing import tracing
from weft.host.observing.call_watch import WATCHED, CallWatch, WatchedCall, log_call
from weft.host.settings import load_settings
from weft.kernel import Callback
from weft.model.enums import ResignAction
from weft.model.errors import FederationExecutionAlreadyExists, SettingsError
from weft.model.log_text import ERROR, LogText
from weft.model.time import HLAinteger64Interval

NOON = 1_789_041_600.25


def written(form: str, text: str) -> str:
    out, second = io.StringIO(), io.StringIO()
    Log("S1", form, out, second, clock=lambda: NOON)(text)
    assert out.getvalue() == second.getvalue()
    return out.getvalue()


def test_a_line_of_json() -> None:
    """Time by RFC 3339, level, node, event, text; whom it concerns where that is known, and no empty fields."""
    said = LogText(
        "federate 'tank' of 'F' is gone", "federate-gone", ERROR, federation="F", federate="tank", peer=""
    )
    assert json.loads(written(JSON, said)) == {
        "time": "2026-09-10T12:00:00.250Z",
        "level": "error",
        "node": "S1",
        "federation": "F",
        "federate": "tank",
        "event": "federate-gone",
        "text": "federate 'tank' of 'F' is gone",
    }
    plain = json.loads(written(JSON, "something"))
    assert (plain["level"], plain["event"]) == ("info", "other")


@given(
    st.text(st.characters(), max_size=30),
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=10),
)
def test_one_line_is_one_object_whatever_names_hold(text: str, name: str) -> None:
    """Names come from the network: line breaks, quotes, lone surrogates."""
    whole = written(JSON, LogText(text, "event", federate=name))
    assert whole.count("\n") == 1
    assert whole.endswith("\n")
    assert not set(whole[:-1]) & {"\r", "\x1b", "\x00"}
    found = json.loads(whole)
    assert (found["text"], found["federate"]) == (text, name)


def test_text_is_what_it_was() -> None:
    said = LogText("link to S2: up", "link-up", peer="S2")
    assert written(TEXT, said) == written(TEXT, "link to S2: up")
    assert written(TEXT, said)[8:] == " link to S2: up\n"
    again = pickle.loads(pickle.dumps(said))
    assert (again, again.event, again.about) == (said, "link-up", {"peer": "S2"})
    out = io.StringIO()
    Log("S1", TEXT, out).detail("not for people")
    assert out.getvalue() == ""


def test_the_setting() -> None:
    """Flag over environment over file, and a word that nobody knows is refused."""
    assert load_settings({}, {}).serve.log == "text"
    assert load_settings({}, {}, '[serve]\nlog = "json"\notel = true').serve.otel
    assert load_settings({"serve.log": "text"}, {"WEFT_SERVE_LOG": "json"}).serve.log == "text"
    assert load_settings({"serve.log": None}, {"WEFT_SERVE_LOG": "json"}).serve.log == "json"
    with pytest.raises(SettingsError, match=r"serve.log is 'xml'; it must be text or json"):
        load_settings({}, {"WEFT_SERVE_LOG": "xml"})


def test_a_server_that_logs_json(tmp_path: Path) -> None:
    """Each line of standard error and of server.log, with node, federation and federate; spans go where the environment says."""
    traced = importlib.util.find_spec("opentelemetry") is not None
    command = [sys.executable, "-m", "weft.cli", "serve", "--port", "0", "--log", "json", "--no-record"]
    process = subprocess.Popen(
        [*command, "--otel"] if traced else command, env={**os.environ, "OTEL_TRACES_EXPORTER": "console"},
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        port = next(line for line in said if line.strip().startswith("tcp")).strip().rsplit(":", 1)[1]
        talker = Talker(f"127.0.0.1:{port}")
        with pytest.raises(FederationExecutionAlreadyExists):
            talker.rti.create_federation_execution("F", object_model("range.xml"))
        talker.leave()
        lost = Talker(f"127.0.0.1:{port}", federation="G")
        process.send_signal(signal.SIGTERM)
        printed, told = process.communicate(timeout=240)
        lost.rti.leave()
    finally:
        process.kill()
    assert not traced or '"name": "weft.join_federation_execution"' in printed
    lines = [json.loads(line) for line in told.splitlines()]
    (log,) = tmp_path.glob("runs/server/*/server.log")
    assert [json.loads(line) for line in log.read_text().splitlines()] == lines
    assert {line["node"] for line in lines} == {"server"}
    events = [line["event"] for line in lines]
    assert events[0] == "listening"
    assert events[-1] == "stopped"
    by = {line["event"]: line for line in lines}
    assert by["federation-created"]["federation"] in ("F", "G")
    assert (by["federate-resigned"]["federation"], by["federate-resigned"]["federate"]) == ("F", "talker-1")
    assert (by["refused"]["error"], by["refused"]["level"]) == ("FederationExecutionAlreadyExists", "warning")
    assert (by["federate-gone"]["federation"], by["federate-gone"]["federate"]) == ("G", "talker-1")


# Calls, from the request to what it waits for


class Ears(FederateAmbassador):
    def __init__(self) -> None:
        self.granted: list[Any] = []
        self.told: list[str] = []

    def time_advance_grant(self, time: Any) -> None:
        self.granted.append(time)

    def synchronization_point_registration_succeeded(self, label: str) -> None:
        self.told.append(label)

    def federation_synchronized(self, label: str, failed: Any) -> None:
        self.told.append(f"{label} reached")

    def time_regulation_enabled(self, time: Any) -> None:
        self.told.append("regulating")

    def time_constrained_enabled(self, time: Any) -> None:
        self.told.append("constrained")


def play(address: str, settings: str = "") -> None:
    """Two federates: regulation, an advance that has to wait for the other's, a synchronization point, resigning."""
    pair, ears = [], []
    for name in ("one", "two"):
        rti, ear = RTIambassador(), Ears()
        rti.connect(ear, CallbackModel.EVOKED, RtiConfiguration("", address, settings))
        if name == "one":
            rti.create_federation_execution("F", object_model("range.xml"), "HLAinteger64Time")
        rti.join_federation_execution(name, "test", "F")
        rti.enable_time_regulation(HLAinteger64Interval(1))
        rti.enable_time_constrained()
        pair.append(rti)
        ears.append(ear)

    def until(done: Any) -> None:
        assert eventually(lambda: [rti.evoke_multiple_callbacks(0.0, 0.0) for rti in pair] and done())

    until(lambda: all(len(ear.told) == 2 for ear in ears))
    pair[0].time_advance_request(HLAinteger64Time(10))
    pair[1].next_message_request(HLAinteger64Time(10))
    until(lambda: all(ear.granted for ear in ears))
    pair[0].register_federation_synchronization_point("ready", b"")
    until(lambda: "ready" in ears[0].told)
    for rti in pair:
        rti.synchronization_point_achieved("ready")
    until(lambda: all("ready reached" in ear.told for ear in ears))
    pair[1].time_advance_request(HLAinteger64Time(1000))
    for rti in pair[::-1]:
        rti.resign_federation_execution(ResignAction.NO_ACTION)
    pair[0].destroy_federation_execution("F")
    for rti in pair:
        rti.disconnect()


@pytest.mark.parametrize("settings", ["", "FedPro.asyncUpdates=true"])
def test_calls_are_watched_until_they_are_over(settings: str) -> None:
    """Each once, with federation and federate; an advance ends with its grant, and one that comes to nothing says so."""
    seen: list[WatchedCall] = []
    with serving() as server:
        watch = CallWatch(server.server.board.node, [seen.append])
        server.ask(lambda one: setattr(one.board, "watch", watch))
        play(server.address(), settings)
        assert server.ask(lambda _: (dict(watch._open), dict(watch._unanswered))) == ({}, {})
    found = [(call.service, call.federate, call.ended_by) for call in seen]
    for name, kind in (("one", "time_advance_request"), ("two", "next_message_request")):
        assert found.count((kind, name, "time_advance_grant")) == 1
        assert found.count(("synchronization_point_achieved", name, "federation_synchronized")) == 1
        assert found.count(("enable_time_regulation", name, "time_regulation_enabled")) == 1
        assert found.count(("join_federation_execution", name, "")) == 1
        assert found.count(("resign_federation_execution", name, "")) == 1
    assert {call.federation for call in seen} == {"F"}
    (advance,) = [call for call in seen if call.requested == "10" and call.federate == "one"]
    assert advance.granted == "10"
    assert advance.ended_ns >= advance.began_ns
    (cut_off,) = [call for call in seen if call.requested == "1000"]
    assert cut_off.error == "the federate has resigned"


def test_every_watched_service_and_callback_exists() -> None:
    """A misspelt name would never end."""
    for service, methods in WATCHED.items():
        assert hasattr(RTIambassador, service) or service == "create_federation_execution"
        for method in methods:
            assert hasattr(FederateAmbassador, method), method


class Sessions:
    """Of a node, as much as a watch asks for: nobody is joined."""

    sessions: dict[int, Any] = {}


def watched(*steps: Any) -> list[WatchedCall]:
    seen: list[WatchedCall] = []
    watch = CallWatch(cast(Any, Sessions), [seen.append], clock=iter(range(100)).__next__)
    for step in steps:
        step(watch)
    assert not watch._open
    assert not watch._unanswered
    return seen


def told(method: str, *arguments: Any, session: int = 1) -> Any:
    return lambda watch: watch.heard([Callback(session, method, arguments)])


def called(service: str, *arguments: Any, sequence: int = 1) -> Any:
    return lambda watch: watch.called(1, sequence, service, arguments)


def test_saves_and_restores_are_watched() -> None:
    """Until the federation is saved, or is not; a callback to another federate ends nothing."""
    (saved,) = watched(
        called("request_federation_save", "noon"),
        lambda watch: watch.replied(1, 1),
        told("federation_saved", session=2),
        told("federation_saved"),
    )
    assert (saved.label, saved.ended_by, saved.error, saved.seconds) == ("noon", "federation_saved", "", 1e-9)
    (failed,) = watched(
        called("request_federation_restore", "noon"), told("request_federation_restore_failed", "noon")
    )
    assert failed.error == "noon"
    (refused,) = watched(
        called("request_federation_save", "noon"), lambda watch: watch.refused(1, 1, SettingsError("no disk"))
    )
    assert (refused.refused, refused.error) == ("SettingsError", "no disk")
    (lost,) = watched(called("time_advance_request", 5), lambda watch: watch.lost(1, "gone"))
    assert (lost.requested, lost.error) == ("5", "gone")
    assert watched(called("update_attribute_values", 5)) == []


def test_each_point_has_its_own_span() -> None:
    first, second = watched(
        called("synchronization_point_achieved", "a"),
        called("synchronization_point_achieved", "b", sequence=2),
        told("federation_synchronized", "b", ()),
        told("federation_synchronized", "a", ()),
    )
    assert (first.label, second.label) == ("b", "a")


def test_what_is_logged_of_calls() -> None:
    out = io.StringIO()
    log = Log("S1", JSON, out)
    log_call(log, WatchedCall("join_federation_execution", 0, "F", "tank", ended_ns=2_000_000))
    log_call(log, WatchedCall("time_advance_request", 0, "F", "tank"))
    log_call(log, WatchedCall("request_federation_save", 0, "F", "tank", "noon", error="RTI_UNABLE_TO_SAVE"))
    joined, failed = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (joined["event"], joined["seconds"], joined["text"]) == (
        "federate-joined",
        "0.002",
        "federate 'tank' joined 'F'",
    )
    assert (failed["level"], failed["label"]) == ("warning", "noon")


# OpenTelemetry


def test_spans() -> None:
    """Through the SDK's own exporter: names, attributes, times, the status of what failed."""
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import StatusCode

    kept = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with serving() as server:
        sink = tracing.span_sink(provider, "S1", "1.0")
        server.ask(lambda one: setattr(one.board, "watch", CallWatch(one.board.node, [sink])))
        play(server.address())
    spans = kept.get_finished_spans()
    grants = [span for span in spans if span.attributes and span.attributes.get("weft.time.granted") == "10"]
    assert sorted(str(span.name) for span in grants) == [
        "weft.next_message_request",
        "weft.time_advance_request",
    ]
    for span in grants:
        assert span.attributes is not None
        assert (span.attributes["weft.federation"], span.attributes["weft.node"]) == ("F", "S1")
        assert span.attributes["weft.federate"] in ("one", "two")
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.end_time >= span.start_time
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert [span.attributes["weft.time.requested"] for span in failed if span.attributes] == ["1000"]


def test_the_exporter_that_the_environment_names() -> None:
    """Not installed: which there are, and what to do."""
    with pytest.raises(SettingsError, match=r"no exporter 'smoke'.*OTEL_TRACES_EXPORTER.*console"):
        tracing.provider_of("S1", {"OTEL_TRACES_EXPORTER": "smoke"})
    made = tracing.provider_of("S1", {"OTEL_TRACES_EXPORTER": "console"})
    tracing.flush(made)
    made.shutdown()  # type: ignore[attr-defined]


def test_without_it_nothing_is_imported() -> None:
    """It costs nothing where nobody asks for it, and where it is not installed that is said."""
    probe = (
        "import sys, weft.cli, weft.cli.operate.serve, weft.host.server.server\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "sys.modules['opentelemetry'] = None\n"
        "from weft.host.observing.tracing import provider_of\n"
        "try:\n    provider_of('S1', {})\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.startswith("PackageMissing --otel (serve.otel) needs opentelemetry")
    assert "weft-rti[otel]" in done.stdout
