"""A node of a benchmark's own: network and mount namespaces that end with it."""

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
    return [*enter, sys.executable, "-m", f"benchmarks.{module}", INSIDE, *arguments]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def build_node(*pods: str) -> None:
    """Make the link eth1 and the pods' namespaces, in the namespaces of this process."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)  # our own /run/netns
    ip("link", "set", "lo", "up")
    ip("link", "add", "eth1", "type", "veth", "peer", "name", "peer1")
    for link in ("eth1", "peer1"):
        ip("link", "set", link, "up")
    for pod in pods:
        ip("netns", "add", pod)
