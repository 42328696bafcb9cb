"""What a federation file would start here: looked at before anything is started, and told by `weft run --check`."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from weft.cli.operate.running.places import options_of
from weft.cli.operate.running.plan import NOTHING, RUN, FederationPlan, MeshPlan, Program
from weft.cli.operate.running.programs import search_path
from weft.cli.operate.running.tables import hint
from weft.host import load_fom
from weft.model.errors import FederationFileError


def check_here(plan: FederationPlan, host: str) -> None:
    """Is all there that this machine needs: its part, object models, programs?"""
    if host and host not in plan.hosts:
        where = "there is no [hosts]" if not plan.hosts else f"it is not in [hosts]{hint(host, plan.hosts)}"
        raise FederationFileError(f"--host {host}: {where}", plan.file)
    if host and not plan.nodes_of(host) and not plan.programs_of(host):
        raise FederationFileError(f"--host {host}: nothing runs there", plan.file)
    load_fom(*plan.fom)
    for program in plan.programs_of(host):
        if not _is_there(program):
            raise FederationFileError(
                f"federate {program.entry!r}: there is no program {program.command[0]!r}, neither on the PATH nor as a file "
                f"that may be executed, from {program.directory}",
                program.place,
            )


def _is_there(program: Program) -> bool:
    name = program.command[0]
    if os.sep in name:
        return os.access(program.directory / name, os.X_OK)
    return shutil.which(name, path=program.environment.get("PATH", search_path())) is not None


def describe(plan: FederationPlan, host: str) -> Iterator[str]:
    """In lines, for people."""
    models = ", ".join(os.path.relpath(one) for one in plan.fom) or "no object models"
    time = f"; time {plan.time}" if plan.time else ""
    limit = f"; at most {plan.timeout:g} s" if plan.timeout is not None else ""
    yield f"federation {plan.name}: {models}{time}{limit}"
    here = plan.nodes_of(host)
    yield from _nodes(plan, host) if here else [f"no node on host {host}"]
    programs = plan.programs_of(host)
    width = max([len(one.name) for one in programs], default=0)
    for one in programs:
        yield f"  {one.name:<{width}}  {shlex.join(one.command)}{_where(one)}"
        for line in _terms(one):
            yield f"  {'':<{width}}    {line}"
    if not programs:
        yield "  no federates: it runs until it is stopped"


def _nodes(plan: FederationPlan, host: str) -> Iterator[str]:
    options = options_of(plan.nodes.options)[5:]  # behind what all nodes are told
    more = f" ({shlex.join(options)})" if options else ""
    nodes = plan.nodes
    if isinstance(nodes, MeshPlan):
        for name in plan.nodes_of(host):
            yield f"node {name}, linked at {nodes.domains.addresses[name]}{more}"
        return
    address = nodes.listen or (plan.hosts[nodes.host] if host else "127.0.0.1")
    yield f"server at {address}, {f'port {nodes.port}' if nodes.port else 'any free port'}{more}"


def _where(program: Program) -> str:
    said = [f"at {program.node}"] if program.node else []
    said += [f"on {program.host}"] if program.host else []
    said += [f"in {os.path.relpath(program.directory)}"] if program.directory != Path.cwd() else []
    return f"   ({', '.join(said)})" if said else ""


def _terms(program: Program) -> Iterator[str]:
    if program.after:
        limit = f", for at most {program.within:g} s" if program.within is not None else ""
        yield f"waits for {', '.join(map(str, program.after))}{limit}"
    if program.seconds:
        yield (
            f"starts {program.seconds:g} s after that"
            if program.after
            else f"starts after {program.seconds:g} s"
        )
    if program.timeout is not None:
        yield f"ends within {program.timeout:g} s"
    if program.expect:
        yield f"ends with exit code {program.expect}"
    if program.restart:
        yield f"is restarted up to {program.restart} times if it fails"
    if program.ends == RUN:
        yield "its end ends the run"
    if program.ends == NOTHING:
        yield "nobody waits for its end"
