"""The pages of the console (issue 9, Build 1 and "Must show"), in a real browser, fed by a console without nodes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import weft
from support import console_picture as pictures
from support.browser import WHY_NOT, Browser, find_browser
from support.console_page_server import CSRF, merged, staged
from support.console_screen import COLOURS, CONTRAST, PAUSES, RFC_EXAMPLES, Screen

PAGES = ("federations", "interest", "fabric", "channel", "runs", "steer")
NASTY = (
    "<script>window.hacked = 1</script>",
    '<img src="x" onerror="window.hacked = 1">',
    "javascript:window.hacked=1//",
    "__proto__",
    "constructor",
    "a/b?c#d %41\n\t“ü”",
)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    command = find_browser()
    if command is None:
        pytest.skip(WHY_NOT)
    profile = tmp_path_factory.mktemp("browser")
    with staged(pictures.picture()) as stage, Browser(command, profile, (1280, 800)) as browser:
        yield Screen(browser, stage)


@pytest.fixture
def screen(room: Screen) -> Iterator[Screen]:
    """Whatever a test does, the browser has nothing to complain of, and nothing is asked of another host."""
    stage, browser = room.stage, room.browser
    stage.mend()
    stage.posted.clear()
    stage.looks.clear()
    stage.answer = (200, {"ok": True})
    browser.ask("1")
    browser.complaints.clear()
    browser.asked.clear()
    yield room
    browser.ask("1")
    assert browser.complaints == []
    assert [one for one in browser.asked if not one.startswith(stage.url)] == []


def quiet() -> dict[str, Any]:
    """Without channels there are no bars: plotly, which takes a second to read, is not loaded."""
    return pictures.picture(Range=pictures.federation(channels={}))


def federate(name: str, **facts: Any) -> dict[str, Any]:
    return {"federations": {"Range": {"federates": {name: facts}}}}


# Patches


def patched(screen: Screen, pairs: list[tuple[Any, Any]]) -> list[Any]:
    """What the page makes of targets and patches, and whether the targets are as they were."""
    given = json.dumps(pairs)
    found: list[Any] = screen.browser.ask(
        f"import('/static/patch.js').then(({{merged}}) => JSON.parse({json.dumps(given)}).map(([target, patch]) => "
        "{ const before = JSON.stringify(target); const after = JSON.stringify(merged(target, patch)); "
        "return [after, before === JSON.stringify(target)]; }))"
    )
    assert all(kept for _, kept in found)
    return [json.loads(after) for after, _ in found]


def test_patches_are_applied_as_the_rfc_says(screen: Screen) -> None:
    """RFC 7396, appendix A."""
    screen.visit("federations", pictures.picture())
    assert patched(screen, [(one, patch) for one, patch, _ in RFC_EXAMPLES]) == [
        after for _, _, after in RFC_EXAMPLES
    ]


def some_value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON, with names that objects of JavaScript have by themselves."""
    kind = chance.randrange(6 if depth < 3 else 4)
    if kind > 3:
        names = ("a", "b", "__proto__", "constructor", "toString")
        return {name: some_value(chance, depth + 1) for name in names if chance.random() < 0.5}
    return (None, chance.randrange(5), chance.choice("ab"), [chance.randrange(3)])[kind]


def test_patches_of_all_kinds_against_the_rfcs_algorithm(screen: Screen) -> None:
    screen.visit("federations", pictures.picture())
    chance = random.Random(7396)
    pairs = [(some_value(chance), some_value(chance)) for _ in range(1000)]
    assert patched(screen, pairs) == [merged(target, patch) for target, patch in pairs]


# Federations


def test_times_advance(screen: Screen) -> None:
    screen.visit("federations", pictures.picture())
    assert screen.text("tr[data-key=radar] .c-time") == "20"
    for time in (25, 30.5):
        screen.stage.change(federate("radar", time=time))
        screen.reads("tr[data-key=radar] .c-time", str(time))


