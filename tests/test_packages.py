"""Issue 22, item 8: what `pip install weft-rti` brings, what it does without, and what says which extra is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import installed
from weft.cli.reference import doctor
from weft.model.errors import PackageMissing, SettingsError
from weft.model.extras import DISTRIBUTION, EXTRAS, install, lacking, require, told

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
IMPORTED_AS = {"pillow": "PIL", "protobuf": "google.protobuf", "opentelemetry-sdk": "opentelemetry.sdk"}
LIGHT = (
    15 << 20
)  # bytes that a federate's install may have, without what Python keeps of what it has compiled to bytecode

SAID = {
    "serve --record r": "weft: recording needs numpy and pyarrow, not installed here: pip install 'weft-rti[record]'",
    "review runs": "weft: this needs {some}, not installed here: pip install 'weft-rti[review]'",
    "tune runs": "weft: this needs {some}, not installed here: pip install 'weft-rti[review]'",
    "package": "weft: this needs {some}, not installed here: pip install 'weft-rti[review]'",
    "sql": "weft: weft sql needs numpy and pyarrow, not installed here: pip install 'weft-rti[lake]'",
    "ddm match a b": "weft: this needs {some}, not installed here: pip install 'weft-rti[record]'",
    "bench embedded": "weft: weft bench needs numpy and pyarrow, not installed here: pip install 'weft-rti[record]'",
    "console 127.0.0.1": (
        "weft: the console needs starlette and uvicorn and websockets, not installed here: pip install 'weft-rti[console]'"
    ),
}
"""What a core install says of commands that need more."""


def bare(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """By a Python that has nothing but the standard library and these sources."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "WEFT_PURE": "1"}
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


# The core


