"""The MAC of an interface that asks a DHCP server."""

from typing import Any

import pytest

from netclaim.cni import parse_network
from netclaim.network.attach.wish import steady_mac


def wished(pod: str = "pod-1", ifname: str = "net1", **plugin: Any) -> str:
    """The MAC that a network's interface is to have; empty if that is left to others."""
    made = {"type": "macvlan", "ipam": {"type": "dhcp"}, **plugin}
    network = parse_network({"cniVersion": "1.0.0", "name": "n", "plugins": [made]})
    return dict(steady_mac(network, pod, ifname)).get("MAC", "")


def test_it_belongs_to_the_pod_and_the_interface() -> None:
    """It is the same each time, another elsewhere, and nobody has bought it."""
    assert wished() == wished(type="bridge") != ""
    assert len({wished(), wished(pod="pod-2"), wished(ifname="net2")}) == 3
    for number in range(64):
        assert int(wished(pod=f"pod-{number}")[:2], 16) & 3 == 2


@pytest.mark.parametrize(
    "plugin",
    [
        {"ipam": {"type": "static"}},
        {"type": "ipvlan"},
        {"type": "host-device"},
        {"mode": "passthru"},
        {"mac": "02:00:00:00:00:07"},
        {"runtimeConfig": {"mac": "02:00:00:00:00:07"}},
    ],
    ids=str,
)
def test_it_is_left_to_others(plugin: dict[str, Any]) -> None:
    """To those who set one, and where the MAC is a link's own."""
    assert wished(**plugin) == ""
