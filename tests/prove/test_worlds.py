"""The same random calls in every world: the same results, exceptions and callbacks; and what was recorded is clean."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from weft.federate import RTIambassador
from weft.federate.awaited import Awaited
from weft.prove import (
    IN_TURN,
    AtServer,
    Campaign,
    CampaignOutcome,
    MakeWorld,
    MeshedServers,
    OwnNodes,
    ServerCertificate,
    Simulated,
    proving_model,
    read_script,
    words_of,
)

WORDS = words_of([proving_model()])
SEEDS = Path(__file__).parent / "seeds"
KINDS = ["server", "async", "judged", "websocket", "tls", "mesh", "mesh-async", "nodes", "simulated"]
FEW = ("mesh", "mesh-async")  # three servers take their time


class _Judged(RTIambassador):
    """As a client written by others: it refuses no call by what it knows to be pending, the RTI does."""

    def _pending(self) -> Awaited:
        return Awaited()


class JudgedByTheServer(AtServer):
    def __init__(self, record: Path | None = None) -> None:
        super().__init__(record=record)
        self.name = "server, whose clients judge nothing"

    def ambassador(self, federate: int) -> RTIambassador:
        return _Judged()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return ServerCertificate(str(cert), str(key))


def maker(kind: str, certificate: ServerCertificate) -> MakeWorld:
    made: dict[str, MakeWorld] = {
        "server": lambda record: AtServer(record=record),
        "async": lambda record: AtServer(waits=False, record=record),
        "judged": JudgedByTheServer,
        "websocket": lambda record: AtServer("ws", record=record),
        "tls": lambda record: AtServer("tls", record=record, certificate=certificate),
        "mesh": lambda record: MeshedServers(record=record),
        "mesh-async": lambda record: MeshedServers(False, record),
        "nodes": OwnNodes,
        "simulated": Simulated,
    }
    return made[kind]


def told(outcome: CampaignOutcome) -> str:
    return "\n\n".join(
        f"seed {one.seed}, {one.world}: {one.what}\n{one.script}" for one in outcome.findings[:3]
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_world_agrees_with_the_embedded_node(kind: str, certificate: ServerCertificate) -> None:
    """Items 2.1, 2.2: also after a save and a restore in the middle; no RTIinternalError, no hang; what is recorded is clean."""
    seeds = range(1, 4 if kind in FEW else 6)
    outcome = Campaign(WORDS, [maker(kind, certificate)], 90).run(seeds)
    assert outcome.proven, told(outcome)
    assert outcome.callbacks > 200
    assert outcome.restored > len(seeds) // 2
    assert outcome.runs > len(seeds)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kind",
    [
        "server",
        pytest.param("nodes", marks=pytest.mark.soak),
        pytest.param("simulated", marks=pytest.mark.soak),
    ],
)
def test_worlds_agree_on_calls_as_of_a_time(kind: str, certificate: ServerCertificate) -> None:
    """Declarations and regions as of a time: the same in every world, and after a save and a restore.

    Most such calls are carried out, or it would say little.
    """
    outcome = Campaign(WORDS, [maker(kind, certificate)], 120, declarations=IN_TURN).run(range(15, 24))
    assert outcome.proven, told(outcome)
    assert outcome.restored > 5
    assert outcome.as_of > outcome.as_of_refused > 0


def test_without_the_setting_no_call_is_as_of_a_time() -> None:
    """By seed the settings come in turn; the first of three is none."""
    campaign = Campaign(WORDS, [], 60, record=False, declarations=IN_TURN)
    assert campaign.run([3, 6]).as_of == 0
    assert campaign.run([4, 5]).as_of > 0
    assert campaign.outcome.proven, told(campaign.outcome)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["server", "async", "judged", "simulated"])
def test_what_once_failed_does_not(kind: str, certificate: ServerCertificate) -> None:
    """Each of these scripts showed a defect when it was found, told at its head."""
    scripts = [read_script(path.read_text(), path.name) for path in sorted(SEEDS.glob("*.jsonl"))]
    outcome = Campaign(WORDS, [maker(kind, certificate)]).replay(*scripts)
    assert outcome.seeds == len(scripts) > 30
    assert outcome.proven, told(outcome)


@pytest.mark.parametrize("seed", [2077700155])
def test_what_a_save_in_the_middle_once_changed(seed: int, certificate: ServerCertificate) -> None:
    """A message as of a time had been sent before somebody subscribed, and a region moved there after the restore."""
    outcome = Campaign(WORDS, [maker("server", certificate)], 150, record=False, declarations=IN_TURN).run(
        [seed]
    )
    assert outcome.proven, told(outcome)
    assert outcome.restored == 1


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_many_seeds(kind: str, certificate: ServerCertificate) -> None:
    """Item 2.2: as many as five minutes allow, from other seeds on each day, which are told if they fail."""
    deadline = time.monotonic() + 300
    first = int(time.time() // 86400) * 100_000
    campaign = Campaign(WORDS, [maker(kind, certificate)], 150, declarations=IN_TURN)
    while time.monotonic() < deadline:
        campaign.run(range(first, first + 10))
        first += 10
    figures = {name: value for name, value in campaign.outcome.plain().items() if name != "findings"}
    print(f"{kind}, from seed {first - campaign.outcome.seeds}: {figures}")
    assert campaign.outcome.proven, told(campaign.outcome)
