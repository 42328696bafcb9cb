"""The journal: what is committed is there again, all of it or nothing, and alien files are refused (S1-7, S1-8)."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.fabric import Changes, Channel, Packet, Saved, Topology, encode_packet, encode_stamp
from weft.host.carrier import Port
from weft.host.mesh.journal import Journal
from weft.model.errors import FabricError

TOPOLOGY = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
FINGERPRINT = TOPOLOGY.fingerprint
PORT = Port.AGENTS


def _open(path: Path, **more: str) -> Journal:
    return Journal(path, "S1", more.get("fingerprint", FINGERPRINT))


def _plain(saved: Saved) -> tuple[object, ...]:
    return (
        saved.clocks,
        saved.told,
        saved.cells,
        saved.missing,
        {key: encode_packet(packet) for key, packet in saved.out.items()},
        {key: encode_packet(packet) for key, packet in saved.waiting.items()},
        saved.inbox,
    )


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["send", "receive", "commit", "reopen", "consume", "keep"])),
    max_size=40,
)


@settings(max_examples=40)
@given(STEPS)
def test_a_journal_on_disk_is_the_journal_in_memory(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """Oracle: `Saved.apply`.  The channel of S2 between S1 and S3, its batches written to both."""
    path = tmp_path_factory.mktemp("journal") / "S2.journal"
    journal = Journal(path, "S2", FINGERPRINT)
    memory = Saved(FINGERPRINT)
    kept: dict[str, bytes] = {}
    here = Channel(TOPOLOGY, 1)
    there = Channel(TOPOLOGY, 0)
    for number, (place, step) in enumerate(steps):
        if step == "send":
            here.send([place], b"payload %d" % number)
        elif step == "receive":
            there.send([1 + place % 2], b"from S1")
            for one in there.take_batch().transmit:
                here.receive(0, one.packet)
        elif step == "consume":
            for delivery in here.take_deliveries():
                here.consumed(delivery.number)
        elif step == "keep":
            kept[f"key{place}"] = b"%d" % number
        elif step == "commit":
            changes = here.take_batch().changes
            memory.apply(changes)
            journal.commit({PORT: changes}, kept)
        else:
            journal.close()
            journal = Journal(path, "S2", FINGERPRINT)
            here = Channel(TOPOLOGY, 1, memory)
            kept = journal.kept("")
        assert _plain(journal.saved(PORT)) == _plain(memory)
    journal.close()


def test_each_channel_has_rows_of_its_own(tmp_path: Path) -> None:
    """The same keys in both, and what is missing of a lost server in one."""
    journal = _open(tmp_path / "j")
    written: dict[int, Saved] = {}
    changed: dict[int, Changes] = {}
    for port in Port:
        channel = Channel(Topology(("S1", "S2", "S3"), {"A": ("S1", "S2", "S3")}), 0)
        channel.send([1, 0], b"of port %d" % port)
        tells = encode_stamp(1, [2 * 3], [5 + port])  # S3 has sent us so many, says S2
        channel.receive(1, Packet(0, 1, [0], 1, tells, b""))
        if port == Port.FEDERATIONS:
            channel.lost(2)
        changed[port] = channel.take_batch().changes
        written[port] = Saved(FINGERPRINT)
        written[port].apply(changed[port])
    journal.commit(changed)
    for port in Port:
        assert _plain(journal.saved(port)) == _plain(written[port])
    assert journal.saved(Port.FEDERATIONS).missing == {(0, 2): 6}
    assert journal.saved(Port.AGENTS).missing == {}
    assert list(journal.saved(Port.AGENTS).waiting) == [(0, 1, 1)]
    journal.close()


def test_kept_values_by_prefix(tmp_path: Path) -> None:
    journal = _open(tmp_path / "j")
    journal.commit({}, {"a/2": b"2", "a/1": b"1", "b/1": b"x", "a_": b"no", "a%": b"no"})
    journal.commit({}, {"b/1": None})
    journal.close()
    journal = _open(tmp_path / "j")
    assert list(journal.kept("a/").items()) == [("a/1", b"1"), ("a/2", b"2")]
    assert list(journal.kept("")) == ["a%", "a/1", "a/2", "a_"]
    journal.close()


def test_a_failed_commit_leaves_nothing(tmp_path: Path) -> None:
    """One transaction: a row that cannot be written takes the others with it, and the error names the file."""
    journal = _open(tmp_path / "j")
    changes = Changes(FINGERPRINT)
    changes.out[0, 1, 1] = Packet(0, 0, [1], 1, b"\x01\x00", b"whole")
    changes.inbox[1] = (0, {"no": "bytes"})
    with pytest.raises(FabricError, match=r"j: the journal cannot be written"):
        journal.commit({PORT: changes}, {"key": b"value"})
    assert not journal.saved(PORT).out
    assert journal.kept("") == {}
    journal.close()


def test_two_processes_never_open_one_journal(tmp_path: Path) -> None:
    journal = _open(tmp_path / "j")
    code = (
        f"from weft.host.mesh.journal import Journal; Journal({str(tmp_path / 'j')!r}, 'S1', {FINGERPRINT!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "another process has this journal open; is node S1 running already?" in done.stderr
    journal.close()
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_killed_process_leaves_its_commits_and_no_lock(tmp_path: Path) -> None:
    """SIGKILL behind a commit and within the next: the first is there, of the second nothing."""
    code = (
        "import os, signal\n"
        "from weft.host.mesh.journal import Journal\n"
        f"journal = Journal({str(tmp_path / 'j')!r}, 'S1', {FINGERPRINT!r})\n"
        f"journal.commit({{}}, {{'first': b'1'}})\n"
        "journal._write_kept = lambda kept: (Journal._write_kept(journal, kept), os.kill(os.getpid(), signal.SIGKILL))\n"
        f"journal.commit({{}}, {{'second': b'2'}})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    journal = _open(tmp_path / "j")
    assert journal.kept("") == {"first": b"1"}
    journal.close()


def test_alien_newer_and_damaged_files_are_refused(tmp_path: Path) -> None:
    """The message names the file and says what to do; the file is left as it was."""
    alien = tmp_path / "alien"
    base = sqlite3.connect(alien)
    base.execute("CREATE TABLE theirs (x)")
    base.commit()
    base.close()
    with pytest.raises(FabricError, match="alien: this is a database, but no journal of Weft"):
        _open(alien)
    text = tmp_path / "text"
    text.write_text("no database at all, but longer than the header of one" * 40)
    with pytest.raises(FabricError, match="text: this is no journal, or a damaged one"):
        _open(text)
    newer = tmp_path / "newer"
    _open(newer).close()
    base = sqlite3.connect(newer)
    base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(FabricError, match="newer: the journal has version 99"):
        _open(newer)
    older = tmp_path / "older"
    _open(older).close()
    base = sqlite3.connect(older)
    base.execute("PRAGMA user_version = 1")  # one channel for federations and agents
    base.close()
    with pytest.raises(
        FabricError, match=r"version 1 and this Weft writes version 2; .* start with empty journals on all"
    ):
        _open(older)
    with pytest.raises(FabricError, match=r"cannot be opened|no journal"):
        _open(tmp_path)


def test_a_damaged_page_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = _open(path)
    journal.commit({}, {f"key{n}": os.urandom(500) for n in range(200)})
    journal.close()
    data = bytearray(path.read_bytes())
    data[-40_000:-30_000] = b"\xff" * 10_000
    path.write_bytes(data)
    with pytest.raises(FabricError, match="damaged"):
        _open(path)


def test_the_journal_of_another_node_or_other_domains_is_refused(tmp_path: Path) -> None:
    _open(tmp_path / "j").close()
    with pytest.raises(FabricError, match="this is the journal of S1, not of S2"):
        Journal(tmp_path / "j", "S2", FINGERPRINT)
    with pytest.raises(FabricError, match="written under other domains"):
        _open(tmp_path / "j", fingerprint="other")
    with pytest.raises(FabricError, match="NORMAL or FULL"):
        Journal(tmp_path / "k", "S1", FINGERPRINT, "OFF")


def test_full_is_a_setting(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "S1", FINGERPRINT, "FULL")
    assert journal._base.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal._base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    journal.close()
