"""Which addresses of a network may be published, by how the network assigns them."""

from ipaddress import ip_address
from typing import Any

import pytest

from netclaim.controller.services.endpoints import Guard
from netclaim.model.api.own_kinds.pod_network import PodNetwork

IPS: dict[str, Any] = {"allow": ["ips"]}
LOCAL = {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}]]}
OLD = {"type": "host-local", "subnet": "10.1.0.0/24"}
STATIC = {"type": "static", "addresses": [{"address": "10.1.0.9/24"}]}
LISTED: dict[str, Any] = {"type": "cni", "config": {"plugins": [{"type": "tuning"}]}}
LISTED["config"]["plugins"].append({"type": "macvlan", "ipam": LOCAL})


def passes(address: str, **spec: Any) -> bool:
    """Whether a network's address is published."""
    network = PodNetwork.read({"metadata": {"name": "n"}, "spec": {"type": "macvlan", **spec}})
    return Guard(network).passes(ip_address(address))


@pytest.mark.parametrize(
    "spec", [{"ipam": LOCAL}, {"ipam": OLD}, {"ipam": STATIC}, LISTED], ids=str
)
def test_chosen_addresses_are_in_a_subnet(spec: dict[str, Any]) -> None:
    """Wherever the network says its subnets."""
    assert passes("10.1.0.77", **spec, **IPS)
    assert not passes("10.96.0.1", **spec, **IPS)
    assert not passes("fd00::1", **spec, **IPS)
    assert not passes("10.96.0.1", **spec)  # it may have allowed more when the pod started
    assert passes("10.1.0.77", **spec)


@pytest.mark.parametrize(
    "ipam",
    [
        None,
        {"type": "dhcp"},
        {"ranges": [[{"subnet": "x"}]]},
        {"ranges": [{"subnet": "10.1.0.0/8"}, 7]},
        {"ranges": 7, "addresses": 7, "subnet": 7},
        "10.1.0.0/8",
    ],
    ids=str,
)
def test_without_a_subnet_no_chosen_address_is_published(ipam: Any) -> None:
    """It could be any; where nobody may choose, it is what the network gave."""
    assert not passes("10.1.0.77", ipam=ipam, **IPS)
    assert passes("10.1.0.77", ipam=ipam)


def test_addresses_of_a_pool_are_the_pools() -> None:
    """The driver refuses to lease any others."""
    assert passes("10.1.0.77", ipam={"type": "netclaim", "pool": "media"}, **IPS)
