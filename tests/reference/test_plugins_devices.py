"""host-device, in process and by the reference program."""

import json
from pathlib import Path
from typing import Any

import pytest

from netclaim.plugins import InProcess, Ipam
from netclaim.plugins.host_device.host_device import HostDevice
from netclaim.plugins.host_device.lent_links import LentLinks
from netclaim.plugins.types.static import Static
from tests.reference.site.plugin_cases import DNS, POOL, POOL_OF_NONE, STATIC, case, link
from tests.reference.site.plugin_site import Case, both, play, site_of
from tests.reference.site.plugin_state import differences, namespace_state

pytestmark = pytest.mark.reference

ETH1_MAC = "02:00:00:00:01:01"
DOWN = ("link set eth1 down",)  # as the reference leaves what it returns


def device(name: str, **keys: Any) -> Case:
    """Describe a host-device that takes eth1, which is down, unless said otherwise."""
    return case("host-device", name, **({"device": "eth1", "host": DOWN, "steps": ONCE} | keys))


NOT_THERE = {"deviceID": "0000:ff:1f.7"}
ONCE = ("ADD", "CHECK", "DEL")  # the reference's second DEL fails

CASES = [
    device("a link", ipam=POOL),
    device("a link without addresses"),
    device("two families", ipam=STATIC),
    device("name servers", ipam=POOL, dns=DNS),
    device("name servers, but no addresses", dns=DNS),
    device("a link by its MAC", device="", hwaddr=ETH1_MAC.upper(), ipam=POOL),
    device("a MAC that is none", device="", hwaddr="home", says="home", steps=("ADD",)),
    device("a MAC that nobody has", device="", hwaddr="02:00:00:00:09:09", steps=("ADD",)),
    device("a link that is not there", device="eth9", ipam=POOL, steps=("ADD",)),
    device("no link", device="", says="device", steps=("ADD",)),
    device("a path outside of sysfs", device="", kernelpath="/tmp/x", says="/sys", steps=("ADD",)),
    device("a path to nothing", device="", kernelpath="/sys/devices/none", steps=("ADD",)),
    device("a PCI function that is not there", device="", pciBusID="0000:ff:1f.7", steps=("ADD",)),
    device(
        "a device that is not there", runtimeConfig={"deviceID": "0000:ff:1f.7"}, steps=("ADD",)
    ),
    device("a name that the container has", pod=(link("net1", "bridge"),), steps=("ADD",)),
    device("readiness", ipam=POOL, steps=("STATUS",)),
    device("CNI 0.3.1", version="0.3.1", ipam=POOL),
    device("no address left", ipam=POOL_OF_NONE, says="no IP addresses", tidy=False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_devices_come_and_go_alike(case: Case, cni_plugins: Path, tmp_path: Path) -> None:
    """Results, kernel state and leases are the same after every step."""
    reference, ours = both(cni_plugins, tmp_path, lambda site: play(site, case))
    assert differences(reference, ours) == []


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """A sysfs in which eth1 is a card, found in several ways; one card is a program's."""
    root = tmp_path / "sys"
    for directory in (
        "bus/pci/devices/0000:01:00.0/net/eth1",
        "bus/pci/devices/0000:02:00.0/virtio3/net/eth1",
        "bus/pci/devices/0000:03:00.0",
        "bus/auxiliary/devices/mlx5_core.sf.2/net/eth1",
        "devices/pci0000:00/0000:00:01.0/net/eth1",
        "bus/pci/drivers/ice",
        "bus/pci/drivers/vfio-pci",
    ):
        (root / directory).mkdir(parents=True)
    for number, driver in ((1, "ice"), (2, "ice"), (3, "vfio-pci")):
        link = root / f"bus/pci/devices/0000:0{number}:00.0/driver"
        link.symlink_to(root / "bus/pci/drivers" / driver)
    return root


@pytest.mark.parametrize(
    "keys",
    [
        {"pciBusID": "0000:01:00.0"},
        {"pciBusID": "0000:02:00.0"},
        {"kernelpath": "/sys/devices/pci0000:00/0000:00:01.0"},
        {"runtimeConfig": {"deviceID": "mlx5_core.sf.2"}},
        {"runtimeConfig": {"deviceID": "0000:01:00.0"}},
    ],
)
def test_a_card_is_found_in_sysfs(
    keys: dict[str, Any], sysfs: Path, cni_plugins: Path, tmp_path: Path
) -> None:
    """By PCI address, through virtio, by path, and by what the runtime offers."""
    config = {"cniVersion": "1.1.0", "name": "net", "type": "host-device"} | keys
    with site_of("ours", cni_plugins, tmp_path / "ours") as site:
        ipam = Ipam({}, site.plugins)
        site.plugins = InProcess(HostDevice(ipam, LentLinks(tmp_path / "lent"), sys=sysfs))
        site.call("ADD", config)
        assert "net1" in namespace_state(site.pod)["links"]
        site.call("DEL", config)
        assert "eth1" in namespace_state(site.host)["links"]


def test_a_card_that_a_program_has_stays(sysfs: Path, cni_plugins: Path, tmp_path: Path) -> None:
    """Of DPDK's card only the addresses are managed; CHECK asks for no more."""
    config = {
        "cniVersion": "1.1.0",
        "name": "net",
        "type": "host-device",
        "pciBusID": "0000:03:00.0",
        "ipam": STATIC,
    }
    with site_of("ours", cni_plugins, tmp_path / "ours") as site:
        ipam = Ipam({"static": Static()}, site.plugins)
        site.plugins = InProcess(HostDevice(ipam, LentLinks(tmp_path / "lent"), sys=sysfs))
        result = json.loads(site.call("ADD", config))
        assert result["interfaces"] == [{"name": "net1", "sandbox": f"/run/netns/{site.pod}"}]
        assert [ip["interface"] for ip in result["ips"]] == [0, 0]
        site.call("CHECK", config | {"prevResult": result})
        assert namespace_state(site.pod)["links"] == {}
        site.call("DEL", config)
