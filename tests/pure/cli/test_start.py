"""What a command line imports: help and the version need none of what a command works with."""

import subprocess
import sys

import pytest

from netclaim.cli import COMMANDS

# Each takes longer to import than all the rest of `--help`.
HEAVY = frozenset(
    {"aiohttp", "asyncio", "google", "grpclib", "msgspec", "opentelemetry", "prometheus_client"}
    | {"pydantic", "rich", "structlog", "yaml"}
)
PROGRAM = """
import sys
from netclaim.cli import main
try:
    main(sys.argv[1:])
finally:
    sys.stderr.write(" ".join(sys.modules))
"""
# What declares options, or writes; in `controller`, `local` and `network`, constants.
DECLARING = frozenset(
    {"cli", "controller", "errors", "local", "manifests", "network", "paths", "plain_text"}
    | {"screen"}
)
# Their options are declared with the settings of the driver.
WITH_SETTINGS = frozenset({"driver", "doctor", "try"})
# Of these its options list the versions of the API, whose tables are tuples of msgspec.
WITH_VERSIONS = frozenset({"upgrade"})


def imported(*words: str) -> set[str]:
    """Return the packages and the modules of ours that a command line has imported at its end."""
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        *((name, "--help") for name in COMMANDS if name not in WITH_SETTINGS | WITH_VERSIONS),
    ],
)
def test_help_is_quick(words: tuple[str, ...]) -> None:
    """The version and the help import no library but typer, and nothing that a command does."""
    modules = imported(*words)
    assert "typer" in modules
    assert not modules & HEAVY
    own = {name.split(".")[1] for name in modules if name.startswith("netclaim.")}
    assert own <= DECLARING


@pytest.mark.parametrize("words", [("driver", "--help"), ("driver", "gc", "--help")])
def test_settings_without_the_driver(words: tuple[str, ...]) -> None:
    """Help that lists settings does not import the driver, nor what it serves with."""
    modules = imported(*words)
    assert "netclaim.network.settings" in modules
    assert not modules & {"aiohttp", "grpclib", "prometheus_client", "pydantic"}
    assert not modules & {"netclaim.framework.serving", "netclaim.network.driver", "netclaim.kube"}


def test_a_driver_without_typer() -> None:
    """A driver does not keep in memory what only reads command lines, or only serves others."""
    program = PROGRAM.replace("main", "_driver")
    command = [sys.executable, "-c", program, "--node-name=node"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = set(done.stderr.split())
    assert "netclaim.framework.serving" in modules
    assert not modules & {"click", "pydantic", "pygments", "rich", "typer", "netclaim.cli.app"}
    own = {name.split(".")[1] for name in modules if name.startswith("netclaim.")}
    assert own.isdisjoint({"check", "controller", "doctor", "explain", "local", "schema", "status"})
