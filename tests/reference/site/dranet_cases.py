"""Claims that are written for dranet, for kinds of link that only the guest has.

Converted, they are run beside those for cards: a dummy that goes into a pod, and two hosts that
reach each other over a router, each with a routing domain (VRF) of its own.
"""

import socket
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

from netclaim.kernel import open_netns, socket_in
from netclaim.local.cluster import EmbeddedCluster
from netclaim.local.machine.file_system import NODES
from netclaim.local.ping import ping_once
from netclaim.local.result.outcome import PodOutcome
from netclaim.local.topology import Link, Network
from netclaim.network.policy.levels import LABEL
from netclaim.schema.kinds import SLICE
from tests.pure.convert.converting import converted_file
from tests.reference.site.plugin_state import differences
from tests.support.dranet_manifests import (
    DRIVER,
    alone,
    claim,
    claim_spec,
    device_class,
    named,
    namespace,
    parameters,
    pod,
    request,
)

DRANETS: Final = "claims that were written for dranet"
TRUSTED: Final = "trusted"  # the namespace of who may forward
VRF: Final = "red"
PAIRS: Final = (("left0", "left1"), ("right0", "right1"))  # each on a network of its own
PINGS: Final = 5  # the first may be lost while neighbours are found
IS_DUMMY: Final = f'device.attributes["{DRIVER}"].type == "dummy"'
DUMMY: Final = "169.254.169.13"


def write(directory: Path) -> Path:
    """Write the claims and their pods as netclaim reads them."""
    documents = (
        namespace(TRUSTED, **{LABEL: "privileged"}),
        device_class(DRIVER),
        _dummy(),
        _host(0),
        _host(1),
        _router(),
    )
    file = directory / "dranet.yaml"
    file.write_text(converted_file("".join(documents)))
    return file


def networks(node: str) -> tuple[Network, ...]:
    """Return what joins the hosts and the router."""
    return tuple(
        Network(f"way{number}", tuple(Link(node, name) for name in pair))
        for number, pair in enumerate(PAIRS)
    )


async def add_dummy(cluster: EmbeddedCluster, node: str) -> None:
    """Give a node what no topology has, and wait until it offers that."""
    _ip(node, "link", "add", "dummy0", "type", "dummy")

    def offered() -> bool:
        devices = (each["spec"]["devices"] for each in cluster.store.list(SLICE))
        return any(device["name"] == "dummy0" for listed in devices for device in listed)

    await cluster.store.wait_for(offered)


def _ip(node: str, *arguments: str) -> None:
    subprocess.run(["nsenter", f"--net={NODES / node}", "ip", *arguments], check=True)


def _dummy() -> str:
    written = {"interface": {"name": "eth99", "addresses": [f"{DUMMY}/24"]}}
    spec = claim_spec(request("nic", DRIVER, IS_DUMMY), config=[parameters(written)])
    return claim("dummy", spec) + pod("dummy", "dummy")


def _interface(side: int, number: int, host: int, **more: Any) -> dict[str, Any]:
    addresses = [f"10.{100 + side}.0.{host}/24"]
    return {"name": f"eth{number}", "addresses": addresses, "vrf": {"name": VRF}, **more}


def _host(side: int) -> str:
    written = {
        "interface": _interface(side, 1, 10),
        "routes": [{"destination": "0.0.0.0/0", "gateway": f"10.{100 + side}.0.2"}],
    }
    return alone(f"host-{side}", PAIRS[side][0], written)


def _router() -> str:
    requests = [request(f"side-{side}", DRIVER, named(PAIRS[side][1])) for side in (0, 1)]
    config = [
        parameters({"interface": _interface(side, side + 1, 2, forwarding=True)}, f"side-{side}")
        for side in (0, 1)
    ]
    spec = claim_spec(*requests, config=config)
    return claim("router", spec, TRUSTED) + pod("router", "router", TRUSTED)


async def faults(cluster: EmbeddedCluster, pods: Sequence[PodOutcome]) -> AsyncIterator[str]:
    """Say what the dummy's pod lacks, and which host does not reach the other one from its VRF."""
    by_name = {each.name: each for each in pods}
    for each in differences([f"{DUMMY}/24"], list(by_name["dummy"].interfaces[0].ips)):
        yield each
    for side in (0, 1):
        other = f"10.{101 - side}.0.10"
        with open_netns(cluster.netns_of(by_name[f"host-{side}"].uid)) as netns:
            kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK
            sock = socket_in(netns, socket.AF_INET, kind, socket.IPPROTO_ICMP)
        with sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, VRF.encode())
            pongs = [await ping_once(sock, other, number) for number in range(PINGS)]
        if not any(pongs):
            yield f"host-{side} does not reach {other}"
