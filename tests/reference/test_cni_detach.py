"""Detaching with the CNI project's own plugins: after success, failure, and loss."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import (
    CniError,
    CniErrorKind,
)
from tests.reference.site.cni_site import Site, fresh_site, ip

pytestmark = pytest.mark.reference


@pytest.fixture
def site(cni_plugins: Path, tmp_path: Path) -> Iterator[Site]:
    """A fresh host and pod, with the test inside the host."""
    with fresh_site(cni_plugins, tmp_path) as site:
        yield site


async def test_an_add_that_fails_half_way_leaves_nothing(site: Site) -> None:
    """The error is the plugin's own; link and address of the plugin before it are gone."""
    network = site.network(site.macvlan(), site.tuning(sysctl={"net.ipv4.no_such_thing": "1"}))
    with pytest.raises(CniError) as caught:
        await site.chain.add(network, site.endpoint())
    assert caught.value.plugin == "tuning"
    assert "no_such_thing" in caught.value.msg
    assert site.pod_link() is None
    assert site.leases() == []
    assert list(site.cache.entries()) == []


async def test_the_next_add_after_a_failed_one_works(site: Site) -> None:
    """What blocked an ADD is no longer in the way once it is mended."""
    missing = site.network(site.macvlan(master="eth9"))
    with pytest.raises(CniError) as caught:
        await site.chain.add(missing, site.endpoint())
    assert caught.value.msg == "Link not found"
    await site.chain.add(site.network(site.macvlan()), site.endpoint())
    assert site.leases() == ["10.10.1.2"]


def _device(site: Site) -> list[dict[str, Any]]:
    return [{"type": "host-device", "device": "eth1", "ipam": site.ipam()}]


def _macvlan(site: Site) -> list[dict[str, Any]]:
    return [site.macvlan(), site.tuning(mtu=1300)]


def _bridge(site: Site) -> list[dict[str, Any]]:
    return [{"type": "bridge", "bridge": "br-test", "ipam": site.ipam()}]


def _ptp(site: Site) -> list[dict[str, Any]]:
    rate = {"ingressRate": 1_000_000, "ingressBurst": 1_000_000}
    return [{"type": "ptp", "ipam": site.ipam()}, {"type": "bandwidth", **rate}]


def _routed(site: Site) -> list[dict[str, Any]]:
    return [site.macvlan(), {"type": "sbr"}]


@pytest.mark.parametrize("plugins", [_device, _macvlan, _bridge, _ptp, _routed])
async def test_no_address_leaks_when_the_namespace_is_gone(site: Site, plugins: Any) -> None:
    """DEL after the pod's namespace has vanished releases the lease, whatever the plugins."""
    network = site.network(*plugins(site))
    await site.chain.add(network, site.endpoint())
    assert site.leases() == ["10.10.1.2"]
    ip("netns", "del", site.pod)
    for _ in range(2):
        await site.chain.delete(network, site.endpoint())
        assert site.leases() == []
    assert site.pod not in ip("netns", "list")


async def test_host_device_moves_a_link_and_brings_it_back(site: Site) -> None:
    """The host's own link is in the pod between ADD and DEL."""
    network = site.network(*_device(site))
    await site.chain.add(network, site.endpoint())
    assert site.host_links() == {"lo", "eth1-peer"}
    await site.chain.delete(network, site.endpoint())
    assert site.host_links() == {"lo", "eth1", "eth1-peer"}
    assert site.leases() == []


async def test_check_finds_a_link_that_someone_removed(site: Site) -> None:
    """CHECK raises the plugin's error when the pod is no longer as ADD left it."""
    network = site.network(site.macvlan())
    await site.chain.add(network, site.endpoint())
    ip("-n", site.pod, "link", "del", "net1")
    with pytest.raises(CniError):
        await site.chain.check(network, site.endpoint())


async def test_gc_takes_away_what_no_pod_claims(site: Site) -> None:
    """Of two attachments only the valid one keeps its link and its address."""
    network = site.network(site.macvlan(), version="1.1.0")
    kept, stale = site.endpoint(), site.endpoint("net2", "dead")
    await site.chain.add(network, kept)
    await site.chain.add(network, stale)
    assert site.leases() == ["10.10.1.2", "10.10.1.3"]
    await site.chain.gc(network, {kept.key})
    assert site.leases() == ["10.10.1.2"]
    assert site.pod_link("net1") is not None
    assert site.pod_link("net2") is None


async def test_a_full_range_is_the_plugins_error(site: Site) -> None:
    """An ADD without an address to give fails with host-local's words and leaves no link."""
    network = site.network(site.macvlan(ipam=site.ipam("10.10.1.0/30")))
    await site.chain.add(network, site.endpoint())
    with pytest.raises(CniError, match="no IP addresses available"):
        await site.chain.add(network, site.endpoint("net2", "other"))
    assert site.pod_link("net2") is None
    assert site.leases() == ["10.10.1.2"]


async def test_a_plugins_own_code_tells_who_must_act(site: Site) -> None:
    """Bandwidth refuses a version before chains with the code of a bad configuration."""
    network = site.network({"type": "bandwidth"}, version="0.2.0")
    with pytest.raises(CniError) as caught:
        await site.chain.add(network, site.endpoint())
    assert caught.value.code == 1
    assert caught.value.kind is CniErrorKind.CONFIGURATION
    await site.chain.delete(network, site.endpoint())  # refused too, and yet the end of it
