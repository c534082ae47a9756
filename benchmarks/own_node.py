"""A node of a benchmark's own: network and mount namespaces that end with it."""

import os
import subprocess
import sys

INSIDE = "--inside"


def is_inside() -> bool:
    """Whether this process is the one that `run_inside` started."""
    return INSIDE in sys.argv


def run_inside(module: str, *arguments: str) -> None:
    """Run a benchmark's module again, in new namespaces, and wait for its end."""
    subprocess.run(command_inside(module, *arguments), check=True)


def command_inside(module: str, *arguments: str) -> list[str]:
    """Return how to run a benchmark's module again, in new namespaces."""
    enter = ["unshare", "--net", "--mount", "--fork", "--kill-child", "--propagation", "private"]
    program = [sys.executable, "-m", f"benchmarks.{module}", INSIDE, _namespace(), *arguments]
    return [*enter, *program]


def _namespace() -> str:
    return os.readlink("/proc/self/ns/net")  # noqa: PTH115 (a name, no path)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def build_node(*pods: str) -> None:
    """Make the link eth1 and the pods' namespaces, in the namespaces of this process.

    What is mounted and made here goes with these namespaces, so they must not be the machine's.
    """
    outside = sys.argv[sys.argv.index(INSIDE) + 1 :][:1]
    if not outside or outside == [_namespace()]:
        sys.exit(f"benchmarks: {INSIDE} is for a process in namespaces of its own; leave it out")
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)  # our own /run/netns
    ip("link", "set", "lo", "up")
    ip("link", "add", "eth1", "type", "veth", "peer", "name", "peer1")
    for link in ("eth1", "peer1"):
        ip("link", "set", link, "up")
    for pod in pods:
        ip("netns", "add", pod)
