"""The command line itself: help, version, and how errors end."""

import importlib
import keyword
import pkgutil
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from netclaim import __version__
from netclaim.cli import COMMANDS, FURTHER, commands, main
from netclaim.cli.app import build_app, load_command
from netclaim.errors import HostError, NetclaimError, PeerError, RequestError
from tests.support.doc_pages import DOCS, same_names

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

    monkeypatch.setattr("netclaim.cli.app.build_app", lambda: failing)
    assert exit_code() == code
    assert capsys.readouterr().err == line


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody raised on purpose is not dressed up."""

    def failing(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("netclaim.cli.app.build_app", lambda: failing)
    with pytest.raises(ZeroDivisionError):
        main([])


@pytest.mark.parametrize("word", ["--version", "version"])
def test_version(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The package's version is printed, whether it is asked for as an option or as a command."""
    assert exit_code(word) == 0
    assert capsys.readouterr().out == f"netclaim {__version__}\n"


@pytest.mark.parametrize("words", [(), ("check",), ("driver", "gc")])
def test_help_as_a_command(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """`help` is --help, of every command."""
    assert exit_code("help", *words) == 0
    asked = capsys.readouterr().out
    assert exit_code(*words, "--help") == 0
    assert capsys.readouterr().out == asked


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--help names each command with its first line."""
    assert exit_code("--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, summary in COMMANDS.items():
        assert f"{name} {summary}" in shown


@pytest.mark.parametrize("words", [(), ("driver", "gc"), *((name,) for name in COMMANDS)])
def test_short_option_for_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """-h is --help, of every command."""
    assert exit_code(*words, "-h") == 0
    short = capsys.readouterr().out
    assert short.startswith(f"Usage: {' '.join(('netclaim', *words))} ")
    assert exit_code(*words, "--help") == 0
    assert capsys.readouterr().out == short


def test_completion(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell is offered commands, and the options of each; the commands' help stays its own."""
    monkeypatch.setenv("_NETCLAIM_COMPLETE", "complete_bash")
    for words, offered in (("netclaim exp", "explain"), ("netclaim check --rec", "--recursive")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        assert exit_code() == 0
        assert capsys.readouterr().out.split() == [offered]
    monkeypatch.delenv("_NETCLAIM_COMPLETE")
    assert exit_code("--help") == 0
    assert "--show-completion" in capsys.readouterr().out
    assert exit_code("check", "--help") == 0
    assert "--show-completion" not in capsys.readouterr().out


def ending(where: str, *words: str) -> tuple[int, str]:
    """Run netclaim in a shell with its output somewhere; returns its exit code and its stderr."""
    program = shlex.join([sys.executable, "-m", "netclaim", *words])
    line = f"{program} {where}" if where.startswith(">") else f"({program}; echo $? >&3) {where}"
    done = subprocess.run(
        ["bash", "-c", f"exec 3>&1; {line}"], capture_output=True, text=True, check=False
    )
    said = done.stdout.strip()
    return int(said) if said.isdigit() else done.returncode, done.stderr


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("check", "-h")])
@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        (">/dev/full", 1, "netclaim: standard output: No space left on device\n"),
        (">&-", 1, "netclaim: standard output is closed\n"),
        (">/dev/null 2>&-", 0, ""),
    ],
)
def test_output_that_cannot_be_written(
    words: tuple[str, ...], where: str, code: int, said: str
) -> None:
    """A full disk and a closed output are one line and exit code 1."""
    assert ending(where, *words) == (code, said)


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    """A reader that has seen enough ends a command quietly, however much was to come."""
    many = tmp_path / "many.yaml"
    wrong = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nonsense: 1}\n---\n"
    many.write_text(wrong * 1000)  # far more findings than a pipe holds
    code, said = ending("| head -n 1 >/dev/null", "check", "-f", str(many))
    assert (code, said) == (141, "")
    code, said = ending("| true", "--version")
    assert code in (0, 141)
    assert said == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_says_the_same_of_itself(name: str) -> None:
    """A command's own help begins with the line that the overview shows of it."""
    first = load_command(name).help.splitlines()[0]
    place = "COMMANDS in cli/__init__.py and the first line of the docstring of its `command`"
    assert first == COMMANDS[name], f"{name}: write the same in {place}"


def test_every_command_can_be_called() -> None:
    """Each module with a function `command` is a row of one of the two tables."""
    prefix = f"{commands.__name__}."
    modules = (module.name for module in pkgutil.iter_modules(commands.__path__, prefix))
    loaded = [importlib.import_module(name) for name in modules]
    there = {each.__name__ for each in loaded if hasattr(each, "command")}
    rows = (*COMMANDS, *FURTHER.values())
    named = {f"{prefix}{row}{'_' if keyword.iskeyword(row) else ''}" for row in rows}
    same_names(named, there, place="COMMANDS or FURTHER in cli/__init__.py")


# The page of each command.
PAGES = {
    "check": "check.md",
    "controller": "pod-networks.md",
    "convert": "convert.md",
    "demo": "local.md",
    "doctor": "doctor.md",
    "driver": "driver.md",
    "explain": "explain.md",
    "new": "framework.md",
    "status": "status.md",
    "try": "local.md",
    "ui": "ui.md",
    "upgrade": "upgrade.md",
}


def test_every_command_has_a_page() -> None:
    """A command is described by a page, which names it in its first paragraphs."""
    same_names(PAGES, COMMANDS, place="PAGES in test_cli_main.py, and its page to docs/")
    for name, page in PAGES.items():
        assert (DOCS / page).exists(), f"write docs/{page}, the page of netclaim {name}"
        opening = (DOCS / page).read_text().partition("\n## ")[0]
        assert f"`netclaim {name}`" in opening, f"docs/{page} does not begin with netclaim {name}"
    for words in FURTHER:
        named = f"`netclaim {' '.join(words)}`"
        page = PAGES[words[0]]
        assert named in (DOCS / page).read_text(), f"add {named} to docs/{page}"


@pytest.mark.parametrize("name", sorted(set(PAGES) - {"driver"}))
def test_every_option_of_a_command_is_on_its_page(name: str) -> None:
    """The options that users type are explained where the command is; the driver's are a table."""
    page = DOCS / PAGES[name]
    text = page.read_text() if page.exists() else ""
    options = [each for each in load_command(name).params if each.param_type_name == "option"]
    for option in options:
        shown = any(f"`{flag}{end}" in text for flag in option.opts for end in "` ")
        assert shown, f"add {option.opts[-1]} to docs/{PAGES[name]}"


def test_an_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that does not exist is a usage error; one that is nearly there is named."""
    assert exit_code("frobnicate") == 2
    assert "No such command 'frobnicate'" in capsys.readouterr().err
    assert exit_code("upgrad") == 2
    told = 'netclaim: unknown command "upgrad"; did you mean "upgrade"?\n'
    assert capsys.readouterr().err == told


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
        "heavy = {'aiohttp', 'rich', 'yaml', 'netclaim.cli.commands.upgrade'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: netclaim")
    assert done.stdout.endswith("[]\n")
