"""What the lab refuses, before anything is started: one line, exit code 2, nothing left."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.cluster import Lab
from lab.errors import UsageError
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY

CHECKOUT = Path(__file__).parents[3]
NAME = f"refuse-{os.getpid()}"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The lab's command as a user gives it."""
    return subprocess.run(
        [sys.executable, "-m", "lab", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "NETCLAIM_LAB_NAME": NAME, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    """Whatever was refused, nothing of the lab exists afterwards."""
    yield
    assert Lab(NAME, Progress()).leftovers() == []


def test_busy_port() -> None:
    """A port that is taken is named, with the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("up", "--port", str(port))
    assert done.returncode == 2
    assert done.stderr == (
        f"lab: port {port} is in use on 127.0.0.1; choose another with --port, "
        f"or 0 for any free one\n"
    )


def test_bad_topology(tmp_path: Path) -> None:
    """A topology with a node that is not there is refused."""
    file = tmp_path / "t.yaml"
    file.write_text(DEFAULT_TOPOLOGY.read_text().replace("{kind-worker: eth1}", "{gone: eth1}"))
    done = run("up", "--topology", str(file))
    assert done.returncode == 2
    assert done.stderr.startswith(f'lab: {file}:12: networks[1].links.gone: unknown node "gone"; ')
    assert done.stderr.count("\n") == 1


def test_cards_of_the_machine(tmp_path: Path) -> None:
    """The lab's nodes cannot borrow them, as those of `netclaim try` can."""
    file = tmp_path / "t.yaml"
    card = "{kind-worker: {name: ens1f0, ofMachine: true}}"
    file.write_text(DEFAULT_TOPOLOGY.read_text().replace("{kind-worker: eth1}", card))
    done = run("up", "--topology", str(file))
    assert (
        done.stderr == f"lab: {file}: the lab borrows no cards of this machine; remove ofMachine\n"
    )
    assert done.returncode == 2


def test_missing_binary(tmp_path: Path) -> None:
    """Ready-made binaries that are not there are named."""
    done = run("up", NETCLAIM_LAB_BIN=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"lab: missing binary in {tmp_path}: kube-apiserver, ")
    assert done.stderr.count("\n") == 1


def test_no_root() -> None:
    """Without root the lab says so, whatever the command."""
    lab = Lab(NAME, Progress())
    os.seteuid(65534)
    try:
        with pytest.raises(UsageError, match="the lab needs root: run it with sudo"):
            lab.up(DEFAULT_TOPOLOGY)
        with pytest.raises(UsageError, match="the lab needs root: run it with sudo"):
            lab.down()
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("command", ["kubectl get nodes", "reboot kind-worker", "node a -- true"])
def test_not_up(command: str) -> None:
    """Commands for a running lab say how to start one."""
    done = run(*command.split())
    assert done.returncode == 2
    assert done.stderr == f"lab: the lab '{NAME}' is not up; run `make lab-up` first\n"


def test_bad_name() -> None:
    """A lab's name that would not fit a path is refused."""
    done = run("up", "--name", "../evil")
    assert done.returncode == 2
    assert done.stderr == "lab: '../evil' is not a name for a lab; use up to 20 of a-z, 0-9 and -\n"


def test_unknown_command() -> None:
    """A command that is none is refused with exit code 2."""
    assert run("explode").returncode == 2
