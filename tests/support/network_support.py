"""A node for the network driver: a namespace with links, and a thread that lives in it."""

import asyncio
import ctypes
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from netclaim.kernel import Netns
from netclaim.model import Claim, Plan, PodSandbox
from netclaim.network.build import link_driver
from netclaim.network.driver import LinkDriver
from netclaim.network.settings import LinkSettings
from tests.support.kernel_support import fresh_netns, ip, name_of
from tests.support.network_parts import TYPED, claim_of, config_of, device_of

CLONE_NEWNET = 0x40000000
PATIENCE_S = 60  # for a machine under load; what comes at all comes at once

T = TypeVar("T")


def run_on(node: Netns, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a thread that is inside the node, as the driver's process would be."""

    def enter_and_run() -> T:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(node.fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return asyncio.run(asyncio.wait_for(work(), PATIENCE_S))

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(enter_and_run).result()


@contextmanager
def fresh_node() -> Iterator[Netns]:
    """A namespace with the links eth1 and eth2, each end of a pair."""
    with fresh_netns() as node:
        for link in ("eth1", "eth2"):
            ip(node, "link", "add", link, "type", "veth", "peer", "name", f"{link}-peer")
            ip(node, "link", "set", link, "up")
            ip(node, "link", "set", f"{link}-peer", "up")
        yield node


def driver_for(state: Path, plugins: Path, **settings: Any) -> LinkDriver:
    """The driver as it is built for a node."""
    chosen = {"lease_dir": state / "leases", "cni_path": (str(plugins),), **settings}
    return link_driver(LinkSettings(state_dir=state, **chosen))


def pod_of(netns: Netns | None, name: str = "demo-a", sandbox: str = "5b7c0846") -> PodSandbox:
    """A sandbox with this namespace."""
    path = None if netns is None else netns.path
    return PodSandbox(id=sandbox, uid=f"uid-of-{name}", namespace="default", name=name, netns=path)


def host_local() -> dict[str, Any]:
    """Address management out of a range."""
    return {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}


def leases(state: Path, network: str = "a-network") -> list[str]:
    """The addresses that claims of the namespace `default` have on a network of their own."""
    leased = state.glob(f"leases/*/namespace/default/leases/{network}/10.*")
    return sorted(path.name for path in leased)


def claim_for(
    *plugins: dict[str, Any], ifname: str = "net1", device: str = "eth1", uid: str = "claim-1"
) -> Claim:
    """A claim that makes an interface of a device with these plugins."""
    network = {"cniVersion": "1.0.0", "name": "a-network", "plugins": list(plugins)}
    config = config_of(TYPED | {"ifName": ifname, "config": network}, "net")
    made = claim_of(config, devices=(device_of("net", device),))
    return Claim(
        uid=uid,
        namespace=made.namespace,
        name=f"name-of-{uid}",
        allocated=True,
        devices=made.devices,
        configs=made.configs,
    )


async def plan_for(driver: LinkDriver, claim: Claim) -> Plan:
    """Prepare a claim of one device."""
    (plan,) = (await driver.prepare(claim)).plans
    return plan


__all__ = [
    "claim_for",
    "driver_for",
    "fresh_node",
    "host_local",
    "leases",
    "name_of",
    "plan_for",
    "pod_of",
    "run_on",
]
