"""What a pod does to a link that was lent to it ends with the loan."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import CniError
from netclaim.cni.errors import CniErrorKind
from netclaim.kernel import open_netns
from netclaim.plugins.host_device.lent_links import LentLinks
from tests.reference.site.cni_site import ip, namespace
from tests.reference.site.plugin_site import Site, site_of
from tests.support.kernel_support import fill_with_altnames

pytestmark = pytest.mark.reference

CONFIG = {"cniVersion": "1.1.0", "name": "net", "type": "host-device", "device": "eth1"}


@pytest.fixture
def site(cni_plugins: Path, tmp_path: Path) -> Iterator[Site]:
    """A host whose eth1 has an alternative name; ours serves."""
    with site_of("ours", cni_plugins, tmp_path / "ours") as site:
        on_host(site, "link property add dev eth1 altname enp0s1")
        yield site


def links(namespace: str) -> dict[str, dict[str, Any]]:
    """Return what `ip` says of the links in a namespace."""
    listed = json.loads(ip("-n", namespace, "-details", "-json", "link", "show"))
    return {link["ifname"]: link for link in listed}


def in_pod(site: Site, command: str) -> None:
    """Run `ip` as the pod would."""
    ip("-n", site.pod, *command.split())


def on_host(site: Site, command: str) -> None:
    """Run `ip` as the node's administrator would."""
    ip("-n", site.host, *command.split())


def lent(site: Site) -> list[str]:
    """Return the names of the links that are remembered as lent."""
    lents = LentLinks(site.directory.parent / "lent" / "host-device")
    return [link.name for link in lents.all()]


def refused(site: Site) -> str:
    """Ask for a DEL that has to be asked for again; returns what it says."""
    with pytest.raises(CniError) as caught:
        site.call("DEL", CONFIG)
    assert caught.value.kind is CniErrorKind.TRY_AGAIN
    return caught.value.msg


def test_alternative_names_stay_behind(site: Site) -> None:
    """Names for others to fall over, the link's own old one, and what is no text at all."""
    site.call("ADD", CONFIG)
    for name in ("cni0", "eth1", "eth2", os.fsdecode(b"\xff\xfe")):
        in_pod(site, f"link property add dev net1 altname {name}")
    site.call("DEL", CONFIG)
    assert links(site.host)["eth1"]["altnames"] == ["enp0s1"]
    on_host(site, "link add cni0 type bridge")


def test_a_name_that_no_longer_fits_a_message_stays_behind(site: Site) -> None:
    """As many names as the kernel takes are removed as one is."""
    site.call("ADD", CONFIG)
    with open_netns(f"/run/netns/{site.pod}") as pod:
        fill_with_altnames(pod, "net1")
    site.call("DEL", CONFIG)
    assert links(site.host)["eth1"]["altnames"] == ["enp0s1"]


def test_names_that_came_home_with_hardware_are_removed_there(site: Site) -> None:
    """The kernel returns hardware with all its alternative names when a namespace ends."""
    site.call("ADD", CONFIG)
    in_pod(site, "link property add dev net1 altname eth1")
    in_pod(site, f"link set net1 netns {site.host}")
    ip("netns", "del", site.pod)
    site.call("DEL", CONFIG, netns="")
    assert links(site.host)["eth1"]["altnames"] == ["enp0s1"]


@pytest.mark.parametrize(
    "taken",
    [
        ("link property add dev other altname eth1",),
        ("link property add dev other altname eth1", "link add net1 type bridge"),
        ("link add eth1 type bridge",),
        ("link add eth1 type bridge", "link add net1 type bridge"),
    ],
)
def test_a_link_whose_name_is_taken_comes_home_and_gets_it_when_it_is_free(
    site: Site, taken: tuple[str, ...]
) -> None:
    """It is not lost with the pod, and DEL succeeds as soon as it can."""
    before = links(site.host)["eth1"]
    on_host(site, "link add other type bridge")
    site.call("ADD", CONFIG)
    for command in taken:
        on_host(site, command)
    in_pod(site, "link set net1 alias mine address 02:00:00:00:09:09")
    assert "another link has taken its name" in refused(site)
    assert links(site.pod).keys() == {"lo"}
    ip("netns", "del", site.pod)
    on_host(site, "link del eth1")  # by either of its names
    site.call("DEL", CONFIG)
    after = links(site.host)["eth1"]
    assert [after[key] for key in ("ifindex", "address", "altnames", "flags")] == [
        before[key] for key in ("ifindex", "address", "altnames", "flags")
    ]
    assert lent(site) == []


