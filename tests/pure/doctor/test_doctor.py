"""Checks are run together, shown in order, and listed on their page; the command's ends."""

import asyncio
import io
import json
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from netclaim.cli import main
from netclaim.doctor.cluster.shipped import CLAIM_POLICIES, NODE_POLICIES, PLACES, RIGHTS, shipped
from netclaim.doctor.examine import run_checks
from netclaim.doctor.finding import Check, Finding, Outcome, Result, check, ok
from netclaim.doctor.registry import CLUSTER_CHECKS, NODE_CHECKS
from netclaim.doctor.show import as_json, show
from netclaim.kube import ForbiddenError
from netclaim.kube.errors import Status
from netclaim.screen import PlainScreen
from tests.support.doc_pages import ROOT, code, same_names, table

ALL: tuple[Check[Any], ...] = (*CLUSTER_CHECKS, *NODE_CHECKS)


def test_every_check_has_a_name_of_its_own() -> None:
    """Ids are unique, and each check says what it is and why it matters."""
    ids = [each.id for each in ALL]
    assert len(set(ids)) == len(ids)
    assert all(each.title and each.why and each.look.__doc__ for each in ALL)


@pytest.mark.parametrize(
    ("heading", "checks"),
    [("Checks of a cluster", CLUSTER_CHECKS), ("Checks of a node", NODE_CHECKS)],
)
def test_page_lists_the_checks(heading: str, checks: tuple[Check[Any], ...]) -> None:
    """docs/doctor.md has a row for each check, with the words of the command."""
    rows = table("doctor.md", heading)
    place = f"the table {heading!r} of docs/doctor.md"
    same_names([code(row["Check"]) for row in rows], [each.id for each in checks], place=place)
    by_id = {each.id: each for each in checks}
    for row in rows:
        one = by_id[code(row["Check"])]
        assert (row["What"], row["Why it matters"]) == (one.title, one.why)


@check("quick", "Quick", why="it is")
async def quick(_sight: object) -> Finding:
    """Return at once."""
    return ok("here")


@check("hangs", "Hangs", why="it does", seconds=0.01)
async def hangs(_sight: object) -> Finding:
    """Never return."""
    await asyncio.Event().wait()
    raise AssertionError


@check("mistaken", "Mistaken", why="it is")
async def mistaken(_sight: object) -> Finding:
    """Have a bug."""
    nothing: dict[str, str] = {}
    return ok(nothing["no such key"])


@check("refused", "Refused", why="it is")
async def refused(_sight: object) -> Finding:
    """Meet a refusal."""
    raise ForbiddenError(Status(403, "Forbidden", "nodes is forbidden: User x cannot list"))


async def test_each_check_has_a_result() -> None:
    """Whatever happens to one check, it has a result, and so have the others."""
    checks = (hangs, mistaken, quick, refused)
    results = await run_checks("node", checks, None)
    assert [each.id for each in results] == ["hangs", "mistaken", "quick", "refused"]
    assert [each.finding.outcome.value for each in results] == [
        "unknown",
        "unknown",
        "ok",
        "unknown",
    ]
    assert "no answer within" in results[0].finding.found
    assert "which is a bug: KeyError" in results[1].finding.found
    assert results[3].finding.found == "you may not use nodes"


def result(name: str, outcome: Outcome, remedy: str = "") -> Result:
    """A check that has ended."""
    return Result(
        "node", name, "Title", f"why {name}", Finding(outcome, f"found {name}", remedy), 0.1
    )


RESULTS = [
    result("bad", Outcome.ERROR, "mend it"),
    result("fine", Outcome.OK),
    result("doubtful", Outcome.WARNING, "look at it"),
]


def shown(*, verbose: bool) -> list[str]:
    """What is shown of the results."""
    out = io.StringIO()
    show(["the node n"], RESULTS, PlainScreen(out), verbose=verbose)
    return out.getvalue().splitlines()


