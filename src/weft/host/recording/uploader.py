"""The process that uploads what is recorded to a store, and the one that has it do so.

It is a process of its own with little precedence: neither a slow network nor what it takes to speak to a store is in the way of
federates, and what went to the spool is safe whatever becomes of either process.  It looks for what is new every second.  A store
that does not answer is told once and tried again, each time later.

    input     nothing; when it ends, so does the process, once all that was written by then is in the store
    output    a line of JSON each time that the store fails (`why`), or works again (`why` is null)
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from weft.host.recording.spool import Left, clear_up, goes_to, left_in, open_spool, runs_in, uploading
from weft.host.storage import Place, place_of
from weft.model.log_text import ERROR, WARNING, LogText

if TYPE_CHECKING:
    from weft.host.recording.upload import Uploads

PATIENCE = 30.0  # seconds for what is left when a recording ends
_NICE = 10
_TURN = 1.0  # seconds from one look to the next …
_SHARE = 20  # … or so many times as long as a look takes
_RETRY, _RETRY_MOST, _RETRY_OVER = 1.0, 60.0, 5.0
_TELL = 5.0  # seconds from one line about progress to the next
_START = "import sys; sys.path.append(sys.argv[1]); from weft.host.recording.uploader import serve; serve()"


class Uploader:
    """In the process that records."""

    def __init__(
        self,
        place: Place,
        spool: Path,
        report: Callable[[str], None],
        keep: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        """`patience`: seconds that `close` may take.  Raises OSError where there can be no spool."""
        self.place = place
        self.folder = open_spool(spool, place)
        self._report = report
        self._keep = keep
        self._patience = patience
        self._closing = threading.Event()
        self._lock = threading.Lock()  # of the process, where it is replaced
        self._process = self._start()
        self._thread = threading.Thread(target=self._listen, name="weft uploader", daemon=True)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parents[3])
        # -P: a file in the working directory is not taken for a module.
        command = [
            sys.executable,
            "-P",
            "-c",
            _START,
            root,
            str(self.folder),
            str(int(self._keep)),
            str(self._patience),
        ]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _listen(self) -> None:
        """Should it die, another one goes on."""
        wait = _RETRY
        while True:
            process = self._process
            assert process.stdout is not None
            for line in process.stdout:
                self._tell(json.loads(line)["why"])
            if self._closing.wait(wait):
                return
            wait = min(2 * wait, _RETRY_MOST)
            with self._lock:
                if self._closing.is_set():
                    return
                _end(process)
                self._process = self._start()

    def _tell(self, why: str | None) -> None:
        if why is None:
            text = f"recording: uploading to {self.place} goes on"
            self._report(LogText(text, "uploading-goes-on"))
            return
        text = (
            f"recording: nothing can be uploaded to {self.place}: {why}; it stays in {self.folder} and is tried again, "
            "and the federation goes on"
        )
        self._report(LogText(text, "uploading-failed", ERROR))

    def close(self) -> None:
        """Wait for what is left, for a while, and say what still is then."""
        before = time.time()
        deadline = time.monotonic() + self._patience
        with self._lock:
            self._closing.set()
            process = self._process
        if process.poll() is not None:
            self._thread.join()
            _end(process)
            process = self._start()
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        while (rest := deadline - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(_TELL, rest))
                break
            left = left_in(self.folder, before)
            text = f"recording: uploading to {self.place}: {_many(left)} left"
            self._report(LogText(text, "uploading"))
        process.kill()
        self._thread.join()
        _end(process)
        left = left_in(self.folder, before)
        if left.files:
            text = (
                f"recording: {_many(left)} are not in {self.place} yet; they are in {self.folder}. The next recording to the "
                f"same place uploads them, and so does: weft runs upload {self.folder}"
            )
            self._report(LogText(text, "uploading-unfinished", WARNING))


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _many(left: Left) -> str:
    return f"{left.files:,} {'file' if left.files == 1 else 'files'} ({left.bytes / 1e6:,.1f} MB)"


# The process


def serve() -> None:
    """Signals are for the one that started it, which then ends the input."""
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)  # whoever prints does not answer
    if hasattr(os, "nice"):
        os.nice(_NICE)
    folder, keep, patience = Path(sys.argv[2]), sys.argv[3] == "1", float(sys.argv[4])
    with contextlib.suppress(BrokenPipeError):
        _Serving(folder, keep, patience, lambda why: print(json.dumps({"why": why}), file=answers)).run()


class _Serving:
    def __init__(self, folder: Path, keep: bool, patience: float, tell: Callable[[str | None], None]) -> None:
        self._folder = folder
        self._keep = keep
        self._patience = patience
        self._tell = tell
        self._ended: float | None = None  # when the input had (Unix time)
        self._failing = False
        self._worked = 0.0  # when the store has last taken something, or was to be waited for

    def run(self) -> None:
        while self._ended is None:
            with uploading(self._folder) as mine:
                if mine:
                    self._upload()
                elif self._is_over(_TURN):
                    self._wait_for_other()

    def _is_over(self, seconds: float) -> bool:
        """Wait so long, or until the input ends."""
        if self._ended is None and select.select([0], [], [], seconds)[0]:
            self._ended = time.time()
        return self._ended is not None

    def _wait_for_other(self) -> None:
        """Another process uploads: everything of ours, too, or this one does so when the other has ended."""
        deadline = time.monotonic() + self._patience
        while left_in(self._folder, self._ended or 0.0).files and time.monotonic() < deadline:
            with uploading(self._folder) as mine:
                if mine:
                    self._upload()
                    return
            time.sleep(_TURN)

    def _upload(self) -> None:
        """Until there is nothing more to be done, or the store has not answered for too long."""
        uploads: Uploads | None = None
        retry = _RETRY
        self._worked = time.monotonic()
        while True:
            over = self._ended is not None
            began = time.monotonic()
            try:
                if uploads is None:
                    uploads = self._uploads()
                uploads.turn(everything=over)
            except Exception as error:  # each kind of store has errors of its own
                self._fails(error)
                if over and time.monotonic() - self._worked > self._patience:
                    return
                self._rest(min(retry, _RETRY_OVER) if over else retry)
                retry = min(2 * retry, _RETRY_MOST)
                continue
            if over:
                return
            retry = _RETRY
            self._rest(max(_TURN, _SHARE * (time.monotonic() - began)))

    def _uploads(self) -> Uploads:
        from weft.host.recording.upload import Uploads

        clear_up(self._folder)
        place = place_of(goes_to(self._folder))
        return Uploads(lambda: runs_in(self._folder), place, self._keep, told=self._works)

    def _rest(self, seconds: float) -> None:
        """Or until the input ends."""
        if self._ended is not None:
            time.sleep(seconds)
        elif self._is_over(seconds):
            self._worked = time.monotonic()

    def _works(self, file: str) -> None:
        self._worked = time.monotonic()
        if self._failing:
            self._failing = False
            self._tell(None)

    def _fails(self, error: Exception) -> None:
        if not self._failing:
            self._failing = True
            why = str(error).strip() or type(error).__name__
            self._tell(why.splitlines()[0])
