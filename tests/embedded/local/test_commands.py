"""`netclaim demo` and `netclaim try` as people run them: as root, as nobody special, cut short."""

import ctypes
import os
import re
import select
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from netclaim.local.result.show import EXPLAIN
from tests.conftest import cannot_run, hear_interrupts, ignore_interrupts

pytestmark = pytest.mark.embedded

CHECKOUT = Path(__file__).parents[3]
EXAMPLES = CHECKOUT / "examples" / "manifests"
NOBODY = 65534
# linux/prctl.h, linux/securebits.h, linux/capability.h
PR_CAPBSET_DROP, PR_SET_SECUREBITS = 24, 28
SECBIT_NOROOT, CAP_SYS_ADMIN = 1, 21
END_S = 60  # a killed process is gone in milliseconds, on a machine that has time for it

TWO_LINKS = """\
nodes: [alpha]
networks:
- {name: main, subnet: 192.0.2.0/24, links: {alpha: [up0, up1]}}
"""
FAILING = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: a, resourceClaimName: nope}]
"""


def netclaim(
    *arguments: str,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [python, "-m", "netclaim", *arguments],
        env={**os.environ, **(environment or {})},
        cwd="/",
        preexec_fn=before,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def without_capabilities() -> None:
    """Let the next program run as a root who may do nothing special."""
    assert ctypes.CDLL(None).prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0) == 0


def without_mounts() -> None:
    """Let the next program run as a root who may not mount, nor make namespaces."""
    assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) == 0


def as_nobody() -> None:
    """Let the next program run as a user without any rights."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def python_for_all() -> str:
    """A Python of our version that every user may run."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/python{version}"):
        with suppress(OSError):
            subprocess.run([program, "-c", ""], preexec_fn=as_nobody, check=True)
            return program
    cannot_run(f"no python{version} that another user may run")
    return ""


def check_demo(done: subprocess.CompletedProcess[str]) -> None:
    """The demo was told from beginning to end, in plain text."""
    assert done.stderr == ""
    assert done.returncode == 0
    shown = done.stdout
    assert "\x1b" not in shown
    parts = [line for line in shown.splitlines() if line.startswith("# ")]
    assert [part.split()[1] for part in parts] == [
        "Environment", "What", "What", "What", "Where", "Inside", "The",
    ]  # fmt: skip
    assert shown.count("   Running   ") == 16
    assert shown.count("allocated,reserved") == 15
    assert "demo-application   15/15" in shown
    assert "3 packets transmitted, 3 received" in shown
    assert re.search(r"inet 10\.10\.1\.\d+/24 scope global net1", shown)  # pods start in any order
    assert "  - {name: media, resourceClaimTemplateName: media-net}\n" in shown  # the one line
    assert "resourceclaimtemplate.resource.k8s.io/media-net\n" in shown
    assert "inet 10.10.2.2/24 scope global media-net\n" in shown


def test_demo_as_root() -> None:
    """Three nodes, fifteen pods on the one with eth1, a ping, and a pod that names a network."""
    check_demo(netclaim("demo"))


def test_demo_as_a_root_of_little_power() -> None:
    """A root who may not make namespaces, as in a container, runs it in a user namespace."""
    check_demo(netclaim("demo", before=without_mounts))


def test_refusal_of_the_kernel_is_one_line() -> None:
    """Where not even a user namespace can be had, one line says so and what helps."""
    done = netclaim("demo", before=without_capabilities)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"netclaim: this needs root, or a user namespace, .+\n", done.stderr)


def test_demo_as_another_user() -> None:
    """A user without any rights runs it in a user namespace."""
    packages = sysconfig.get_path("purelib")
    environment = {"PYTHONPATH": f"{CHECKOUT / 'src'}:{packages}", "HOME": "/nonexistent"}
    done = netclaim("demo", python=python_for_all(), environment=environment, before=as_nobody)
    check_demo(done)


def test_shared_link() -> None:
    """Six pods on one link, each with an address of its own."""
    done = netclaim("try", "-f", str(EXAMPLES / "shared-link.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(set(re.findall(r"net1 (10\.30\.0\.\d+)/24", done.stdout))) == 6


@pytest.mark.parametrize("example", ["poc-demo-a.yaml", "poc-framework.yaml", "kubecon-demo.yaml"])
def test_seeds_run_unchanged(example: str) -> None:
    """Each of the seeds' manifests runs as it is, under the driver's name it was written for."""
    done = netclaim("try", "-f", str(EXAMPLES / example))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "net1 10.10.1.2/24" in done.stdout
    assert "did not get" not in done.stdout


def test_own_topology(tmp_path: Path) -> None:
    """Manifests run on whatever nodes and links the user draws."""
    topology = tmp_path / "t.yaml"
    topology.write_text(TWO_LINKS)
    manifest = (EXAMPLES / "poc-demo-a.yaml").read_text().replace("master: eth0", "master: up1")
    options = ("--topology", str(topology), "--policy", "privileged")
    done = netclaim("try", "-f", "-", *options, stdin=manifest)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo-a   alpha   Ready    net1 10.10.1.2/24" in done.stdout


DRANET = """\
---
# Source: chart/templates/rdma.yaml
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: rdma}
spec:
  devices:
    requests: [{name: nic, exactly: {deviceClassName: network-interface}}]
    config:
    - opaque: {driver: dra.net, parameters: {interface: {name: dranet0}}}
