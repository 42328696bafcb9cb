"""The tables [[federate]] of a federation file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from weft.cli.operate.running import kinds
from weft.cli.operate.running.plan import (
    ENDED,
    FAILURE,
    FILE,
    JOINED,
    LOG,
    PORT,
    SYNCHRONIZED,
    MeshPlan,
    Program,
    ServerPlan,
    StartCondition,
)
from weft.cli.operate.running.tables import NO_HOSTS, FileFindings, FileTable, hint
from weft.model.toml_places import Path as TomlPath

WITHIN = 60.0  # seconds that a program waits for what is to come before it
_ADDRESS = re.compile(r"[^\s]+:\d{1,5}")
_NAME = re.compile(r"[\w.-]+")


class FederateTables:
    def __init__(
        self, findings: FileFindings, folder: Path, nodes: ServerPlan | MeshPlan, hosts: Mapping[str, str]
    ) -> None:
        self._findings = findings
        self._folder = folder
        self._nodes = nodes
        self._hosts = hosts

    def programs(self, entries: object) -> tuple[Program, ...]:
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            self._findings.error(
                ("federate",), "federates are written as [[federate]], each with name and command"
            )
            return ()
        read: list[tuple[Program, FileTable, TomlPath, int]] = []
        for at, entry in enumerate(entries):
            path: TomlPath = ("federate", at)
            shown = "[[federate]]"
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                shown = f"federate {entry['name']!r}"
            table = self._findings.table(path, entry, kinds.FEDERATE, shown)
            program = self._program(path, table, shown)
            if any(program.entry == other.entry for other, _, _, _ in read):
                self._findings.error((*path, "name"), f"there is a federate {program.entry!r} already")
            read.append((program, table, path, table.number("count", 1)))
        alike = {program.entry: _names(program.entry, count) for program, _, _, count in read}
        joins = {program.entry: program.joins or alike[program.entry] for program, _, _, _ in read}
        made: list[Program] = []
        for program, table, path, count in read:
            after = self._after(path, table, program.entry, alike, joins)
            made += _instances(program, count, *after)
        self._circle(made, {program.entry: path for program, _, path, _ in read})
        return tuple(made)

    def _circle(self, programs: list[Program], paths: Mapping[str, TomlPath]) -> None:
        """Programs that wait for one another."""
        owners = {name: one.entry for one in programs for name in (one.name, *one.joins)}
        waits = {
            one.entry: {owners[each.what] for each in one.after if each.kind in (JOINED, ENDED, LOG)}
            - {one.entry}
            for one in programs
        }
        while idle := {entry for entry, others in waits.items() if not others & waits.keys()}:
            waits = {entry: others for entry, others in waits.items() if entry not in idle}
        if waits:
            chain = [next(iter(waits))]
            while len(set(chain)) == len(chain):
                chain.append(min(waits[chain[-1]] & waits.keys()))
            chain = chain[chain.index(chain[-1]) :]
            said = ", which waits for ".join(chain[1:])
            path = (*paths[chain[0]], "after")
            self._findings.error(path, f"nobody of these can start: {chain[0]} waits for {said}")

    def _program(self, path: TomlPath, table: FileTable, shown: str) -> Program:
        """But for its conditions, and how many there are of it."""
        name = self._findings.required(path, table, "name", shown, "the name it joins with")
        why = 'what is run, like "python tug.py"'
        self._findings.required(path, table, "command", shown, why)
        if name and not _NAME.fullmatch(name):
            self._findings.error(
                (*path, "name"), f"the name {name!r} may have letters, digits, '_', '.' and '-' only"
            )
        command = table.texts("command")
        words = tuple(shlex.split(command[0])) if isinstance(table.values.get("command"), str) else command
        if table.number("count", 1) > 1 and "joins" in table:
            self._findings.error(
                (*path, "joins"), f"{shown} has a count, and each joins by a name of its own"
            )
        if "directory" in table:
            self._findings.file((*path, "directory"), self._folder, table.text("directory"), "folder")
        node, host = self._where(path, table, shown)
        return Program(
            name, words, name, place=self._findings.place(path), node=node, host=host, joins=table.texts("joins"),
            directory=self._folder / table.text("directory"), environment=table.table("environment"),
            timeout=table.seconds("timeout"), ends=table.text("ends", FAILURE), restart=table.number("restart", 0),
            expect=table.number("expect", 0),
        )  # fmt: skip

    def _where(self, path: TomlPath, table: FileTable, shown: str) -> tuple[str, str]:
        """At which node, on which machine."""
        node, host = table.text("at"), table.text("host")
        if isinstance(self._nodes, ServerPlan):
            if node:
                self._findings.error(
                    (*path, "at"), f"{shown} is at a node, and there is no [mesh]; leave `at` out"
                )
            if self._hosts:
                self._findings.host(path, table, self._hosts, shown)
            elif host:
                self._findings.error((*path, "host"), NO_HOSTS)
            return "", host
        servers = self._nodes.domains.addresses
        if not node:
            self._findings.error(
                path, f"{shown} needs at = …: at which node of [mesh] it joins{hint('', servers)}"
            )
        elif servers and node not in servers:
            self._findings.error((*path, "at"), f"there is no node {node}{hint(node, servers)}")
        here = self._nodes.hosts.get(node, "")
        if host and host != here:
            self._findings.error((*path, "host"), f"{shown} runs where its node does; leave `host` out")
        return node, here

    def _after(
        self,
        path: TomlPath,
        table: FileTable,
        entry: str,
        alike: Mapping[str, tuple[str, ...]],
        joins: Mapping[str, tuple[str, ...]],
    ) -> tuple[tuple[StartCondition, ...], float, float | None]:
        """What it waits for; seconds after that; and by when."""
        given = table.values.get("after")
        path = (*path, "after")
        shown = f"after of federate {entry!r}"
        if isinstance(given, str | list):
            wanted = FileTable({"joined": given})
        else:
            wanted = self._findings.table(path, given, kinds.AFTER_KEYS, shown)
        found: list[StartCondition] = []

        def those(key: str, name: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
            """All processes of a name, or one of them."""
            each = {one: (one,) for names in known.values() for one in names} | dict(known)
            if name not in each:
                self._findings.error(
                    (*path, key), f"{shown}: there is no federate {name!r}{hint(name, each)}"
                )
            elif name == entry:
                self._findings.error((*path, key), f"{shown}: it would wait for itself")
            return each.get(name, ())

        for name in wanted.texts(JOINED):
            found += [StartCondition(JOINED, one) for one in those(JOINED, name, joins)]
        for name in wanted.texts(ENDED):
            found += [StartCondition(ENDED, one) for one in those(ENDED, name, alike)]
        for name, pattern in wanted.table(LOG).items():
            found += [StartCondition(LOG, one, pattern) for one in those(LOG, name, alike)]
        found += [StartCondition(SYNCHRONIZED, label) for label in wanted.texts(SYNCHRONIZED)]
        found += [StartCondition(FILE, str(self._folder / name)) for name in wanted.texts(FILE)]
        for address in wanted.texts(PORT):
            if not _ADDRESS.fullmatch(address):
                self._findings.error(
                    (*path, PORT), f'{shown}: port must be like "127.0.0.1:9000", not {address!r}'
                )
            found.append(StartCondition(PORT, address))
        # What another takes to end is for that other's own timeout.
        usual = WITHIN if found and all(one.kind != ENDED for one in found) else None
        within = wanted.seconds("within")
        return tuple(found), wanted.seconds("seconds") or 0.0, usual if within is None else within


def _names(entry: str, count: int) -> tuple[str, ...]:
    return (entry,) if count == 1 else tuple(f"{entry}-{number}" for number in range(1, count + 1))


def _instances(
    program: Program, count: int, after: tuple[StartCondition, ...], seconds: float, within: float | None
) -> list[Program]:
    """Each with its own name and number, also where the command speaks of them."""
    return [
        replace(
            program,
            name=name,
            number=number,
            joins=program.joins or (name,),
            command=tuple(
                word.replace("{number}", str(number)).replace("{name}", name) for word in program.command
            ),
            after=after,
            seconds=seconds,
            within=within,
        )
        for number, name in enumerate(_names(program.entry, count), 1)
    ]