def test_from_blocked_by_to_the_culprit(screen: Screen) -> None:
    """Who waits, since when, for whom; one click leads to the culprit's row, which is marked and in sight."""
    screen.visit("federations", pictures.picture())
    first = screen.text(".finding.first")
    assert (
        first == "tank waits 12 s for 30, blocked by radar (at 20, lookahead 5). 2 other federates also wait."
    )
    assert "was granted 20 and has not asked to advance since" in screen.text(".finding:nth-child(2)")
    assert screen.has(".blockgraph .arrow") == 4
    assert screen.text(".blockgraph .box.culprit .name") == "radar"
    assert screen.text("tr[data-key=radar] .c-state") == "holds up 3"
    screen.browser.click("tr[data-key=tank] .c-blocked a")
    screen.browser.wait_for("document.querySelector('tr[aria-current=true]')?.dataset.key === 'radar'")
    assert screen.browser.ask("location.hash") == "#/federations/Range/radar"
    assert screen.text(".details h2") == "radar"
    assert screen.browser.ask(
        "(() => { const box = document.querySelector('tr.marked').getBoundingClientRect(); "
        "return box.top >= 0 && box.bottom <= innerHeight; })()"
    )
    screen.browser.ask("history.back()")
    screen.browser.wait_for("document.querySelector('.details').hidden")


def test_who_does_not_wait_is_named_first_and_labels_lie_over_arrows(screen: Screen) -> None:
    """Of several blockers a click leads to the one where the trouble begins; an arrow past a box strikes no label out."""
    chain = {
        "a": pictures.waiting("S1", 1, 2, 5.0, "b", "c"),
        "b": pictures.waiting("S1", 1, 2, 4.0, "c"),
        "c": pictures.federate("S1", time=1),
    }
    screen.visit("federations", pictures.picture(Range=pictures.federation(federates=chain)))
    assert screen.text("tr[data-key=a] .c-blocked") == "c +1"
    assert "for 2, blocked by c (at 1" in screen.text(".finding.first")
    assert screen.has(".blockgraph .arrow") == screen.has(".blockgraph .since") == 3
    assert screen.browser.ask(
        "[...document.querySelectorAll('.blockgraph .since')].every(label => "
        "[...document.querySelectorAll('.blockgraph .arrow')].every(arrow => "
        "arrow.compareDocumentPosition(label) & Node.DOCUMENT_POSITION_FOLLOWING))"
    )


def held_up(waits_for: dict[str, list[str]]) -> dict[str, tuple[int, bool]]:
    """By trying all ways: how many each culprit holds up, and whether it stands in a circle."""
    reached = {name: set(blockers) for name, blockers in waits_for.items() if blockers}
    for _ in reached:
        for name, beyond in reached.items():
            reached[name] = beyond.union(*(reached.get(one, set()) for one in beyond))
    everybody = {one for beyond in reached.values() for one in beyond}
    ends = everybody - set(reached)
    circles = {name for name, beyond in reached.items() if name in beyond and not beyond & ends}
    return {
        name: (sum(name in beyond for one, beyond in reached.items() if one != name), name in circles)
        for name in ends | circles
    }


def test_the_culprits_of_all_kinds_of_graphs(screen: Screen) -> None:
    screen.visit("federations", pictures.picture())
    chance = random.Random(30)
    names = "abcdefg"
    graphs = []
    for _ in range(300):
        most = chance.choice((1, 1, 2, 3))
        graphs.append({
            name: chance.sample([one for one in names if one != name], chance.randrange(most + 1)) for name in names
        })  # fmt: skip
    found = screen.browser.ask(
        "import('/static/blocking.js').then(({blocking}) => "
        f"{json.dumps(graphs)}.map(graph => blocking(Object.fromEntries(Object.entries(graph)"
        ".map(([name, all]) => [name, all.length ? {asks: 'TAR', blocked_by: all} : {}]))).culprits))"
    )
    assert [{one["name"]: (one["holds"], one["circle"]) for one in all_of} for all_of in found] == [
        held_up(graph) for graph in graphs
    ]
    assert {one["circle"] for all_of in found for one in all_of} == {True, False}


def test_a_circle_is_told_as_one(screen: Screen) -> None:
    """Nobody is at the end of it: whoever waits for one another is named."""
    circle = {
        "a": pictures.waiting("S1", 1, 2, 5.0, "b"),
        "b": pictures.waiting("S1", 1, 2, 5.0, "a"),
        "c": pictures.waiting("S1", 0, 2, 3.0, "a"),
    }
    screen.visit("federations", pictures.picture(Range=pictures.federation(federates=circle)))
    screen.reads(".findings", "a and b wait for one another")
    assert screen.has(".box.culprit") == 2