---
"""


def test_what_helm_prints_beside_another_driver(tmp_path: Path) -> None:
    """Empty documents are passed over, and a driver of others is named and not played."""
    (tmp_path / "chart").mkdir()
    ours = f"---\n# Source: a.yaml\n{(EXAMPLES / 'poc-demo-a.yaml').read_text()}"
    (tmp_path / "chart" / "all.yaml").write_text(ours + DRANET)
    done = netclaim("try", "-R", "-f", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "net1 10.10.1.2/24" in done.stdout
    assert re.fullmatch(r"\S+all\.yaml:\d+: the driver dra\.net is not run here, .+\n", done.stderr)


def test_failing_pod_is_told_and_counts() -> None:
    """A pod that cannot start is named with what stopped it, and the exit code is 1."""
    done = netclaim("try", "-f", "-", stdin=FAILING)
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.splitlines()[-3:] == [
        'default/p: no node fits: resourceclaim "nope" not found',
        EXPLAIN,
        "1 of 1 pod did not get what it claims",
    ]


def test_driver_that_cannot_run_is_quoted() -> None:
    """A driver that ends by itself ends the trial, with its own last words."""
    with TemporaryDirectory(dir="/run") as hidden:  # nodes have a /run of their own
        file = Path(hidden, "config.yaml")
        file.write_text("policy: baseline")
        done = netclaim("try", "-f", str(EXAMPLES / "poc-demo-a.yaml"), "--config", str(file))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert re.match(r"netclaim: the driver on kind-\S+ ended with code 2: ", last)
    assert last.endswith(f"{file}: cannot be read: No such file or directory")


@pytest.mark.parametrize("last", ["# Environment", "Ctrl-C to stop it"])
def test_interrupt_leaves_nothing(last: str) -> None:
    """Ctrl-C ends everything, with the code that shells expect; no process is left."""
    end_demo(last, hear_interrupts, signal.SIGINT, 130)


@pytest.mark.parametrize("last", ["# Environment", "SIGTERM to stop it"])
def test_job_in_the_background_ends_on_sigterm(last: str) -> None:
    """What a script has in the background is not for Ctrl-C; it says so, and a kill ends it all."""
    end_demo(last, ignore_interrupts, signal.SIGTERM, -signal.SIGTERM)


def end_demo(last: str, before: Callable[[], None], by: signal.Signals, code: int) -> None:
    """Start the demo, and end it after a line of its output."""
    process = subprocess.Popen(
        [sys.executable, "-m", "netclaim", "demo", "--keep"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, text=True,
        preexec_fn=before,  # noqa: PLW1509 - no thread is at work here
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout as pipe:
        while last not in pipe.readline():
            assert process.poll() is None
        os.killpg(process.pid, by)  # as a terminal does it, and a shell's kill
        pipe.read()
    assert process.wait() == code
    for each in Path("/proc").glob("[0-9]*"):
        if _is_of(each, process.pid):
            assert _ends(int(each.name))


def _is_of(directory: Path, session: int) -> bool:
    """Whether a process belongs to a session; drivers have their own, but the pipe is gone."""
    try:
        fields = (directory / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[3] == str(session)


def _ends(pid: int) -> bool:
    """Whether a process ends; the kernel closes what it had open, such as our pipe, before that."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return select.select([watched], [], [], END_S)[0] != []
    finally:
        os.close(watched)
