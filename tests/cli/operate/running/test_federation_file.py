"""Federation files: what they say, and what is told of those that are at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli import main
from weft.cli.operate.running.plan import (
    ENDED,
    JOINED,
    LOG,
    PORT,
    SYNCHRONIZED,
    MeshPlan,
    Program,
    ServerPlan,
    StartCondition,
)
from weft.cli.operate.running.programs import environment_of, with_address
from weft.cli.operate.running.reading import examine_federation_file, is_federation_file, read_federation_file
from weft.errors import FederationFileError
from weft.model.records import Source

BEGIN = '[federation]\nname = "Harbour"\n'
TUG = '[[federate]]\nname = "tug"\ncommand = "python tug.py {number} {name}"\n'


def _read(folder: Path, text: str) -> Source:
    return Source(str(folder / "harbour.toml"), text.encode())


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "harbour.xml").write_text("<x/>")
    plan = read_federation_file(
        _read(
            tmp_path,
            BEGIN
            + 'fom = "harbour.xml"\ntime = "float64"\ntimeout = 60\n[server]\nport = 15199\nrecord = "kept"\n'
            + TUG
            + 'count = 2\nafter = { joined = "tower", seconds = 2 }\nrestart = 3\nenvironment = { SPEED = "3" }\n'
            + '[[federate]]\nname = "tower"\ncommand = ["tower", "a b"]\njoins = "Tower Bridge"\nexpect = 3\nends = "run"\n'
            + '[[federate]]\nname = "last"\ncommand = "x"\n'
            + 'after = { ended = ["tug"], synchronized = "met", log = { tug-1 = "on" }, port = "[::1]:9" }\n',
        )
    )
    assert (plan.name, plan.time, plan.timeout) == ("Harbour", "float64", 60.0)
    assert plan.fom == (str(tmp_path / "harbour.xml"),)
    assert isinstance(plan.nodes, ServerPlan)
    assert (plan.nodes.port, plan.nodes.options.record) == (15199, str(tmp_path / "kept"))
    one, two, tower, last = plan.programs
    assert (one.name, one.command) == ("tug-1", ("python", "tug.py", "1", "tug-1"))
    assert (two.name, two.command, two.entry) == ("tug-2", ("python", "tug.py", "2", "tug-2"), "tug")
    assert two.after == (StartCondition(JOINED, "Tower Bridge"),)
    assert (two.seconds, two.within, two.restart, two.environment) == (2.0, 60.0, 3, {"SPEED": "3"})
    assert tower == Program(
        "tower", ("tower", "a b"), "tower", 1, f"{tmp_path}/harbour.toml:16", joins=("Tower Bridge",),
        directory=tmp_path, ends="run", expect=3,
    )  # fmt: skip
    assert set(last.after) == {
        StartCondition(ENDED, "tug-1"), StartCondition(ENDED, "tug-2"), StartCondition(SYNCHRONIZED, "met"),
        StartCondition(LOG, "tug-1", "on"), StartCondition(PORT, "[::1]:9"),
    }  # fmt: skip
    assert last.within is None, "how long another runs is not its affair"


def test_nodes_of_a_mesh(tmp_path: Path) -> None:
    """By name alone, with addresses and domains, or a domains file; on several machines each has its own."""
    for nodes in (
        'nodes = ["A", "B"]',
        'servers = { A = "127.0.0.1:9401", B = "127.0.0.1:0" }\ndomains = { D = ["A", "B"] }',
    ):
        plan = read_federation_file(_read(tmp_path, f'{BEGIN}[mesh]\n{nodes}\n{TUG}at = "B"\n'))
        assert isinstance(plan.nodes, MeshPlan)
        assert plan.nodes.domains.topology.servers == ("A", "B")
        assert plan.nodes_of("") == ("A", "B")
        assert plan.programs[0].node == "B"
        (tmp_path / "domains.toml").write_text(plan.nodes.text)
    text = f'{BEGIN}[hosts]\nleft = "10.0.0.1"\nright = "10.0.0.2"\n[mesh]\ndomains_file = "domains.toml"\n'
    text += f'hosts = {{ A = "left", B = "right" }}\n{TUG}at = "B"\n'
    plan = read_federation_file(_read(tmp_path, text))
    assert plan.nodes_of("left") == ("A",)
    assert plan.programs_of("left") == ()
    assert [one.name for one in plan.programs_of("right")] == ["tug"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("[federation]\nnme = 'x'\n", "2: [federation] has no key 'nme'; did you mean name?"),
        ("[federation]\n", "1: [federation] needs name = …: the name of the federation execution"),
        (f"{BEGIN}time = 3\n", '3: time of [federation] must be "float64" or "integer64", not 3'),
        (f"{BEGIN}timeout = -1\n", "3: timeout of [federation] must be a number of seconds, not negative, not -1"),
        (f"{BEGIN}fom = 'no.xml'\n", "3: there is no file {folder}/no.xml"),
        (f"{BEGIN}[sever]\n", "3: there is no table [sever]; did you mean server?"),
        (f"{BEGIN}[server]\nport = true\n", "4: port of [server] must be a port, from 1 to 65535, or 0 for any"),
        (f"{BEGIN}[server]\n[mesh]\nnodes = ['A']\n", "4: there is either [server] or [mesh], not both"),
        (f"{BEGIN}[mesh]\n", "3: nodes of [mesh] are said in one way: domains_file"),
        (f"{BEGIN}[mesh]\nservers = {{ A = 'x' }}\n", '3: the address of server A must be like "127.0.0.1:9001", not \'x\''),
        (f"{BEGIN}[mesh]\nnodes = ['A', 'B']\n{TUG}", "5: federate 'tug' needs at = …: at which node of [mesh] it joins;"),
        (f"{BEGIN}[mesh]\nnodes = ['Quay', 'B']\n{TUG}at = 'Quai'\n", "8: there is no node Quai; did you mean Quay?"),
        (f"{BEGIN}{TUG}at = 'A'\n", "6: federate 'tug' is at a node, and there is no [mesh]; leave `at` out"),
        (f"{BEGIN}{TUG}host = 'A'\n", "6: host names a machine of [hosts], and there is no [hosts]"),
        (f"{BEGIN}[hosts]\nA = '1.2.3.4'\n[server]\nhost = 'A'\n", "5: [server] needs port = … with [hosts]"),
        (f"{BEGIN}[hosts]\nA = '1.2.3.4'\n[server]\nhost = 'A'\nport = 9\n{TUG}", "8: federate 'tug' needs host = …: on which"),
        (f"{BEGIN}{TUG}comand = 'x'\n", "6: federate 'tug' has no key 'comand'; did you mean command?"),
        (f"{BEGIN}[[federate]]\nname = 'x'\n", "3: federate 'x' needs command = …: what is run, like \"python tug.py\""),
        (f"{BEGIN}[[federate]]\nname = 'x'\ncommand = \"a 'b\"\n", "5: command of federate 'x' must be a command"),
        (f"{BEGIN}{TUG}{TUG}", "7: there is a federate 'tug' already"),
        (f"{BEGIN}{TUG}after = 'tower'\n", "6: after of federate 'tug': there is no federate 'tower'; there is tug"),
        (f"{BEGIN}{TUG}after = 'tug'\n", "6: after of federate 'tug': it would wait for itself"),
        (
            f"{BEGIN}{TUG}after = 'b'\n[[federate]]\nname = 'b'\ncommand = 'x'\nafter = {{ ended = 'tug' }}\n",
            "6: nobody of these can start: tug waits for b, which waits for tug",
        ),
        (f"{BEGIN}{TUG}after = {{ log = {{ tug = '(' }} }}\n", "6: log of after of federate 'tug' must be a table"),
        (f"{BEGIN}{TUG}ends = 'never'\n", '6: ends of federate \'tug\' must be "failure" or "run" or "nothing", not \'never\''),
        (f"{BEGIN}{TUG}count = 2\njoins = 'a'\n", "7: federate 'tug' has a count, and each joins by a name of its own"),
        (f"{BEGIN}name = 'x'\n", "3: cannot overwrite a value"),
        ("[federation\n", "1: expected ']' at the end of a table declaration"),
    ],
)  # fmt: skip
def test_faults_are_told_with_their_line(text: str, said: str, tmp_path: Path) -> None:
    """And nothing else is told with them."""
    plan, errors = examine_federation_file(_read(tmp_path, text))
    assert plan is None
    assert str(errors[0]).startswith(f"{tmp_path}/harbour.toml:{said.format(folder=tmp_path)}" if "{folder}" in said
                                     else f"{tmp_path}/harbour.toml:{said}")  # fmt: skip
    assert len(errors) == 1


def test_of_many_faults_the_first_is_told_and_how_to_see_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "harbour.toml"
    file.write_text(f"{BEGIN}{TUG}cont = 2\nat = 'A'\n")
    with pytest.raises(
        FederationFileError, match=r"'cont'; did you mean count\? \(1 more: `weft run --check"
    ):
        read_federation_file(Source(str(file), file.read_bytes()))
    assert main(["run", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"weft: {file}:6: federate 'tug' has no key 'cont'")
    assert main(["run", "--check", str(file)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_it_is_seen_which_kind_of_file_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the tables; a flag of the one kind is refused for the other."""
    domains = '[servers]\nA = "127.0.0.1:9"\n[domains]\nD = ["A"]\n'
    assert not is_federation_file(domains.encode())
    assert is_federation_file(BEGIN.encode())
    assert is_federation_file(b"  [[ federate ]]\nname")
    for name, text in (("domains.toml", domains), ("harbour.toml", BEGIN)):
        (tmp_path / name).write_text(text)
    assert main(["run", str(tmp_path / "domains.toml"), "--check"]) == 2
    assert "domains.toml is a domains file; that is for federation files" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "harbour.toml"), "--federate", "A=x"]) == 2
    assert "--federate: " in (said := capsys.readouterr().err)
    assert "harbour.toml is a federation file, which says that itself" in said


