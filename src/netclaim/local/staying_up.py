"""A cluster that stays up: how to look around in it, until the user has seen enough."""

import asyncio
import os
import signal
import sys
from typing import Final

from netclaim.local.cluster import KUBECONFIG, EmbeddedCluster
from netclaim.local.machine.file_system import NODES
from netclaim.local.result.outcome import PodOutcome
from netclaim.schema.kinds import POD
from netclaim.screen import Screen

PODS_SHOWN: Final = 3


async def wait_for_user(
    cluster: EmbeddedCluster, screen: Screen, unschedulable: PodOutcome | None = None
) -> None:
    """Show what can be looked at, and wait for Enter or Ctrl-C; without a terminal, for Ctrl-C.

    A job that a script runs in the background ignores Ctrl-C, so it waits for SIGTERM.
    """
    pid = cluster.host_pid
    screen.title("The cluster is up")
    screen.line("In another terminal, as the same user, look at it:")
    look = [f"netclaim status --pid {pid}"]
    if unschedulable is not None:
        asked = f"pod/{unschedulable.name} -n {unschedulable.namespace}"
        look.append(f"netclaim explain {asked} --pid {pid}    # why no node fits")
    screen.block("\n".join(look), "bash")
    screen.line("or enter it:")
    screen.block(f"nsenter --target {pid} --all --preserve-credentials --wd=/ bash", "bash")
    screen.line("and explore it from there:")
    lines = [f"kubectl --kubeconfig {KUBECONFIG} get pods,resourceclaims,resourceslices"]
    lines += [f"nsenter --net={NODES / node} ip -br addr" for node in cluster.topology.nodes[:2]]
    for pod in list(cluster.store.list(POD))[:PODS_SHOWN]:
        netns = cluster.netns_of(pod["metadata"]["uid"])
        if netns:
            lines.append(f"nsenter --net={netns} ip addr    # {pod['metadata']['name']}")
    logs = cluster.nodes[-1].place.directory
    lines.append(f"tail -f {logs.parent}/*/*.log    # the drivers")
    screen.block("\n".join(lines), "bash")
    if sys.stdin.isatty():
        screen.line("Press Enter or Ctrl-C to stop it; nothing is left behind.")
        await read_line()
    else:
        deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        how = "Send SIGTERM" if deaf else "Press Ctrl-C"
        screen.line(f"{how} to stop it; nothing is left behind.")
        await asyncio.Event().wait()


async def read_line() -> None:
    """Return when the user has pressed Enter."""
    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), typed.set)
    try:
        await typed.wait()
        os.read(sys.stdin.fileno(), 1024)
    finally:
        loop.remove_reader(sys.stdin.fileno())
