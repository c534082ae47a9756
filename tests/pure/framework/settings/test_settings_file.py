"""Settings come from flags, variables, a file and defaults, in this order; mistakes have a line."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from netclaim.errors import RequestError, faults_in
from netclaim.framework import Settings, settings_from_command_line
from netclaim.framework.settings.declare import declared_in, setting
from netclaim.framework.settings.sources import Sources
from netclaim.network.settings import check_together
from netclaim.network.settings import declared as declared_of_network


@dataclass(frozen=True)
class Example:
    """Settings of every form."""

    word: str = setting("w", "A word.", variable="X_WORD")
    wait_s: float = setting(1.0, "A time.", variable="X_WAIT")
    place: Path = setting(Path("/p"), "A place.", variable="X_PLACE")
    lit: bool = setting(False, "On or off.", variable="X_LIT")
    names: tuple[str, ...] = setting(
        (),
        "Names.",
        variable="X_NAME",
        option="--name",
        form="repeated",
        example="[a]",
        read=tuple,
    )
    here: str = setting("", "Local.", never_in_file="it varies", variable="X_HERE")


TABLE = declared_in(Example)


def faults_of(path: Path, text: str) -> list[str]:
    """What is wrong with a file, line by line."""
    path.write_text(text)
    try:
        Sources(TABLE, {}, path).read()
    except RequestError as error:
        return [str(error)]
    except ExceptionGroup as group:
        return [str(fault) for fault in faults_in(group)]
    return []


def test_each_source_goes_before_the_next(tmp_path: Path) -> None:
    """A flag or a variable, given alike, goes before the file, and that before the default."""
    file = tmp_path / "f.yaml"
    file.write_text("word: file\nwait: 3\n")
    resolved = Sources(TABLE, {"word": "flag"}, file).read()
    assert (resolved["word"], resolved["wait_s"], resolved["place"]) == ("flag", 3, Path("/p"))
    assert resolved.overruled == ("word",)


def test_a_key_is_the_option_in_camel_case() -> None:
    """The unit of a field is left out, and an option of another name decides."""
    assert [each.key for each in TABLE] == ["word", "wait", "place", "lit", "name", "here"]
    assert {each.key for each in declared_in(Settings)} >= {
        "attachTimeout",
        "httpAddress",
        "stateDir",
    }


def test_a_file_of_every_form(tmp_path: Path) -> None:
    """Values become what the fields are; null is as good as left out."""
    file = tmp_path / "f.yaml"
    file.write_text(
        "apiVersion: driver.netclaim.dev/v1alpha1\nkind: DriverConfiguration\n"
        "word: null\nwait: 2.5\nplace: /q\nlit: true\nname: [a, b]\n"
    )
    assert Sources(TABLE, {}, file).read().values == {
        "word": "w",
        "wait_s": 2.5,
        "place": Path("/q"),
        "lit": True,
        "names": ("a", "b"),
        "here": "",
    }


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    """Nothing but comments is fine too."""
    file = tmp_path / "f.yaml"
    for text in ("", "# nothing yet\n"):
        file.write_text(text)
        assert Sources(TABLE, {}, file).read().values == Sources(TABLE, {}).read().values


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Word: x", '1: unknown key "Word"; did you mean "word"?'),
        ("\nxyzzy: 1", '2: unknown key "xyzzy"; docs/driver.md lists the settings'),
        ("word: 5", '1: word: must be a string; write "5"'),
        ("word: [a]", "1: word: must be a string"),
        ("wait: 30s", "1: wait: must be a number of seconds"),
        ("wait: true", "1: wait: must be a number of seconds"),
        ("lit: 1", "1: lit: must be true or false"),
        ("name: a", "1: name: must be a list of strings; write [a]"),
        ("name: [1]", "1: name: must be a list of strings; for example [a]"),
        ("name: !!set {a, b}", "1: name: must be a list of strings; for example [a]"),
        ("here: x", "1: here: cannot be set in a file, since it varies; use --here or $X_HERE"),
        ("kind: Other", "1: kind: must be DriverConfiguration, not 'Other'"),
        ("- a", "1: not a map of settings; for example `policy: restricted`"),
        ("word: a\nword: b", "2: duplicate key 'word'"),
        ("word: a\n---\nword: b", "2: there is a second document; this file must have only one"),
        ("word: {{ .x }}", "1: found unhashable key; is it a Helm template? Render it first"),
    ],
)
def test_a_mistake_has_its_line(text: str, fault: str, tmp_path: Path) -> None:
    """The file, the line, the key, and what to write."""
    file = tmp_path / "f.yaml"
    assert faults_of(file, text) == [f"{file}:{fault}"]


def test_all_mistakes_are_found_at_once(tmp_path: Path) -> None:
    """One line each, in the order of the file."""
    file = tmp_path / "f.yaml"
    found = faults_of(file, "wait: x\nword: 1\nunheard: of")
    assert [line.split(":")[1] for line in found] == ["1", "2", "3"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It was asked for, so it must be there."""
    with pytest.raises(RequestError, match="cannot be read: No such file"):
        Sources(TABLE, {}, tmp_path / "none.yaml").read()