def test_what_a_redraw_leaves_alone(screen: Screen) -> None:
    """Only what changed is drawn anew: a link that has the focus keeps it, though the words around it change."""
    screen.visit("federations", pictures.picture())
    screen.browser.ask("document.querySelector('.finding.first a').focus()")
    screen.browser.ask("void (window.row = document.querySelector('tr[data-key=tank]'))")
    screen.stage.change(federate("tank", seconds=14.1))
    screen.reads(".finding.first", "waits 14 s")
    assert screen.browser.ask("document.activeElement === document.querySelector('.finding.first a')")
    assert screen.browser.ask("window.row === document.querySelector('tr[data-key=tank]')")


def test_synchronization_points_saves_and_pauses_are_told(screen: Screen) -> None:
    save = {"label": "noon", "state": "saving", "waits_for": ["lance"]}
    pause = {"since": 61.0, "by": "operator", "steps": 2}
    screen.visit("federations", pictures.picture(Range=pictures.federation(save=save, paused=pause)))
    assert "ReadyToRun 4 of 5 there" in screen.text(".a-side")
    assert "save: saving" in screen.text(".a-side")
    assert "Paused by operator for 1 min 1 s" in screen.text(".finding.first")
    assert "2 steps are still allowed" in screen.text(".finding.first")
    assert "paused" in screen.text("#badges")


def test_a_thousand_federates(screen: Screen) -> None:
    """Only rows in sight are in the page; those who wait alike are one box; two updates a second, however many come."""
    screen.visit("federations", pictures.picture(Range=pictures.crowd(1000)))
    assert screen.text(".list .caption") == "1,000 federates"
    assert screen.has(".list tbody tr") < 60
    assert screen.has(".blockgraph .box") == 2
    screen.browser.ask("document.querySelector('.list .scroller').scrollTo(0, 1e9)")
    screen.browser.wait_for("document.querySelector('tr[data-key=unit0998]')")
    screen.browser.ask(
        "void (window.drawn = [], new MutationObserver(() => drawn.push(performance.now()))"
        ".observe(document.getElementById('content'), {attributeFilter: ['data-draws']}))"
    )
    for time in range(1, 16):
        screen.stage.change(federate("unit0998", time=time))
        screen.browser.ask("new Promise(requestAnimationFrame)")
    screen.reads("tr[data-key=unit0998] .c-time", "15")
    drawn = screen.browser.ask("drawn")
    assert len(drawn) <= (drawn[-1] - drawn[0]) / 500 + 2
    assert screen.browser.ask("document.querySelector('.list .scroller').scrollTop") > 30_000
    screen.browser.ask(
        "(() => { const box = document.querySelector('.list .filter'); box.value = 'UNIT05'; "
        "box.dispatchEvent(new Event('input')); })()"
    )
    screen.reads(".list .caption", "100 of 1,000 federates")
    screen.go("federations/Range/slowest")
    assert screen.text("tr[aria-current=true] .c-name") == "slowest"


def test_columns_sort(screen: Screen) -> None:
    screen.visit("federations", pictures.picture())

    def order() -> list[str]:
        found: list[str] = screen.browser.ask(
            "[...document.querySelectorAll('.list tbody tr[data-key]')].map(one => one.dataset.key)"
        )
        return found

    assert order() == ["lance", "observer", "radar", "tank", "weather"]
    for expected in (["observer", "radar", "tank", "lance", "weather"],
                     ["weather", "lance", "radar", "tank", "observer"]):  # fmt: skip
        screen.browser.click(".list th.c-time button")
        assert order() == expected
    assert screen.has("th[aria-sort=descending]") == 1


# Interest


def test_the_map_follows_a_region(screen: Screen) -> None:
    """As the region moves, so does its rectangle, to scale; published and subscribed differ by more than colour."""
    screen.visit("interest", quiet())
    chosen = "[...document.querySelectorAll('.map-tools select')].slice(0, 2).map(one => one.value)"
    assert screen.browser.ask(chosen) == ["X", "Y"]
    rect = "document.querySelector('[data-region=\"tank/1\"] .ground')"
    space = "document.querySelector('.space')"
    place = f"(Number({rect}.getAttribute('x')) - {space}.x.baseVal.value) / {space}.width.baseVal.value"
    assert screen.browser.ask(place) == pytest.approx(0.12, abs=0.001)
    screen.stage.change(
        {"federations": {"Range": {"regions": {"tank/1": {"ranges": {"X": [600, 720], "Y": [400, 500]}}}}}}
    )
    screen.browser.wait_for(f"{place} > 0.5")
    assert screen.browser.ask(place) == pytest.approx(0.6, abs=0.001)
    styles = (
        "[...document.querySelectorAll('.region .ground')].map(one => getComputedStyle(one).strokeDasharray)"
    )
    assert {"none", "6px, 4px"} <= set(screen.browser.ask(styles))
    screen.browser.click('[data-region="tank/1"] .ground')
    screen.reads(".map .caption", "Overlaps 2 regions, of lance and observer.")


