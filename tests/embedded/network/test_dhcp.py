"""Addresses by DHCP: the driver's client and a real server, over real links."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.kernel import Netns
from netclaim.model import Attachment, Claim
from netclaim.network.driver import LinkDriver
from netclaim.network.policy.levels import LABEL
from tests.support.dhcp_servers import ROUTER, udhcpd
from tests.support.kernel_support import ip, ip_json
from tests.support.network_support import claim_for, driver_for, plan_for, pod_of, run_on

pytestmark = pytest.mark.embedded

DHCP: dict[str, Any] = {"type": "dhcp"}


@pytest.fixture
def driver(tmp_path: Path, cni_plugins: Path) -> LinkDriver:
    """The driver of a node."""
    return driver_for(tmp_path / "state", cni_plugins)


def privileged(claim: Claim) -> Claim:
    """The claim of a namespace that may do everything."""
    return msgspec.structs.replace(claim, namespace_labels={LABEL: "privileged"})


def addresses(netns: Netns, link: str = "net1") -> list[str]:
    """The IPv4 addresses that a link has."""
    (found,) = ip_json(netns, "address", "show", link)
    return [
        f"{each['local']}/{each['prefixlen']}"
        for each in found["addr_info"]
        if each["family"] == "inet"
    ]


@pytest.mark.parametrize(
    "plugin",
    [
        {"type": "macvlan"},
        {"type": "host-device"},
        {"type": "bridge", "bridge": "br-dhcp"},
    ],
    ids=lambda plugin: plugin["type"],
)
def test_a_server_gives_a_pod_its_address(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path, plugin: dict[str, Any]
) -> None:
    """The interface has the address and the routes that the server gives, and gives them back."""
    claim = privileged(claim_for(plugin | {"ipam": DHCP}))

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    with udhcpd(node, "eth1-peer", tmp_path / "server") as server:
        if plugin["type"] == "bridge":
            ip(node, "link", "add", "br-dhcp", "type", "bridge")
            ip(node, "link", "set", "eth1", "master", "br-dhcp", "up")
        attachment = run_on(node, attach)
        assert attachment.interface is not None
        (address,) = addresses(pod)
        assert attachment.interface.ips == (address,)
        assert address.startswith("10.9.0.1")
        (route,) = ip_json(pod, "route", "show", "default")
        assert (route["gateway"], route["dev"]) == (ROUTER, "net1")
        assert [each.address for each in server.leases()] == [address.partition("/")[0]]
        run_on(node, lambda: driver.detach(attachment))
        assert server.wait_released()
        assert list(tmp_path.glob("state/plugins/dhcp/*")) == []
        run_on(node, lambda: driver.detach(attachment))
