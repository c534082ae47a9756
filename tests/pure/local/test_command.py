"""`netclaim try` refuses bad input in one line, before it starts anything."""

from pathlib import Path

import pytest

from netclaim.cli import main
from netclaim.cli.options.trial import TrialSettings
from netclaim.network.policy.levels import Level
from tests.support.network_parts import DRIVER

EXAMPLE = Path(__file__).parents[3] / "examples" / "manifests" / "poc-demo-a.yaml"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a file or directory with -f, or - for standard input"),
        (["-f", "/nowhere.yaml"], "/nowhere.yaml: No such file or directory"),
        (["-f", str(EXAMPLE), "--topology", "/nowhere.yaml"], "/nowhere.yaml: cannot be read"),
        (["-f", str(EXAMPLE), "--config", "/nowhere.yaml"], "/nowhere.yaml: cannot be read"),
        (["-f", str(EXAMPLE), "--link-filter", "node.x"], "--link-filter: 1:5: undefined field"),
        (["-f", str(EXAMPLE), "--driver-name", "BAD_NAME"], "--driver-name: 'BAD_NAME' is not a"),
        (["-f", str(EXAMPLE), "--shared-link", "a"], "--shared-link: there is no such setting any"),
        (["-f", str(EXAMPLE), "--attachments", "a,b=2"], "--attachments: 'a,b' is not the name"),
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


def test_drivers_get_what_the_user_said_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the file counts where no option speaks; the machine's environment never does."""
    monkeypatch.setenv("NETCLAIM_POLICY", "privileged")
    file = tmp_path / "config.yaml"
    file.write_text("policy: restricted\nattachments: ['9']\n")
    settings = TrialSettings(config=file, attachments=["eth1=2", "3"], link_filter="true")
    assert settings.policy_level([DRIVER]) is Level.RESTRICTED
    assert set(settings.flags()) == {
        f"--config={file}",
        "--attachments=eth1=2",
        "--attachments=3",
        "--link-filter=true",
    }
    assert TrialSettings().policy_level([DRIVER]) is Level.BASELINE
    assert TrialSettings().flags() == ()
