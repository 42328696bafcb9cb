"""Results in the console: the lake of really recorded and reviewed runs, by the API and in a browser."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from console.test_console_api import fits
from review.compare.night import FEDERATION, night
from support.browser import WHY_NOT, Browser, find_browser
from support.console_in_thread import Answer, FakeNode, Running, console_of
from weft.cli import main
from weft.console import lake as reading
from weft.console.security import READER, Refused

pytestmark = pytest.mark.xdist_group("console lake")  # one night for all

MANY = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a third of them more is sent, in half the link is slow, and in one a message is lost."""
    top = tmp_path_factory.mktemp("night") / "runs"
    night(top, MANY, MANY // 2, MANY // 3, MANY * 5 // 6)
    assert main(["review", str(top)]) == 1
    return top


@pytest.fixture(scope="module")
def running(runs: Path) -> Iterator[Running]:
    with console_of(FakeNode(), recordings=str(runs)) as one:
        yield one


def said(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    capsys.readouterr()
    main([*command, "--json"])
    return json.loads(capsys.readouterr().out)


def asked(running: Running, path: str) -> Answer:
    """By who may only look."""
    return running.ask("GET", path, {"Authorization": f"Bearer {running.guard.tokens.of(READER)}"})


def test_it_says_what_the_commands_say(
    running: Running, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = ["--lake", str(runs / "lake")]
    described = asked(running, "/api/openapi.json").json
    found = fits(described, "/api/lake", "get", asked(running, "/api/lake")).json
    capsys.readouterr()
    main(["sql", "select run, status, violations from run order by start_ns desc", *lake, "--json"])
    table = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = ("run", "status", "violations")
    assert [[row[name] for name in names] for row in found["runs"]] == [
        [row[name] for name in names] for row in table
    ]
    (federation,) = found["federations"]
    assert (federation["name"], federation["runs"]) == (FEDERATION, MANY)
    assert federation["status"] == {"ok": MANY - 1, "violated": 1}

    trend = said(capsys, "trend", FEDERATION, *lake)
    assert trend["worse"] > 0
    answer = asked(running, f"/api/lake/trend?runs={FEDERATION}")
    assert fits(described, "/api/lake/trend", "get", answer).json == trend
    sides = [f"{FEDERATION}/first:3", f"{FEDERATION}/last:3"]
    differ = said(capsys, "compare", *sides, *lake)
    assert differ["worse"] > 0
    path = f"/api/lake/compare?before={quote(sides[0])}&after={quote(sides[1])}"
    assert fits(described, "/api/lake/compare", "get", asked(running, path)).json == differ
    bounds = said(capsys, "compare", *sides, *lake, "--percent", "1000", "--ms", "50")
    assert asked(running, f"{path}&percent=1000&ms=50").json == bounds != differ


REFUSED = {
    "/api/lake/trend": 400,
    "/api/lake/trend?runs=": 400,
    "/api/lake/trend?runs=" + "x" * 301: 400,
    "/api/lake/trend?runs=a%00b": 400,
    f"/api/lake/trend?runs={FEDERATION}&percent=nan": 400,
    f"/api/lake/trend?runs={FEDERATION}&ms=-1": 400,
    f"/api/lake/compare?before={FEDERATION}": 400,
    f"/api/lake/compare?before={FEDERATION}&after={FEDERATION}": 404,
    "/api/lake/trend?runs=Nowhere": 404,
    "/api/lake/trend?runs=--help": 404,
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_makes_no_sense_is_refused_with_words(running: Running, path: str) -> None:
    found = asked(running, path)
    assert found.status == REFUSED[path], found.body
    assert set(found.json) == {"error"}


def test_no_path_is_followed_and_no_other_lake_is_opened(
    running: Running, runs: Path, tmp_path: Path
) -> None:
    """On the command line a run may be named by its path; a page that could do that would learn which folders there are."""
    first = next(run for run in sorted((runs / FEDERATION).iterdir()) if not run.name.startswith("."))
    assert (
        main(
            [
                "compare",
                str(first),
                f"{FEDERATION}/last:1",
                "--lake",
                str(runs / "lake"),
                "--fail-on",
                "never",
            ]
        )
        == 0
    )
    for text in (str(first), f"file://{tmp_path}", f"../{FEDERATION}"):
        found = asked(running, f"/api/lake/trend?runs={quote(text, safe='')}")
        assert found.status == 404
        assert "there is no such federation in the lake" in found.json["error"]
    elsewhere = asked(running, f"/api/lake/trend?runs={FEDERATION}&lake=/etc&ask=runs")
    assert elsewhere.json["federation"] == FEDERATION


def test_without_a_lake_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with console_of(FakeNode(), recordings=str(tmp_path / "runs")) as one:
        found = asked(one, "/api/lake")
    assert (found.status, f"weft review {tmp_path / 'runs'}" in found.json["error"]) == (404, True)
    with console_of(FakeNode(), recordings="") as one:
        found = asked(one, "/api/lake")
    assert (found.status, "--runs" in found.json["error"]) == (404, True)


def test_a_reader_that_dies_or_hangs_is_told_of(tmp_path: Path) -> None:
    """The console goes on, and no process is left behind."""
    import asyncio

    async def status(code: str, patience: float) -> tuple[int, str]:
        reader = reading.ResultsReader(str(tmp_path), (sys.executable, "-c", code), patience)
        with pytest.raises(Refused) as told:
            await reader.runs()
        await reader.close()
        assert reader._process is not None
        assert reader._process.returncode is not None
        return told.value.status, told.value.reason

    died = asyncio.run(status("raise SystemExit('no room')", 240.0))
    assert died == (500, "the results cannot be read: no room")
    hung = asyncio.run(status("import time; time.sleep(600)", 0.2))
    assert hung == (504, "the results were not read within 0.2 s; ask for fewer runs")


def test_nothing_that_reads_tables_is_in_the_consoles_process() -> None:
    """Nor Spark, nor a Java: a process of its own reads the lake, and does so without them, too."""
    import subprocess

    code = "import sys, {0}; sys.exit(bool({{'pyspark', 'py4j'{1}}} & set(sys.modules)))"
    for module, more in (("weft.console.app", ", 'pyarrow'"), ("weft.review.compare.served", "")):
        subprocess.run([sys.executable, "-c", code.format(module, more)], check=True)


# The page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    command = find_browser()
    if command is None:
        pytest.skip(WHY_NOT)
    with Browser(command, tmp_path_factory.mktemp("browser"), (1280, 800)) as made:
        yield made


def visit(browser: Browser, running: Running, place: str) -> None:
    token = running.guard.tokens.of(READER)
    browser.call("Page.navigate", url=f"http://{running.host}/?token={token}")
    browser.wait_for("document.querySelector('#content')?.dataset.draws > 0")
    browser.ask(f"location.hash = {json.dumps(place)}")


def test_the_page_shows_what_was_found(running: Running, browser: Browser) -> None:
    """A trend with its steps, two groups compared, runs with verdicts; and nothing for the browser to complain of."""
    visit(browser, running, "#/lake")
    browser.wait_for("document.querySelectorAll('.charts svg.trend').length > 0")
    trend = asked(running, f"/api/lake/trend?runs={FEDERATION}/last:50").json
    changes = "section[aria-label='Run after run'] tbody tr[data-key]"
    shown = f'[...document.querySelectorAll("{changes}")].map((one) => one.textContent)'
    browser.wait_for(f"{shown}.length === {len(trend['events'])}")
    for words, event in zip(browser.ask(shown), trend["events"], strict=True):
        assert event["verdict"] in words
        assert event["subject"] in words
        assert event["run"] in words
    assert browser.ask("document.querySelectorAll('svg.trend .change').length") == len(trend["events"])
    assert browser.ask("document.querySelectorAll('.list tr[data-key]').length") == MANY
    browser.ask(
        f"for (const [label, runs] of [['Runs before', 'first:3'], ['Runs after', 'last:3']]) "
        f"document.querySelector(`input[aria-label='${{label}}']`).value = '{FEDERATION}/' + runs"
    )
    browser.click(".compare button")
    differs = asked(running, f"/api/lake/compare?before={FEDERATION}/first:3&after={FEDERATION}/last:3").json
    rows = "document.querySelectorAll('.compare ~ .table tbody tr[data-key]').length"
    browser.wait_for(f"{rows} === {len(differs['differences'])}")
    browser.ask(
        "document.querySelector(\"input[aria-label='Runs after']\").value = '<img src=x onerror=hacked=1>'"
    )
    browser.click(".compare button")
    browser.wait_for("document.querySelector('.compare ~ .note').innerText.includes('no such federation')")
    assert browser.ask("window.hacked === undefined")
    assert [one for one in browser.complaints if "404" not in str(one)] == []


def test_the_page_says_what_to_do_where_there_is_no_lake(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with console_of(FakeNode(), recordings=str(tmp_path / "runs")) as one:
        visit(browser, one, "#/lake")
        browser.wait_for(
            "document.querySelector('.p-lake .banner')?.innerText.includes('There are no results')"
        )
        assert "weft review" in browser.ask("document.querySelector('.p-lake .banner').innerText")
