"""docs/glossary.md: few words, each once, and each in use in the source."""

from __future__ import annotations

import re
from functools import cache

import pytest

from support import documents

MOST = 60
WORDS = re.findall(
    r"^\| (?!word \|)([^|]+) \| [^|]+ \| \[[^|]+\)\s\|$",
    (documents.ROOT / "docs" / "glossary.md").read_text(),
    re.M,
)


@cache
def _source() -> str:
    """All words of the source, in small letters: `EventChannel` and `event_channel` are "event channel"."""
    text = "\n".join(one.read_text() for one in sorted((documents.ROOT / "src" / "weft").rglob("*.py")))
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)
    return re.sub(r"\s+", " ", split).lower()


def test_the_glossary_is_short() -> None:
    text = (documents.ROOT / "docs" / "glossary.md").read_text()
    assert len(WORDS) == len(re.findall(r"^\|(?!---|\s*word \|)", text, re.M)), "a row of another form"
    assert 30 < len(WORDS) <= MOST
    assert len(set(WORDS)) == len(WORDS), "one word, one meaning"


@pytest.mark.parametrize("word", WORDS)
def test_the_source_uses_the_word(word: str) -> None:
    plural = re.sub(r"y$", "(?:y|ies)", word)
    assert re.search(rf"\b{plural}(?:s|es)?\b", _source()), f"{word} is in no source file"
