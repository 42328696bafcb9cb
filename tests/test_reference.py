"""Reference that is made from the code (docs/_ext): nothing is missing from it; and the site as a whole (issue 9, item 5)."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import pkgutil
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import weft
from support.browser import WHY_NOT, Browser, find_browser
from weft import FederateAmbassador, RTIambassador
from weft.cli import COMMANDS, main, parser
from weft.cli.reference.errors import all_errors, families
from weft.federate.refusals import errors_of
from weft.host import settings
from weft.host.client import settings as client_settings
from weft.model import errors
from weft.recorder import schema

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
KNOWN_WORDS = {
    *(
        "RECEIVE",
        "TimeStamp",
        "Receive",
        "reliable",
        "HLAreliable",
        "HLAstandardMIM",
        "NO_ACTION",
    ),
    *("Vehicle.Tank", "HLAreportServiceInvocation", "ServiceGroup", "fom", "wire"),
}


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


reference = _load("weft_reference")
pages = _load("weft_pages")


def _sections(text: str) -> dict[str, str]:
    """By headings."""
    parts = re.split(r"^#+ (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _all_parsers(one: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    below = [action for action in one._actions if isinstance(action, argparse._SubParsersAction)]
    return [
        one,
        *(deep for action in below for made in action.choices.values() for deep in _all_parsers(made)),
    ]


def test_the_page_of_commands_is_complete() -> None:
    """Every command has a section of its own, and in it all its arguments with their help."""
    sections = _sections(reference.commands())
    parsers = _all_parsers(parser())
    assert len(parsers) > 20
    assert set(sections) == {one.prog for one in parsers}
    for one in parsers:
        for action in one._actions:
            for name in action.option_strings:
                if name not in ("-h", "--help") and action.help != argparse.SUPPRESS:
                    assert f"`{name}" in sections[one.prog], f"{one.prog} {name}"


def test_commands_have_help_for_all_arguments() -> None:
    """An argument without a word on it helps nobody."""
    for one in _all_parsers(parser()):
        for action in one._actions:
            listed = not isinstance(action, argparse._SubParsersAction)
            assert not listed or action.help, f"{one.prog}: {action.dest}"


def test_the_page_of_settings_is_complete() -> None:
    """Every setting with its variable, its default, and what it means."""
    text = reference.all_settings()
    for section, kind in settings._SECTIONS.items():
        for one in fields(kind):
            row = re.search(rf"^\| `{section}\.{one.name}` \| `(\w+)` \| (.+) \| (.+) \|$", text, re.M)
            assert row, (
                f"{section}.{one.name} has no row, or no comment in host/settings.py that says what it means"
            )
            assert row[1] == f"WEFT_{section}_{one.name}".upper()


def test_the_variables_and_defaults_of_the_page_are_read() -> None:
    """What the page says is a variable is one: set to its default, each leaves the settings as they are."""
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \| (.+?) \| ", reference.all_settings(), re.M)
    assert len(rows) > 30
    environment = {
        variable: re.sub(r" \(.*", "", default).replace("none", "") for _, variable, default in rows
    }
    environment = {name: value for name, value in environment.items() if value}
    assert settings.load_settings({}, environment) == settings.Settings()


def test_the_settings_of_connections_are_complete() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \| (.+) \|$", reference.all_client_settings(), re.M)
    assert [name for name, _, _ in rows] == list(client_settings._KEYS)


def _all_kinds(kind: type[errors.WeftError]) -> set[type[errors.WeftError]]:
    return {kind}.union(*(_all_kinds(below) for below in kind.__subclasses__()))


def test_the_page_of_exceptions_is_complete() -> None:
    """Every error of the package once, with what it means, what leads to it and what to do."""
    for module in pkgutil.walk_packages(weft.__path__, "weft."):
        # What asks for optional packages, or is run as a program, raises nothing of its own.
        if not re.search(r"review\.|console\.|benchmarks|__main__", module.name):
            importlib.import_module(module.name)
    ours = {one.__name__ for one in _all_kinds(errors.WeftError) if one.__module__.startswith("weft.")}
    told = all_errors()
    assert len(ours) > 110
    assert sorted(ours) == sorted(one.name for one in told)
    for one in told:
        assert one.meaning.endswith("."), one.name
        assert one.cause.endswith("."), one.name
        assert one.remedy or one.module != "weft.errors", one.name
        assert (one.module == "weft.errors") is hasattr(errors, one.name), one.name


def test_causes_name_services_and_settings_that_there_are() -> None:
    """What is in the text as code is a service, a callback, a setting, a command, or a word of Python or an object model."""
    words = {name for kind in (RTIambassador, FederateAmbassador) for name in dir(kind)} | set(dir(weft))
    words |= set(dir(weft.Federate))
    words |= {one.name for one in all_errors()}
    words |= {f"{section}.{one.name}" for section, kind in settings._SECTIONS.items() for one in fields(kind)}
    for family in families():
        for text in (family.about, *family.causes.values()):
            for name in re.findall(r"`([\w.]+)`", text):
                short = name.removeprefix("weft.")
                assert short in words | KNOWN_WORDS, f"{family.title}: {name}"


def test_the_page_of_errors_says_what_is_refused() -> None:
    """docs/reference/errors.md: the console's status codes are all there, commands exist, and what servers say is what
    they say."""
    page = (DOCS / "reference" / "errors.md").read_text()
    sources = {one: one.read_text() for one in (ROOT / "src" / "weft").rglob("*.py")}
    console = "".join(text for one, text in sources.items() if one.parent.name == "console")
    given = set(re.findall(r"\b(?:Problem|Refused|RunError|problem)\(\s*([45]\d\d)\b", console)) - {"500"}
    shown = _sections(page)["What the console refuses"]
    assert given <= set(re.findall(r"\b([45]\d\d)\b", shown)), given
    told = _sections(page)["Exit codes"]
    assert set(re.findall(r"`weft (\w+)", told)) <= set(COMMANDS)
    for refusal in (
        "a password on a connection without TLS can be read by others",
        "this server has no password file",
    ):
        assert refusal in page
        assert any(refusal in text for text in sources.values()), refusal


def test_one_error_or_service_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """`weft errors NAME`: of an exception all that is known, of a service what it raises; else what is near."""
    assert main(["errors", "InvalidLookahead"]) == 0
    assert "Raised by enable_time_regulation, modify_lookahead." in capsys.readouterr().out
    assert main(["errors", "retract", "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)} == set(errors_of("retract"))
    assert main(["errors", "InvalidCredentials"]) == 0
    assert "See TLS and passwords (docs/how-to/tls.md)." in " ".join(capsys.readouterr().out.split())
    assert main(["errors", "retrakt"]) == 2
    assert "is it retract?" in capsys.readouterr().err
    assert main(["errors", "retract", "--markdown"]) == 2


def test_errors_name_services_that_there_are() -> None:
    """What to do, in a docstring, is to call something: under the name that it has."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.RTIexception):
            for name in re.findall(r"`([a-z_]+)`", kind.__doc__ or ""):
                assert hasattr(RTIambassador, name) or hasattr(FederateAmbassador, name), (
                    f"{kind.__name__}: {name}"
                )


