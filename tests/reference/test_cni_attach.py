"""Attaching with the CNI project's own plugins: what they make, and what we read of it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reference.site.cni_site import Site, addresses, fresh_site, run

pytestmark = pytest.mark.reference


@pytest.fixture
def site(cni_plugins: Path, tmp_path: Path) -> Iterator[Site]:
    """A fresh host and pod, with the test inside the host."""
    with fresh_site(cni_plugins, tmp_path) as site:
        yield site


async def test_the_seeds_macvlan_comes_and_goes(site: Site) -> None:
    """ADD puts a macvlan with an address into the pod; DEL takes both away, twice."""
    network, endpoint = site.network(site.macvlan()), site.endpoint()
    result = await site.chain.add(network, endpoint)
    link = site.pod_link()
    assert link is not None
    data = result.network_data("net1")
    assert data.interface_name == "net1"
    assert data.hardware_address == link["address"]
    assert data.ips == ("10.10.1.2/24",)
    assert addresses(link) == {"10.10.1.2/24"}
    assert site.leases() == ["10.10.1.2"]
    assert await site.chain.check(network, endpoint)
    for _ in range(2):
        await site.chain.delete(network, endpoint)
        assert site.pod_link() is None
        assert site.leases() == []
    assert list(site.cache.entries()) == []


@pytest.mark.parametrize("version", ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])
async def test_every_version_with_chains_gives_the_same_status(site: Site, version: str) -> None:
    """From 0.3.0 on a chain works, and its result reads alike whatever the version."""
    network = site.network(site.macvlan(), site.tuning(mtu=1300), version=version)
    result = await site.chain.add(network, site.endpoint())
    link = site.pod_link()
    assert link is not None
    assert link["mtu"] == 1300
    data = result.network_data("net1")
    assert (data.interface_name, data.hardware_address) == ("net1", link["address"])
    assert data.ips == ("10.10.1.2/24",)
    assert await site.chain.check(network, site.endpoint()) == (version >= "0.4.0")
    await site.chain.delete(network, site.endpoint())
    assert site.pod_link() is None
    assert site.leases() == []


@pytest.mark.parametrize("version", [None, "0.1.0", "0.2.0"])
async def test_the_oldest_versions_work_for_one_plugin(site: Site, version: str | None) -> None:
    """A configuration without version, or of the oldest, attaches; its result has the address."""
    network = site.network(site.macvlan(), version=version)
    result = await site.chain.add(network, site.endpoint())
    assert site.pod_link() is not None
    assert result.network_data("net1").ips == ("10.10.1.2/24",)
    await site.chain.delete(network, site.endpoint())
    assert site.pod_link() is None
    assert site.leases() == []


async def test_a_bridge_shows_the_pods_end_in_the_status(site: Site) -> None:
    """Of the three links of a bridge plugin, the one in the pod is reported."""
    bridge = {"type": "bridge", "bridge": "br-test", "isGateway": True, "ipam": site.ipam()}
    network = site.network(bridge, version="1.1.0")
    result = await site.chain.add(network, site.endpoint())
    link = site.pod_link()
    assert link is not None
    assert len(result.interfaces) == 3
    data = result.network_data("net1")
    assert data.hardware_address == link["address"]
    assert data.ips == ("10.10.1.2/24",)
    assert "br-test" in site.host_links()
    await site.chain.status(network)
    await site.chain.delete(network, site.endpoint())
    assert site.host_links() == {"lo", "eth1", "eth1-peer", "br-test"}


async def test_ptp_gives_the_pod_a_gateway(site: Site) -> None:
    """A point-to-point pair comes with its route, and both of its ends go."""
    network = site.network({"type": "ptp", "ipam": site.ipam()})
    result = await site.chain.add(network, site.endpoint())
    assert result.ips[0].gateway == "10.10.1.1"
    assert result.network_data("net1").interface_name == "net1"
    await site.chain.delete(network, site.endpoint())
    assert site.host_links() == {"lo", "eth1", "eth1-peer"}


async def test_chained_plugins_build_on_the_result_before_them(site: Site) -> None:
    """Bandwidth finds the host's end of the pair in the result that tuning handed on."""
    bandwidth = {"type": "bandwidth", "ingressRate": 1_000_000, "ingressBurst": 1_000_000}
    network = site.network(
        {"type": "ptp", "ipam": site.ipam()},
        site.tuning(capabilities={"mac": True}, sysctl={"net.ipv4.conf.IFNAME.arp_filter": "1"}),
        bandwidth,
    )
    result = await site.chain.add(network, site.endpoint())
    link = site.pod_link()
    assert link is not None
    assert link["address"] == "02:00:00:00:00:42"
    assert result.network_data("net1").hardware_address == "02:00:00:00:00:42"
    assert "tbf" in run("tc", "-n", site.host, "qdisc", "show")
    assert await site.chain.check(network, site.endpoint())
    await site.chain.delete(network, site.endpoint())
    await site.chain.delete(network, site.endpoint())
    assert site.host_links() == {"lo", "eth1", "eth1-peer"}
    assert site.leases() == []


async def test_attachments_made_at_once_have_their_own_addresses(site: Site) -> None:
    """Eight plugins at a time do not get in each other's way."""
    network = site.network(site.macvlan())
    endpoints = [site.endpoint(f"net{number}", f"c{number}") for number in range(8)]
    results = await asyncio.gather(*(site.chain.add(network, end) for end in endpoints))
    assert len({result.ips[0].address for result in results}) == 8
    await asyncio.gather(*(site.chain.delete(network, end) for end in endpoints))
    assert site.leases() == []


async def test_both_families_are_reported_in_canonical_form(site: Site) -> None:
    """A pod with an IPv4 and an IPv6 address has both in its status."""
    static = {
        "type": "static",
        "addresses": [{"address": "192.0.2.5/24"}, {"address": "2001:0DB8:0::5/64"}],
        "routes": [{"dst": "198.51.100.0/24", "gw": "192.0.2.1"}],
    }
    dns = {"nameservers": ["192.0.2.53"], "search": ["example"]}
    network = site.network(site.macvlan(ipam=static, dns=dns))
    result = await site.chain.add(network, site.endpoint())
    assert result.network_data("net1").ips == ("192.0.2.5/24", "2001:db8::5/64")
    assert result.routes[0].dst == "198.51.100.0/24"
    assert result.dns.nameservers == ("192.0.2.53",)
    await site.chain.delete(network, site.endpoint())
