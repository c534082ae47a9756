"""Which links claims have, by what the driver remembers of them."""

from pathlib import Path

from netclaim.cni import Endpoint, Interface, Result, ResultCache, parse_network
from netclaim.model import Device
from netclaim.network.attach.claimed_links import claimed_links
from netclaim.network.links.remembered.lent import LentDevices

FUNCTION = Device("eth5", {"name": "eth5", "pciAddress": "0000:3b:10.0"})
VIRTUAL = Device("dummy-0", {"name": "Dummy_0"})


def test_links_that_pods_took_and_links_that_they_stand_on(tmp_path: Path) -> None:
    """A link alone also has its address on the bus; a damaged record costs only itself."""
    lent, cache = LentDevices(tmp_path / "lent"), ResultCache(tmp_path / "cni")
    assert claimed_links(lent, cache) == frozenset()
    lent.keep("a", (FUNCTION, VIRTUAL))
    config = {"cniVersion": "1.0.0", "name": "net", "type": "macvlan", "master": "eth6"}
    result = Result((Interface("net1", sandbox="/run/netns/pod"),))
    cache.save(parse_network(config), Endpoint("c0ffee", "/run/netns/pod", "net1"), result)
    (tmp_path / "cni/results/damaged").write_text("{")
    assert claimed_links(lent, cache) == {"eth5", "0000:3b:10.0", "Dummy_0", "eth6"}
