"""The documentation is true: what it shows is what happens.

In the documents listed below every block after "Save this as `name`" is that file, and every console block is a command with its
output, to the letter; where a command is shown without output, it has to succeed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?:as `(?P<name>[\w.]+)`[^`]*)?```(?P<language>\w+)\n(?P<text>.*?)```", re.S)


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "document, shown",
    [
        ("tutorial.md", (4, 4)),
        ("domains.md", (2, 5)),
        ("agents.md", (2, 2)),
        ("ddm-services.md", (5, 3)),
        ("ddm.md", (5, 3)),
        ("channel.md", (4, 2)),
        ("realtime.md", (4, 2)),
        ("timeline.md", (1, 3)),
        ("urgency.md", (1, 1)),
        ("steering.md", (1, 1)),
    ],
)
def test_a_document_word_for_word(document: str, shown: tuple[int, int], tmp_path: Path) -> None:
    """A stranger's federate: the document's files and commands, as they stand there."""
    text = (ROOT / "docs" / document).read_text()
    files = commands = 0
    for block in BLOCK.finditer(text):
        if block["language"] == "console":
            command, _, expected = block["text"].removeprefix("$ ").partition("\n")
            done = _run(command, tmp_path)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            assert not expected or done.stdout == expected, command
            commands += 1
        else:
            assert block["name"], f"a block without a file name:\n{block['text'][:200]}"
            (tmp_path / block["name"]).write_text(block["text"])
            files += 1
    assert (files, commands) == shown


def test_links_between_documents_lead_somewhere() -> None:
    """No dead links in the README and docs/."""
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_list_of_services_is_true() -> None:
    """docs/services.md lists every service with its clause."""
    from weft.cli.services import all_services, markdown

    assert (ROOT / "docs" / "services.md").read_text() == markdown(all_services()), "run: make docs"


@pytest.mark.parametrize("word", re.findall(r"make (\w+)$", (ROOT / "README.md").read_text(), re.M))
def test_the_readme_names_commands_that_exist(word: str) -> None:
    """Every `make …` of the README is a target."""
    assert re.search(rf"^{word}:", (ROOT / "Makefile").read_text(), re.M)


HARBOUR = re.search(r"```xml\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(), re.S)


@pytest.mark.parametrize(
    "document", ["README.md", "docs/object-models.md", "docs/simulation-testing.md", "docs/ddm-sync.md"]
)
def test_examples_in_the_documents_run(document: str, tmp_path: Path) -> None:
    """Every Python block, with the tutorial's object model at hand."""
    assert HARBOUR is not None
    (tmp_path / "harbour.xml").write_text(HARBOUR[1])
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S)
    assert blocks
    for block in blocks:
        (tmp_path / "example.py").write_text(block)
        done = _run("python example.py", tmp_path)
        assert done.returncode == 0, done.stderr
