"""`netclaim try` refuses bad input in one line, before it starts anything."""

from pathlib import Path

import pytest

from netclaim.cli import main

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "manifests" / "poc-demo-a.yaml"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a file or directory with -f, or - for standard input"),
        (["-f", "/nowhere.yaml"], "/nowhere.yaml: No such file or directory"),
        (["-f", str(EXAMPLE), "--topology", "/nowhere.yaml"], "/nowhere.yaml: cannot be read"),
        (["-f", str(EXAMPLE), "--timeout", "0"], "--timeout: must be more than 0 seconds"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says what is wrong, and the exit code that the user must act."""
    with pytest.raises(SystemExit) as caught:
        main(["try", *arguments])
    assert caught.value.code == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"netclaim: {told}")
