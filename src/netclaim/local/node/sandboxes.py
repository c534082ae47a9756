"""The embedded runtime: a pod's sandbox is a network namespace, reported to plugins by NRI.

Promise: the order is containerd's. To run: namespace, primary network, plugins; if one of these
refuses, everything is undone. To stop: plugins while the namespace still exists, then the
namespace, then plugins again. Limit: no processes run in a pod; only its network is real.
"""

import asyncio
import ipaddress
import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from netclaim.errors import HostError, PeerError
from netclaim.kernel import Netns, Rtnl, call_in
from netclaim.kernel.requests.ip import IpAddress, add_route
from netclaim.kernel.requests.links import create_link, set_link, veth
from netclaim.local.machine import NETNS, POD_BRIDGE, add_netns, remove_netns
from netclaim.local.machine.wiring import (
    enable_ipv6,
    everywhere,
    find_index,
    give_address,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container, ContainerHook, ContainerState, Runtime, StatusError

POD_LINK: Final = "eth0"


class SandboxError(PeerError):
    """A sandbox or container could not be made; the text is the plugin's own."""


class Sandboxes:
    """The sandboxes of one node."""

    def __init__(self, runtime: Runtime, node: Netns, pod_subnets: Sequence[str]) -> None:
        """`pod_subnets` are the subnets of which each pod gets an address."""
        self._runtime = runtime
        self._node = node
        self._subnets = tuple(map(ipaddress.ip_network, pod_subnets))
        self._taken: set[IpAddress] = set()
        self._by_pod: dict[str, PodSandbox] = {}

    @property
    def running(self) -> Mapping[str, PodSandbox]:
        """Return the existing sandboxes, by the UID of their pod."""
        return MappingProxyType(self._by_pod)

    async def run(self, pod: JsonObject) -> PodSandbox:
        """Make a pod's sandbox and report it to the plugins; SandboxError if one refused it."""
        meta = pod["metadata"]
        on_host = bool(pod["spec"].get("hostNetwork"))
        path = NETNS / f"cni-{secrets.token_hex(8)}"
        addresses = () if on_host else self._take_addresses()
        sandbox = PodSandbox(
            id=secrets.token_hex(32),
            uid=meta["uid"],
            namespace=meta["namespace"],
            name=meta["name"],
            netns=None if on_host else str(path),
            labels=meta.get("labels", {}),
            annotations=meta.get("annotations", {}),
            ips=tuple(map(str, addresses)),
        )
        try:
            if addresses:
                await self._make_network(path, addresses)
            await self._runtime.run_pod_sandbox(sandbox)
        except StatusError as error:
            self._take_back(sandbox)
            raise SandboxError(str(error)) from error
        except BaseException:
            self._take_back(sandbox)
            raise
        self._by_pod[sandbox.uid] = sandbox
        return sandbox

    async def create_container(self, sandbox: PodSandbox, name: str) -> Container:
        """Report a container to the plugins; SandboxError if one of them, or a hook, refused it."""
        container = Container(
            id=secrets.token_hex(32),
            pod_sandbox_id=sandbox.id,
            name=name,
            state=ContainerState.RUNNING,
        )
        try:
            hooks = await self._runtime.create_container(sandbox, container)
        except StatusError as error:
            raise SandboxError(str(error)) from error
        for hook in hooks:
            await _run_hook(hook)
        return container

    async def stop(self, sandbox: PodSandbox) -> None:
        """End a sandbox: notify the plugins, remove its namespace, notify them again."""
        await self._runtime.stop_pod_sandbox(sandbox)
        self._take_back(sandbox)
        await self._runtime.remove_pod_sandbox(sandbox)

    def _take_addresses(self) -> tuple[IpAddress, ...]:
        """Return an address of each subnet that no other pod has."""
        found: list[IpAddress] = []
        for subnet in self._subnets:
            # The first one belongs to the bridge.
            hosts: Iterator[IpAddress] = islice(subnet.hosts(), 1, None)
            address = next((one for one in hosts if one not in self._taken), None)
            if address is None:
                raise HostError(f"the node has no free pod address in {subnet}")
            found.append(address)
        self._taken.update(found)
        return tuple(found)

    def _take_back(self, sandbox: PodSandbox) -> None:
        """Remove the namespace, and with it its links and their ends on the node."""
        if self._by_pod.get(sandbox.uid) is sandbox:
            del self._by_pod[sandbox.uid]
        if sandbox.netns is not None:
            remove_netns(Path(sandbox.netns))
        self._taken -= {ipaddress.ip_address(ip) for ip in sandbox.ips}

    async def _make_network(self, path: Path, addresses: Sequence[IpAddress]) -> None:
        """Make the namespace with its loopback and its primary interface."""
        port = f"veth{path.name[-8:]}"
        with add_netns(path) as netns:
            with Rtnl.open(self._node) as rtnl:
                switch = await find_index(rtnl, POD_BRIDGE)
                cable = veth(POD_LINK, peer_netns_fd=netns.fd)
                await rtnl.call(create_link(port, cable, master_index=switch))
                await rtnl.call(set_link(await find_index(rtnl, port), up=True))
            if any(address.version == 6 for address in addresses):
                call_in(netns, enable_ipv6)
            with Rtnl.open(netns) as rtnl:
                own = await find_index(rtnl, POD_LINK)
                each = list(zip(self._subnets, addresses, strict=True))
                await rtnl.batch(
                    [
                        set_link(await find_index(rtnl, "lo"), up=True),
                        set_link(own, up=True),
                        *(give_address(own, subnet, address) for subnet, address in each),
                        *(add_route(everywhere(net), gateway=net[1]) for net in self._subnets),
                    ]
                )


async def _run_hook(hook: ContainerHook) -> None:
    """Run a hook as an OCI runtime does before a container's process, without standard input."""
    process = await asyncio.create_subprocess_exec(
        hook.path,
        *hook.args[1:],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(hook.timeout_s):
            _, said = await process.communicate()
    except TimeoutError as error:
        raise SandboxError(f"{hook.path}: not done within {hook.timeout_s} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise SandboxError(said.decode(errors="replace").strip() or f"{hook.path} failed")
