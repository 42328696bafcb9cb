"""The federation file (TOML): what is started for a federation, on one machine or several.

    [federation]
    name = "Harbour"
    fom = "harbour.xml"                  # object models; all paths are relative to the file

    [server]                             # or [mesh]; neither: a server at any free port

    [[federate]]
    name = "tower"
    command = "python tower.py"

    [[federate]]
    name = "tug"
    command = "python tug.py {number}"
    count = 2
    after = "tower"                      # has joined

All that is wrong is reported, each with file and line (docs/how-to/run-file.md has every key).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from weft.cli.operate.running import kinds
from weft.cli.operate.running.federate_tables import FederateTables
from weft.cli.operate.running.mesh_table import mesh_plan
from weft.cli.operate.running.plan import FederationPlan, MeshPlan, NodeOptions, ServerPlan
from weft.cli.operate.running.tables import NO_HOSTS, FileFindings, FileTable, hint
from weft.model.errors import FederationFileError
from weft.model.records import Source
from weft.model.toml_places import places

_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_TELLING = re.compile(r"^\s*\[\[?\s*(?:federation|federate|server|mesh|hosts)\b", re.M)


class FederationFindings(NamedTuple):
    """What a file says, if it was accepted, and what is wrong about it."""

    plan: FederationPlan | None
    errors: list[FederationFileError]


def is_federation_file(data: bytes) -> bool:
    """By its tables: a domains file has [servers] and [domains]."""
    return bool(_TELLING.search(data.decode("utf-8", "replace")))


def read_federation_file(source: Source) -> FederationPlan:
    """The file, or the first of its errors."""
    plan, errors = examine_federation_file(source)
    if plan is None:
        more = len(errors) - 1
        if not more:
            raise errors[0]
        said = f"{errors[0].message} ({more} more: `weft run --check {source.name}`)"
        raise FederationFileError(said, errors[0].place)
    return plan


def examine_federation_file(source: Source) -> FederationFindings:
    try:
        text = source.data.decode("utf-8-sig")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        return _refused("this is not UTF-8 text", f"{source.name}:{line}")
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        said = _TOML_PLACE.sub("", str(error))
        return _refused(said[:1].lower() + said[1:], f"{source.name}:{line}")
    except RecursionError:
        return _refused("nested too deep", source.name)
    findings = FileFindings(source.name, places(text))
    plan = _Reading(findings, document, Path(source.name).parent.absolute()).plan()
    return FederationFindings(None if findings.errors else plan, findings.in_order())


def _refused(message: str, place: str) -> FederationFindings:
    return FederationFindings(None, [FederationFileError(message, place)])


class _Reading:
    """One file under examination."""

    def __init__(self, findings: FileFindings, document: Mapping[str, object], folder: Path) -> None:
        self.findings = findings
        self.document = document
        self.folder = folder
        self.hosts: dict[str, str] = {}
        self.nodes: ServerPlan | MeshPlan = ServerPlan()

    def plan(self) -> FederationPlan:
        for name in self.document:
            if name not in kinds.TABLES:
                self.findings.error((name,), f"there is no table [{name}]{hint(name, kinds.TABLES)}")
        table = self._table("federation", kinds.FEDERATION)
        why = "the name of the federation execution"
        name = self.findings.required(("federation",), table, "name", "[federation]", why)
        fom = tuple(self.findings.file(("federation", "fom"), self.folder, one) for one in table.texts("fom"))
        self._hosts()
        self._nodes()
        programs = FederateTables(self.findings, self.folder, self.nodes, self.hosts).programs(
            self.document.get("federate", [])
        )
        return FederationPlan(
            self.findings.name,
            name,
            fom,
            table.text("time"),
            table.seconds("timeout"),
            self.nodes,
            self.hosts,
            programs,
        )

    def _table(self, name: str, keys: kinds.Keys) -> FileTable:
        return self.findings.table((name,), self.document.get(name), keys, f"[{name}]")

    # --- nodes ------------------------------------------------------------------------------------------------

    def _hosts(self) -> None:
        given = self.document.get("hosts")
        if given is None:
            return
        if not kinds.TEXT_TABLE.fits(given) or not given:
            self.findings.error(
                ("hosts",),
                '[hosts] must have the address of each machine, as others reach it, like control = "10.0.0.1"',
            )
        else:
            self.hosts = FileTable({"hosts": given}).table("hosts")

    def _nodes(self) -> None:
        if "mesh" in self.document:
            if "server" in self.document:
                self.findings.error(("mesh",), "there is either [server] or [mesh], not both")
            table = self._table("mesh", kinds.MESH)
            self.nodes = mesh_plan(
                self.findings, table, self.folder, self._options("mesh", table), self.hosts
            )
            return
        table = self._table("server", kinds.SERVER)
        host = table.text("host")
        if self.hosts:
            self.findings.host(("server",), table, self.hosts, "[server]")
            if not table.number("port", 0):
                self.findings.error(
                    ("server", "port"),
                    "[server] needs port = … with [hosts]: other machines have to know it (15164 is the usual one)",
                )
        elif host:
            self.findings.error(("server", "host"), NO_HOSTS)
        self.nodes = ServerPlan(
            self._options("server", table), host, table.text("listen"), table.number("port", 0)
        )

    def _options(self, name: str, table: FileTable) -> NodeOptions:
        files = {
            key: self.findings.file(
                (name, key), self.folder, table.text(key), "folder" if key == "modules" else "file"
            )
            for key in ("settings", "rid", "schedule", "modules")
            if key in table
        }
        record: bool | str | None = table.flag("record")
        if where := table.text("record"):
            record = where if "://" in where else str(self.folder / where)
        return NodeOptions(**files, record=record, console=table.flag("console"))
