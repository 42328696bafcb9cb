"""A real S3 endpoint on loopback, for tests: moto in server mode, a process of its own, so that Spark's workers reach it, too."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from weft.host.storage import Place

PATIENCE = 120.0  # seconds for it to start on a busy machine
_SERVE = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


class ObjectStore(NamedTuple):
    port: int

    def address(self, path: str) -> str:
        """Of bucket and path, as `weft.host.storage.place_of` takes it."""
        return f"s3://{path}?endpoint_override=127.0.0.1:{self.port}&scheme=http&region=us-east-1"


@contextlib.contextmanager
def object_store(bucket: str = "lake") -> Iterator[ObjectStore]:
    """It has one bucket; whoever asks needs the environment of `credentials`."""
    process = subprocess.Popen([sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the S3 endpoint did not start"
        store = ObjectStore(int(line))
        _make_bucket(store, bucket)
        yield store
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close() if process.stdin is not None else None
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _make_bucket(store: ObjectStore, bucket: str) -> None:
    """By plain HTTP: Arrow makes no buckets unless told to."""
    import urllib.request

    asked = urllib.request.Request(f"http://127.0.0.1:{store.port}/{bucket}", method="PUT")
    asked.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=weft/20260101/us-east-1/s3/aws4_request")
    with urllib.request.urlopen(asked, timeout=PATIENCE):
        pass


def credentials() -> dict[str, str]:
    """For the environment of whoever reads or writes there."""
    return {"AWS_ACCESS_KEY_ID": "weft", "AWS_SECRET_ACCESS_KEY": "weft", "AWS_EC2_METADATA_DISABLED": "true"}


def set_credentials() -> None:
    os.environ.update(credentials())


@contextlib.contextmanager
def reachable_store() -> Iterator[ObjectStore]:
    """With the credentials in the environment, as commands and Spark's workers look for them."""
    with pytest.MonkeyPatch.context() as patch, object_store() as made:
        for name, value in credentials().items():
            patch.setenv(name, value)
        yield made


def stored(folder: Path, place: Place) -> Place:
    """A copy of all files of a folder, there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            (place / path.relative_to(folder).as_posix()).write(path.read_bytes())
    return place
