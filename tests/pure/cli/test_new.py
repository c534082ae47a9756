"""`netclaim new driver`: the files work as they are, under any name, and replace nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from netclaim.cli import main
from netclaim.cli.starting import start_driver
from netclaim.errors import RequestError

NAME = "acme-lights.example.org"


def test_the_test_of_a_new_driver(tmp_path: Path) -> None:
    """The driver keeps the contract, says its own test."""
    program, manifest, test = start_driver(NAME, tmp_path / "new" / "here")
    assert [each.name for each in (program, manifest, test)] == [
        "acme_lights_driver.py",
        "acme-lights.yaml",
        "test_acme_lights_driver.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", str(test)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_nothing_of_the_starter_stays(tmp_path: Path) -> None:
    """Every name in the files is the new driver's."""
    texts = [path.read_text() for path in start_driver(NAME, tmp_path)]
    assert not any("starter" in text.lower() for text in texts)
    assert all(NAME in text or "AcmeLights" in text for text in texts)


def test_what_the_command_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lists the files and how to run them; again, it replaces nothing."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["new", "driver", "lamp.example.com"])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "--driver-program lamp.example.com=lamp/lamp_driver.py -f lamp/lamp.yaml" in said
    (tmp_path / "lamp" / "lamp.yaml").write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main(["new", "driver", "lamp.example.com"])
    assert ended.value.code == 2
    assert "lamp/lamp_driver.py exists already" in capsys.readouterr().err
    assert (tmp_path / "lamp" / "lamp.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Lamp", "is not a name of at most 63 lower-case letters"),
        ("l" * 64, "is not a name of at most 63"),
        ("../lamp", "is not a name of at most 63"),
        ("9lives.example.com", "begins with a digit"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, name: str, said: str) -> None:
    """A name that no driver can have leaves no file behind."""
    with pytest.raises(RequestError, match=said):
        start_driver(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_only_drivers_can_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is refused in one line."""
    with pytest.raises(SystemExit) as ended:
        main(["new", "pod", "lamp.example.com"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == 'netclaim: "pod" is not among what can be made: driver\n'
