"""`netclaim driver`: what it refuses before it starts anything."""

from pathlib import Path

import pytest

from netclaim.cli import main
from netclaim.cli.app import load_command

NAME = "a name of at most {} lower-case letters, digits, '-' and '.'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--driver-name", "CNI"], f"--driver-name: 'CNI' is not {NAME.format(63)}"),
        (["--driver-name", "a" * 64], f"--driver-name: '{'a' * 64}' is not {NAME.format(63)}"),
        (["--node-name", "kind_worker"], f"--node-name: 'kind_worker' is not {NAME.format(253)}"),
        (["--nri-index", "5"], "--nri-index: '5' must be two digits; for example 50"),
        (["--cni-timeout", "0"], "--cni-timeout: must be more than 0 seconds"),
        (["--cni-timeout", "nan"], "--cni-timeout: must be more than 0 seconds"),
        (["--prepare-budget", "-1"], "--prepare-budget: must be more than 0 seconds"),
        (["--pod-network", "10.244.1.7/24"], "--pod-network: 10.244.1.7/24 has host bits set"),
        (
            ["--shared-link", "eth0"],
            (
                "--shared-link: there is no such setting any more; links are shared by default; "
                "to say how many claims may have one, use --attachments, for example"
            ),
        ),
        (
            ["--attachments", "8", "--attachments", "eth1,eth2=2"],
            (
                "--attachments: 'eth1,eth2' is not the name of a link, such as eth1 or ens*; "
                "write each link by itself, for example eth1=10"
            ),
        ),
        (["--attachments", "0"], "--attachments: '0' is not a number from 1 to 4096; for example"),
        (["--attachments", "eth1="], "--attachments: '' is not a number from 1 to 4096"),
        (["--slots", "eth1=129"], "--slots: '129' is not a number from 1 to 128; for example"),
        (["--link-bandwidth", "fast"], "--link-bandwidth: 'fast' is not a quantity such as 10G"),
        (["--link-bandwidth", "eth1=1k"], "--link-bandwidth: '1k' is not between 1M and 10T bits"),
        (["--link-filter", "node.x"], "--link-filter: 1:5: undefined field 'x'"),
        (["--show-links", "true &&"], "--show-links: 1:8: expected a value, found the end"),
        (["--config", "/nowhere"], "/nowhere: cannot be read: No such file or directory"),
        (
            ["--metrics-address", "9178"],
            "--http-address: '9178' is not an address; for example 127.0.0.1:9178",
        ),
        (
            ["--http-address", "[::1]:70000"],
            "--http-address: '[::1]:70000' is not an address; for example 127.0.0.1:9178",
        ),
    ],
)
def test_a_bad_value_is_one_line_and_exit_code_2(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the option and says what is wanted."""
    with pytest.raises(SystemExit) as caught:
        main(["driver", "--node-name", "kind-worker", *options])
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"netclaim: {message}")


def test_every_option_has_a_variable_and_a_text() -> None:
    """A DaemonSet can set everything by its environment."""
    options = [option for option in load_command("driver").params if option.name != "help"]
    assert options
    for option in options:
        assert option.envvar, option.name
        assert option.help, option.name


def test_collection_without_a_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`netclaim driver gc` where no driver runs is one line, and exit code 1."""
    with pytest.raises(SystemExit) as caught:
        main(["driver", "gc", "--driver-name", "x.example.com", "--run-dir", str(tmp_path)])
    assert caught.value.code == 1
    path = tmp_path / "x.example.com/attach.sock"
    assert capsys.readouterr().err == (
        f"netclaim: no driver answers at {path}: No such file or directory\n"
    )


def test_help_of_collection(capsys: pytest.CaptureFixture[str]) -> None:
    """The driver's help names the command, which has a help of its own."""
    for words, said in (
        (["driver", "--help"], "`netclaim driver gc`"),
        (["driver", "gc", "--help"], "Usage: netclaim driver gc [OPTIONS]"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 0
        assert said in capsys.readouterr().out


def test_a_word_that_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The driver takes no other words."""
    with pytest.raises(SystemExit) as caught:
        main(["driver", "gx"])
    assert caught.value.code == 2
    assert "gx" in capsys.readouterr().err