def test_regions_that_are_neither_published_nor_subscribed_have_a_legend(screen: Screen) -> None:
    """Those by which interactions are sent; the entry is there only with one."""
    screen.visit("interest", quiet())
    shown = "[...document.querySelectorAll('.legend li:not([hidden])')].map(one => one.textContent)"
    assert "other" not in screen.browser.ask(shown)
    one = pictures.region("tank", [700, 800], [10, 90])
    screen.stage.change({"federations": {"Range": {"regions": {"tank/9": one}}}})
    screen.browser.wait_for("document.querySelector('[data-region=\"tank/9\"]')")
    assert "other" in screen.browser.ask(shown)
    fills = [f"getComputedStyle(document.querySelector('{what} .ground')).fill" for what in
             ('[data-region="tank/9"]', ".swatch.other")]  # fmt: skip
    assert screen.browser.ask(" === ".join(fills))


def test_what_overlaps_against_all_points(screen: Screen) -> None:
    """Two regions overlap if they have a point in common; one without a range in a dimension has all of it."""
    screen.visit("federations", pictures.picture())
    chance = random.Random(16)

    def ranges() -> dict[str, list[int]]:
        return {name: sorted(chance.sample(range(10), 2)) for name in "XYZ" if chance.random() < 0.7}

    pairs = [(ranges(), ranges()) for _ in range(500)]
    found = screen.browser.ask(
        "import('/static/ddm.js').then(({overlap}) => "
        f"{json.dumps(pairs)}.map(([one, other]) => overlap({{ranges: one}}, {{ranges: other}})))"
    )

    def points(region: dict[str, list[int]], name: str) -> set[int]:
        return set(range(*region.get(name, (0, 10))))

    assert found == [all(points(one, name) & points(other, name) for name in "XYZ") for one, other in pairs]
    assert {True, False} == set(found)


def test_classes_are_a_tree_and_channels_are_bars(screen: Screen) -> None:
    screen.visit("interest", pictures.picture())
    names = "[...document.querySelectorAll('.c-class .tree')].map(one => one.title)"
    shown = screen.browser.ask(names)
    assert shown == sorted(pictures.classes())
    assert screen.text('tr[data-key="HLAobjectRoot.Cloud"] .c-remark') == "no subscriber"
    assert screen.text('tr[data-key="HLAobjectRoot.Vehicle.Tank"] .c-remark') == ""
    screen.browser.click('tr[data-key="HLAobjectRoot.Vehicle"] .fold')
    screen.browser.wait_for("!document.querySelector('tr[data-key=\"HLAobjectRoot.Vehicle.Tank\"]')")
    screen.browser.wait_for("document.querySelectorAll('.js-plotly-plot .bars .point').length === 8")
    assert {"federation": "Range", "sections": ["classes", "regions"], "type": "look"} in screen.stage.looks


def test_classes_of_the_mom_have_the_rti(screen: Screen) -> None:
    """Who subscribes to them is served by the RTI, so that "no publisher" would be untrue; and the reverse."""
    listens = {"kind": "object", "publishers": [], "subscribers": ["observer"], "instances": 5}
    asks = {"kind": "interaction", "publishers": ["observer"], "subscribers": []}
    manager = "HLAinteractionRoot.HLAmanager"
    mom = {
        "HLAobjectRoot.HLAmanager.HLAfederate": listens,
        f"{manager}.HLAfederate.HLAreport.HLAreportException": {**listens, "kind": "interaction"},
        f"{manager}.HLAfederate.HLArequest.HLArequestPublications": asks,
    }
    own = {"HLAobjectRoot.HLAmanagerOfMine": listens}
    facts = pictures.federation(channels={}, classes={**pictures.classes(), **mom, **own})
    screen.visit("interest", pictures.picture(Range=facts))
    for name in mom:
        assert screen.text(f'tr[data-key="{name}"] .c-remark') == "the RTI's own"
    assert screen.text('tr[data-key="HLAobjectRoot.HLAmanagerOfMine"] .c-remark') == "no publisher"


