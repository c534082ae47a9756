"""Drivers beside netclaim's own are read strictly."""

from pathlib import Path

import pytest

from netclaim.errors import RequestError
from netclaim.local.input.driver_programs import read_programs


def test_programs(tmp_path: Path) -> None:
    """A program has a name, an absolute path and its own options, as a shell would split them."""
    program = tmp_path / "gpu.py"
    program.touch()
    assert read_programs([f"gpu.example.com={program} --gpus 2 --name 'a b'", f"b={program}"]) == {
        "gpu.example.com": (str(program), "--gpus", "2", "--name", "a b"),
        "b": (str(program),),
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["gpu.py"], "is not NAME=COMMAND"),
        (["gpu="], "is not NAME=COMMAND"),
        (["GPU=/bin/sh"], "is not NAME=COMMAND"),
        (["gpu=/bin/sh 'a"], "is not NAME=COMMAND"),
        (["gpu=/nonexistent/gpu.py"], "there is no program /nonexistent/gpu.py"),
        (["gpu=/bin/sh", "gpu=/bin/sh"], "driver gpu is given twice"),
    ],
)
def test_mistakes(given: list[str], message: str) -> None:
    """What cannot be run is refused with the option's name."""
    with pytest.raises(RequestError, match=message) as refusal:
        read_programs(given)
    assert "--driver-program" in str(refusal.value)
