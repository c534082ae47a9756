"""`netclaim status` looks at an embedded cluster from another process, as root and as anybody."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.conftest import hear_interrupts
from tests.embedded.local.test_commands import CHECKOUT, EXAMPLES, as_nobody, python_for_all
from tests.embedded.local.test_commands import netclaim as run_netclaim

pytestmark = pytest.mark.embedded


def nothing() -> None:
    """Change nothing about who we are."""


@contextmanager
def kept_cluster(
    python: str, environment: Mapping[str, str], before: Callable[[], None]
) -> Iterator[str]:
    """A cluster with the first example, kept until the test ends; gives its process."""

    def prepare() -> None:
        hear_interrupts()
        before()

    files = map(str, (EXAMPLES.parent / "class.yaml", EXAMPLES / "storage.yaml"))
    process = subprocess.Popen(
        [python, "-m", "netclaim", "try", "--keep", "-f", *files],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, text=True,
        env={**os.environ, **environment}, cwd="/",
        preexec_fn=prepare,  # noqa: PLW1509 - no thread is at work here
    )  # fmt: skip
    assert process.stdout is not None
    try:
        with process.stdout as pipe:
            pid = ""
            for line in pipe:
                found = re.fullmatch(r"netclaim status --pid (\d+)\n", line)
                pid = found[1] if found else pid
                if "to stop it" in line:
                    break
            assert pid
            yield pid
            os.killpg(process.pid, signal.SIGINT)
            pipe.read()
        assert process.wait() == 130
    finally:
        process.kill()
        process.wait()


def test_of_a_root() -> None:
    """Another process shows who has which link, and explains; it leaves no trace in the cluster."""
    with kept_cluster(sys.executable, {}, nothing) as pid:
        done = run_netclaim("status", "pods", "--pid", pid, "-o", "json")
        assert done.stderr == ""
        (pod,) = json.loads(done.stdout)["pods"]
        assert (pod["name"], pod["state"], pod["node"]) == ("app", "Ready", "kind-worker")
        assert [one["ips"] for one in pod["interfaces"]] == [["10.10.1.2/24"]]
        done = run_netclaim("status", "--pid", pid, "--exit-code")
        assert done.returncode == 0
        assert "eth1 (default/app)" in done.stdout
        told = run_netclaim("explain", "pod/app", "--pid", pid)
        assert told.stdout.startswith("pod default/app: allocated: ")
    gone = run_netclaim("status", "--pid", pid)
    assert gone.returncode == 2
    assert "no embedded cluster" in gone.stderr


def test_of_another_user() -> None:
    """A user without rights sees the own cluster; its user namespace is entered first."""
    python = python_for_all()
    packages = sysconfig.get_path("purelib")
    environment = {"PYTHONPATH": f"{CHECKOUT / 'src'}:{packages}"}
    with kept_cluster(python, environment, as_nobody) as pid:
        done = run_netclaim(
            "status", "links", "--pid", pid,
            python=python, environment=environment, before=as_nobody,
        )  # fmt: skip
        assert done.stderr == ""
        assert re.search(r"kind-worker +eth1 +shared +default/app", done.stdout)
