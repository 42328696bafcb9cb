"""`weft package`: one archive with Weft and what it needs, for a cluster whose machines have neither (docs/how-to/cluster.md)."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from weft.cli.arguments import Commands, add_command, add_out, say
from weft.model.errors import SettingsError

NAME = "weft-package.tar.gz"


def register(commands: Commands) -> None:
    parser = add_command(
        commands,
        "package",
        run,
        "one archive with Weft and what it needs, for Spark's workers that do not have it (--package of weft review)",
    )
    add_out(parser, "FILE", "the archive (default %(default)s)", NAME)
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="NAME",
        help="a further Python package that is installed here, with what it needs, like adlfs; may be repeated",
    )
    parser.add_argument(
        "--follow", action="store_true", help="also what --follow needs on workers: pandas and protobuf"
    )
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(arguments: argparse.Namespace) -> int:
    from weft.review.spark.package import FOLLOWING, build

    out = Path(arguments.out)
    if out.is_dir() or not out.name.endswith((".tar.gz", ".tgz")):
        raise SettingsError(f"--out {out}: name a file that ends in .tar.gz: Spark goes by the ending")
    if not out.parent.is_dir():
        raise SettingsError(f"--out {out}: there is no folder {out.parent}")
    also = [*arguments.also, *(FOLLOWING if arguments.follow else ())]
    made = build(out, also, say)
    say("")
    size = out.stat().st_size
    with out.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if arguments.json:
        print(json.dumps({"file": str(out), "bytes": size, "sha256": digest, **asdict(made)}, indent=2))
        return 0
    packages = ", ".join(f"{name} {version}" for name, version in made.packages.items())
    print(f"{out}: {size / 1e6:.1f} MB, sha256 {digest}")
    print(f"Weft {made.weft}, {packages}; for workers with {made.fits}")
    print(f"weft review RUN --master spark://… --package {out}")
    return 0
