"""The driver of one node: the real program, in the node's namespaces, with its log in a file.

Promise: it ends with the block that lends it, abruptly, like a node that loses its power; and with
the cluster, whatever happens. An end that nobody asked for is an error that quotes its log.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.errors import PeerError
from netclaim.local.machine import NodePlace, enter_node
from netclaim.local.topology import Link

TAIL_LINES: Final = 5  # enough to see why a program ended, and few enough to be read
NOTHING: Final = "it logged nothing"
FOREIGN: Final = ("NETCLAIM_", "KUBE", "NODE_NAME")  # variables that mean another cluster


class DriverEndedError(PeerError):
    """A driver's process ended although nobody stopped it."""


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What the drivers of all nodes have in common."""

    name: str
    kubeconfig: Path
    cni_bin_dirs: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()  # additional ones

    def command(self, place: NodePlace, pod_subnets: Sequence[str]) -> list[str]:
        """Return the driver's command line on a node."""
        return [
            sys.executable, "-m", "netclaim", "driver",
            f"--driver-name={self.name}",
            *_common(place, self.kubeconfig),
            "--network-devices",
            *(f"--pod-network={subnet}" for subnet in pod_subnets),
            *(f"--cni-bin-dir={directory}" for directory in self.cni_bin_dirs),
            *self.flags,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """A driver that is a Python program of its own, built on the framework."""

    name: str
    kubeconfig: Path
    command_line: tuple[str, ...]  # the program and its own options

    def command(self, place: NodePlace, _: Sequence[str]) -> list[str]:
        """Return the program's command line on a node."""
        return [sys.executable, *self.command_line, *_common(place, self.kubeconfig)]


def _common(place: NodePlace, kubeconfig: Path) -> list[str]:
    """Return the options about the node that every driver on the framework gets."""
    directory = place.directory
    return [
        f"--node-name={place.name}",
        f"--kubeconfig={kubeconfig}",
        f"--state-dir={directory / 'state'}",
        f"--kubelet-dir={place.kubelet_dir}",
        f"--nri-socket={place.nri_socket}",
        f"--cdi-dir={place.cdi_dir}",
        f"--run-dir={directory / 'run'}",
        f"--cni-conf-dir={directory / 'net.d'}",
        "--runtime-hook=nri",  # the embedded runtime has no network configuration of its own
        "--log-format=text",
    ]


@asynccontextmanager
async def driver_process(
    place: NodePlace, command: Sequence[str], log: Path, links: Sequence[Link] = ()
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a driver for as long as the block runs; `links` are those of its node."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    with log.open("ab") as stream:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
            start_new_session=True,  # so that we alone handle a Ctrl-C
            preexec_fn=enter_node(place, links),
        )
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_watch(process, place.name, log))
            yield process
            watch.cancel()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _watch(process: asyncio.subprocess.Process, node: str, log: Path) -> None:
    code = await process.wait()
    raise DriverEndedError(f"the driver on {node} ended with code {code}: {last_words(log)}")


def last_words(log: Path) -> str:
    """Return the last lines of a driver's log as one."""
    if not log.exists():
        return NOTHING
    lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    return " | ".join(line.strip() for line in lines) or NOTHING
