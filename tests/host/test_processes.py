"""Is a process that wrote something still there?"""

from __future__ import annotations

import os
import subprocess
import sys

from weft.host.processes import ProcessInfo, is_alive, this_process


def test_this_process_is_there() -> None:
    assert is_alive(this_process())


def test_a_number_that_is_used_again_is_another_process() -> None:
    if this_process()["started"] is not None:
        assert is_alive({**this_process(), "started": 1}) is False


def test_what_has_ended_is_not() -> None:
    """Also before its parent has looked."""
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    told: ProcessInfo = {**this_process(), "pid": child.pid, "started": None}
    if this_process()["started"] is not None:
        assert is_alive(told) is False
    child.wait()
    assert is_alive(told) is False


def test_of_another_machine_nothing_is_known() -> None:
    assert is_alive({**this_process(), "host": "elsewhere"}) is None
    assert is_alive({}) is None
