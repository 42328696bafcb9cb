"""The documentation is true: what it shows is what happens.

Every block of Python and of shell in the README and below docs/ is run, in one of the ways below, or stands in `LEFT_OUT` with
the reason and with who runs it instead; a block that is neither fails `test_every_block_is_run_or_says_why_not`.

* Pages of `FOLLOWED` are done from top to bottom: "Save this as `name`" is that file, a console block is a command with its
  output, to the letter; where a command is shown without output, it has to succeed.  Pages of a series share a folder.
* Pages of `EXAMPLES`: each Python block is a program, with the tutorial's object model at hand.
* Fragments (support/document_fragments.py) are run behind the few lines that a reader knows they stand behind.
* Console blocks of `COMMANDS` are typed line by line.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from support import documents
from support.document_fragments import FRAGMENTS
from support.documents import RUNNABLE, Block, blocks, check_command, follow, free_port, serving, ways

ROOT = documents.ROOT
INDEX = "no index has it yet: soak, tests/test_packages.py installs its wheel and its source distribution"
SPARK = "Spark takes its time: soak, test_the_tutorial_to_its_end; tests/review has the same commands"

FOLLOWED: dict[str, tuple[str, ...]] = {
    "tutorial": (
        "docs/tutorials/federate.md",
        "docs/tutorials/time.md",
        "docs/tutorials/causal-order.md",
        "docs/tutorials/regions.md",
        "docs/tutorials/deadlines.md",
        "docs/tutorials/two-machines.md",
        "docs/tutorials/review-and-tune.md",
    ),
    "domains": ("docs/explanation/domains.md",),
    "agents": ("docs/explanation/agents.md",),
    "ddm-services": ("docs/explanation/ddm-services.md",),
    "ddm": ("docs/explanation/ddm.md",),
    "strategy": ("docs/how-to/strategy.md",),
    "channel": ("docs/explanation/channel.md",),
    "realtime": ("docs/explanation/realtime.md",),
    "timeline": ("docs/how-to/timeline.md",),
    "urgency": ("docs/explanation/urgency.md",),
    "hangs": ("docs/how-to/hangs.md",),
    "asyncio": ("docs/how-to/asyncio.md",),
    "ownership": ("docs/how-to/ownership.md",),
    "python-classes": ("docs/how-to/python-classes.md",),
    "tls": ("docs/how-to/tls.md",),
    "storage": ("docs/how-to/storage.md",),
    "steering": ("docs/how-to/steering.md",),
    "run-file": ("docs/how-to/run-file.md",),
    "errors": ("docs/reference/errors.md",),
}
_NEXT_RUN = (
    "$ weft run harbour.toml --rid weft.rid --quiet 3 "
    '--federate "tower=python light.py" --federate "quay=python tug.py" > next.txt'
)
LAST = FOLLOWED["tutorial"][-1]
EXAMPLES = (
    "README.md",
    "docs/how-to/object-models.md",
    "docs/how-to/simulation-testing.md",
    "docs/explanation/ddm-sync.md",
    "docs/how-to/proving.md",
)
COMMANDS = {
    ("docs/how-to/console.md", "weft serve"),
    ("docs/how-to/joining-from-cpp-and-java.md", "weft serve --host 0.0.0.0"),
    ("docs/how-to/serving.md", "weft passwd alice >> users.toml"),
}
SERVER = ("docs/how-to/serving.md", "weft serve")
RECORDED = "docs/how-to/recording.md"

LEFT_OUT: dict[tuple[str, str], str] = {
    ("README.md", "pip install weft-rti          # a federate; 'weft-rti[all]' for everything"): INDEX,
    ("docs/tutorials/start.md", "python3 -m venv simulation && source simulation/bin/activate"): INDEX,
    ("README.md", "make demo"): "a fresh clone: soak, tests/test_first_minutes.py; `make test` is this suite",
    (
        "docs/tutorials/start.md",
        "git clone https://example.org/weft.git     # or wherever you have it from",
    ): "a fresh clone: soak, tests/test_first_minutes.py",
    (
        "docs/how-to/hangs.md",
        "weft status                 # the server on this machine; or: weft status HOST:PORT",
    ): "needs a server on the usual port; tests/cli/operate/test_cli_serve.py asks one on its own",
    ("docs/how-to/console.md", "weft console 10.0.0.1 10.0.0.2:15165 --operator-key operator.key"): (
        "two machines; tests/console/test_console_child.py attaches one, tests/cli/test_cli_examples.py runs the command"
    ),
    ("docs/how-to/sizing.md", "weft bench embedded        # in one process"): (
        "measures for minutes; tests/cli/benchmarks/test_cli_bench*.py run all of them small"
    ),
    (
        "docs/how-to/joining-from-cpp-and-java.md",
        "FEDPRO_CLIENT_OVERRIDES=connect.hostname=simhost,connect.port=15164 ./federate",
    ): "a C++ federate and its toolchain; tests/host/test_settings.py has the variable",
    (
        "docs/how-to/joining-from-cpp-and-java.md",
        (
            "g++ -std=c++14 -I fedpro/cpp/api/HLA_1516-2025 federate.cpp -L fedpro/build/src -l:librti1516_2025gcc12.so"
            " -l:libfedtime1516_2025gcc12.so -Wl,-rpath,$PWD/fedpro/build/src"
        ),
    ): "a C++ federate and its toolchain",
    ("docs/how-to/joining-from-cpp-and-java.md", "weft serve --modules foms"): (
        "needs a folder of modules; tests/host/server/test_module_directory.py serves one"
    ),
    (
        "docs/how-to/joining-from-cpp-and-java.md",
        "keytool -importcert -alias weft -file cert.pem -keystore trust.jks",
    ): "a Java federate and its key store",
    ("docs/how-to/storage.md", "weft serve --record s3://lake/runs"): (
        "a store: tests/host/recording/test_upload.py has one of its own"
    ),
    ("docs/how-to/storage.md", "weft runs upload s3://lake/runs"): (
        "the same: test_upload.py runs the command with its address"
    ),
    **{
        (
            "docs/how-to/cluster.md",
            first,
        ): "a cluster: tests/review/spark/test_review_cluster.py has one on loopback"
        for first in (
            "weft review runs --master spark://node1:7077 --package weft-package.tar.gz",
            "spark_class=\"$(python -c 'import pyspark; print(pyspark.__path__[0])')/bin/spark-class\"",
            "weft review s3://lake/runs --master spark://node1:7077 --package weft-package.tar.gz \\",
            "weft review s3://lake/runs --master sc://spark.example.org --package weft-package.tar.gz",
        )
    },
    ("docs/how-to/cluster.md", "weft package"): (
        "takes half a minute: tests/review/spark/test_review_cluster.py makes one, and test_cli_examples.py (soak)"
    ),
    **{
        ("docs/how-to/cluster.md", first): "YARN, which has not been tried, as the page says"
        for first in (
            "export HADOOP_CONF_DIR=/etc/hadoop/conf",
            "jars=\"$(python -c 'import pyspark; print(pyspark.__path__[0])')/jars\"",
        )
    },
    ("docs/how-to/compare.md", "weft review runs"): (
        "a night of runs: tests/review/compare/test_night.py has one, and what is found in it"
    ),
    ("docs/papers.md", "weft papers --quick"): (
        "takes minutes: tests/cli/benchmarks/test_papers_*.py have its parts, test_cli_examples.py begins it (soak)"
    ),
    ("docs/how-to/review.md", "weft review runs/Range/20261116T103831Z-11508a1e0b"): SPARK,
    ("docs/how-to/review.md", "weft review runs/Range/20261116T103831Z-11508a1e0b --follow"): SPARK,
    (LAST, "$ weft review runs/Harbour/* --html report.html"): SPARK,
    (LAST, "$ weft tune runs/Harbour/* --domains harbour.toml"): SPARK,
    (LAST, _NEXT_RUN): "begins with what the command before it wrote, on Spark: soak",
    **{
        (
            "docs/how-to/notebook.md",
            first,
        ): "Spark: tests/review/spark/test_notebook.py runs the page cell by cell"
        for first in (
            "from pyspark.sql import SparkSession",
            'notes = spark.read.format("weft").option("table", "notes").load(run)',
            "sent = rows.where(\"kind = 'send' AND source <> 0\")",
            'few = spark.read.format("weft").options(',
            "counts = {}",
            "found = weft.review.review(run, session=spark)",
        )
    },
    **{
        ("docs/how-to/lake.md", first): "tests/review/lake/test_lake_page.py runs the page, block by block"
        for first in (
            "weft review runs",
            "weft sql",
            "weft lake compact",
            "import weft.review",
            "import duckdb",
            "from pathlib import Path",
        )
    },
}


def _is_run(block: Block) -> bool:
    followed = any(block.document in pages for pages in FOLLOWED.values())
    if followed or block.document == RECORDED:
        return block.key not in LEFT_OUT
    alone = block.document in EXAMPLES and block.language == "python"
    return alone or block.key in FRAGMENTS or block.key in COMMANDS or block.key == SERVER


def test_every_block_is_run_or_says_why_not() -> None:
    """Issue 9: every command and snippet in README and docs is run by a test; what is not is in one table, with the reason."""
    found = [one for page in documents.documents() for one in blocks(page) if one.language in RUNNABLE]
    assert len(found) > 60
    forgotten = [one.key for one in found if not _is_run(one) and one.key not in LEFT_OUT]
    assert not forgotten, f"neither run nor left out for a reason: {forgotten}"
    there = {one.key for one in found}
    gone = [key for key in [*LEFT_OUT, *FRAGMENTS, *COMMANDS, SERVER] if key not in there]
    assert not gone, f"named in a table and in no document: {gone}"


def test_no_block_can_hide() -> None:
    """A fence that is indented, or of another kind, would not be seen; a block in a page of prose is not run by itself."""
    for page in documents.documents():
        text = (ROOT / page).read_text()
        assert not re.search(r"^(?:[ >]+```|\s*~~~|````)", text, re.M), page
        fences = re.findall(r"^```(\w*)$", text, re.M)
        assert len(fences) == len(re.findall(r"^```", text, re.M)), f"{page}: a fence with more than a word"
        assert [one for one in fences[::2] if one] == [block.language for block in blocks(page)], page
        assert not any(fences[1::2]), page
    assert not _is_run(Block("docs/design.md", "", "python", "print(1)"))
    assert not _is_run(Block("README.md", "", "sh", "weft demo"))


@pytest.mark.parametrize("series", FOLLOWED)
def test_a_document_word_for_word(series: str, tmp_path: Path) -> None:
    """A stranger's federate: the documents' files and commands, as they stand there."""
    ports = {str(port): str(free_port()) for port in (15165, 15166)} if series == "tls" else {}
    for page in FOLLOWED[series]:
        follow(page, tmp_path, set(LEFT_OUT), ports)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_tutorial_to_its_end(tmp_path: Path) -> None:
    """The seven steps, with the review and the advice of the last on Spark."""
    for page in FOLLOWED["tutorial"]:
        follow(page, tmp_path, set(), {})
    assert (tmp_path / "report.html").exists()
    said = [one.read_text() for one in tmp_path.glob("runs/mesh/*/federate-1.log")]
    assert len(said) == 2
    assert said[0] == said[1], "with the advised settings federates hear the same"


def test_the_page_on_recording(tmp_path: Path) -> None:
    """docs/how-to/recording.md: record a run, list it, export it, read it; only the folder of the run is another every time."""
    demo = "weft demo --no-review --steps 20 --step-ms 1"
    for block in blocks(RECORDED):
        if block.language == "console":
            for command in block.commands:
                recorded = [str(one.relative_to(tmp_path)) for one in tmp_path.glob("runs/Range/2*")]
                instead = {"weft demo": demo, "runs/Range/20261116T103831Z-11508a1e0b": "".join(recorded)}
                check_command(ways(command, instead), "", tmp_path)
        elif block.language == "python":
            with contextlib.chdir(tmp_path):
                exec(compile(block.text, RECORDED, "exec"), {})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """As docs/how-to/serving.md starts it, for fragments that connect to one; its address."""
    with serving(SERVER[1], tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.mark.parametrize("key", FRAGMENTS, ids=lambda key: f"{key[0]}:{key[1][:30]}")
def test_fragments_run(
    key: tuple[str, str], server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few lines of a page, in this process, behind what they take for granted."""
    (block,) = (one for one in blocks(key[0]) if one.key == key)
    usual = ("rti.example.org:15164", "127.0.0.1:15164", "tls://simhost:15165")
    instead = {
        **dict.fromkeys(usual, server),
        "seconds=10)": "seconds=0.1)",
        "PORT1": str(free_port()),
        "PORT2": str(free_port()),
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    (tmp_path / "harbour.xml").write_text(_harbour())
    text = ways(f"{FRAGMENTS[key]}\n{block.text}", instead)
    names: dict[str, object] = {}
    try:
        exec(compile(text, f"{key[0]} ({key[1]})", "exec"), names)
    finally:
        for one in {one for one in names.values() if isinstance(one, weft.RTIambassador)}:
            _leave(one)
        weft.stop_node()


def _leave(rti: weft.RTIambassador) -> None:
    with contextlib.suppress(weft.errors.FederateNotExecutionMember, weft.errors.NotConnected):
        rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
    rti.disconnect()


@pytest.mark.parametrize("key", sorted(COMMANDS), ids=lambda key: f"{key[0]}:{key[1][:30]}")
def test_commands_run(key: tuple[str, str], tmp_path: Path) -> None:
    """Servers start with what the page says, and end in order when they are stopped."""
    (block,) = (one for one in blocks(key[0]) if one.key == key)
    certificate = next(one for one in blocks("docs/how-to/tls.md") if one.name == "certificate.sh").text
    for command in block.commands:
        if documents.LONG_RUNNING.match(command):
            if "--cert" in command:
                check_command(certificate, "", tmp_path)
            with serving(ways(command, {"15165": str(free_port())}), tmp_path):
                pass
        else:
            check_command(f"echo secret | ({command})", "", tmp_path)


def test_links_between_documents_lead_somewhere() -> None:
    """No dead links in the README and docs/, nor to headings that are not there."""
    for name in ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", *documents.documents()]:
        document = ROOT / name
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", document.read_text()):
            page = document.parent / target if target else document
            assert page.exists(), f"{name} links to {target}"
            if anchor:
                assert anchor in _anchors(page.read_text()), f"{name} links to {target}#{anchor}"


def _anchors(text: str) -> set[str]:
    """The names that viewers give to headings: lower case, no punctuation, dashes for blanks."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    heads = re.findall(r"^#+ (.*)$", plain, re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"`", "", head).lower()).replace(" ", "-") for head in heads}


def test_every_page_is_in_the_table_of_contents() -> None:
    """docs/index.md names each page once: what is in none of its lists is not in the site's side bar."""
    listed = re.findall(
        r"^(?:\*|\d\.) \[[^\]]+\]\(([^)#]+)\)", (ROOT / "docs" / "index.md").read_text(), re.M
    )
    assert len(listed) == len(set(listed))
    pages = {str(Path(page).relative_to("docs")) for page in documents.documents()[1:]} - {"index.md"}
    assert set(listed) == pages


def test_the_list_of_services_is_true() -> None:
    """docs/reference/services.md lists every service with its clause."""
    from weft.cli.reference.services import all_services, markdown

    assert (ROOT / "docs" / "reference" / "services.md").read_text() == markdown(all_services()), (
        "run: make docs"
    )


def test_the_list_of_exceptions_is_true() -> None:
    """docs/reference/exceptions.md has every exception with its services."""
    from weft.cli.reference.errors import all_errors, markdown

    assert (ROOT / "docs" / "reference" / "exceptions.md").read_text() == markdown(all_errors()), (
        "run: make docs"
    )


def test_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    """No figure without its floor and its ratio, and all three are in docs/benchmarks.md."""
    measured = re.findall(r"\d[\d,.]*\d|\d", (ROOT / "docs" / "benchmarks.md").read_text())
    table = (ROOT / "README.md").read_text().partition("## Figures")[2]
    rows = re.findall(r"^\| [^|]+ \| (\d[^|]+) \| ([^|]+: [^|]+) \| ([^|]+) \|$", table, re.M)
    assert len(rows) > 3
    assert len(rows) == len(re.findall(r"^\|", table, re.M)) - 2
    for row in rows:
        for figure in re.findall(r"\d[\d,.]*\d|\d", " ".join(row)):
            assert figure in measured, f"the README says {figure}"


def _harbour() -> str:
    return next(one.text for one in blocks("docs/tutorials/federate.md") if one.name == "harbour.xml")


@pytest.mark.parametrize("document", EXAMPLES)
def test_examples_in_the_documents_run(document: str, tmp_path: Path) -> None:
    """Every Python block, with the tutorial's object model at hand."""
    (tmp_path / "harbour.xml").write_text(_harbour())
    found = [block for block in blocks(document) if block.language == "python"]
    assert found
    for block in found:
        (tmp_path / "example.py").write_text(block.text)
        check_command("python example.py", "", tmp_path)
