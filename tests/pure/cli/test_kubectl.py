"""netclaim as a plugin of kubectl: what it is called, and what it completes."""

import sys
import tomllib

import pytest

from netclaim.cli import kubectl
from tests.support.doc_pages import ROOT

RACK = str(ROOT / "examples" / "status" / "rack.yaml")


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the plugin as kubectl does, and return how it exits."""
    monkeypatch.setattr(sys, "argv", ["kubectl-netclaim", *arguments])
    with pytest.raises(SystemExit) as caught:
        kubectl.run()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_the_wheel_has_what_kubectl_looks_for() -> None:
    """Kubectl finds a plugin and its completions by the names of programs."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-netclaim"] == "netclaim.cli.kubectl:run"
    assert scripts["kubectl_complete-netclaim"] == "netclaim.cli.kubectl:complete"


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (("--help",), "kubectl netclaim [OPTIONS] COMMAND"),
        (("explain", "-h"), "kubectl netclaim explain [OPTIONS]"),
        (("status", "-h"), "kubectl netclaim status [OPTIONS]"),
    ],
)
def test_usage_is_kubectls(
    arguments: tuple[str, ...],
    usage: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Texts say what the user has typed."""
    assert exit_code(monkeypatch, *arguments) == 0
    assert capsys.readouterr().out.startswith(f"Usage: {usage}")


@pytest.mark.parametrize(
    ("arguments", "head"),
    [
        (("-f", RACK), "error: pod default/batch"),
        (("links", "-f", RACK), "warning: device rack-2/eth1"),
        (("node/rack-1", "-f", RACK), "NODE "),
        (("status", "nodes", "-f", RACK), "warning: node rack-3"),
    ],
)
def test_without_a_command_it_is_status(
    arguments: tuple[str, ...],
    head: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Views, names and options alone are those of netclaim status."""
    assert exit_code(monkeypatch, *arguments) == 0
    assert capsys.readouterr().out.startswith(head)


def test_a_command_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt command is not taken for something to show."""
    assert exit_code(monkeypatch, "exlpain") == 2
    told = 'netclaim: unknown command "exlpain"; did you mean "explain"?\n'
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("exp",), ["explain"]),
        (("status", ""), ["nodes", "links", "claims", "pods", "networks", "pools", "kubelet"]),
        (("status", "--all-d"), ["--all-drivers"]),
    ],
)
def test_completion(
    words: tuple[str, ...],
    offered: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What kubectl asks for is a line for each word, and that files are not to be offered."""
    for name in ("_NETCLAIM_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(name, "")  # so that what is set is taken back
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-netclaim", *words])
    kubectl.complete()
    assert capsys.readouterr().out.splitlines() == [*offered, ":4"]