def test_how_partitions_changed_is_told(screen: Screen) -> None:
    """S2-23: what the last change was to save and saved; and what a strategy of another package did wrong."""
    gain = {"messages": 72, "before": 3.0, "after": 0.5, "gain": 0.8333}
    told = {"changes": 2, "state": "steady", "predicted": gain, "obtained": {**gain, "after": 0.625}}
    facts = pictures.federation(channels={}, strategy="AdaptivePartitioned", adaptation=told)
    screen.visit("interest", pictures.picture(Range=facts))
    assert screen.text(".channels").startswith(
        "Strategy of data distribution: AdaptivePartitioned; changes of partitions: 2 (steady); "
        "copies a message: 3 before, 0.5 predicted, 0.625 obtained"
    )
    facts = pictures.federation(channels={}, strategy="Stripes", strategy_fault="strategy 'Stripes' raised")
    screen.visit("interest", pictures.picture(Range=facts))
    shown = "Strategy of data distribution: Stripes; strategy 'Stripes' raised"
    assert screen.text(".channels").startswith(shown)


def test_details_are_awaited(screen: Screen) -> None:
    """Nodes are asked for classes only when somebody looks: until they answer, the page does not say that there are none."""
    facts = pictures.federation(channels={})
    found = facts.pop("classes")
    screen.visit("interest", pictures.picture(Range=facts))
    assert screen.text("main") == "Asking the nodes…"
    screen.reads("main", "The nodes have not answered yet. They may be busy")  # however long it takes
    assert "Nobody publishes" not in screen.text("main")
    screen.stage.change({"federations": {"Range": {"classes": found}}})
    screen.browser.wait_for("document.querySelector('.c-class .tree')")


# Fabric


def test_a_killed_node_turns_red(screen: Screen) -> None:
    """Red, and said in words; its links are cut; every page says so."""
    screen.visit("fabric", pictures.picture())
    assert screen.has(".node.up") == 6
    assert screen.has(".link.up") == 7
    screen.stage.change(pictures.killed("S6"))
    screen.browser.wait_for("document.querySelector('[data-node=S6].down')")
    assert screen.browser.ask(
        "(() => { const probe = document.createElement('i'); probe.style.color = 'var(--bad)'; document.body.append(probe); "
        "const red = getComputedStyle(probe).color; probe.remove(); "
        "return getComputedStyle(document.querySelector('[data-node=S6] rect')).fill === red; })()"
    )
    assert "down" in screen.text("[data-node=S6] .state")
    assert screen.has(".link.down") == 2
    assert screen.text("tr[data-key=S6] .c-nodestate") == "down"
    assert screen.text(".finding.first") == "S6 is down: no answer for 2 s from 127.0.0.1:15166."
    screen.go("runs")
    assert "node S6 is down" in screen.text("#badges")


# Channel, runs


def test_consumers_by_priority_and_their_time_line(screen: Screen) -> None:
    screen.visit("channel", pictures.picture())
    assert screen.browser.ask(
        "[...document.querySelectorAll('tr.main .c-consumer')].map(one => one.textContent)"
    ) == ["radar", "lance", "observer"]
    assert screen.text(".finding.first") == "7 deadlines were missed, by lance."
    drawn = screen.browser.ask(COLOURS)
    assert "0 103 168" in drawn  # at work
    assert "200 16 46" in drawn  # too late
    screen.stage.change({"federations": {"Range": {"consumers": {"radar": {"handed": 5000}}}}})
    screen.reads('tr[data-key="radar"] .c-handed', "5,000")
    assert screen.text('tr[data-key="radar"] .c-rate') != "–"