def test_a_core_install_runs_a_federation(tmp_path: Path) -> None:
    """Through a server and over a mesh, too, once installed (below)."""
    done = bare(installed.__file__, "process", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[1:] == [f"pure Python on {sys.version.split()[0]}", "works: process"]


COMMANDS = """
import contextlib, io, sys
from weft.cli import COMMANDS, main
for words in [[], *([one] for one in COMMANDS)]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    assert said.getvalue().startswith("usage: weft"), words
for words in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(words.split())
    print(code, said.getvalue().strip(), sep="|")
said = io.StringIO()
with contextlib.redirect_stdout(said):
    assert main("demo --steps 5 --step-ms 0".split()) == 0
print("a demo:", next(line for line in said.getvalue().splitlines() if line.startswith("Not recorded")))
"""


def test_commands_say_which_extra_they_need(tmp_path: Path) -> None:
    """In one line, with exit code 2; each has its help all the same."""
    done = bare("-c", COMMANDS, *SAID, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *lines, demo = done.stdout.splitlines()
    assert demo == "a demo: Not recorded, and so not reviewed: pip install 'weft-rti[review]'"
    assert not (tmp_path / "runs").exists()
    for (command, wanted), line in zip(SAID.items(), lines, strict=True):
        code, _, said = line.partition("|")
        pattern = re.escape(wanted).replace(r"\{some\}", "(numpy|pyarrow)")
        assert (code, bool(re.fullmatch(pattern, said))) == ("2", True), (command, line)


# Extras


def _names(lines: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;, ]", line)[0] for line in lines}


def test_extras_are_those_of_the_package() -> None:
    """What the code says to install is what pyproject.toml has there; `all` has all."""
    extras = PROJECT["project"]["optional-dependencies"]
    brought = {name: _names(lines) - {DISTRIBUTION} for name, lines in extras.items()}
    assert brought.pop("all") == set()
    assert {name: {IMPORTED_AS.get(one, one) for one in packages} for name, packages in brought.items()} == {
        name: set(packages) for name, packages in EXTRAS.items()
    }
    (everything,) = extras["all"]
    assert set(everything.partition("[")[2].rstrip("]").split(",")) == set(EXTRAS)
    assert "dependencies" in PROJECT["project"]["dynamic"], "setup.py asks for librt where it compiles"
    assert "dependencies" not in PROJECT["project"]


def test_no_text_names_another_distribution() -> None:
    """`weft[…]` would be an extra of somebody else's package."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    pages += (ROOT / "benchmarks").rglob("*.py")
    wrong = re.compile(r"(?<![\w-])weft\[(\w+)\]|pip install '?weft'?(?![\w-])")
    found = [(page.name, one[0]) for page in pages for one in wrong.finditer(page.read_text())]
    assert not found
    named = {name for page in pages for name in re.findall(r"weft-rti\[([\w,]+)\]", page.read_text())}
    assert named <= {*EXTRAS, "all"}


def test_what_is_missing_is_told() -> None:
    require("this", "record", "json")
    assert lacking("json", "no_such_package", "no_such_package.inner") == [
        "no_such_package",
        "no_such_package.inner",
    ]
    with pytest.raises(
        PackageMissing, match=r"^it needs no_such_package, .*: pip install 'weft-rti\[plot\]', or sing$"
    ):
        require("it", "plot", "no_such_package", otherwise="sing")
    assert issubclass(PackageMissing, SettingsError)
    assert install("review") in str(told(ModuleNotFoundError(name="pyspark.sql")))
    assert install("record") in str(told(ModuleNotFoundError(name="numpy")))
    assert told(ModuleNotFoundError(name="somebody_elses")) is None
    assert told(ImportError("cannot import name")) is None


def test_doctor_warns_of_the_other_weft(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another project has that name on the package index, and the same import."""
    monkeypatch.setattr(doctor, "distribution", lambda name: SimpleNamespace(version="9.9"))
    found = doctor._weft()
    assert found.state == "note"
    assert "`weft` 9.9 is installed, too" in found.text
    assert "pip uninstall weft weft-rti, then pip install weft-rti" in found.text

    def alone(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", alone)
    assert doctor._weft().state == "ok"


# The source distribution and the wheels


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, of a copy: building leaves files about."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("out")
    for name in ("src", "benchmarks", "tests/support"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for one in ROOT.iterdir():
        if one.is_file() and not one.name.startswith(".git"):
            shutil.copy(one, copy)
    code = f"import setuptools.build_meta as made; made.build_sdist({str(out)!r})"
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONWARNINGS")
    }
    subprocess.run(
        [sys.executable, "-c", code], cwd=copy, env=environment, capture_output=True, check=True, timeout=300
    )
    (made,) = out.iterdir()
    return made


def test_the_source_distribution_is_whole(packed: Path) -> None:
    """All that an install needs and nothing that is built: sources, data, benchmarks, what setup.py reads."""
    with tarfile.open(packed) as archive:
        top = archive.getnames()[0].partition("/")[0]
        names = {name.removeprefix(f"{top}/") for name in archive.getnames()}
        about = archive.extractfile(f"{top}/PKG-INFO")
        assert about is not None
        told = about.read().decode()
    assert top == f"weft_rti-{PROJECT['project']['version']}"
    assert f"Name: {DISTRIBUTION}\n" in told
    assert {f"Provides-Extra: {name}" for name in [*EXTRAS, "all"]} <= set(told.splitlines())
    wanted = {
        "setup.py",
        "pyproject.toml",
        "hot_modules.txt",
        "mypyc.ini",
        "LICENSE",
        "tests/support/installed.py",
    }
    kinds = (".py", ".xml", ".toml", ".js", ".css", ".html", ".svg", ".c", ".cpp", ".typed")
    for folder in ("src/weft", "benchmarks"):
        wanted |= {
            one.relative_to(ROOT).as_posix() for one in (ROOT / folder).rglob("*") if one.suffix in kinds
        }  # fmt: skip
    assert wanted <= names, wanted - names
    assert not [name for name in names if name.endswith((".so", ".pyc", ".pyd")) or "__pycache__" in name]
    assert not [name for name in names if re.match(r"tests/(?!support(/installed\.py)?$)", name)]


def _installed(home: Path, *what: str) -> tuple[Path, int]:
    """The Python of a new and empty environment, and how many bytes were put there."""
    subprocess.run([sys.executable, "-m", "venv", home], check=True, timeout=300)
    python = home / "bin" / "python"
    before = set(home.rglob("*"))
    pip = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
        *what,
    ]
    subprocess.run(pip, check=True, timeout=3600, cwd=home, env=_clean())
    new = [one for one in set(home.rglob("*")) - before if one.is_file() and one.suffix != ".pyc"]
    return python, sum(one.stat().st_size for one in new)


def _clean(**more: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "WEFT_PURE")},
        **more,
    }


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["pure Python", "compiled"])
def test_an_empty_environment_gets_a_federate_that_works(
    kind: str, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the source distribution by way of a wheel: a federation in one process, through a server, over a mesh.

    Compiled it needs a package index, for what builds it and for librt.
    """
    pure = kind == "pure Python"
    environment = _clean(WEFT_PURE="1") if pure else _clean()
    how = ["--no-build-isolation", "--no-index"] if pure else []
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        *how,
        "-w",
        str(tmp_path),
        str(packed),
    ]
    subprocess.run(command, check=True, timeout=7000, env=environment, cwd=tmp_path)
    (wheel,) = tmp_path.glob("weft_rti-*.whl")
    assert ("py3-none-any" in wheel.name) is pure
    python, size = _installed(tmp_path / "empty", str(wheel), *(["--no-index"] if pure else []))
    trial = str(shutil.copy(installed.__file__, tmp_path))
    done = subprocess.run(
        [str(python), "-I", trial],
        cwd=tmp_path,
        env=_clean(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said[0].endswith(str(tmp_path / "empty" / "lib" / python_folder() / "site-packages" / "weft"))
    assert said[1].startswith(kind)
    assert said[2:] == ["works: process", "works: server", "works: mesh"]
    with capsys.disabled():
        print(f"\n{kind}: {wheel.stat().st_size / 1e6:.1f} MB, {size / 1e6:.1f} MB installed")
    assert size < LIGHT


def python_folder() -> str:
    return f"python{sys.version_info[0]}.{sys.version_info[1]}"
