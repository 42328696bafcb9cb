"""What somebody reads whose federate does not reach its RTI: what is probably wrong, and what to do."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import weft
from host.server.test_serving import _certificate, _free_port
from support.server_in_thread import eventually, serving
from weft import CallbackModel, FederateAmbassador, RTIambassador, RtiConfiguration
from weft.cli.data import object_model
from weft.host.settings import ServeSettings
from weft.model.errors import ConnectionFailed


def refusal(address: str, settings: str = "FedPro.tls.mode=ENCRYPTED") -> str:
    rti = RTIambassador()
    limited = f"{settings},FedPro.connect.timeout=1"
    with pytest.raises(ConnectionFailed) as caught:
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED, RtiConfiguration("", address, limited))
    return str(caught.value)


def test_nobody_is_there() -> None:
    """Is `weft serve` running, and at which port?"""
    port = _free_port()
    said = refusal(f"127.0.0.1:{port}")
    assert f"tcp://127.0.0.1:{port}" in said
    assert "Is `weft serve` running, and at this port (15164 for tcp" in said
    assert "check the name of the host" in refusal("nowhere.invalid:1")


def test_the_wrong_protocol_for_the_port(tmp_path: Path) -> None:
    """Clear text to a TLS port and the reverse, and WebSockets: what to connect to instead is named."""
    cert, key = _certificate(tmp_path)
    serve = ServeSettings(
        ws_port=_free_port(), tls_port=_free_port(), wss_port=_free_port(), cert=cert, key=key
    )
    with serving(serve=serve, greeting_seconds=2.0) as server:
        ports = server.ports
        assert f"tls://127.0.0.1:{ports['tls']}" in refusal(f"127.0.0.1:{ports['tls']}")
        assert f"ws://127.0.0.1:{ports['ws']}" in refusal(f"127.0.0.1:{ports['ws']}")
        assert f"tcp://127.0.0.1:{ports['tcp']}" in refusal(f"tls://127.0.0.1:{ports['tcp']}")
        assert f"wss://127.0.0.1:{ports['wss']}" in refusal(f"tls://127.0.0.1:{ports['wss']}")
        assert "--ws-port" in refusal(f"ws://127.0.0.1:{ports['tcp']}")
        assert f"wss://127.0.0.1:{ports['wss']}" in refusal(f"ws://127.0.0.1:{ports['wss']}")
        assert f"ws://127.0.0.1:{ports['ws']}" in refusal(f"wss://127.0.0.1:{ports['ws']}")
        unknown = refusal(f"tls://localhost:{ports['tls']}", "")
        assert "not from an authority that is trusted here" in unknown
        assert "FedPro.keystore.path=" in unknown


def test_a_server_that_starts_later_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """The order of starting does not matter: `join` says what it waits for, and joins when it is there."""
    port = _free_port()
    joined: list[str] = []

    def take_part() -> None:
        with weft.join("F", "early", fom=object_model("range.xml"), rti=f"127.0.0.1:{port}", wait=60.0) as me:
            joined.append(me.name)

    with caplog.at_level(logging.WARNING, "weft"):
        thread = threading.Thread(target=take_part)
        thread.start()
        assert eventually(
            lambda: any("waiting 60 s for the RTI" in one.getMessage() for one in caplog.records)
        )
        with serving(port=port):
            thread.join(60.0)
    assert joined == ["early"]


def test_a_server_that_never_comes_is_not_waited_for_longer() -> None:
    with pytest.raises(ConnectionFailed, match="Is `weft serve` running"):
        weft.join("F", fom=object_model("range.xml"), rti=f"127.0.0.1:{_free_port()}", wait=0.0).join()


def test_the_command_is_also_a_module_and_the_errors_are_one() -> None:
    """`python -m weft`, and `from weft.errors import …` with every exception of the standard."""
    found = subprocess.run(
        [sys.executable, "-m", "weft", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout == f"weft {weft.__version__}\n"
    code = "from weft.errors import NameNotFound, RTIexception; import weft; assert weft.errors.NameNotFound is NameNotFound"
    subprocess.run([sys.executable, "-c", code], check=True)
    from weft import errors
    from weft.model import errors as all_errors

    kinds = {name for name, kind in vars(all_errors).items() if isinstance(kind, type)}
    assert kinds == set(errors.__all__)