def test_a_review_is_started_watched_and_opened(screen: Screen) -> None:
    run = "2026-11-16T09-12-03"
    screen.visit("runs", pictures.picture())
    screen.browser.click(f"[data-review='{run}']")
    screen.browser.wait_for("document.querySelector('dialog').open")
    screen.browser.click("dialog .primary")
    screen.browser.wait_for("!document.querySelector('dialog').open")
    screen.stage.change({"runs": {run: {"review": {"state": "running", "progress": 0.25, "stage": "time"}}}})
    screen.reads(f"tr[data-key='{run}'] .c-review", "25 % · time")
    assert screen.stage.posted == [("POST", f"/api/runs/{run}/review", None, CSRF)]
    screen.browser.click(f"[data-review='{run}']")
    screen.browser.click("dialog .primary")
    screen.browser.wait_for("!document.querySelector('dialog').open")
    done = {"state": "done", "violations": 2, "report": f"/runs/{run}/report.html"}
    screen.stage.change({"runs": {run: {"review": done}}})
    screen.reads(f"tr[data-key='{run}'] .c-review", "2 violations")
    assert screen.stage.posted[1:] == [("DELETE", f"/api/runs/{run}/review", None, CSRF)]
    link = f"document.querySelector('tr[data-key=\"{run}\"] a.button')"
    assert screen.browser.ask(f"{link}.getAttribute('href')") == f"/runs/{run}/report.html"
    screen.stage.change({"runs": {run: {"review": {"report": "javascript:window.hacked=1"}}}})
    screen.browser.wait_for(f"{link} === null")


# Steering


def asks_and(screen: Screen, selector: str, answer: str) -> None:
    screen.browser.click(selector)
    screen.browser.wait_for("document.querySelector('dialog').open")
    screen.browser.click(answer)
    screen.browser.wait_for("!document.querySelector('dialog').open")


NO, YES = "dialog button:not(.primary)", "dialog .primary"


def test_steering_asks_once_and_shows_the_answer(screen: Screen) -> None:
    screen.visit("steer", pictures.picture())
    asks_and(screen, "[data-action=pause]", NO)
    assert screen.stage.posted == []
    asks_and(screen, "[data-action=pause]", YES)
    screen.reads(".answers li", "done")
    pause = {"action": "pause", "federation": "Range"}
    assert screen.stage.posted == [("POST", "/api/steer", pause, CSRF)]
    screen.stage.change({"federations": {"Range": {"paused": {"since": 1.0, "by": "operator", "steps": 0}}}})
    screen.browser.wait_for("!document.querySelector('[data-action=step]').disabled")
    assert screen.browser.ask("document.querySelector('[data-action=pause]').disabled")
    screen.browser.click("[data-action=step]")
    screen.browser.ask("void (document.querySelector('dialog input').value = '3')")
    screen.browser.click(YES)
    screen.browser.wait_for("document.querySelectorAll('.answers li.good').length === 2")
    screen.stage.answer = (409, {"error": "tank has resigned already; <b>look</b> at the list"})
    asks_and(screen, "[data-resign=tank]", YES)
    screen.reads(".answers li.bad", "tank has resigned already; <b>look</b> at the list")
    step = {"action": "step", "federation": "Range", "target": 3}
    resign = {"action": "resign", "federation": "Range", "target": "tank"}
    assert [body for _, _, body, _ in screen.stage.posted] == [pause, step, resign]
    assert {token for _, _, _, token in screen.stage.posted} == {CSRF}
    # An error of the server is an error in the browser's own log too.
    screen.browser.ask("1")
    assert [one for one in screen.browser.complaints if "409" not in one] == []
    screen.browser.complaints.clear()


def test_a_read_only_page_says_why_it_cannot_steer(screen: Screen) -> None:
    shown = pictures.picture()
    shown["console"]["may_steer"] = False
    screen.visit("steer", shown)
    assert "read-only token" in screen.text(".page .banner")
    assert screen.has("main button.big:not(:disabled), [data-resign]:not(:disabled)") == 0
    screen.go("runs")
    assert screen.has("[data-review]") == screen.has("[data-review]:disabled") > 0


# Connection


def test_a_newcomer_is_told_what_to_do(screen: Screen) -> None:
    """Without a federation: where to join, and a program that does; when one comes, it is shown by itself."""
    screen.visit("federations", pictures.empty())
    assert screen.text(".addresses") == "127.0.0.1:15164"
    program = screen.text(".code code")
    assert 'rti="127.0.0.1:15164"' in program
    here = program.replace('rti="127.0.0.1:15164"', "host=node").replace("seconds=60", "seconds=0.01")
    exec(here, {"node": weft.EmbeddedNode()})
    screen.stage.change({"federations": {"Range": pictures.federation()}})
    screen.browser.wait_for("document.querySelector('tr[data-key=tank]')")


