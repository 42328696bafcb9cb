"""The domains file (TOML): servers and their addresses, domains, certificates, release rules.

    [servers]
    S1 = "10.0.0.1:9001"

    [domains]
    A = ["S1", "S2", "S3"]

    [certificates]                  # optional: links are then TLS, and both sides show a certificate
    ca = "ca.pem"
    [certificates.servers]
    S1 = { cert = "s1.pem", key = "s1.key" }

    [[release]]                     # optional, any number
    from = "A"                      # two domains that share a server …
    to = "B"
    keep = ["HLAobjectRoot.Vehicle.Position"]
    [[release]]
    link = ["S1", "S2"]             # … or two servers that share a domain, in one direction
    keep = ["HLAinteractionRoot.Fire"]

    [agents]                        # optional: who lives where, and which class it is of
    counter = { server = "S2", class = "counting:Counter" }

Accepted are exactly the forests (see `forest`).  All that is wrong is reported, each with file and line.  A forest may have
several trees; servers that cannot reach one another are no danger to causal order, so that is a warning.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from weft.fabric.forest import faults, parts, smallest_repair
from weft.fabric.release import ROOTS, ReleaseRule
from weft.fabric.topology import Topology
from weft.model.errors import DomainsError
from weft.model.records import Source
from weft.model.toml_places import Path, places

NAME = re.compile(r"[\w.-]+")
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s:\[\]]+):([0-9]+)")
QUALIFIED = re.compile(r"\w+(\.\w+)*")
PROGRAM = re.compile(r"\w+(\.\w+)*:\w+")
TABLES = ("servers", "domains", "certificates", "release", "agents")
TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True)
class Certificate:
    cert: str
    key: str


@dataclass(frozen=True)
class AgentPlace:
    """Where an agent lives, and its program as `package.module:Class`."""

    server: str
    program: str


@dataclass(frozen=True)
class Domains:
    """A domains file that was accepted."""

    topology: Topology
    addresses: dict[str, str]
    ca: str = ""  # empty: no TLS
    certificates: dict[str, Certificate] = field(default_factory=dict)
    releases: tuple[ReleaseRule, ...] = ()
    agents: dict[str, AgentPlace] = field(default_factory=dict)


@dataclass(frozen=True)
class DomainsFindings:
    """What a file says, if it was accepted, and what is wrong or odd about it."""

    domains: Domains | None
    errors: tuple[DomainsError, ...] = ()
    warnings: tuple[str, ...] = ()


def parse_domains(source: Source) -> Domains:
    """The file, or the first of its errors."""
    findings = examine_domains(source)
    if findings.domains is None:
        raise findings.errors[0]
    return findings.domains


def examine_domains(source: Source) -> DomainsFindings:
    try:
        text = source.data.decode("utf-8-sig")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        return _refused(DomainsError("this is not UTF-8 text", f"{source.name}:{line}"))
    except tomllib.TOMLDecodeError as error:
        return _refused(_not_toml(str(error), text, source.name))
    except RecursionError:
        return _refused(DomainsError("nested too deep", source.name))
    return _DomainsReading(source.name, places(text), document).findings()


def _refused(error: DomainsError) -> DomainsFindings:
    return DomainsFindings(None, (error,))


def _not_toml(message: str, text: str, name: str) -> DomainsError:
    """tomllib's own words, but for a name that is defined twice, which is the most common slip."""
    found = TOML_PLACE.search(message)
    line = int(found[1]) if found and found[1] else text.count("\n") + 1
    said = TOML_PLACE.sub("", message)
    if said == "Cannot overwrite a value" or said.startswith("Cannot declare"):
        said = f"this name is already taken above: {text.splitlines()[line - 1].strip()}"
    return DomainsError(said[:1].lower() + said[1:], f"{name}:{line}")