def test_contradictions_name_the_line(tmp_path: Path) -> None:
    """Settings against each other are checked too, and the one in the file is named by its line."""
    file = tmp_path / "f.yaml"
    file.write_text("policyCeiling: restricted\npolicy: privileged\n")
    with pytest.raises(RequestError, match=rf"{file}:2: policy: privileged is higher"):
        Sources(declared_of_network(), {}, file, check=check_together).read()
    with pytest.raises(RequestError, match=r"^--policy: baseline is higher"):
        Sources(declared_of_network(), {"policy": "baseline"}, file, check=check_together).read()


def test_an_authors_driver_has_all_three(tmp_path: Path) -> None:
    """Flags, variables and a file, in the same order, and the file by its own variable."""
    file = tmp_path / "f.yaml"
    file.write_text("stateDir: /file\nnriIndex: '10'\nlogLevel: error\n")
    environ = {
        "NODE_NAME": "n",
        "NETCLAIM_CONFIG": str(file),
        "NETCLAIM_NRI_INDEX": "20",
        "NETCLAIM_LOG_LEVEL": "warning",
        "NETCLAIM_PREPARE_BUDGET": "7.5",
    }
    given = settings_from_command_line("x", ["--log-level=debug"], environ)
    assert given == Settings(
        node_name="n",
        state_dir=Path("/file"),
        nri_index="20",
        log_level="debug",
        prepare_budget_s=7.5,
    )


def test_a_flag_that_says_the_default_goes_before_the_file(tmp_path: Path) -> None:
    """What was said counts, not whether it differs."""
    file = tmp_path / "f.yaml"
    file.write_text("logLevel: error\n")
    argv = [f"--config={file}", "--log-level=info", "--node-name=n"]
    assert settings_from_command_line("x", argv, {}).log_level == "info"


@pytest.mark.parametrize(
    ("argv", "environ", "line"),
    [
        (["--nri-index=5"], {}, "--nri-index: '5' must be two digits; for example 50"),
        ([], {"NETCLAIM_PREPARE_BUDGET": "long"}, "$NETCLAIM_PREPARE_BUDGET: must be a number"),
        ([], {"NETCLAIM_CONFIG": "/nowhere"}, "/nowhere: cannot be read: No such file"),
    ],
)
def test_an_authors_driver_refuses_in_a_line(
    argv: list[str], environ: dict[str, str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program ends with exit code 2 before anything starts."""
    with pytest.raises(SystemExit) as caught:
        settings_from_command_line("x", argv, environ)
    assert caught.value.code == 2
    assert line in capsys.readouterr().err


def test_no_setting_is_forgotten() -> None:
    """Every field of Settings is declared, so that it can be said everywhere."""
    assert [each.name for each in declared_in(Settings)] == list(Settings.__dataclass_fields__)
