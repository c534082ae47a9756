"""A lent link comes home as it was, whatever happened meanwhile. The reference returns it down."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from netclaim.cni import CniError
from netclaim.cni.errors import CniErrorKind
from netclaim.plugins import in_process_plugins
from netclaim.plugins.host_device.lent_links import LentLink, LentLinks
from tests.reference.site.cni_site import ip
from tests.reference.site.plugin_cases import POOL, POOL_OF_NONE, link
from tests.reference.site.plugin_site import Site, both, site_of
from tests.reference.site.plugin_state import namespace_state

pytestmark = pytest.mark.reference

CONFIG = {
    "cniVersion": "1.1.0",
    "name": "net",
    "type": "host-device",
    "device": "eth1",
    "ipam": POOL,
}
FURNISH = (
    "address add 192.0.2.7/24 broadcast + dev eth1",
    "address add 192.0.2.8/24 dev eth1",
    "address add 203.0.113.7 peer 203.0.113.8 dev eth1",
    "address add 198.51.100.7/32 dev eth1",
    "address add 2001:db8::7/64 dev eth1 nodad",
    "link set eth1 mtu 1400 alias uplink",
)


@pytest.fixture
def site(cni_plugins: Path, tmp_path: Path) -> Iterator[Site]:
    """A host whose eth1 has addresses, an MTU and an alias, and is up; ours serves."""
    with site_of("ours", cni_plugins, tmp_path / "ours") as site:
        for command in FURNISH:
            ip("-n", site.host, *command.split())
        yield site


def seen(site: Site, name: str = "eth1") -> Any:
    """Return what a host's link has."""
    state = namespace_state(site.host)
    return state["links"].get(name), state["addresses"].get(name)


def lent(site: Site) -> LentLinks:
    """Return what the plugin remembers."""
    return LentLinks(site.directory.parent / "lent" / "host-device")


def restart(site: Site) -> None:
    """Begin anew, as after a crash: nothing is left but what is on disk and in the kernel."""
    own = in_process_plugins(site.plugins, state_dir=site.directory.parent / "lent")
    site.plugins = own["host-device"]


def test_it_comes_home_as_it_was(site: Site) -> None:
    """Name, MAC, MTU, alias, addresses and being up are the old ones; DEL may come twice."""
    before = seen(site)
    result = json.loads(site.call("ADD", CONFIG))
    assert result["interfaces"][0]["name"] == "net1"
    assert seen(site) == (None, None)
    inside = namespace_state(site.pod)["links"]["net1"]
    assert (inside["ifalias"], inside["up"], inside["mtu"]) == ("eth1", True, 1400)
    ip(
        "-n",
        site.pod,
        *["link", "set", "net1", "down", "address", "02:00:00:00:09:09", "mtu", "1300"],
    )
    for _ in range(2):
        site.call("DEL", CONFIG)
        assert seen(site) == before
        assert lent(site).all() == []


def test_it_comes_home_though_its_lender_died(site: Site) -> None:
    """A new process returns what the old one lent."""
    before = seen(site)
    site.call("ADD", CONFIG)
    restart(site)
    site.call("DEL", CONFIG)
    assert seen(site) == before


def test_a_return_that_was_cut_short_is_finished(site: Site) -> None:
    """A crash between the move home and the rest leaves enough to finish by."""
    before = seen(site)
    site.call("ADD", CONFIG)
    ip("-n", site.pod, *["link", "set", "net1", "down"])
    ip("-n", site.pod, *f"link set net1 netns {site.host} name eth1".split())
    assert seen(site) != before
    restart(site)
    site.call("DEL", CONFIG)
    assert seen(site) == before


def test_what_was_remembered_but_never_moved_stays(site: Site) -> None:
    """A crash before the move leaves a memory that DEL forgets."""
    before = seen(site)
    record = LentLink(
        "net", "c0ffee", "/gone", "net1", "eth1", before[0]["address"], 1400, True, True
    )
    lent(site).keep(record)
    site.call("DEL", CONFIG, netns="")
    assert (seen(site)[1], lent(site).all()) == (before[1], [])


def test_hardware_that_the_kernel_returned_gets_its_name_back(site: Site) -> None:
    """When a namespace ends, hardware comes home under its name in there, with the alias kept."""
    before = seen(site)
    site.call("ADD", CONFIG)
    ip("-n", site.pod, *f"link set net1 netns {site.host}".split())
    ip("netns", "del", site.pod)
    assert seen(site, "net1")[0]["ifalias"] == "eth1"
    site.call("DEL", CONFIG, netns="")
    assert seen(site) == before
    assert list(site.directory.glob("net/10.*")) == []


