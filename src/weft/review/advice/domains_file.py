"""The domains file of an advised topology: with the addresses, certificates and agents of the old one, where there was one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from weft.fabric import Domains, Topology
from weft.fabric.plans import FIRST_PORT

NOTE = (
    "journals belong to their domains: after a change start every server once with --new-journal, which sets the old one aside"
    " (`weft run` does so by itself if nothing was under way)"
)


def write_domains_file(topology: Topology, old: Domains | None, comments: Sequence[str] = ()) -> str:
    """As the text of a file that `weft.fabric.parse_domains` takes; release rules do not survive other domains."""
    lines = [*(f"# {comment}" for comment in (*comments, NOTE)), "", "[servers]"]
    lines += [
        f"{_key(name)} = {json.dumps(_address(old, name, at))}" for at, name in enumerate(topology.servers)
    ]
    lines += ["", "[domains]"]
    lines += [f"{_key(name)} = {json.dumps(list(members))}" for name, members in topology.domains.items()]
    return "\n".join(lines + ([] if old is None else _others(old))) + "\n"


def _address(old: Domains | None, name: str, at: int) -> str:
    """All on this machine, where nothing is known."""
    return f"127.0.0.1:{FIRST_PORT + at}" if old is None else old.addresses[name]


def _others(old: Domains) -> list[str]:
    lines: list[str] = []
    if old.ca:
        lines += ["", "[certificates]", f"ca = {json.dumps(old.ca)}", "", "[certificates.servers]"]
        lines += [
            f"{_key(name)} = {{ cert = {json.dumps(one.cert)}, key = {json.dumps(one.key)} }}"
            for name, one in old.certificates.items()
        ]
    if old.agents:
        lines += ["", "[agents]"]
        lines += [
            f"{_key(name)} = {{ server = {json.dumps(one.server)}, class = {json.dumps(one.program)} }}"
            for name, one in old.agents.items()
        ]
    return lines


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
