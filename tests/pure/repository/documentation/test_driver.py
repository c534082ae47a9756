"""docs/driver.md lists the flags that the command has and the events that the code logs."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from netclaim.chained import program_path
from netclaim.cli.app import load_command
from netclaim.framework import Settings
from netclaim.framework.process.node_places import NodePlaces
from netclaim.kubelet import PluginSockets
from netclaim.network.settings import declared
from scripts import driver_page
from tests.support.doc_pages import ROOT, code, same_names, section, table

PAGE: Final = "driver.md"
SOURCE: Final = ROOT / "src" / "netclaim"
# What logs, but not in the driver: the embedded cluster, and the runtime's side of NRI.
ELSEWHERE: Final = (SOURCE / "local", SOURCE / "controller", SOURCE / "nri" / "runtime.py")
LEVELS: Final = {"exception": "error"}  # a method that is another level with a traceback
EXPLAIN: Final = "explain"  # telemetry.logs: warning, or error for a bug
METHODS: Final = frozenset({"debug", "info", "warning", "error", "exception"})


def options() -> dict[str, Any]:
    """The command's options by their flags, but for --help."""
    found = {option.opts[0]: option for option in load_command("driver").params}
    return {flag: option for flag, option in found.items() if flag != "--help"}


def default_of(flag: str, value: object) -> str:
    """How the page writes a default."""
    if flag == "--node-name":
        return "the host's name"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(f"`{each}`" for each in value)
    return "none" if value in (None, "") else f"`{value}`"


def events_logged() -> dict[str, set[str]]:
    """Every event that the driver's code logs, with its levels."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        if not any(path.is_relative_to(other) for other in ELSEWHERE):
            for event, level in _events_in(ast.parse(path.read_text())):
                found[event].add(level)
    return dict(found)


def _events_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="log") | ast.Attribute(attr="_log"), attr=method
                ),
                args=[ast.Constant(value=str(event)), *_],
            ) if method in METHODS:
                yield event, LEVELS.get(method, method)
            case ast.Call(func=ast.Name(id="explain"), args=[ast.Constant(value=str(event)), *_]):
                yield event, EXPLAIN


def test_the_tables_are_current() -> None:
    """What the page says of settings and metrics is what their declarations say."""
    assert (ROOT / "docs" / PAGE).read_text() == driver_page.text(), "run scripts/driver_page.py"


def test_every_flag_is_listed() -> None:
    """The table has each flag with its variable and its default."""
    listed = [
        (code(row["Flag"]), code(row["Environment variable"]), row["Default"])
        for row in table(PAGE, "Flags")
    ]
    same_names((flag for flag, _, _ in listed), options(), place=f'docs/{PAGE}, "Flags"')
    assert sorted(listed) == sorted(
        (flag, option.envvar, default_of(flag, option.default))
        for flag, option in options().items()
    )


def test_every_setting_has_its_key_and_how_it_changes() -> None:
    """The table says how the file calls it, and whether a change needs a restart."""
    listed = {
        code(row["Flag"]): (code(row["Key in the file"]), row["Change"])
        for row in table(PAGE, "Flags")
    }
    assert listed.pop("--config") == ("no", "restart")
    assert listed == {
        each.option: ("no" if each.never_in_file else each.key, "live" if each.live else "restart")
        for each in declared()
    }


def test_every_other_name_of_a_flag_is_named() -> None:
    """A flag's other names and its opposite are in the text."""
    text = section(PAGE, "Flags")
    for option in options().values():
        for name in (*option.opts[1:], *option.secondary_opts):
            assert f"`{name}`" in text


def test_every_log_event_is_listed() -> None:
    """The table has each event that is logged, and no other, in the order of the alphabet."""
    listed = [code(row["Event"]) for row in table(PAGE, "Log events")]
    same_names(listed, events_logged(), place=f'docs/{PAGE}, "Log events"')
    assert listed == sorted(listed)


def test_levels_of_log_events() -> None:
    """An event has the level in the table; those that a bug makes errors are named below it."""
    rest = section(PAGE, "Log events").rpartition("|\n")[2]
    logged = events_logged()
    for row in table(PAGE, "Log events"):
        event = code(row["Event"])
        explained = EXPLAIN in logged[event]
        plain = {"warning" if level == EXPLAIN else level for level in logged[event]}
        assert set(row["Level"].split(" or ")) == plain, f"{event} is logged as {plain}"
        assert (f"`{event}`" in rest) is explained, (
            f"{event}: what `explain` logs, and nothing else, is named below the table"
        )


def test_every_event_is_found() -> None:
    """Loggers are called `log`, and log under constant names, so that the list is whole.

    Only `explain` logs under a name that it was given.
    """
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(ROOT)
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Assign(targets=[target], value=ast.Call() as made):
                    logger = "get_logger(" in ast.unparse(made)
                    name = ast.unparse(target)
                    assert not logger or name in {"log", "self._log"}, (
                        f"{where}:{node.lineno}: call the logger log"
                    )
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id="log") | ast.Attribute(attr="_log"), attr=method
                    ),
                    args=[first, *_],
                ) if method in METHODS:
                    named = isinstance(first, ast.Constant)
                    assert named or path.name == "logs.py", (
                        f"{where}:{node.lineno}: the event is no constant"
                    )
                case _:
                    pass


def test_events_that_a_command_tells_to_look_for() -> None:
    """What `doctor` and `status` send somebody to the log for is logged there."""
    logged = events_logged()
    for path in (SOURCE / "controller").rglob("*.py"):
        logged |= {event: {level} for event, level in _events_in(ast.parse(path.read_text()))}
    words = "|".join({event.partition(".")[0] for event in logged})
    named = re.compile(rf"(?<![\w./-])(?:{words})\.[a-z_]+(?![\w/(.-])")
    texts = [
        (path, str(node.value))
        for package in ("doctor", "status", "survey", "explain", "ui")
        for path in (SOURCE / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = [(path, event) for path, text in texts for event in named.findall(text)]
    assert any(event == "retire.begun" for _, event in found)  # it finds what there is
    files = ("metadata.", "kubelet.sock")  # fields and files, which look like events
    strange = [each for each in found if each[1] not in logged and not each[1].startswith(files)]
    assert strange == []


def test_every_place_is_listed() -> None:
    """The sockets and files that the runtime and kubelet share with the driver are in the table."""
    listed = {code(row["Path"]).rstrip("/") for row in table(PAGE, "Files and sockets")}
    settings = Settings(node_name="", kubelet_dir=Path("/KUBELET"), run_dir=Path("/RUN"))
    places = NodePlaces.of(settings, "DRIVER")
    sockets = PluginSockets.under(settings.kubelet_dir, "DRIVER")
    paths = (
        *(places.socket, places.plans, places.seat, places.program, places.kubelet_state),
        *(sockets.registration, sockets.dra),
    )
    assert {str(path).removeprefix("/") for path in paths} <= listed
    assert f"CNI-PROGRAM/{program_path().name}" in listed
