"""What tests of the console's pages see and do in a browser, and what they ask of it in JavaScript."""

from __future__ import annotations

import json
from typing import Any

from support.browser import Browser
from support.console_page_server import Stage


class Screen:
    """A person before the console."""

    def __init__(self, browser: Browser, stage: Stage) -> None:
        self.browser = browser
        self.stage = stage
        self.visits = 0

    def visit(self, place: str, picture: dict[str, Any] | None = None) -> None:
        if picture is not None:
            self.stage.show(picture)
        self.visits += 1
        self.browser.call("Page.navigate", url=f"{self.stage.url}?{self.visits}#/{place}")
        self.browser.wait_for("Number(document.getElementById('content')?.dataset.draws) > 0")

    def go(self, place: str) -> None:
        """As by a link: the page stays, what it shows changes."""
        if self.browser.ask("location.hash") == f"#/{place}":
            return
        before = self.draws()
        self.browser.ask(f"void (location.hash = {json.dumps('#/' + place)})")
        self.browser.wait_for(f"Number(document.getElementById('content').dataset.draws) > {before}")

    def draws(self) -> int:
        found: int = self.browser.ask("Number(document.getElementById('content').dataset.draws)")
        return found

    def text(self, selector: str) -> str:
        """What one can read there."""
        found: str = self.browser.ask(f"document.querySelector({json.dumps(selector)}).textContent")
        return found

    def reads(self, selector: str, words: str) -> None:
        """Waits until it can be read there."""
        self.browser.wait_for(
            f"(document.querySelector({json.dumps(selector)})?.textContent ?? '').includes({json.dumps(words)})"
        )

    def has(self, selector: str) -> int:
        found: int = self.browser.ask(f"document.querySelectorAll({json.dumps(selector)}).length")
        return found


COLOURS = """(() => {
  const canvas = document.querySelector("canvas");
  const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let at = 0; at < all.length; at += 4) if (all[at + 3] === 255) seen.add(all.slice(at, at + 3).join(" "));
  return [...seen];
})()"""
"""All colours of the time line."""

PAUSES = """import("/static/link.js").then(({ Link }) => {
  const real = [WebSocket, setTimeout, fetch];
  const found = [];
  let again;
  class Dead { addEventListener(name, does) { this[name] = does; } }
  window.WebSocket = Dead;
  window.setTimeout = (does, pause) => { found.push(pause); again = does; };
  window.fetch = async () => ({ status: 200 });
  try {
    const link = new Link({ changed() {}, state() {} });
    for (let at = 0; at < 8; at++) { link.socket.close(); again(); }
  } finally {
    [window.WebSocket, window.setTimeout, window.fetch] = real;
  }
  return found;
})"""
"""How long a link pauses between tries, when none succeeds."""

CONTRAST = """(() => {
  const linear = (one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((one) => linear(one / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
  };
  const left = "svg, [hidden], :disabled, option, .js-plotly-plot, .skip";
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
    if (!own || element.closest(left) || !element.getClientRects().length) continue;
    const both = [light(getComputedStyle(element).color), light(ground(element))].sort((one, other) => other - one);
    const contrast = (both[0] + 0.05) / (both[1] + 0.05);
    if (contrast < 4.5) found.push([element.className, element.textContent.slice(0, 30), contrast]);
  }
  return found;
})()"""
"""Letters that stand out too little from their ground, by WCAG."""

RFC_EXAMPLES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
"""RFC 7396, appendix A: target, patch, result."""