def test_a_check_says_what_would_be_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, or one machine's part; a program that is not there is told with its line."""
    monkeypatch.chdir(tmp_path)
    text = f'{BEGIN}timeout = 9\n[hosts]\nleft = "10.0.0.1"\nright = "10.0.0.2"\n[server]\nhost = "left"\nport = 15199\n'
    text += f"{TUG}host = 'right'\ncount = 2\ntimeout = 3\nends = 'nothing'\n"
    (tmp_path / "harbour.toml").write_text(text)
    assert main(["run", "--check", "harbour.toml", "--host", "right"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "federation Harbour: no object models; at most 9 s",
        "no node on host right",
        "  tug-1  python tug.py 1 tug-1   (on right)",
        "           ends within 3 s",
        "           nobody waits for its end",
        "  tug-2  python tug.py 2 tug-2   (on right)",
        "           ends within 3 s",
        "           nobody waits for its end",
    ]
    assert main(["run", "--check", "harbour.toml", "--host", "left"]) == 0
    assert "server at 10.0.0.1, port 15199" in (said := capsys.readouterr().out)
    assert "no federates" in said
    assert main(["run", "--check", "harbour.toml", "--host", "rigth"]) == 1
    assert "it is not in [hosts]; did you mean right?" in capsys.readouterr().err
    (tmp_path / "harbour.toml").write_text(f"{BEGIN}[[federate]]\nname = 'x'\ncommand = './no-such'\n")
    assert main(["run", "harbour.toml"]) == 2
    assert "weft: harbour.toml:3: federate 'x': there is no program './no-such'" in capsys.readouterr().err


def test_what_programs_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where to join: `weft.join()`, clients in C++ and Java, and whatever the file says of it in braces."""
    monkeypatch.setenv("FEDPRO_CLIENT_SETTINGS", "asyncUpdates=true")
    text = f"{BEGIN}{TUG}environment = {{ SPEED = '3', WHERE = '{{host}} {{port}}' }}\n"
    plan = read_federation_file(_read(tmp_path, text))
    [tug] = plan.programs
    told = environment_of(plan, tug, "10.0.0.1:15164")
    assert {name: value for name, value in told.items() if name not in ("PATH", "PYTHONUNBUFFERED")} == {
        "WEFT_ADDRESS": "10.0.0.1:15164",
        "WEFT_FEDERATION": "Harbour",
        "WEFT_FEDERATE": "tug",
        "WEFT_FEDERATE_TYPE": "tug",
        "FEDPRO_CLIENT_SETTINGS": "connect.hostname=10.0.0.1,connect.port=15164,asyncUpdates=true",
        "SPEED": "3",
        "WHERE": "10.0.0.1 15164",
    }
    assert with_address("./tug --rti {address}", "h:1") == "./tug --rti h:1"