def test_hardware_that_comes_late_is_waited_for(site: Site) -> None:
    """DEL is to be asked again until the kernel has returned the link; GC finishes it as well."""
    before = seen(site)
    site.call("ADD", CONFIG)
    (record,) = lent(site).all()
    hardware = {field: getattr(record, field) for field in record.__struct_fields__}
    lent(site).keep(LentLink(**hardware | {"hardware": True}))
    ip("-n", site.pod, *["link", "set", "net1", "name", "elsewhere"])
    ip("-n", site.pod, *["link", "set", "elsewhere", "netns"], site.host)
    ip("-n", site.host, *["link", "set", "elsewhere", "alias", "other"])
    with pytest.raises(CniError, match="eth1 is not back yet") as caught:
        site.call("DEL", CONFIG, netns="")
    assert caught.value.kind is CniErrorKind.TRY_AGAIN
    assert len(lent(site).all()) == 1
    assert list(site.directory.glob("net/10.*")) == []
    ip("-n", site.host, *["link", "set", "elsewhere", "alias", "eth1"])
    site.call("GC", CONFIG | {"cni.dev/valid-attachments": []})
    assert (seen(site), lent(site).all()) == (before, [])


def test_hardware_that_was_unplugged_is_not_waited_for(site: Site, tmp_path: Path) -> None:
    """It cannot come home, and DEL ends."""
    card = tmp_path / "card"
    (card / "net").mkdir(parents=True)
    record = LentLink("net", "c0ffee", "/gone", "net1", "eth9", "", 1500, True, True)
    lent(site).keep(replace(record, kind="", device=str(card)))
    with pytest.raises(CniError, match="eth9 is not back yet"):
        site.call("DEL", CONFIG, netns="")
    shutil.rmtree(card)
    with capture_logs() as logged:
        site.call("DEL", CONFIG, netns="")
    assert lent(site).all() == []
    assert [each["event"] for each in logged] == ["plugins.link_unplugged"]


@pytest.mark.parametrize("netns", ["", "there"])
def test_hardware_that_lost_its_kernel_driver_is_not_waited_for(
    site: Site, tmp_path: Path, netns: str
) -> None:
    """Its link has ended, whether or not the pod is there still, and a new one is not the pod's."""
    card = tmp_path / "card"
    (card / "net").mkdir(parents=True)
    path = netns and f"/run/netns/{site.pod}"
    record = LentLink("net", "c0ffee", path, "net1", "eth9", "", 1500, True, True)
    lent(site).keep(replace(record, kind="", device=str(card)))
    with pytest.raises(CniError, match=r"eth9 is (not back yet|hidden or removed)"):
        site.call("DEL", CONFIG, netns=path)
    (card / "net").rmdir()
    with capture_logs() as logged:
        site.call("DEL", CONFIG, netns=path)
    assert lent(site).all() == []
    assert [each["event"] for each in logged] == ["plugins.link_ended"]


def test_a_link_of_the_same_name_that_is_another_is_left_alone(site: Site) -> None:
    """What has taken the name meanwhile is not the lent link."""
    site.call("ADD", CONFIG)
    ip("netns", "del", site.pod)  # a virtual link ends with its namespace
    ip("-n", site.host, *link("eth1", "bridge").split())
    site.call("DEL", CONFIG, netns="")
    assert seen(site)[1] == []


def test_an_add_that_fails_brings_it_home(site: Site) -> None:
    """Without an address to be had the link is back at once; the reference leaves it inside."""
    before = seen(site)
    with pytest.raises(CniError, match="no IP addresses"):
        site.call("ADD", CONFIG | {"ipam": POOL_OF_NONE})
    assert (seen(site), lent(site).all()) == (before, [])


def test_a_name_that_the_container_has_keeps_it_home(site: Site) -> None:
    """The container's own link is not touched, nor the host's."""
    before = seen(site)
    ip("-n", site.pod, *link("net1", "bridge").split())
    with pytest.raises(CniError, match="net1"):
        site.call("ADD", CONFIG)
    site.call("DEL", CONFIG)
    assert seen(site) == before
    assert "net1" in namespace_state(site.pod)["links"]