def test_gravest_last() -> None:
    """A line for each check in order; then what to do, errors last; then the sum."""
    lines = shown(verbose=False)
    assert [line.split()[1] for line in lines[3:6]] == ["bad", "fine", "doubtful"]
    assert lines[8:14] == [
        "warning: doubtful: found doubtful",
        "    why: why doubtful",
        "    do:  look at it",
        "error: bad: found bad",
        "    why: why bad",
        "    do:  mend it",
    ]
    assert lines[-1] == "3 checks: 1 error, 1 warning, 1 ok"


def test_verbose() -> None:
    """With --verbose every check says why it matters, where it stands."""
    lines = shown(verbose=True)
    assert "    why: why fine" in lines
    assert lines.count("    do:  mend it") == 1


def test_json() -> None:
    """JSON has everything, and the counts of all outcomes."""
    found = json.loads(as_json(["the node n"], RESULTS))
    assert found["lookedAt"] == ["the node n"]
    assert found["checks"][0]["remedy"] == "mend it"
    assert found["summary"] == {"ok": 1, "warning": 1, "error": 1, "unknown": 0, "skipped": 0}


def run(*arguments: str) -> int:
    """Run the command in this process; returns its exit code."""
    with pytest.raises(SystemExit) as caught:
        main(["doctor", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that is neither a node nor knows a cluster; its kubelet directory."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETCLAIM_KUBELET_DIR", str(tmp_path / "kubelet"))
    return tmp_path / "kubelet"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "netclaim: there is nothing to look at: no cluster is configured"),
        (("-o", "xml"), 'netclaim: --output: unknown format "xml"; write text, json, yaml, or a'),
        (("-o", "a.tgz", "-o", "b.tgz"), "netclaim: --output: at most one format and one file"),
        (("--kubeconfig", "/nowhere"), "netclaim: /nowhere"),
        (("--driver-name", "A_B", "--node"), "netclaim: --driver-name"),
        (("--output", "/nowhere/s.tgz", "--node"), "netclaim: /nowhere is not a directory"),
    ],
)
def test_cannot_look(
    nowhere: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], line: str
) -> None:
    """What cannot be looked at is one line and exit code 2."""
    assert run(*arguments) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(line)
    assert errors.count("\n") == 1


def test_unreachable_cluster(
    nowhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster that does not answer is one line and exit code 2."""
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    assert run("--cluster", f"--kubeconfig={tmp_path / 'config'}") == 2
    assert capsys.readouterr().err == (
        "netclaim: cannot reach the API server at http://127.0.0.1:1: Connection refused\n"
    )


def test_node_with_problems(
    nowhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine without a driver has errors: exit code 1; the archive is written, and not twice."""
    path = tmp_path / "support.tgz"
    options = (
        "--node",
        f"--state-dir={tmp_path}",
        f"--run-dir={tmp_path}",
        "--http-address=127.0.0.1:1",
    )
    assert run(*options, f"--output={path}", "--output=json") == 1
    said = capsys.readouterr()
    found = {each["id"]: each["outcome"] for each in json.loads(said.out)["checks"]}
    assert found["driver-live"] == found["kubelet-dirs"] == "error"
    with tarfile.open(path) as archive:
        files = archive.getnames()
    assert "netclaim-support/README.txt" in files
    assert said.err == f"netclaim: wrote {path} ({len(files)} files)\n"
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    assert run(*options, f"--output={path}") == 2
    assert capsys.readouterr().err.startswith(f"netclaim: {path} exists; choose another name")
    assert path.read_bytes() == before
    assert run(*options, f"--output={path}", "--force") == 1
    assert list(tmp_path.iterdir()) == [path]


def test_wheel_has_what_is_compared() -> None:
    """A wheel has the files of deploy/ where the doctor looks for them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    package = ROOT / "src" / "netclaim"
    assert included["deploy"] == f"netclaim/{PLACES[0].relative_to(package)}"
    assert all(shipped(name) for name in (RIGHTS, NODE_POLICIES, CLAIM_POLICIES))
