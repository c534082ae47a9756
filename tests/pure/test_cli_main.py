"""The command line itself: help, version, and how errors end."""

import subprocess
import sys

import pytest

from netclaim import __version__
from netclaim.cli import COMMANDS, build_app, load_command, main
from netclaim.errors import HostError, NetclaimError, PeerError, RequestError

# Raised by a command that the tests put in the place of the whole command line.
FAULTS: list[tuple[BaseException, str, int]] = [
    (RequestError("wrong", path=("spec", "x")), "netclaim: spec.x: wrong\n", 2),
    (HostError("no privilege"), "netclaim: no privilege\n", 2),
    (PeerError("no answer"), "netclaim: no answer\n", 1),
    (NetclaimError("two\nlines"), "netclaim: two lines\n", 2),
    (
        ExceptionGroup("tasks", [PeerError("one"), ExceptionGroup("inner", [PeerError("two")])]),
        "netclaim: one\nnetclaim: two\n",
        1,
    ),
    (
        ExceptionGroup("tasks", [PeerError("one"), RequestError("two")]),
        "netclaim: one\nnetclaim: two\n",
        2,
    ),
]


def exit_code(*arguments: str) -> int:
    """Run netclaim in this process and return how it exits."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize(("fault", "line", "code"), FAULTS)
def test_errors_are_lines(
    fault: BaseException,
    line: str,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error of ours is one line on stderr, and the exit code says who must act."""

    def failing(**_: object) -> None:
        raise fault

    monkeypatch.setattr("netclaim.cli.build_app", lambda: failing)
    assert exit_code() == code
    assert capsys.readouterr().err == line


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody raised on purpose is not dressed up."""

    def failing(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("netclaim.cli.build_app", lambda: failing)
    with pytest.raises(ZeroDivisionError):
        main([])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints the package's version."""
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"netclaim {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--help names each command with its first line."""
    assert exit_code("--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, summary in COMMANDS.items():
        assert f"{name} {summary}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_says_the_same_of_itself(name: str) -> None:
    """A command's own help begins with the line that the overview shows of it."""
    assert load_command(name).help.splitlines()[0] == COMMANDS[name]


def test_an_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that does not exist is a usage error."""
    assert exit_code("upgrad") == 2
    assert "No such command 'upgrad'" in capsys.readouterr().err


def test_the_app_is_built_anew() -> None:
    """Each call builds its own command line: nothing is shared between runs."""
    assert build_app() is not build_app()


@pytest.mark.parametrize("module", ["netclaim", "netclaim.cli"])
def test_as_modules(module: str) -> None:
    """`python -m netclaim` runs it too, and its help imports no command and no client."""
    program = (
        "import runpy, sys; sys.argv = ['x', '--help']\n"
        f"try: runpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
        "except SystemExit: pass\n"
        "print(sorted({'aiohttp', 'rich', 'yaml', 'netclaim.cli.upgrade'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: netclaim")
    assert done.stdout.endswith("[]\n")