def test_the_reference_can_return_what_ours_lent(cni_plugins: Path, tmp_path: Path) -> None:
    """The old name is in the alias, where the reference looks for it."""
    config = {key: CONFIG[key] for key in CONFIG if key != "ipam"}
    with site_of("reference", cni_plugins, tmp_path / "both") as site:
        programs = site.plugins
        site.plugins = in_process_plugins(programs, state_dir=tmp_path / "lent")["host-device"]
        site.call("ADD", config)
        site.plugins = programs
        site.call("DEL", config)
        assert set(namespace_state(site.host)["links"]) == {"eth1", "eth1-peer"}


def test_a_link_that_the_container_made_stays_there(cni_plugins: Path, tmp_path: Path) -> None:
    """An alias alone does not bring a virtual link to the host; the reference moves any link."""

    def act(site: Site) -> bool:
        ip("-n", site.pod, *["link", "add", "net1", "type", "veth", "peer", "name", "rein"])
        ip("-n", site.pod, *["link", "set", "net1", "alias", "trojan"])
        with pytest.raises(CniError, match="net1"):
            site.call("ADD", CONFIG)
        site.call("DEL", CONFIG)
        return "trojan" in namespace_state(site.host)["links"]

    assert both(cni_plugins, tmp_path, act) == [True, False]


def test_a_link_of_another_kind_is_not_taken_for_the_lent_one(site: Site) -> None:
    """Name, alias and MAC a container can choose for links that it makes; index and kind tell."""
    before = seen(site)
    site.call("ADD", CONFIG)
    (record,) = lent(site).all()
    ip("-n", site.pod, *["link", "set", "net1", "down"])
    ip("-n", site.pod, *["link", "set", "net1", "name", "hidden", "address", "02:00:00:00:09:09"])
    ip("-n", site.pod, *["link", "add", "base", "type", "bridge"])
    ip("-n", site.pod, *["link", "add", "net1", "link", "base", "type", "macvlan"])
    ip("-n", site.pod, *["link", "set", "net1", "alias", "eth1", "address", record.mac])
    site.call("DEL", CONFIG)
    assert seen(site) == before
    assert set(namespace_state(site.pod)["links"]) == {"base", "net1"}


def test_the_reference_returns_it_down_and_without_addresses(
    cni_plugins: Path, tmp_path: Path
) -> None:
    """The difference, seen in both ways."""

    def act(site: Site) -> tuple[bool, int]:
        for command in FURNISH:
            ip("-n", site.host, *command.split())
        site.call("ADD", CONFIG)
        site.call("DEL", CONFIG)
        link, addresses = seen(site)
        return link["up"], len(addresses)

    assert both(cni_plugins, tmp_path, act) == [(False, 0), (True, 5)]


@pytest.mark.parametrize("config", [{"ipam": POOL}, {}])
def test_a_del_with_the_namespace_gone_releases_the_lease(
    cni_plugins: Path, tmp_path: Path, config: dict[str, Any]
) -> None:
    """The reference returns before it has released the address."""

    def act(site: Site) -> list[str]:
        bare = {key: CONFIG[key] for key in CONFIG if key != "ipam"}
        site.call("ADD", bare | config)
        ip("netns", "del", site.pod)
        site.call("DEL", bare | config, netns="")
        return [path.name for path in site.directory.glob("net/10.*")]

    reference, ours = both(cni_plugins, tmp_path, act)
    assert reference == (["10.9.0.2"] if config else [])
    assert ours == []


def test_only_a_virtual_function_can_be_asked_for(site: Site) -> None:
    """What a card decides about its functions is refused for any other link, which stays home."""
    before = seen(site)
    with pytest.raises(CniError, match=r"eth1 is not a virtual function.* remove vf"):
        site.call("ADD", CONFIG | {"vf": {"vlan": 100}})
    assert (seen(site), lent(site).all()) == (before, [])


def test_a_lent_link_can_have_another_mac(site: Site) -> None:
    """As the runtime says; at home it has its own again."""
    before, mac = seen(site), "02:00:00:00:07:07"
    result = json.loads(site.call("ADD", CONFIG | {"runtimeConfig": {"mac": mac}}))
    inside = namespace_state(site.pod)["links"]["net1"]
    assert (inside["address"], inside["up"]) == (mac, True)
    assert result["interfaces"][0]["mac"] == mac
    site.call("DEL", CONFIG)
    assert seen(site) == before
