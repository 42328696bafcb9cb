"""A real browser without a screen: Chromium, over the pipe of its debugging protocol, so that nothing has to be installed for it.

`WEFT_CHROMIUM` names the command; otherwise one of the usual names on the PATH is taken.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 240.0


def find_browser() -> str | None:
    named = os.environ.get("WEFT_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


WHY_NOT = f"no browser: none of {', '.join(NAMES)} is on the PATH (on Debian: apt install chromium), and WEFT_CHROMIUM names none"


_BETWEEN_PAGES = ("execution context", "Execution context", "navigated", "Promise was collected")


class NoPageYet(AssertionError):
    """The tab is between two pages: the old one is gone, and the new one cannot be asked yet."""


class Browser:
    """One page.  What goes wrong in it (errors of scripts, messages of the console) is in `complaints`."""

    def __init__(
        self, command: str, profile: Path, size: tuple[int, int] = (1200, 900), dark: bool = False
    ) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []
        """Addresses that the page asked for."""
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        arguments = [
            command, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe", "--hide-scrollbars",
            f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", "about:blank",
        ]  # fmt: skip
        # The browser reads commands from its file 3 and writes answers to its file 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *arguments],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self._loaded = False
        self._attach(self._pages()[0]["targetId"])
        width, height = size
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        if dark:
            self.call(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
            )

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._session = None
            self.call("Browser.close")  # and all its processes with it
            self._process.wait(PATIENCE)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._write)
            os.close(self._read)

    def _pages(self) -> list[dict[str, Any]]:
        return [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]

    def _attach(self, target: str) -> None:
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def turn_to(self, ending: str) -> None:
        """To the tab that a link has opened, by how its address ends."""
        self._session = None
        deadline = time.monotonic() + PATIENCE
        while not (found := [one for one in self._pages() if one["url"].endswith(ending)]):
            assert time.monotonic() < deadline, f"no tab has {ending}: {self._pages()}"
            time.sleep(0.01)  # between two looks at a condition
        self._attach(found[0]["targetId"])

    def call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    gone = any(words in answer["error"]["message"] for words in _BETWEEN_PAGES)
                    raise (NoPageYet if gone else AssertionError)(f"{method}: {answer['error']}")
                return answer["result"]
            self._heard(answer)

    def _next(self, deadline: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._read, 1 << 16) if ready else b""
            if not data:
                why = "was closed" if ready else f"did not answer {waiting_for} within {PATIENCE:g} s"
                raise AssertionError(f"the browser {why}; it ended with {self._process.poll()}")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _heard(self, event: dict[str, Any]) -> None:
        method, told = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"])[:2000])
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    # What a person does

    def open(self, path: Path) -> None:
        self._loaded = False
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + PATIENCE
        while not self._loaded:
            self._heard(self._next(deadline, "loading"))

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until it is true in the page; the page looks again whenever it draws."""
        look = f"({expression}) ? done(true) : requestAnimationFrame(look)"
        looks = f"new Promise(done => {{ const look = () => {look}; look(); }})"
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                assert self.ask(looks)
                return
            except NoPageYet:
                assert time.monotonic() < deadline, expression
                time.sleep(0.01)  # between two looks at a condition

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of the element, wherever that is then."""
        place = self.ask(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: 'center', "
            "behavior: 'instant'}); const box = one.getClientRects()[0]; "
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
            )

    def move_to(self, selector: str) -> None:
        place = self.ask(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
        if key == "Enter":
            self.call("Input.dispatchKeyEvent", type="char", text="\r")

    def picture(self, path: Path, whole: bool = False) -> None:
        """A screenshot as PNG, of what is seen or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
