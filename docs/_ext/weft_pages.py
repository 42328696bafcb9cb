"""What the site has and the files in docs/ have not: the tree of pages, and reference that follows from the code.

* The tree: each heading of docs/index.md with a list of links below it is a part of the side bar.  So there is one list of
  pages, and it can be read anywhere.
* Reference: a line `<!-- generated: NAME -->` in a page is where the text made by `weft_reference.PAGES[NAME]` goes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import weft_reference

_PLACE = re.compile(r"^<!-- generated: (\w+) -->$", re.M)
_LINK = re.compile(r"^(?:[*-]|\d+\.) \[([^\]]+)\]\((?!https?:)([^)#]+)\.md\)", re.M)


def tree(index: str) -> str:
    """Hidden tables of contents, one for each heading of the index that has a list of pages."""
    text = []
    for part in re.split(r"^## ", index, flags=re.M)[1:]:
        caption, _, rest = part.partition("\n")
        pages = "".join(f"{title} <{page}>\n" for title, page in _LINK.findall(rest))
        if pages:
            text.append(f"\n```{{toctree}}\n:hidden:\n:caption: {caption.strip()}\n\n{pages}```\n")
    return "".join(text)


def fill(text: str) -> str:
    """With the generated parts in their places; a name that nobody makes is a KeyError."""
    return _PLACE.sub(lambda found: weft_reference.PAGES[found[1]](), text)


def on_source(app: Any, name: str, source: list[str]) -> None:
    source[0] = fill(source[0])
    if name == "index":
        source[0] += tree(source[0])


def setup(app: Any) -> dict[str, Any]:
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
    app.connect("source-read", on_source)
    # Generated parts change with the code, of which Sphinx knows nothing: such pages are read anew each time.
    app.connect(
        "env-get-outdated",
        lambda app, env, *changes: [
            name for name in env.found_docs if _PLACE.search(Path(env.doc2path(name)).read_text())
        ],
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