def test_a_lost_connection_is_told_and_found_again(screen: Screen) -> None:
    screen.visit("federations", pictures.picture())
    screen.stage.cut()
    screen.browser.wait_for("!document.getElementById('banner').hidden")
    assert "No connection to the console since" in screen.text("#banner")
    assert screen.text("#connection") == "connection lost"
    assert screen.has("tr[data-key=tank]") == 1, "what was known stays"
    screen.stage.picture = merged(screen.stage.picture, federate("radar", time=77))
    screen.stage.mend()
    screen.browser.click("#banner button")
    screen.reads("tr[data-key=radar] .c-time", "77")
    screen.browser.wait_for("document.getElementById('banner').hidden")
    assert screen.text("#connection") == "live"
    assert [one for one in screen.browser.complaints if "WebSocket" not in one] == []
    screen.browser.complaints.clear()


def test_pauses_between_tries_grow(screen: Screen) -> None:
    screen.visit("federations", pictures.picture())
    pauses = screen.browser.ask(PAUSES)
    assert pauses == [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]


def test_a_fault_of_the_page_is_told(screen: Screen) -> None:
    """Facts that no page can draw: it says so, instead of standing still as if it were live."""
    screen.visit("interest", quiet())
    screen.stage.change({"federations": {"Range": {"regions": {"tank/1": {"ranges": {"X": 5}}}}}})
    screen.reads("#banner", "This page has a fault")
    assert not screen.browser.ask("document.getElementById('banner').hidden")
    assert all("TypeError" in one for one in screen.browser.complaints)
    screen.browser.complaints.clear()


# What comes from outside


def test_names_are_text_whatever_they_are(screen: Screen) -> None:
    """A script in a name of a federate, class, region, label, node, run or error is shown as it is, and does nothing."""
    bad = NASTY[0]
    everyone = {name: pictures.waiting("S1", 1, 2, 3.0, bad, *NASTY[:2]) for name in NASTY}
    shown = pictures.picture(**{bad: pictures.federation(
        federates={**everyone, bad: pictures.federate("<b>S1", time=1, last_callback={"name": bad, "ago": 1})},
        classes={name.replace(".", ""): {"kind": bad, "publishers": list(NASTY), "subscribers": list(NASTY)} for name in NASTY},
        regions={name: {**pictures.region(name, [1, 500], [2, 300], publishes=True), "subscribes": [name]} for name in NASTY},
        consumers={name: {"priority": 1, "missed": 1, "recent": [[0, 1, name, True]], "classes": {name: {}}} for name in NASTY},
        synchronization={bad: {"waits_for": list(NASTY), "achieved": [bad]}}, strategy=bad, channels={},
    )})  # fmt: skip
    shown["nodes"][bad] = {
        "state": "down",
        "why": NASTY[1],
        "fabric": {"links": {bad: {"up": False, "why": bad}}},
    }
    shown["runs"][bad] = {
        "federations": [bad],
        "state": bad,
        "review": {"state": "failed", "error": NASTY[1]},
    }
    screen.visit("federations", shown)
    for page in PAGES:
        screen.go(page)
        assert screen.has("main script, main img, main b") == 0, page
        assert bad in screen.text("body"), page
        assert not screen.browser.ask("'hacked' in window")
    screen.go("federations")
    for name in NASTY:
        screen.browser.ask(
            f"[...document.querySelectorAll('.c-name a')].find(one => one.textContent === {json.dumps(name)}).click()"
        )
        screen.browser.wait_for(
            f"document.querySelector('.details:not([hidden]) h2')?.textContent === {json.dumps(name)}"
        )


# How it looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read(screen: Screen, scheme: str) -> None:
    """Letters stand out from their ground by at least 4.5 to 1 (WCAG AA), no page is wider than the window, what can be pressed
    has a name."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    screen.browser.call("Emulation.setEmulatedMedia", features=features)
    try:
        screen.visit("federations", merged(quiet(), pictures.killed("S6")))
        for page in (*PAGES, "federations/Range/radar"):
            screen.go(page)
            assert screen.browser.ask(CONTRAST) == [], page
            assert screen.browser.ask("document.documentElement.scrollWidth <= innerWidth"), page
            nameless = (
                "[...document.querySelectorAll('button, a, input, select, canvas, [role=img], [role=button]')]"
                ".filter(one => !(one.getAttribute('aria-label') || one.textContent.trim())).length"
            )
            assert screen.browser.ask(nameless) == 0, page
    finally:
        screen.browser.call("Emulation.setEmulatedMedia", features=[])
