"""The console with all behind it (issue 9, "Must show", first point): a mesh, its federates, and a person with a browser."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from review.plain import plain_review
from support.browser import WHY_NOT, Browser, find_browser
from support.console_process import Command, command
from support.console_traffic import NAME, Driver, place_at
from support.node_processes import wait_until, write_file
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, ResignAction, RTIambassador
from weft.cli.data import object_model
from weft.fabric import Topology
from weft.host.recording.runs import find_runs
from weft.review.report import html_report
from weft_benchmarks.papers.tanks import SIDE, around

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]

TOPOLOGY = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
AT = {"tank": "S1", "radar": "S2", "range": "S3"}
CULPRIT = "range"


class Person:
    """What a person sees and does."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser = browser
        browser.call("Page.navigate", url=url)
        browser.wait_for("document.getElementById('connection')?.textContent === 'live'")

    def go(self, page: str) -> None:
        """By the menu."""
        self.browser.click(f'nav a[href^="#/{page}"]')
        self.browser.wait_for(
            f"document.querySelector('nav a[aria-current=page]')?.hash.startsWith('#/{page}')"
        )

    def sees(self, selector: str, words: str = "") -> None:
        """Waits until it can be read there."""
        self.browser.wait_for(
            f"(document.querySelector({json.dumps(selector)})?.textContent)?.includes({json.dumps(words)}) ?? false"
        )

    def text(self, selector: str) -> str:
        found: str = self.browser.ask(f"document.querySelector({json.dumps(selector)}).textContent")
        return found

    def clicks(self, selector: str) -> None:
        self.sees(selector)
        self.browser.click(selector)

    def times(self) -> dict[str, int]:
        """As they stand in the list of federates."""
        found = self.browser.ask(
            "Object.fromEntries([...document.querySelectorAll('.list tr[data-key]')]"
            ".map(one => [one.dataset.key, Number(one.querySelector('.c-time').textContent)]))"
        )
        return {str(name): int(at) for name, at in found.items()}

    def steers(self, action: str, says: str, steps: int = 0) -> None:
        """Asks for it on the page Steer, and says yes when asked back."""
        self.clicks(
            f"[data-{action}]:not(:disabled)" if "=" in action else f"[data-action={action}]:not(:disabled)"
        )
        self.sees("dialog[open] h2", says)
        if steps:
            self.browser.ask(f"void (document.querySelector('dialog input').value = '{steps}')")
        answered = self.browser.ask("document.querySelectorAll('.answers li').length")
        self.clicks("dialog[open] button[type=submit]")
        self.browser.wait_for(f"document.querySelectorAll('.answers li.good').length > {answered}")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    found = find_browser()
    if found is None:
        pytest.skip(WHY_NOT)
    with Browser(found, tmp_path / "profile", (1280, 900)) as one:
        yield one


@pytest.fixture
def reviewed(tmp_path: Path) -> str:
    """A run of yesterday, and what its review said."""
    node = EmbeddedNode()
    node.record(tmp_path / "runs")
    rti = RTIambassador(node)
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
    rti.create_federation_execution("Yesterday", [object_model("range.xml")])
    rti.join_federation_execution("one", "test", "Yesterday")
    rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.disconnect()
    node.stop_recording()
    run = Path(str(find_runs(tmp_path / "runs")[0]))
    found = plain_review([])
    (run / "review").mkdir()
    (run / "review" / "report.html").write_text(html_report(found))
    (run / "review" / "review.json").write_text(json.dumps(found.as_data()))
    return run.name


def processes(mesh: Command) -> tuple[dict[str, str], dict[str, int]]:
    """Where federates join, and the process of each node."""
    said = re.compile(r"(S\d): running \(process (\d+)\), federates join at (\S+)")
    while len(nodes := said.findall("".join(mesh.said))) < 3:
        mesh.find(r"(S\d: running)")
    return {name: at for name, _, at in nodes}, {name: int(pid) for name, pid, _ in nodes}


def all_at_rest(person: Person, drivers: dict[str, Driver]) -> int:
    """Paused: the page shows everybody at one time, each of whom has asked for the next in vain."""
    person.go("federations")
    person.browser.wait_for(
        "(() => { const rows = [...document.querySelectorAll('.list tr[data-key]')]; "
        "const times = new Set(rows.map(one => one.querySelector('.c-time').textContent)); "
        "return rows.length === 3 && times.size === 1 && rows.every(one => "
        "one.querySelector('.c-requested')?.textContent === `TAR ${Number([...times][0]) + 1}` && "
        "one.querySelector('.c-blocked')?.textContent.includes('operator')); })()"
    )
    (at,) = set(person.times().values())
    assert {one.last for one in drivers.values()} == {at}
    return at


def on_the_map(person: Person, at: int) -> None:
    """The tank's region stands where the tank is then."""
    (low, high), _ = around((place_at(at), 0), 4)
    region = "document.querySelector('.region.publishes[data-region^=\"tank/\"] .ground')"
    space = "document.querySelector('.space')"
    left = f"({region}?.x.baseVal.value - {space}?.x.baseVal.value) / {space}?.width.baseVal.value"
    wide = f"{region}?.width.baseVal.value / {space}?.width.baseVal.value"
    person.go("interest")
    person.browser.wait_for(
        f"Math.abs({left} - {low / SIDE}) < 0.002 && Math.abs({wide} - {(high - low) / SIDE}) < 0.004"
    )


