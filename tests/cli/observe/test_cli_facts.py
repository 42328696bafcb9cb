"""What `weft status` and `weft top` make of surveys: the merge, rates, who blocks whom, lines (issue 9, 2).  All pure."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from weft.cli.observe.status import as_data, texts
from weft.cli.observe.top_view import SORTS, TopView, frame
from weft.cli.terminal import cells
from weft.cli.terminal.facts import NOBODY, SurveyAnswer, blocks, picture_of, survey_of_status, troubles
from weft.cli.terminal.facts_lines import amount, clean, fit, headline, lasting, status_lines, strategy_texts
from weft.console.surveys import AdaptationFacts, FederationFacts, SurveyPicture

NODES = ("S1", "S2", "S3")


def federate(node: str, **more: Any) -> dict[str, Any]:
    return {
        "handle": 1,
        "type": "test",
        "node": node,
        "state": "joined",
        "regulating": True,
        "constrained": True,
        **more,
    }


def waiting(node: str, *by: str, seconds: float = 3.0, requested: int = 40) -> dict[str, Any]:
    return federate(
        node, time=7, asks="TAR", requested=requested, seconds=seconds, blocked_by=list(by), lookahead=1
    )


def survey(node: str, **federations: Any) -> dict[str, Any]:
    return {
        "node": node, "version": "0.1.0", "now": 100.0, "wall": 1_789_000_000.0, "federations": federations,
        "server": {"sessions": 3, "messages": 1000, "cpu_seconds": 2.0, "resident_bytes": 80_000_000, "address": node},
        "recording": {"on": True, "directory": "runs", "runs": {"Harbour": "20261116T1-a"}, "rows": 12, "dropped": 1},
    }  # fmt: skip


def federation(home: str, **federates: Any) -> dict[str, Any]:
    return {
        "home": home,
        "instances": 4,
        "strategy": "Exact",
        "time_type": "HLAinteger64Time",
        "federates": federates,
    }


BLOCKED = survey(
    "S1",
    Harbour=federation(
        "S1",
        tank=waiting("S1", "aircraft", seconds=12.3),
        tug=waiting("S1", "tank"),
        aircraft=federate("S1", time=6, lookahead=1),
    ),
)


# The merge


@st.composite
def meshes(draw: st.DrawFn) -> tuple[dict[str, dict[str, Any]], list[SurveyAnswer]]:
    """Federates on nodes, and what each node would tell: all of its own, a bit of others."""
    living = draw(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from(NODES), max_size=6))
    home = draw(st.sampled_from(NODES))
    truth = {name: federate(node, calls=number) for number, (name, node) in enumerate(living.items())}
    answers = []
    for node in draw(st.permutations(NODES)):
        told = {
            name: one if one["node"] == node else {"node": one["node"], "type": "test"}
            for name, one in truth.items()
        }
        found = federation(home, **told)
        found["classes"] = {"C": {"kind": "object", "publishers": [node], "sent": 2, "instances": 3}}
        found["channels"] = {"1": {"sent": 1, "received": 2}}
        found["synchronization"] = {node: {"waits_for": [], "achieved": []}}
        answers.append(SurveyAnswer(node, survey(node, Harbour=found)))
    return {"home": {"is": home}, **truth}, answers


@settings(max_examples=30, deadline=None)
@given(meshes())
def test_a_federate_is_as_its_own_node_says(case: tuple[dict[str, Any], list[SurveyAnswer]]) -> None:
    """Whatever the order of answers: facts of the own node, federation-wide ones of the home, counters summed."""
    truth, answers = case
    home = truth.pop("home")["is"]
    merged: Any = picture_of(answers)["federations"]["Harbour"]
    assert merged["federates"] == truth
    assert merged["synchronization"] == {home: {"waits_for": [], "achieved": []}}
    assert merged["classes"]["C"] == {
        "kind": "object",
        "publishers": sorted(NODES),
        "sent": 6,
        "instances": 3,
    }
    assert merged["channels"] == {"1": {"sent": 3, "received": 6}}
    assert merged == picture_of(reversed(answers))["federations"]["Harbour"]


def test_nodes_that_do_not_answer_are_down() -> None:
    """By what was asked, and by what neighbours say."""
    told = survey("S1")
    told["fabric"] = {
        "links": {"S2": {"up": False, "why": "no answer"}, "S3": {"up": True}},
        "unreachable": {"S7": "there is no link to S2"},
    }
    picture = picture_of(
        [SurveyAnswer("one:1", told), SurveyAnswer("two:2", why="Connection refused", node="S4", age=2.04)]
    )
    assert {name: node["state"] for name, node in picture["nodes"].items()} == {
        "S1": "up", "S2": "down", "S3": "up", "S4": "down", "S7": "down",
    }  # fmt: skip
    assert picture["nodes"]["S4"] == {
        "state": "down",
        "why": "Connection refused",
        "address": "two:2",
        "age": 2.0,
    }
    assert "Down: S2, S4, S7." in headline(picture)
    assert [text for text in troubles(picture, 1.0) if "down" in text] == troubles(picture, 1.0)


def test_servers_of_the_same_name() -> None:
    """Servers that belong to no mesh are all called alike; one that is asked twice is one."""
    first, second = (survey("server", F=federation("server", a=federate("server", calls=n))) for n in (1, 2))
    first["server"]["address"], second["server"]["address"] = "h:1", "h:2"
    picture = picture_of(
        [SurveyAnswer("h:1", first), SurveyAnswer("localhost:1", first), SurveyAnswer("h:2", second)]
    )
    assert list(picture["nodes"]) == ["server", "server@h:2"]
    federates: Any = {name: one["federates"] for name, one in picture["federations"].items()}
    assert {name: one["a"]["calls"] for name, one in federates.items()} == {
        "F": 1,
        "F@h:2": 2,
    }


def test_the_older_status_is_understood() -> None:
    """A server that does not know the survey: the same form, nothing null."""
    old: list[dict[str, Any]] = [{
        "federation": "F", "node": "N", "home": "N", "instances": 2, "ordered": {}, "strategy": "Exact", "regions": {"log": 0},
        "federates": [
            {"name": "a", "type": "t", "node": "N", "regulating": True, "constrained": True, "time": 5, "galt": None, "asks": ""}
        ],
    }]  # fmt: skip
    found = survey_of_status(old)
    federations: Any = found["federations"]
    assert found["node"] == "N"
    assert federations["F"]["federates"] == {
        "a": {"type": "t", "node": "N", "regulating": True, "constrained": True, "time": 5}
    }
    assert "null" not in json.dumps(picture_of([SurveyAnswer("x", found)]))


# Who blocks whom


def test_who_blocks_whom() -> None:
    """Who does not wait comes before who is only a link of the chain; the longest wait first."""
    picture = picture_of([SurveyAnswer("h:1", BLOCKED)])
    first, second = blocks(picture)
    assert (first.blocker, first.blocked, first.seconds) == ("aircraft", ("tank",), 12.3)
    assert (second.blocker, second.blocked) == ("tank", ("tug",))
    said = headline(picture)
    assert said.startswith("Harbour: aircraft blocks tank since ")
    assert said.endswith(" (12.3 s); tank asked for 40 by TAR.")
    assert troubles(picture, 20) == []
    assert troubles(picture, 5) == ["tank of Harbour has waited 12.3 s for aircraft"]
    blocking: Any = as_data(picture)["blocking"]
    (told, _) = blocking
    assert told == {
        "federation": "Harbour", "blocker": "aircraft", "blocks": ["tank"], "seconds": 12.3, "requested": "40", "asks": "TAR",
        "since": 1_789_000_000.0 - 12.3,
    }  # fmt: skip


def test_who_waits_for_nobody() -> None:
    picture = picture_of([SurveyAnswer("h:1", survey("S1", F=federation("S1", a=waiting("S1"))))])
    assert blocks(picture)[0].blocker == NOBODY
    paused = survey("S1", F={**federation("S1"), "paused": {"since": 4.0, "by": "operator", "steps": 2}})
    picture = picture_of([SurveyAnswer("h:1", paused)])
    assert "F is paused by the operator" in headline(picture)
    assert "  paused by operator since 4.0 s, 2 steps still allowed" in texts(picture, 100)


# Lines


def test_the_whole_text() -> None:
    """At 100 columns, everything that the issue asks for."""
    found = json.loads(json.dumps(BLOCKED))
    harbour = found["federations"]["Harbour"]
    harbour["synchronization"] = {"ready": {"waits_for": ["tug"], "achieved": ["tank", "aircraft"]}}
    harbour["save"] = {"label": "noon", "state": "saving", "waits_for": ["tug"]}
    harbour["federates"]["tug"].update(slow=True, backlog_bytes=9_000_000, deadlines=20, misses={"a.Fire": 1})
    shown = texts(picture_of([SurveyAnswer("h:1", found)]), 100)
    text = "\n".join(shown)
    for part in (
        "aircraft blocks tank since", "synchronization point 'ready': waits for tug; achieved by tank, aircraft",
        "save 'noon': saving, waits for tug", "for 40 TAR 12.3 s", "9.0 MB", "slow, missed",
        "Harbour: 3 federates, 4 instances, home S1, Exact, HLAinteger64Time",
        "S1 records below runs: Harbour as 20261116T1-a (12 rows, 1 dropped)",
    ):  # fmt: skip
        assert part in text, text
    assert max(cell_len(line) for line in shown) <= 100


NAMES = st.text(max_size=12)


@st.composite
def pictures(draw: st.DrawFn) -> SurveyPicture:
    found = {}
    for name in draw(st.lists(NAMES, max_size=3, unique=True)):
        who = draw(st.lists(NAMES, max_size=5, unique=True))
        lost = federate("S1", slow=True, state="lost", backlog_bytes=10**7)
        kinds = st.sampled_from([federate("S1"), waiting("S1", *who[:1]), lost])
        federates = {one: draw(kinds) for one in who}
        found[name] = {**federation("S1"), "federates": federates}
        found[name]["synchronization"] = {
            label: {"waits_for": who} for label in draw(st.lists(NAMES, max_size=2))
        }
    answers = [SurveyAnswer("h:1", {**survey("S1"), "federations": found})]
    down = draw(st.lists(NAMES.filter(bool), max_size=6, unique=True))
    return picture_of([*answers, *[SurveyAnswer(name, why="no answer") for name in down]])


@settings(max_examples=50, deadline=None)
@given(
    pictures(),
    st.integers(1, 140),
    st.integers(1, 40),
    st.lists(st.sampled_from(["up", "down", "s", "f", "b", "?", "j", "end", "x"]), max_size=8),
)
def test_a_frame_fits_any_terminal(picture: SurveyPicture, width: int, height: int, keys: list[str]) -> None:
    """No line is wider, no frame higher, nothing that a terminal would obey gets there, and no key breaks it."""
    view = TopView()
    for key in keys:
        view = view.press(key, picture)
        assert view.sort in SORTS
        there = picture["federations"].get(view.federation)
        federates = there["federates"] if there else {}
        assert view.selected in federates or not federates
    shown = frame(picture, view, width, height, "12:00:00")
    assert len(shown) <= height
    for line in shown:
        text = "".join(part for part, _ in line.spans)
        assert cell_len(text) <= width
        assert text.isprintable()
    for plain in status_lines(picture, width):
        assert plain.text.isprintable()


@given(st.text(max_size=30), st.integers(0, 40), st.booleans())
def test_texts_fit_exactly(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(clean(text), width, right)) == width or width == 0


def test_words() -> None:
    assert [amount(n) for n in (0, 999, 1000, 5_400_000, 7e12)] == [
        "0 B",
        "999 B",
        "1.0 KB",
        "5.4 MB",
        "7,000.0 GB",
    ]
    assert [lasting(n) for n in (0.04, 99, 600, 7200)] == ["0.0 s", "99.0 s", "10 min", "2.0 h"]


# Keys


def test_keys_choose_what_is_shown() -> None:
    """b follows the chain to the culprit; f goes round; the chosen one stays chosen when others come."""
    other = federation("S1", lone=federate("S1"))
    found = {**BLOCKED, "federations": {**BLOCKED["federations"], "Range": other}}
    picture = picture_of([SurveyAnswer("h:1", found)])
    view = TopView().settled(picture)
    assert (view.federation, view.selected) == ("Harbour", "aircraft")
    assert view.press("end", picture).selected == "tug"
    assert view.press("down", picture).selected == "tank"
    chain = [view := view.press(key, picture) for key in ("end", "b", "b", "b")]
    assert [one.selected for one in chain] == ["tug", "tank", "aircraft", "aircraft"]
    elsewhere = view.press("f", picture)
    assert (elsewhere.federation, elsewhere.selected) == ("Range", "lone")
    assert elsewhere.press("f", picture).federation == "Harbour"
    assert (elsewhere.press("b", picture).federation, elsewhere.press("b", picture).selected) == (
        "Harbour",
        "aircraft",
    )
    by_wait = view.press("s", picture)
    assert (by_wait.sort, by_wait.order(picture)) == ("waits", ["tank", "tug", "aircraft"])
    assert by_wait.selected == "aircraft"
    helped = view.press("?", picture)
    assert any("jump to who blocks" in line.text for line in frame(picture, helped, 80, 24))
    assert not helped.press("x", picture).help
    assert view.press("q", picture).quit


def test_what_the_strategy_of_data_distribution_does() -> None:
    """S2-23: how partitions changed, what that was to save and saved; and what a strategy of another package did wrong."""
    gain = {"messages": 72, "before": 3.0, "after": 0.5, "gain": 0.8333}
    adaptation: AdaptationFacts = {"changes": 0, "state": "announced", "predicted": {**gain}}  # type: ignore[typeddict-item]
    federation: FederationFacts = {"federates": {}, "adaptation": adaptation}
    assert strategy_texts(federation) == [
        "partitions changed 0 times; predicted 3.00 to 0.50 copies a message (announced)"
    ]
    adaptation.update({"changes": 1, "state": "steady", "obtained": {**gain, "after": 0.625}})  # type: ignore[typeddict-item]
    assert strategy_texts(federation) == [
        "partitions changed 1 time; predicted 3.00 to 0.50 copies a message, obtained 0.62"
    ]
    assert strategy_texts({"federates": {}, "strategy_fault": "strategy 'X' raised"}) == [
        "strategy 'X' raised"
    ]


def test_cells_are_counted_as_terminals_do() -> None:
    """Also where rich is not: letters, wide ones, those without a cell of their own."""
    for text in ("Tug", "Größe", "e\u0301te\u0301", "船と港", "부산항", "🚢 at sea", "ａｂ", "नमस्ते"[:2], ""):
        assert cells.plain_cell_len(text) == cell_len(text), text
        for size in range(cells.plain_cell_len(text) + 3):
            assert cells.plain_cell_len(cells.plain_set_cell_size(text, size)) == size, (text, size)
