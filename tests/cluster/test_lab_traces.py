"""A lab leaves no trace: not when it is taken down, not when it was killed while it booted."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.cluster import Lab
from lab.nodes.linux import find_marked
from lab.nodes.processes import Processes
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY
from tests.conftest import hear_interrupts

CHECKOUT = Path(__file__).parent.parent.parent


SETTINGS = ("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory")  # kubelet's wishes


def machine(lab: Lab) -> dict[str, set[str]]:
    """What a lab could leave outside its own directory: mounts, links, kernel settings."""
    shown = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True)
    links = {line.split()[0].partition("@")[0] for line in shown.stdout.splitlines()}
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return {
        "mounts": {line for line in mounts if lab.state.name in line},
        "links": {link for link in links if link.startswith(("br-", "primary", "second"))},
        "settings": {f"{name}={Path('/proc/sys', name).read_text()}" for name in SETTINGS},
    }


@pytest.fixture
def trace() -> Iterator[Lab]:
    """A lab of the test's own, by a name that no other has; gone at the end whatever happens."""
    lab = Lab(f"trace-{os.getpid()}", Progress())
    before = machine(lab)
    try:
        yield lab
    finally:
        lab.down()
        assert lab.leftovers() == []
        assert machine(lab) == before


def component_runs(lab: Lab, name: str) -> bool:
    """Whether a component was started, as far as the lab wrote it down."""
    return any(full.endswith(name) for full in Processes(lab.state).running.components)


STAGES: dict[str, Callable[[Lab], bool]] = {
    "first process": lambda lab: bool(find_marked(lab.state.name)),
    "namespaces": lambda lab: "kind-worker2" in lab.state.load().inits,
    "etcd": lambda lab: component_runs(lab, "/etcd"),
    "kubelet": lambda lab: component_runs(lab, "kind-worker2/kubelet"),
}


def test_up_and_down_leave_nothing(trace: Lab) -> None:
    """After `up` there is much, after `down` nothing; a second `down` is harmless."""
    trace.up(DEFAULT_TOPOLOGY, port=0)
    assert trace.leftovers() != []
    trace.down()
    assert trace.leftovers() == []
    trace.down()


@pytest.mark.parametrize("stage", STAGES)
def test_killed_boot_is_cleaned_up(trace: Lab, stage: str) -> None:
    """What a boot killed by SIGKILL left behind, `down` takes away."""
    boot = subprocess.Popen(
        [sys.executable, "-m", "lab", "up", "--port", "0", "--name", trace.state.name],
        cwd=CHECKOUT,
        stderr=subprocess.DEVNULL,
    )
    while not STAGES[stage](trace):
        assert boot.poll() is None, f"the boot ended before {stage}"
    boot.send_signal(signal.SIGKILL)
    boot.wait()
    assert trace.leftovers() != []
    trace.down()
    assert trace.leftovers() == []


def test_up_after_a_killed_boot(trace: Lab) -> None:
    """`up` takes away by itself what a killed boot left, and boots."""
    boot = subprocess.Popen(
        [sys.executable, "-m", "lab", "up", "--port", "0", "--name", trace.state.name],
        cwd=CHECKOUT,
        stderr=subprocess.DEVNULL,
    )
    while not component_runs(trace, "/kube-apiserver"):
        assert boot.poll() is None, "the boot ended before the API server"
    boot.kill()
    boot.wait()
    trace.up(DEFAULT_TOPOLOGY, port=0)
    assert trace.state.load().up


def test_interrupted_boot_cleans_up_itself(trace: Lab) -> None:
    """Ctrl-C while booting ends the boot and leaves nothing."""
    boot = subprocess.Popen(
        [sys.executable, "-m", "lab", "up", "--port", "0", "--name", trace.state.name],
        cwd=CHECKOUT,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,  # noqa: PLW1509 - no thread is at work here
        text=True,
    )
    while not component_runs(trace, "/etcd"):
        assert boot.poll() is None, "the boot ended before etcd"
    boot.send_signal(signal.SIGINT)
    _, said = boot.communicate()
    assert boot.returncode == 130
    assert said.splitlines()[-1] == "lab: interrupted; nothing was left running"
    assert trace.leftovers() == []


def test_all_processes_killed(trace: Lab) -> None:
    """When every process of a running lab was killed, `down` still leaves nothing."""
    trace.up(DEFAULT_TOPOLOGY, port=0)
    for process in find_marked(trace.state.name):
        process.kill()
    trace.down()
    assert trace.leftovers() == []