def test_a_person_before_the_console(tmp_path: Path, browser: Browser, reviewed: str) -> None:
    write_file(tmp_path, TOPOLOGY)
    arguments = (
        "run",
        "domains.toml",
        "--settings",
        "settings.toml",
        "--no-journal",
        "--no-record",
        "--plain",
    )
    with ExitStack() as after:
        mesh = after.enter_context(command(tmp_path, *arguments))
        addresses, pids = processes(mesh)
        drivers = {
            name: Driver(name, addresses[node], 20 + 30 * lane)
            for lane, (name, node) in enumerate(AT.items())
        }
        drivers["tank"].create()
        for one in drivers.values():
            one.join()
        for one in drivers.values():
            one.start()
            after.callback(one.end)
        person = Person(browser, mesh.url)
        assert "token" not in browser.ask("location.href")
        times_advance(person)
        the_culprit_is_found(person, drivers[CULPRIT])
        time_is_paused_stepped_and_resumed(person, drivers)
        the_culprit_is_resigned(person, drivers)
        a_killed_node_turns_red(person, pids["S3"])
        a_report_is_opened(person, reviewed)
        for one in drivers.values():
            one.end()
        mesh.process.send_signal(signal.SIGTERM)
        assert mesh.process.wait(240) == 1, "a node had died"
    assert browser.complaints == []
    home = f"http://{urlsplit(mesh.url).netloc}/"
    assert [one for one in browser.asked if not one.startswith(home)] == []


def times_advance(person: Person) -> None:
    person.go("federations")
    for name in AT:
        person.sees(f"tr[data-key={name}] .c-node", AT[name])
    before = person.times()
    for name, at in before.items():
        cell = f"document.querySelector('tr[data-key={name}] .c-time')"
        person.browser.wait_for(f"Number({cell}.textContent) > {at + 1}")


def the_culprit_is_found(person: Person, culprit: Driver) -> None:
    """It no longer asks for time: everybody waits; one click leads to its row."""
    culprit.may.clear()
    person.sees("tr[data-key=tank] .c-blocked a.blocker", CULPRIT)
    person.sees(f"tr[data-key={CULPRIT}] .c-state", "holds up 2")
    person.sees(".finding.first", f"blocked by {CULPRIT}")
    person.sees(".blockgraph .box.culprit .name", CULPRIT)
    stands = person.times()
    person.clicks("tr[data-key=tank] .c-blocked a.blocker")
    person.browser.wait_for(f"document.querySelector('tr[aria-current=true]')?.dataset.key === '{CULPRIT}'")
    person.sees(".details h2", CULPRIT)
    assert max(stands.values()) <= culprit.last + 1
    culprit.may.set()
    cell = "document.querySelector('tr[data-key=tank] .c-time')"
    person.browser.wait_for(f"Number({cell}.textContent) > {stands['tank'] + 1}")


def time_is_paused_stepped_and_resumed(person: Person, drivers: dict[str, Driver]) -> None:
    """A step is one logical second for everybody, and regions go with it; the map shows them where they are."""
    person.go("steer")
    person.steers("pause", f"Pause {NAME}?")
    person.sees(".paused", "paused")
    at = all_at_rest(person, drivers)
    on_the_map(person, at)
    for steps in (1, 4):
        person.go("steer")
        person.steers("step", f"Step {NAME}?", steps)
        person.sees(".paused", f"paused at {at + steps}")
        assert all_at_rest(person, drivers) == at + steps
        at += steps
        on_the_map(person, at)
    person.go("steer")
    person.steers("resume", f"Resume {NAME}?")
    person.sees(".paused", "time advances freely")
    person.go("federations")
    person.browser.wait_for(
        f"Number(document.querySelector('tr[data-key=tank] .c-time')?.textContent) > {at + 1}"
    )


def the_culprit_is_resigned(person: Person, drivers: dict[str, Driver]) -> None:
    """Once more it holds up all others: the operator takes it out, it is told so, and the others go on without it."""
    culprit = drivers[CULPRIT]
    culprit.may.clear()
    person.sees("tr[data-key=tank] .c-blocked a.blocker", CULPRIT)
    stands = drivers["tank"].last
    person.go("steer")
    person.steers(f"resign={CULPRIT}", f"Resign {CULPRIT} from {NAME}?")
    person.browser.wait_for(f"!document.querySelector('[data-resign={CULPRIT}]')")
    culprit.end()
    assert "operator" in culprit.ears.resigned
    wait_until(lambda: drivers["tank"].last > stands + 2, "the others go on")


def a_killed_node_turns_red(person: Person, pid: int) -> None:
    person.go("fabric")
    person.browser.wait_for("document.querySelectorAll('.node.up').length === 3")
    os.kill(pid, signal.SIGKILL)
    person.browser.wait_for("document.querySelector('[data-node=S3].down')")
    person.sees("[data-node=S3] .state", "down")
    person.browser.wait_for("document.querySelectorAll('.link.down').length === 1")
    assert person.browser.ask(
        "(() => { const probe = document.createElement('i'); probe.style.color = 'var(--bad)'; document.body.append(probe); "
        "const red = getComputedStyle(probe).color; probe.remove(); "
        "return getComputedStyle(document.querySelector('[data-node=S3] rect')).fill === red; })()"
    )
    person.sees(".finding.first", "S3 is down")


def a_report_is_opened(person: Person, run: str) -> None:
    person.go("runs")
    row = f"tr[data-key={json.dumps(run)}]"
    person.sees(f"{row} .c-federation", "Yesterday")
    person.sees(f"{row} .c-runstate", "complete")
    person.clicks(f"{row} a.button")
    person.browser.turn_to(f"/runs/{run}/report.html")
    person.sees("h1", "Review")