class _DomainsReading:
    """One file under examination; errors are collected, so that all are shown at once."""

    def __init__(self, name: str, lines: dict[Path, int], document: dict[str, object]) -> None:
        self.name = name
        self.lines = lines
        self.document = document
        self.errors: list[DomainsError] = []
        self.warnings: list[str] = []
        self.addresses: dict[str, str] = {}
        self.groups: dict[str, tuple[str, ...]] = {}
        self.ca = ""
        self.certificates: dict[str, Certificate] = {}
        self.releases: list[ReleaseRule] = []
        self.agents: dict[str, AgentPlace] = {}

    def findings(self) -> DomainsFindings:
        for table in self.document:
            if table not in TABLES:
                self._error((table,), f"there is no table [{table}]; there are {', '.join(TABLES)}")
        self._servers()
        self._domains()
        self._certificates()
        self._releases()
        self._agents()
        topology = Topology(tuple(self.addresses), self.groups)
        if not self.errors:
            found = faults(topology)
            advice = smallest_repair(topology).message if found else ""
            for fault in found:
                message = f"{fault.message}; the smallest repair of the file: {advice}"
                self._error(("domains", fault.domain), message)
            self._odd(topology)
        if self.errors:
            return DomainsFindings(None, tuple(sorted(self.errors, key=self._line)), tuple(self.warnings))
        made = Domains(
            topology, self.addresses, self.ca, self.certificates, tuple(self.releases), self.agents
        )
        return DomainsFindings(made, (), tuple(self.warnings))

    # Places

    def _place(self, path: Path) -> str:
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines[path]}" if path else self.name

    def _error(self, path: Path, message: str) -> None:
        self.errors.append(DomainsError(message, self._place(path)))

    def _line(self, error: DomainsError) -> int:
        return int(error.place.rpartition(":")[2]) if error.place != self.name else 0

    def _table(
        self, path: Path, value: object, required: bool = False, keys: tuple[str, ...] = ()
    ) -> dict[str, object]:
        """The table there; `keys` are all that it may have, if they are given."""
        shown = ".".join(map(str, path))
        if value is None:
            if required:
                self._error(path, f"there is no table [{shown}]")
            return {}
        if not isinstance(value, dict):
            self._error(path, f"{shown} must be a table, [{shown}]")
            return {}
        for key in value if keys else ():
            if key not in keys:
                self._error((*path, key), f"there is no key {key!r} here; there are {', '.join(keys)}")
        return value

    def _text(self, path: Path, table: dict[str, object], key: str, what: str) -> str:
        value = table.get(key)
        if isinstance(value, str) and value:
            return value
        self._error((*path, key), f"{key} must name {what}")
        return ""

    def _server(self, path: Path, server: str, said: str) -> bool:
        """Is it one of [servers]?"""
        if server not in self.addresses:
            hint = _hint(server, self.addresses)
            self._error(path, f"{said} {server}, which is not in [servers]{hint}")
        return server in self.addresses

    # Tables

    def _servers(self) -> None:
        taken: dict[str, str] = {}
        table = self._table(("servers",), self.document.get("servers"), required=True)
        for name, address in table.items():
            path = ("servers", name)
            self.addresses[name] = ""
            self._name(path, name, "server")
            found = ADDRESS.fullmatch(address) if isinstance(address, str) else None
            if not isinstance(address, str) or found is None or not 0 < int(found[2]) < 65536:
                self._error(
                    path, f'the address of server {name} must be like "127.0.0.1:9001", not {address!r}'
                )
                continue
            if address in taken:
                self._error(path, f"server {name} has the address of server {taken[address]}, {address}")
            taken.setdefault(address, name)
            self.addresses[name] = address
        if self.document.get("servers") == {}:
            self._error(("servers",), 'there is no server in [servers]; write, say, S1 = "127.0.0.1:9001"')

    def _domains(self) -> None:
        for name, members in self._table(("domains",), self.document.get("domains"), required=True).items():
            path = ("domains", name)
            self._name(path, name, "domain")
            self.groups[name] = ()
            if not isinstance(members, list) or not all(isinstance(one, str) for one in members):
                self._error(path, f'domain {name} must be a list of servers, like ["S1", "S2"]')
                continue
            seen: dict[str, None] = {}
            for at, server in enumerate(members):
                if server in seen:
                    self._error((*path, at), f"domain {name} has server {server} twice")
                elif self._server((*path, at), server, f"domain {name} has the server"):
                    seen[server] = None
            self.groups[name] = tuple(seen)

    def _name(self, path: Path, name: str, kind: str) -> None:
        if not NAME.fullmatch(name):
            self._error(
                path, f"{name!r} cannot be the name of a {kind}: letters, digits, '_', '.' and '-' only"
            )

    def _certificates(self) -> None:
        if "certificates" not in self.document:
            return
        table = self._table(("certificates",), self.document["certificates"], keys=("ca", "servers"))
        self.ca = self._text(("certificates",), table, "ca", "the file of the authority all servers trust")
        path = ("certificates", "servers")
        for server, entry in self._table(path, table.get("servers"), required=True).items():
            here = (*path, server)
            self._server(here, server, "a certificate for")
            entry = self._table(here, entry, keys=("cert", "key"))
            self.certificates[server] = Certificate(
                self._text(here, entry, "cert", f"the file with the certificate of {server}"),
                self._text(here, entry, "key", f"the file with the private key of {server}"),
            )
        for server in self.addresses:
            if server not in self.certificates:
                self._error(
                    path, f"server {server} has no certificate; with [certificates] every server needs one"
                )

    def _agents(self) -> None:
        for name, entry in self._table(("agents",), self.document.get("agents")).items():
            path = ("agents", name)
            self._name(path, name, "agent")
            entry = self._table(path, entry, keys=("server", "class"))
            server = self._text(path, entry, "server", f"the server that agent {name} lives on")
            if server:
                self._server((*path, "server"), server, f"agent {name} lives on")
            program = self._text(path, entry, "class", f"the class of agent {name}")
            if program and not PROGRAM.fullmatch(program):
                self._error(
                    (*path, "class"), f'the class of agent {name} must be like "package.module:Class"'
                )
            self.agents[name] = AgentPlace(server, program)

    def _releases(self) -> None:
        rules = self.document.get("release", [])
        if not isinstance(rules, list) or not all(isinstance(one, dict) for one in rules):
            self._error(
                ("release",), "release rules are written as [[release]], each with its own from, to and keep"
            )
            return
        for at, rule in enumerate(rules):
            path = ("release", at)
            self._table(path, rule, keys=("from", "to", "link", "keep"))
            keep = self._keep(path, rule.get("keep"))
            if "link" in rule and not {"from", "to"} & rule.keys():
                sender, receiver = self._link((*path, "link"), rule["link"])
                self.releases.append(ReleaseRule(keep, from_server=sender, to_server=receiver))
            elif "link" not in rule and {"from", "to"} <= rule.keys():
                self._boundary(path, rule["from"], rule["to"], keep)
            else:
                self._error(path, "a release rule has either from and to (domains), or link (two servers)")

    def _keep(self, path: Path, names: object) -> frozenset[str]:
        if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
            self._error(
                (*path, "keep"), 'keep must be a list of names, like ["HLAobjectRoot.Vehicle.Position"]'
            )
            return frozenset()
        for at, name in enumerate(names):
            if name.partition(".")[0] not in ROOTS or not QUALIFIED.fullmatch(name):
                self._error(
                    (*path, "keep", at), f"{name!r} must be a qualified name, from {' or '.join(ROOTS)} down"
                )
        return frozenset(names)

    def _boundary(self, path: Path, start: object, end: object, keep: frozenset[str]) -> None:
        for key, name in (("from", start), ("to", end)):
            if not isinstance(name, str) or name not in self.groups:
                self._error((*path, key), f"there is no domain {name!r}{_hint(str(name), self.groups)}")
        if not isinstance(start, str) or not isinstance(end, str) or not {start, end} <= self.groups.keys():
            return
        if start == end or not set(self.groups[start]) & set(self.groups[end]):
            self._error(path, f"domains {start} and {end} have no boundary: no server is in both")
        self.releases.append(ReleaseRule(keep, from_domain=start, to_domain=end))

    def _link(self, path: Path, link: object) -> tuple[str, str]:
        if not isinstance(link, list) or len(link) != 2 or not all(isinstance(one, str) for one in link):
            self._error(path, 'link must be two servers, like ["S1", "S2"]')
            return "", ""
        for at, name in enumerate(link):
            if name not in self.addresses:
                self._error((*path, at), f"there is no server {name!r}{_hint(name, self.addresses)}")
        if link[0] == link[1] or not any(
            link[0] in group and link[1] in group for group in self.groups.values()
        ):
            self._error(path, f"there is no link between {link[0]} and {link[1]}: no domain has both")
        return link[0], link[1]

    def _odd(self, topology: Topology) -> None:
        for domain, members in topology.domains.items():
            if len(members) < 2:
                count = "one server" if members else "no server"
                self._warn(("domains", domain), f"domain {domain} has {count} and carries nothing")
        for server in topology.servers:
            if not topology.memberships[server] and len(topology.servers) > 1:
                self._warn(("servers", server), f"server {server} is in no domain and cannot be reached")
        islands = [part for part in parts(topology) if topology.memberships[part[0]]]
        for island in islands[1:]:
            shown = ", ".join(island[:5]) + (", …" if len(island) > 5 else "")
            self._warn(
                ("servers", island[0]),
                f"{shown} cannot be reached from {islands[0][0]}: no chain of domains joins them",
            )

    def _warn(self, path: Path, message: str) -> None:
        self.warnings.append(f"{self._place(path)}: {message}")


def _hint(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else ""
