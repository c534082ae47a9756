"""A host and a pod for the CNI project's own plugins, in namespaces of their own.

A test has a host and a pod, both network namespaces. The test's thread lives in the host while it
runs, so plugins find there what a node would have, and nothing of the machine is touched.
"""

import ctypes
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netclaim.cni import (
    Chain,
    Endpoint,
    ExecPlugins,
    NetworkList,
    ResultCache,
    parse_network,
    pod_args,
)
from netclaim.kernel import is_live

CLONE_NEWNET = 0x40000000
AMPLE_S = 60.0

LIBC = ctypes.CDLL(None, use_errno=True)


def run(*command: str) -> str:
    """Run a program and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ip(*arguments: str) -> str:
    """Run ip and return what it printed."""
    return run("ip", *arguments)


@contextmanager
def namespace() -> Iterator[str]:
    """Make a network namespace, and remove it if the test did not."""
    name = f"nct-{secrets.token_hex(4)}"
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Move the calling thread into a network namespace, and back."""
    with Path("/proc/thread-self/ns/net").open() as home, Path("/run/netns", name).open() as there:
        setns(there.fileno())
        try:
            yield
        finally:
            setns(home.fileno())


def setns(fd: int) -> None:
    """Enter a network namespace."""
    if LIBC.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace")


@dataclass(frozen=True, slots=True)
class Site:
    """A host with a link eth1, a pod, and a chain of real plugins between them."""

    host: str
    pod: str
    chain: Chain
    cache: ResultCache
    state: Path

    def endpoint(self, ifname: str = "net1", container_id: str = "c0ffee") -> Endpoint:
        """Return an interface of the pod."""
        args = pod_args(namespace="default", name="demo-a", uid="2bd4", sandbox_id=container_id)
        capability_args = {"mac": "02:00:00:00:00:42"}
        return Endpoint(container_id, f"/run/netns/{self.pod}", ifname, args, capability_args)

    def ipam(self, subnet: str = "10.10.1.0/24") -> dict[str, Any]:
        """Return a host-local configuration whose leases are this test's."""
        ranges = [[{"subnet": subnet}]]
        return {"type": "host-local", "ranges": ranges, "dataDir": str(self.state)}

    def network(self, *plugins: dict[str, Any], version: str | None = "1.0.0") -> NetworkList:
        """Return a network of these plugins."""
        listed: dict[str, Any] = {"name": "net", "plugins": list(plugins)}
        return parse_network(listed | ({"cniVersion": version} if version else {}))

    def macvlan(self, **keys: object) -> dict[str, Any]:
        """Return the seeds' plugin: macvlan on eth1."""
        return {
            "type": "macvlan",
            "master": "eth1",
            "mode": "bridge",
            "ipam": self.ipam(),
        } | keys

    def tuning(self, **keys: object) -> dict[str, Any]:
        """Return a tuning plugin that keeps its state here."""
        return {"type": "tuning", "dataDir": str(self.state / "tuning")} | keys

    def leases(self) -> list[str]:
        """Return the addresses that are taken."""
        store = self.state / "net"
        files = store.iterdir() if store.exists() else ()
        return sorted(file.name for file in files if file.name[0].isdigit())

    def pod_link(self, ifname: str = "net1") -> dict[str, Any] | None:
        """Return what the kernel knows of a link in the pod; None where there is none."""
        links = json.loads(ip("-n", self.pod, "-j", "address", "show"))
        return next((link for link in links if link["ifname"] == ifname), None)

    def host_links(self) -> set[str]:
        """Return the names of the host's links."""
        return {link["ifname"] for link in json.loads(ip("-n", self.host, "-j", "link", "show"))}


@contextmanager
def fresh_site(cni_plugins: Path, directory: Path) -> Iterator[Site]:
    """Make a host and a pod, and keep the calling thread inside the host."""
    with ExitStack() as stack:
        host, pod = stack.enter_context(namespace()), stack.enter_context(namespace())
        ip("-n", host, "link", "add", "eth1", "type", "veth", "peer", "name", "eth1-peer")
        ip("-n", host, "link", "set", "eth1", "up")
        ip("-n", host, "link", "set", "eth1-peer", "up")
        stack.enter_context(inside(host))
        cache = ResultCache(directory / "cache")
        engine = ExecPlugins(inherited=os.environ, deadline_s=AMPLE_S)
        chain = Chain(engine, cache, (str(cni_plugins),), is_live)
        yield Site(host, pod, chain, cache, directory / "state")


def addresses(link: dict[str, Any]) -> set[str]:
    """Return a link's IPv4 addresses with their prefixes."""
    return {
        f"{address['local']}/{address['prefixlen']}"
        for address in link["addr_info"]
        if address["family"] == "inet"
    }