def test_the_page_of_rows_is_complete() -> None:
    text = reference.all_rows()
    for column in schema.COLUMNS:
        assert f"| `{column.name}` | {column.type} | {column.meaning} |" in text
    for kind, meaning in schema.KINDS.items():
        assert f"| `{kind}` | {meaning} |" in text


def test_generated_parts_have_a_place_each() -> None:
    """What is made is shown, once; what is asked for is made."""
    asked = [
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"^<!-- generated: (\w+) -->$", page.read_text(), re.M)
    ]
    assert sorted(asked) == sorted(reference.PAGES)
    with pytest.raises(KeyError):
        pages.fill("<!-- generated: nothing -->")


def test_the_side_bar_follows_the_index() -> None:
    """Each heading with pages below it is a part, in the order of the index."""
    text = "# T\n\n## One\n\n* [A](one/a.md): x\n2. [B, b](b.md)\n\n## None\n\ntext [C](c.md)\n\n## Two\n\n* [D](d.md)\n"
    made = pages.tree(text)
    assert re.findall(r":caption: (.*)", made) == ["One", "Two"]
    assert re.findall(r"^(.*) <(.*)>$", made, re.M) == [("A", "one/a"), ("B, b", "b"), ("D", "d")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it: every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(folder / "doctrees"),
        str(DOCS),
    ]
    done = subprocess.run([*command, str(folder / "site")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.mark.soak
def test_nothing_in_the_site_comes_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture has an address; links to other files of the site lead to one."""
    found = list(site.rglob("*.html"))
    assert len(found) > 40
    for page in found:
        text = page.read_text()
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", tag), f"{page.name}: {tag}"
        for target in re.findall(r'href="([^"#?:]+)["#?]', text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", style.read_text()), style.name


@pytest.mark.soak
@pytest.mark.skipif(find_browser() is None, reason=WHY_NOT)
@pytest.mark.parametrize("dark", [False, True])
def test_the_site_from_the_disk(site: Path, tmp_path: Path, dark: bool) -> None:
    """Opened as a file, light and dark, 1280 wide: nothing is fetched, nothing complains, nothing is wider; the search finds."""
    with Browser(str(find_browser()), tmp_path, (1280, 900), dark) as browser:
        for name in (
            "index",
            "tutorials/start",
            "tutorials/federate",
            "reference/commands",
            "reference/settings",
            "reference/exceptions",
            "papers",
            "benchmarks",
        ):
            browser.open(site / f"{name}.html")
            assert browser.ask("document.documentElement.scrollWidth") <= 1280, name
        ground = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", str(ground))[:3])) < 200) is dark
        _search(browser, site, "lookahead", "Logical time")
        assert not [asked for asked in browser.asked if not asked.startswith(("file:", "data:"))]
        assert not browser.complaints


def _search(browser: Browser, site: Path, word: str, page: str) -> None:
    """Pages are listed one after the other, so this waits for the one that is looked for."""
    browser.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q={word}")
    browser.wait_for(f"document.querySelector('#search-results')?.innerText.includes('{page}')")