@pytest.mark.parametrize(
    "change",
    ["name other1", "alias mine address 02:00:00:00:09:09", "name other1 alias mine"],
)
def test_a_link_is_found_whatever_it_is_called(site: Site, change: str) -> None:
    """A software link would end with the pod's namespace, so it has to be found before."""
    before = links(site.host)["eth1"]
    site.call("ADD", CONFIG)
    in_pod(site, "link set net1 down")
    in_pod(site, f"link set net1 {change} address 02:00:00:00:09:09")
    site.call("DEL", CONFIG)
    after = links(site.host)["eth1"]
    assert [after[key] for key in ("ifindex", "address", "flags")] == [
        before[key] for key in ("ifindex", "address", "flags")
    ]
    assert lent(site) == []


def test_a_link_that_cannot_be_found_is_reported_until_its_pod_is_gone(site: Site) -> None:
    """A pod can hide it in a namespace of its own, and bring it back; or it ends in there."""
    site.call("ADD", CONFIG)
    with namespace() as hidden:
        in_pod(site, f"link set net1 netns {hidden}")
        for _ in range(2):
            assert refused(site) == "the link eth1 is hidden or removed in the container"
            assert lent(site) == ["eth1"]
        ip("-n", hidden, *f"link set net1 netns {site.pod}".split())
        site.call("DEL", CONFIG)
        assert "eth1" in links(site.host)
        site.call("ADD", CONFIG)
        in_pod(site, f"link set net1 netns {hidden}")
    ip("netns", "del", site.pod)
    site.call("DEL", CONFIG)
    assert lent(site) == []


def test_an_index_does_not_count_in_another_namespace(site: Site) -> None:
    """A path can lead to the namespace of another pod by now, whose link is left alone."""
    site.call("ADD", CONFIG)
    (index,) = {link["ifindex"] for name, link in links(site.pod).items() if name == "net1"}
    ip("netns", "del", site.pod)
    ip("netns", "add", site.pod)
    in_pod(site, f"link add theirs index {index} type veth peer name theirs-peer")
    refused(site)
    assert links(site.pod).keys() == {"lo", "theirs", "theirs-peer"}
    assert "eth1" not in links(site.host)


CHANGES = (
    "promisc on",
    "arp off",
    "allmulticast on",
    "multicast off",
    "txqueuelen 3",
    "group 77",
    "gso_max_size 4000",
    "gso_max_segs 1",
    "gro_max_size 4000",
    "mtu 68",
    "address 02:00:00:00:09:09",
    "state dormant",
    "mode dormant",
)


def as_it_is(site: Site, name: str) -> dict[str, Any]:
    """Return what `ip` says of a link on the host, but for what the kernel does in its own time."""
    link = links(site.host)[name]
    flags = set(link["flags"]) - {"NO-CARRIER"}  # as `ip` calls an operational state
    return {key: link[key] for key in link if key != "operstate"} | {"flags": flags}


@pytest.mark.parametrize("changes", [(change,) for change in CHANGES] + [CHANGES])
def test_flags_and_modes_are_the_old_ones(site: Site, changes: tuple[str, ...]) -> None:
    """The next pod has a link that works, and does not listen to what is for others."""
    before = as_it_is(site, "eth1")
    site.call("ADD", CONFIG)
    for change in changes:
        in_pod(site, f"link set net1 {change}")
    site.call("DEL", CONFIG)
    assert as_it_is(site, "eth1") == before
    assert links(site.host)["eth1"]["operstate"] != "DORMANT"


def test_a_link_that_was_declared_down_is_up_again(site: Site) -> None:
    """Such a link stays down for as long as there is a reason for it."""
    on_host(site, "link add eth2 link eth1 type macvlan")
    on_host(site, "link set eth2 up")
    config = CONFIG | {"device": "eth2"}
    before = as_it_is(site, "eth2")
    site.call("ADD", config)
    in_pod(site, "link set net1 protodown on")
    in_pod(site, "link set net1 protodown_reason 3 on")
    site.call("DEL", config)
    assert as_it_is(site, "eth2") == before


def test_alternative_names_that_were_removed_are_given_back(site: Site) -> None:
    """The link can be found by such a name again."""
    site.call("ADD", CONFIG)
    in_pod(site, "link property del dev net1 altname enp0s1")
    site.call("DEL", CONFIG)
    assert links(site.host)["eth1"]["altnames"] == ["enp0s1"]


def test_what_the_host_set_itself_stays(site: Site) -> None:
    """Only what the pod changed is set."""
    for change in ("promisc on", "arp off", "txqueuelen 77", "group 5", "mode dormant"):
        on_host(site, f"link set eth1 {change}")
    before = as_it_is(site, "eth1")
    site.call("ADD", CONFIG)
    in_pod(site, "link set net1 promisc off arp on")
    site.call("DEL", CONFIG)
    assert as_it_is(site, "eth1") == before
